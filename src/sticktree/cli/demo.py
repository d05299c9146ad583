"""``sticktree demo``: random trees to look at."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from sticktree.cli.output import add_seed, output_folder, seed_of
from sticktree.files import atomically

__all__ = ["add_to"]

FIGURES = ("figure-1-sticks.png", "figure-2-diffusion.png")


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="look at random trees",
        description="Break sticks, grow a tree, and let data diffuse down it: shown in the "
        "terminal and drawn as the paper's Figures 1 and 2.",
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
    """Show sticks, a tree and a diffusion."""
    from sticktree.processes import (
        DiffusionModel,
        GaussianTransition,
        LogDivergence,
        NestedRestaurant,
        RecursiveSticks,
    )
    from sticktree.text import tree_text

    rng = np.random.default_rng(seed_of(options))
    folder = output_folder(Path(options.output), [], overwrite=True)

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

    from sticktree.plotting import figure_diffusion, figure_recursive_sticks
    from sticktree.plotting.style import pyplot

    pyplot().switch_backend("agg")  # files only: no window system needed
    figures = (figure_recursive_sticks(sticks), figure_diffusion(few, many))
    for name, figure in zip(FIGURES, figures, strict=True):
        with atomically(folder / name) as path:
            figure.savefig(path, dpi=160)
        print(f"wrote {folder / name}")
