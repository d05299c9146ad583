"""From the user's rows to those of the engine, and back: kinds, units, resolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_observed
from sticktree.data.columns import Columns
from sticktree.errors import ParameterError
from sticktree.model import Column

ROUNDING = 1e-9  # gaps below this part of a range come from arithmetic, not from measurement
FLAT = 1e-3  # in standardised units: the resolution of a column that is constant


@dataclass(frozen=True, eq=False)
class Scaling:
    """How a table was read, and what its Gaussian columns are measured by.

    Attributes
    ----------
    columns : Columns
        Names and kinds.
    centre, spread : float array, shape (D,)
        What is taken off each column, and what it is then divided by.
    """

    columns: Columns
    centre: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, values: FloatArray, columns: Columns, standardize: bool) -> Scaling:
        """Measure encoded rows."""
        check_observed("X", values, columns.spoken)
        _check_range(values, columns)
        centre, spread = np.zeros(len(columns)), np.ones(len(columns))
        some = columns.is_continuous
        if standardize and some.any():
            centre[some], spread[some] = _location_and_scale(values[:, some])
        return cls(columns, centre, spread)

    @classmethod
    def of_many(cls, values: FloatArray, columns: Columns, standardize: bool) -> Scaling:
        """Measure encoded rows, all gaussian, by sums that do not depend on their order."""
        plain = cls.of(values, columns, standardize=False)
        if not standardize:
            return plain
        from sticktree.engine.bulk.measure import measure

        scale = measure(lambda function: [function(values)])
        return cls(columns, scale.centre, scale.spread)

    def standardised(self, values: FloatArray) -> FloatArray:
        """Return encoded rows in the units of the engine."""
        return np.asarray((values - self.centre) / self.spread)

    def restored(self, x: FloatArray) -> FloatArray:
        """Return rows of the engine as encoded ones."""
        return np.asarray(self.centre + self.spread * x)

    def log_units(self, x: FloatArray) -> FloatArray:
        """Return what to add to the log densities of rows to have them in the user's units."""
        units = np.where(np.isnan(x), 0.0, np.log(self.spread)).sum(axis=1)
        return np.asarray(self.columns.log_jacobian(self.restored(x)) - units)

    def describe(self, x: FloatArray, resolution: FloatArray | None) -> tuple[Column, ...]:
        """Return the columns as a model has them; None estimates the resolution of each."""
        gaussian = self.columns.is_continuous
        if resolution is None:
            gaps = np.array(
                [smallest_gap(x[:, d]) if gaussian[d] else 0.0 for d in range(len(x.T))]
            )
            constant = np.nanmax(x, axis=0) == np.nanmin(x, axis=0)
            gaps[constant & gaussian] = FLAT
        elif resolution.size not in (1, len(gaussian)):
            expected = f"one number, or one for each of the {len(gaussian)} columns"
            raise ParameterError("resolution", resolution, expected, shown=str(resolution.size))
        else:
            gaps = np.broadcast_to(resolution, len(gaussian)) / self.spread
        # The variance of what is spread evenly over one unit of the last digit.
        floors = np.where(gaussian, gaps**2 / 12.0, 0.0)
        return tuple(
            Column(kind, max(n, 1), float(floor), trials)
            for kind, n, floor, trials in zip(
                self.columns.kinds,
                self.columns.n_categories,
                floors,
                self.columns.trials,
                strict=True,
            )
        )


def smallest_gap(column: npt.ArrayLike) -> float:
    """Return the smallest gap between distinct values of a column, its resolution.

    It is 0 if no value occurs twice, for then the column is continuous, and if there are fewer than
    two distinct values. NaN is left out.

    Examples
    --------
    >>> from sticktree.data import smallest_gap
    >>> smallest_gap([2.0, 4.5, 4.0, 2.0])
    0.5
    >>> smallest_gap([2.0, 4.5, 4.0])
    0.0
    """
    values = np.asarray(column, dtype=np.float64)
    values = values[np.isfinite(values)]
    distinct = np.unique(values)
    if distinct.size == values.size or distinct.size < 2:
        return 0.0
    # Halves, for the range of huge numbers may be no number.
    gaps = np.diff(distinct / 2)
    width = distinct[-1] / 2 - distinct[0] / 2
    spacing = np.finfo(np.float64).eps * np.abs(distinct / 2).max()
    real = gaps[gaps > max(ROUNDING * width, 4 * spacing)]
    return float(2 * real.min()) if real.size else 0.0


def _check_range(values: FloatArray, columns: Columns) -> None:
    """Raise if values of a column, all of which have some, are too far apart for a number."""
    # Halves, and some room for what is computed of them.
    halves = np.nanmax(values, axis=0) / 2 - np.nanmin(values, axis=0) / 2
    far = np.flatnonzero(halves >= 2e307)
    if far.size:
        raise ParameterError(
            "Input X",
            None,
            "columns whose values are less than 4e307 apart",
            "divide it by something, or write NaN for what is missing",
            verb="have",
            shown=f"more in column {columns.names[far[0]]}",
        )


def _location_and_scale(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of what is observed, safe for very large values."""
    size = np.nanmax(np.abs(x), axis=0)
    size[size == 0] = 1.0
    centre = np.nanmean(x / size, axis=0) * size
    largest = np.nanmax(np.abs(x - centre), axis=0)
    # A column that is constant up to rounding has no scale of its own.
    flat = largest <= 1e-12 * size
    largest[largest == 0] = 1.0
    spread = np.nanstd((x - centre) / largest, axis=0) * largest
    spread[flat] = 1.0
    return centre, spread
