"""Random sticks, trees and diffusions, and Figures 1 and 2 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.errors import ParameterError
from sticktree.plotting.base import (
    INK,
    PAPER,
    REST,
    branch_colours,
    new_axes,
    pyplot,
    readable_on,
)
from sticktree.processes.diffusion import Simulation
from sticktree.processes.mass_tree import MassTree
from sticktree.tree import Tree
from sticktree.tree.structure import format_index

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_HEIGHT = 0.62


def plot_sticks(sticks: MassTree, *, ax: Axes | None = None, labels: bool = True) -> Axes:
    """Draw every level of a broken stick as a row of bars, children below their parents.

    Pieces lie in the order in which they were broken off. What is left unbroken is grey.

    Parameters
    ----------
    sticks : MassTree
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    labels : bool, default=True
        Write the index ω into every bar that has room for it.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.plotting import plot_sticks
    >>> from sticktree.processes import RecursiveSticks
    >>> sticks = RecursiveSticks(2.0, depth=3).sample(np.random.default_rng(0), truncation=0.01)
    >>> ax = plot_sticks(sticks)
    """
    tree = sticks.tree
    ax = new_axes(ax, (7.0, 0.8 + 0.6 * tree.depth))
    left = _left_ends(sticks)
    colours = branch_colours(tree)
    for level in range(tree.depth + 1):
        nodes = tree.nodes_at(level)
        ax.barh(np.zeros(1) - level, 1.0, left=0.0, height=BAR_HEIGHT, color=REST, zorder=1)
        ax.barh(
            np.full(nodes.size, -level),
            sticks.mass[nodes],
            left=left[nodes],
            height=BAR_HEIGHT,
            color=colours[nodes] if level else [INK],
            # A hairline between pieces, never wider than the pieces themselves.
            edgecolor=PAPER,
            linewidth=np.minimum(0.8, 120 * sticks.mass[nodes]),
            zorder=2,
        )
    if labels:
        for node in range(tree.n_nodes):
            text = format_index(tree.index(node))
            if sticks.mass[node] > 0.018 + 0.012 * len(text):
                ax.text(
                    left[node] + sticks.mass[node] / 2,
                    -float(tree.level[node]),
                    text,
                    ha="center",
                    va="center",
                    color=readable_on(colours[node]),
                    fontsize=8,
                    zorder=3,
                )
    ax.set_xlim(0, 1)
    ax.set_ylim(-tree.depth - 0.5, 0.5)
    ax.set_yticks(-np.arange(tree.depth + 1), [str(level) for level in range(tree.depth + 1)])
    ax.set_ylabel("level")
    ax.set_xlabel("mass")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _left_ends(sticks: MassTree) -> FloatArray:
    """Return where each node's piece begins on the unit stick: after its elder siblings.

    What a node owns itself lies at the right of its children, with what is unbroken.
    """
    tree = sticks.tree
    left = np.zeros(tree.n_nodes)
    for node in range(tree.n_nodes):
        children = tree.children(node)
        ends = np.cumsum(sticks.mass[children])
        left[children] = left[node] + ends - sticks.mass[children]
    return left


MOST_LEAVES = 20_000


def plot_tree(
    tree: Tree,
    *,
    ax: Axes | None = None,
    labels: Literal["index", "count"] | Sequence[str] | None = "index",
    colours: FloatArray | None = None,
) -> Axes:
    """Draw a tree from the root at the top to the leaves.

    Nodes are labelled where they have room; without room, or with ``labels=None``, they are dots.
    Of more than 20,000 leaves only 20,000 are drawn, spread evenly, each at its place.

    Parameters
    ----------
    tree : Tree
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    labels : {"index", "count", None} or sequence of str, default="index"
        What to write into the nodes: the index ω, the number of data, or a text for each node.
    colours : float array of shape (M, 3), optional
        Red, green and blue of each node; by default a hue per branch of the root.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.plotting import plot_tree
    >>> ax = plot_tree(Tree.from_paths([(1, 1), (1, 2), (2, 1)]))
    """
    texts = _texts(tree, labels)
    n_leaves = tree.leaves.size
    ax = new_axes(ax, (min(max(3.0, 0.45 * n_leaves), 12.0), min(1.0 + 0.7 * tree.depth, 7.0)))
    from matplotlib.collections import LineCollection

    x, y = _positions(tree), -tree.level.astype(float)
    colours = branch_colours(tree) if colours is None else colours
    shown = _shown(tree)
    below = shown[1:]
    ends = np.stack([x, y], axis=1)
    edges = np.stack([ends[tree.parent[below]], ends[below]], axis=1)
    ax.add_collection(LineCollection(list(edges), colors=colours[below], linewidths=1.2, zorder=1))
    fontsize = _fontsize(ax, texts or [], x, tree.depth)
    if texts is None or fontsize < 4.5:
        size = 18.0 if n_leaves <= 100 else 5.0
        ax.scatter(x[shown], y[shown], s=size, color=colours[shown], zorder=2, linewidths=0)
    else:
        for node, text in enumerate(texts):
            ax.text(
                x[node],
                y[node],
                text,
                ha="center",
                va="center",
                fontsize=fontsize,
                color=INK,
                zorder=3,
                bbox={
                    "boxstyle": "round,pad=0.28,rounding_size=0.6",
                    "facecolor": PAPER,
                    "edgecolor": tuple(colours[node]),
                    "linewidth": 1.2,
                },
            )
    ax.set_xlim(x.min() - 0.7, x.max() + 0.7)
    ax.set_ylim(-tree.depth - 0.5, 0.5)
    ax.set_axis_off()
    return ax


def _positions(tree: Tree) -> FloatArray:
    """Put leaves side by side in the tree's order, and parents in the middle of their children."""
    x = np.zeros(tree.n_nodes)
    in_order = tree.leaves[np.argsort(tree.preorder[tree.leaves])]
    x[in_order] = np.arange(in_order.size)
    ids, start = tree.child_table.ids, tree.child_table.start
    for nodes in reversed(tree.nodes_by_level):
        inner = nodes[tree.n_children[nodes] > 0]
        x[inner] = (x[ids[start[inner]]] + x[ids[start[inner + 1] - 1]]) / 2
    return x


