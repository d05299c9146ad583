"""The rows of a fit: standardised, weighted, in memory or elsewhere."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_reach
from sticktree.data import Columns, Table
from sticktree.data.factoring import check_number, factors_pay, find_factors, varies
from sticktree.data.factors import Factored, Factors
from sticktree.data.groups import RowGroups
from sticktree.data.parents import read_kin
from sticktree.data.scaling import Scaling
from sticktree.errors import ParameterError
from sticktree.model import Column

if TYPE_CHECKING:
    from sticktree.engine.bulk.partition import Partition, Picked
    from sticktree.engine.bulk.rows import Rows as BulkRows


MANY = 100_000  # rows, above which "auto" is the parallel sampler
SOME = 2_000  # rows that choose a model for all, where they are for the parallel sampler
ALL = 2_000  # rows up to which all choose, where they are not,
SOME_BY_ONE = 1_000  # and how many of more do
KEPT = 20_000  # rows, about, that a fit keeps of those that are not in memory
LABEL_BYTES = 500_000_000  # of labels that draws of the parallel sampler keep, of all chains
BY_WORKERS = "rows-"  # begins digests that workers of a cluster made
CHUNK = 65_536  # rows that are copied at a time
SALT = 0x5EED  # of the rows that stand for all where a choice is made before the first sweep
MOST_GROUPS = 2_000  # of rows for the parallel sampler, which counts them in all leaves and draws
LEAST_LABELLED = 4  # draws of each chain that have labels, however many rows there are

ROUND = "to use importance or sampling weights, scale and round them, or draw rows by them"

Rows = npt.NDArray[np.int64]


class Store(Protocol):
    """Rows that chains can be run on."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    def rows(self, n_threads: int, jitter: FloatArray | None = None) -> BulkRows:
        """Return the rows for one chain, which makes its passes in ``n_threads`` threads.

        With ``jitter`` values are spread over that width; see `Model.jitter`.
        """

    def digest(self) -> str:
        """Return a number that is the same for the same rows only."""


class MemoryStore:
    """Rows in the memory of this process.

    Parameters
    ----------
    data : float array, shape (N, D)
        Standardised; NaN is missing.
    group : int array, shape (N,), or None, default=None
        The groups of the rows, if they belong to several.
    """

    def __init__(self, data: FloatArray, group: IntArray | None = None) -> None:
        self.data, self.group = data, group
        self._parts: dict[bytes | None, Partition] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.data.shape[0], self.data.shape[1]

    def _part(self, jitter: FloatArray | None) -> Partition:
        from sticktree.engine.bulk.partition import partition

        key = None if jitter is None else jitter.tobytes()
        if key not in self._parts:
            self._parts = {key: partition(self.data, 0, jitter, self.group)}
        return self._parts[key]

    def rows(self, n_threads: int, jitter: FloatArray | None = None) -> BulkRows:
        """Return the rows for one chain; all chains share them."""
        from sticktree.engine.bulk.placement import ThreadPlacement
        from sticktree.engine.bulk.rows import Rows

        return Rows(ThreadPlacement(self._part(jitter), n_threads))

    def digest(self) -> str:
        """Return a number that is the same for the same rows only."""
        return digest(self.data)


def digest(data: FloatArray, groups: RowGroups | None = None) -> str:
    """Return a number that is the same for the same rows, in the same groups, only."""
    found = hashlib.sha256()
    if groups is not None:
        found.update(groups.of_data.tobytes())
        if groups.parents is not None:
            found.update(groups.parents.tobytes())
    for start in range(0, len(data), CHUNK):
        part = data[start : start + CHUNK]
        # NaN has many forms, and all are the same.
        found.update(np.ascontiguousarray(np.where(np.isnan(part), np.nan, part)).tobytes())
    return found.hexdigest()


