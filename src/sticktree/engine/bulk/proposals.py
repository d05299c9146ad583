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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.laws import Leaf, LeafLaw
from sticktree.engine.bulk.partition import Labels, Picked
from sticktree.engine.bulk.sums import Sums
from sticktree.jit import inlined, jit

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


# ---- Splits and merges of leaves, many at a time, with labels summed out ------------------------
#
# Given φ of the node above, a unit of n rows in one leaf has
#
#     p₁ = Γ(n − d)/Γ(1 − d) · p(θ) · Π f(y | θ),
#
# and in two leaves, with the labels of all rows but the two pinned ones summed out,
#
#     p₂ = (α + K d) Γ(n − 2d)/Γ(1 − d)² · (w (1 − w))^(−d−1) · p(θ₁) p(θ₂)
#          · w f(y_i | θ₁) · (1 − w) f(y_j | θ₂) · Π (w f(y | θ₁) + (1 − w) f(y | θ₂)),
#
# where w is the share of the first half and K the number of leaves below the node with one leaf
# for the unit. A split draws w, θ₁ and θ₂ from a law Q₂ that knows the rows of the unit only, a
# merge θ from Q₁; parameters that are there are draws given their leaves. A split is accepted
# with probability p₂ Q₁/(p₁ Q₂), or 1, a merge with that of the inverse. Labels are then drawn
# anew, given the parameters: no merge has to find the labels that a split would make, which for
# many rows has no chance.
#
# Q₁ is the posterior of θ given all rows of the unit. Q₂ is one of three, at random. *Near*: rows
# that were picked are dealt out to the nearer of two centres, and the halves drawn given these
# few. *Wide*: one half is drawn as if few rows were known, anywhere in the unit, and the other
# given what this leaves over of the sums of the unit. *Lone*: one half is drawn given one picked
# row, and the other given all rows but this; it is the row that is pinned to the half, or rather
# an unlikely one.


ROUNDS = 3  # of dealing rows out to the nearer centre
FEWEST = 2  # picked rows by which halves are proposed
NEAR, WIDE, LONE = range(3)
TINY = 1e-12  # no share is smaller


@dataclass
class Proposal:
    """Units with parameters for both of their forms: those they have, and those proposed.

    Attributes
    ----------
    share : float array, shape (U,)
        w.
    whole, first, second : Leaf
        θ, θ₁ and θ₂.
    log_ratio : float array, shape (U,)
        log p₂ Q₁/(p₁ Q₂), without the densities of the rows.
    bound : bool array, shape (U,)
        Which stay as they are, whatever the ratio.
    """

    share: FloatArray
    whole: Leaf
    first: Leaf
    second: Leaf
    log_ratio: FloatArray
    bound: npt.NDArray[np.bool_]


