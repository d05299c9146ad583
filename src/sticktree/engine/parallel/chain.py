"""One chain for many rows: passes over the rows, and moves on their sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.interface import SweepInfo
from sticktree.engine.parallel.choice import (
    Chosen,
    choose_by_places,
    choose_by_rows,
    log_selection,
)
from sticktree.engine.parallel.components import Components
from sticktree.engine.parallel.halves import Units, gain_grid
from sticktree.engine.parallel.leaf import Density, Leaf, LeafLaw, Sums
from sticktree.engine.parallel.philox import mix
from sticktree.engine.parallel.picks import Picked
from sticktree.engine.parallel.rows import Rows
from sticktree.engine.parallel.stream_rows import Gone, StreamRows
from sticktree.engine.parallel.sums import Grid
from sticktree.engine.parallel.tally import Tally
from sticktree.engine.parallel.trunk import draw_weights
from sticktree.engine.parallel.units import TINY, Proposal, propose
from sticktree.engine.random import RandomState
from sticktree.engine.state import ALIVE, DISCOUNT, Index, TreeState
from sticktree.model import Model
from sticktree.posterior.draws import Draw, tracked_pairs
from sticktree.tree import Tree

__all__ = ["ParallelChain"]

PICKED = 2000  # rows, about, that are looked at one by one in each sweep
MOST_PAIRS = 64  # that may split or merge in a sweep
MOST_MOVES = 30  # of regrafts, and of splits of inner nodes
ROWS_OF_ROUNDS, MOST_ROUNDS = 50_000, 8  # fewer rows choose several times in a sweep
WORD = 2**64
SUMS_OF = "sums_"  # before the name of sums among the parameters of a draw


class ParallelChain:
    """What chains for many rows have in common, whatever their noise.

    A sweep lets every row choose its leaf, proposes splits and merges of leaves, and then moves the
    tree and all else given the sums of the leaves. Where rows are few, the first two are done
    several times.
    """

    model: Model
    rng: np.random.Generator
    words: RandomState
    rows: Rows
    kind: int  # which sums are needed
    impute: bool  # whether missing entries are drawn
    headroom = 64.0  # by which imputed entries may be larger than the largest observed
    state: TreeState
    leaves: npt.NDArray[np.int64]  # nodes that are leaves, in the order of all that follows
    sums: Sums  # of each leaf, in standardised units
    anchor: npt.NDArray[np.uint64]  # of each leaf
    rank: npt.NDArray[np.uint64]  # of the anchors
    traced: tuple[str, ...]

    # ---- what depends on the noise -----------------------------------------------------------

    def _settle(self) -> None:
        """Take the sums over into the tree."""
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

    def _make_room(self, n_leaves: int) -> None:
        """Move to a larger state if this one has no room for so many leaves."""
        raise NotImplementedError

    def _split(self, leaf: int) -> int:
        """Return a new leaf beside a leaf."""
        raise NotImplementedError

    def _merge(self, leaf: int, gone: int) -> None:
        """Take a leaf away whose rows its sibling gets."""
        raise NotImplementedError

    def _move_tree(self) -> tuple[int, int, int]:
        """Move the tree and all parameters given the sums; count regrafts, splits, and of each."""
        raise NotImplementedError

    @property
    def concentration(self) -> float:
        """The factor c of the concentrations."""
        raise NotImplementedError

    @property
    def discount(self) -> float:
        """The Pitman–Yor discount d."""
        raise NotImplementedError

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all that is learned besides the tree, c and d."""
        raise NotImplementedError

    def log_joint(self) -> float:
        """Return the log density of data, tree and parameters, in standardised units."""
        raise NotImplementedError

    def _draw_weights(self) -> FloatArray:
        """Draw the log weight of every leaf."""
        return draw_weights(self.state, self.leaves, np.empty(self.state.nodes.size), self.words)

    def _last_prior(self) -> tuple[float, float]:
        """Return α of the level above the leaves, and d."""
        alpha = self.state.levels["alpha"][self.model.depth - 1]
        return float(alpha), float(self.state.scalars[DISCOUNT])

    # ---- the sweep ---------------------------------------------------------------------------

    def _begin(self, rows: Rows) -> None:
        """Set up what a chain on these rows needs, before it has a tree."""
        self._measure(rows)
        self.n_sweeps = self.n_pairs = self.n_moves = 0
        self.key = self._word()
        self.salt = self._word()

    def _measure(self, rows: Rows) -> None:
        """Set up what depends on the number and the size of the rows."""
        self.rows = rows
        self._set_grids()
        n = rows.extent.present
        self.pick_limit = min(int(WORD * (PICKED / n)), WORD - 1)
        self.n_rounds = min(max(ROWS_OF_ROUNDS // n, 1), MOST_ROUNDS)

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

    def _read_rows(self) -> None:
        """Look at rows that are new to the chain, before they have leaves."""

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

    def sweep(self) -> SweepInfo:
        """Let rows choose, split and merge leaves, then move all else."""
        changed = tried = 0
        for _ in range(self.n_rounds):
            accepted, proposed = self._split_merge(self._assign())
            changed, tried = changed + accepted, tried + proposed
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

    def _shape(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return parents, levels and counts of all nodes, and the number of each node of a state.

        They are numbered in the order of a walk.
        """
        nodes, order = self.state.nodes, self.state.order[: self.state.sizes[ALIVE]]
        number = np.full(nodes.size, -1, dtype=np.int32)
        number[order] = np.arange(order.size)
        parent = number[nodes["parent"][order]]
        parent[0] = -1
        return parent, nodes["level"][order].astype(np.int32), nodes["n"][order], number

    def tree(self) -> Tree:
        """Return the tree with all rows, compressed or not as the state has it."""
        parent, level, n, number = self._shape()
        labels = self._labels(number)
        if self.rows.extent.gone:
            return Tree(parent, labels, level=level).pruned().compressed()
        return Tree.from_trusted(parent, labels, level, n)

    def draw(self, labelled: bool) -> Draw:
        """Return a copy of what the chain has now, with or without the leaf of each row."""
        parent, level, n, number = self._shape()
        small = np.min_scalar_type(parent.size)
        n_data = self.rows.extent.present
        first, second = tracked_pairs(n_data)
        tracked = self._labels(number, np.concatenate([first, second])).reshape(2, -1)
        draw = Draw(
            leaf=self._labels(number).astype(small) if labelled else np.empty(0, dtype=small),
            parent=np.maximum(parent, 0).astype(small),
            level=level.astype(np.min_scalar_type(self.model.depth)),
            parameters=self.parameters() | self._summed(number),
            traced=self.traced,
            concentration=self.concentration,
            discount=self.discount,
            log_joint=self.log_joint(),
            n_data=n_data,
            counts=n.astype(np.int64),
        )
        levels = [draw._meeting_level(int(a), int(b)) for a, b in tracked.T]
        return replace(draw, meeting_level=float(np.mean(levels)))

    def _summed(self, number: IntArray) -> dict[str, npt.NDArray[Any]]:
        """Return the sums of all leaves in the order of their numbers: predictions need no rows."""
        order = np.argsort(number[self.leaves])
        return {
            f"{SUMS_OF}{name}": array[order]
            for name, array in zip(Sums._fields, self.sums, strict=True)
        }

    def leave_one_out(self) -> FloatArray:
        """Refuse: the rows are not at hand one by one."""
        raise NotImplementedError("leave-one-out densities need algorithm='gibbs'")

    def _saved(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a snapshot has of the sums and of the random numbers."""
        words = [self.key, self.salt, self.n_sweeps, self.n_pairs, self.n_moves]
        blocks = self.rows.saved() if isinstance(self.rows, StreamRows) else {}
        return blocks | {
            "parallel": np.array(words, dtype=np.uint64),
            "leaves": self.leaves.copy(),
            "rank": self.rank.copy(),
            "anchor": self.anchor.copy(),
            **{f"{SUMS_OF}{name}": array.copy() for name, array in self.sums._asdict().items()},
        }

    def _load(self, snapshot: dict[str, npt.NDArray[Any]]) -> None:
        """Take over what `_saved` returned."""
        self.key, self.salt, self.n_sweeps, self.n_pairs, self.n_moves = map(
            int, snapshot["parallel"]
        )
        self.leaves = snapshot["leaves"].copy()
        self.rank, self.anchor = snapshot["rank"].copy(), snapshot["anchor"].copy()
        self.sums = Sums(*(snapshot[f"{SUMS_OF}{name}"].copy() for name in Sums._fields))

    def _sums(self, tally: Tally) -> Sums:
        return Sums.of(tally, self.kind, *self.grids)

    def _imputed_products(self, tally: Tally) -> None:
        """Take note of Σ y yᵀ of rows with imputed entries."""

    def _labels(self, number: IntArray, rows: IntArray | None = None) -> npt.NDArray[np.int32]:
        """Return the leaf of each row, or of some, as the number of its node in ``number``."""
        of_leaf = np.where(self.of_leaf < 0, self.of_leaf, number[self.of_leaf])
        of_half = np.where(self.of_half < 0, self.of_half, number[self.of_half])
        return self.rows.labels(of_leaf.astype(np.int64), of_half.astype(np.int64), rows)

    # ---- splits and merges -------------------------------------------------------------------

    def _split_merge(self, picked: Picked) -> tuple[int, int]:
        """Propose splits and merges; return how many were accepted, and of how many."""
        y = self._rows_in_coordinates(picked.y)
        places, n_siblings = self._siblings()
        leaf, above = self._draw_leaves()
        law = self._law()
        by_places = self.rng.random() < 0.5
        centre = leaf.mean / law.noise
        if by_places:
            chosen = choose_by_places(picked, places, centre, self.rng)
        else:
            chosen = choose_by_rows(picked, _filled(y), places, self.n_pairs, self.rng)
        if not chosen.a.size:
            return 0, 0
        merging = chosen.merging
        proposal = self._propose(picked, y, chosen, leaf, above)
        halved = self.rows.halve(self._units(chosen, proposal))
        gain = gain_grid(self.rows.extent.n).value(halved.gain)
        log_ratio = proposal.log_ratio + gain
        if by_places:
            halves = proposal.first.mean / law.noise, proposal.second.mean / law.noise
            log_ratio += log_selection(chosen, places, centre, *halves)
        threshold = np.log(1.0 - self.rng.random(merging.size))
        threshold -= np.where(merging, -log_ratio, log_ratio)
        # A half without rows is no leaf: no such split is made, and leaves keep their rows.
        empty = (halved.tally.count.reshape(-1, 2) == 0).any(axis=1)
        threshold[empty & ~merging] = np.inf
        two = self._decide(merging, threshold, places[chosen.a], n_siblings[chosen.a])
        self._rearrange(chosen, two, empty, halved.tally)
        return int((two != merging).sum()), merging.size

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
        self, picked: Picked, y: FloatArray, chosen: Chosen, leaf: Leaf, above: FloatArray
    ) -> Proposal:
        """Return proposals for all units."""
        a, b, merging = chosen.a, chosen.b, chosen.merging
        d = self._last_prior()[1]
        sums = self._in_coordinates(self.sums)
        of_second = sums.at(b).times(merging.astype(np.float64))
        n_a, n_b = sums.n[a], np.maximum(of_second.n, 1.0)
        unit = chosen.unit_of[picked.leaf]
        return propose(
            self._law(),
            sums.at(a).plus(of_second),
            above[a],
            merging,
            np.clip(self.rng.beta(n_a - d, n_b - d), TINY, 1.0 - TINY),
            leaf.at(a),
            leaf.at(a),
            leaf.at(b),
            [_sample(y, unit == u, seeds) for u, seeds in enumerate(chosen.seeds)],
            self.kind,
            d,
            self.rng,
        )

    def _units(self, chosen: Chosen, proposal: Proposal) -> Units:
        """Return what rows are told of the units."""
        law = self._law()
        parts = [law.density(some) for some in (proposal.whole, proposal.first, proposal.second)]
        weights = [np.zeros(chosen.a.size), np.log(proposal.share), np.log1p(-proposal.share)]
        density = Density(
            *(np.stack(x, axis=1).reshape(-1, *x[0].shape[1:]) for x in zip(*parts, strict=True))
        )
        told = self._told(np.stack(weights, axis=1).ravel(), density)
        return Units(chosen.unit_of, chosen.pins, told)

    def _rearrange(
        self,
        chosen: Chosen,
        two: npt.NDArray[np.bool_],
        empty: npt.NDArray[np.bool_],
        halves: Tally,
    ) -> None:
        """Give each unit the form that was decided on, and its leaves their sums."""
        a, b, merging = chosen.a, chosen.b, chosen.merging
        self._make_room(self.leaves.size + int((two & ~merging).sum()))
        of_halves = self._sums(halves)
        keep = np.ones(self.leaves.size, dtype=bool)
        new_leaves, new_halves = [], []
        self.of_half = np.full(2 * len(a), -1, dtype=np.int64)
        sums = [array.copy() for array in self.sums]
        for u in range(len(a)):
            if two[u] and not empty[u]:
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
            elif merging[u] and not two[u]:
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


def _sample(y: FloatArray, here: npt.NDArray[np.bool_], seeds: npt.NDArray[np.int64]) -> FloatArray:
    """Return the picked rows of a unit, the seeds first."""
    here = here.copy()
    here[seeds] = False
    return np.concatenate([y[seeds], y[here]])


def _filled(y: FloatArray) -> FloatArray:
    """Return rows with zeros, the mean of all, where entries are missing."""
    return np.nan_to_num(y, nan=0.0)
