"""Where rows are, and how passes over them are made: here, in the threads of one process.

A pass is a pure function of rows and of what all of them are told. So it can be made anywhere, and
made again where its result was lost.
"""

from __future__ import annotations

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

CHUNKS = 16  # for each thread: threads that are done early take over from the others
ROWS_OF_THREAD = 8192  # fewer are done before a thread has started

Result = TypeVar("Result")
Cut = tuple[int, int, int, int]  # a range of blocks, and one of rows with gaps


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
    numbers: npt.NDArray[np.uint64], filled: npt.NDArray[np.int64], salt: Word, limit: Word
) -> npt.NDArray[np.int64]:
    """Return where the rows are whose rank is below a limit."""
    count = 0
    for block in range(numbers.shape[0]):
        for i in range(filled[block]):
            count += int(rank_of(numbers[block, i], salt) < limit)
    out = np.empty(count, dtype=np.int64)
    count = 0
    for block in range(numbers.shape[0]):
        for i in range(filled[block]):
            if rank_of(numbers[block, i], salt) < limit:
                out[count] = block * numbers.shape[1] + i
                count += 1
    return out


def pick(
    part: Partition,
    salt: int,
    limit: int,
    labelled: Labelled | None = None,
    cut: Cut | None = None,
) -> Picked:
    """Return the rows of a partition, or of some blocks and gaps of it, of rank below the limit."""
    words = np.uint64(salt), np.uint64(limit)
    start, stop, first, last = cut or (0, len(part.filled), 0, part.gap_row.size)
    found = _ranked_below(part.row[start:stop], part.filled[start:stop], *words)
    block, place = np.divmod(found, part.row.shape[1])
    block += start
    ones = np.ones(last - first, dtype=np.int64)
    gap = first + _ranked_below(part.gap_row[first:last, None], ones, *words)
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
    start: int,
    stop: int,
    coarse: float,
    fine: float,
    out: npt.NDArray[np.int64],
) -> None:
    dimension = part.y.shape[1]
    for block in range(start, stop):
        for i in range(part.filled[block]):
            for d in range(dimension):
                for e in range(dimension):
                    add(out[d], e, part.y[block, d, i] * part.y[block, e, i], coarse, fine)


def products(part: Partition, grid: Grid, start: int, stop: int) -> npt.NDArray[np.int64]:
    """Return Σ y yᵀ of the rows of some blocks."""
    dimension = part.y.shape[1]
    out = np.zeros((dimension, dimension, 2), dtype=np.int64)
    _add_products(part, start, stop, grid.coarse, grid.fine, out)
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

    def _map(self, work: Callable[[int, int, int, int], Result]) -> list[Result]:
        """Return the results of work on ranges of blocks and of rows with gaps."""
        blocks, gaps = len(self.part.filled), self.part.gap_row.size
        n_threads = min(self.n_threads, 1 + self.extent.n // ROWS_OF_THREAD)
        n = n_threads * CHUNKS if n_threads > 1 else 1
        cuts = [
            (blocks * k // n, blocks * (k + 1) // n, gaps * k // n, gaps * (k + 1) // n)
            for k in range(n)
        ]
        if n_threads == 1:
            return [work(*cut) for cut in cuts]
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(lambda cut: work(*cut), cuts))

    def sample(self, salt: int, limit: int) -> Picked:
        """Return the rows whose rank by the salt is below the limit."""
        return pick(self.part, salt, limit)

    def products(self, grid: Grid) -> npt.NDArray[np.int64]:
        """Return Σ y yᵀ of the rows without gaps, on the grid."""
        return np.sum(self._map(lambda a, b, c, d: products(self.part, grid, a, b)), axis=0)

    def assign(self, told: Components) -> Seated:
        """Let every row choose its leaf."""
        limits = int(told.words[PICK_SALT]), int(told.words[PICK])

        def work(*cut: *Cut) -> Seated:
            tally = assign(self.part, told, self.labelled, cut)
            return Seated(tally, pick(self.part, *limits, self.labelled, cut))

        parts = self._map(work)
        picked = join_picks([part.picked for part in parts])
        return Seated(_merged([part.tally for part in parts]), picked)

    def halve(self, units: Units) -> Halved:
        """Let every row of a unit choose its half."""
        grid = gain_grid(self.extent.n)
        parts = self._map(
            lambda *cut: halve(self.part, units, self.labelled, self.sided, grid, cut)
        )
        return Halved(_merged([p.tally for p in parts]), np.sum([p.gain for p in parts], axis=0))

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


def assign(part: Partition, told: Components, labelled: Labelled, cut: Cut) -> Tally:
    """Let some of the rows of a partition choose their leaves: a range of blocks, one of gaps."""
    tally = empty_tally(told.log_weight.size, part.y.shape[1], told.kind)
    if cut[0] < cut[1]:
        assign_blocks(part, cut[0], cut[1], told, labelled.blocks, tally)
    if cut[2] < cut[3]:
        assign_gaps(part, cut[2], cut[3], told, labelled.gaps, labelled.completed, tally)
    return tally


def halve(
    part: Partition,
    units: Units,
    labelled: Labelled,
    sided: Sided,
    grid: Grid,
    cut: Cut,
) -> Halved:
    """Let some of the rows of a partition choose their halves."""
    n_units = len(units.pins)
    tally = empty_tally(2 * n_units, part.y.shape[1], units.densities.kind)
    gain = np.zeros((n_units, 2), dtype=np.int64)
    steps = np.array([grid.coarse, grid.fine])
    if cut[0] < cut[1]:
        halve_blocks(part, cut[0], cut[1], labelled.blocks, units, sided.blocks, tally, gain, steps)
    if cut[2] < cut[3]:
        halve_gaps(
            part,
            cut[2],
            cut[3],
            labelled.gaps,
            labelled.completed,
            units,
            sided.gaps,
            tally,
            gain,
            steps,
        )
    return Halved(tally, gain)


def _merged(parts: list[Tally]) -> Tally:
    out = parts[0]
    for part in parts[1:]:
        out = merge(out, part)
    return out


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
