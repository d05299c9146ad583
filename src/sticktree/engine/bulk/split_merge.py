"""Splits and merges of leaves: many are proposed, in one pass over the rows, then decided on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.chain_state import ChainState
from sticktree.engine.bulk.choice import (
    Chosen,
    choose_by_places,
    choose_by_rows,
    log_selection,
)
from sticktree.engine.bulk.halves import Units, gain_grid
from sticktree.engine.bulk.leaf import Density, Leaf, Sums
from sticktree.engine.bulk.picks import Picked
from sticktree.engine.bulk.tally import Tally
from sticktree.engine.bulk.units import TINY, Proposal, propose

__all__ = ["SplitMerge"]


class SplitMerge(ChainState):
    """The part of a chain that splits and merges leaves."""

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
            chosen.pinned,
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
                known = (a[u], b[u]) if merging[u] else (a[u],)
                for half, k in enumerate(known, start=2 * u):
                    for mine, its in zip(sums, of_halves, strict=True):
                        mine[k] = its[half]
                    self.rank[k], self.anchor[k] = halves.rank[half], halves.anchor[half]
                if not merging[u]:
                    new_leaves.append(second)
                    new_halves.append(2 * u + 1)
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
