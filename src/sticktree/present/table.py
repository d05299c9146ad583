"""The rows of a fit as people read them, in their own units, and what is typical of a cluster.

With numbers and counts in words, as all that is shown has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.blas import one_thread
from sticktree.checks import FloatArray
from sticktree.tree import NULL
from sticktree.tree.structure import SupportKind

LEAST_SDS = 0.5  # from the overall mean, for a column to be worth a word
LEAST_EXCESS = 0.15  # of a category's share over that in all rows
MOST_TRAITS = 3  # of a cluster
NAME_LENGTH = 40

SUPPORT_NAMES: dict[SupportKind, str] = {
    "support": "exact support",
    "transfer": "transfer support",
}
SUPPORT_MEANINGS: dict[SupportKind, str] = {
    "support": "the share of draws with exactly these rows",
    "transfer": "1 − the share of rows that would have to move to match a draw",
}


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


def principal_axes(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows on their first two principal axes.

    Returns
    -------
    places : float array, shape (N, 2)
    share : float array, shape (2,)
        The share of the variance on each axis.
    direction : float array, shape (D, 2)
        The axes, of length 1; 0 where there is no second one.
    """
    x = x - x.mean(axis=0)
    variance, direction = np.zeros(2), np.zeros((x.shape[1], 2))
    with one_thread():
        if x.shape[1] <= len(x):
            values, vectors = np.linalg.eigh(x.T @ x)
            values, vectors = values[::-1], vectors[:, ::-1]
        else:
            _, size, transposed = np.linalg.svd(x, full_matrices=False)
            values, vectors = size**2, transposed.T
    n_axes = min(2, values.size)
    variance[:n_axes] = np.maximum(values[:n_axes], 0.0)
    direction[:, :n_axes] = vectors[:, :n_axes]
    # The sign of an axis is free: its largest entry is positive, so that pictures stay alike.
    largest = direction[np.abs(direction).argmax(axis=0), [0, 1]]
    direction *= np.where(largest < 0, -1.0, 1.0)
    return x @ direction, variance / max(float((x**2).sum()), 1e-300), direction


@dataclass(frozen=True)
class Trait:
    """A column by which some rows differ from all rows.

    Attributes
    ----------
    column, value : str
        The column, and the mean of these rows or the category that is frequent among them.
    score : float
        How far they are from all rows, in standard deviations.
    share, overall : float or None
        Of a category: its share of these rows, and of all rows.
    """

    column: str
    value: str
    score: float
    share: float | None = None
    overall: float | None = None

    def brief(self) -> str:
        """Return the trait in words.

        Examples
        --------
        >>> from sticktree.present.table import Trait
        >>> Trait("height", "1.5", -2.0).brief(), Trait("sex", "f", 1.0, 0.9, 0.4).brief()
        ('height 1.5 (low)', 'sex f (90%)')
        """
        if self.share is not None:
            return f"{self.column} {self.value} ({self.share:.0%})"
        return f"{self.column} {self.value} ({'low' if self.score < 0 else 'high'})"

    def full(self) -> str:
        """Return the trait with all figures.

        Examples
        --------
        >>> from sticktree.present.table import Trait
        >>> Trait("height", "1.5", -2.0).full(), Trait("sex", "f", 1.0, 0.9, 0.4).full()
        ('height 1.5 (−2.0 sd)', 'sex f (90%, of all 40%)')
        """
        if self.share is not None:
            return f"{self.column} {self.value} ({self.share:.0%}, of all {self.overall:.0%})"
        return f"{self.column} {self.value} ({f'{self.score:+.1f}'.replace('-', '−')} sd)"


