"""The search for a clustering: data change clusters while the expected loss falls.

Let n_rk be how many data of cluster k are in cluster r of a draw; rows r number the clusters of all
draws one after another, and ``row[i, s]`` is where datum i is in draw s. For w data that no draw
parts, and that are out of their cluster, to join cluster k changes the sum

    Σ_k f(n_k) − (2/S) Σ_r Σ_k f(n_rk)

by δ(n_k) − (2/S) Σ_s δ(n_rk) with r = row[i, s], where δ(n) = f(n + w) − f(n). An empty cluster is
no special case. As most n_rk are 0, those that are not are in lists.

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
    """A clustering under search, with its counts.

    Few clusters have data in one cluster of a draw: ``here[first[r]]``, … are those that have some
    in row r, ``n_here[r]`` of them in no particular order, and ``held`` how many.
    """

    labels: IntArray  # NULL for data that are in no cluster
    size: IntArray  # of each cluster; some may be empty
    weight: IntArray  # how many data each entry of labels stands for
    row: IntArray
    first: IntArray
    n_here: IntArray
    here: IntArray
    held: IntArray


@linked
def _move(seats: Seats, i: int, cluster: int) -> None:
    """Move a datum from its cluster, if it has one, to another, unless that is NULL."""
    old, weight = seats.labels[i], seats.weight[i]
    if old != NULL:
        seats.size[old] -= weight
        for r in seats.row[i]:
            at = _place(seats, r, old)
            seats.held[at] -= weight
            if seats.held[at] == 0:
                _drop(seats, r, at)
    if cluster != NULL:
        seats.size[cluster] += weight
        for r in seats.row[i]:
            at = _place(seats, r, cluster)
            if at == seats.first[r] + seats.n_here[r]:
                seats.n_here[r] += 1
                seats.here[at] = cluster
                seats.held[at] = 0
            seats.held[at] += weight
    seats.labels[i] = cluster


@inlined
def _place(seats: Seats, r: int, cluster: int) -> int:
    """Return where a cluster is listed in row r, or the end of the list."""
    at = seats.first[r]
    end = at + seats.n_here[r]
    while at < end and seats.here[at] != cluster:
        at += 1
    return int(at)


@inlined
def _drop(seats: Seats, r: int, at: int) -> None:
    """Take an entry from the list of row r; the last takes its place."""
    seats.n_here[r] -= 1
    last = seats.first[r] + seats.n_here[r]
    seats.here[at] = seats.here[last]
    seats.held[at] = seats.held[last]


@jit
def relabel(seats: Seats, labels: IntArray) -> None:
    """Put all data into the clusters given; NULL takes them out."""
    for i in range(labels.size):
        if seats.labels[i] != labels[i]:
            _move(seats, i, labels[i])


@jit
def sweep(seats: Seats, order: IntArray, growth: FloatArray, fixed: bool) -> int:
    """Move each datum to where it lowers the loss most; return how many moved.

    Data that are in no cluster get one. If ``fixed``, no cluster is emptied and none is opened
    (but those that are in no cluster may open one).
    """
    n_draws = seats.row.shape[1]
    gain = np.zeros(seats.size.size)
    n_moved = 0
    for i in order:
        old, weight = seats.labels[i], seats.weight[i]
        if old != NULL and fixed and seats.size[old] == weight:
            continue
        empty = NULL
        for k in range(seats.size.size):
            gain[k] = 0.0
            if empty == NULL and seats.size[k] == 0:
                empty = k
        if old != NULL and (fixed or seats.size[old] == weight):
            empty = NULL  # no new cluster, or it would be the old one again
        back, alone = 0.0, growth[weight]
        for r in seats.row[i]:
            start = seats.first[r]
            for at in range(start, start + seats.n_here[r]):
                k, n = seats.here[at], seats.held[at]
                if k == old:
                    back += growth[n] - growth[n - weight]
                else:
                    gain[k] += growth[n + weight] - growth[n] - alone
        stay = np.inf
        if old != NULL:
            n = seats.size[old]
            stay = growth[n] - growth[n - weight] - 2.0 * back / n_draws
        least, best = np.inf, old
        for k in range(seats.size.size):
            n = seats.size[k]
            if k != old and (n > 0 or k == empty):
                cost = growth[n + weight] - growth[n] - 2.0 * (gain[k] / n_draws + alone)
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
    for r in range(seats.n_here.size):
        for at in range(seats.first[r], seats.first[r] + seats.n_here[r]):
            shared += growth[seats.held[at]]
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
    fall = np.zeros((n_slots, n_slots))  # what a merger changes of Σ f(held), each pair twice
    for r in range(seats.n_here.size):
        start, end = seats.first[r], seats.first[r] + seats.n_here[r]
        for p in range(start, end):
            for q in range(start, p):
                change = _joint(growth, seats.held[p], seats.held[q])
                fall[seats.here[p], seats.here[q]] += change
                fall[seats.here[q], seats.here[p]] += change
    while n_now > 1 and n_now != n_clusters:
        least, kept, gone = np.inf, 0, 0
        for j in range(n_slots):
            for k in range(j + 1, n_slots):
                if seats.size[j] > 0 and seats.size[k] > 0:
                    change = _joint(growth, seats.size[j], seats.size[k])
                    change -= 2.0 * fall[j, k] / seats.row.shape[1]
                    if change < least:
                        least, kept, gone = change, j, k
        if n_clusters == NULL and least > -1e-9:
            break
        for i in range(seats.labels.size):
            if seats.labels[i] == gone:
                seats.labels[i] = kept
        seats.size[kept] += seats.size[gone]
        seats.size[gone] = 0
        n_now -= 1
        for k in range(n_slots):
            fall[kept, k] = 0.0
        for r in range(seats.n_here.size):
            at = _place(seats, r, gone)
            if at < seats.first[r] + seats.n_here[r]:
                n = seats.held[at]
                to = _place(seats, r, kept)
                if to < seats.first[r] + seats.n_here[r]:
                    seats.held[to] += n
                    _drop(seats, r, at)
                else:
                    seats.here[at] = kept
            at = _place(seats, r, kept)
            if at < seats.first[r] + seats.n_here[r]:
                for other in range(seats.first[r], seats.first[r] + seats.n_here[r]):
                    if other != at:
                        change = _joint(growth, seats.held[at], seats.held[other])
                        fall[kept, seats.here[other]] += change
        for k in range(n_slots):
            fall[k, kept] = fall[kept, k]


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


@jit
def types_in_rows(row: IntArray, n_rows: int) -> IntArray:
    """Return where the lists of rows begin if each has room for all that is in it."""
    first = np.zeros(n_rows + 1, dtype=np.int32)
    for rows in row:
        for r in rows:
            first[r + 1] += 1
    for r in range(n_rows):
        first[r + 1] += first[r]
    return first


class Table:
    """The counts of one clustering against all draws, and the steps of the search on it.

    ``weight`` is how many data each column of the draws stands for.
    """

    def __init__(
        self,
        draws: IntArray,
        weight: IntArray,
        loss: Loss,
        n_slots: int,
        n_clusters: int | None,
        rng: np.random.Generator,
    ) -> None:
        begin = first_rows(draws)
        n_columns = draws.shape[1]
        row = np.ascontiguousarray((draws + begin[:-1, None]).T)
        first = types_in_rows(row, int(begin[-1]))
        self.draws = draws
        self.seats = Seats(
            labels=np.full(n_columns, NULL, dtype=np.int32),
            size=np.zeros(n_slots, dtype=np.int32),
            weight=weight,
            row=row,
            first=first[:-1],
            n_here=np.zeros(int(begin[-1]), dtype=np.int32),
            here=np.empty(row.size, dtype=np.int32),
            held=np.empty(row.size, dtype=np.int32),
        )
        self.growth = growth_of(loss, int(weight.sum()))
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
        return sweep(self.seats, order, self.growth, fixed) > 0

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
