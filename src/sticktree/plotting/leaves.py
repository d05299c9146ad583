"""How many branches there are at each level, over all draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.plotting.display import check_fitted
from sticktree.plotting.style import CLUSTERS, draw_dots, new_axes, open_frame
from sticktree.posterior.draws import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LeavesPerLevelDisplay", "plot_leaves_per_level"]

WIDEST = 0.8  # of the distance between levels
MOST_BARS = 40  # of a level
LOG_FROM = 12.0  # ratio of the largest to the smallest number that needs a log scale


def plot_leaves_per_level(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the number of branches at every level, over all draws.

    The wider a bar, the more draws have that number. Dots are medians; beside them, in brackets,
    stand the numbers between which 90 % of the draws lie.

    Parameters
    ----------
    posterior : Posterior
        The draws.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    return LeavesPerLevelDisplay(posterior).plot(ax=ax).ax_


class LeavesPerLevelDisplay:
    """Numbers of branches at each level; see :func:`plot_leaves_per_level`.

    Parameters
    ----------
    posterior : Posterior
        The draws.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of these.
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, posterior: Posterior) -> None:
        if not isinstance(posterior, Posterior):
            raise TypeError(f"posterior must be a Posterior, got {type(posterior).__name__}")
        if len(posterior) == 0:
            raise ValueError("posterior must have draws, got none")
        self.posterior = posterior
        depth = max(posterior.depth, 1)
        self.counts: npt.NDArray[np.int32] = np.array(
            [np.maximum(draw.nodes_per_level(depth), 1) for draw in posterior.draws]
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the numbers of branches of a fitted mixture."""
        return cls(check_fitted(estimator).posterior_).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; the argument is that of :func:`plot_leaves_per_level`."""
        from matplotlib.collections import PolyCollection
        from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

        n_levels = self.counts.shape[1]
        ax = new_axes(ax, (float(np.clip(1.2 + 0.9 * n_levels, 3.0, 8.0)), 3.2))
        boxes = []
        for k in range(n_levels):
            boxes += _bars(self.counts[:, k], k + 1.0)
        ax.add_collection(
            PolyCollection(boxes, facecolors=CLUSTERS[4], edgecolors=CLUSTERS[4], linewidths=0.2)
        )
        levels = np.arange(1, n_levels + 1)
        middle = np.median(self.counts, axis=0)
        draw_dots(ax, levels, middle)
        low, high = np.quantile(self.counts, [0.05, 0.95], axis=0, method="inverted_cdf")
        smallest, largest = self.counts.min(), self.counts.max()
        if largest / smallest > LOG_FROM:
            ax.set_yscale("log", base=2)
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.yaxis.set_minor_locator(NullLocator())
            ax.set_ylim((smallest - 0.5) * 0.9, largest * 1.5)
        else:
            ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
            margin = 0.08 * (largest - smallest + 1)
            ax.set_ylim(smallest - 0.5 - margin, largest + 0.5 + 2.0 * margin)
        if n_levels <= 12:
            for k in range(n_levels):
                ax.annotate(
                    f"{middle[k]:g} ({low[k]}–{high[k]})",
                    (k + 1, self.counts[:, k].max() + 0.5),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=7,
                )
        ax.set_xlim(0.4, n_levels + 0.6)
        ax.xaxis.set_major_locator(MaxNLocator(12, integer=True))
        open_frame(ax, "level", "branches")
        self.ax_, self.figure_ = ax, ax.figure.figure
        return self


def _bars(counts: npt.NDArray[np.int32], at: float) -> list[list[tuple[float, float]]]:
    """Return a rectangle for every number, or for every few, as wide as its share of the draws."""
    low, high = int(counts.min()), int(counts.max())
    step = -(-(high - low + 1) // MOST_BARS)
    found, times = np.unique((counts - low) // step, return_counts=True)
    half = 0.5 * WIDEST * times / times.max()
    bottom = low + step * found - 0.5
    return [
        [(at - h, b), (at + h, b), (at + h, b + step), (at - h, b + step)]
        for h, b in zip(half, bottom, strict=True)
    ]
