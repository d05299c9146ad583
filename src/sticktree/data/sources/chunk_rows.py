"""Passes over rows that are in files, a few partitions in memory at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.data.sources.prepared import PreparedTable
from sticktree.data.sources.scratch import Buffer, Slot, read_into, removed_with, write
from sticktree.engine.bulk.components import Components, pick_limits
from sticktree.engine.bulk.halves import Units, gain_grid
from sticktree.engine.bulk.labels import Labels, Nodes, final_labels
from sticktree.engine.bulk.partition import Partition
from sticktree.engine.bulk.passes import Halved, Seated, assign, halve, products
from sticktree.engine.bulk.picks import Picked, join_picks, pick
from sticktree.engine.bulk.placement import fold
from sticktree.engine.bulk.sums import Grid
from sticktree.engine.bulk.tally import merge

__all__ = ["ChunkedRows"]


Result = TypeVar("Result")
CHAINS = itertools.count()


class ChunkedRows:
    """The rows of a prepared table, and the leaves that they chose last in one chain.

    It is a :class:`~sticktree.engine.bulk.rows.Rows`, and all its results are those of
    `ThreadedRows` with the same rows in memory, to the last bit. Labels and halves are in files
    beside the rows, 5 bytes a row: what the system has memory for, it keeps of them by itself. Only
    `labels`, which returns a number for each row, takes memory that grows with the table: 4 bytes
    a row.

    Parameters
    ----------
    prepared : PreparedTable
        The rows, which several chains may share.
    n_threads : int or None, default=None
        How many threads make a pass. None takes as many as prepared the table; there are never more
        at work than that, in all chains together.
    jitter : float array, shape (D,), or None, default=None
        Width of the interval that entries of each column are spread over.
    """

    def __init__(
        self,
        prepared: PreparedTable,
        n_threads: int | None = None,
        jitter: FloatArray | None = None,
    ) -> None:
        self.prepared = prepared
        self.slots, self.extent = prepared.arranged(jitter)
        n_threads = prepared.n_threads if n_threads is None else n_threads
        self.n_threads = check_integer("n_threads", n_threads, minimum=1)
        self.folder = prepared.scratch.path / f"chain-{next(CHAINS)}"
        n_bytes = sum(slot.state_bytes for slot in self.slots)
        self._remove = removed_with(self, self.folder)
        try:
            with prepared.scratch.filling(n_bytes):
                self.folder.mkdir()
                for slot in self.slots:  # room on the disk is taken now, not in mid-sweep
                    labels = np.zeros(slot.label_bytes, dtype=np.uint8)
                    write(self._state(slot), (labels, np.full(slot.side_bytes, -1, dtype=np.int8)))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the labels of the chain."""
        self._remove()

    def _state(self, slot: Slot) -> Path:
        return self.folder / f"{slot.path.stem}.state"

    def _fold(
        self,
        work: Callable[[Slot, Partition, Buffer], Result],
        merged: Callable[[Result, Result], Result],
        *,
        numbers_only: bool = False,
    ) -> Result:
        """Return the merged results of work on all partitions, with room for their states."""

        def on(slot: Slot) -> Result:
            with self.prepared.buffer() as buffer:
                size = slot.number_bytes if numbers_only else slot.row_bytes
                read_into(slot.path, buffer[:size])
                state = buffer[slot.row_bytes :][: slot.state_bytes]
                return work(slot, slot.part(buffer), state)

        return fold(self.slots, on, merged, self.n_threads)

    def sample(self, salt: int, limit: int) -> Picked:
        """Return the rows whose rank by the salt is below the limit."""
        picks = self._fold(lambda slot, part, _: [pick(part, salt, limit)], _chained)
        return join_picks(picks)

    def products(self, grid: Grid) -> npt.NDArray[np.int64]:
        """Return Σ y yᵀ of the rows without gaps, on the grid."""
        return self._fold(
            lambda slot, part, _: products(part, grid),
            lambda first, second: first + second,
        )

    def assign(self, told: Components) -> Seated:
        """Let every row choose its leaf."""
        limits = pick_limits(told)

        def work(slot: Slot, part: Partition, state: Buffer) -> tuple[list[Picked], Seated]:
            labelled, _ = slot.state(state)
            tally = assign(part, told, labelled)
            write(self._state(slot), (state[: slot.label_bytes],), 0)
            picked = pick(part, *limits, labelled)
            return [picked], Seated(tally, picked)

        picks, seated = self._fold(
            work,
            lambda a, b: (a[0] + b[0], a[1]._replace(tally=merge(a[1].tally, b[1].tally))),
        )
        return Seated(seated.tally, join_picks(picks))

    def halve(self, units: Units) -> Halved:
        """Let every row of a unit choose its half."""
        grid = gain_grid(self.extent.n)

        def work(slot: Slot, part: Partition, state: Buffer) -> Halved:
            read_into(self._state(slot), state[: slot.label_bytes])
            labelled, sided = slot.state(state)
            found = halve(part, units, labelled, sided, grid)
            write(self._state(slot), (state[slot.label_bytes :],), slot.label_bytes)
            return found

        return self._fold(
            work, lambda a, b: Halved(merge(a.tally, b.tally), np.asarray(a.gain + b.gain))
        )

    def labels(self, of_leaf: Nodes, of_half: Nodes, numbers: IntArray | None = None) -> Labels:
        """Return the leaves of rows after the last passes: of all in order, or of some."""
        out = np.empty(self.extent.n, dtype=np.int32)

        def work(slot: Slot, part: Partition, state: Buffer) -> None:
            read_into(self._state(slot), state)
            final_labels(part, *slot.state(state), of_leaf, of_half, out, 0)

        self._fold(work, lambda first, second: None, numbers_only=True)
        return out if numbers is None else out[numbers]


def _chained(first: list[Picked], second: list[Picked]) -> list[Picked]:
    return first + second