def propose(
    law: LeafLaw,
    sums: Sums,
    above: FloatArray,
    merging: npt.NDArray[np.bool_],
    share: FloatArray,
    whole: Leaf,
    first: Leaf,
    second: Leaf,
    samples: list[FloatArray],
    pinned: bool,
    kind: int,
    discount: float,
    log_seats: FloatArray,
    most_seats: float,
    rng: np.random.Generator,
) -> Proposal:
    """Propose the other form of each unit.

    ``log_seats`` is what the prior of both forms has besides, for each unit: log Γ(n − 2d)/Γ(n − d)
    without groups. A share is proposed as if ``most_seats`` rows at most told of it.

    ``sums`` are those of all rows of each unit. ``share``, ``first`` and ``second`` hold for units
    that may merge, and ``whole`` for those that may split; the rest is drawn. ``samples`` are the
    picked rows of each unit; the two from which they are dealt out come first, and may be pinned.
    """
    size = merging.size
    means = rng.integers(3, size=size)
    flipped = (means != NEAR) & (rng.random(size) < 0.5)
    least = sums.times(sums.n ** rng.uniform(-1.5, 0.0, size))
    first_sums, second_sums = least, sums.at(np.arange(size))  # a copy, to be filled in
    for u, y in enumerate(samples):
        if len(y) < FEWEST:
            means[u] = WIDE
        elif means[u] == NEAR:
            one, other = _deal(law, y, sums.at(np.array([u])), kind)
            _put(first_sums, u, one)
            _put(second_sums, u, other)
        elif means[u] == LONE:
            row = int(flipped[u]) if pinned else _outlier(law, y, sums.at(np.array([u])), rng)
            one = Sums.over(y[row : row + 1], np.zeros(1, dtype=np.int64), 1, kind)
            _put(first_sums, u, one)
            _put(second_sums, u, sums.at(np.array([u])).plus(one.times(np.array([-1.0]))))
    # The share of the half that is drawn first: by how many picked rows it has, or even in
    # log w/(1 − w), as far as single rows.
    near, reach = means == NEAR, np.log(2.0 * sums.n) + 2.0
    told = np.minimum(1.0, most_seats / (first_sums.n + second_sums.n))
    a, b = told * first_sums.n + 0.5, told * second_sums.n + 0.5
    log_odds = rng.uniform(-reach, np.where(means == LONE, 0.0, reach))
    drawn = np.where(near, rng.beta(a, b), 1.0 / (1.0 + np.exp(-log_odds)))
    own = np.where(merging, np.where(flipped, 1.0 - share, share), np.clip(drawn, TINY, 1 - TINY))
    log_w, log_rest = np.log(own), np.log1p(-own)
    log_odds = log_w - log_rest
    outside = (np.abs(log_odds) > reach) | ((means == LONE) & (log_odds > 0.0))
    width = np.where(means == LONE, reach, 2.0 * reach)
    log_q2 = np.where(
        near,
        (a - 1.0) * log_w + (b - 1.0) * log_rest - betaln(a, b),
        np.where(outside, -np.inf, -log_w - log_rest - np.log(width)),
    )
    share = np.where(flipped, 1.0 - own, own)
    known_first, known_second = second.where(flipped, first), first.where(flipped, second)
    drawn_first = known_first.where(merging, law.draw(first_sums, above, rng))
    if (means == WIDE).any():
        second_sums = law.rest(sums, drawn_first, own).where(means == WIDE, second_sums)
    drawn_second = known_second.where(merging, law.draw(second_sums, above, rng))
    whole = law.draw(sums, above, rng).where(merging, whole)
    none = sums.times(np.zeros(size))
    leaves = (drawn_first, first_sums), (drawn_second, second_sums), (whole, sums)
    priors = (drawn_first, none), (drawn_second, none), (whole, none)
    of_leaves, of_priors = _log_densities(law, [*leaves, *priors], above).reshape(2, 3, size)
    log_q2 = log_q2 + of_leaves[0] + of_leaves[1]
    d = discount
    log_ratio = (
        log_seats
        - gammaln(1.0 - d)
        - (d + 1.0) * (log_w + log_rest)
        + (of_priors[0] + of_priors[1] - of_priors[2])
        + of_leaves[2]
        - log_q2
    )
    return Proposal(
        share,
        whole,
        drawn_second.where(flipped, drawn_first),
        drawn_first.where(flipped, drawn_second),
        np.asarray(log_ratio),
        np.zeros(size, dtype=bool),
    )


def _log_densities(law: LeafLaw, leaves: list[tuple[Leaf, Sums]], above: FloatArray) -> FloatArray:
    """Return the log densities of several leaves of each unit, one row for each of several.

    They are found at once, as units are few.
    """
    of_leaves, of_sums = zip(*leaves, strict=True)
    leaf = Leaf(*map(np.concatenate, zip(*of_leaves, strict=True)))
    sums = Sums(*map(np.concatenate, zip(*of_sums, strict=True)))
    return law.log_density(leaf, sums, np.concatenate([above] * len(leaves)))


def _put(sums: Sums, u: int, one: Sums) -> None:
    """Fill in the sums of one unit."""
    for mine, its in zip(sums, one, strict=True):
        mine[u] = its[0]


def _deal(law: LeafLaw, y: FloatArray, sums: Sums, kind: int) -> tuple[Sums, Sums]:
    """Deal rows out to two centres that start at the first two; return the sums of both."""
    x = law.coordinates(_completed(y, sums), sums)
    both = Sums.over(y, _nearer_centre(np.ascontiguousarray(x)), 2, kind)
    return both.at(np.array([0])), both.at(np.array([1]))


@jit
def _nearer_centre(x: FloatArray) -> npt.NDArray[np.int64]:
    """Return 0 or 1 for each row, by the nearer of two means; the first two rows stay apart."""
    side = np.zeros(len(x), dtype=np.int64)
    centres = x[:2].copy()
    for _ in range(ROUNDS):
        for i in range(len(x)):
            away = square_distance(x[i], centres[0])
            side[i] = 1 if square_distance(x[i], centres[1]) < away else 0
        side[0], side[1] = 0, 1
        for h in range(2):
            centres[h], count = 0.0, 0
            for i in range(len(x)):
                if side[i] == h:
                    centres[h] += x[i]
                    count += 1
            centres[h] /= count
    return side


def _outlier(law: LeafLaw, y: FloatArray, sums: Sums, rng: np.random.Generator) -> int:
    """Return a row, drawn by how unlikely it is in the unit as a whole."""
    x = law.coordinates(_completed(y, sums), sums)
    centre = law.coordinates(_mean(sums), sums)
    away = 0.5 * ((x - centre) ** 2).sum(axis=1)
    weight = np.exp(away - away.max())
    return int(rng.choice(len(y), p=weight / weight.sum()))


def _mean(sums: Sums) -> FloatArray:
    return sums.total / np.maximum(sums.seen, 1.0)


def _completed(y: FloatArray, sums: Sums) -> FloatArray:
    """Return rows with the means of their unit where entries are missing."""
    return np.where(np.isnan(y), _mean(sums), y)
