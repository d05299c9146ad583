"""Some of the rows, put in an order in which neighbours lie close together.

Blocks of close rows need to look at a few leaves only. Rows keep their numbers: what becomes of a
row depends on its number and its entries, not on its place or its partition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.philox import JITTER, philox, uniform_of
from sticktree.jit import jit

__all__ = ["ALL", "BLOCK", "Partition", "Share", "jittered", "partition", "push"]

BLOCK = 128  # rows
FEW, MANY = (
    64,
    256,
)  # rows by which a place to cut is chosen, if there are few and if there are many
UNEVEN = 1 / 8  # no part is a smaller share of the rows, about

Rows = npt.NDArray[np.uint64]


class Partition(NamedTuple):
    """Rows in blocks, and rows with gaps one by one."""

    y: FloatArray  # (blocks, D, BLOCK)
    row: Rows  # (blocks, BLOCK) their numbers
    filled: npt.NDArray[np.int64]  # (blocks,) how many there are
    gap_y: FloatArray  # (m, D) with NaN; rows that miss the same columns follow each other
    gap_row: Rows  # (m,)

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return int(self.filled.sum()) + self.gap_row.size


class Share(NamedTuple):
    """Every so many blocks of a partition, and so many rows with gaps: all shares are alike."""

    first: int
    step: int


ALL = Share(0, 1)


def partition(x: FloatArray, first: int, jitter: FloatArray | None = None) -> Partition:
    """Arrange rows, the first of which has number ``first``; ``x`` is left as it is.

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
    return Partition(y, row, filled, gap_y[alike], gap_row[alike])


def jittered(part: Partition, jitter: FloatArray) -> Partition:
    """Return a partition as it would be with ``jitter``, but for the order of its rows."""
    y, gap_y = part.y.copy(), part.gap_y.copy()
    _spread(y, part.row, jitter)
    _spread(gap_y[:, :, None], part.gap_row[:, None], jitter)
    return part._replace(y=y, gap_y=gap_y)


@jit
def _spread(y: FloatArray, row: Rows, width: FloatArray) -> None:
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
def arrange(x: FloatArray, number: Rows) -> None:
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


@jit
def push(stack: npt.NDArray[np.int64], size: int, low: int, middle: int, high: int) -> int:
    """Put both parts on a stack; return its new size.

    The smaller part is to be cut first: so no more parts wait than halvings would leave.
    """
    left_first = middle - low < high - middle
    stack[size, 0], stack[size, 1] = (middle, high) if left_first else (low, middle)
    stack[size + 1, 0], stack[size + 1, 1] = (low, middle) if left_first else (middle, high)
    return size + 2


@jit
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


@jit
def _swap(x: FloatArray, number: Rows, i: int, j: int) -> None:
    for d in range(x.shape[1]):
        x[i, d], x[j, d] = x[j, d], x[i, d]
    number[i], number[j] = number[j], number[i]


@jit
def _select(x: FloatArray, number: Rows, low: int, high: int, middle: int, d: int) -> None:
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
