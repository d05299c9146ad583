"""The paper's Figures 1 and 2, drawn anew from random sticks and trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from sticktree.plotting.diffusion import plot_diffusion
from sticktree.plotting.sticks import plot_sticks
from sticktree.plotting.style import branch_colours, pyplot
from sticktree.plotting.tree import plot_tree
from sticktree.processes.diffusion import Simulation
from sticktree.processes.mass_tree import MassTree
from sticktree.text import format_index
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_diffusion", "figure_recursive_sticks"]


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
