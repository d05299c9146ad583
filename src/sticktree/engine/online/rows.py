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
from sticktree.engine.bulk.sums import SUMS, Grid, Tally
from sticktree.engine.online.blocks import (
    FIRST,
    Blocks,
    add_blocks,
    choose_halves,
    choose_leaves,
    cut,
    join,
    lean_blocks,
    lost_of,
    on_grid,
)
from sticktree.engine.online.drifting import moved
from sticktree.engine.online.forgetting import sums_of_blocks, thinned, thinned_products
from sticktree.model import Groups

if TYPE_CHECKING:
    from sticktree.engine.bulk.chain import BulkChain


MOST_BLOCKS = 16  # that a leaf has after a batch
SAVED = "stream_"  # before the names of arrays of a snapshot
OPTIONAL = ("seated", "lost")  # of blocks: all zero in most


class Between(NamedTuple):
    """What happens between two batches, before the new one is taken in.

    Each row before is forgotten with probability ``forget``, and leaves that lose all go; then the
    place of each leaf takes a step of variance ``drift`` Σ. ``groups`` are those of the new rows,
    of which group ``place[j]`` is number j of the batch before; −1 has no rows any more. Parents
    without rows have their places after the groups.
    """

    forget: float = 0.0
    drift: float = 0.0
    groups: Groups | None = None
    place: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)

    @property
    def changes(self) -> bool:
        """Whether sums of leaves are others after it."""
        return bool(self.forget or self.drift or self.groups is not None)


NOTHING_BETWEEN = Between()


