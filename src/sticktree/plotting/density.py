"""The predictive density of one or two columns, with the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from sticktree.checks import FloatArray, check_integer, is_integer
from sticktree.errors import ParameterError
from sticktree.palette import CLUSTERS
from sticktree.plotting.base import (
    INK,
    REST,
    Display,
    check_fitted,
    column_names,
    data_of,
    new_axes,
    open_frame,
    pyplot,
    tree_of,
)
from sticktree.plotting.columns import read_data
from sticktree.plotting.groups import Groups, labels_of, read_groups
from sticktree.plotting.scatter import MOST_VECTORS, draw_points
from sticktree.plotting.trees import DendrogramDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OPERATIONS = 1e9
"""That a density may take by default: a few seconds."""
MASSES = (0.99, 0.95, 0.8, 0.5)
"""Of the predictive mass: what the regions of highest density hold."""


def plot_density(
    estimator: Any,
    X: Any = None,  # noqa: N803
    *,
    columns: Sequence[Any] | None = None,
    resolution: int | None = None,
    n_draws: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the predictive density of a fitted mixture in one or two columns, with the data.

    Two columns are shown by the smallest regions that hold 50, 80, 95 and 99 % of the mass, one
    column by a curve over a histogram. All other columns are integrated out.

    Parameters
    ----------
    estimator : DFPMixture
        A fitted mixture.
    X : array or data frame, optional
        Rows to show; by default those of the fit.
    columns : sequence of one or two names or positions, optional
        The columns; needed where there are more than two.
    resolution : int, optional
        Points of the grid along each column; by default 100, or 60 if other columns are integrated
        out.
    n_draws : int, optional
        Draws that the density is averaged over, spread evenly over all; by default at most 100, and
        fewer where each takes long.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    display = DensityDisplay.from_estimator(
        estimator, X, columns=columns, resolution=resolution, n_draws=n_draws, ax=ax
    )
    return display.ax_


class DensityDisplay(Display):
    """A density on a grid, and data; see :func:`plot_density`.

    Parameters
    ----------
    grid : list of one or two float arrays
        The places along each column.
    log_density : float array, shape (len(grid[0]),) or (len(grid[0]), len(grid[1]))
        Log density at each place.
    data : float array, shape (N, 1) or (N, 2)
        Rows to show.
    columns : sequence of str
        Names of the columns.
    """

    def __init__(
        self,
        grid: Sequence[FloatArray],
        log_density: FloatArray,
        data: FloatArray,
        columns: Sequence[str],
    ) -> None:
        sizes = tuple(np.size(places) for places in grid)
        if len(sizes) not in (1, 2) or np.shape(log_density) != sizes:
            expected = "a value for each place of a grid of one or two columns"
            shown = f"shape {np.shape(log_density)} for {sizes}"
            raise ParameterError("log_density", log_density, expected, verb="have", shown=shown)
        self.grid = [np.asarray(places, dtype=np.float64) for places in grid]
        self.log_density = np.asarray(log_density, dtype=np.float64)
        self.data = np.asarray(data, dtype=np.float64).reshape(-1, len(sizes))
        self.columns = [str(name) for name in columns]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,  # noqa: N803
        *,
        columns: Sequence[Any] | None = None,
        resolution: int | None = None,
        n_draws: int | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the density of a fitted mixture and draw it; see :func:`plot_density`."""
        check_fitted(estimator)
        if resolution is not None:
            check_integer("resolution", resolution, minimum=2)
        if n_draws is not None:
            check_integer("n_draws", n_draws, minimum=1)
        chosen = chosen_columns(estimator, columns)
        every = column_names(estimator)
        names = [every[k] for k in chosen]
        if resolution is None:
            resolution = 100 if len(every) == len(chosen) else 60
        data = rows_shown(estimator, X)[:, chosen]
        positive = [estimator.columns_.is_log[k] for k in chosen]
        grid = [
            _places(column, resolution, only_positive)
            for column, only_positive in zip(data.T, positive, strict=True)
        ]
        mesh = np.meshgrid(*grid, indexing="ij")
        at = np.column_stack([axis.ravel() for axis in mesh])
        if n_draws is None:
            n_draws = _affordable(estimator, len(at), len(every) - len(chosen))
        log_density = _log_density(estimator, at, chosen, n_draws)
        shape = tuple(places.size for places in grid)
        return cls(grid, log_density.reshape(shape), data, names).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, labels: Any = None) -> Self:
        """Draw; ``labels`` colours the rows by their flat clusters."""
        groups = read_groups("labels", labels, len(self.data))
        ax = new_axes(ax, (4.8, 4.2) if len(self.grid) == 2 else (5.0, 3.2))
        if len(self.grid) == 2:
            self._plot_regions(ax, groups)
            open_frame(ax, *self.columns)
        else:
            self._plot_curve(ax)
            open_frame(ax, self.columns[0], "density")
        return self._drawn(ax)

    def _plot_regions(self, ax: Axes, groups: Groups | None) -> None:
        from matplotlib import colormaps
        from matplotlib.patches import Patch

        levels = _region_levels(self.grid, self.log_density)
        shades = colormaps["Blues"](np.linspace(0.15, 0.75, len(MASSES)))
        kept = np.flatnonzero(np.diff([-np.inf, *levels]) > 0)  # on a coarse grid some coincide
        ax.contourf(
            *self.grid,
            self.log_density.T,
            levels=[*(levels[k] for k in kept), np.inf],
            colors=shades[kept],
            zorder=1,
        )
        shown = self.data[np.isfinite(self.data).all(axis=1)]
        if groups is None:
            ax.scatter(
                shown[:, 0],
                shown[:, 1],
                s=float(np.clip(1500 / max(len(shown), 1), 0.8, 6.0)),
                color=INK,
                linewidths=0,
                alpha=0.8,
                rasterized=len(shown) > MOST_VECTORS,
                zorder=3,
            )
        else:
            draw_points(ax, self.data, groups)
        ax.set_xlim(self.grid[0][0], self.grid[0][-1])
        ax.set_ylim(self.grid[1][0], self.grid[1][-1])
        ax.legend(
            [Patch(facecolor=tuple(shades[k])) for k in kept[::-1]],
            [f"{100 * MASSES[k]:.0f} %" for k in kept[::-1]],
            title="of the mass",
            fontsize=6,
            title_fontsize=6,
            frameon=False,
            handlelength=1.0,
            handleheight=1.0,
            borderaxespad=0.0,
            ncols=len(MASSES),
            columnspacing=1.0,
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
        )

    def _plot_curve(self, ax: Axes) -> None:
        rows = self.data[np.isfinite(self.data[:, 0]), 0]
        if rows.size:
            bins = int(np.clip(2 * rows.size ** (1 / 3), 5, 60))
            ax.hist(rows, bins=bins, density=True, color=REST, edgecolor="white", linewidth=0.4)
            ax.plot(
                rows,
                np.zeros(rows.size),
                "|",
                color=INK,
                markersize=6,
                markeredgewidth=0.4,
                clip_on=False,
                rasterized=rows.size > MOST_VECTORS,
            )
        ax.plot(self.grid[0], np.exp(self.log_density), color=CLUSTERS[0], linewidth=1.4)
        ax.set_xlim(self.grid[0][0], self.grid[0][-1])
        ax.set_ylim(0.0, None)


