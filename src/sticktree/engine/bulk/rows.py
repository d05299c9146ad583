"""Where rows are, and how passes over them are made: here, in the threads of one process."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.engine.bulk.components import Components, pick_limits
from sticktree.engine.bulk.halves import Units, gain_grid
from sticktree.engine.bulk.labels import Labelled, Labels, Nodes, Sided, final_labels
from sticktree.engine.bulk.partition import ALL, Partition, Share
from sticktree.engine.bulk.passes import Halved, Seated, assign, halve, products
from sticktree.engine.bulk.picks import Picked, find_ranked, pick, picked_at
from sticktree.engine.bulk.sums import Grid
from sticktree.engine.bulk.tally import Tally, merge

__all__ = ["Extent", "Rows", "ThreadedRows"]

SHARES = 4  # for each thread: threads that are done early take over from the others
ROWS_OF_THREAD = 8192  # fewer are done before a thread has started

Result = TypeVar("Result")


class Extent(NamedTuple):
    """What must be known of all rows before the first pass."""

    n: int
    largest: float  # absolute entry
    dimension: int
    gaps: bool
    gone: int = 0  # rows that are in no memory any more

    @property
    def present(self) -> int:
        """Number of rows that are there one by one."""
        return self.n - self.gone

    @classmethod
    def of(cls, part: Partition) -> Extent:
        """Return the extent of a partition."""
        largest = max(np.abs(part.y).max(initial=0.0), np.nanmax(np.abs(part.gap_y), initial=0.0))
        return cls(part.n_rows, float(largest), part.y.shape[1], bool(part.gap_row.size))


class Rows(Protocol):
    """All rows, wherever they are, and the leaves they chose last."""

    @property
    def extent(self) -> Extent:
        """Number and size of the rows."""

    def sample(self, salt: int, limit: int) -> Picked:
        """Return the rows whose rank by the salt is below the limit."""

    def products(self, grid: Grid) -> npt.NDArray[np.int64]:
        """Return Σ y yᵀ of the rows without gaps, on the grid."""

    def assign(self, told: Components) -> Seated:
        """Let every row choose its leaf."""

    def halve(self, units: Units) -> Halved:
        """Let every row of a unit choose its half."""

    def labels(self, of_leaf: Nodes, of_half: Nodes, numbers: IntArray | None = None) -> Labels:
        """Return the leaves of rows after the last passes: of all in order, or of some.

        ``of_leaf[k]`` is the new number of leaf k; where that is −1 − u, ``of_half[2 u + h]`` is
        the one of half h.
        """


class ThreadedRows:
    """Rows in the memory of this process.

    Parameters
    ----------
    part : Partition
        All rows.
    n_threads : int
        How many threads make a pass.
    """

    def __init__(self, part: Partition, n_threads: int = 1) -> None:
        self.part, self.n_threads = part, n_threads
        self.labelled, self.sided = Labelled.empty(part), Sided.empty(part)
        self.extent = Extent.of(part)

    def _map(self, work: Callable[[Share], Result]) -> list[Result]:
        """Return the results of work on shares that make up all rows, in any order."""
        n_threads = min(self.n_threads, 1 + self.extent.n // ROWS_OF_THREAD)
        if n_threads == 1:
            return [work(ALL)]
        step = n_threads * SHARES
        shares = deque(Share(first, step) for first in range(step))

        def take() -> list[Result]:
            done: list[Result] = []
            while True:
                try:
                    share = shares.popleft()
                except IndexError:  # all are taken
                    return done
                done.append(work(share))

        with ThreadPoolExecutor(n_threads - 1) as pool:
            others = [pool.submit(take) for _ in range(n_threads - 1)]
            return take() + [result for other in others for result in other.result()]

    def sample(self, salt: int, limit: int) -> Picked:
        """Return the rows whose rank by the salt is below the limit."""
        return pick(self.part, salt, limit)

    def products(self, grid: Grid) -> npt.NDArray[np.int64]:
        """Return Σ y yᵀ of the rows without gaps, on the grid."""
        return np.sum(self._map(lambda share: products(self.part, grid, share)), axis=0)

    def assign(self, told: Components) -> Seated:
        """Let every row choose its leaf."""
        limits = pick_limits(told)

        def work(share: Share) -> tuple[Tally, npt.NDArray[np.int64]]:
            tally = assign(self.part, told, self.labelled, share)
            return tally, find_ranked(self.part, *limits, share)

        tallies, found = zip(*self._map(work), strict=True)
        picked = picked_at(self.part, np.concatenate(found), self.labelled)
        return Seated(functools.reduce(merge, tallies), picked)

    def halve(self, units: Units) -> Halved:
        """Let every row of a unit choose its half."""
        grid = gain_grid(self.extent.n)
        parts = self._map(
            lambda share: halve(self.part, units, self.labelled, self.sided, grid, share)
        )
        tally = functools.reduce(merge, (part.tally for part in parts))
        return Halved(tally, np.sum([part.gain for part in parts], axis=0))

    def labels(self, of_leaf: Nodes, of_half: Nodes, numbers: IntArray | None = None) -> Labels:
        """Return the leaves of rows after the last passes: of all in order, or of some."""
        out = np.empty(self.extent.n, dtype=np.int32)
        final_labels(self.part, self.labelled, self.sided, of_leaf, of_half, out, 0)
        return out if numbers is None else out[numbers]
