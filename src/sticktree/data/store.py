"""Standardised rows of a fit by the parallel sampler, wherever they are."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sticktree.checks import FloatArray

if TYPE_CHECKING:
    from sticktree.engine.bulk.partition import Partition, Picked
    from sticktree.engine.bulk.rows import Rows

BY_WORKERS = "rows-"  # begins digests that workers of a cluster made
CHUNK = 65_536  # rows that are copied at a time
SALT = 0x5EED  # of the rows that stand for all where a choice is made before the first sweep


class Store(Protocol):
    """Rows that chains can be run on."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    def rows(self, n_threads: int, jitter: FloatArray | None = None) -> Rows:
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
    """

    def __init__(self, data: FloatArray) -> None:
        self.data = data
        self._parts: dict[bytes | None, Partition] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.data.shape[0], self.data.shape[1]

    def _part(self, jitter: FloatArray | None) -> Partition:
        from sticktree.engine.bulk.partition import partition

        key = None if jitter is None else jitter.tobytes()
        if key not in self._parts:
            self._parts = {key: partition(self.data, 0, jitter)}
        return self._parts[key]

    def rows(self, n_threads: int, jitter: FloatArray | None = None) -> Rows:
        """Return the rows for one chain; all chains share them."""
        from sticktree.engine.bulk.placement import ThreadPlacement
        from sticktree.engine.bulk.rows import Rows

        return Rows(ThreadPlacement(self._part(jitter), n_threads))

    def digest(self) -> str:
        """Return a number that is the same for the same rows only."""
        return digest(self.data)


def digest(data: FloatArray) -> str:
    """Return a number that is the same for the same rows only."""
    found = hashlib.sha256()
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
