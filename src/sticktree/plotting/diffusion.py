"""A diffusion in two dimensions with its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sticktree.checks import FloatArray
from sticktree.plotting.style import INK, branch_colours, new_axes
from sticktree.processes.diffusion import Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_diffusion"]


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
        raise ValueError(
            f"simulation must have two-dimensional data, got dimension {simulation.data.shape[1]}"
        )
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
