"""The paper's Figures 1 and 2, drawn anew from random sticks and trees, and 3, from a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sticktree.plotting.dendrogram import DendrogramDisplay
from sticktree.plotting.density import DensityDisplay, chosen_columns, rows_shown
from sticktree.plotting.diffusion import plot_diffusion
from sticktree.plotting.display import labels_of, tree_of
from sticktree.plotting.groups import read_groups
from sticktree.plotting.scatter import draw_points
from sticktree.plotting.sticks import plot_sticks
from sticktree.plotting.style import branch_colours, open_frame, pyplot
from sticktree.plotting.tree import plot_tree
from sticktree.processes.diffusion import Simulation
from sticktree.processes.mass_tree import MassTree
from sticktree.tree import Tree
from sticktree.tree.structure import format_index

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_density", "figure_diffusion", "figure_recursive_sticks"]


def figure_recursive_sticks(sticks: MassTree, *, tree_mass: float = 0.03) -> Figure:
    """Draw Figure 1: sticks that break recursively, and the tree of the heavier pieces.

    ``tree_mass`` is the mass from which a piece is shown in the tree.
    """
    figure, (left, right) = pyplot().subplots(
        1, 2, figsize=(11, 3.0), layout="constrained", width_ratios=[1, 1.1]
    )
    plot_sticks(sticks, ax=left)
    left.set_title("sticks", fontsize=10)
    heavy = np.flatnonzero(sticks.mass >= tree_mass)  # a tree: no child outweighs its parent
    names = [format_index(sticks.tree.index(int(node))) for node in heavy]
    colours = branch_colours(sticks.tree)[heavy]  # the same in both panels
    tree = Tree(sticks.tree.parent, heavy).pruned()
    plot_tree(tree, ax=right, labels=names, colours=colours)
    right.set_title(f"tree of the pieces of mass ≥ {tree_mass:g}", fontsize=10)
    return cast("Figure", figure)


def figure_diffusion(few: Simulation, many: Simulation) -> Figure:
    """Draw Figure 2: the first data with their tree, and many that continue it.

    Later branches take the colour of the branch of the first data that they leave.
    """
    width, height = np.ptp(many.data, axis=0)
    size = (10.0, float(np.clip(0.7 + 4.6 * height / width, 2.5, 8.0)))
    figure, axes = pyplot().subplots(
        1, 2, figsize=size, layout="constrained", sharex=True, sharey=True
    )
    colours = np.empty((many.tree.n_nodes, 3))
    colours[: few.tree.n_nodes] = branch_colours(few.tree)
    for node in range(few.tree.n_nodes, many.tree.n_nodes):
        colours[node] = colours[many.tree.parent[node]]
    plot_diffusion(few, ax=axes[0])
    axes[0].set_title(f"the first {few.tree.n_data} data and their tree", fontsize=10)
    plot_diffusion(many, ax=axes[1], show_tree=False, colours=colours)
    axes[1].set_title(f"{many.tree.n_data:,} data that continue it", fontsize=10)
    return cast("Figure", figure)


def figure_density(
    estimator: Any,
    X: Any = None,  # noqa: N803
    *,
    columns: Sequence[Any] | None = None,
    resolution: int | None = None,
    n_draws: int | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Draw the paper's Figure 3: the data by cluster, the tree, and the predictive density.

    Of one column there are only the tree and the density.

    Parameters
    ----------
    estimator : DFPMixture
        A fitted mixture.
    X : array or data frame, optional
        Rows to show beside the density; by default those of the fit.
    columns, resolution, n_draws
        As in :func:`plot_density`.
    figure : matplotlib Figure or SubFigure, optional
        An empty figure to fill; by default a new one.

    Returns
    -------
    matplotlib Figure
    """
    tree = tree_of(estimator)
    chosen = chosen_columns(estimator, columns)
    two = len(chosen) == 2
    if figure is None:
        size = (10.0, 3.4) if two else (7.5, 3.2)
        figure = cast("Figure", pyplot().figure(figsize=size, layout="constrained"))
    axes: Any = figure.subplots(1, 3 if two else 2, squeeze=False)[0]
    density = DensityDisplay.from_estimator(
        estimator, X, columns=chosen, resolution=resolution, n_draws=n_draws, ax=axes[-1]
    )
    labels = labels_of(estimator)
    if two:
        data = rows_shown(estimator)[:, chosen]
        draw_points(axes[0], data, read_groups("labels", labels, len(data)))
        axes[0].set_xlim(axes[-1].get_xlim())
        axes[0].set_ylim(axes[-1].get_ylim())
        open_frame(axes[0], *density.columns)
        axes[0].set_title("data", fontsize=9, loc="left")
    shown = DendrogramDisplay(tree, labels=labels, names=False)
    shown.plot(ax=axes[-2], orientation="top", supports="auto")
    axes[-2].set_title("tree", fontsize=9, loc="left")
    axes[-1].set_title("density", fontsize=9, loc="left")
    return figure
