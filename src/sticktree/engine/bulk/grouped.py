"""Rows that belong to groups: the weights of leaves in each, and the shares of halves.

Shared sticks are those of `sticktree.engine.common.groups`, and moves of the tree know them. For
rows to choose side by side, the sticks of groups are drawn, once for every pass: at a point of the
tree those of group j are Dirichlet(γβ_1 + n_j1, …, γβ_K + n_jK, γβ_new), and group j chooses leaf f
with weight θ_j(f), the product along its path.

A unit that splits breaks its stick s into bs and (1 − b)s, and that of each group by
r_j ~ Beta(γsb, γs(1 − b)). With the labels of all rows summed out,

    p₂/p₁ = Γ(α + Kd + 1)/(Γ(α + (K + 1)d) Γ(1 − d)) · (β_new/s)^d · (b(1 − b))^(−d−1)
            · Π_j Beta(r_j) · p(θ₁) p(θ₂)/p(θ) · Π (r_j f(y | θ₁) + (1 − r_j) f(y | θ₂))/f(y | θ).

The r_j of a unit that may split are drawn from what its rows tell of them (`leanings`), or at times
from their prior; those of two leaves are drawn given these.

Sticks of groups that are parents are kept (`sticktree.engine.common.parents`), and drawn anew for
every pass, elder ones first. Groups of rows that are parents themselves go by them, and those of
others are drawn as above, with γ(κθ_p + (1 − κ)β) in the place of γβ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import GroupedState
from sticktree.engine.common.kin import draw_kin_sticks, draw_kin_tables
from sticktree.engine.common.links import ALIVE, ROOT, Index
from sticktree.engine.common.parents import has_parents, is_direct, pull
from sticktree.engine.common.random import RandomState, log_gamma_number
from sticktree.jit import inlined, jit, linked
from sticktree.tree.arrays import NULL

Flags = npt.NDArray[np.bool_]
LEAST = 1e-290  # of the shape of a Gamma number
BROAD = 0.5  # probability that a share which rows tell nothing of is drawn from its prior


@linked
def _log_sum(first: float, second: float) -> float:
    largest = max(first, second)
    return largest + math.log(math.exp(first - largest) + math.exp(second - largest))


@jit
def draw_parents(state: GroupedState, rng: RandomState) -> None:
    """Draw the sticks of all parents anew, given those of all and the rows of each group."""
    draw_kin_sticks(state, draw_kin_tables(state, rng), rng)


@inlined
def _taken(state: GroupedState, node: int, level: int, j: int) -> float:
    """Return the shape of the stick of a node in group j, at the point of a level."""
    if has_parents(state):
        own = 0.0
        if state.above[j] != NULL:
            own = state.theta[node, level, state.above[j]]
        shape = pull(state, j, state.stick[node, level], own) + state.seated[node, j]
    else:
        shape = state.gamma[0] * state.stick[node, level] + state.seated[node, j]
    return max(shape, LEAST)


@inlined
def _left(state: GroupedState, node: int, level: int, j: int) -> float:
    """Return the shape of what is left at a point in group j."""
    if has_parents(state):
        own = 0.0
        if state.above[j] != NULL:
            own = state.theta_rest[node, level, state.above[j]]
        shape = pull(state, j, state.rest[node, level], own)
    else:
        shape = state.gamma[0] * state.rest[node, level]
    return max(shape, LEAST)


@linked
def _follow(state: GroupedState, node: int, j: int, path: FloatArray) -> None:
    """Fill in the log weights of the children of a node in a group whose own sticks are kept."""
    level, p = state.nodes[node].level, state.above[j]
    child = state.nodes[node].first_child
    while child != NULL:
        path[child, j] = path[node, j]
        for at in range(level, state.nodes[child].level):
            path[child, j] += state.theta[child, at, p]
        child = state.nodes[child].next_sibling


@jit
def draw_group_weights(
    state: GroupedState, leaves: Index, path: FloatArray, rng: RandomState
) -> FloatArray:
    """Draw the sticks of all groups; return the log weight of every leaf in each, (K, J).

    ``path`` is room for all nodes and groups. Sticks of groups and shared ones are at every point.
    """
    n_groups = path.shape[1]
    path[ROOT] = 0.0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].n_children == 0:
            continue
        level = state.nodes[node].level
        for j in range(n_groups):
            if is_direct(state, j):
                _follow(state, node, j, path)
                continue
            log_total = log_gamma_number(rng, _left(state, node, level, j))
            child = state.nodes[node].first_child
            while child != NULL:
                path[child, j] = log_gamma_number(rng, _taken(state, child, level, j))
                log_total = _log_sum(log_total, path[child, j])
                child = state.nodes[child].next_sibling
            child = state.nodes[node].first_child
            while child != NULL:
                path[child, j] += path[node, j] - log_total
                for at in range(level + 1, state.nodes[child].level):
                    on = log_gamma_number(rng, _taken(state, child, at, j))
                    off = log_gamma_number(rng, _left(state, child, at, j))
                    path[child, j] += on - _log_sum(on, off)
                child = state.nodes[child].next_sibling
    out = np.empty((leaves.size, n_groups))
    for k in range(leaves.size):
        out[k] = path[leaves[k]]
    return out


class Sticks(NamedTuple):
    """Shared sticks of U units."""

    first: FloatArray  # (U,) of the first half, or what it would be
    second: FloatArray  # (U,)
    rest: FloatArray  # (U,) what is left at the point above

    @property
    def whole(self) -> FloatArray:
        """Those of both halves together."""
        return np.asarray(self.first + self.second)


def share_out(
    gamma: float,
    sticks: Sticks,
    merging: Flags,
    leaning: FloatArray,
    seated: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Draw shares of halves; return log r and log(1 − r), (U, J, 2), and Σ log p(r)/q(r), (U,).

    ``leaning`` is what rows tell of them, and ``seated`` how many there are in both leaves of units
    that may merge, both (U, J, 2). There q is the law from which a split would draw.
    """
    prior = gamma * np.maximum(np.stack([sticks.first, sticks.second], axis=1), LEAST)[:, None, :]
    logs, ratio = draw_shares(prior, merging, leaning, seated, rng)
    return logs, np.asarray(ratio.sum(axis=1))


