"""What a fit is given: rows in memory or elsewhere, measured, and which sampler is for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data import Columns, Table
from sticktree.data.preparation import Preparation
from sticktree.data.store import MemoryStore, Store, digest, some_rows

__all__ = ["Given", "label_every"]

MANY = 100_000  # rows, above which "auto" is the parallel sampler
SOME = 2_000  # rows that choose a model for all, where there are many
KEPT = 20_000  # rows, about, that a fit keeps of those that are not in memory
LABEL_BYTES = 500_000_000  # of labels that draws of the parallel sampler keep, of all chains
LEAST_LABELLED = 4  # draws of each chain that have labels, however many rows there are


@dataclass(frozen=True, eq=False)
class Given:
    """Rows of a fit.

    Attributes
    ----------
    preparation : Preparation
        Names, kinds and units of the columns.
    data : float array, shape (N, D)
        Standardised rows, repeated as their weights say; without rows if these are elsewhere.
    rows : int array, shape (N,)
        The row of the user's table that each is.
    outside : float array, shape (n, D)
        Rows of weight zero.
    store : Store or None
        Where the parallel sampler finds the rows; None is the other sampler.
    """

    preparation: Preparation
    data: FloatArray
    rows: npt.NDArray[np.int64]
    outside: FloatArray
    store: Store | None

    @classmethod
    def of_table(
        cls,
        table: Table,
        rows: npt.NDArray[np.int64],
        standardize: bool,
        algorithm: str,
        known: Preparation | None,
    ) -> Given:
        """Prepare a table in memory; ``known`` is how the last fit did, if this one goes on."""
        parallel = is_parallel(algorithm, table.columns, len(rows))
        whole = np.array_equal(rows, np.arange(len(table.values)))
        values = table.values if whole else table.values[rows]
        preparation = known or prepared(values, table.columns, standardize, parallel)
        data = preparation.standardised(values)
        outside = preparation.standardised(
            np.delete(table.values, rows, axis=0) if not whole else table.values[:0]
        )
        return cls(preparation, data, rows, outside, MemoryStore(data) if parallel else None)

    @property
    def work(self) -> FloatArray | Store:
        """What chains are started on."""
        return self.data if self.store is None else self.store

    @property
    def digest(self) -> str:
        """A number that is the same for the same rows only."""
        return digest(self.data) if self.store is None else self.store.digest()

    def kept(self) -> tuple[npt.NDArray[np.int64], FloatArray] | None:
        """Return numbers of some rows, and these; None if all are in memory."""
        if self.store is None or len(self.data):
            return None
        picked = some_rows(self.store, KEPT)
        return picked.number.astype(np.int64), picked.y

    def some(self) -> FloatArray:
        """Return rows that choose a model: all, or some where there are many."""
        return self.data if self.store is None else some_rows(self.store, SOME).y


def prepared(
    values: FloatArray, columns: Columns, standardize: bool, parallel: bool
) -> Preparation:
    """Measure rows; for the parallel sampler by sums that do not depend on their order."""
    plain = Preparation.of(values, columns, standardize and not parallel)
    if not parallel or not standardize:
        return plain
    from sticktree.engine.bulk.measure import measure

    scale = measure(lambda function: [function(values)])
    return Preparation(columns, scale.centre, scale.spread)


def is_parallel(algorithm: str, columns: Columns, n_rows: int) -> bool:
    """Tell whether rows are for the parallel sampler; say so if they cannot be."""
    others = sorted(set(columns.kinds) - {"gaussian"})
    if algorithm == "parallel" and others:
        raise ValueError(
            f'algorithm="parallel" is for gaussian and lognormal columns only, got '
            f'{", ".join(others)}; say algorithm="gibbs"'
        )
    return algorithm == "parallel" or (algorithm == "auto" and not others and n_rows > MANY)


def label_every(n_rows: int, n_draws: int, n_chains: int) -> int:
    """Return which draws of the parallel sampler keep labels, so that these fit into memory."""
    most = max(LABEL_BYTES // (2 * n_rows * n_chains), LEAST_LABELLED)
    return max(-(-n_draws // most), 1)
