"""Sums over the rows of each leaf, taken row by row, and added up over parts of the rows.

They are integers on grids: neither the order of the rows nor how they are parted matters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.parallel.components import PRODUCTS, SQUARES, n_sums
from sticktree.engine.parallel.philox import Word, rank_of
from sticktree.engine.parallel.sums import add
from sticktree.jit import inlined

__all__ = ["NO_RANK", "Tally", "empty_tally", "merge", "tally_row"]

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
    tally: Tally, leaf: int, number: Word, y: FloatArray, kind: int, salt: Word, grid: FloatArray
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
