"""Units whose rows belong to groups with parents: shares of the sticks of parents, then of groups.

A unit breaks its stick of each parent, too. The share of the first half is u_p ~ Beta(γH_1, γH_2)
a priori, with H_1 and H_2 what both halves have of the base κθ_elder + (1 − κ)β, and that of a
group with the parent p is r_j ~ Beta(γ(κθ_p1 + (1 − κ)β_1), γ(κθ_p2 + (1 − κ)β_2)). A group that is
a parent itself has r_j = u_p. Two leaves have their u_p, for sticks of parents are kept; a split
draws them, from the prior or with as many customers as its rows tell of. The ratio of a split has

    Π_p p(u_p)/q(u_p) · Π_j p(r_j)/q(r_j),

elder parents first, and all r_j but those that are some u_p.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.grouped import (
    LEAST,
    Flags,
    Sticks,
    draw_shares,
    log_over_proposal,
)
from sticktree.engine.common.parents import ParentedState
from sticktree.tree.arrays import NULL


class KinSticks(NamedTuple):
    """Logs of the sticks of P parents in U units, and who goes by them."""

    whole: FloatArray  # (U, P) of both halves together
    shares: FloatArray  # (U, P, 2) of halves in the whole, of units that are two leaves
    elder: npt.NDArray[np.int64]  # (P,) the parent of each, or NULL
    above: npt.NDArray[np.int64]  # (J,) by which of them each group goes, or NULL
    direct: Flags  # (J,) whether it is the group itself
    gamma: float
    kappa: float

    @classmethod
    def of(
        cls, state: ParentedState, first: FloatArray, second: FloatArray, merging: Flags
    ) -> KinSticks:
        """Return those of units, given logs of sticks of both leaves, (U, P), or of one twice."""
        whole = np.where(merging[:, None], np.logaddexp(first, second), first)
        return cls(
            whole,
            np.stack([first - whole, second - whole], axis=2),
            state.elder,
            state.above[:-1],
            state.direct[:-1] == 1,
            float(state.gamma[0]),
            float(state.kappa[0]),
        )

    def base(self, parent: int, shared: FloatArray, log_own: FloatArray) -> FloatArray:
        """Return γ times the base of what goes by a parent, or by none, at sticks."""
        if parent == NULL:
            return self.gamma * np.maximum(shared, LEAST)
        own = self.kappa * np.exp(log_own)
        return self.gamma * np.maximum(own + (1.0 - self.kappa) * shared, LEAST)

    def by_parent(self, parent: int, shared: FloatArray) -> FloatArray:
        """Return the share of tables in units that are customers of a parent, (U,)."""
        own = self.kappa * np.exp(self.whole[:, parent])
        return own / np.maximum(own + (1.0 - self.kappa) * shared, LEAST)


def share_out_kin(
    kin: KinSticks,
    sticks: Sticks,
    merging: Flags,
    leaning: FloatArray,
    seated: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draw shares of halves; return log r, (U, J, 2), log u, (U, P, 2), and Σ log p/q, (U,).

    ``leaning`` and ``seated`` are as in `share_out`.
    """
    pieces = np.stack([sticks.first, sticks.second], axis=1)
    told = expected_customers(kin, pieces, leaning)
    shares, log_ratio = np.empty_like(kin.shares), np.zeros(merging.size)
    logs = np.empty_like(kin.shares)  # of the sticks of halves
    nobody = np.zeros((merging.size, 1, 2), dtype=np.int64)
    for p, elder in enumerate(kin.elder.tolist()):
        prior = kin.base(elder, pieces, logs[:, elder])[:, None, :]
        drawn, _ = draw_shares(prior, merging, told[:, p : p + 1], nobody, rng)
        shares[:, p] = np.where(merging[:, None], kin.shares[:, p], drawn[:, 0])
        of_parent = log_over_proposal(prior, told[:, p : p + 1], shares[:, p : p + 1])
        log_ratio += of_parent[:, 0]
        logs[:, p] = kin.whole[:, p, None] + shares[:, p]
    prior = np.empty(leaning.shape)
    for p in np.unique(kin.above).tolist():
        prior[:, kin.above == p] = kin.base(p, pieces, logs[:, p])[:, None, :]
    of_groups, ratio = draw_shares(prior, merging, leaning, seated, rng)
    of_groups[:, kin.direct] = shares[:, kin.above[kin.direct]]
    return of_groups, shares, log_ratio + ratio[:, ~kin.direct].sum(axis=1)


def expected_customers(kin: KinSticks, pieces: FloatArray, leaning: FloatArray) -> FloatArray:
    """Return about how many customers of parents are in both halves, (U, P, 2).

    Rows count as what they tell, and sticks of parents as if they broke as β does. See also
    `sticktree.engine.common.parents.expected_customers`.
    """
    shared = pieces.sum(axis=1)
    share = pieces / np.maximum(shared, LEAST)[:, None]
    told = np.maximum(leaning, 0.0)
    out = np.zeros(kin.shares.shape)
    for p in range(len(kin.elder)):
        mine = kin.above == p
        out[:, p] = told[:, mine & kin.direct].sum(axis=1)
        x = kin.base(p, shared, kin.whole[:, p])[:, None] * share
        many = _tables(x[:, None, :], told[:, mine & ~kin.direct]).sum(axis=1)
        out[:, p] += many * kin.by_parent(p, shared)[:, None]
    for p in range(len(kin.elder) - 1, -1, -1):  # younger ones first
        elder = int(kin.elder[p])
        if elder != NULL:
            x = kin.base(elder, shared, kin.whole[:, elder])[:, None] * share
            out[:, elder] += _tables(x, out[:, p]) * kin.by_parent(elder, shared)[:, None]
    return out


def _tables(x: FloatArray, n: FloatArray) -> FloatArray:
    """Return about how many tables n customers have, a few or a part of one among them."""
    more = 1.0 + x * np.log((x + np.maximum(n, 1.0) - 0.5) / (x + 0.5))
    return np.asarray(np.minimum(n, np.where(n > 1.0, more, n)))
