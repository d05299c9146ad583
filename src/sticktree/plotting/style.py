"""Colours that all pictures share, and the Axes, frames and dots they draw."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from sticktree.checks import FloatArray
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "CLASSES",
    "CLUSTERS",
    "INK",
    "PAPER",
    "REST",
    "branch_colours",
    "colours",
    "draw_dots",
    "new_axes",
    "open_frame",
    "paler",
    "points",
    "pyplot",
    "readable_on",
    "rgb",
]

# Okabe and Ito's palette, told apart by colour-blind readers and in print; without its black and
# its yellow, which is too pale for lines.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
# The same hues for clusters, in an order in which neighbours differ most also to colour-blind
# readers, and more that were chosen for their distance from those before.
CLUSTERS = (
    *("#0072B2", "#E69F00", "#CC79A7", "#D55E00", "#56B4E9", "#009E73", "#4B2D78", "#B4D269"),
    *("#5A87E1", "#692D00", "#5AD2FF", "#4B4BA5", "#4BB478", "#873C2D", "#00A5C3", "#964B78"),
    *("#96C396", "#692D4B", "#B44B2D", "#5AC3C3"),
)
# Classes have colours of their own, Paul Tol's muted ones first, so that a reader never takes a
# class for a cluster.
CLASSES = (
    *("#332288", "#DDCC77", "#CC6677", "#88CCEE", "#117733", "#44AA99", "#882255", "#999933"),
    *("#AA4499", "#4B3C00", "#87C3A5", "#698700", "#693C96", "#6996F0", "#B4B44B", "#3C5A1E"),
    *("#5AB4D2", "#B44B69", "#7887B4"),
)
INK = "#222222"
PAPER = "#FFFFFF"
REST = "#D9D9D9"


def pyplot() -> ModuleType:
    """Return matplotlib.pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "pictures need matplotlib: install it with `pip install sticktree[plot]`"
        ) from None
    return plt


def new_axes(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """Return ``ax``, or the Axes of a new figure."""
    if ax is None:
        ax = pyplot().subplots(figsize=figsize, layout="constrained")[1]
    return ax


def open_frame(ax: Axes, x_label: str = "", y_label: str = "") -> None:
    """Leave the frame open above and at the right, with small numbers; name the axes if asked to.

    Labels are plain text: the name of a column may have dollar signs.
    """
    ax.tick_params(labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    if x_label:
        ax.set_xlabel(x_label, fontsize=8, parse_math=False)
    if y_label:
        ax.set_ylabel(y_label, fontsize=8, parse_math=False)


def draw_dots(
    ax: Axes,
    x: FloatArray,
    y: FloatArray,
    *,
    size: float = 22.0,
    colour: str = INK,
    marker: str = "o",
    label: str | None = None,
) -> None:
    """Draw dots that stand out from lines and areas."""
    ax.scatter(
        x,
        y,
        s=size,
        color=colour,
        marker=marker,
        label=label,
        edgecolors=PAPER,
        linewidths=0.6,
        zorder=4,
    )


def points(ax: Axes) -> tuple[float, float]:
    """Return width and height of Axes in points, as they will be once the figure is laid out."""
    figure = ax.figure.figure  # of Axes in a subfigure the whole one
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    box = ax.get_window_extent()
    return box.width * 72 / figure.dpi, box.height * 72 / figure.dpi


def colours(n: int, palette: tuple[str, ...] = CLUSTERS) -> FloatArray:
    """Return ``n`` colours, an RGB row each; beyond the palette's length they come again."""
    return np.array([rgb(palette[k % len(palette)]) for k in range(n)]).reshape(n, 3)


def paler(colour: FloatArray, share: float) -> FloatArray:
    """Mix colours with a share of white."""
    return np.asarray(colour + share * (1.0 - colour))


def branch_colours(tree: Tree) -> FloatArray:
    """Return an RGB row for every node: a hue per branch of the root, pale and paler below.

    Branches take the hues in the order of their indices, so the same tree is always coloured alike.
    """
    hues = np.array([rgb(colour) for colour in PALETTE])
    hue = np.tile(rgb(INK), (tree.n_nodes, 1))
    pale = np.zeros((tree.n_nodes, 1))
    top = _first_branching(tree)
    place = tree.rank - 1
    for nodes in tree.nodes_by_level[1:]:
        above = tree.parent[nodes]
        first = nodes[above == top]
        hue[first] = hues[place[first] % len(hues)]
        lower = nodes[tree.level[above] > tree.level[top]]
        above = tree.parent[lower]
        # Every second sibling is a little paler, so that neighbours can be told apart.
        hue[lower] = hue[above]
        pale[lower] = np.minimum(0.5, pale[above] + 0.25 * (place[lower] % 2)[:, None])
    return np.asarray(hue + pale * (1 - hue))


def readable_on(background: FloatArray) -> str:
    """Return the text colour, dark or white, with the better contrast by WCAG's luminance."""
    linear = np.where(
        background <= 0.04045, background / 12.92, ((background + 0.055) / 1.055) ** 2.4
    )
    luminance = float(linear @ np.array([0.2126, 0.7152, 0.0722]))
    return INK if luminance > 0.2 else PAPER


def rgb(colour: str) -> tuple[float, ...]:
    """Return red, green and blue of #RRGGBB, each between 0 and 1."""
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def _first_branching(tree: Tree) -> int:
    """Return the deepest node that all paths pass."""
    node = 0
    while tree.n_children[node] == 1:
        node = int(tree.children(node)[0])
    return node
