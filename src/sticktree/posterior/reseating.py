"""The search for a clustering: data change clusters while the expected loss falls.

``shared[r, k]`` is how many data of cluster k are in cluster r of a draw; rows r number the
clusters of all draws one after another, and ``row[i, s]`` is where datum i is in draw s. For a
datum that is out of its cluster, to join cluster k changes the sum

    Σ_k f(n_k) − (2/S) Σ_r Σ_k f(shared[r, k])

by δ(n_k) − (2/S) Σ_s δ(shared[row[i, s], k]), where δ(n) = f(n + 1) − f(n). An empty cluster is no
special case.

Of very many data, each looks at clusters nearby only: those that share most with its own in the
draws. The counts of clusters against those of all draws do not grow with the data, and data are
taken in the order in which they lie in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import inlined, jit, linked
from sticktree.posterior.clusterings import Loss
from sticktree.posterior.clusterings import growth as growth_of
from sticktree.posterior.counting import shares_of_company
from sticktree.tree.arrays import NULL

ROUNDING = 1e-9
"""A fall of the sum by less is rounding."""


class Seats(NamedTuple):
    """A clustering under search, with its counts."""

    labels: IntArray  # NULL for data that are in no cluster
    size: IntArray  # of each cluster; some may be empty
    shared: IntArray
    row: IntArray


@linked
def _move(seats: Seats, i: int, cluster: int) -> None:
    """Move a datum from its cluster, if it has one, to another, unless that is NULL."""
    old = seats.labels[i]
    if old != NULL:
        seats.size[old] -= 1
    if cluster != NULL:
        seats.size[cluster] += 1
    for r in seats.row[i]:
        if old != NULL:
            seats.shared[r, old] -= 1
        if cluster != NULL:
            seats.shared[r, cluster] += 1
    seats.labels[i] = cluster


@jit
def relabel(seats: Seats, labels: IntArray) -> None:
    """Put all data into the clusters given; NULL takes them out."""
    for i in range(labels.size):
        if seats.labels[i] != labels[i]:
            _move(seats, i, labels[i])


@jit
def sweep(seats: Seats, order: IntArray, delta: FloatArray, fixed: bool) -> int:
    """Move each datum to where it lowers the loss most; return how many moved.

    Data that are in no cluster get one. If ``fixed``, no cluster is emptied and none is opened
    (but those that are in no cluster may open one).
    """
    n_draws = seats.row.shape[1]
    gain = np.empty(seats.size.size)
    n_moved = 0
    for i in order:
        old = seats.labels[i]
        if old != NULL and fixed and seats.size[old] == 1:
            continue
        n_used, empty = 0, NULL
        for k in range(seats.size.size):
            if seats.size[k] > 0:
                n_used = k + 1
            elif empty == NULL:
                empty = k
        if old != NULL and (fixed or seats.size[old] == 1):
            empty = NULL  # no new cluster, or it would be the old one again
        n_used = max(n_used, empty + 1)
        for k in range(n_used):
            gain[k] = 0.0
        back = 0.0
        for s in range(n_draws):
            counts = seats.shared[seats.row[i, s]]
            for k in range(n_used):
                gain[k] += delta[counts[k]]
            if old != NULL:
                back += delta[counts[old] - 1]
        stay = np.inf
        if old != NULL:
            stay = delta[seats.size[old] - 1] - 2.0 * back / n_draws
        least, best = np.inf, old
        for k in range(n_used):
            if k != old and (seats.size[k] > 0 or k == empty):
                cost = delta[seats.size[k]] - 2.0 * gain[k] / n_draws
                if cost < least:
                    least, best = cost, k
        if least < stay - 1e-9:  # beyond rounding, so that no sweep goes round in circles
            _move(seats, i, best)
            n_moved += 1
    return n_moved


@jit
def value(seats: Seats, growth: FloatArray) -> float:
    """Return the sum that is to be lowered."""
    shared = 0.0
    for counts in seats.shared:
        for n in counts:
            if n > 1:  # f(0) = f(1) = 0
                shared += growth[n]
    own = 0.0
    for n in seats.size:
        own += growth[n]
    return float(own - 2.0 * shared / seats.row.shape[1])


@jit
def merge(seats: Seats, growth: FloatArray, n_clusters: int) -> None:
    """Merge the best pair of clusters, again and again.

    Stops at ``n_clusters``; or, if that is NULL, when no merger lowers the sum.
    """
    n_slots = seats.size.size
    n_now = 0
    for n in seats.size:
        n_now += n > 0
    fall = np.zeros((n_slots, n_slots))  # what a merger changes of Σ f(shared), each pair twice
    present = np.empty(n_slots, dtype=np.int32)
    for counts in seats.shared:
        n_present = 0
        for k in range(n_slots):
            if counts[k] > 0:
                for p in range(n_present):
                    change = _joint(growth, counts[present[p]], counts[k])
                    fall[present[p], k] += change
                    fall[k, present[p]] += change
                present[n_present] = k
                n_present += 1
    while n_now > 1 and n_now != n_clusters:
        least, first, second = np.inf, 0, 0
        for j in range(n_slots):
            for k in range(j + 1, n_slots):
                if seats.size[j] > 0 and seats.size[k] > 0:
                    change = _joint(growth, seats.size[j], seats.size[k])
                    change -= 2.0 * fall[j, k] / seats.row.shape[1]
                    if change < least:
                        least, first, second = change, j, k
        if n_clusters == NULL and least > -1e-9:
            break
        for i in range(seats.labels.size):
            if seats.labels[i] == second:
                seats.labels[i] = first
        seats.size[first] += seats.size[second]
        seats.size[second] = 0
        n_now -= 1
        for k in range(n_slots):
            fall[first, k] = 0.0
        for counts in seats.shared:
            counts[first] += counts[second]
            counts[second] = 0
            if counts[first] > 0:
                for k in range(n_slots):
                    if k != first and counts[k] > 0:
                        fall[first, k] += _joint(growth, counts[first], counts[k])
        for k in range(n_slots):
            fall[k, first] = fall[first, k]


@inlined
def _joint(growth: FloatArray, m: int, n: int) -> float:
    change: float = growth[m + n] - growth[m] - growth[n]
    return change


# ---- clusters nearby ---------------------------------------------------------------------------


@jit
def counts_of(
    labels: IntArray, draws: IntArray, first: IntArray, n_clusters: int
) -> tuple[IntArray, IntArray]:
    """Return the sizes of clusters, and how many data each has in each cluster of each draw.

    Clusters of draw s are the rows from ``first[s]`` on.
    """
    size = np.zeros(n_clusters, dtype=np.int32)
    shared = np.zeros((first[-1], n_clusters), dtype=np.int32)
    for k in labels:
        size[k] += 1
    for s in range(draws.shape[0]):
        for i in range(labels.size):
            shared[first[s] + draws[s, i], labels[i]] += 1
    return size, shared


@jit
def neighbours(size: IntArray, shared: IntArray, most: int) -> IntArray:
    """Return for each cluster those whose members its own are most often with, itself left out.

    A row of the result ends with −1 where there are fewer.
    """
    n_clusters = size.size
    with_whom = np.zeros((n_clusters, n_clusters))
    for counts in shared:
        for k in range(n_clusters):
            if counts[k] > 0:
                for other in range(n_clusters):
                    if other != k and counts[other] > 0:
                        with_whom[k, other] += counts[k] * (counts[other] / size[other])
    near = np.full((n_clusters, most), -1, dtype=np.int32)
    for k in range(n_clusters):
        order = np.argsort(-with_whom[k], kind="mergesort")
        for place in range(min(most, n_clusters)):
            if with_whom[k, order[place]] > 0:
                near[k, place] = order[place]
    return near


@jit
def sweep_nearby(
    labels: IntArray,
    draws: IntArray,
    first: IntArray,
    size: IntArray,
    shared: IntArray,
    delta: FloatArray,
    near: IntArray,
    fixed: bool,
) -> int:
    """Move each datum to the cluster nearby that lowers the loss most; return how many moved.

    ``labels`` and the counts change. None opens a cluster; if ``fixed``, none is emptied.
    """
    n_draws = draws.shape[0]
    rows = np.empty(n_draws, dtype=np.int32)
    n_moved = 0
    for i in range(labels.size):
        old = labels[i]
        if fixed and size[old] == 1:
            continue
        back = 0.0
        for s in range(n_draws):
            rows[s] = first[s] + draws[s, i]
            back += delta[shared[rows[s], old] - 1]
        least, best = delta[size[old] - 1] - 2.0 * back / n_draws - 1e-9, old
        for k in near[old]:
            if k < 0:
                break
            if size[k] == 0:
                continue
            gain = 0.0
            for s in range(n_draws):
                gain += delta[shared[rows[s], k]]
            cost = delta[size[k]] - 2.0 * gain / n_draws
            if cost < least:
                least, best = cost, k
        if best != old:
            size[old] -= 1
            size[best] += 1
            for s in range(n_draws):
                shared[rows[s], old] -= 1
                shared[rows[s], best] += 1
            labels[i] = best
            n_moved += 1
    return n_moved


# ---- the search ----------------------------------------------------------------------------------


def first_rows(draws: IntArray) -> IntArray:
    """Return where the clusters of each draw begin if all draws are numbered consecutively."""
    return np.concatenate([[0], np.cumsum(draws.max(axis=1) + 1)]).astype(np.int32)


class Table:
    """The counts of one clustering against all draws, and the steps of the search on it."""

    def __init__(
        self,
        draws: IntArray,
        loss: Loss,
        n_slots: int,
        n_clusters: int | None,
        rng: np.random.Generator,
    ) -> None:
        first = first_rows(draws)
        n_data = draws.shape[1]
        self.draws = draws
        self.seats = Seats(
            labels=np.full(n_data, NULL, dtype=np.int32),
            size=np.zeros(n_slots, dtype=np.int32),
            shared=np.zeros((first[-1], n_slots), dtype=np.int32),
            row=np.ascontiguousarray((draws + first[:-1, None]).T),
        )
        self.growth = growth_of(loss, n_data)
        # One entry more than data: the sweep looks up what an N + 1st datum would add to a cluster
        # of all, though the result is not used.
        self.delta = np.diff(growth_of(loss, n_data + 1))
        self.n_clusters = n_clusters
        self.rng = rng
        self.sweeps_left = 0.0

    def descend(self, start: IntArray, n_sweeps: float) -> IntArray:
        """Go down from a start as far as the steps lead, with about ``n_sweeps`` sweeps."""
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
        return value(self.seats, self.growth)

    def _sweep(self, data: npt.NDArray[np.integer], fixed: bool) -> bool:
        """Sweep once over some data in random order; return whether anything changed."""
        self.sweeps_left -= data.size / self.seats.labels.size
        order = self.rng.permutation(data).astype(np.int32)
        return sweep(self.seats, order, self.delta, fixed) > 0

    def _settle(self) -> None:
        """Sweep until no datum wants to move."""
        everything = np.arange(self.seats.labels.size)
        while self._sweep(everything, self.n_clusters is not None) and self.sweeps_left > 0:
            pass

    def _seat_anew(self) -> None:
        """Take clusters apart one at a time, seat their data anew, and undo what does not help."""
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
