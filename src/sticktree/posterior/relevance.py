"""Which columns carry the clusters, as a table: how much of each column's variance is between them.

Of every draw it is the share of the column's variance that is between the clusters of that draw;
the table has its mean and a 94 % interval over draws, and what chance would give. See
`sticktree.posterior.between` for what is computed.

Clusters were made from these columns, so a column that has nothing to do with them may have a
little more than chance gives. The shares describe the clusters; they are no test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.data import read_table
from sticktree.data.readable import ReadableTable
from sticktree.display import html
from sticktree.engine.own.kinds import KINDS
from sticktree.errors import ParameterError
from sticktree.lines import Lines, aligned
from sticktree.posterior.between import Between, between_categories, between_numbers
from sticktree.posterior.markers import coded_labels
from sticktree.tree import NULL

MASS = 0.94  # of intervals
LINES_SHOWN = 20
NAME_SHOWN = 40
FIELDS = (
    *("column", "kind", "share", "share_low", "share_high", "chance", "beyond_chance"),
    *("values", "note"),
)
"""The columns of the table."""
HEADINGS = ("column", "share", "94 % interval", "by chance", "beyond chance")
FLAT = "all values are equal"
ONE_VALUE = "fewer than two values"
ONE_CLUSTER = "there is one cluster"
ALONE = "every value is in a cluster of its own"


@dataclass(frozen=True)
class RelevanceOfColumn:
    """How far one column carries the clusters.

    Attributes
    ----------
    column, kind : str
        The column, and its kind.
    share, share_low, share_high : float
        The share of its variance that is between clusters: mean over draws, 94 % interval. Of
        categories it is the share of Gini's measure of diversity.
    chance : float
        What the share would be on average if the column's values were dealt out at random.
    beyond_chance : float
        (share − chance) / (1 − chance): 0 is no more than chance, 1 is all of the variance.
    values : float
        Values that this rests on, rows as often as they occur.
    note : str
        Why something is NaN, or what to know.
    """

    column: str
    kind: str
    share: float
    share_low: float
    share_high: float
    chance: float
    beyond_chance: float
    values: int
    note: str

    def record(self) -> dict[str, Any]:
        """Return it as a dict, as tables have it."""
        return {name: getattr(self, name) for name in FIELDS}

    def cells(self) -> list[str]:
        """Return it as short texts, one for each of the headings of a table for people."""
        name = self.column
        interval = f"{self.share_low:.3f} to {self.share_high:.3f}"
        return [
            name if len(name) <= NAME_SHOWN else name[: NAME_SHOWN - 1] + "…",
            f"({self.note})" if math.isnan(self.share) else f"{self.share:.3f}",
            "" if math.isnan(self.share_low) else interval,
            "" if math.isnan(self.chance) else f"{self.chance:.3f}",
            "" if math.isnan(self.beyond_chance) else f"{self.beyond_chance:+.3f}",
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Relevance(Lines):
    """Which columns carry the clusters: how much of their variance is between these.

    Arrays are in the order of the table's columns. Lines, as in ``table``, ``to_frame()`` and
    ``to_csv()``, are sorted by what is beyond chance.

    Attributes
    ----------
    columns, kinds : tuple of str
        Names and kinds of the columns.
    share, low, high : float arrays, shape (D,)
        The share of variance between clusters: mean over draws, and its 94 % interval; that is NaN
        where there is one partition alone.
    chance : float array, shape (D,)
        The share that chance gives.
    beyond : float array, shape (D,)
        (share − chance) / (1 − chance), mean over draws.
    values : int array, shape (D,)
        Values that are there.
    n_clusters : float
        How many clusters there are, on average over draws.
    n_draws : int
        Draws that this rests on; 0 for clusters that were given.
    n_top : int or None
        Lines; None is one for each column.
    """

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    share: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    beyond: FloatArray
    values: npt.NDArray[np.int64]
    n_clusters: float
    n_draws: int
    n_top: int | None = None

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """The columns in the order of the lines; of equals those first that come first."""
        beyond = np.nan_to_num(self.beyond, nan=-np.inf)
        # Rounded, so that the last bits, which depend on units, do not decide.
        return np.argsort(-np.round(beyond, 9), kind="stable")

    def top(self, n: int) -> Relevance:
        """Return the same with the first ``n`` lines."""
        return replace(self, n_top=check_integer("n", n, minimum=1))

    def of(self, d: int) -> RelevanceOfColumn:
        """Return the line of the ``d``-th column of the table."""
        return RelevanceOfColumn(
            self.columns[d],
            self.kinds[d],
            float(self.share[d]),
            float(self.low[d]),
            float(self.high[d]),
            float(self.chance[d]),
            float(self.beyond[d]),
            int(self.values[d]),
            self._note(d),
        )

    def _note(self, d: int) -> str:
        if math.isnan(self.share[d]):
            return ONE_VALUE if self.values[d] < 2 else FLAT
        if self.n_clusters == 1:
            return ONE_CLUSTER
        return ALONE if self.chance[d] >= 1 else ""

    def __iter__(self) -> Iterator[RelevanceOfColumn]:
        """Iterate over the lines."""
        return (self.of(d) for d in self.order[: self.n_top].tolist())

    def __len__(self) -> int:
        """Return the number of lines."""
        return min(len(self.columns), self.n_top or len(self.columns))

    # ---- as a table ------------------------------------------------------------------------------

    fields = FIELDS

    @property
    def table(self) -> list[dict[str, Any]]:
        """The lines as dicts."""
        return [line.record() for line in self]

    def shown(self) -> tuple[list[list[str]], int]:
        """Return lines for people, and how many are left out."""
        few = self if self.n_top is not None else self.top(LINES_SHOWN)
        lines = [line.cells() for line in few]
        return lines, len(self) - len(lines)

    def __str__(self) -> str:
        """Return the table, aligned."""
        body, n_more = self.shown()
        return aligned([list(HEADINGS), *body], {0, 2}, n_more)

    def __repr__(self) -> str:
        """Return how much it has; ``print`` shows it."""
        top = "" if self.n_top is None else f", n_top={self.n_top}"
        return f"Relevance(n_columns={len(self.columns)}, n_draws={self.n_draws}{top})"

    def _repr_html_(self) -> str:
        """Return how it looks in a notebook."""
        return html("relevance", self)


# ---- from rows -----------------------------------------------------------------------------------


def find_relevance(
    table: ReadableTable,
    partitions: npt.ArrayLike,
    shares: npt.ArrayLike | None = None,
    *,
    n_draws: int = 0,
    n_top: int | None = None,
) -> Relevance:
    """Return how much of each column's variance is between clusters.

    Parameters
    ----------
    table : ReadableTable
        The rows, in the user's units, each as often as it occurs. Lognormal columns are compared as
        logarithms, binomial ones as rates, of which each row has one.
    partitions : int array, shape (S, N)
        The clusters of the rows in each of several partitions, numbered from 0.
    shares : array, shape (S,), optional
        How much each partition counts; by default all alike.
    n_draws : int, default=0
        How many draws the partitions are of; 0 if they are not draws, which then have no interval.
    n_top : int or None, default=None
        Lines; None is one for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.data import read_table
    >>> from sticktree.data.readable import ReadableTable
    >>> from sticktree.posterior.relevance import find_relevance
    >>> read = read_table([[1.0, 5.0], [2.0, 5.5], [8.0, 5.2], [9.0, 5.1]])
    >>> table = ReadableTable.of(read.columns, np.arange(4), read.values)
    >>> print(find_relevance(table, [[0, 0, 1, 1]]))
    column    share  94 % interval  by chance  beyond chance
    column 0  0.980                     0.333         +0.970
    column 1  0.071                     0.333         -0.393
    """
    if n_top is not None:
        check_integer("n_top", n_top, minimum=1)
    distinct, weight = _distinct(_checked(partitions, len(table.values)), shares)
    n_columns = len(table.names)
    share, chance = np.empty((2, len(distinct), n_columns))
    n_values = np.empty(n_columns, dtype=np.int64)
    for places, found in _parts(table, distinct):
        share[:, places], chance[:, places] = found.share, found.chance
        n_values[places] = found.n_values
    with np.errstate(invalid="ignore", divide="ignore"):
        # Of as many clusters as values, chance is 1 and nothing is beyond it.
        beyond = np.where(chance >= 1, 0.0, (share - chance) / (1 - chance))
    low, high = np.full((2, n_columns), np.nan)
    if n_draws:
        ends = (1 - MASS) / 2, (1 + MASS) / 2
        low, high = np.quantile(share, ends, axis=0, weights=weight, method="inverted_cdf")
    sizes = [np.unique(labels).size for labels in distinct]
    return Relevance(
        table.names,
        table.declared,
        weight @ share,
        low,
        high,
        weight @ chance,
        weight @ beyond,
        n_values,
        float(weight @ np.array(sizes)),
        n_draws,
        n_top,
    )


def relevance_of(
    table: Any, labels: Any, *, columns: Any = None, n_top: int | None = None
) -> Relevance:
    """Return how much of the variance of any table's columns is between clusters of its rows.

    It is for columns that were not fitted: genes, where clusters are of principal components.

    Parameters
    ----------
    table : array or data frame, shape (N, D)
        The rows; NaN is missing.
    labels : sequence, length N
        Clusters of the rows, of any kind; −1, None and NaN are left out.
    columns : dict or sequence, optional
        Kinds of the columns, as of :class:`~sticktree.DFPMixture`; by default they are inferred.
    n_top : int or None, default=None
        Lines; None is one for each column.

    Examples
    --------
    >>> from sticktree.posterior.relevance import relevance_of
    >>> relevance_of([[1.0, 5.0], [2.0, 5.5], [8.0, 5.2], [9.0, 5.1]], list("aabb")).share.round(2)
    array([0.98, 0.07])
    """
    read = read_table(table, columns)
    codes, _ = coded_labels(labels, len(read.values))
    kept = np.flatnonzero(codes != NULL)
    readable = ReadableTable.of(read.columns, kept, read.values[kept])
    return find_relevance(readable, codes[kept][None], n_top=n_top)


def _parts(table: ReadableTable, partitions: IntArray) -> Iterator[tuple[list[int], Between]]:
    """Yield shares of all columns of numbers, then of each column of categories."""
    numbers = [d for d, categories in enumerate(table.categories) if not categories]
    if numbers:
        values = table.values[:, numbers]
        is_log = np.array([KINDS[table.declared[d]].is_log for d in numbers])
        with np.errstate(divide="ignore", invalid="ignore"):
            values[:, is_log] = np.log(values[:, is_log])
        yield numbers, between_numbers(values, partitions)
    for d, categories in enumerate(table.categories):
        if categories:
            given = table.values[:, d]
            codes = np.where(np.isnan(given), NULL, given).astype(np.int64)
            yield [d], between_categories(codes, len(categories), partitions)


def _checked(partitions: npt.ArrayLike, n_rows: int) -> IntArray:
    array = np.asarray(partitions)
    if (
        array.ndim != 2
        or array.shape[1] != n_rows
        or not len(array)
        or not np.issubdtype(array.dtype, np.integer)
        or array.min(initial=0) < 0
    ):
        expected = f"integers from 0, a row for each partition, a column for each of {n_rows} rows"
        shown = f"{array.dtype} of shape {array.shape}"
        raise ParameterError("partitions", partitions, expected, shown=shown)
    return array.astype(np.int32, copy=False)


def _distinct(partitions: IntArray, shares: npt.ArrayLike | None) -> tuple[IntArray, FloatArray]:
    """Return partitions that differ, as they are often the same, and how much each counts."""
    given = np.ones(len(partitions)) if shares is None else np.asarray(shares, dtype=np.float64)
    if given.shape != (len(partitions),) or not (given >= 0).all() or not given.any():
        expected = f"a share of each of the {len(partitions)} partitions, at least 0"
        raise ParameterError("shares", shares, expected, verb="have")
    first: dict[bytes, int] = {}
    number = np.array(
        [first.setdefault(labels.tobytes(), len(first)) for labels in partitions], dtype=np.int64
    )
    weight = np.bincount(number, given)
    kept = np.unique(number, return_index=True)[1]
    return partitions[kept], weight / weight.sum()


def gathered(branches: IntArray, clusters: IntArray) -> IntArray:
    """Return the clusters of each draw: its branches, each in the cluster of most of its rows.

    Parameters
    ----------
    branches : int array, shape (S, N)
        The branch of each datum in each draw, from 0.
    clusters : int array, shape (N,)
        The cluster of each datum, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.posterior.relevance import gathered
    >>> gathered(np.array([[0, 0, 1, 2, 2], [0, 1, 1, 1, 1]]), np.array([0, 0, 0, 1, 1]))
    array([[0, 0, 0, 1, 1],
           [0, 0, 0, 0, 0]], dtype=int32)
    """
    n_clusters = int(clusters.max(initial=0)) + 1
    found = np.empty(branches.shape, dtype=np.int32)
    for s, of_datum in enumerate(branches):
        place = of_datum.astype(np.int64) * n_clusters + clusters
        n_branches = int(of_datum.max(initial=0)) + 1
        counts = np.bincount(place, minlength=n_branches * n_clusters)
        found[s] = counts.reshape(n_branches, n_clusters).argmax(axis=1)[of_datum]
    return found
