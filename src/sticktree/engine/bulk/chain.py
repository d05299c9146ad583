"""One chain for many rows: passes over the rows, and moves on their sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.grouped import share_out
from sticktree.engine.bulk.halves import NO_SHARES_OF_HALVES, Units, gain_grid
from sticktree.engine.bulk.laws import Leaf
from sticktree.engine.bulk.parented import share_out_kin
from sticktree.engine.bulk.partition import Picked
from sticktree.engine.bulk.philox import mix
from sticktree.engine.bulk.proposals import (
    TINY,
    Chosen,
    Proposal,
    choose_by_places,
    choose_by_rows,
    log_selection,
    propose,
)
from sticktree.engine.bulk.regrouped import in_other_groups, sticks_of_others
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.state import ChainState
from sticktree.engine.bulk.sums import Grid, Sums, Tally
from sticktree.engine.chain import Effort, SweepInfo, apply_moves
from sticktree.engine.common.links import Index
from sticktree.engine.numbering import groups_of_some
from sticktree.model import Groups, Model

MOST_PAIRS = 64  # that may split or merge in a sweep
ROWS_OF_ROUNDS = 50_000  # fewer rows choose several times in a sweep
WORD = 2**64
LARGEST = 1e150  # entry, of which there is a square
MOST_SEATS = 8.0  # picked rows by which shared sticks of halves are proposed, at most


class BulkChain(ChainState):
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
    first_rows = 2000  # with which that makes the first tree
    n_picked = 2000  # rows, about, that are looked at one by one in each sweep
    most_rounds = 8  # in which rows choose, in one sweep
    headroom = 64.0  # by which imputed entries may be larger than the largest observed

    def __init__(self, rows: Rows, model: Model, rng: np.random.Generator) -> None:
        self.model, self.rng = model, rng
        self._begin(rows)
        some = rows.sample(self._word(), _limit(self.first_rows, rows.extent.n))
        first = self._first_chain(some.y, self._first_model(some))
        for _ in range(self.first_sweeps):
            first.sweep(tune=True)
        self._read_rows()
        self._take_over(first, some.number, some.group)
        self.effort = Effort(self.size)

    @classmethod
    def following(cls, chain: Any, rows: Rows) -> Self:
        """Return a chain that goes on from one of the other kind, which has the same rows."""
        new = cls.__new__(cls)
        new.model, new.rng = chain.model, chain.rng
        new._begin(rows)
        new._read_rows()
        groups = chain.model.groups
        of_row = None if groups is None else groups.of_row
        new._take_over(chain, np.arange(rows.extent.n, dtype=np.uint64), of_row)
        new.effort = Effort(new.size)
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
            self.effort.tune(self.size)
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
        self.sweep_words = np.array(
            [self.key, self.n_sweeps, self.salt, next_salt, pick_salt, self.pick_limit],
            dtype=np.uint64,
        )
        weights = self._draw_weights()
        leaf, _ = self._draw_leaves()
        assigned = self.rows.assign(self._components(weights, self._law().density(leaf)))
        self.salt = next_salt
        self.sums = self._sums(assigned.tally, assigned.lost)
        self.seated = assigned.tally.seated
        self._imputed_products(assigned.tally)
        self.rank, self.anchor = assigned.tally.rank, assigned.tally.anchor
        self.of_leaf, self.of_half = self.leaves.copy(), np.empty(0, dtype=np.int64)
        self._settle()
        return assigned.picked

    def _imputed_products(self, tally: Tally) -> None:
        """Take note of Σ y yᵀ of rows with imputed entries."""

    def assign_and_pick_all(self) -> Picked:
        """Let every row choose its leaf; return all rows with their leaves."""
        self.pick_limit = WORD - 1
        return self._assign()

    def replace_rows(self, rows: Rows) -> None:
        """Go on with other rows, which have no leaves yet."""
        self._measure(rows)
        self._read_rows()
        self.effort = Effort(self.size)  # new rows are warmed up to anew

    def keep_leaves(self, sums: Sums, seated: npt.NDArray[np.int64]) -> None:
        """Go on with other sums of the leaves, and rows of groups; those without rows go."""
        keep = sums.n > 0
        for leaf in self.leaves[~keep]:
            self._drop(int(leaf))
        self.leaves, self.sums = self.leaves[keep], sums.at(keep)
        self.rank, self.anchor = self.rank[keep], self.anchor[keep]
        self.seated = seated[keep]
        self._settle()

    def regroup(self, groups: Groups, place: npt.NDArray[np.int64]) -> None:
        """Go on with more groups, or others: group j is now number ``place[j]``, or gone if −1.

        A group that goes has no rows. Numbers after the groups are of parents without rows.
        """
        before = self.model.groups
        assert before is not None
        self.model = replace(self.model, groups=groups)
        self.n_groups, state = groups.number, cast("Any", self.state)
        self.seated = in_other_groups(self.seated, place, self.n_groups)
        room = len(state.seated)
        self.state = replace(
            state,
            seated=np.zeros((room, self.n_groups + 1), dtype=np.int64),
            present=np.array([self.n_groups], dtype=np.int64),
            **sticks_of_others(state, before.line, groups.line, place),
        )

    def _begin(self, rows: Rows) -> None:
        """Set up what a chain on these rows needs, before it has a tree."""
        self._measure(rows)
        self._check_groups()
        self.n_sweeps = 0
        self.key = self._word()
        self.salt = self._word()

    def _first_model(self, some: Picked) -> Model:
        """Return the model of some rows: groups without any there have no numbers."""
        groups = self.model.groups
        if groups is None:
            return self.model
        return replace(self.model, groups=groups_of_some(groups, some.group)[0])

    def _measure(self, rows: Rows) -> None:
        """Set up what depends on the number and the size of the rows."""
        self.rows = rows
        self._set_grids()
        n = rows.extent.present
        self.pick_limit = _limit(self.n_picked, n)
        self.n_rounds = min(max(ROWS_OF_ROUNDS // n, 1), self.most_rounds)

    def _set_grids(self) -> None:
        """Choose the grids on which entries and their products are summed."""
        extent = self.rows.extent
        largest = max(extent.largest, 1.0) * (self.headroom if extent.gaps else 1.0)
        if largest > LARGEST:
            raise ValueError(
                f"rows must be within {LARGEST:g} units of their columns for many rows, got an "
                f"entry of {extent.largest:g}"
            )
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

    # ---- Splits and merges of leaves: many are proposed in one pass, then decided on -------------

    def _split_merge(self, picked: Picked, n_pairs: int) -> tuple[int, int]:
        """Propose splits and merges of pairs; return how many were accepted, and of how many."""
        y = self._rows_in_coordinates(picked.y)
        places, n_siblings = self._siblings()
        leaf, above = self._draw_leaves()
        law = self._law()
        by_places = self.rng.random() < 0.5
        centre = leaf.mean / law.noise
        if by_places:
            chosen = choose_by_places(picked, places, centre, self.rng)
        else:
            chosen = choose_by_rows(picked, _filled(y), places, n_pairs, self.rng)
        if not chosen.a.size:
            return 0, 0
        merging = chosen.merging
        proposal = self._propose(picked, y, chosen, leaf, above)
        units, log_ratio = self._units(chosen, proposal), proposal.log_ratio
        of_parents = np.empty((merging.size, 0, 2))
        if self.grouped:
            units, of_parents, of_groups = self._share_out(chosen, proposal, units)
            log_ratio = log_ratio + of_groups
        halved = self.rows.halve(units)
        log_ratio = log_ratio + gain_grid(self.rows.extent.n).value(halved.gain)
        if by_places:
            halves = proposal.first.mean / law.noise, proposal.second.mean / law.noise
            log_ratio += log_selection(chosen, places, centre, *halves)
        threshold = np.log(1.0 - self.rng.random(merging.size))
        threshold -= np.where(merging, -log_ratio, log_ratio)
        # A half without rows is no leaf: no such split is made, and leaves keep their rows.
        empty = (halved.tally.count.reshape(-1, 2) == 0).any(axis=1)
        threshold[empty & ~merging] = np.inf
        threshold[proposal.bound] = np.inf
        two = self._decide(merging, threshold, places[chosen.a], n_siblings[chosen.a])
        of_halves = self._sums(halved.tally, halved.lost)
        self._rearrange(chosen, two, empty, proposal.share, of_parents, halved.tally, of_halves)
        return int((two != merging).sum()), merging.size

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
        n = n_a + of_second.n
        if self.grouped:
            sticks = self._sticks(a, b, merging, np.ones(a.size))
            share, most_seats = sticks.first / sticks.whole, MOST_SEATS
            log_seats = d * np.log(sticks.rest / sticks.whole)
        else:
            share, most_seats = self.rng.beta(n_a - d, n_b - d), np.inf
            log_seats = gammaln(n - 2.0 * d) - gammaln(n - d)
        clipped = np.clip(share, TINY, 1.0 - TINY)
        proposal = propose(
            self._law(),
            sums.at(a).plus(of_second),
            above[a],
            merging,
            clipped,
            leaf.at(a),
            leaf.at(a),
            leaf.at(b),
            [_sample(y, unit == u, seeds) for u, seeds in enumerate(chosen.seeds)],
            chosen.pinned,
            self.kind,
            d,
            log_seats,
            most_seats,
            self.rng,
        )
        if self.grouped:  # sticks that no split would make stay two
            proposal.bound = merging & (clipped != share)
        return proposal

    def _share_out(
        self, chosen: Chosen, proposal: Proposal, units: Units
    ) -> tuple[Units, FloatArray, FloatArray]:
        """Return units with shares of groups, log shares of parents, and log p/q of all these."""
        a, b, merging = chosen.a, chosen.b, chosen.merging
        sticks = self._sticks(a, b, merging, proposal.share)
        leaning = gain_grid(self.rows.extent.n).value(self.rows.lean(units))
        seated = np.stack([self.seated[a], self.seated[b]], axis=2)
        of_parents = np.empty((a.size, 0, 2))
        if self.related:
            kin = self._kin_sticks(a, b, merging)
            found = share_out_kin(kin, sticks, merging, leaning, seated, self.rng)
            shares, of_parents, log_ratio = found
        else:
            gamma = float(self.state.gamma[0])
            shares, log_ratio = share_out(gamma, sticks, merging, leaning, seated, self.rng)
        return units._replace(share=np.ascontiguousarray(shares)), of_parents, log_ratio

    def _units(self, chosen: Chosen, proposal: Proposal) -> Units:
        """Return the units as rows see them."""
        weights = [np.zeros(chosen.a.size), np.log(proposal.share), np.log1p(-proposal.share)]
        share = NO_SHARES_OF_HALVES
        if self.grouped:  # weights of halves are shares of groups, at first the same for all
            share = np.repeat(np.stack(weights[1:], axis=1)[:, None], self.n_groups, axis=1)
            weights = [weights[0]] * 3
        parts = proposal.whole, proposal.first, proposal.second
        size = 3 * chosen.a.size
        leaf = Leaf(
            *(np.stack(x, axis=1).reshape(size, *x[0].shape[1:]) for x in zip(*parts, strict=True))
        )
        densities = self._components(np.stack(weights, axis=1).ravel(), self._law().density(leaf))
        return Units(chosen.unit_of, chosen.pins, densities, share)

    def _decide(
        self,
        merging: npt.NDArray[np.bool_],
        threshold: FloatArray,
        place: IntArray,
        n_siblings: IntArray,
    ) -> npt.NDArray[np.bool_]:
        """Return which units shall be two leaves.

        A move is accepted if the log of α + K d, or its inverse for a merge, is above its
        threshold. K counts what units before have changed at the same place. With groups it is the
        log of Γ(α + K d + 1)/Γ(α + K d + d).
        """
        alpha, d = self._last_prior()
        two, more = merging.copy(), dict.fromkeys(place.tolist(), 0)
        for u, at in enumerate(place.tolist()):
            a = alpha + d * (n_siblings[u] + more[at] - merging[u])
            log_factor = gammaln(a + 1.0) - gammaln(a + d) if self.grouped else np.log(a)
            if (-log_factor if merging[u] else log_factor) > threshold[u]:
                two[u] = not merging[u]
                more[at] += 1 if two[u] else -1
        return two

    def _rearrange(
        self,
        chosen: Chosen,
        two: npt.NDArray[np.bool_],
        empty: npt.NDArray[np.bool_],
        share: FloatArray,
        of_parents: FloatArray,
        halves: Tally,
        of_halves: Sums,
    ) -> None:
        """Give each unit the form that was decided on, and its leaves their sums.

        ``share`` is that of the first half; those of parents are logs, (U, P, 2).
        """
        a, b, merging = chosen.a, chosen.b, chosen.merging
        self._make_room(self.leaves.size + int((two & ~merging).sum()))
        keep = np.ones(self.leaves.size, dtype=bool)
        new_leaves, new_halves = [], []
        self.of_half = np.full(2 * len(a), -1, dtype=np.int64)
        sums = [array.copy() for array in (*self.sums, self.seated)]
        seats = (*of_halves, halves.seated)
        for u in range(len(a)):
            if two[u] and not empty[u]:
                if merging[u]:
                    second = int(self.leaves[b[u]])
                else:
                    second = self._parted(int(self.leaves[a[u]]), float(share[u]), of_parents[u])
                self.of_leaf[[a[u], b[u]]] = -1 - u
                self.of_half[2 * u : 2 * u + 2] = self.leaves[a[u]], second
                known = (a[u], b[u]) if merging[u] else (a[u],)
                for half, k in enumerate(known, start=2 * u):
                    for mine, its in zip(sums, seats, strict=True):
                        mine[k] = its[half]
                    self.rank[k], self.anchor[k] = halves.rank[half], halves.anchor[half]
                if not merging[u]:
                    new_leaves.append(second)
                    new_halves.append(2 * u + 1)
            elif merging[u] and not two[u]:
                self._joined(int(self.leaves[a[u]]), int(self.leaves[b[u]]))
                keep[b[u]] = False
                self.of_leaf[b[u]] = self.leaves[a[u]]
                for mine in sums:
                    mine[a[u]] += mine[b[u]]
                if self.rank[b[u]] < self.rank[a[u]]:
                    self.rank[a[u]], self.anchor[a[u]] = self.rank[b[u]], self.anchor[b[u]]
        more = np.array(new_halves, dtype=np.int64)
        self.leaves = np.concatenate([self.leaves[keep], np.array(new_leaves, dtype=np.int64)])
        *all_sums, self.seated = (
            np.concatenate([mine[keep], its[more]]) for mine, its in zip(sums, seats, strict=True)
        )
        self.sums = Sums(*all_sums)
        self.rank = np.concatenate([self.rank[keep], halves.rank[more]])
        self.anchor = np.concatenate([self.anchor[keep], halves.anchor[more]])
        self._settle()


def _limit(wanted: int, n: int) -> int:
    """Return the rank below which about ``wanted`` of n rows are."""
    return min(int(WORD * (wanted / n)), WORD - 1)


def _sample(y: FloatArray, here: npt.NDArray[np.bool_], seeds: npt.NDArray[np.int64]) -> FloatArray:
    """Return the picked rows of a unit, the seeds first."""
    here = here.copy()
    here[seeds] = False
    return np.concatenate([y[seeds], y[here]])


def _filled(y: FloatArray) -> FloatArray:
    """Return rows with zeros, the mean of all, where entries are missing."""
    return np.nan_to_num(y, nan=0.0)
