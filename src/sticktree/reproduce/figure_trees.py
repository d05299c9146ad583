"""Figure 4: a tree of the Dirichlet diffusion tree beside one of the DFP mixture, on one set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.reproduce.figure_fits import agreement, tree_fits
from sticktree.reproduce.figure_made import Made
from sticktree.reproduce.figure_shape import Parsimony, Shape, typical_draw
from sticktree.tree import Tree

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture

__all__ = ["figure_4", "make_figure_4", "with_rows"]

TITLE = "trees of a DDT and of a DFP mixture"
WIDTH, HEIGHT = 10.0, 3.7  # inches
STRIP = (1.015, 1.045)  # times, below the tips
MODELS = {"DDT": "Dirichlet diffusion tree", "DFP": "DFP mixture"}


def make_figure_4(
    *,
    seed: int = 0,
    quick: bool = False,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Made:
    """Fit both models to the synthetic set and draw Figure 4."""
    from sticktree.datasets import load

    synthetic = load("synthetic")
    fits = tree_fits(synthetic.data, seed=seed, quick=quick, n_jobs=n_jobs, progress=progress)
    return figure_4(fits, synthetic.data, synthetic.labels)


def figure_4(fits: Mapping[str, DFPMixture], data: Any, classes: Any) -> Made:
    """Draw Figure 4: the data, and for each fit the tree of a typical draw.

    Parameters
    ----------
    fits : mapping of str to DFPMixture
        Fits of the same rows by the names of their models.
    data : array, shape (N, 2)
        The rows.
    classes : sequence
        The cluster that each row was made in, which gives the colours.

    Returns
    -------
    Made
        With how the trees of all draws branch as ``parsimony``.
    """
    from matplotlib.figure import Figure

    from sticktree.plotting.groups import read_groups

    if not fits:
        raise ValueError("fits must have one fitted mixture or more, got none")
    points = np.asarray(data, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"data must have two columns, got shape {points.shape}")
    groups = read_groups("classes", classes, len(points))
    if groups is None:
        raise ValueError("classes must be a class for each row, got None")
    colour = groups.of_rows()
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes: Any = figure.subplots(1, 1 + len(fits), width_ratios=[0.85] + [1.3] * len(fits))
    _draw_data(axes[0], points, colour)
    parsimony = {}
    for ax, (name, fit) in zip(axes[1:], fits.items(), strict=True):
        parsimony[name] = Parsimony.of(fit.posterior_.draws)
        _draw_tree(ax, MODELS.get(name, name), fit, classes, colour)
    return Made(TITLE, _caption(fits, parsimony), [("figure-4-trees", figure)], parsimony)


def with_rows(tree: Tree, depth: int) -> Tree:
    """Return a tree in time from 0 to 1, in which every datum ends in a leaf of its own at 1.

    Only children are left out.

    Examples
    --------
    >>> from sticktree import Tree
    >>> with_rows(Tree.from_paths([(1, 1), (1, 1), (2, 1)]), depth=4).time
    array([0. , 0.5, 1. , 1. , 1. ])
    """
    tree = tree.canonical()
    ends = np.arange(tree.n_data) + tree.n_nodes
    return Tree(
        np.concatenate([tree.parent, tree.leaf]),
        ends,
        time=np.concatenate([tree.level / depth, np.ones(tree.n_data)]),
    ).compressed()


def _draw_data(ax: Any, points: FloatArray, colour: FloatArray) -> None:
    """Draw the rows, small: they lie close together."""
    ax.scatter(points[:, 0], points[:, 1], s=7, c=colour, linewidths=0)
    ax.set_aspect("equal", anchor="N")
    ax.set_title("data", fontsize=9, loc="left")
    ax.set_xlabel("x0", fontsize=8)
    ax.set_ylabel("x1", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_tree(ax: Any, title: str, fit: DFPMixture, classes: Any, colour: FloatArray) -> None:
    """Draw the typical draw of a fit, and say in its title how it branches."""
    from sticktree.plotting import DendrogramDisplay
    from sticktree.plotting.frame import Frame
    from sticktree.plotting.outline import Rows
    from sticktree.plotting.strip import draw_strip

    draw = typical_draw(fit.posterior_.draws).tree
    tree, shape = with_rows(draw, fit.depth_), Shape.of(draw)
    DendrogramDisplay(tree, labels=classes, names=False).plot(
        ax=ax, orientation="top", supports=False
    )
    # Late branchings lie so close to the rows that their colours would hardly be seen.
    draw_strip(Frame(ax, "top"), colour[Rows.of(tree).order], *STRIP)
    ax.set_ylim(STRIP[1] + 0.005, -0.005)
    ax.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "0.25", "0.5", "0.75", "1"])
    ax.set_ylabel("time", fontsize=8)
    numbers = (
        f"{shape.n_internal} internal nodes, {shape.mean_children:.1f} children each, "
        f"at most {shape.widest}"
    )
    ax.set_title(f"{title}\n{numbers}", fontsize=9, loc="left")


def _caption(fits: Mapping[str, DFPMixture], parsimony: Mapping[str, Parsimony]) -> str:
    """Say what is to be seen, and how the trees of all draws branch."""
    text = [
        "Left: the data, coloured by the cluster they were made in. Then, for each model, the tree "
        "of a typical draw: of those with the median number of internal nodes, the likeliest. "
        "Internal nodes are those with two children or more above the leaves, whose rows part in "
        "the last step; only children are left out, in both models alike."
    ]
    for name, fit in fits.items():
        found = parsimony[name]
        text.append(
            f"{name} in {fit.depth_} steps, over {found.n_draws} draws (mean ± sd): "
            f"{found.n_internal} internal nodes with {found.mean_children} children, the widest "
            f"with {found.widest}, and {found.n_leaves} leaves; {agreement(fit)}."
        )
    return " ".join(text)
