"""Sums over the rows of each leaf, which add up over parts of the rows.

They are integers on grids: neither the order of the rows nor how they are parted matters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import PRODUCTS, SQUARES, n_sums
from sticktree.engine.bulk.labels import Labels
from sticktree.engine.bulk.partition import BLOCK, Partition
from sticktree.engine.bulk.philox import Word, rank_of
from sticktree.engine.bulk.sums import MAGIC, add
from sticktree.jit import inlined

__all__ = ["NO_RANK", "Tally", "empty_tally", "merge", "tally_block", "tally_row"]

Steps = tuple[float, float, float, float]  # of the grids of entries and of their products
NO_RANK = np.uint64(0xFFFFFFFFFFFFFFFF)


class Tally(NamedTuple):
    """Sums over rows; those of parts of the rows add up."""

    count: npt.NDArray[np.int64]  # type: ignore[assignment] # (K,)
    lacking: npt.NDArray[np.int64]  # (K, D) entries that are missing and not imputed
    sums: npt.NDArray[np.int64]  # (K, S, 2) on the grids
    products: npt.NDArray[np.int64]  # (D, D, 2) over rows with imputed entries
    rank: npt.NDArray[np.uint64]  # (K,) the least of the next sweep
    anchor: npt.NDArray[np.uint64]  # (K,) the row that has it


def empty_tally(n_leaves: int, dimension: int, kind: int) -> Tally:
    """Return sums over no rows."""
    return Tally(
        np.zeros(n_leaves, dtype=np.int64),
        np.zeros((n_leaves, dimension), dtype=np.int64),
        np.zeros((n_leaves, n_sums(kind, dimension), 2), dtype=np.int64),
        np.zeros((dimension, dimension, 2), dtype=np.int64),
        np.full(n_leaves, NO_RANK),
        np.zeros(n_leaves, dtype=np.uint64),
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