@dataclass(frozen=True, eq=False)
class Table:
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
    """

    names: tuple[str, ...]
    declared: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    rows: npt.NDArray[np.int64]
    values: FloatArray

    @classmethod
    def of(cls, columns: Any, rows: npt.NDArray[np.int64], encoded: FloatArray) -> Table:
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
        kept = [d for d in range(len(columns)) if d not in columns.trials]
        return cls(
            tuple(names[d] for d in kept),
            tuple(columns.declared[d] for d in kept),
            tuple(tuple(map(str, columns.categories[d])) for d in kept),
            rows,
            values[:, kept],
        )

    def some(self, rows: npt.NDArray[np.int64]) -> Table:
        """Return the table of some rows, by their numbers in the fit, in the order given."""
        where = np.searchsorted(self.rows, rows)
        return replace(self, rows=rows, values=self.values[where])

    @cached_property
    def distances(self) -> FloatArray:
        """The values in standard deviations from the mean; 0 where a column is constant."""
        return standardised(self.values)

    def traits(self, label: npt.NDArray[Any], n_clusters: int) -> list[list[Trait]]:
        """Return what is typical of each cluster: where it differs most from all rows, and how.

        ``label`` has the cluster of each row of this table.
        """
        found: list[list[Trait]] = [[] for _ in range(n_clusters)]
        for d, categories in enumerate(self.categories):
            seen = ~np.isnan(self.values[:, d])
            of, cells = label[seen], self.values[seen, d]
            n_cells = np.bincount(of, minlength=n_clusters)
            traits = self._frequent if categories else self._unusual
            for k, trait in traits(d, of, cells, n_cells):
                found[k].append(trait)
        return [sorted(ones, key=lambda one: -abs(one.score))[:MOST_TRAITS] for ones in found]

    def _unusual(
        self, d: int, label: npt.NDArray[Any], cells: FloatArray, n_cells: npt.NDArray[Any]
    ) -> list[tuple[int, Trait]]:
        """Return the clusters whose means are far from that of all rows."""
        away = standardised(self.values[:, [d]])[:, 0]
        size = np.abs(cells).max(initial=0.0) or 1.0
        every = np.maximum(n_cells, 1)
        mean = np.bincount(label, cells / size, minlength=n_cells.size) / every
        score = np.bincount(label, away[~np.isnan(away)], minlength=n_cells.size) / every
        name = shortened(self.names[d], NAME_LENGTH)
        return [
            (int(k), Trait(name, number(float(mean[k] * size)), float(score[k])))
            for k in np.flatnonzero(np.abs(score) >= LEAST_SDS)
        ]

    def _frequent(
        self, d: int, label: npt.NDArray[Any], cells: FloatArray, n_cells: npt.NDArray[Any]
    ) -> list[tuple[int, Trait]]:
        """Return the clusters in which a category is more frequent than in all rows."""
        categories = self.categories[d]
        shape = (n_cells.size, len(categories))
        pair = label.astype(np.int64) * shape[1] + cells.astype(np.int64)
        count = np.bincount(pair, minlength=shape[0] * shape[1]).reshape(shape)
        overall = count.sum(axis=0) / max(cells.size, 1)
        here = count / np.maximum(n_cells, 1)[:, None]
        best = (here - overall).argmax(axis=1)
        excess = (here - overall).max(axis=1)
        name, found = shortened(self.names[d], NAME_LENGTH), []
        for k in np.flatnonzero((excess >= LEAST_EXCESS) & (n_cells > 0)).tolist():
            c = int(best[k])
            spread = float(np.sqrt(overall[c] * (1 - overall[c])))
            share, common = float(here[k, c]), float(overall[c])
            found.append((k, Trait(name, categories[c], float(excess[k]) / spread, share, common)))
        return found


# ---- numbers and counts in words -----------------------------------------------------------------


def many(count: int, one: str, several: str | None = None) -> str:
    """Return a count of things.

    Examples
    --------
    >>> from sticktree.present.table import many
    >>> many(1, "row"), many(1200, "row"), many(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def draws_in_words(posterior: Any) -> str:
    """Return how many chains and draws a posterior has."""
    return f"{many(posterior.n_chains, 'chain')}, {many(posterior.n_draws, 'draw')} each"


def number(value: float) -> str:
    """Write a number in four digits.

    Examples
    --------
    >>> from sticktree.present.table import number
    >>> number(13.640012), number(120000.0), number(3e-12)
    ('13.64', '120000', '3e-12')
    """
    rounded = float(f"{value:.4g}")
    if abs(rounded) < 1e7 and rounded == round(rounded):
        return str(int(rounded)).replace("-", "−")
    text = f"{rounded:.4g}"
    return "−" + text[1:] if rounded < 0 else text


def shortened(text: str, longest: int) -> str:
    """Return a text, or its beginning if it is long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
