"""What factors are made of: correlations of columns with factors, as a grid of colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import check_integer
from sticktree.data.loadings import Loadings
from sticktree.plotting.base import PAPER, SMALLEST, Display, check_fitted, new_axes, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 40
HEIGHT, WIDTH = 0.17, 0.34  # inches of a cell


def plot_loadings(
    loadings: Any, *, max_columns: int = MOST_COLUMNS, ax: Axes | None = None
) -> Axes:
    """Draw what the factors of many columns are made of.

    A line is a column and a field its correlation with a factor, red where they grow together and
    blue where one falls as the other grows. Lines are in the order of the factor that they
    correlate with most; below each factor is its share of the variance of all columns, in units of
    their standard deviations.

    Parameters
    ----------
    loadings : Loadings or fitted DFPMixture
        What to draw; of a mixture its ``loadings_``.
    max_columns : int, default=40
        Columns that are drawn: of each factor those that correlate most with it.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if hasattr(loadings, "fit"):
        return LoadingsDisplay.from_estimator(loadings, max_columns=max_columns, ax=ax).ax_
    return LoadingsDisplay(loadings).plot(ax=ax, max_columns=max_columns).ax_


class LoadingsDisplay(Display):
    """Loadings as a grid of colours; see :func:`plot_loadings`.

    Parameters
    ----------
    loadings : Loadings
        What to draw.
    """

    def __init__(self, loadings: Loadings) -> None:
        if not isinstance(loadings, Loadings):
            raise TypeError(f"loadings must be Loadings, got {type(loadings).__name__}")
        self.loadings = loadings

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_columns: int = MOST_COLUMNS, ax: Axes | None = None
    ) -> Self:
        """Draw the loadings of a fitted mixture that has factors."""
        return cls(check_fitted(estimator).loadings_).plot(ax=ax, max_columns=max_columns)

    def plot(self, ax: Axes | None = None, *, max_columns: int = MOST_COLUMNS) -> Self:
        """Draw; the arguments are those of :func:`plot_loadings`."""
        check_integer("max_columns", max_columns, minimum=1)
        n_columns, n_factors = self.loadings.shape
        lines = self._chosen(max_columns)
        correlations = self.loadings.correlations
        height = HEIGHT * max(lines.size, 8)
        ax = new_axes(ax, (WIDTH * max(n_factors, 4) + 3.0, height + 0.9))
        shown = ax.pcolormesh(
            correlations[lines], cmap="RdBu_r", vmin=-1, vmax=1, edgecolors=PAPER, linewidth=0.6
        )
        ax.set_ylim(lines.size, 0)
        names = self.loadings.names
        texts = [one_line(f"x{names[d]}" if _numbered(names) else names[d], 30) for d in lines]
        ax.set_yticks(np.arange(lines.size) + 0.5, texts, fontsize=SMALLEST + 0.5, parse_math=False)
        share = 100 * (correlations**2).mean(axis=0)
        ticks = [f"{k}\n{_percent(value)}" for k, value in enumerate(share.tolist())]
        ax.set_xticks(np.arange(n_factors) + 0.5, ticks, fontsize=SMALLEST)
        ax.set_xlabel("factor, and its share of all variance (%)", fontsize=8)
        if lines.size < n_columns:
            ax.set_ylabel(f"{lines.size} of {n_columns:,} columns", fontsize=8)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        bar = ax.figure.colorbar(shown, ax=ax, shrink=0.5, aspect=12, pad=0.03, ticks=[-1, 0, 1])
        bar.set_label("correlation", fontsize=7)
        bar.ax.tick_params(labelsize=SMALLEST)
        bar.outline.set_visible(False)
        return self._drawn(ax)

    def _chosen(self, most: int) -> npt.NDArray[np.intp]:
        """Return columns by the factor that each is drawn for, the strongest first."""
        strength = np.abs(self.loadings.correlations)
        n_columns, n_factors = strength.shape
        nearest = strength.argmax(axis=1)
        # Factors take turns, so that a broad one leaves room for the others.
        turn = np.empty(n_columns, dtype=np.int64)
        for k in range(n_factors):
            own = np.flatnonzero(nearest == k)
            turn[own[np.argsort(-strength[own, k], kind="stable")]] = np.arange(own.size)
        first = np.lexsort((-strength.max(axis=1), turn))[:most]
        return np.asarray(first[np.lexsort((-strength.max(axis=1)[first], nearest[first]))])


def _numbered(names: tuple[Any, ...]) -> bool:
    """Return whether columns have only their numbers as names."""
    return names == tuple(range(len(names)))


def _percent(value: float) -> str:
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}"
