"""``sticktree demo``: random trees, and a tree learned from a table, to look at."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.cli.output import add_seed, output_folder, seed_of
from sticktree.files import atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["add_to"]

RANDOM = ("figure-1-sticks.png", "figure-2-diffusion.png")
LEARNED = ("iris-tree.png", "iris-heatmap.png")
REPORT = "iris-report.html"


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="look at random trees, and at one learned from a table",
        description="Break sticks, grow a tree, and let data diffuse down it; then learn the tree "
        "of a table that comes with scikit-learn. Shown in the terminal, as figures, and as a page "
        "to explore in a browser.",
    )
    parser.set_defaults(run=run, command="demo", parser=parser)
    parser.add_argument(
        "-o",
        "--output",
        default="demo",
        metavar="FOLDER",
        help="where the figures go; what is there is replaced [demo]",
    )
    add_seed(parser, default=4)


def run(options: argparse.Namespace) -> None:
    """Show sticks, a tree and a diffusion; then learn a tree."""
    from sticktree.plotting.style import pyplot

    pyplot().switch_backend("agg")  # files only: no window system needed
    folder = output_folder(Path(options.output), [], overwrite=True)
    seed = seed_of(options)
    for name, figure in zip(RANDOM, _random(np.random.default_rng(seed)), strict=True):
        _write(figure, folder / name)
    _learned(folder, seed)


def _random(rng: np.random.Generator) -> tuple[Figure, Figure]:
    """Print random trees, and return the paper's Figures 1 and 2."""
    from sticktree.plotting import figure_diffusion, figure_recursive_sticks
    from sticktree.present.text import tree_text
    from sticktree.processes import (
        DiffusionModel,
        GaussianTransition,
        LogDivergence,
        NestedRestaurant,
        RecursiveSticks,
    )

    sticks = RecursiveSticks(1.0, depth=3).sample(rng, truncation=0.01)
    print(
        "A stick of length 1 breaks into sticks, and each of those again (heaviest pieces shown):\n"
    )
    print(tree_text(sticks, max_lines=12))

    tree = NestedRestaurant(0.5, depth=3).sample(100, rng)
    print("\n100 data choose their way down such a tree, one after another:\n")
    print(tree_text(tree))

    model = DiffusionModel(
        NestedRestaurant(LogDivergence(), depth=40), GaussianTransition(dimension=2, noise=0)
    )
    few = model.sample(20, rng)
    many = model.extend(few, 980, rng)
    print("\nIn 40 small steps the same process is a diffusion: 20 data, then 1,000.\n")
    return figure_recursive_sticks(sticks), figure_diffusion(few, many)


def _learned(folder: Path, seed: int) -> None:
    """Learn a tree of irises, print it, and write pictures and a page."""
    from sklearn.datasets import load_iris

    from sticktree import DFPMixture
    from sticktree.metrics import dendrogram_purity
    from sticktree.plotting import DendrogramDisplay, HeatmapDisplay
    from sticktree.posterior.diagnostics import ConvergenceWarning
    from sticktree.present.text import tree_text
    from sticktree.report import write_report

    iris = load_iris()
    species = [str(iris.target_names[k]) for k in iris.target]
    print("\nThe other way round: 150 irises, and the tree that made them. The sampler is compiled")
    print("when it is first used, which takes about a minute, once.\n")
    mixture = DFPMixture(
        covariance_type="full", leaf_noise="own", n_warmup=1000, n_draws=1000, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is said below
        mixture.fit(iris.data)
    print("The consensus of all draws; at which level branches meet, their rows, their support:\n")
    print(tree_text(mixture.tree_, max_lines=14))
    print(f"\npurity by species: {dendrogram_purity(mixture.tree_, species):.3f}")
    print(f"{mixture.diagnosis_.verdict().text}\n")
    names = [f"{one} {k}" for k, one in enumerate(species, start=1)]
    columns = [str(name) for name in iris.feature_names]
    tree = DendrogramDisplay.from_estimator(mixture, classes=species, names=names)
    heatmap = HeatmapDisplay.from_estimator(mixture, classes=species, names=names, columns=columns)
    for name, figure in zip(LEARNED, (tree.figure_, heatmap.figure_), strict=True):
        _write(figure, folder / name)
    write_report(folder / REPORT, mixture, names=names, classes=species, title="Irises")
    print(f"wrote {folder / REPORT}")


def _write(figure: Figure, path: Path) -> None:
    with atomically(path) as temporary:
        figure.savefig(temporary, dpi=160)
    print(f"wrote {path}")
