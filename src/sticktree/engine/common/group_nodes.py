"""Splits and joins of nodes whose data belong to groups: what becomes of their shared sticks.

A node with stick s, sticks β_k of its children and β_new left is split in two halves. Each child
keeps its mass, and what is left is shared out in parts r and 1 − r, r ~ Beta(a_1, a_2): with B_h
the masses of a half's children, R_1 = r β_new and R_2 = (1 − r) β_new, half h gets b_h = B_h + R_h
of s, and its children have β_k/b_h of it. That is one to one: (β, r) ↔ (b, sticks of half 1, sticks
of half 2), and |∂(after)/∂(β, r)| = β_new/(b_1^K_1 b_2^K_2).

The sticks of parents are split in the same way, each with a part r of its own: Beta(γ H_1, γ H_2),
where H_h is what its base has left in each half.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.group_moves import (
    log_beta_density,
    log_group_split,
    log_shared_split,
)
from sticktree.engine.common.groups import GroupedState, is_grouped, log_stick_density
from sticktree.engine.common.links import DISCOUNT, Index
from sticktree.engine.common.logarithms import log_ascent
from sticktree.engine.common.parents import (
    LEAST,
    has_parents,
    is_direct,
    log_parent_shares,
    log_rows_split,
    log_share_of_two,
    log_sum,
    log_ways_of,
    parent_pull,
)
from sticktree.engine.common.random import RandomState, share_of_two
from sticktree.jit import linked


class NodeSticks(NamedTuple):
    """The sticks of a node that is to be split, or of two that are to be joined, as if one."""

    above: FloatArray  # (2,) the stick of both together, and what is left beside
    item: FloatArray  # (items,) of each child, as a share of both together
    rest: FloatArray  # (3,) what is left in both together, and in each half
    share: FloatArray  # (2,) of each half
    # the same of every parent, as logs
    parents_above: FloatArray  # (2, P)
    parents_item: FloatArray  # (items, P)
    parents_rest: FloatArray  # (3, P)
    parents_share: FloatArray  # (2, P)


@linked
def sticks_of(
    state: GroupedState,
    first: int,
    second: int,
    top: int,
    level: int,
    items: Index,
    target: Index,
) -> NodeSticks:
    """Return the sticks of nodes at ``level``, whose points are at or above the two given.

    ``top`` is the node at or below the point above, ``target`` the present half of each item.
    """
    n_parents = state.elder.size
    sticks = NodeSticks(
        np.ones(2),
        np.ones(items.size),
        np.ones(3),
        np.ones(2),
        np.zeros((2, n_parents)),
        np.zeros((items.size, n_parents)),
        np.zeros((3, n_parents)),
        np.zeros((2, n_parents)),
    )
    if not is_grouped(state):
        return sticks
    for p in range(n_parents):
        _take_parent(state, first, second, top, level, items, target, sticks, p)
    sticks.above[1] = state.rest[top, level - 1]
    sticks.above[0] = state.stick[first, level - 1]
    sticks.share[0], sticks.share[1] = 1.0, 1.0
    if first != second:
        sticks.above[0] += state.stick[second, level - 1]
        sticks.share[0] = state.stick[first, level - 1] / sticks.above[0]
        sticks.share[1] = state.stick[second, level - 1] / sticks.above[0]
        sticks.rest[1] = state.rest[first, level] * sticks.share[0]
        sticks.rest[2] = state.rest[second, level] * sticks.share[1]
        sticks.rest[0] = sticks.rest[1] + sticks.rest[2]
    else:
        sticks.rest[0] = state.rest[first, level]
    for t in range(items.size):
        whole = sticks.share[target[t]] if first != second else 1.0
        sticks.item[t] = state.stick[items[t], level] * whole
    return sticks


@linked
def _take_parent(
    state: GroupedState,
    first: int,
    second: int,
    top: int,
    level: int,
    items: Index,
    target: Index,
    sticks: NodeSticks,
    p: int,
) -> None:
    """Fill in the sticks of one parent."""
    one = state.theta[first, level - 1, p]
    sticks.parents_above[0, p] = one
    sticks.parents_above[1, p] = state.theta_rest[top, level - 1, p]
    sticks.parents_rest[0, p] = state.theta_rest[first, level, p]
    if first != second:
        other = state.theta[second, level - 1, p]
        both = log_sum(one, other)
        sticks.parents_above[0, p] = both
        sticks.parents_share[0, p], sticks.parents_share[1, p] = one - both, other - both
        sticks.parents_rest[1, p] = state.theta_rest[first, level, p] + one - both
        sticks.parents_rest[2, p] = state.theta_rest[second, level, p] + other - both
        sticks.parents_rest[0, p] = log_sum(sticks.parents_rest[1, p], sticks.parents_rest[2, p])
    for t in range(items.size):
        whole = sticks.parents_share[target[t], p] if first != second else 0.0
        sticks.parents_item[t, p] = state.theta[items[t], level, p] + whole


@linked
def _rest_of_half(sticks: NodeSticks, half: int) -> FloatArray:
    """Return what is left in a half as a vector, as a share of both together."""
    out = np.empty(1 + sticks.parents_above.shape[1])
    out[0] = sticks.rest[1 + half]
    out[1:] = sticks.parents_rest[1 + half]
    return out


@linked
def _rest_parameters(state: GroupedState, level: int, side: Index) -> tuple[float, float]:
    """Return the parameters of the Beta distribution of r."""
    d, alpha = state.scalars[DISCOUNT], state.levels[level].alpha
    second = 0
    for t in range(side.size):
        second += side[t]
    return 0.5 * alpha + d * (side.size - second), 0.5 * alpha + d * second


@linked
def share_rest(
    state: GroupedState, level: int, side: Index, sticks: NodeSticks, rng: RandomState
) -> None:
    """Share out what is left between the halves, which fixes their shares."""
    a, b = _rest_parameters(state, level, side)
    share, left = share_of_two(a, b, rng)
    sticks.rest[1] = max(share * sticks.rest[0], LEAST)
    sticks.rest[2] = max(left * sticks.rest[0], LEAST)
    for half in range(2):
        sticks.share[half] = sticks.rest[1 + half]
    for t in range(side.size):
        sticks.share[side[t]] += sticks.item[t]
    for p in range(state.elder.size):  # elder ones first, whose pieces make the base
        a = parent_pull(state, p, _rest_of_half(sticks, 0))
        b = parent_pull(state, p, _rest_of_half(sticks, 1))
        first, second = log_share_of_two(a, b, rng)
        sticks.parents_rest[1, p] = sticks.parents_rest[0, p] + first
        sticks.parents_rest[2, p] = sticks.parents_rest[0, p] + second
        for half in range(2):
            sticks.parents_share[half, p] = sticks.parents_rest[1 + half, p]
        for t in range(side.size):
            together = log_sum(sticks.parents_share[side[t], p], sticks.parents_item[t, p])
            sticks.parents_share[side[t], p] = together


@linked
def log_node_split(
    state: GroupedState,
    level: int,
    n_siblings: int,
    items: Index,
    seated: Index,
    side: Index,
    sticks: NodeSticks,
) -> float:
    """Return the log ratio of p(tree, β) of a split at ``level``, over the proposal of r."""
    d, alpha, gamma = state.scalars[DISCOUNT], state.levels[level].alpha, state.gamma[0]
    stick, rest = sticks.above[0], sticks.above[1]
    share, left = sticks.share[0], sticks.share[1]
    value = log_shared_split(state, level - 1, n_siblings, rest, stick, share, left)
    if has_parents(state):
        value += _log_parents_split(state, items, seated, side, sticks)
    else:
        value += log_group_split(state, stick, share, left, seated)
    logs, size = np.zeros(3), np.zeros(3, dtype=np.int64)
    for t in range(items.size):
        half = side[t]
        mass = sticks.item[t]
        own = mass / sticks.share[half]
        logs[0] += math.log(mass)
        logs[1 + half] += math.log(own)
        size[0] += 1
        size[1 + half] += 1
        for j in range(seated.shape[1]):
            n = float(state.seated[items[t], j])
            if n > 0.0 and not has_parents(state):
                value += log_ascent(gamma * own, n) - log_ascent(gamma * mass, n)
    value -= log_stick_density(alpha, d, size[0], logs[0], sticks.rest[0])
    for half in range(2):
        rest = sticks.rest[1 + half] / sticks.share[half]
        value += log_stick_density(alpha, d, size[1 + half], logs[1 + half], rest)
        value -= size[1 + half] * math.log(sticks.share[half])
    for j in range(seated.shape[1]):
        if is_direct(state, j):
            continue
        first, second = float(seated[0, j]), float(seated[1, j])
        value -= log_ascent(gamma, first) + log_ascent(gamma, second)
        value += log_ascent(gamma, first + second)
    a, b = _rest_parameters(state, level, side)
    part = sticks.rest[1] / sticks.rest[0], sticks.rest[2] / sticks.rest[0]
    return value + math.log(sticks.rest[0]) - log_beta_density(part[0], part[1], a, b)


@linked
def _log_parents_split(
    state: GroupedState, items: Index, seated: Index, side: Index, sticks: NodeSticks
) -> float:
    """Return what parents add to the ratio of a split, and all data of groups at both points."""
    n_parents = state.elder.size
    above, shares = np.empty(1 + n_parents), np.empty(2 + 2 * n_parents)
    above[0], above[1:] = sticks.above[0], sticks.parents_above[0]
    for half in range(2):
        shares[half] = sticks.share[half]
        for p in range(n_parents):
            shares[2 * p + 2 + half] = sticks.parents_share[half, p]
    value = log_parent_shares(state, above, shares) + log_rows_split(state, above, shares, seated)
    joint, own = np.empty(1 + n_parents), np.empty(1 + n_parents)
    for t in range(items.size):
        half = side[t]
        joint[0], joint[1:] = sticks.item[t], sticks.parents_item[t]
        own[0] = joint[0] / sticks.share[half]
        own[1:] = joint[1:] - sticks.parents_share[half]
        counts = state.seated[items[t]]
        value += log_ways_of(state, own, counts) - log_ways_of(state, joint, counts)
        value += _log_piece(state, joint, own, sticks.parents_share[half])
    joint[0], joint[1:] = sticks.rest[0], sticks.parents_rest[0]
    for p in range(n_parents):  # the node that was there had a Γ(γ) of its own
        value += math.lgamma(state.gamma[0])
        a = parent_pull(state, p, joint)
        value += math.lgamma(a) - (a - 1.0) * joint[1 + p]
    for half in range(2):
        rest = _rest_of_half(sticks, half)
        own[0] = rest[0] / sticks.share[half]
        own[1:] = rest[1:] - sticks.parents_share[half]
        for p in range(n_parents):
            a = parent_pull(state, p, own)
            value += (a - 1.0) * own[1 + p] - math.lgamma(a)
    for p in range(n_parents):  # over the proposal of r
        a = parent_pull(state, p, _rest_of_half(sticks, 0))
        b = parent_pull(state, p, _rest_of_half(sticks, 1))
        first = sticks.parents_rest[1, p] - sticks.parents_rest[0, p]
        second = sticks.parents_rest[2, p] - sticks.parents_rest[0, p]
        value += sticks.parents_rest[0, p]
        value -= math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        value -= (a - 1.0) * first + (b - 1.0) * second
    return value


@linked
def _log_piece(state: GroupedState, joint: FloatArray, own: FloatArray, share: FloatArray) -> float:
    """Return the log ratio of densities of the sticks of parents to one child, with 1/b each."""
    value = 0.0
    for p in range(state.elder.size):
        a, b = parent_pull(state, p, joint), parent_pull(state, p, own)
        value += math.lgamma(a) - math.lgamma(b)
        # (b − 1) log θ/s − (a − 1) log θ − log s: logs may be large, but their factors are small
        value += (b - a) * joint[1 + p] - b * share[p]
    return value


@linked
def put_parents(
    state: GroupedState,
    node: int,
    item: int,
    t: int,
    level: int,
    half: int,
    merging: bool,
    sticks: NodeSticks,
) -> None:
    """Give an item and its node the sticks of parents that they have after a split or join."""
    for p in range(state.elder.size):
        whole = 0.0 if merging else sticks.parents_share[half, p]
        rest = sticks.parents_rest[0 if merging else 1 + half, p]
        state.theta[node, level - 1, p] = sticks.parents_above[0, p] + whole
        state.theta_rest[node, level, p] = rest - whole
        state.theta[item, level, p] = sticks.parents_item[t, p] - whole


@linked
def put_groups(state: GroupedState, item: int, seated: Index, half: int, sign: int) -> None:
    """Add the data of each group below an item to those of a half, or take them away.

    ``half`` is a row of ``seated``, which has none if there are no groups.
    """
    for j in range(seated.shape[1]):
        seated[half, j] += sign * state.seated[item, j]


@linked
def groups_of_halves(state: GroupedState, items: Index, side: Index) -> Index:
    """Return the data of each group in both halves, (2, J)."""
    seated = np.zeros((2, state.seated.shape[1]), dtype=np.int64)
    for t in range(items.size):
        put_groups(state, items[t], seated, side[t], 1)
    return seated
