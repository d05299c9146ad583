"""The page itself: template, style, script and content put together to one file."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sticktree.errors import ParameterError
from sticktree.files import atomically
from sticktree.present.findings import Findings
from sticktree.report.content import Content
from sticktree.report.markup import plain, script_json

SCRIPTS = (
    "numbers",
    "column",
    "colours",
    "colouring",
    "data",
    "state",
    "geometry",
    "layout",
    "tracks",
    "heat",
    "drawing",
    "marks",
    "tip",
    "pointer",
    "outline",
    "features",
    "details",
    "search",
    "histogram",
    "cloud",
    "effects",
    "clusters",
    "legend",
    "svg",
    "figure",
    "downloads",
    "link",
    "controls",
    "main",
)
PLACE = re.compile(r"\{\{(\w+)\}\}")


def build_report(
    estimator: Any,
    *,
    names: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
    annotations: Mapping[str, Sequence[Any]] | None = None,
    conditions: Mapping[Any, Any] | None = None,
    title: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> str:
    """Return a web page on a fitted mixture: one file, which asks nothing of a network.

    The page has the tree to walk through and a heat map of the data beside it, every row with its
    path and confidence, the clusters, which can be cut anew, whether the chains agree, and how it
    was made. Pictures, the tree and rows can be downloaded from it. Text from the data is shown,
    never run.

    Parameters
    ----------
    estimator : DFPMixture
        A fitted mixture.
    names : sequence, length n_samples, or None, default=None
        Names of the rows; by default those of the tree, or else their numbers from 0.
    classes : sequence, length n_samples, or None, default=None
        Known classes, to compare clusters with; None and NaN are unknown. By default the first
        annotation that is one of classes.
    annotations : dict of str to sequence, length n_samples, or None, default=None
        What else is known of the rows, by name: classes, or numbers if they are many distinct ones.
        Each can be a track beside the tree, and the colour of branches and rows.
    conditions : dict or None, default=None
        Of a fit with groups, the condition of each group, ``{group: condition}``: the section on
        groups then compares conditions; see ``DFPMixture.compare``.
    title : str or None, default=None
        What the page is called.
    provenance : dict or None, default=None
        What should be known of how the fit was made: version, seed, hash of the data. It may have
        dicts inside.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree import DFPMixture
    >>> from sticktree.report import build_report
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> X[10:] += 8.0
    >>> mixture = DFPMixture(covariance_type="full", leaf_noise="shared", random_state=0).fit(X)
    >>> build_report(mixture, title="Twenty points").startswith("<!doctype html>")
    True
    """
    if not hasattr(estimator, "fit_"):
        shown = f"{type(estimator).__name__} without a tree"
        raise ParameterError(
            "estimator", estimator, "a fitted mixture", "fit it first", shown=shown
        )
    if title is not None and not isinstance(title, str):
        raise ParameterError("title", title, "a string or None")
    if provenance is not None and not isinstance(provenance, Mapping):
        raise ParameterError("provenance", provenance, "a dict or None")
    if annotations is not None and not isinstance(annotations, Mapping):
        raise ParameterError("annotations", annotations, "a dict of sequences or None")
    if conditions is not None and estimator.fit_.training.groups is None:
        raise ParameterError("conditions", conditions, "left out of a fit without groups")
    found = Findings(estimator.fit_, names=names, classes=classes, annotations=annotations)
    title = title or "A tree by sticktree"
    content = Content.of(
        found, estimator.get_params(), provenance, conditions=conditions, title=title
    )
    style, script = _read("page.css"), _script()
    pieces = {
        **content.pieces,
        "title": plain(title),
        "style": style,
        "script": script,
        "policy": _policy(style, script),
        "data": script_json(content.data),
    }
    # In one pass, so that nothing that is put in is searched for places again.
    return PLACE.sub(lambda place: pieces[place[1]], _read("page.html"))


def write_report(path: str | os.PathLike[str], estimator: Any, **options: Any) -> Path:
    """Write :func:`build_report`'s page to a file, whole or not at all, and return its path."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path must be in a folder that exists, got {os.fspath(path)!r}")
    page = build_report(estimator, **options)
    with atomically(path) as temporary:
        temporary.write_bytes(page.encode("utf-8"))
    return path


def _read(name: str) -> str:
    return (files("sticktree.report") / "page" / name).read_text(encoding="utf-8")


def _script() -> str:
    """Return all scripts as one, whose names are its own."""
    parts = [_read(f"{name}.js") for name in SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"


def _policy(style: str, script: str) -> str:
    """Return a content security policy that admits this very style and script, and nothing else."""

    def admitted(text: str) -> str:
        digest = hashlib.sha256(text.encode("utf-8")).digest()
        return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"

    return (
        f"default-src 'none'; script-src {admitted(script)}; style-src {admitted(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
