"""Rows that come in batches: the newest in memory, all others squashed into blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.halves import Units, gain_grid
from sticktree.engine.bulk.partition import Nodes, Picked
from sticktree.engine.bulk.placement import Extent, Placement
from sticktree.engine.bulk.proposals import UNPINNED
from sticktree.engine.bulk.rows import Assigned, Halved, Rows
from sticktree.engine.bulk.sums import Grid, Tally
from sticktree.engine.online.blocks import (
    FIRST,
    Blocks,
    add_blocks,
    choose_halves,
    choose_leaves,
    cut,
    join,
    on_grid,
)
from sticktree.engine.online.forgetting import sums_of_blocks, thinned, thinned_products

if TYPE_CHECKING:
    from sticktree.engine.bulk.chain import BulkChain


MOST_BLOCKS = 16  # that a leaf has after a batch
SAVED = "stream_"  # before the names of arrays of a snapshot


class Squashed(NamedTuple):
    """Rows that have left memory, as blocks."""

    blocks: Blocks
    products: FloatArray  # (D, D) Σ y yᵀ of all of them, with what was imputed
    n: int
    largest: float  # absolute entry
    next_number: int  # of blocks

    @classmethod
    def nothing(cls, dimension: int, kind: int) -> Squashed:
        """Return no rows."""
        none = Blocks.none(dimension, kind)
        return cls(none, np.zeros((dimension, dimension)), 0, 0.0, FIRST)


class OnlineRows(Rows):
    """Rows in memory, and blocks of those that were there before.

    New rows have no leaf: in the first pass they choose among all leaves, and blocks stay. Labels
    and samples are of the rows in memory.

    Parameters
    ----------
    placement : Placement
        Where the newest rows are.
    squashed : Squashed
        The rows before.
    leaf : int array or None, default=None
        The leaves of the blocks, if the rows in memory are new.
    """

    def __init__(
        self,
        placement: Placement,
        squashed: Squashed,
        leaf: npt.NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(placement)
        self.squashed = squashed
        self.leaf = np.full(squashed.blocks.n.size, -1, dtype=np.int64) if leaf is None else leaf
        self.are_new = leaf is not None
        self.last: Tally | None = None  # of the rows in memory, in the last pass
        self.half = np.full(self.leaf.size, -1, dtype=np.int64)  # of the blocks

    @property
    def extent(self) -> Extent:
        """Number and size of all rows, of which some are squashed."""
        here, before = self.placement.extent, self.squashed
        largest = max(here.largest, before.largest)
        return here._replace(n=here.n + before.n, largest=largest, squashed=before.n)

    def products(self, grid: Grid) -> npt.NDArray[np.int64]:
        """Return Σ y yᵀ of all rows, but for those in memory that have gaps, on the grid."""
        return super().products(grid) + on_grid(self.squashed.products, grid)

    def assign(self, leaves: Components) -> Assigned:
        """Let every row and every block choose its leaf."""
        blocks = self.squashed.blocks
        if self.are_new:
            size = leaves.limit.size
            no_limit, no_anchor = np.zeros(size, dtype=np.uint64), np.full(size, UNPINNED)
            assigned = super().assign(leaves._replace(limit=no_limit, anchor=no_anchor))
            self.are_new = False
        else:
            assigned = super().assign(leaves)
            self.leaf = choose_leaves(blocks, leaves)
        self.last = assigned.tally
        return assigned._replace(tally=add_blocks(assigned.tally, blocks, self.leaf, leaves))

    def halve(self, units: Units) -> Halved:
        """Let every row and every block of a unit choose its half."""
        halved = super().halve(units)
        grid = gain_grid(self.extent.n)
        gain = on_grid(gain_grid(self.placement.extent.n).value(halved.gain), grid)
        self.half = choose_halves(self.squashed.blocks, self.leaf, units, gain, grid)
        tally = add_blocks(halved.tally, self.squashed.blocks, self.half, units.densities)
        return Halved(tally, gain)

    def labels_of_blocks(self, of_leaf: Nodes, of_half: Nodes) -> Nodes:
        """Return the leaves of the blocks after the last passes; see `labels`."""
        new = of_leaf[self.leaf]
        return np.where(new < 0, of_half[self.half] if of_half.size else new, new)

    def followed_by(
        self,
        placement: Placement,
        picked: Picked,
        kind: int,
        transform: FloatArray,
        grid: Grid,
        headroom: float,
        forget: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> OnlineRows:
        """Return new rows; those in memory become blocks, as the last `assign` placed them.

        ``picked`` are all of them, and ``transform`` brings them into coordinates in which
        distances count; ``grid`` is that of products. Imputed entries are at most ``headroom``
        times as large as observed ones. Of all rows before, a share ``forget`` is forgotten.
        """
        assert self.last is not None
        old, mine = self.squashed, self.placement.extent
        of, leaf = cut(picked.y @ transform.T, picked.leaf.astype(np.int64), MOST_BLOCKS)
        new = Blocks.over(picked.y, of, leaf.size, kind, old.next_number)
        blocks, leaf = old.blocks.plus(new), np.concatenate([self.leaf, leaf])
        into, size = join(blocks.n, blocks.mean @ transform.T, leaf, MOST_BLOCKS)
        joined = np.empty(size, dtype=np.int64)
        joined[into] = leaf
        products = old.products + grid.value(super().products(grid))
        products += grid.value(self.last.products)
        largest = mine.largest * (headroom if mine.gaps else 1.0)
        kept, n = blocks.joined(into, size), old.n + mine.n
        if forget and rng is not None:
            whole, kept = kept, thinned(kept, forget, kind, rng)
            products, some = thinned_products(products, whole, kept), np.flatnonzero(kept.n)
            kept, joined, n = kept.at(some), joined[some], int(kept.n.sum())
        next_number = old.next_number + new.n.size
        squashed = Squashed(kept, products, n, max(old.largest, largest), next_number)
        return OnlineRows(placement, squashed, joined)

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return the blocks; their leaves come with the next pass."""
        before = self.squashed
        words = np.array([before.n, before.next_number], dtype=np.uint64)
        return {
            **{f"{SAVED}{name}": array.copy() for name, array in before.blocks._asdict().items()},
            f"{SAVED}products": before.products.copy(),
            f"{SAVED}largest": np.array(before.largest),
            f"{SAVED}words": words,
        }


