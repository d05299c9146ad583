"""Splits and joins of nodes whose data belong to groups: what becomes of their shared sticks.

A node with stick s, sticks β_k of its children and β_new left is split in two halves. Each child
keeps its mass, and what is left is shared out in parts r and 1 − r, r ~ Beta(a_1, a_2): with B_h
the masses of a half's children, R_1 = r β_new and R_2 = (1 − r) β_new, half h gets b_h = B_h + R_h
of s, and its children have β_k/b_h of it. That is one to one: (β, r) ↔ (b, sticks of half 1, sticks
of half 2), and |∂(after)/∂(β, r)| = β_new/(b_1^K_1 b_2^K_2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.group_moves import log_beta_density, log_group_split
from sticktree.engine.common.groups import LEAST, GroupedState, is_grouped, log_stick_density
from sticktree.engine.common.links import DISCOUNT, Index
from sticktree.engine.common.logarithms import log_ascent
from sticktree.engine.common.random import RandomState, share_of_two
from sticktree.jit import linked


class NodeSticks(NamedTuple):
    """The sticks of a node that is to be split, or of two that are to be joined, as if one."""

    above: FloatArray  # (2,) the stick of both together, and what is left beside
    item: FloatArray  # (items,) of each child, as a share of both together
    rest: FloatArray  # (3,) what is left in both together, and in each half
    share: FloatArray  # (2,) of each half


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
    sticks = NodeSticks(np.ones(2), np.ones(items.size), np.ones(3), np.ones(2))
    if not is_grouped(state):
        return sticks
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
    value = log_group_split(state, level - 1, n_siblings, rest, stick, share, left, seated)
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
            if n > 0.0:
                value += log_ascent(gamma * own, n) - log_ascent(gamma * mass, n)
    value -= log_stick_density(alpha, d, size[0], logs[0], sticks.rest[0])
    for half in range(2):
        rest = sticks.rest[1 + half] / sticks.share[half]
        value += log_stick_density(alpha, d, size[1 + half], logs[1 + half], rest)
        value -= size[1 + half] * math.log(sticks.share[half])
    for j in range(seated.shape[1]):
        first, second = float(seated[0, j]), float(seated[1, j])
        value -= log_ascent(gamma, first) + log_ascent(gamma, second)
        value += log_ascent(gamma, first + second)
    a, b = _rest_parameters(state, level, side)
    part = sticks.rest[1] / sticks.rest[0], sticks.rest[2] / sticks.rest[0]
    return value + math.log(sticks.rest[0]) - log_beta_density(part[0], part[1], a, b)


@linked
def put_groups(state: GroupedState, item: int, half: Index, sign: int) -> None:
    """Add the data of each group below an item to those of a half, or take them away."""
    for j in range(half.size):
        half[j] += sign * state.seated[item, j]


@linked
def groups_of_halves(state: GroupedState, items: Index, side: Index) -> Index:
    """Return the data of each group in both halves, (2, J)."""
    seated = np.zeros((2, state.seated.shape[1]), dtype=np.int64)
    for t in range(items.size):
        put_groups(state, items[t], seated[side[t]], 1)
    return seated
