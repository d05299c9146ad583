"""Splits and merges of leaves, many at a time, with labels summed out.

Given φ of the node above, a unit of n rows in one leaf has

    p₁ = Γ(n − d)/Γ(1 − d) · p(θ) · Π f(y | θ),

and in two leaves, with the labels of all rows but the two pinned ones summed out,

    p₂ = (α + K d) Γ(n − 2d)/Γ(1 − d)² · (w (1 − w))^(−d−1) · p(θ₁) p(θ₂)
         · w f(y_i | θ₁) · (1 − w) f(y_j | θ₂) · Π (w f(y | θ₁) + (1 − w) f(y | θ₂)),

where w is the share of the first half and K the number of leaves below the node with one leaf for
the unit. A split draws w, θ₁ and θ₂ from a law Q₂ that knows the rows of the unit only, a merge θ
from Q₁; parameters that are there are draws given their leaves. A split is accepted with
probability p₂ Q₁/(p₁ Q₂), or 1, a merge with that of the inverse. Labels are then drawn anew, given
the parameters: no merge has to find the labels that a split would make, which for many rows has no
chance.

Q₁ is the posterior of θ given all rows of the unit. Q₂ is one of three, at random. *Near*: rows
that were picked are dealt out to the nearer of two centres, and the halves drawn given these few.
*Wide*: one half is drawn as if few rows were known, anywhere in the unit, and the other given what
this leaves over of the sums of the unit. *Lone*: one half is drawn given one picked row, and the
other given all rows but this; it is the row that is pinned to the half, or rather an unlikely one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln

from sticktree.checks import FloatArray
from sticktree.engine.bulk.choice import square_distance
from sticktree.engine.bulk.leaf import Leaf, LeafLaw, Sums
from sticktree.jit import jit

__all__ = ["TINY", "Proposal", "propose"]

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
    """

    share: FloatArray
    whole: Leaf
    first: Leaf
    second: Leaf
    log_ratio: FloatArray


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
    rng: np.random.Generator,
) -> Proposal:
    """Propose the other form of each unit.

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
    a, b = first_sums.n + 0.5, second_sums.n + 0.5
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
    second_sums = law.rest(sums, drawn_first, own).where(means == WIDE, second_sums)
    drawn_second = known_second.where(merging, law.draw(second_sums, above, rng))
    log_q2 += law.log_density(drawn_first, first_sums, above)
    log_q2 += law.log_density(drawn_second, second_sums, above)
    whole = law.draw(sums, above, rng).where(merging, whole)
    none = sums.times(np.zeros(size))
    log_prior = (
        law.log_density(drawn_first, none, above)
        + law.log_density(drawn_second, none, above)
        - law.log_density(whole, none, above)
    )
    d = discount
    log_ratio = (
        gammaln(sums.n - 2.0 * d)
        - gammaln(sums.n - d)
        - gammaln(1.0 - d)
        - (d + 1.0) * (log_w + log_rest)
        + log_prior
        + law.log_density(whole, sums, above)
        - log_q2
    )
    return Proposal(
        share,
        whole,
        drawn_second.where(flipped, drawn_first),
        drawn_first.where(flipped, drawn_second),
        np.asarray(log_ratio),
    )


def _put(sums: Sums, u: int, one: Sums) -> None:
    """Fill in the sums of one unit."""
    for mine, its in zip(sums, one, strict=True):
        mine[u] = its[0]


def _deal(law: LeafLaw, y: FloatArray, sums: Sums, kind: int) -> tuple[Sums, Sums]:
    """Deal rows out to two centres that start at the first two; return the sums of both."""
    x = law.coordinates(_completed(y, sums), sums)
    both = Sums.over(y, _nearer_centre(x), 2, kind)
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
