"""Where rows are, and how passes over them are made: here, in the threads of one process.

A pass is a pure function of rows and of what all of them are told. So it can be made anywhere, and
made again where its result was lost.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.parallel.assign import (
    PICK,
    PICK_SALT,
    Labels,
    Tally,
    assign_blocks,
    assign_gaps,
    empty_tally,
)
from sticktree.engine.parallel.components import Components
from sticktree.engine.parallel.halves import Sides, Units, gain_grid, halve_blocks, halve_gaps
from sticktree.engine.parallel.partition import Partition
from sticktree.engine.parallel.philox import Word, rank_of
from sticktree.engine.parallel.sums import Grid, add
from sticktree.jit import jit

__all__ = [
    "Extent",
    "Halved",
    "Labelled",
    "Picked",
    "Rows",
    "Seated",
    "ThreadedRows",
    "join_picks",
    "merge",
    "pick",
    "products",
]

SHARES = 4  # for each thread: threads that are done early take over from the others
ROWS_OF_THREAD = 8192  # fewer are done before a thread has started

Result = TypeVar("Result")


class Share(NamedTuple):
    """Every so many blocks of a partition, and rows with gaps: all shares take equally long."""

    first: int
    step: int


ALL = Share(0, 1)


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


class Labelled(NamedTuple):
    """The leaves of the rows of a partition, in its order; rows with gaps may be completed."""

    blocks: Labels  # (blocks, BLOCK)
    gaps: Labels  # (m,)
    completed: FloatArray  # (m, D)

    @classmethod
    def empty(cls, part: Partition) -> Labelled:
        """Return room for the labels of a partition."""
        return cls(
            np.zeros(part.row.shape, dtype=np.int32),
            np.zeros(part.gap_row.size, dtype=np.int32),
            np.empty(part.gap_y.shape),
        )


class Sided(NamedTuple):
    """The halves of the rows of a partition, in its order; −1 outside all units."""

    blocks: Sides
    gaps: Sides

    @classmethod
    def empty(cls, part: Partition) -> Sided:
        """Return room for the halves of a partition."""
        return cls(
            np.full(part.row.shape, -1, dtype=np.int8),
            np.full(part.gap_row.size, -1, dtype=np.int8),
        )


class Picked(NamedTuple):
    """Rows that were picked by their numbers, in the order of these."""

    number: npt.NDArray[np.uint64]
    y: FloatArray  # completed, if entries are imputed
    leaf: Labels


class Seated(NamedTuple):
    """What comes back from a pass in which rows choose their leaves."""

    tally: Tally
    picked: Picked


class Halved(NamedTuple):
    """What comes back from a pass over units."""

    tally: Tally  # of both halves of each unit
    gain: npt.NDArray[np.int64]  # (U, 2) on its grid


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

    def labels(
        self,
        of_leaf: npt.NDArray[np.int64],
        of_half: npt.NDArray[np.int64],
        numbers: IntArray | None = None,
    ) -> Labels:
        """Return the leaves of rows after the last passes: of all in order, or of some.

        ``of_leaf[k]`` is the new number of leaf k; where that is −1 − u, ``of_half[2 u + h]`` is
        the one of half h.
        """


def merge(first: Tally, second: Tally) -> Tally:
    """Return the sums over the rows of both."""
    sooner = first.rank <= second.rank
    return Tally(
        first.count + second.count,
        first.lacking + second.lacking,
        first.sums + second.sums,
        first.products + second.products,
        np.where(sooner, first.rank, second.rank),
        np.where(sooner, first.anchor, second.anchor),
    )


@jit
def _ranked_below(
    part: Partition, first: int, step: int, salt: Word, limit: Word
) -> npt.NDArray[np.int64]:
    """Return the places of rows whose rank is below a limit; those with gaps follow the others."""
    n_blocks, width = part.row.shape
    out = np.empty(16, dtype=np.int64)
    size = 0
    for block in range(first, n_blocks, step):
        count = 0
        for i in range(part.filled[block]):  # most blocks have none, and this loop is fast
            count += int(rank_of(part.row[block, i], salt) < limit)
        for i in range(part.filled[block] if count else 0):
            if rank_of(part.row[block, i], salt) < limit:
                out = _appended(out, size, block * width + i)
                size += 1
    for r in range(first, part.gap_row.size, step):
        if rank_of(part.gap_row[r], salt) < limit:
            out = _appended(out, size, n_blocks * width + r)
            size += 1
    return out[:size].copy()


@jit
def _appended(places: npt.NDArray[np.int64], size: int, place: int) -> npt.NDArray[np.int64]:
    """Return the array with another place, a larger one if it is full."""
    if size == places.size:
        larger = np.empty(2 * size, dtype=np.int64)
        larger[:size] = places
        places = larger
    places[size] = place
    return places


def _ranked(part: Partition, salt: int, limit: int, share: Share = ALL) -> npt.NDArray[np.int64]:
    return _ranked_below(part, *share, np.uint64(salt), np.uint64(limit))


def pick(part: Partition, salt: int, limit: int, labelled: Labelled | None = None) -> Picked:
    """Return the rows of a partition whose rank is below the limit."""
    return _picked(part, _ranked(part, salt, limit), labelled)


def _picked(part: Partition, found: npt.NDArray[np.int64], labelled: Labelled | None) -> Picked:
    """Return the rows at some places of a partition."""
    has_gaps = found >= part.row.size
    block, place = np.divmod(found[~has_gaps], part.row.shape[1])
    gap = found[has_gaps] - part.row.size
    number = np.concatenate([part.row[block, place], part.gap_row[gap]])
    gap_y = part.gap_y if labelled is None else labelled.completed
    y = np.concatenate([part.y[block, :, place], gap_y[gap]])
    leaf = np.full(number.size, -1, dtype=np.int32)
    if labelled is not None:
        leaf = np.concatenate([labelled.blocks[block, place], labelled.gaps[gap]])
    return join_picks([Picked(number, y, leaf)])


def join_picks(picks: list[Picked]) -> Picked:
    """Return all rows of several picks, in the order of their numbers."""
    number = np.concatenate([some.number for some in picks])
    order = np.argsort(number)
    return Picked(
        number[order],
        np.concatenate([some.y for some in picks])[order],
        np.concatenate([some.leaf for some in picks])[order],
    )


@jit
def _add_products(
    part: Partition,
    first: int,
    step: int,
    coarse: float,
    fine: float,
    out: npt.NDArray[np.int64],
) -> None:
    dimension = part.y.shape[1]
    for block in range(first, part.filled.size, step):
        for i in range(part.filled[block]):
            for d in range(dimension):
                for e in range(dimension):
                    add(out[d], e, part.y[block, d, i] * part.y[block, e, i], coarse, fine)


def products(part: Partition, grid: Grid, share: Share = ALL) -> npt.NDArray[np.int64]:
    """Return Σ y yᵀ of the rows without gaps."""
    dimension = part.y.shape[1]
    out = np.zeros((dimension, dimension, 2), dtype=np.int64)
    _add_products(part, *share, grid.coarse, grid.fine, out)
    return out


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
        limits = int(told.words[PICK_SALT]), int(told.words[PICK])

        def work(share: Share) -> tuple[Tally, npt.NDArray[np.int64]]:
            tally = assign(self.part, told, self.labelled, share)
            return tally, _ranked(self.part, *limits, share)

        tallies, found = zip(*self._map(work), strict=True)
        picked = _picked(self.part, np.concatenate(found), self.labelled)
        return Seated(functools.reduce(merge, tallies), picked)

    def halve(self, units: Units) -> Halved:
        """Let every row of a unit choose its half."""
        grid = gain_grid(self.extent.n)
        parts = self._map(
            lambda share: halve(self.part, units, self.labelled, self.sided, grid, share)
        )
        tally = functools.reduce(merge, (part.tally for part in parts))
        return Halved(tally, np.sum([part.gain for part in parts], axis=0))

    def labels(
        self,
        of_leaf: npt.NDArray[np.int64],
        of_half: npt.NDArray[np.int64],
        numbers: IntArray | None = None,
    ) -> Labels:
        """Return the leaves of rows after the last passes: of all in order, or of some."""
        out = np.empty(self.extent.n, dtype=np.int32)
        final_labels(self.part, self.labelled, self.sided, of_leaf, of_half, out, 0)
        return out if numbers is None else out[numbers]


def assign(part: Partition, told: Components, labelled: Labelled, share: Share = ALL) -> Tally:
    """Let the rows of a partition choose their leaves."""
    tally = empty_tally(told.log_weight.size, part.y.shape[1], told.kind)
    if part.filled.size:
        assign_blocks(part, *share, told, labelled.blocks, tally)
    if part.gap_row.size:
        assign_gaps(part, *share, told, labelled.gaps, labelled.completed, tally)
    return tally


def halve(
    part: Partition,
    units: Units,
    labelled: Labelled,
    sided: Sided,
    grid: Grid,
    share: Share = ALL,
) -> Halved:
    """Let the rows of a partition choose their halves."""
    n_units = len(units.pins)
    tally = empty_tally(2 * n_units, part.y.shape[1], units.densities.kind)
    gain = np.zeros((n_units, 2), dtype=np.int64)
    steps = np.array([grid.coarse, grid.fine])
    if part.filled.size:
        halve_blocks(part, *share, labelled.blocks, units, sided.blocks, tally, gain, steps)
    if part.gap_row.size:
        halve_gaps(
            part,
            *share,
            labelled.gaps,
            labelled.completed,
            units,
            sided.gaps,
            tally,
            gain,
            steps,
        )
    return Halved(tally, gain)


def final_labels(
    part: Partition,
    labelled: Labelled,
    sided: Sided,
    of_leaf: npt.NDArray[np.int64],
    of_half: npt.NDArray[np.int64],
    out: Labels,
    first: int,
) -> None:
    """Fill in the leaves of the rows of a partition, the first of which has number ``first``."""
    ones = np.ones(part.gap_row.size, dtype=np.int64)
    _relabel(part.row, part.filled, labelled.blocks, sided.blocks, of_leaf, of_half, out, first)
    _relabel(
        part.gap_row[:, None],
        ones,
        labelled.gaps[:, None],
        sided.gaps[:, None],
        of_leaf,
        of_half,
        out,
        first,
    )


@jit
def _relabel(
    row: npt.NDArray[np.uint64],
    filled: npt.NDArray[np.int64],
    labels: Labels,
    sides: Sides,
    of_leaf: npt.NDArray[np.int64],
    of_half: npt.NDArray[np.int64],
    out: Labels,
    first: int,
) -> None:
    for block in range(row.shape[0]):
        for i in range(filled[block]):
            new = of_leaf[labels[block, i]]
            if new < 0:
                new = of_half[2 * (-1 - new) + sides[block, i]]
            out[int(row[block, i]) - first] = new
