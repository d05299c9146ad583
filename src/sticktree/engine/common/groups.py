"""Groups that share a tree, as every engine has them: shared sticks, and the data of each group.

At every point of the tree, a node or an only child on an edge, the shared sticks β of its children
are kept, and what is left of the stick for children that are not there. The sticks of groups,
θ_j ~ DP(γ, β), are integrated out: a datum of group j at a point with n_j data of its group goes to
child k with probability (n_jk + γβ_k)/(n_j + γ), and to a new one with γβ_new/(n_j + γ). So

    p(tree, β) = Π_points f_K(β) · Π_j Π_k (γβ_k)_{n_jk} / (γ)_{n_j},
    f_K(β) = Γ(α + 1) Π_{k<K}(α + k d) / (Γ(α + K d) Γ(1 − d)^K) · Π_k β_k^(−d−1) · β_new^(α+Kd−1).

A state without groups has no groups in `seated`, and none of this. Sticks of a node are at the
level of the point above: `stick[k, l]` is the share of the way to k at the point of level l, and
`rest[k, l]` what is left there, for points on the edge above k and for k itself.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.links import DISCOUNT, ROOT, Index, TreeState
from sticktree.engine.common.parents import (
    LEAST,
    ParentedState,
    break_for_row,
    fill_rest,
    has_parents,
    is_direct,
    log_sum,
    pull,
    whole_stick,
)
from sticktree.engine.common.random import RandomState, share_of_two
from sticktree.jit import inlined, linked
from sticktree.model import Line
from sticktree.tree.arrays import NULL


class GroupedState(ParentedState, Protocol):
    """What a state of any engine has of groups; without groups all but ``present`` are empty."""

    @property
    def group(self) -> Index:
        """The group of each datum, shape (N,)."""


def group_arrays(
    room: int, depth: int, group: Any = None, line: Line | None = None
) -> dict[str, Any]:
    """Return the arrays of groups of a state with room for so many nodes."""
    if group is None:
        room, depth, columns, nobody = 0, 0, 0, NULL
        group = np.empty(0)
    else:
        nobody = int(np.max(group)) + 1
        columns = nobody + 1
    n_parents = 0 if line is None else line.elder.size
    return {
        "group": np.array(group, dtype=np.int64),
        "seated": np.zeros((room, columns), dtype=np.int64),
        "stick": np.ones((room, depth)),
        "rest": np.ones((room, depth)),
        "gamma": np.array([10.0]),
        "present": np.array([nobody], dtype=np.int64),
        # Logs; memory that is never touched costs nothing.
        "theta": np.zeros((room, depth, n_parents)),
        "theta_rest": np.zeros((room, depth, n_parents)),
        "above": np.empty(0, dtype=np.int64) if line is None else np.append(line.above, NULL),
        "direct": np.empty(0, dtype=np.int64) if line is None else np.append(line.direct, 0),
        "elder": np.empty(0, dtype=np.int64) if line is None else line.elder.copy(),
        "kappa": np.array([0.5]),
    }


@inlined
def is_grouped(state: GroupedState) -> bool:
    """Tell whether the data of a state belong to groups."""
    return state.present[0] != NULL


@inlined
def taking(state: GroupedState, node: int, level: int) -> float:
    """Return the weight of the way down to a node for the datum at hand, at the point of a level.

    The point is the parent of the node or lies on the edge between them.
    """
    j = state.present[0]
    if j == NULL:
        return state.nodes[node].n - state.scalars[DISCOUNT]
    if has_parents(state):
        own = 0.0
        if state.above[j] != NULL:
            own = state.theta[node, level, state.above[j]]
        n = 0 if is_direct(state, j) else state.seated[node, j]
        return n + pull(state, j, state.stick[node, level], own)
    return state.seated[node, j] + state.gamma[0] * state.stick[node, level]


@inlined
def seats(state: GroupedState, node: int, level: int) -> float:
    """Return the weight of all ways from a point: a node, or a point on the edge above it."""
    j = state.present[0]
    if j == NULL:
        return state.nodes[node].n + state.levels[level].alpha
    if is_direct(state, j):
        return 1.0
    return state.seated[node, j] + state.gamma[0]


@inlined
def opening_at(state: GroupedState, node: int, level: int) -> float:
    """Return the weight of a new branch at a point: a node, or a point on the edge above it."""
    if state.present[0] == NULL:
        n_children = state.nodes[node].n_children if state.nodes[node].level == level else 1
        return state.levels[level].alpha + state.scalars[DISCOUNT] * n_children
    if has_parents(state):
        j = state.present[0]
        own = 0.0
        if state.above[j] != NULL:
            own = state.theta_rest[node, level, state.above[j]]
        return pull(state, j, state.rest[node, level], own)
    return state.gamma[0] * state.rest[node, level]


# ---- changes of the tree -------------------------------------------------------------------------


@linked
def clear_group(state: GroupedState, node: int) -> None:
    """Let a new node have no data of any group."""
    for j in range(state.seated.shape[1]):
        state.seated[node, j] = 0


@linked
def add_group(state: GroupedState, node: int, moved: int, sign: int) -> None:
    """Add the data of each group below ``moved`` to a node and all above it, or take them away."""
    while node != NULL:
        for j in range(state.seated.shape[1]):
            state.seated[node, j] += sign * state.seated[moved, j]
        node = state.nodes[node].parent


@linked
def add_of_group(state: GroupedState, node: int, j: int, change: int) -> None:
    """Add to the number of data of one group at a node and at all above it."""
    while node != NULL:
        state.seated[node, j] += change
        node = state.nodes[node].parent


@linked
def give_mass_back(state: GroupedState, node: int, above: int) -> None:
    """Return the stick of a child that goes to what is left at its parent."""
    level = state.nodes[above].level
    state.rest[above, level] += state.stick[node, level]
    for p in range(state.elder.size):
        both = log_sum(state.theta_rest[above, level, p], state.theta[node, level, p])
        state.theta_rest[above, level, p] = both


@linked
def take_sticks(state: GroupedState, node: int, other: int, above: int, level: int) -> None:
    """Give a node the sticks that another has, from the node above both down to a level."""
    top = state.nodes[above].level
    for at in range(top, level):
        state.stick[node, at] = state.stick[other, at]
        for p in range(state.elder.size):
            state.theta[node, at, p] = state.theta[other, at, p]
    for at in range(top + 1, level + 1):
        state.rest[node, at] = state.rest[other, at]
        for p in range(state.elder.size):
            state.theta_rest[node, at, p] = state.theta_rest[other, at, p]


@linked
def break_off(state: GroupedState, node: int, shares: FloatArray) -> None:
    """Give a node that hangs below its parent anew its shares of what is left there."""
    above = state.nodes[node].parent
    level = state.nodes[above].level
    rest = state.rest[above, level]
    state.stick[node, level] = max(shares[0] * rest, LEAST)
    state.rest[above, level] = max(shares[1] * rest, LEAST)
    for p in range(state.elder.size):
        state.theta[node, level, p] = state.theta_rest[above, level, p] + shares[2 * p + 2]
        state.theta_rest[above, level, p] += shares[2 * p + 3]


@linked
def put_shares(state: GroupedState, node: int, above: int, level: int, shares: FloatArray) -> None:
    """Let shares be the sticks of an only child and what is left beside.

    The point is at or above the node ``above``.
    """
    state.stick[node, level] = max(shares[0], LEAST)
    state.rest[above, level] = max(shares[1], LEAST)
    for p in range(state.elder.size):
        state.theta[node, level, p] = shares[2 * p + 2]
        state.theta_rest[above, level, p] = shares[2 * p + 3]


@linked
def break_for_one(state: GroupedState, node: int, at: int, rng: RandomState) -> None:
    """Break sticks for one datum on a new branch from ``at`` down to ``node``, which hangs there.

    Its share of what is left is Beta(1 − d, α + (K + 1) d), where K children were there before.
    """
    d, shares = state.scalars[DISCOUNT], np.empty(2 + 2 * state.elder.size)
    stick = whole_stick(state)
    while True:
        above = state.nodes[node].parent
        top = state.nodes[above].level
        for level in range(top + 1, state.nodes[node].level):
            others = state.levels[level].alpha + d
            shares[0], shares[1] = share_of_two(1.0 - d, others, rng)
            if has_parents(state):
                break_for_row(state, stick, shares, rng)
            put_shares(state, node, node, level, shares)
        others = state.levels[top].alpha + d * state.nodes[above].n_children
        shares[0], shares[1] = share_of_two(1.0 - d, others, rng)
        if above == at:
            if has_parents(state):
                fill_rest(state, above, top, stick)
                break_for_row(state, stick, shares, rng)
            break_off(state, node, shares)
            return
        if has_parents(state):
            break_for_row(state, stick, shares, rng)
        put_shares(state, node, above, top, shares)
        node = above


@linked
def sticks_on_path(state: GroupedState, node: int) -> FloatArray:
    """Return the sticks from the root down to a leaf of a full tree, and what is left beside."""
    sticks = np.empty((state.stick.shape[1], 2 + 2 * state.elder.size))
    while node != ROOT:
        above = state.nodes[node].parent
        level = state.nodes[above].level
        sticks[level, 0], sticks[level, 1] = state.stick[node, level], state.rest[above, level]
        for p in range(state.elder.size):
            sticks[level, 2 * p + 2] = state.theta[node, level, p]
            sticks[level, 2 * p + 3] = state.theta_rest[above, level, p]
        node = above
    return sticks


@linked
def restore_path(state: GroupedState, node: int, sticks: FloatArray) -> None:
    """Put the sticks that `sticks_on_path` returned back."""
    while node != ROOT:
        above = state.nodes[node].parent
        level = state.nodes[above].level
        put_shares(state, node, above, level, sticks[level])
        node = above


# ---- densities -----------------------------------------------------------------------------------


@linked
def log_stick_density(alpha: float, d: float, n_children: int, logs: float, rest: float) -> float:
    """Return log f_K of the sticks of a point; ``logs`` is Σ log β_k."""
    a = alpha + d * n_children
    value = math.lgamma(alpha + 1.0) - math.lgamma(a) - n_children * math.lgamma(1.0 - d)
    for k in range(1, n_children):
        value += math.log(alpha + k * d)
    return value - (d + 1.0) * logs + (a - 1.0) * math.log(rest)


@inlined
def last_level(state: TreeState) -> int:
    """Return the level of the leaves."""
    return state.levels.size - 1


@linked
def top_of(state: TreeState, node: int) -> int:
    """Return the level of the first point on the edge above a node, or of the root."""
    return 0 if node == ROOT else state.nodes[state.nodes[node].parent].level + 1
