"""The rows of a fit as people read them, in their own units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.columns import Columns
from sticktree.tree import NULL


def standardised(values: FloatArray) -> FloatArray:
    """Return columns with mean 0 and standard deviation 1; constant ones are 0, gaps NaN."""
    seen = np.isfinite(values)
    size = np.where(seen, np.abs(values), 0.0).max(axis=0, initial=0.0)
    part = np.where(seen, values, 0.0)
    part /= np.where(size > 0, size, 1.0)  # so that squares of very large values stay finite
    count = np.maximum(seen.sum(axis=0), 1)
    part -= part.sum(axis=0) / count
    spread = np.sqrt((np.where(seen, part, 0.0) ** 2).sum(axis=0) / count)
    flat = spread <= 1e-12
    return np.where(seen, np.where(flat, 0.0, part / np.where(flat, 1.0, spread)), np.nan)


@dataclass(frozen=True, eq=False)
class ReadableTable:
    """Rows of a fit: all of them, or a sample where they are not in memory.

    Attributes
    ----------
    names, declared : tuple of str
        Names and kinds of the columns.
    categories : tuple of tuples of str
        Those of each column; empty where it has none.
    rows : int array, shape (N,)
        Which row of the fit each one is; ascending unless chosen otherwise.
    values : float array, shape (N, D)
        In the user's units; categories as their numbers, successes as shares of their trials, NaN
        where missing.
    trials : dict of int to float array, shape (N,)
        The trials of binomial columns, by the positions of these.
    """

    names: tuple[str, ...]
    declared: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    rows: npt.NDArray[np.int64]
    values: FloatArray
    trials: dict[int, FloatArray]

    @classmethod
    def of(
        cls, columns: Columns, rows: npt.NDArray[np.int64], encoded: FloatArray
    ) -> ReadableTable:
        """Take rows as a fit encodes them, with what is known of their columns."""
        values = np.array(encoded, dtype=np.float64)
        with np.errstate(over="ignore"):  # of columns that are fitted as their logarithms
            values[:, columns.is_log] = np.exp(values[:, columns.is_log])
        names = list(map(str, columns.names))
        for d, trials in enumerate(columns.trials):
            if trials != NULL:
                with np.errstate(invalid="ignore"):  # of no trials at all
                    values[:, d] /= values[:, trials]
                names[d] += "" if d in columns.joined else f"/{names[trials]}"
        if columns.container == "array":
            names = [f"column {name}" for name in names]
        trials_of_others = set(columns.trials)  # a set, as there may be many columns
        kept = [d for d in range(len(columns)) if d not in trials_of_others]
        return cls(
            tuple(names[d] for d in kept),
            tuple(columns.declared[d] for d in kept),
            tuple(tuple(map(str, columns.categories[d])) for d in kept),
            rows,
            values[:, kept],
            {
                k: values[:, columns.trials[d]]
                for k, d in enumerate(kept)
                if columns.trials[d] != NULL
            },
        )

    @classmethod
    def of_scores(cls, rows: npt.NDArray[np.int64], scores: FloatArray) -> ReadableTable:
        """Take scores of factors, in their standard deviations."""
        n_factors = scores.shape[1]
        names = tuple(f"factor {k + 1}" for k in range(n_factors))
        kinds, none = ("gaussian",) * n_factors, ((),) * n_factors
        return cls(names, kinds, none, rows, scores, {})

    def some(self, rows: npt.NDArray[np.int64]) -> ReadableTable:
        """Return the table of some rows, by their numbers in the fit, in the order given."""
        return self.at(np.searchsorted(self.rows, rows))

    def at(self, places: npt.NDArray[np.int64]) -> ReadableTable:
        """Return the table of some rows, by their places in this one, in the order given."""
        trials = {d: of_rows[places] for d, of_rows in self.trials.items()}
        return replace(self, rows=self.rows[places], values=self.values[places], trials=trials)

    @cached_property
    def distances(self) -> FloatArray:
        """The values in standard deviations from the mean; 0 where a column is constant."""
        return standardised(self.values)
