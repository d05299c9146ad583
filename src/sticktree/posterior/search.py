"""A search for the flat clustering with the least expected loss, from several starts.

Data change clusters one at a time, as in the greedy search of Dahl, Johnson and Müller (2022),
until none can; then clusters are merged, or taken apart and seated anew, as long as that helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.posterior.levels import spread
from sticktree.posterior.loss import Loss, growth
from sticktree.tree import NULL

__all__ = ["search"]

MAX_COUNTS = 50_000_000
"""Entries of the table of counts: 200 MB."""

SWEEP_STEPS, ALL_STEPS = 30_000_000, 1_000_000_000
"""Steps of one sweep, for which draws are thinned, and of all: about a second and a half."""

MIN_DRAWS = 100
"""A search that follows fewer draws than these, if there are more, would follow their noise."""

MAX_SWEEPS, START_SWEEPS = 1_000, 8
"""Sweeps from all starts together, and what one start should have."""

NEAR_STEPS, MAX_NEAR_SWEEPS = 5_000_000_000, 10
"""Steps and sweeps of the search that looks at clusters nearby: about ten seconds."""

N_NEAR = 8
"""Clusters that it looks at for a datum."""

SETTLED = 1e-4
"""Share of data that move in a sweep of it, if the next is not worth its time."""

N_RANDOM = 8
"""Starts in which data take their seats one after another in random order."""

ROUNDING = 1e-9
"""Falls of the sum that are none."""


def search(
    draws: IntArray,
    loss: Loss,
    starts: Sequence[IntArray],
    n_clusters: int | None,
    rng: np.random.Generator,
) -> list[IntArray]:
    """Return what the search finds from each start, and from some random ones.

    The best start should come first: if the work is too much, the others are not tried, and fewer
    draws are followed; if it is far too much, data only move between clusters nearby, from the best
    start. The work is bounded by counting steps, so that the same input always has the same answer.
    """
    n_draws, n_data = draws.shape
    most = int(draws.max()) + 1
    # Where draws disagree, the best clustering may have more clusters than any of them.
    n_slots = max(2 * most + 8, n_clusters or 0, *(int(z.max()) + 1 for z in starts))
    n_slots = min(n_data, n_slots)
    n_used = min(n_draws, max(SWEEP_STEPS // (n_data * n_slots), MIN_DRAWS))
    n_used = min(n_used, MAX_COUNTS // (most * n_slots))
    steps = n_used * n_data * n_slots
    if n_used < min(n_draws, MIN_DRAWS) or steps > ALL_STEPS:
        fixed = n_clusters is not None
        right = (z for z in starts if n_clusters in (None, int(z.max()) + 1))
        return [found for z in islice(right, 1) for found in _search_nearby(draws, loss, z, fixed)]
    if n_used < n_draws:
        draws = draws[spread(range(n_draws), n_used)]
    table = _Table(draws, loss, n_slots, n_clusters, rng)
    nowhere = np.full(n_data, NULL, dtype=np.int32)
    n_sweeps = min(MAX_SWEEPS, ALL_STEPS / steps)
    every = [*starts, *[nowhere] * N_RANDOM][: max(1, int(n_sweeps / START_SWEEPS))]
    return [table.descend(start, n_sweeps / len(every)) for start in every]


def _search_nearby(draws: IntArray, loss: Loss, start: IntArray, fixed: bool) -> list[IntArray]:
    """Return what data find that look at clusters nearby only; nothing if even that is too much."""
    n_draws, n_data = draws.shape
    n_now = int(start.max()) + 1
    first = np.concatenate([[0], np.cumsum(draws.max(axis=1) + 1)]).astype(np.int32)
    n_sweeps = int(min(NEAR_STEPS // (n_draws * n_data * N_NEAR), MAX_NEAR_SWEEPS))
    tables = int(first[-1]) * n_now
    too_much = n_sweeps < 1 or tables > MAX_COUNTS or tables * n_now > NEAR_STEPS
    if n_now < 2 or too_much:
        return []
    from sticktree.posterior.nearby import counts_of, neighbours, sweep_nearby

    labels, delta = start.copy(), np.diff(growth(loss, n_data))
    size, shared = counts_of(labels, draws, first, n_now)
    for _ in range(n_sweeps):
        near = neighbours(size, shared, N_NEAR)
        n_moved = sweep_nearby(labels, draws, first, size, shared, delta, near, fixed)
        if n_moved <= SETTLED * n_data:
            break
    return [labels]


class _Table:
    """The counts of one clustering against all draws, and the steps of the search on it."""

    def __init__(
        self,
        draws: IntArray,
        loss: Loss,
        n_slots: int,
        n_clusters: int | None,
        rng: np.random.Generator,
    ) -> None:
        from sticktree.posterior.reseating import Seats

        first = np.concatenate([[0], np.cumsum(draws.max(axis=1) + 1)]).astype(np.int32)
        n_data = draws.shape[1]
        self.draws = draws
        self.seats = Seats(
            labels=np.full(n_data, NULL, dtype=np.int32),
            size=np.zeros(n_slots, dtype=np.int32),
            shared=np.zeros((first[-1], n_slots), dtype=np.int32),
            row=np.ascontiguousarray((draws + first[:-1, None]).T),
        )
        self.growth = growth(loss, n_data)
        # One entry more than data: the sweep looks up what an N + 1st datum would add to a cluster
        # of all, though the result is not used.
        self.delta = np.diff(growth(loss, n_data + 1))
        self.n_clusters = n_clusters
        self.rng = rng
        self.sweeps_left = 0.0

    def descend(self, start: IntArray, n_sweeps: float) -> IntArray:
        """Go down from a start as far as the steps lead, with about so many sweeps."""
        from sticktree.posterior.reseating import merge, relabel

        self.sweeps_left = n_sweeps
        relabel(self.seats, start)
        if (start == NULL).any():
            self._sweep(np.arange(start.size), fixed=False)
        self._reach_number()
        value = np.inf
        while self._value() < value - ROUNDING and self.sweeps_left > 0:
            value = self._value()
            self._settle()
            if self.n_clusters is None:
                merge(self.seats, self.growth, NULL)
            self._seat_anew()
        return self.seats.labels.copy()

    def _value(self) -> float:
        from sticktree.posterior.reseating import value

        return value(self.seats, self.growth)

    def _sweep(self, data: npt.NDArray[np.integer], fixed: bool) -> bool:
        """Sweep once over some data in random order; tell whether it changed anything."""
        from sticktree.posterior.reseating import sweep

        self.sweeps_left -= data.size / self.seats.labels.size
        order = self.rng.permutation(data).astype(np.int32)
        return sweep(self.seats, order, self.delta, fixed) > 0

    def _settle(self) -> None:
        """Sweep until no datum wants to move."""
        everything = np.arange(self.seats.labels.size)
        while self._sweep(everything, self.n_clusters is not None) and self.sweeps_left > 0:
            pass

    def _seat_anew(self) -> None:
        """Take clusters apart one at a time, seat their data anew, and undo it if in vain."""
        from sticktree.posterior.reseating import relabel

        for k in self.rng.permutation(np.flatnonzero(self.seats.size)):
            if self.sweeps_left <= 0:
                break
            value, before = self._value(), self.seats.labels.copy()
            members = np.flatnonzero(before == k)
            relabel(self.seats, np.where(before == k, np.int32(NULL), before))
            self._sweep(members, fixed=False)
            self._reach_number()
            self._settle()
            if self._value() > value - ROUNDING:
                relabel(self.seats, before)

    def _reach_number(self) -> None:
        """Merge clusters, or take data out of them, until there are as many as there should be."""
        from sticktree.posterior.contingency import shares_of_company
        from sticktree.posterior.reseating import merge, relabel

        if self.n_clusters is None:
            return
        n_now = np.count_nonzero(self.seats.size)
        if n_now > self.n_clusters:
            merge(self.seats, self.growth, self.n_clusters)
        for _ in range(self.n_clusters - n_now):
            # Whoever belongs least where it is opens a cluster.
            labels = self.seats.labels.copy()
            share = shares_of_company(labels, self.draws)
            share[self.seats.size[labels] == 1] = np.inf
            labels[np.argmin(share)] = np.argmin(self.seats.size)
            relabel(self.seats, labels)
