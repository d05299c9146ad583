"""Colours that all pictures share, and the Axes they draw on."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from sticktree.checks import FloatArray
from sticktree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["INK", "PAPER", "REST", "branch_colours", "new_axes", "pyplot", "readable_on"]

# Okabe and Ito's palette, told apart by colour-blind readers and in print; without its black and
# its yellow, which is too pale for lines.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
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


def branch_colours(tree: Tree) -> FloatArray:
    """Return an RGB row for every node: a hue per branch of the root, pale and paler below.

    Branches take the hues in the order of their indices, so the same tree is always coloured alike.
    """
    hues = np.array([_rgb(colour) for colour in PALETTE])
    hue = np.tile(_rgb(INK), (tree.n_nodes, 1))
    pale = np.zeros((tree.n_nodes, 1))
    top = _first_branching(tree)
    for node in range(1, tree.n_nodes):
        above = int(tree.parent[node])
        place = int(np.searchsorted(tree.children(above), node))
        if above == top:
            hue[node] = hues[place % len(hues)]
        elif tree.level[above] > tree.level[top]:
            # Every second sibling is a little paler, so that neighbours can be told apart.
            hue[node] = hue[above]
            pale[node] = min(0.5, pale[above, 0] + (0.25 if place % 2 else 0.0))
    colours: FloatArray = hue + pale * (1 - hue)
    return colours


def readable_on(background: FloatArray) -> str:
    """Return the text colour, dark or white, with the better contrast by WCAG's luminance."""
    linear = np.where(
        background <= 0.04045, background / 12.92, ((background + 0.055) / 1.055) ** 2.4
    )
    luminance = float(linear @ np.array([0.2126, 0.7152, 0.0722]))
    return INK if luminance > 0.2 else PAPER


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def _first_branching(tree: Tree) -> int:
    """Return the deepest node that all paths pass."""
    node = 0
    while tree.n_children[node] == 1:
        node = int(tree.children(node)[0])
    return node