class Squashed(NamedTuple):
    """Rows that have left memory, as blocks."""

    blocks: Blocks
    products: FloatArray  # (D, D) Σ y yᵀ of all of them, with what was imputed
    n: int
    largest: float  # absolute entry
    next_number: int  # of blocks

    @classmethod
    def nothing(cls, dimension: int, kind: int, n_groups: int = 0) -> Squashed:
        """Return no rows."""
        none = Blocks.none(dimension, kind, n_groups)
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
        tally = add_blocks(assigned.tally, blocks, self.leaf, leaves)
        return assigned._replace(tally=tally, lost=lost_of(blocks, self.leaf, tally.count.size))

    def lean(self, units: Units) -> npt.NDArray[np.int64]:
        """Return what rows and blocks of groups tell of shares of halves, on the grid of gains."""
        here = gain_grid(self.placement.extent.n).value(super().lean(units))
        more = lean_blocks(self.squashed.blocks, self.leaf, units)
        return on_grid(here + more, gain_grid(self.extent.n))

    def halve(self, units: Units) -> Halved:
        """Let every row and every block of a unit choose its half."""
        halved = super().halve(units)
        grid = gain_grid(self.extent.n)
        gain = on_grid(gain_grid(self.placement.extent.n).value(halved.gain), grid)
        self.half = choose_halves(self.squashed.blocks, self.leaf, units, gain, grid)
        tally = add_blocks(halved.tally, self.squashed.blocks, self.half, units.densities)
        lost = lost_of(self.squashed.blocks, self.half, tally.count.size)
        return Halved(tally, gain, lost)

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
        between: Between,
        rng: np.random.Generator,
    ) -> OnlineRows:
        """Return new rows; those in memory become blocks, as the last `assign` placed them.

        ``picked`` are all of them, and ``transform`` brings them into coordinates in which
        distances count; ``grid`` is that of products. Imputed entries are at most ``headroom``
        times as large as observed ones.
        """
        assert self.last is not None
        old, mine = self.squashed, self.placement.extent
        of, leaf = cut(picked.y @ transform.T, picked.leaf.astype(np.int64), MOST_BLOCKS)
        n_groups = old.blocks.seated.shape[1]
        new = Blocks.over(picked.y, of, leaf.size, kind, old.next_number, picked.group, n_groups)
        blocks, leaf = old.blocks.plus(new), np.concatenate([self.leaf, leaf])
        into, size = join(blocks.n, blocks.mean @ transform.T, leaf, MOST_BLOCKS)
        joined = np.empty(size, dtype=np.int64)
        joined[into] = leaf
        products = old.products + grid.value(super().products(grid))
        products += grid.value(self.last.products)
        largest = mine.largest * (headroom if mine.gaps else 1.0)
        kept, n = blocks.joined(into, size), old.n + mine.n
        if between.forget:
            whole, kept = kept, thinned(kept, between.forget, kind, rng)
            products, some = thinned_products(products, whole, kept), np.flatnonzero(kept.n)
            kept, joined, n = kept.at(some), joined[some], int(kept.n.sum())
        if between.drift:
            # Alone, a block would be known too little of to stay: rows that took steps together
            # are one block from then on.
            kept, products = moved(kept, products, joined, between.drift)
            joined, into = np.unique(joined, return_inverse=True)
            kept = kept.joined(into, joined.size)
        if between.groups is not None:
            kept = kept.in_groups(between.place, between.groups.number)
        next_number = old.next_number + new.n.size
        squashed = Squashed(kept, products, n, max(old.largest, largest), next_number)
        return OnlineRows(placement, squashed, joined)

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return the blocks; their leaves come with the next pass."""
        before = self.squashed
        words = np.array([before.n, before.next_number], dtype=np.uint64)
        kept = before.blocks._asdict()
        for name in OPTIONAL:  # files of streams without groups, or where nothing moves, lack them
            if not kept[name].any():
                del kept[name]
        return {
            **{f"{SAVED}{name}": array.copy() for name, array in kept.items()},
            f"{SAVED}products": before.products.copy(),
            f"{SAVED}largest": np.array(before.largest),
            f"{SAVED}words": words,
        }


def restored_rows(rows: Rows, snapshot: dict[str, npt.NDArray[Any]], n_groups: int = 0) -> Rows:
    """Return rows in memory with the blocks of a snapshot; as they are, if it has none."""
    if f"{SAVED}words" not in snapshot:
        return rows
    n, next_number = map(int, snapshot[f"{SAVED}words"])
    n_blocks, dimension = snapshot[f"{SAVED}n"].size, snapshot[f"{SAVED}total"].shape[1]
    nothing = Blocks.none(dimension, SUMS, n_groups)
    absent = {name: np.zeros((n_blocks, *getattr(nothing, name).shape[1:])) for name in OPTIONAL}
    absent["seated"] = absent["seated"].astype(np.int64)
    kept = absent | {
        name: snapshot[f"{SAVED}{name}"].copy()
        for name in Blocks._fields
        if f"{SAVED}{name}" in snapshot
    }
    blocks = Blocks(**kept)
    products, largest = snapshot[f"{SAVED}products"].copy(), float(snapshot[f"{SAVED}largest"])
    return OnlineRows(rows.placement, Squashed(blocks, products, n, largest, next_number))


def follow(chain: BulkChain, rows: Rows, between: Between = NOTHING_BETWEEN) -> None:
    """Have a chain go on with new rows; its rows until now become blocks."""
    if between.drift and chain.model.leaf_noise != "shared":
        raise ValueError("leaves that move have shared noise")
    before = chain.rows
    if not isinstance(before, OnlineRows):
        nothing = Squashed.nothing(before.extent.dimension, chain.kind, chain.n_groups)
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
        between,
        chain.rng,
    )
    if between.groups is not None:
        chain.regroup(between.groups, between.place)
    chain.replace_rows(now)
    if between.changes:
        blocks, size = now.squashed.blocks, chain.leaves.size
        seated = np.zeros((size, chain.n_groups), dtype=np.int64)
        np.add.at(seated, now.leaf, blocks.seated)
        chain.keep_leaves(sums_of_blocks(blocks, now.leaf, size, chain.kind), seated)
        now.leaf = np.unique(now.leaf, return_inverse=True)[1].astype(np.int64)
