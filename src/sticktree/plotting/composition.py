"""What groups are made of: a stacked bar for each group, over the tree of the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sticktree.plotting.base import (
    INK,
    PAPER,
    REST,
    SMALLEST,
    Display,
    check_fitted,
    colours,
    new_axes,
    one_line,
    open_frame,
)
from sticktree.posterior.composition import INTERVAL, Composition

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_GROUPS = 60
BAR = 0.26  # inches from bar to bar


def plot_composition(composition: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the share of every cluster in each group, as stacked bars.

    Lines where one part ends are 94 % intervals of the shares up to there. Groups come in the order
    of their clusters of groups, so that those which are alike stand together, and then parents of
    groups; times stay in their order.

    Parameters
    ----------
    composition : Composition or fitted DFPMixture
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if hasattr(composition, "fit"):
        return CompositionDisplay.from_estimator(composition, ax=ax).ax_
    return CompositionDisplay(composition).plot(ax=ax).ax_


class CompositionDisplay(Display):
    """Shares of clusters in groups as stacked bars; see :func:`plot_composition`.

    Parameters
    ----------
    composition : Composition
        What to draw.
    """

    def __init__(self, composition: Composition) -> None:
        if not isinstance(composition, Composition):
            raise TypeError(f"composition must be a Composition, got {type(composition).__name__}")
        self.composition = composition

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the composition of the groups of a fitted mixture."""
        return cls(check_fitted(estimator).composition_).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; the arguments are those of :func:`plot_composition`."""
        found = self.composition
        order = found.order()[:MOST_GROUPS]
        n_groups, n_clusters = order.size, found.n_clusters
        ax = new_axes(ax, (6.4, max(BAR * n_groups + 1.1, 2.2)))
        shade = colours(n_clusters)
        upto = np.cumsum(found.shares[:, order, :-1], axis=2)
        low, high = np.quantile(upto, INTERVAL, axis=0)
        start, rows = np.zeros(n_groups), np.arange(n_groups)
        for k in range(n_clusters):
            share = found.mean[order, k]
            ax.barh(rows, share, left=start, height=0.78, color=shade[k], edgecolor=PAPER,
                    linewidth=0.6, label=str(k))  # fmt: skip
            start = start + share
            if k < n_clusters - 1:  # what is left of 1 has no end of its own
                place = rows + (0.16 if k % 2 else -0.16)  # neighbours may overlap
                ax.hlines(place, low[:, k], high[:, k], color=INK, linewidth=0.9, alpha=0.75)
        ax.barh(rows, np.maximum(1.0 - start, 0.0), left=start, height=0.78, color=REST,
                label="unseen")  # fmt: skip
        names = [one_line(found.groups[j], 28) for j in order]
        ax.set_yticks(rows, names, fontsize=7, parse_math=False)
        ax.set_ylim(n_groups - 0.4, -0.6)
        ax.set_xlim(0.0, 1.0)
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        more = len(found.groups) - n_groups
        open_frame(ax, "share of the group" + (f"; {more:,} groups more" if more else ""))
        ax.tick_params(axis="y", length=0)
        ax.legend(
            title="cluster", title_fontsize=7, fontsize=SMALLEST, frameon=False,
            loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=1 + n_clusters // 16,
        )  # fmt: skip
        return self._drawn(ax)