def _shown(tree: Tree) -> npt.NDArray[np.int64]:
    """Return the nodes to draw: all inner ones, and as many leaves as a picture can show."""
    inner, leaves = np.flatnonzero(tree.n_children > 0), tree.leaves
    leaves = leaves[np.argsort(tree.preorder[leaves], kind="stable")]
    step = max(1, -(-leaves.size // MOST_LEAVES))
    return np.sort(np.concatenate([inner, leaves[::step]]))


def _fontsize(ax: Axes, texts: Sequence[str], x: FloatArray, depth: int) -> float:
    """Return the largest font, up to 8 points, with which neighbouring labels stay apart.

    A character is about 0.65 of the font size wide, and the box around a label adds 1.2 of it.
    """
    box = ax.get_window_extent()
    points = 72 / ax.figure.dpi
    width, height = box.width * points, box.height * points
    longest = max(map(len, texts), default=1)
    across = width / (np.ptp(x) + 1.4) / (0.65 * longest + 1.2)
    down = height / (depth + 1) / 2.2
    return float(min(8.0, across, down))


def _texts(tree: Tree, labels: str | Sequence[str] | None) -> list[str] | None:
    if labels is None:
        return None
    if isinstance(labels, str) and tree.leaves.size > MOST_LEAVES:
        labels = None if labels in ("index", "count") else labels  # there is no room for them
    if labels is None:
        return None
    if labels == "index":
        return [format_index(tree.index(node)) for node in range(tree.n_nodes)]
    if labels == "count":
        return [str(count) for count in tree.count]
    if isinstance(labels, str) or len(labels) != tree.n_nodes:
        expected = f'"index", "count", None or {tree.n_nodes} texts, one for each node'
        raise ParameterError("labels", labels, expected)
    return list(labels)


def plot_diffusion(
    simulation: Simulation,
    *,
    ax: Axes | None = None,
    show_tree: bool = True,
    colours: FloatArray | None = None,
) -> Axes:
    """Draw two-dimensional data, and the paths along which their locations diffused.

    Parameters
    ----------
    simulation : Simulation
        Two-dimensional data with their tree.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    show_tree : bool, default=True
        Draw the edges of the tree, the thicker the more data pass them; the root is a square.
    colours : float array of shape (M, 3), optional
        Red, green and blue of each node; by default a hue per branch of the root.

    Returns
    -------
    matplotlib Axes
    """
    if simulation.data.shape[1] != 2:
        shown = f"dimension {simulation.data.shape[1]}"
        expected = "two-dimensional data"
        raise ParameterError("simulation", simulation, expected, verb="have", shown=shown)
    ax = new_axes(ax, (4.5, 4.5))
    from matplotlib.collections import LineCollection

    tree, at = simulation.tree, simulation.locations
    colours = branch_colours(tree) if colours is None else colours
    if show_tree:
        below = np.arange(1, tree.n_nodes)
        edges = np.stack([at[tree.parent[below]], at[below]], axis=1)
        # The share of data that pass an edge is its weight in the picture.
        weight = 0.5 + 1.6 * np.sqrt(tree.count[below] / max(tree.n_data, 1))
        ax.add_collection(
            LineCollection(list(edges), colors=colours[below], linewidths=weight, zorder=1)
        )
        private = np.stack([at[tree.leaf], simulation.data], axis=1)
        ax.add_collection(
            LineCollection(list(private), colors=colours[tree.leaf], linewidths=0.5, zorder=1)
        )
        ax.plot(*at[0], marker="s", markersize=6, color=INK, zorder=4)
    few = tree.n_data <= 100
    ax.scatter(
        simulation.data[:, 0],
        simulation.data[:, 1],
        s=22 if few else 5,
        color=colours[tree.leaf],
        edgecolors="white" if few else "none",
        linewidths=0.6 if few else 0,
        alpha=1.0 if few else 0.8,
        zorder=3,
    )
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_xlabel("$x_0$")
    ax.set_ylabel("$x_1$")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


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