def draw_shares(
    prior: FloatArray,
    merging: Flags,
    leaning: FloatArray,
    seated: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Draw shares given the parameters of their prior, (U, J, 2) or (U, 1, 2); see `share_out`.

    The second is log p(r)/q(r) of each, (U, J).
    """
    told = np.maximum(leaning, 0.0)
    broad = BROAD / (1.0 + told.sum(axis=2))
    drawn = np.where((rng.random(broad.shape) < broad)[:, :, None], 0.0, told)
    more = np.where(merging[:, None, None], seated, drawn)
    logs = _log_gammas(prior + more, rng)
    logs -= np.logaddexp(logs[..., 0], logs[..., 1])[..., None]
    return logs, log_over_proposal(prior, leaning, logs)


def log_over_proposal(prior: FloatArray, leaning: FloatArray, logs: FloatArray) -> FloatArray:
    """Return log p(r)/q(r) of shares whose logs are given, (U, J)."""
    told = np.maximum(leaning, 0.0)
    broad = BROAD / (1.0 + told.sum(axis=2))
    # q is a mixture of the prior and what is told; this is log of the second over the first.
    a, b = prior[..., 0], prior[..., 1]
    over = np.where(told > 0.0, told * logs, 0.0).sum(axis=2)
    over += betaln(a, b) - betaln(a + told[..., 0], b + told[..., 1])
    ratio = -np.logaddexp(np.log1p(-broad) + over, np.log(broad))
    ratio[told.sum(axis=2) == 0.0] = 0.0  # then both are the prior
    return np.asarray(ratio)


def _log_gammas(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw logs of Gamma numbers, which themselves may be too small to write."""
    boost = np.log1p(-rng.random(shape.shape)) / np.maximum(shape, LEAST)
    return np.asarray(np.log(rng.standard_gamma(shape + 1.0)) + boost)