def some_rows(store: Store, most: int) -> Picked:
    """Return about ``most`` of the rows, or all if there are no more; they do not depend on order.

    Which they are depends on their numbers alone.
    """
    limit = min(int(2**64 * (most / store.shape[0])), 2**64 - 1)
    return store.rows(1).sample(SALT, limit)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows of a fit.

    A row that occurs several times is several data of the draws and one row of the answers; a row
    of weight zero is no datum at all.

    Attributes
    ----------
    scaling : Scaling
        Names, kinds and units of the columns.
    data : float array, shape (N, D)
        What the engine takes: standardised rows, repeated as their weights say, or their scores
        where the table has factors; without rows if these are elsewhere.
    rows : int array, shape (N,)
        The row of the user's table that each datum is.
    outside : float array, shape (n, D)
        Rows of weight zero, standardised.
    digest : str
        The same for the same data only.
    parallel : bool
        Whether they are for the parallel sampler.
    names : tuple of str or None
        Names of the rows of the table.
    sampled : (int array, float array) or None
        Numbers of some rows, and these, standardised, where the rows are not in memory.
    store : Store or None
        Where chains of the parallel sampler find the rows while a fit goes on.
    groups : RowGroups or None
        The groups of the data, if they belong to several.
    factored : Factored or None
        The standardised rows, and how they are made of scores, where the data are scores.
    """

    scaling: Scaling
    data: FloatArray
    rows: Rows
    outside: FloatArray
    digest: str
    parallel: bool
    names: tuple[str, ...] | None = None
    sampled: tuple[Rows, FloatArray] | None = None
    store: Store | None = None
    groups: RowGroups | None = None
    factored: Factored | None = None

    @classmethod
    def of_table(
        cls,
        table: Table,
        weights: Any,
        standardize: bool,
        algorithm: str,
        scaling: Scaling | None = None,
        names: tuple[str, ...] | None = None,
        factors: Factors | int | str | None = None,
        groups: Any = None,
        group_column: Any = None,
        more_to_come: bool = False,
    ) -> TrainingData:
        """Prepare a table in memory.

        ``scaling`` is that of the last fit, if this one goes on. ``factors`` are those of the last
        fit, or how many there are to be: a number, "auto", or None for none. If there is
        ``more_to_come``, one group is as good as several.
        """
        rows = expand(1 if weights is None else weights, len(table.values))
        parallel = is_parallel(algorithm, table.columns, len(rows))
        found = None
        if groups is not None:
            found = read_kin(
                groups, len(table.values), rows, group_column, more_to_come=more_to_come
            )
        if parallel:
            check_few_groups(found)
        whole = np.array_equal(rows, np.arange(len(table.values)))
        values = table.values if whole else table.values[rows]
        if scaling is None:
            measured = Scaling.of_many if parallel else Scaling.of
            scaling = measured(values, table.columns, standardize)
        others = table.values[:0] if whole else np.delete(table.values, rows, axis=0)
        data = scaling.standardised(values)
        check_reach("X", data, table.columns.spoken)
        return cls.of_data(
            scaling,
            data,
            parallel=parallel,
            rows=rows,
            outside=scaling.standardised(others),
            names=names,
            groups=found,
            factors=wanted_factors(factors, table.columns, len(rows)),
        )

    @classmethod
    def of_data(
        cls,
        scaling: Scaling,
        data: FloatArray,
        *,
        parallel: bool,
        rows: Rows | None = None,
        outside: FloatArray | None = None,
        names: tuple[str, ...] | None = None,
        groups: RowGroups | None = None,
        factors: Factors | int | str | None = None,
    ) -> TrainingData:
        """Return standardised data in memory; by default each is a row of its own."""
        table, factored = data, None
        if isinstance(factors, int):
            check_number(factors, data)
        if isinstance(factors, str) and not varies(data):
            factors = None
        if factors is not None:
            if not isinstance(factors, Factors):
                factors = find_factors(data, None if isinstance(factors, str) else factors)
            factored, data = Factored.of(factors, table)
        return cls(
            scaling,
            data,
            np.arange(len(data)) if rows is None else rows,
            table[:0] if outside is None else outside,
            digest(table, groups),
            parallel,
            names,
            store=_in_memory(data, groups) if parallel else None,
            factored=factored,
            groups=groups,
        )

    @classmethod
    def of_store(
        cls, scaling: Scaling, store: Store, groups: RowGroups | None = None
    ) -> TrainingData:
        """Return rows that a store has, in memory or elsewhere; they are for many rows.

        If they belong to groups, the store knows these, too.
        """
        n_rows, n_columns = store.shape
        none = np.empty((0, n_columns))
        data, sampled = none, None
        if isinstance(store, MemoryStore):
            data = store.data
        else:
            picked = some_rows(store, KEPT)
            sampled = picked.number.astype(np.int64), picked.y
        return cls(
            scaling,
            data,
            np.arange(n_rows),
            none,
            digest(data, groups) if groups and sampled is None else _digest_of(store, groups),
            parallel=True,
            sampled=sampled,
            store=store,
            groups=groups,
        )

    def stored(self) -> Store:
        """Return where chains find the rows: the store, or one that is made of those in memory."""
        return self.store or _in_memory(self.data, self.groups)

    def without_store(self) -> TrainingData:
        """Return what is kept when chains have ended: they have the rows that they need."""
        return replace(self, store=None)

    @property
    def standardised(self) -> FloatArray:
        """The standardised rows, with all columns, repeated as their weights say."""
        return self.data if self.factored is None else self.factored.rows

    @property
    def factors(self) -> Factors | None:
        """What makes all columns of the data, where these are scores."""
        return None if self.factored is None else self.factored.factors

    @property
    def algorithm(self) -> str:
        """The sampler that the rows are for."""
        return "parallel" if self.parallel else "gibbs"

    @property
    def in_memory(self) -> bool:
        """Whether all rows are in the memory of this process."""
        return self.sampled is None

    @property
    def n_data(self) -> int:
        """Number of data: rows, each as often as its weight says."""
        return len(self.rows)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows of the user's table."""
        if not len(self.outside):  # then all rows are data, at least once
            return int(self.rows.max()) + 1
        return len(np.unique(self.rows)) + len(self.outside)

    @cached_property
    def rows_outside(self) -> Rows:
        """Numbers of the rows of weight zero."""
        if not len(self.outside):
            return np.empty(0, dtype=np.int64)
        return np.setdiff1d(np.arange(self.n_rows), self.rows)

    @cached_property
    def fitted_rows(self) -> Rows:
        """Numbers of the rows that are data, in increasing order."""
        return self._first[0]

    @cached_property
    def first_data(self) -> Rows:
        """The first datum of each of the fitted rows."""
        return self._first[1]

    @cached_property
    def _first(self) -> tuple[Rows, Rows]:
        if np.array_equal(self.rows, np.arange(len(self.rows))):  # far faster than to sort
            return self.rows, self.rows
        kept, first = np.unique(self.rows, return_index=True)
        return kept, first

    def data_of(self, rows: npt.ArrayLike | None) -> Rows:
        """Return the first datum of each row asked for; None asks for all that were fitted."""
        if rows is None:
            return self.first_data
        asked = np.asarray(rows)
        known = np.issubdtype(asked.dtype, np.integer) and np.isin(asked, self.fitted_rows)
        if asked.ndim != 1 or not np.all(known):
            raise ParameterError(
                "rows", rows, f"numbers of rows that were fitted, from 0 to {self.n_rows - 1}"
            )
        return self.first_data[np.searchsorted(self.fitted_rows, asked)]

    def groups_of_rows(self) -> list[Any] | None:
        """Return the name of each row's group, None where it has none; None without groups."""
        if self.groups is None:
            return None
        names, numbers = self.groups.names, self.groups.of_data[self.first_data]
        found: list[Any] = [None] * self.n_rows
        for row, k in zip(self.fitted_rows.tolist(), numbers.tolist(), strict=True):
            found[row] = names[k] if k < len(names) else None
        return found

    def table(self) -> FloatArray:
        """Return the rows of the user's table as numbers, all of them; see `Scaling.restored`."""
        table = np.empty((self.n_rows, self.standardised.shape[1]))
        table[self.rows] = self.standardised
        table[self.rows_outside] = self.outside
        return self.scaling.restored(table)

    def scores_of(self, x: FloatArray) -> FloatArray:
        """Return the scores of standardised rows, in their standard deviations."""
        assert self.factored is not None
        return np.asarray(self.factored.see(x).expected() / self.factored.factors.unit)

    def scores(self) -> FloatArray:
        """Return the scores of the rows of the user's table, all of them."""
        scores = np.empty((self.n_rows, self.data.shape[1]))
        scores[self.rows] = self.data
        if len(self.outside):
            scores[self.rows_outside] = self.scores_of(self.outside)
        return scores

    def at_hand(self) -> tuple[Rows, FloatArray]:
        """Return numbers of rows and these, all of them, or a sample if they are not in memory."""
        if self.sampled is None:
            return np.arange(self.n_rows), self.table()
        return self.sampled[0], self.scaling.restored(self.sampled[1])

    def describe(self, some: FloatArray, resolution: FloatArray | None) -> tuple[Column, ...]:
        """Return the columns of the data as a model has them; see `Scaling.describe`.

        ``some`` are data that stand for all.
        """
        if self.factors is None:
            return self.scaling.describe(some, resolution)
        return self.factors.columns(self.scaling.describe(self.standardised, resolution))

    def some(self, most: int | None = None) -> FloatArray:
        """Return data that stand for all: those that choose a model, or ``most`` about.

        A model is chosen by all data, or by some where there are many.
        """
        if self.parallel:
            return self._picked(SOME if most is None else most).y
        if most is None and self.n_data <= ALL:
            return self.data
        return self.data[_spread_rows(self.n_data, SOME_BY_ONE if most is None else most)]

    def some_groups(self) -> tuple[IntArray, IntArray | None] | None:
        """Return the groups of `some` of the data, numbered without gaps, and their parents."""
        if self.groups is None:
            return None
        if self.parallel:
            return self.groups.of_some(self._picked(SOME).number.astype(np.int64))
        if self.n_data <= ALL:
            return self.groups.of_data, self.groups.parents
        return self.groups.of_some(_spread_rows(self.n_data, SOME_BY_ONE))

    def log_units_of(self, some: FloatArray) -> FloatArray:
        """Return what to add to log densities of :meth:`some` data for those of the user's rows."""
        if self.factored is None:
            return self.scaling.log_units(some)
        rows = _spread_rows(self.n_data, len(some))
        units = self.scaling.log_units(self.standardised[rows])
        return np.asarray(self.factored.log_rest[rows] + units)

    def _picked(self, most: int) -> Picked:
        if self.store is None and self.sampled is not None:
            raise ValueError("the rows of the fit are not in memory, and its chains have ended")
        return some_rows(self.stored(), most)