def restored_rows(rows: Rows, snapshot: dict[str, npt.NDArray[Any]]) -> Rows:
    """Return rows in memory with the blocks of a snapshot; as they are, if it has none."""
    if f"{SAVED}words" not in snapshot:
        return rows
    n, next_number = map(int, snapshot[f"{SAVED}words"])
    blocks = Blocks(*(snapshot[f"{SAVED}{name}"].copy() for name in Blocks._fields))
    products, largest = snapshot[f"{SAVED}products"].copy(), float(snapshot[f"{SAVED}largest"])
    return OnlineRows(rows.placement, Squashed(blocks, products, n, largest, next_number))


def follow(chain: BulkChain, rows: Rows, forget: float = 0.0) -> None:
    """Have a chain go on with new rows; its rows until now become blocks.

    Each of them is forgotten with probability ``forget``, and leaves that lose all go.
    """
    before = chain.rows
    if not isinstance(before, OnlineRows):
        nothing = Squashed.nothing(before.extent.dimension, chain.kind)
        before = OnlineRows(before.placement, nothing)
    chain.rows = before
    picked = chain.assign_and_pick_all()  # leaves of rows are not in a snapshot
    now = before.followed_by(
        rows.placement,
        picked,
        chain.kind,
        chain.transform(),
        chain.grids[1],
        chain.headroom,
        forget,
        chain.rng,
    )
    chain.replace_rows(now)
    if forget:
        blocks, size = now.squashed.blocks, chain.leaves.size
        chain.keep_leaves(sums_of_blocks(blocks, now.leaf, size, chain.kind))
        now.leaf = np.unique(now.leaf, return_inverse=True)[1].astype(np.int64)
