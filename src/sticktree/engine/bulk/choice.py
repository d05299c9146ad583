"""Which leaves may split or merge: units, as many as can be at once.

*By rows*: two rows are drawn, near each other and without a look at the tree. If they share a leaf,
it may split with one of them in each half; if they are in siblings, these may merge. A pair whose
leaves were taken by a pair before it is passed over. As neither splits nor merges change which rows
a unit has, the way back passes over the same. Large leaves are looked at most.

*By places*: below each node of the level above the leaves, one of its S leaves may split, or two
may merge: one with probability 1/S, and one near it. The way back is another choice, and the ratio
of both counts,

    S/(S + 1) · k(θ₁, θ₂)/Σ k(θ₁, θ),   k(θ₁, θ₂) = (1 + |θ₁ − θ₂|²/s²)⁻²,

where the sum is over all leaves at the place but the first, and s is the noise. A leaf of few rows
is looked at as often as any.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.labels import Labels
from sticktree.engine.bulk.picks import Picked
from sticktree.jit import inlined, jit

__all__ = ["Chosen", "choose_by_places", "choose_by_rows", "log_selection", "square_distance"]

Places = npt.NDArray[np.int64]
UNPINNED = np.uint64(2**64 - 1)  # no row has this number


class Chosen(NamedTuple):
    """U units; leaves by their places in the order of the chain."""

    a: Places  # (U,) the leaf, or the first of two
    b: Places  # (U,) the same, or the second
    pins: npt.NDArray[np.uint64]  # (U, 2) rows that are pinned to the halves
    unit_of: npt.NDArray[np.int64]  # (K,) unit of each leaf, or −1
    seeds: list[Places]  # for each unit two picked rows, or fewer

    @property
    def pinned(self) -> bool:
        """Whether rows are pinned to halves: the seeds."""
        return bool((self.pins != UNPINNED).any())

    @property
    def merging(self) -> npt.NDArray[np.bool_]:
        """Which units are two leaves now."""
        return np.asarray(self.a != self.b)


def choose_by_rows(
    picked: Picked, y: FloatArray, places: IntArray, n_pairs: int, rng: np.random.Generator
) -> Chosen:
    """Choose units by pairs of picked rows: the nearest to one in a pool of random size."""
    size = picked.number.size
    unit_of = np.full(places.size, -1, dtype=np.int64)
    rows = np.empty((0, 2), dtype=np.int64)
    if size > 1:
        first = rng.integers(size, size=n_pairs)
        pool_size = 2 ** rng.integers(int(math.log2(size - 1)) + 1, size=n_pairs)
        pools = rng.integers(size - 1, size=pool_size.sum())
        rows = _disjoint_pairs(first, pool_size, pools, y, picked.leaf, places, unit_of)
    leaf = picked.leaf[rows].astype(np.int64)
    return Chosen(leaf[:, 0], leaf[:, 1], picked.number[rows], unit_of, list(rows))


@inlined
def square_distance(one: FloatArray, other: FloatArray) -> float:
    """Return |one − other|²."""
    away = 0.0
    for d in range(one.size):
        away += (one[d] - other[d]) ** 2
    return away


@jit
def _disjoint_pairs(
    first: Places,
    pool_size: Places,
    pools: Places,
    y: FloatArray,
    leaf: Labels,
    places: IntArray,
    unit_of: npt.NDArray[np.int64],
) -> Places:
    """Return pairs of rows whose leaves are siblings and in no pair before; fill in their units."""
    pairs = np.empty((first.size, 2), dtype=np.int64)
    size, start = 0, 0
    for one, n in zip(first, pool_size):  # noqa: B905 (Numba has no ``strict``)
        least, nearest = np.inf, -1
        for other in pools[start : start + n]:
            row = other + int(other >= one)
            away = square_distance(y[row], y[one])
            if away < least:
                least, nearest = away, row
        start += n
        a, b = leaf[one], leaf[nearest]
        if places[a] == places[b] and unit_of[a] < 0 and unit_of[b] < 0:
            unit_of[a] = unit_of[b] = size
            pairs[size] = one, nearest
            size += 1
    return pairs[:size].copy()


def choose_by_places(
    picked: Picked, places: IntArray, centre: FloatArray, rng: np.random.Generator
) -> Chosen:
    """Choose a leaf or two at every place; ``centre`` is θ in units of the noise."""
    unit_of = np.full(places.size, -1, dtype=np.int64)
    a: list[int] = []
    b: list[int] = []
    for place in np.unique(places):
        here = np.flatnonzero(places == place)
        first = int(rng.choice(here))
        second = first
        if rng.random() < 0.5:
            others = here[here != first]
            if not others.size:
                continue
            near = _nearness(centre[first], centre[others])
            second = int(rng.choice(others, p=near / near.sum()))
        unit_of[[first, second]] = len(a)
        a.append(first)
        b.append(second)
    unit = unit_of[picked.leaf]
    seeds = []
    for u in range(len(a)):
        here = np.flatnonzero(unit == u)
        seeds.append(rng.permutation(here)[:2])
    pins = np.full((len(a), 2), UNPINNED)
    return Chosen(np.array(a, np.int64), np.array(b, np.int64), pins, unit_of, seeds)


def log_selection(
    chosen: Chosen, places: IntArray, centre: FloatArray, first: FloatArray, second: FloatArray
) -> FloatArray:
    """Return the log ratio of the choice of both halves of units by places to that of the whole.

    ``first`` and ``second`` are θ of the halves, like ``centre`` of all leaves.
    """
    out = np.empty(chosen.a.size)
    for u, (a, b) in enumerate(zip(chosen.a, chosen.b, strict=True)):
        here = np.flatnonzero(places == places[a])
        others = here[(here != a) & (here != b)]
        size = others.size + 1
        near = float(_nearness(first[u], second[u]))
        total = near + _nearness(first[u], centre[others]).sum()
        out[u] = math.log(size / (size + 1) * near / total)
    return out


def _nearness(one: FloatArray, others: FloatArray) -> FloatArray:
    return np.asarray((1.0 + ((others - one) ** 2).sum(axis=-1)) ** -2.0)
