"""How the documentation is built: ``make docs``, or ``sphinx-build -W -b html docs <folder>``.

With ``STICKTREE_DOCS=fast`` (``make docs-fast``) the examples of the gallery are shown and not run,
so their pictures are missing.
"""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path
from typing import Any

from numpydoc.xref import DEFAULT_LINKS
from pygments.lexers.special import TextLexer
from sphinx_gallery.sorting import ExplicitOrder

import sticktree

project = "sticktree"
author = "The sticktree developers"
copyright = f"2026, {author}"
version = release = sticktree.__version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_extensions",
    "_build",
    "gallery",
    "examples/sg_execution_times.rst",
    "sg_execution_times.rst",
    "results/table1.md",  # parts of results/index.md
    "results/glass.md",
    "results/convergence.md",
    "results/fig*.md",
]
language = "en_GB"
nitpicky = False
fast = os.environ.get("STICKTREE_DOCS") == "fast"
if fast:
    suppress_warnings = ["image.not_readable"]  # of examples that were not run
# Nothing is fetched: no inventories of other projects, so that the build works without a network.

# ---- pages ---------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
highlight_language = "python"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# ---- API -----------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # a page a class, with all its methods on it
numpydoc_xref_param_type = True  # types that are our own are links, others are words
numpydoc_xref_ignore = "all"
# Words that would be links into the manuals of Python and NumPy, which are not at hand, stay words.
numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | {
    name.rpartition(".")[2]: name
    for name in [
        "sticktree.DFPMixture",
        "sticktree.Tree",
        "sticktree.datasets.Dataset",
        "sticktree.fit.Fit",
        "sticktree.posterior.Draw",
        "sticktree.posterior.Posterior",
        "sticktree.posterior.NumberOfClusters",
        "sticktree.posterior.Walk",
        "sticktree.posterior.draws.Diagnosis",
        "sticktree.posterior.settled.Settled",
        "sticktree.posterior.verdict.Part",
        "sticktree.posterior.verdict.Verdict",
        "sticktree.data.planning.PlannedColumn",
        "sticktree.data.planning.TablePlan",
        "sticktree.estimators.kinds.Preferred",
        "sticktree.posterior.loo.LeaveOneOut",
        "sticktree.posterior.stacking.Stack",
        "sticktree.processes.Divergence",
        "sticktree.processes.MassTree",
        "sticktree.processes.Masses",
        "sticktree.processes.Simulation",
        "sticktree.inference.selection.Selection",
        "sticktree.data.Columns",
    ]
}
numpydoc_class_members_toctree = False


def leave_out_inherited(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn and Python's own types bring along; it is told in words."""
    module = getattr(inspect.unwrap(member) if callable(member) else member, "__module__", "")
    if str(module).startswith(("sklearn.", "collections", "builtins")):
        return True
    return True if name.startswith("set_") and name.endswith("_request") else None


# ---- gallery -------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": ExplicitOrder(
        [
            "first_tree.py",
            "density.py",
            "clusters_from_draws.py",
            "drug_responses.py",
            "wide_table.py",
            "missing_values.py",
            "stream.py",
            "convergence.py",
            "comparing_trees.py",
            "random_trees.py",
            "*",
        ]
    ),
    "doc_module": ("sticktree",),
    "backreferences_dir": "api/backreferences",
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,  # how long examples took is nobody's concern
    "show_signature": False,
    "download_all_examples": False,
    "plot_gallery": not fast,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "capture_repr": (),  # displays are pictures, and those are shown
    "image_srcset": ["2x"],
}

# ---- looks ---------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "sticktree"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["sticktree.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Long pages with wide tables need the room more than a list of their two neighbours.
html_sidebars = {
    name: []
    for name in [
        "index",
        "install",
        "biologists",
        "statisticians",
        "which-model",
        "clusters",
        "coming-from",
        "mathematics",
        "comparison",
        "results/index",
        "results/clusters",
        "results/wide",
        "changelog",
        "contributing",
        "citation",
    ]
}


def setup(app: Any) -> None:
    """Connect what is defined here."""
    # The picture in CONTRIBUTING.md is drawn by code hosts; here its text has to do.
    app.add_lexer("mermaid", TextLexer)
    app.connect("autodoc-skip-member", leave_out_inherited)
