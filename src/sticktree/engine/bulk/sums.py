"""Sums that come out the same in any order.

Sums of floats depend on the order, and so on how rows are dealt out to threads and workers. Here
each number is rounded to a coarse grid, and what is left over to a fine one; both are summed as
integers. The grids are such that N numbers of the largest size fit into 64 bits, and a number loses
nothing that its own 53 bits hold, unless it is tiny compared with the largest.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.partition import ALL, BLOCK, Labels, Partition, Share
from sticktree.engine.bulk.philox import Word, rank_of
from sticktree.jit import inlined, jit

# What is summed over the rows of a leaf: y; y and y²; y and y yᵀ.
SUMS, SQUARES, PRODUCTS = range(3)
WORD = 61  # bits of a sum
MOST_BITS = 50  # of one number on one grid: rounding by adding MAGIC is exact up to there
MAGIC = 1.5 * 2.0**52  # a float of this size has no digits after the point


def n_sums(kind: int, dimension: int) -> int:
    """Return how many sums a leaf has."""
    return dimension + (0, dimension, dimension * (dimension + 1) // 2)[kind]


@dataclass(frozen=True)
class Grid:
    """Steps per unit of the coarse and the fine grid.

    Attributes
    ----------
    coarse, fine : float
        Powers of two.
    """

    coarse: float
    fine: float

    @classmethod
    def of(cls, n: int, largest: float) -> Grid:
        """Return grids for sums of ``n`` numbers of size ``largest`` at most."""
        bits = min(WORD - max(math.ceil(math.log2(max(n, 2))), 1), MOST_BITS)
        coarse = bits - 1 - math.ceil(math.log2(max(largest, 1e-300)))
        return cls(2.0**coarse, 2.0 ** (coarse + bits))

    def value(self, sums: npt.NDArray[np.int64]) -> FloatArray:
        """Return sums as floats; the last axis is coarse and fine."""
        return np.asarray(sums[..., 0] / self.coarse + sums[..., 1] / self.fine)


@inlined
def add(sums: npt.NDArray[np.int64], at: int, x: float, coarse: float, fine: float) -> None:
    """Add a number to row ``at`` of an array of shape (…, 2).

    The grids should be no elements of arrays: then what is divided is divided once for all numbers.
    """
    steps = (x * coarse + MAGIC) - MAGIC
    rest = ((x - steps * (1.0 / coarse)) * fine + MAGIC) - MAGIC
    sums[at, 0] += int(steps)
    sums[at, 1] += int(rest)


# ---- Sums over the rows of each leaf, which add up over parts of the rows -----------------------
#
# They are integers on grids: neither the order of the rows nor how they are parted matters.


Flags = npt.NDArray[np.bool_]
Steps = tuple[float, float, float, float]  # of the grids of entries and of their products
NO_RANK = np.uint64(0xFFFFFFFFFFFFFFFF)
NOBODY = np.empty((0, 0), dtype=np.int64)


class Tally(NamedTuple):
    """Sums over rows; those of parts of the rows add up."""

    count: npt.NDArray[np.int64]  # type: ignore[assignment] # (K,)
    lacking: npt.NDArray[np.int64]  # (K, D) entries that are missing and not imputed
    sums: npt.NDArray[np.int64]  # (K, S, 2) on the grids
    products: npt.NDArray[np.int64]  # (D, D, 2) over rows with imputed entries
    rank: npt.NDArray[np.uint64]  # (K,) the least of the next sweep
    anchor: npt.NDArray[np.uint64]  # (K,) the row that has it
    seated: npt.NDArray[np.int64] = NOBODY  # (K, J) rows of each group, if there are groups


def empty_tally(n_leaves: int, dimension: int, kind: int, n_groups: int = 0) -> Tally:
    """Return sums over no rows."""
    return Tally(
        np.zeros(n_leaves, dtype=np.int64),
        np.zeros((n_leaves, dimension), dtype=np.int64),
        np.zeros((n_leaves, n_sums(kind, dimension), 2), dtype=np.int64),
        np.zeros((dimension, dimension, 2), dtype=np.int64),
        np.full(n_leaves, NO_RANK),
        np.zeros(n_leaves, dtype=np.uint64),
        np.zeros((n_leaves, n_groups), dtype=np.int64),
    )


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
        first.seated + second.seated,
    )


@inlined
def tally_row(
    tally: Tally, leaf: int, number: Word, y: FloatArray, kind: int, salt: Word, grid: Steps
) -> None:
    """Add a row to the sums of a leaf; entries that are missing are left out."""
    dimension = y.size
    tally.count[leaf] += 1
    rank = rank_of(number, salt)
    if rank < tally.rank[leaf]:
        tally.rank[leaf], tally.anchor[leaf] = rank, number
    sums = tally.sums[leaf]
    at = dimension
    for d in range(dimension):
        if math.isnan(y[d]):
            tally.lacking[leaf, d] += 1
            continue
        add(sums, d, y[d], grid[0], grid[1])
        if kind == SQUARES:
            add(sums, dimension + d, y[d] * y[d], grid[2], grid[3])
        elif kind == PRODUCTS:
            for e in range(d + 1):
                add(sums, at + e, y[d] * y[e], grid[2], grid[3])
            at += d + 1


@inlined
def tally_block(
    tally: Tally,
    part: Partition,
    block: int,
    labels: Labels,
    kind: int,
    salt: Word,
    grid: Steps,
    value: FloatArray,
    steps: FloatArray,
    rest: FloatArray,
) -> None:
    """Add the rows of a block, column by column; the last three are room for a number of each."""
    dimension, filled = part.y.shape[1], part.filled[block]
    for i in range(filled):
        leaf, number = labels[block, i], part.row[block, i]
        tally.count[leaf] += 1
        rank = rank_of(number, salt)
        if rank < tally.rank[leaf]:
            tally.rank[leaf], tally.anchor[leaf] = rank, number
    if part.group.size:
        for i in range(filled):
            tally.seated[labels[block, i], part.group[block, i]] += 1
    at = dimension
    for d in range(dimension):
        for i in range(BLOCK):
            value[i] = part.y[block, d, i]
        _add_column(tally.sums, d, labels, block, filled, value, grid[0], grid[1], steps, rest)
        if kind == SQUARES:
            for i in range(BLOCK):
                value[i] = part.y[block, d, i] * part.y[block, d, i]
            place = dimension + d
            _add_column(
                tally.sums, place, labels, block, filled, value, grid[2], grid[3], steps, rest
            )
        elif kind == PRODUCTS:
            for e in range(d + 1):
                for i in range(BLOCK):
                    value[i] = part.y[block, d, i] * part.y[block, e, i]
                place = at + e
                _add_column(
                    tally.sums, place, labels, block, filled, value, grid[2], grid[3], steps, rest
                )
            at += d + 1


@inlined
def _add_column(
    sums: npt.NDArray[np.int64],
    at: int,
    labels: Labels,
    block: int,
    filled: int,
    value: FloatArray,
    coarse: float,
    fine: float,
    steps: FloatArray,
    rest: FloatArray,
) -> None:
    """Add a number of each row to the sums of its leaf; see `add`."""
    for i in range(BLOCK):
        steps[i] = (value[i] * coarse + MAGIC) - MAGIC
        rest[i] = ((value[i] - steps[i] * (1.0 / coarse)) * fine + MAGIC) - MAGIC
    for i in range(filled):
        leaf = labels[block, i]
        sums[leaf, at, 0] += int(steps[i])
        sums[leaf, at, 1] += int(rest[i])


class Sums(NamedTuple):
    """Sums over the rows of each leaf; rows may count in part."""

    n: FloatArray  # (K,) rows
    seen: FloatArray  # (K, D) entries that are not missing
    total: FloatArray  # (K, D) of y
    second: FloatArray  # (K, D) of y², or (K, D, D) of y yᵀ, or (K, 0)

    @classmethod
    def of(cls, tally: Tally, kind: int, first: Grid, second: Grid) -> Sums:
        """Return the sums of a pass as floats."""
        n, dimension = tally.count.astype(np.float64), tally.lacking.shape[1]
        total = first.value(tally.sums[:, :dimension])
        second_sums = second.value(tally.sums[:, dimension:])
        if kind == PRODUCTS:
            second_sums = symmetric(second_sums, dimension)
        return cls(n, n[:, None] - tally.lacking, total, second_sums)

    @classmethod
    def over(cls, y: FloatArray, of: npt.NDArray[Any], size: int, kind: int) -> Sums:
        """Return sums over rows ``y``, the i-th of which belongs to leaf ``of[i]``."""
        there = ~np.isnan(y)
        y = np.where(there, y, 0.0)
        n, seen, total = np.zeros(size), np.zeros((size, y.shape[1])), np.zeros((size, y.shape[1]))
        np.add.at(n, of, 1.0)
        np.add.at(seen, of, there.astype(np.float64))
        np.add.at(total, of, y)
        each = y**2 if kind == SQUARES else y[:, :, None] * y[:, None, :]
        second = np.zeros((size, *each.shape[1:]) if kind in (SQUARES, PRODUCTS) else (size, 0))
        if second.size:
            np.add.at(second, of, each)
        return cls(n, seen, total, second)

    def at(self, which: npt.NDArray[Any]) -> Sums:
        """Return the sums of some leaves."""
        return Sums(*(array[which] for array in self))

    def times(self, factor: FloatArray) -> Sums:
        """Return sums in which rows count so much."""
        return Sums(*(array * wide(factor, array) for array in self))

    def plus(self, other: Sums) -> Sums:
        """Return the sums over the rows of both."""
        return Sums(*(mine + its for mine, its in zip(self, other, strict=True)))

    def where(self, condition: Flags, other: Sums) -> Sums:
        """Return these sums where a condition holds, and others elsewhere."""
        return Sums(
            *(
                np.where(wide(condition, mine), mine, its)
                for mine, its in zip(self, other, strict=True)
            )
        )


def wide(factor: npt.NDArray[Any], array: FloatArray) -> npt.NDArray[Any]:
    """Return a factor for each leaf in the shape that multiplies an array of leaves."""
    return factor.reshape(-1, *[1] * (array.ndim - 1))


def symmetric(values: FloatArray, dimension: int) -> FloatArray:
    """Return matrices of which ``values`` are the lower triangles, row by row."""
    out = np.empty((len(values), dimension, dimension))
    rows, columns = _below_diagonal(dimension)
    out[:, rows, columns] = values
    out[:, columns, rows] = values
    return out


@functools.lru_cache(maxsize=16)
def _below_diagonal(dimension: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the places of a lower triangle, row by row."""
    return np.tril_indices(dimension)


def products(part: Partition, grid: Grid, share: Share = ALL) -> npt.NDArray[np.int64]:
    """Return Σ y yᵀ of the rows without gaps."""
    dimension = part.y.shape[1]
    out = np.zeros((dimension, dimension, 2), dtype=np.int64)
    _add_products(part, *share, grid.coarse, grid.fine, out)
    return out


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