def _in_memory(data: FloatArray, groups: RowGroups | None) -> MemoryStore:
    return MemoryStore(data, None if groups is None else groups.of_data)


def _digest_of(store: Store, groups: RowGroups | None) -> str:
    """Return the digest of rows in a store, which knows groups but not their parents."""
    if groups is None or groups.parents is None:
        return store.digest()
    parents = hashlib.sha256(groups.parents.tobytes()).hexdigest()
    return f"{store.digest()}-{parents[:16]}"


def _spread_rows(n_data: int, most: int) -> Rows:
    """Return numbers of ``most`` of the data, or of all if there are no more."""
    if n_data <= most:
        return np.arange(n_data)
    return np.sort(np.random.default_rng(SALT).choice(n_data, most, replace=False))


def is_parallel(algorithm: str, columns: Columns, n_rows: int) -> bool:
    """Return whether rows are for the parallel sampler; raise if they cannot be."""
    others = columns.discrete
    if algorithm == "parallel" and others:
        raise ParameterError(
            "algorithm",
            algorithm,
            '"gibbs" or "auto" unless all columns are gaussian or lognormal',
            shown=f'"parallel" with {", ".join(others)} columns',
        )
    return algorithm == "parallel" or (algorithm == "auto" and not others and n_rows > MANY)


