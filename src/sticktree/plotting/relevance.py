"""Which columns carry the clusters, as dots: shares of variance with intervals, beside chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sticktree.checks import check_integer
from sticktree.plotting.base import (
    INK,
    PALETTE,
    SMALLEST,
    Display,
    check_fitted,
    draw_dots,
    new_axes,
    one_line,
    open_frame,
)
from sticktree.posterior.relevance import Relevance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 30
PITCH = 0.2  # inches from line to line
CHANCE = "#909090"


def plot_relevance(
    relevance: Any, *, max_columns: int = MOST_COLUMNS, ax: Axes | None = None
) -> Axes:
    """Draw which columns carry the clusters: a line for each of the first ones.

    A dot is the share of the column's variance that is between clusters, with its 94 % interval
    over draws; the short upright line is the share that chance gives.

    Parameters
    ----------
    relevance : Relevance or fitted DFPMixture
        What to draw; of a mixture the relevance of its clusters.
    max_columns : int, default=30
        Columns that are drawn, those that carry the clusters most.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if hasattr(relevance, "fit"):
        return RelevanceDisplay.from_estimator(relevance, max_columns=max_columns, ax=ax).ax_
    return RelevanceDisplay(relevance).plot(ax=ax, max_columns=max_columns).ax_


class RelevanceDisplay(Display):
    """Relevance as dots; see :func:`plot_relevance`.

    Parameters
    ----------
    relevance : Relevance
        What to draw.
    """

    def __init__(self, relevance: Relevance) -> None:
        if not isinstance(relevance, Relevance):
            raise TypeError(f"relevance must be Relevance, got {type(relevance).__name__}")
        self.relevance = relevance

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        labels: Any = None,
        max_columns: int = MOST_COLUMNS,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the relevance for the clusters of a fitted mixture, or for ``labels``."""
        relevance = check_fitted(estimator).relevance(labels)
        return cls(relevance).plot(ax=ax, max_columns=max_columns)

    def plot(self, ax: Axes | None = None, *, max_columns: int = MOST_COLUMNS) -> Self:
        """Draw; the arguments are those of :func:`plot_relevance`."""
        check_integer("max_columns", max_columns, minimum=1)
        found = self.relevance
        shown = found.order[: min(max_columns, len(found))]
        down = np.arange(shown.size)
        ax = new_axes(ax, (5.2, max(PITCH * shown.size + 0.9, 1.8)))
        # What is not known has no dot; its name stays.
        ax.hlines(down, found.low[shown], found.high[shown], color=PALETTE[0], linewidth=1.6)
        draw_dots(ax, found.share[shown], down.astype(np.float64), colour=PALETTE[0])
        ax.scatter(
            found.chance[shown],
            down,
            marker="|",
            s=60,
            color=CHANCE,
            linewidths=1.4,
            label="by chance",
            zorder=3,
        )
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(shown.size - 0.4, -0.6)
        open_frame(ax, "share of variance between clusters")
        names = [one_line(found.columns[d], 36) for d in shown]
        ax.set_yticks(down, names, fontsize=7, parse_math=False, color=INK)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", color="#E6E6E6", linewidth=0.6)
        ax.set_axisbelow(True)
        if shown.size < len(found.columns):
            ax.set_ylabel(f"{shown.size} of {len(found.columns):,} columns", fontsize=8)
        ax.legend(
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            fontsize=SMALLEST,
            frameon=False,
            handletextpad=0.2,
            borderpad=0.0,
        )
        return self._drawn(ax)
