"""Loadings: what each factor of a wide table is made of, in the user's units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer
from sticktree.data.factors import Factors
from sticktree.data.scaling import Scaling
from sticktree.files import csv_pieces
from sticktree.lines import Writable
from sticktree.optional import optional

SHOWN = 5  # columns of a factor that are printed
FACTORS_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Loadings(Writable):
    """By how much each column grows with each factor, in the user's units.

    A row is about ``centre + scores @ values.T``, with scores of mean 0 and standard deviation 1 as
    ``factor_scores_`` has them, and noise of standard deviation ``noise`` around it. Lognormal
    columns are logarithms. The sign of a factor has no meaning: the largest entry is positive.

    Attributes
    ----------
    names : tuple
        Names of the columns; positions for an array.
    values : float array, shape (p, q)
        The loadings.
    centre, noise : float array, shape (p,)
        Of each column.
    """

    names: tuple[Any, ...]
    values: FloatArray
    centre: FloatArray
    noise: FloatArray

    @classmethod
    def of(cls, factors: Factors, scaling: Scaling) -> Loadings:
        """Return the loadings of a fit."""
        reach = (factors.axes**2).sum(axis=1)  # of the noise, what the scores have of it
        return cls(
            tuple(scaling.columns.names),
            scaling.spread[:, None] * factors.loadings,
            scaling.restored(factors.centre),
            scaling.spread * factors.noise * np.sqrt(np.maximum(1.0 - reach, 0.0)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of columns and factors."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def correlations(self) -> FloatArray:
        """The correlation of each column with each factor, shape (p, q)."""
        total = np.sqrt((self.values**2).sum(axis=1) + self.noise**2)
        return np.asarray(self.values / total[:, None])

    @property
    def communality(self) -> FloatArray:
        """The share of the variance of each column that the factors have, shape (p,)."""
        return np.asarray((self.correlations**2).sum(axis=1))

    def top(self, n_top: int = SHOWN) -> list[list[Any]]:
        """Return the names of the columns that correlate most with each factor."""
        check_integer("n_top", n_top, minimum=1)
        order = np.argsort(-np.abs(self.correlations), axis=0, kind="stable")[:n_top]
        return [[self.names[d] for d in order[:, k]] for k in range(self.shape[1])]

    # ---- as a table ------------------------------------------------------------------------------

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the values."""
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, a line for each column of the table."""
        pandas = optional("pandas", extra="frames", asker="to_frame")
        columns = [f"factor{k}" for k in range(self.shape[1])]
        frame = pandas.DataFrame(self.values, index=list(self.names), columns=columns)
        return frame.assign(noise=self.noise, communality=self.communality)

    def csv(self, safe: bool = True) -> Iterator[str]:
        """Yield the same as CSV, some thousand lines at a time."""
        table: dict[str, list[Any]] = {"column": [str(name) for name in self.names]}
        parts = {f"factor{k}": self.values[:, k] for k in range(self.shape[1])}
        parts |= {"noise": self.noise, "communality": self.communality}
        for name, values in parts.items():
            table[name] = [f"{value:.6g}" for value in values.tolist()]
        return csv_pieces(table, safe)

    def __repr__(self) -> str:
        """Return how much it has; ``print`` shows it."""
        return f"Loadings(n_columns={self.shape[0]}, n_factors={self.shape[1]})"

    def __str__(self) -> str:
        """Return the columns that correlate most with each factor."""
        n_columns, n_factors = self.shape
        lines = [f"{n_factors} factors of {n_columns:,} columns, by correlation:"]
        order = np.argsort(-np.abs(self.correlations), axis=0, kind="stable")[:SHOWN]
        for k in range(min(n_factors, FACTORS_SHOWN)):
            named = (f"{self.names[d]} {self.correlations[d, k]:+.2f}" for d in order[:, k])
            lines.append(f"  factor {k}  {', '.join(named)}")
        if n_factors > FACTORS_SHOWN:
            lines.append(f"… {n_factors - FACTORS_SHOWN} more in to_frame() and to_csv()")
        return "\n".join(lines)
