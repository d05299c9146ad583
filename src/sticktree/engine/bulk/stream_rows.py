"""Rows that come in batches: the newest in memory, all others as blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.blocks import (
    FIRST,
    Blocks,
    add_blocks,
    choose_halves,
    choose_leaves,
    on_grid,
)
from sticktree.engine.bulk.choice import UNPINNED
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.halves import Units, gain_grid
from sticktree.engine.bulk.labels import Labels, Nodes
from sticktree.engine.bulk.passes import Halved, Seated
from sticktree.engine.bulk.picks import Picked
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.squash import cut, join
from sticktree.engine.bulk.sums import Grid
from sticktree.engine.bulk.tally import Tally

__all__ = ["MOST_BLOCKS", "Gone", "StreamRows"]


MOST_BLOCKS = 16  # that a leaf has after a batch
SAVED = "stream_"  # before the names of arrays of a snapshot


class Gone(NamedTuple):
    """Rows that have left memory."""

    blocks: Blocks
    products: FloatArray  # (D, D) Σ y yᵀ of all of them, with what was imputed
    n: int
    largest: float  # absolute entry
    next_number: int  # of blocks

    @classmethod
    def nothing(cls, dimension: int, kind: int) -> Gone:
        """Return no rows."""
        none = Blocks.none(dimension, kind)
        return cls(none, np.zeros((dimension, dimension)), 0, 0.0, FIRST)


class StreamRows:
    """Rows in memory, and blocks of those that were there before.

    New rows have no leaf: in the first pass they choose among all leaves, and blocks stay.

    Parameters
    ----------
    inner : Rows
        The rows in memory.
    gone : Gone
        The others.
    leaf : int array or None, default=None
        The leaves of the blocks, if the rows in memory are new.
    """

    def __init__(self, inner: Rows, gone: Gone, leaf: npt.NDArray[np.int64] | None = None) -> None:
        self.inner, self.gone = inner, gone
        self.leaf = np.full(gone.blocks.n.size, -1, dtype=np.int64) if leaf is None else leaf
        self.are_new = leaf is not None
        self.last: Tally | None = None  # of the rows in memory, in the last pass
        self.half = np.full(self.leaf.size, -1, dtype=np.int64)  # of the blocks
        mine = inner.extent
        self.extent = mine._replace(
            n=mine.n + gone.n, largest=max(mine.largest, gone.largest), gone=gone.n
        )

    def sample(self, salt: int, limit: int) -> Picked:
        """Return the rows in memory whose rank by the salt is below the limit."""
        return self.inner.sample(salt, limit)

    def products(self, grid: Grid) -> npt.NDArray[np.int64]:
        """Return Σ y yᵀ of all rows, but for those in memory that have gaps, on the grid."""
        return self.inner.products(grid) + on_grid(self.gone.products, grid)

    def assign(self, told: Components) -> Seated:
        """Let every row and every block choose its leaf."""
        blocks = self.gone.blocks
        if self.are_new:
            size = told.limit.size
            everywhere = np.zeros(size, dtype=np.uint64), np.full(size, UNPINNED)
            seated = self.inner.assign(told._replace(limit=everywhere[0], anchor=everywhere[1]))
            self.are_new = False
        else:
            seated = self.inner.assign(told)
            self.leaf = choose_leaves(blocks, told)
        self.last = seated.tally
        return seated._replace(tally=add_blocks(seated.tally, blocks, self.leaf, told))

    def halve(self, units: Units) -> Halved:
        """Let every row and every block of a unit choose its half."""
        halved = self.inner.halve(units)
        grid = gain_grid(self.extent.n)
        gain = on_grid(gain_grid(self.inner.extent.n).value(halved.gain), grid)
        self.half = choose_halves(self.gone.blocks, self.leaf, units, gain, grid)
        tally = add_blocks(halved.tally, self.gone.blocks, self.half, units.densities)
        return Halved(tally, gain)

    def labels(self, of_leaf: Nodes, of_half: Nodes, numbers: IntArray | None = None) -> Labels:
        """Return the leaves of the rows in memory after the last passes."""
        return self.inner.labels(of_leaf, of_half, numbers)

    def labels_of_blocks(self, of_leaf: Nodes, of_half: Nodes) -> Nodes:
        """Return the same of the blocks."""
        new = of_leaf[self.leaf]
        return np.where(new < 0, of_half[self.half] if of_half.size else new, new)

    def followed_by(
        self,
        inner: Rows,
        picked: Picked,
        kind: int,
        transform: FloatArray,
        grid: Grid,
        headroom: float,
    ) -> StreamRows:
        """Return new rows; those in memory become blocks, as the last `assign` seated them.

        ``picked`` are all of them, and ``transform`` brings them into coordinates in which
        distances count; ``grid`` is that of products. Imputed entries are at most ``headroom``
        times as large as observed ones.
        """
        assert self.last is not None
        old, mine = self.gone, self.inner.extent
        of, leaf = cut(picked.y @ transform.T, picked.leaf.astype(np.int64), MOST_BLOCKS)
        new = Blocks.over(picked.y, of, leaf.size, kind, old.next_number)
        blocks, leaf = old.blocks.plus(new), np.concatenate([self.leaf, leaf])
        into, size = join(blocks.n, blocks.mean @ transform.T, leaf, MOST_BLOCKS)
        joined = np.empty(size, dtype=np.int64)
        joined[into] = leaf
        products = old.products + grid.value(self.inner.products(grid))
        products += grid.value(self.last.products)
        largest = mine.largest * (headroom if mine.gaps else 1.0)
        gone = Gone(
            blocks.joined(into, size),
            products,
            old.n + mine.n,
            max(old.largest, largest),
            old.next_number + new.n.size,
        )
        return StreamRows(inner, gone, joined)

    def saved(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a snapshot has of the blocks; their leaves are told by the next pass."""
        gone = self.gone
        words = np.array([gone.n, gone.next_number], dtype=np.uint64)
        return {
            **{f"{SAVED}{name}": array.copy() for name, array in gone.blocks._asdict().items()},
            f"{SAVED}products": gone.products.copy(),
            f"{SAVED}largest": np.array(gone.largest),
            f"{SAVED}words": words,
        }

    @classmethod
    def restored(cls, inner: Rows, snapshot: dict[str, npt.NDArray[Any]]) -> Rows:
        """Return rows in memory with the blocks of a snapshot; as they are, if it has none."""
        if f"{SAVED}words" not in snapshot:
            return inner
        n, next_number = map(int, snapshot[f"{SAVED}words"])
        blocks = Blocks(*(snapshot[f"{SAVED}{name}"].copy() for name in Blocks._fields))
        products = snapshot[f"{SAVED}products"].copy()
        return cls(
            inner, Gone(blocks, products, n, float(snapshot[f"{SAVED}largest"]), next_number)
        )