def check_few_groups(groups: RowGroups | None) -> None:
    """Raise if there are more groups than the parallel sampler counts in every leaf and draw."""
    if groups is None:
        return
    n_names, number = len(groups.names), groups.number
    if number > MOST_GROUPS:
        shown = f"{n_names:,} groups"
        if number > n_names:
            shown += f" and {number - n_names:,} rows without one, each a group of its own"
        raise ParameterError(
            "groups",
            None,
            f"at most {MOST_GROUPS:,} groups for the parallel sampler",
            'name groups for all rows, leave rows without one out, or fit with algorithm="gibbs"',
            verb="have",
            shown=shown,
        )


def wanted_factors(
    asked: Factors | int | str | None, columns: Columns, n_rows: int
) -> Factors | int | str | None:
    """Return the factors that are to be, None if there are none; raise if there can be none."""
    if asked is None or isinstance(asked, Factors):
        return asked
    others = columns.discrete
    if isinstance(asked, str):
        return asked if not others and factors_pay(n_rows, len(columns)) else None
    if others:
        raise ParameterError(
            "factors",
            asked,
            'None or "auto" unless all columns are gaussian or lognormal',
            "fit the columns of other kinds without factors, or leave them out",
            shown=f"{asked} with {', '.join(others)} columns",
        )
    return asked


def label_every(n_rows: int, n_draws: int, n_chains: int) -> int:
    """Return which draws of the parallel sampler keep labels, so that these fit into memory."""
    most = max(LABEL_BYTES // (2 * n_rows * n_chains), LEAST_LABELLED)
    return max(-(-n_draws // most), 1)


def expand(weights: Any, n_rows: int) -> npt.NDArray[np.int64]:
    """Return the rows, each repeated as often as its weight says; weight 0 leaves a row out.

    Examples
    --------
    >>> from sticktree.data.training import expand
    >>> expand([2, 0, 1], 3)
    array([0, 0, 2])
    """
    try:
        counts = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("sample_weight", weights, "a number for each row") from None
    if counts.ndim == 0:
        counts = np.full(n_rows, float(counts))
    if counts.shape != (n_rows,):
        expected = f"one number for each of the {n_rows} rows"
        shown = f"an array of shape {counts.shape}"
        raise ParameterError("sample_weight", weights, expected, verb="have", shown=shown)
    for wrong, expected, remedy in (
        (~np.isfinite(counts), "finite", None),
        (counts < 0, "at least 0", None),
        (counts != np.floor(counts), "a whole number: it counts how often a row occurs", ROUND),
    ):
        for row in np.flatnonzero(wrong)[:1]:
            shown = f"{counts[row]:g}"
            name = f"sample_weight[{row}]"
            raise ParameterError(name, counts[row], expected, remedy, shown=shown)
    if not counts.any():
        raise ParameterError("sample_weight", weights, "above 0 for some row", shown="only zeros")
    return np.repeat(np.arange(n_rows), counts.astype(np.int64))
