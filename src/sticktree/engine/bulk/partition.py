"""Some of the rows, ordered so that neighbours lie close together, and what they chose last.

Blocks of close rows need to look at a few leaves only. Rows keep their numbers: what becomes of a
row depends on its number and its entries, not on its place or its partition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.philox import JITTER, Word, philox, rank_of, uniform_of
from sticktree.jit import jit, linked

BLOCK = 128  # rows
FEW, MANY = 64, 256  # rows by which a cut is chosen, where there are few and where there are many
UNEVEN = 1 / 8  # no part is a smaller share of the rows, about

Numbers = npt.NDArray[np.uint64]
Labels = npt.NDArray[np.int32]
NO_GROUPS = np.empty((0, 0), dtype=np.int32)


class Partition(NamedTuple):
    """Rows in blocks, and rows with gaps one by one."""

    y: FloatArray  # (blocks, D, BLOCK)
    row: Numbers  # (blocks, BLOCK) their numbers
    filled: npt.NDArray[np.int64]  # (blocks,) how many there are
    gap_y: FloatArray  # (m, D) with NaN; rows that miss the same columns follow each other
    gap_row: Numbers  # (m,)
    group: Labels = NO_GROUPS  # (blocks, BLOCK) groups of rows, or none
    gap_group: Labels = NO_GROUPS[0:0].ravel()  # (m,) or none

    @property
    def n_groups(self) -> int:
        """The largest number of a group and one more; 0 without groups."""
        most = (int(groups.max(initial=-1)) for groups in (self.group, self.gap_group))
        return max(most) + 1

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return int(self.filled.sum()) + self.gap_row.size

    def in_groups(self, group: npt.NDArray[Any], first: int) -> Partition:
        """Return the rows with their groups, those of row ``first`` and all after it."""
        of_row = np.asarray(group, dtype=np.int32)
        places = np.maximum(self.row.astype(np.int64) - first, 0)  # what fills up has number 0
        return self._replace(
            group=of_row[places], gap_group=of_row[self.gap_row.astype(np.int64) - first]
        )

    @property
    def first(self) -> int:
        """The least number of a row; the others follow it without a gap."""
        whole = self.row.reshape(-1)[: int(self.filled.sum())]
        return int(np.concatenate([whole, self.gap_row]).min())


class Share(NamedTuple):
    """One of ``step`` shares of a partition: every ``step``-th block, and some rows with gaps."""

    first: int
    step: int


ALL = Share(0, 1)


def partition(
    x: FloatArray,
    first: int,
    jitter: FloatArray | None = None,
    group: npt.NDArray[Any] | None = None,
) -> Partition:
    """Arrange rows, the first of which has number ``first``; ``x`` is left as it is.

    ``group`` has the groups of the rows, if they belong to several.

    With ``jitter`` the entries of each column are spread evenly over an interval of that width
    around them, always in the same way. With full covariances that takes the place of a floor.
    """
    if jitter is not None:
        x = x.copy()
        number = np.uint64(first) + np.arange(len(x), dtype=np.uint64)
        _spread(x[:, :, None], number[:, None], jitter)
    gaps = np.isnan(x).any(axis=1)
    n_whole = len(x) - int(gaps.sum())
    blocks = -(-n_whole // BLOCK)
    # All is done in the arrays that are kept: first rows one by one, then block by block.
    y = np.empty((blocks, x.shape[1], BLOCK))
    row = np.zeros((blocks, BLOCK), dtype=np.uint64)
    whole, number = y.reshape(-1, x.shape[1])[:n_whole], row.reshape(-1)[:n_whole]
    whole[:] = x[~gaps] if gaps.any() else x
    number[:] = first + (np.flatnonzero(~gaps) if gaps.any() else np.arange(len(x)))
    arrange(whole, number)
    filled = np.full(blocks, BLOCK, dtype=np.int64)
    if blocks:
        filled[-1] = n_whole - BLOCK * (blocks - 1)
    _turn(y, filled)
    gap_y, gap_row = x[gaps], (first + np.flatnonzero(gaps)).astype(np.uint64)
    alike = np.lexsort(np.isnan(gap_y).T)
    part = Partition(y, row, filled, gap_y[alike], gap_row[alike])
    return part if group is None else part.in_groups(group, first)


def jittered(part: Partition, jitter: FloatArray) -> Partition:
    """Return a partition as it would be with ``jitter``, but for the order of its rows."""
    y, gap_y = part.y.copy(), part.gap_y.copy()
    _spread(y, part.row, jitter)
    _spread(gap_y[:, :, None], part.gap_row[:, None], jitter)
    return part._replace(y=y, gap_y=gap_y)


@jit
def _spread(y: FloatArray, row: Numbers, width: FloatArray) -> None:
    """Add uniform noise, which depends on the number of the row and the column alone."""
    none = np.uint64(0)
    for block in range(y.shape[0]):
        for d in range(y.shape[1]):
            purpose = JITTER + np.uint64(d) * np.uint64(4)
            for i in range(y.shape[2]):
                word = philox(row[block, i], none, purpose, none)[0]
                y[block, d, i] += width[d] * (uniform_of(word) - 0.5)


@jit
def _turn(y: FloatArray, filled: npt.NDArray[np.int64]) -> None:
    """Turn blocks from rows of columns to columns of rows, each in its place."""
    dimension = y.shape[1]
    rows = np.empty(dimension * BLOCK)
    for block in range(y.shape[0]):
        rows[:] = y[block].ravel()
        for d in range(dimension):
            for i in range(BLOCK):
                # What fills the last block up lies where its rows lie.
                place = i if i < filled[block] else 0
                y[block, d, i] = rows[place * dimension + d]


@jit
def arrange(x: FloatArray, number: Numbers) -> None:
    """Sort rows in place so that blocks are small boxes: cut rows in two until all are blocks."""
    stack = np.empty((64, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, x.shape[0]
    size = 1
    while size:
        size -= 1
        low, high = stack[size]
        if high - low <= BLOCK:
            continue
        d, share = _best_cut(x, low, high)
        blocks = -(-(high - low) // BLOCK)
        middle = low + BLOCK * min(max(int(share * blocks + 0.5), 1), blocks - 1)
        _select(x, number, low, high, middle, d)
        size = push(stack, size, low, middle, high)


@linked
def push(stack: npt.NDArray[np.int64], size: int, low: int, middle: int, high: int) -> int:
    """Put both parts on a stack; return its new size.

    The smaller part is to be cut first: so no more parts wait than halvings would leave.
    """
    left_first = middle - low < high - middle
    stack[size, 0], stack[size, 1] = (middle, high) if left_first else (low, middle)
    stack[size + 1, 0], stack[size + 1, 1] = (low, middle) if left_first else (middle, high)
    return size + 2


@linked
def _best_cut(x: FloatArray, low: int, high: int) -> tuple[int, float]:
    """Return the column and the share of rows below a cut that leaves least scatter, by a sample.

    Cuts fall between clusters, then, rather than through them.
    """
    size = min(high - low, MANY if high - low > MANY * MANY else FEW)
    values = np.empty(size)
    best, column, share = -1.0, 0, 0.5
    for d in range(x.shape[1]):
        for i in range(size):
            values[i] = x[low + i * (high - low) // size, d]
        values.sort()
        total, below = values.sum(), 0.0
        for i in range(1, size):
            below += values[i - 1]
            if UNEVEN * size <= i <= (1.0 - UNEVEN) * size:
                apart = below / i - (total - below) / (size - i)
                gain = apart * apart * i * (size - i)
                if gain > best:
                    best, column, share = gain, d, i / size
    return column, share


@linked
def _swap(x: FloatArray, number: Numbers, i: int, j: int) -> None:
    for d in range(x.shape[1]):
        x[i, d], x[j, d] = x[j, d], x[i, d]
    number[i], number[j] = number[j], number[i]


@linked
def _select(x: FloatArray, number: Numbers, low: int, high: int, middle: int, d: int) -> None:
    """Move rows so that those before ``middle`` have the smaller entries of column d."""
    high -= 1
    while low < high:
        # The median of three, so that sorted rows take no longer than others.
        a, b, c = x[low, d], x[(low + high) // 2, d], x[high, d]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while x[i, d] < pivot:
                i += 1
            while x[j, d] > pivot:
                j -= 1
            if i <= j:
                _swap(x, number, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


# ---- The leaves, and the halves of units, that rows chose last ----------------------------------


Sides = npt.NDArray[np.int8]
Nodes = npt.NDArray[np.int64]  # that leaves or halves have become


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


def final_labels(
    part: Partition,
    labelled: Labelled,
    sided: Sided,
    of_leaf: Nodes,
    of_half: Nodes,
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
    of_leaf: Nodes,
    of_half: Nodes,
    out: Labels,
    first: int,
) -> None:
    for block in range(row.shape[0]):
        for i in range(filled[block]):
            new = of_leaf[labels[block, i]]
            if new < 0:
                new = of_half[2 * (-1 - new) + sides[block, i]]
            out[int(row[block, i]) - first] = new


# ---- Rows that are picked by their numbers alone, to be looked at one by one --------------------


class Picked(NamedTuple):
    """Rows that were picked by their numbers, in the order of these."""

    number: npt.NDArray[np.uint64]
    y: FloatArray  # completed, if entries are imputed
    leaf: Labels
    group: Labels = NO_GROUPS[0:0].ravel()


def find_ranked(
    part: Partition, salt: int, limit: int, share: Share = ALL
) -> npt.NDArray[np.int64]:
    """Return the places of rows whose rank is below the limit, in a share of a partition."""
    return _ranked_below(part, *share, np.uint64(salt), np.uint64(limit))


def picked_at(part: Partition, found: npt.NDArray[np.int64], labelled: Labelled | None) -> Picked:
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
    group = part.gap_group[:0]
    if part.group.size + part.gap_group.size:
        group = np.concatenate([part.group[block, place], part.gap_group[gap]])
    return join_picks([Picked(number, y, leaf, group)])


def join_picks(picks: list[Picked]) -> Picked:
    """Return all rows of several picks, in the order of their numbers."""
    number = np.concatenate([some.number for some in picks])
    order = np.argsort(number)
    group = np.concatenate([some.group for some in picks])
    return Picked(
        number[order],
        np.concatenate([some.y for some in picks])[order],
        np.concatenate([some.leaf for some in picks])[order],
        group[order] if group.size else group,
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
    n_gaps = part.gap_row.size
    for r in range(n_gaps * first // step, n_gaps * (first + 1) // step):
        if rank_of(part.gap_row[r], salt) < limit:
            out = _appended(out, size, n_blocks * width + r)
            size += 1
    return out[:size].copy()


@linked
def _appended(places: npt.NDArray[np.int64], size: int, place: int) -> npt.NDArray[np.int64]:
    """Return the array with another place, a larger one if it is full."""
    if size == places.size:
        larger = np.empty(2 * size, dtype=np.int64)
        larger[:size] = places
        places = larger
    places[size] = place
    return places
