"""One chain for many rows: passes over the rows, and moves on their sums."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.philox import mix
from sticktree.engine.bulk.picks import Picked
from sticktree.engine.bulk.records import Records
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.split_merge import SplitMerge
from sticktree.engine.bulk.stream_rows import Gone, StreamRows
from sticktree.engine.bulk.sums import Grid
from sticktree.engine.bulk.tally import Tally
from sticktree.engine.bulk.trunk import draw_weights
from sticktree.engine.chain import Effort, SweepInfo, apply_moves
from sticktree.engine.common.links import Index
from sticktree.model import Model

__all__ = ["ParallelChain"]

FIRST_ROWS = 2000  # with which a chain of the other kind makes the first tree
PICKED = 2000  # rows, about, that are looked at one by one in each sweep
MOST_PAIRS = 64  # that may split or merge in a sweep
ROWS_OF_ROUNDS, MOST_ROUNDS = 50_000, 8  # fewer rows choose several times in a sweep
WORD = 2**64


class ParallelChain(SplitMerge, Records):
    """What chains for many rows have in common, whatever their noise.

    A sweep lets every row choose its leaf, proposes splits and merges of leaves, and then moves the
    tree and all else given the sums of the leaves. Where rows are few, the first two are done
    several times.

    It starts from what a chain of the other kind finds in some of the rows.

    Parameters
    ----------
    rows : Rows
        Standardised rows, wherever they are.
    model : Model
        What to sample.
    rng : numpy.random.Generator
        The chain's own source of randomness.
    """

    first_sweeps: int  # of the chain of the other kind
    headroom = 64.0  # by which imputed entries may be larger than the largest observed

    def __init__(self, rows: Rows, model: Model, rng: np.random.Generator) -> None:
        self.model, self.rng = model, rng
        self._begin(rows)
        some = rows.sample(self._word(), _limit(FIRST_ROWS, rows.extent.n))
        first = self._first_chain(some.y)
        for _ in range(self.first_sweeps):
            first.sweep(tune=True)
        self._read_rows()
        self._take_over(first, some.number)
        self.effort = Effort(self.leaves.size)

    @classmethod
    def following(cls, chain: Any, rows: Rows) -> Self:
        """Return a chain that goes on from one of the other kind, which has the same rows."""
        new = cls.__new__(cls)
        new.model, new.rng = chain.model, chain.rng
        new._begin(rows)
        new._read_rows()
        new._take_over(chain, np.arange(rows.extent.n, dtype=np.uint64))
        new.effort = Effort(new.leaves.size)
        return new

    @classmethod
    def restored(
        cls,
        rows: Rows,
        model: Model,
        rng: np.random.Generator,
        snapshot: dict[str, npt.NDArray[Any]],
    ) -> Self:
        """Return a chain that goes on where a snapshot was taken."""
        chain = cls.__new__(cls)
        chain.model, chain.rng = model, np.random.default_rng(0)
        chain._begin(rows)  # draws words, which the snapshot replaces
        chain.rng = rng
        chain._read_rows()
        chain._load(snapshot)
        chain._settle()
        return chain

    def sweep(self, tune: bool = False) -> SweepInfo:
        """Let rows choose, split and merge leaves, then move all else.

        ``tune`` in warm-up, where the numbers of moves may still change.
        """
        if tune:
            self.effort.tune(self.leaves.size)
        n_pairs = self.effort.count(1, MOST_PAIRS)
        changed = tried = 0
        for _ in range(self.n_rounds):
            accepted, proposed = self._split_merge(self._assign(), n_pairs)
            changed, tried = changed + accepted, tried + proposed
        return {"split_merge": (changed, tried)} | apply_moves(self._moves_of_tree())

    def _assign(self) -> Picked:
        """Let every row choose its leaf."""
        self.n_sweeps += 1
        next_salt, pick_salt = self._word(), self._word()
        self.words_told = np.array(
            [self.key, self.n_sweeps, self.salt, next_salt, pick_salt, self.pick_limit],
            dtype=np.uint64,
        )
        weights = self._draw_weights()
        leaf, _ = self._draw_leaves()
        seated = self.rows.assign(self._told(weights, self._law().density(leaf)))
        self.salt = next_salt
        self.sums = self._sums(seated.tally)
        self._imputed_products(seated.tally)
        self.rank, self.anchor = seated.tally.rank, seated.tally.anchor
        self.of_leaf, self.of_half = self.leaves.copy(), np.empty(0, dtype=np.int64)
        self._settle()
        return seated.picked

    def _draw_weights(self) -> FloatArray:
        """Draw the log weight of every leaf."""
        return draw_weights(self.state, self.leaves, np.empty(self.state.nodes.size), self.words)

    def _imputed_products(self, tally: Tally) -> None:
        """Take note of Σ y yᵀ of rows with imputed entries."""

    def follow(self, rows: Rows) -> None:
        """Go on with new rows; those until now become blocks, of which sums are kept."""
        if not isinstance(self.rows, StreamRows):
            dimension = self.rows.extent.dimension
            self.rows = StreamRows(self.rows, Gone.nothing(dimension, self.kind))
        self.pick_limit = WORD - 1
        picked = self._assign()  # leaves of rows are not in a snapshot
        transform, headroom = self._transform(), self.headroom
        self._measure(
            self.rows.followed_by(rows, picked, self.kind, transform, self.grids[1], headroom)
        )
        self._read_rows()
        self.effort = Effort(self.leaves.size)  # new rows are warmed up to anew

    def _begin(self, rows: Rows) -> None:
        """Set up what a chain on these rows needs, before it has a tree."""
        self._measure(rows)
        self.n_sweeps = 0
        self.key = self._word()
        self.salt = self._word()

    def _measure(self, rows: Rows) -> None:
        """Set up what depends on the number and the size of the rows."""
        self.rows = rows
        self._set_grids()
        n = rows.extent.present
        self.pick_limit = _limit(PICKED, n)
        self.n_rounds = min(max(ROWS_OF_ROUNDS // n, 1), MOST_ROUNDS)

    def _set_grids(self) -> None:
        """Choose the grids on which entries and their products are summed."""
        extent = self.rows.extent
        largest = max(extent.largest, 1.0) * (self.headroom if extent.gaps else 1.0)
        self.grids = Grid.of(extent.n, largest), Grid.of(extent.n, largest**2)

    def _read_rows(self) -> None:
        """Look at rows that are new to the chain, before they have leaves."""

    def _find_anchors(self, index: Index, number: npt.NDArray[np.uint64]) -> None:
        """Find the anchors of leaves, if row ``number[i]`` is in the leaf of place ``index[i]``."""
        rank = np.array([mix(row, np.uint64(self.salt)) for row in number], dtype=np.uint64)
        order = np.lexsort((rank, index))
        least = order[np.searchsorted(index[order], np.arange(self.leaves.size))]
        self.rank, self.anchor = rank[least], number[least]

    def _word(self) -> int:
        return int(self.rng.integers(WORD - 1, dtype=np.uint64, endpoint=True))


def _limit(wanted: int, n: int) -> int:
    """Return the rank below which about so many of n rows are."""
    return min(int(WORD * (wanted / n)), WORD - 1)
