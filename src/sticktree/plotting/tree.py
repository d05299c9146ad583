"""A tree with its nodes' indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.plotting.style import INK, PAPER, branch_colours, new_axes
from sticktree.tree import Tree
from sticktree.tree.structure import format_index

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_tree"]

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
    Of more than 20,000 leaves, so many are drawn, spread evenly, each at its place.

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
        raise ValueError(
            f'labels must be "index", "count", None or {tree.n_nodes} texts, one for each node, '
            f"got {labels!r}"
        )
    return list(labels)
