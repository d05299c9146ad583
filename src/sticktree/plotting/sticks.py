"""Broken sticks as nested bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sticktree.checks import FloatArray
from sticktree.plotting.style import INK, PAPER, REST, branch_colours, new_axes, readable_on
from sticktree.processes.mass_tree import MassTree
from sticktree.tree.structure import format_index

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_sticks"]

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