def figure_density(
    estimator: Any,
    X: Any = None,  # noqa: N803
    *,
    columns: Sequence[Any] | None = None,
    resolution: int | None = None,
    n_draws: int | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Draw the paper's Figure 3: the data by cluster, the tree, and the predictive density.

    Of one column there are only the tree and the density.

    Parameters
    ----------
    estimator : DFPMixture
        A fitted mixture.
    X : array or data frame, optional
        Rows to show beside the density; by default those of the fit.
    columns, resolution, n_draws
        As in :func:`plot_density`.
    figure : matplotlib Figure or SubFigure, optional
        An empty figure to fill; by default a new one.

    Returns
    -------
    matplotlib Figure
    """
    tree = tree_of(estimator)
    chosen = chosen_columns(estimator, columns)
    two = len(chosen) == 2
    if figure is None:
        size = (10.0, 3.4) if two else (7.5, 3.2)
        figure = cast("Figure", pyplot().figure(figsize=size, layout="constrained"))
    axes: Any = figure.subplots(1, 3 if two else 2, squeeze=False)[0]
    density = DensityDisplay.from_estimator(
        estimator, X, columns=chosen, resolution=resolution, n_draws=n_draws, ax=axes[-1]
    )
    labels = labels_of(estimator)
    if two:
        data = rows_shown(estimator)[:, chosen]
        draw_points(axes[0], data, read_groups("labels", labels, len(data)))
        axes[0].set_xlim(axes[-1].get_xlim())
        axes[0].set_ylim(axes[-1].get_ylim())
        open_frame(axes[0], *density.columns)
        axes[0].set_title("data", fontsize=9, loc="left")
    shown = DendrogramDisplay(tree, labels=labels, names=False)
    shown.plot(ax=axes[-2], orientation="top", supports="auto")
    axes[-2].set_title("tree", fontsize=9, loc="left")
    axes[-1].set_title("density", fontsize=9, loc="left")
    return figure


def chosen_columns(estimator: Any, columns: Sequence[Any] | None) -> list[int]:
    """Return the positions of the columns to show, which must be numbers."""
    names = list(check_fitted(estimator).columns_.names)
    wanted: Sequence[Any] = range(len(names)) if columns is None else columns
    if isinstance(wanted, str) or len(wanted) not in (1, 2):
        expected = f"one or two of the {len(names)} columns, by name or position"
        raise ParameterError("columns", columns, expected)
    chosen = []
    for column in wanted:
        if column in names:
            chosen.append(names.index(column))
        elif is_integer(column) and 0 <= column < len(names):
            chosen.append(int(column))
        else:
            raise ParameterError("columns", column, f"among {names}")
    for k in chosen:
        if not estimator.columns_.is_continuous[k]:
            shown = f"{names[k]!r}, which is {estimator.columns_.declared[k]}"
            expected = "gaussian or lognormal for a density"
            raise ParameterError("columns", names[k], expected, shown=shown)
    if len(set(chosen)) < len(chosen):
        raise ParameterError("columns", columns, "different ones")
    return chosen


def rows_shown(estimator: Any, X: Any = None) -> FloatArray:  # noqa: N803
    """Return the rows to show, in the user's units: those given, or those of the fit."""
    if X is None:
        data = data_of(estimator)
        logs = estimator.columns_.is_log
        data[:, logs] = np.exp(data[:, logs])
        return data
    values, _ = read_data(X)
    if values.shape[1] != len(estimator.columns_):
        expected = f"{len(estimator.columns_)} columns, as in the fit"
        raise ParameterError("X", values.shape[1], expected, verb="have")
    return values


def _places(column: FloatArray, resolution: int, positive: bool) -> FloatArray:
    """Return a grid that covers a column with a margin; of positive numbers it stays above 0."""
    seen = column[np.isfinite(column)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (-1.0, 1.0)
    margin = 0.2 * (high - low) or 1.0
    start = low / 2 if positive and low <= margin else low - margin
    return np.linspace(start, high + margin, resolution)


def _affordable(estimator: Any, n_places: int, n_gaps: int) -> int:
    """Return a number of draws that takes a few seconds: from eight to a hundred."""
    n_components = 2 * estimator.posterior_.draws[-1].parent.size
    each = n_places * n_components * len(estimator.columns_) * (1 + n_gaps)
    return int(np.clip(OPERATIONS / each, 8, 100))


def _log_density(estimator: Any, at: FloatArray, chosen: list[int], n_draws: int) -> FloatArray:
    """Return the log density of some columns at places, from draws spread over all."""
    columns, scaling = estimator.columns_, estimator.fit_.training.scaling
    # What is missing in a row is integrated out.
    encoded = np.full((len(at), len(columns)), np.nan)
    for j, k in enumerate(chosen):
        is_log = columns.is_log[k]
        encoded[:, k] = np.log(at[:, j]) if is_log else at[:, j]
    x = scaling.standardised(encoded)
    found = estimator.predictive_.thinned(n_draws).log_density(x)
    return np.asarray(found + scaling.log_units(x))


def _region_levels(grid: list[FloatArray], log_density: FloatArray) -> list[float]:
    """Return the log densities above which lie the given shares of the mass on the grid."""
    cell = np.add.outer(np.log(np.gradient(grid[0])), np.log(np.gradient(grid[1])))
    order = np.argsort(-log_density, axis=None)
    mass = np.exp(log_density + cell).ravel()[order]
    within = np.cumsum(mass) / mass.sum()
    ranked = log_density.ravel()[order]
    last = np.minimum(np.searchsorted(within, MASSES), ranked.size - 1)
    return [float(level) for level in ranked[last]]
