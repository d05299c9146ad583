"""One chain for many rows: passes over the rows, and moves on their sums."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.interface import SweepInfo
from sticktree.engine.parallel.assign import Tally
from sticktree.engine.parallel.components import Components
from sticktree.engine.parallel.halves import Units, gain_grid
from sticktree.engine.parallel.leaf import Density, Leaf, LeafLaw, Sums
from sticktree.engine.parallel.philox import mix
from sticktree.engine.parallel.rows import Picked, Rows
from sticktree.engine.parallel.sums import Grid
from sticktree.engine.parallel.units import Pair, Proposal, choose_pairs, propose
from sticktree.engine.state import ALIVE, Index, TreeState
from sticktree.model import Model
from sticktree.tree import Tree

__all__ = ["ParallelChain"]

PICKED = 2000  # rows, about, that are looked at one by one in each sweep
MOST_PAIRS = 64  # that may split or merge in a sweep
MOST_MOVES = 30  # of regrafts, and of splits of inner nodes
WORD = 2**64


class ParallelChain:
    """What chains for many rows have in common, whatever their noise.

    A sweep lets every row choose its leaf, proposes splits and merges of leaves, and then moves the
    tree and all else given the sums of the leaves.
    """

    model: Model
    rng: np.random.Generator
    rows: Rows
    kind: int  # which sums are needed
    impute: bool  # whether missing entries are drawn
    headroom = 64.0  # by which imputed entries may be larger than the largest observed
    state: TreeState
    leaves: npt.NDArray[np.int64]  # nodes that are leaves, in the order of all that follows
    sums: Sums  # of each leaf, in standardised units
    anchor: npt.NDArray[np.uint64]  # of each leaf
    rank: npt.NDArray[np.uint64]  # of the anchors

    # ---- what depends on the noise -----------------------------------------------------------

    def _settle(self) -> None:
        """Take the sums over into the tree."""
        raise NotImplementedError

    def _draw_weights(self) -> FloatArray:
        """Draw the log weight of every leaf."""
        raise NotImplementedError

    def _draw_leaves(self) -> tuple[Leaf, FloatArray]:
        """Draw the parameters of every leaf, and φ of the level above."""
        raise NotImplementedError

    def _law(self) -> LeafLaw:
        """Return the law of the leaves as it is now."""
        raise NotImplementedError

    def _transform(self) -> FloatArray:
        """Return T, by which rows are brought into the coordinates of the leaves."""
        raise NotImplementedError

    def _in_coordinates(self, sums: Sums) -> Sums:
        """Return sums in the coordinates of the leaves."""
        raise NotImplementedError

    def _rows_in_coordinates(self, y: FloatArray) -> FloatArray:
        """Return rows in the coordinates of the leaves."""
        return np.asarray(y @ self._transform().T)

    def _siblings(self) -> tuple[IntArray, IntArray]:
        """Return a number for the place above each leaf, and how many leaves hang there."""
        raise NotImplementedError

    def _split(self, leaf: int) -> int:
        """Return a new leaf beside a leaf."""
        raise NotImplementedError

    def _merge(self, leaf: int, gone: int) -> None:
        """Take a leaf away whose rows its sibling gets."""
        raise NotImplementedError

    def _last_prior(self) -> tuple[float, float]:
        """Return α of the level above the leaves, and d."""
        raise NotImplementedError

    def _move_tree(self) -> tuple[int, int, int]:
        """Move the tree and all parameters given the sums; count regrafts, splits, and of each."""
        raise NotImplementedError

    # ---- the sweep ---------------------------------------------------------------------------

    def _begin(self, rows: Rows) -> None:
        """Set up what a chain on these rows needs, before it has a tree."""
        self.rows = rows
        self._set_grids()
        self.pick_limit = min(int(WORD * (PICKED / rows.extent.n)), WORD - 1)
        self.n_sweeps = 0
        self.key = self._word()
        self.salt = self._word()

    def _set_grids(self) -> None:
        """Choose the grids on which entries and their products are summed."""
        extent = self.rows.extent
        largest = max(extent.largest, 1.0) * (self.headroom if extent.gaps else 1.0)
        self.grids = Grid.of(extent.n, largest), Grid.of(extent.n, largest**2)

    def _word(self) -> int:
        return int(self.rng.integers(WORD - 1, dtype=np.uint64, endpoint=True))

    def _find_anchors(self, index: Index, number: npt.NDArray[np.uint64]) -> None:
        """Find the anchors of leaves, if row ``number[i]`` is in the leaf of place ``index[i]``."""
        rank = np.array([mix(row, np.uint64(self.salt)) for row in number], dtype=np.uint64)
        order = np.lexsort((rank, index))
        least = order[np.searchsorted(index[order], np.arange(self.leaves.size))]
        self.rank, self.anchor = rank[least], number[least]

    def tree(self) -> Tree:
        """Return the tree with all rows, compressed or not as the state has it."""
        nodes, order = self.state.nodes, self.state.order[: self.state.sizes[ALIVE]]
        number = np.full(nodes.size, -1, dtype=np.int32)
        number[order] = np.arange(order.size)
        parent = number[nodes["parent"][order]]
        parent[0] = -1
        level, n = nodes["level"][order].astype(np.int32), nodes["n"][order].astype(np.int32)
        return Tree.from_trusted(parent, self._labels(number), level, n)

    def sweep(self) -> SweepInfo:
        """Let rows choose, split and merge leaves, then move all else."""
        picked = self._assign()
        changed, tried = self._split_merge(picked)
        regrafted, nodes_split, n_moves = self._move_tree()
        return SweepInfo(
            moved=0,
            regrafted=regrafted,
            split_merged=changed,
            nodes_split=nodes_split,
            n_regrafts=n_moves,
            n_split_merges=tried,
            n_node_splits=n_moves,
        )

    def _told(self, log_weight: FloatArray, density: Density) -> Components:
        """Return what rows are told: densities with weights."""
        return Components(
            log_weight=log_weight + density.log_peak,
            centre=np.ascontiguousarray(density.centre),
            precision=np.ascontiguousarray(density.precision),
            transform=np.ascontiguousarray(self._transform()),
            root=np.ascontiguousarray(density.root),
            limit=self.rank,
            anchor=self.anchor,
            words=self.words_told,
            kind=self.kind,
            impute=self.impute,
            grid=np.array([step for grid in self.grids for step in (grid.coarse, grid.fine)]),
        )

    def _assign(self) -> Picked:
        """Let every row choose its leaf."""
        self.n_sweeps += 1
        if self.n_sweeps & (self.n_sweeps - 1) == 0:
            # Were the number of moves to follow the tree always, trees that move less would be
            # favoured. At powers of two it may: that is ever more seldom.
            self.n_pairs = min(2 + self.leaves.size, MOST_PAIRS)
            self.n_moves = 2 + min(self.leaves.size // 2, MOST_MOVES)
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

    def _sums(self, tally: Tally) -> Sums:
        return Sums.of(tally, self.kind, *self.grids)

    def _imputed_products(self, tally: Tally) -> None:
        """Take note of Σ y yᵀ of rows with imputed entries."""

    def _labels(self, number: IntArray) -> npt.NDArray[np.int32]:
        """Return the leaf of each row, as the number that its node has in ``number``."""
        of_leaf = np.where(self.of_leaf < 0, self.of_leaf, number[self.of_leaf])
        return self.rows.labels(of_leaf.astype(np.int64), number[self.of_half].astype(np.int64))

    # ---- splits and merges -------------------------------------------------------------------

    def _split_merge(self, picked: Picked) -> tuple[int, int]:
        """Propose splits and merges; return how many were accepted, and of how many."""
        y = self._rows_in_coordinates(picked.y)
        places, n_siblings = self._siblings()
        pairs: list[Pair] = []
        unit_of = np.full(self.leaves.size, -1, dtype=np.int64)
        for pair in choose_pairs(picked, _filled(y), self.n_pairs, self.rng):
            a, b = picked.leaf[pair.first], picked.leaf[pair.second]
            if places[a] == places[b] and unit_of[a] < 0 and unit_of[b] < 0:
                unit_of[[a, b]] = len(pairs)
                pairs.append(pair)
        if not pairs:
            return 0, 0
        leaf, above = self._draw_leaves()
        rows = np.array(pairs)
        a, b = picked.leaf[rows[:, 0]], picked.leaf[rows[:, 1]]
        merging = a != b
        proposal, units = self._propose(picked, y, rows, unit_of, leaf, above)
        halved = self.rows.halve(units)
        gain = gain_grid(self.rows.extent.n).value(halved.gain)
        log_ratio = np.where(merging, -1.0, 1.0) * (proposal.log_ratio + gain)
        level = np.log(1.0 - self.rng.random(len(pairs)))
        two = self._decide(merging, level - log_ratio, places[a], n_siblings[a])
        self._rearrange(a, b, merging, two, halved.tally)
        return int((two != merging).sum()), len(pairs)

    def _decide(
        self,
        merging: npt.NDArray[np.bool_],
        threshold: FloatArray,
        place: IntArray,
        n_siblings: IntArray,
    ) -> npt.NDArray[np.bool_]:
        """Return which units shall be two leaves.

        A move is accepted if the log of α + K d, or its inverse for a merge, is above its
        threshold. K counts what units before have changed at the same place.
        """
        alpha, d = self._last_prior()
        two, more = merging.copy(), dict.fromkeys(place.tolist(), 0)
        for u, at in enumerate(place.tolist()):
            log_factor = np.log(alpha + d * (n_siblings[u] + more[at] - merging[u]))
            if (-log_factor if merging[u] else log_factor) > threshold[u]:
                two[u] = not merging[u]
                more[at] += 1 if two[u] else -1
        return two

    def _propose(
        self,
        picked: Picked,
        y: FloatArray,
        rows: IntArray,
        unit_of: IntArray,
        leaf: Leaf,
        above: FloatArray,
    ) -> tuple[Proposal, Units]:
        """Return proposals for all units, and what rows are told of them."""
        a, b = picked.leaf[rows[:, 0]], picked.leaf[rows[:, 1]]
        merging = a != b
        d = self._last_prior()[1]
        sums = self._in_coordinates(self.sums)
        of_second = sums.at(b).times(merging.astype(np.float64))
        n_a, n_b = sums.n[a], np.maximum(of_second.n, 1.0)
        share = np.clip(self.rng.beta(n_a - d, n_b - d), 1e-12, 1.0 - 1e-12)
        law = self._law()
        proposal = propose(
            law,
            sums.at(a).plus(of_second),
            above[a],
            merging,
            share,
            leaf.at(a),
            leaf.at(a),
            leaf.at(b),
            [_sample(y, unit_of[picked.leaf] == u, pair) for u, pair in enumerate(rows)],
            self.kind,
            d,
            self.rng,
        )
        parts = [law.density(some) for some in (proposal.whole, proposal.first, proposal.second)]
        weights = [np.zeros(len(rows)), np.log(proposal.share), np.log1p(-proposal.share)]
        density = Density(
            *(np.stack(x, axis=1).reshape(-1, *x[0].shape[1:]) for x in zip(*parts, strict=True))
        )
        told = self._told(np.stack(weights, axis=1).ravel(), density)
        return proposal, Units(unit_of, picked.number[rows], told)

    def _rearrange(
        self,
        a: IntArray,
        b: IntArray,
        merging: npt.NDArray[np.bool_],
        two: npt.NDArray[np.bool_],
        halves: Tally,
    ) -> None:
        """Give each unit the form that was chosen, and its leaves their sums."""
        of_halves = self._sums(halves)
        keep = np.ones(self.leaves.size, dtype=bool)
        new_leaves, new_halves = [], []
        self.of_half = np.full(2 * len(a), -1, dtype=np.int64)
        sums = [array.copy() for array in self.sums]
        for u in range(len(a)):
            if two[u]:
                second = self.leaves[b[u]] if merging[u] else self._split(int(self.leaves[a[u]]))
                self.of_leaf[[a[u], b[u]]] = -1 - u
                self.of_half[2 * u : 2 * u + 2] = self.leaves[a[u]], second
                for half, k in enumerate((a[u], b[u])):
                    if half == 1 and not merging[u]:
                        new_leaves.append(second)
                        new_halves.append(2 * u + 1)
                        continue
                    for mine, its in zip(sums, of_halves, strict=True):
                        mine[k] = its[2 * u + half]
                    self.rank[k] = halves.rank[2 * u + half]
                    self.anchor[k] = halves.anchor[2 * u + half]
            elif merging[u]:
                self._merge(int(self.leaves[a[u]]), int(self.leaves[b[u]]))
                keep[b[u]] = False
                self.of_leaf[b[u]] = self.leaves[a[u]]
                for mine in sums:
                    mine[a[u]] += mine[b[u]]
                if self.rank[b[u]] < self.rank[a[u]]:
                    self.rank[a[u]], self.anchor[a[u]] = self.rank[b[u]], self.anchor[b[u]]
        more = np.array(new_halves, dtype=np.int64)
        self.leaves = np.concatenate([self.leaves[keep], np.array(new_leaves, dtype=np.int64)])
        self.sums = Sums(
            *(
                np.concatenate([mine[keep], its[more]])
                for mine, its in zip(sums, of_halves, strict=True)
            )
        )
        self.rank = np.concatenate([self.rank[keep], halves.rank[more]])
        self.anchor = np.concatenate([self.anchor[keep], halves.anchor[more]])
        self._settle()


def _sample(y: FloatArray, here: npt.NDArray[np.bool_], pair: IntArray) -> FloatArray:
    """Return the picked rows of a unit, the pinned ones first."""
    here = here.copy()
    here[pair] = False
    return np.concatenate([y[pair], y[here]])


def _filled(y: FloatArray) -> FloatArray:
    """Return rows with zeros, the mean of all, where entries are missing."""
    return np.nan_to_num(y, nan=0.0)
