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

Q₁ is the posterior of θ given all rows of the unit. Q₂ is one of two, at random. *Near*: rows that
were picked are dealt out to the nearer of two centres, and the halves drawn given these few.
*Wide*: one half is drawn as if few rows were known, anywhere in the unit, and the other given what
this leaves over of the sums of the unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln

from sticktree.checks import FloatArray
from sticktree.engine.parallel.leaf import Leaf, LeafLaw, Sums

__all__ = ["TINY", "Proposal", "propose"]

ROUNDS = 3  # of dealing rows out to the nearer centre
FEWEST = 4  # picked rows for which that is done
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
    kind: int,
    discount: float,
    rng: np.random.Generator,
) -> Proposal:
    """Propose the other form of each unit.

    ``sums`` are those of all rows of each unit. ``share``, ``first`` and ``second`` hold for units
    that may merge, and ``whole`` for those that may split; the rest is drawn. ``samples`` are the
    picked rows of each unit; the two that are pinned come first.
    """
    size = merging.size
    wide = rng.random(size) < 0.5
    flipped = wide & (rng.random(size) < 0.5)
    near = [_deal(law, y, sums.at(np.array([u])), kind) for u, y in enumerate(samples)]
    wide |= np.array([some is None for some in near], dtype=bool)
    least = sums.times(sums.n ** rng.uniform(-1.5, 0.0, size))
    dealt = [
        Sums(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        for parts in zip(
            *(
                (least.at(np.array([u])),) * 2 if some is None else some
                for u, some in enumerate(near)
            ),
            strict=True,
        )
    ]
    # w: by how many picked rows each half has, or even in log w/(1 − w) as far as single rows.
    a, b, reach = dealt[0].n + 0.5, dealt[1].n + 0.5, np.log(2.0 * sums.n) + 2.0
    odds = np.exp(rng.uniform(-reach, reach))
    drawn = np.where(wide, odds / (1.0 + odds), np.clip(rng.beta(a, b), TINY, 1.0 - TINY))
    share = np.where(merging, share, drawn)
    log_w, log_rest = np.log(share), np.log1p(-share)
    far = np.abs(log_w - log_rest) > reach
    log_q2 = np.where(
        wide,
        np.where(far, -np.inf, -log_w - log_rest - np.log(2.0 * reach)),
        (a - 1.0) * log_w + (b - 1.0) * log_rest - betaln(a, b),
    )
    # The half that is drawn first is the second one where flipped.
    known_first, known_second = second.where(flipped, first), first.where(flipped, second)
    one = least.where(wide, dealt[0])
    drawn_first = known_first.where(merging, law.draw(one, above, rng))
    own_share = np.where(flipped, 1.0 - share, share)
    other = law.rest(sums, drawn_first, own_share).where(wide, dealt[1])
    drawn_second = known_second.where(merging, law.draw(other, above, rng))
    log_q2 += law.log_density(drawn_first, one, above)
    log_q2 += law.log_density(drawn_second, other, above)
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


def _deal(law: LeafLaw, y: FloatArray, sums: Sums, kind: int) -> tuple[Sums, Sums] | None:
    """Deal rows out to two centres that start at the first two; return the sums of both."""
    if len(y) < FEWEST:
        return None
    x = np.where(np.isnan(y), np.nanmean(y, axis=0), y)
    x = law.coordinates(x, sums)
    centres = x[:2].copy()
    side = np.zeros(len(y), dtype=np.int64)
    for _ in range(ROUNDS):
        away = ((x[:, None, :] - centres) ** 2).sum(axis=2)
        side = (away[:, 1] < away[:, 0]).astype(np.int64)
        side[:2] = 0, 1
        centres = np.stack([x[side == h].mean(axis=0) for h in (0, 1)])
    both = Sums.over(y, side, 2, kind)
    return both.at(np.array([0])), both.at(np.array([1]))
