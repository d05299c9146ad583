"""Ratios of p(tree, β) for moves of whole subtrees of grouped data, and their sticks.

A subtree that moves has N_j data of group j. Along edges that are there it weighs
Π_j (γβ_k + n_jk)_{N_j}/(γ + n_j)_{N_j}; where it opens a new child it takes a share b of what is
left, drawn from

    q(b) = Beta(M − d, α + (K + 1) d)

with M the number of tables that its data are expected to have there, whatever b. All places have
shares drawn from q, but for the present one, which keeps its own: among places with their shares
the choice is a Gibbs step on the extended space, and its weights are the ratios with f and over q,

    Γ(α + K d + 1) Γ(M − d) / (Γ(1 − d) Γ(M + α + K d)) · b^−M · Π_j (γ b β_new)_{N_j}.

For a single datum M = 1 and that is γβ_new. Points of a new chain have K = 0 and β_new = 1, and are
the same for all places.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import (
    GroupedState,
    break_off,
    last_level,
    put_shares,
    top_of,
)
from sticktree.engine.common.links import ALIVE, DISCOUNT, ROOT, Index
from sticktree.engine.common.logarithms import log_ascent
from sticktree.engine.common.parents import (
    LEAST,
    both_pieces,
    draw_parent_shares,
    expected_customers,
    fill_rest,
    fill_stick,
    has_parents,
    is_direct,
    joined_sticks,
    log_parent_ratio,
    log_rows_split,
    log_sum,
    log_ways,
    log_ways_of,
    pull_of,
    whole_stick,
)
from sticktree.engine.common.random import RandomState, share_of_two
from sticktree.jit import inlined, linked
from sticktree.tree.arrays import NULL


@linked
def groups_below(state: GroupedState, node: int) -> Index:
    """List the groups that have data below a node."""
    count = 0
    for j in range(state.seated.shape[1]):
        count += state.seated[node, j] > 0
    listed = np.empty(count, dtype=np.int64)
    count = 0
    for j in range(state.seated.shape[1]):
        if state.seated[node, j] > 0:
            listed[count] = j
            count += 1
    return listed


@linked
def _log_leaving(state: GroupedState, node: int, moved: int, groups: Index) -> float:
    """Return log Π_j (γ + n_j)_{N_j} for the data of groups at a point and those that move."""
    value = 0.0
    for k in range(groups.size):
        j = groups[k]
        if not is_direct(state, j):
            value += log_ascent(
                state.gamma[0] + state.seated[node, j], float(state.seated[moved, j])
            )
    return value


@linked
def _log_joining(
    state: GroupedState, node: int, level: int, moved: int, groups: Index, stick: FloatArray
) -> float:
    """Return log Π_j (γβ + n_j)_{N_j} for data that move along the way to a node.

    ``stick`` is room for the stick as a vector, if there are parents.
    """
    value, x = 0.0, state.gamma[0] * state.stick[node, level]
    if has_parents(state):
        fill_stick(state, node, level, stick)
    for k in range(groups.size):
        j = groups[k]
        before, n = float(state.seated[node, j]), float(state.seated[moved, j])
        if has_parents(state):
            value += log_ways(state, j, pull_of(state, j, stick), before, n)
        else:
            value += log_ascent(x + before, n)
    return value


@linked
def _log_alone(state: GroupedState, x: float, moved: int, groups: Index) -> float:
    """Return log Π_j (x)_{N_j}; direct groups are left out."""
    value = 0.0
    for k in range(groups.size):
        if not is_direct(state, groups[k]):
            value += log_ascent(x, float(state.seated[moved, groups[k]]))
    return value


@linked
def expected_tables(x: float, counts: Index, groups: Index) -> float:
    """Return about how many tables data of groups have with concentration x; 1 a lone datum."""
    many = 0.0
    for k in range(groups.size):
        n = counts[groups[k]]
        if n > 0:
            many += 1.0 + x * math.log((x + n - 0.5) / (x + 0.5))
    return many


@linked
def _open(
    state: GroupedState,
    level: int,
    n_children: int,
    stick: FloatArray,
    shares: FloatArray,
    is_kept: bool,
    moved: int,
    groups: Index,
    rng: RandomState,
) -> float:
    """Draw the shares of a new child of what is left, unless they are kept; return its log weight.

    ``stick`` is what is left; without parents it is of β alone.
    """
    d, rest, gamma = state.scalars[DISCOUNT], stick[0], state.gamma[0]
    a, share, many = state.levels[level].alpha + d * n_children, 0.5, 1.0
    customers, none = np.empty(0), np.zeros(stick.size)
    for _ in range(3):
        if has_parents(state):
            customers = expected_customers(state, stick, share, state.seated[moved])
            many = customers[0]
        else:
            many = expected_tables(gamma * share * rest, state.seated[moved], groups)
        share = (many - d) / (many + a)
    if not is_kept:
        others = state.levels[level].alpha + d * (n_children + 1)
        shares[0], shares[1] = share_of_two(many - d, others, rng)
        if has_parents(state):
            draw_parent_shares(state, stick, shares, customers, none, rng)
    share = max(shares[0], LEAST)
    value = math.lgamma(a + 1.0) - math.lgamma(1.0 - d) + math.lgamma(many - d)
    value -= math.lgamma(many + a) + many * math.log(share)
    if has_parents(state):
        value += log_parent_ratio(state, stick, shares, customers, none)
        return value + log_ways_of(state, both_pieces(stick, shares)[0], state.seated[moved])
    return value + _log_alone(state, gamma * share * rest, moved, groups)


@linked
def weigh_places(
    state: GroupedState,
    moved: int,
    ceiling: int,
    here: int,
    here_level: int,
    chain: FloatArray,
    weights: FloatArray,
    shares: FloatArray,
    rng: RandomState,
) -> None:
    """Fill in the log prior weights of all places for a subtree that is out of the tree.

    Places are points above the ceiling, in the order of the nodes, and from the top of the edge
    above each; ``shares`` are their shares of what is left, and what then is left of it. The
    present place is the point of ``here_level`` on the way to ``here``: its shares are in ``chain``
    by level, and so are those of the points between it and the ceiling. All others of ``chain`` are
    drawn.
    """
    groups, stick = groups_below(state, moved), whole_stick(state)
    kept = chain[here_level].copy()
    below = np.zeros(ceiling + 1)
    whole = _log_alone(state, state.gamma[0], moved, groups)
    for level in range(ceiling - 1, 0, -1):
        is_kept = level > here_level
        opened = _open(state, level, 0, stick, chain[level], is_kept, moved, groups, rng)
        below[level] = below[level + 1] + opened - whole
    count = 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        first, path = 0, 0.0
        if node != ROOT:
            above = state.nodes[node].parent
            first = state.nodes[above].level + 1
            if first >= ceiling:
                continue
            path = state.nodes[above].path
            path += _log_joining(state, node, first - 1, moved, groups, stick)
        leaving = _log_leaving(state, node, moved, groups)
        for at in range(first, min(level + 1, ceiling)):
            path -= leaving
            n_children = state.nodes[node].n_children if at == level else 1
            is_kept = node == here and at == here_level
            if is_kept:
                shares[count] = kept
            fill_rest(state, node, at, stick)
            weights[count] = path + below[at + 1]
            weights[count] += _open(
                state, at, n_children, stick, shares[count], is_kept, moved, groups, rng
            )
            count += 1
            if at < level:
                path += _log_joining(state, node, at, moved, groups, stick)
        if level < ceiling:
            state.nodes[node].path = path


@linked
def keep_shares(state: GroupedState, node: int, ceiling: int) -> FloatArray:
    """Return the shares of a subtree that is about to go: at its place, and down to the ceiling.

    Nodes above it that have no other data go with it.
    """
    chain, n = shares_room(state, ceiling + 1), state.nodes[node].n
    while True:
        above = state.nodes[node].parent
        top = state.nodes[above].level
        for level in range(top + 1, min(state.nodes[node].level, ceiling)):
            _take_shares(state, node, node, level, chain[level])
        _take_shares(state, node, above, top, chain[top])
        if above == ROOT or state.nodes[above].n > n:
            whole = chain[top, 0] + chain[top, 1]
            chain[top, 0] /= whole
            chain[top, 1] /= whole
            for p in range(state.elder.size):
                both = log_sum(chain[top, 2 * p + 2], chain[top, 2 * p + 3])
                chain[top, 2 * p + 2] -= both
                chain[top, 2 * p + 3] -= both
            return chain
        node = above


@inlined
def shares_room(state: GroupedState, size: int) -> FloatArray:
    """Return room for the shares of places or levels."""
    return np.zeros((size, 2 + 2 * state.elder.size))


@linked
def _take_shares(
    state: GroupedState, node: int, above: int, level: int, shares: FloatArray
) -> None:
    """Write the sticks of a node, and what is left at the point above, as shares."""
    shares[0], shares[1] = state.stick[node, level], state.rest[above, level]
    for p in range(state.elder.size):
        shares[2 * p + 2] = state.theta[node, level, p]
        shares[2 * p + 3] = state.theta_rest[above, level, p]


@linked
def hang_shares(state: GroupedState, node: int, at: int, ceiling: int, chain: FloatArray) -> None:
    """Give a subtree that hangs below ``at`` now the shares in ``chain``, down to the ceiling."""
    while True:
        above = state.nodes[node].parent
        top = state.nodes[above].level
        for level in range(top + 1, min(state.nodes[node].level, ceiling)):
            put_shares(state, node, node, level, chain[level])
        if above == at:
            break_off(state, node, chain[top])
            return
        put_shares(state, node, above, top, chain[top])
        node = above


@linked
def count_places(state: GroupedState, ceiling: int) -> int:
    """Return the number of points above the ceiling."""
    count = 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        count += max(min(state.nodes[node].level + 1, ceiling) - top_of(state, node), 0)
    return count


# ---- splits --------------------------------------------------------------------------------------


@linked
def log_beta_density(x: float, rest: float, a: float, b: float) -> float:
    """Return the log density of a Beta(a, b) number x, where 1 − x is ``rest``."""
    value = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return value + (a - 1.0) * math.log(x) + (b - 1.0) * math.log(rest)


@linked
def log_shared_split(
    state: GroupedState,
    level: int,
    n_siblings: int,
    rest: float,
    stick: float,
    share: float,
    left: float,
) -> float:
    """Return the log ratio of f(β) where a child of a point of ``level`` is split in two.

    Its stick is broken in ``share`` and ``left`` of it, and the ratio is in the measure of the
    share. The point has ``n_siblings`` children before.
    """
    d = state.scalars[DISCOUNT]
    a = state.levels[level].alpha + d * n_siblings
    value = math.lgamma(a + 1.0) - math.lgamma(a + d) - math.lgamma(1.0 - d)
    return value + d * math.log(rest / stick) - (d + 1.0) * (math.log(share) + math.log(left))


@linked
def log_group_split(
    state: GroupedState, stick: float, share: float, left: float, halves: Index
) -> float:
    """Return the log ratio of the data of groups, (2, J), where a stick is broken in two."""
    gamma, value = state.gamma[0], 0.0
    for j in range(halves.shape[1]):
        first, second = float(halves[0, j]), float(halves[1, j])
        if first + second > 0.0:
            value += log_ascent(gamma * share * stick, first)
            value += log_ascent(gamma * left * stick, second)
            value -= log_ascent(gamma * stick, first + second)
    return value


class LeafSticks(NamedTuple):
    """The stick of a leaf that is to be split, or of two that are to be joined, as if one."""

    stick: FloatArray  # (1 + P,) as a vector
    rest: float  # what is left of β beside
    shares: FloatArray  # (2 + 2 P,) of both


@linked
def leaf_sticks(state: GroupedState, first: int, second: int, top: int) -> LeafSticks:
    """Return the sticks of a leaf, or of two siblings; ``top`` is at or below the point above."""
    if state.present[0] == NULL:
        return LeafSticks(np.ones(1), 0.0, np.full(2, 0.5))
    level = last_level(state) - 1
    stick, shares = joined_sticks(state, first, second, level)
    return LeafSticks(stick, state.rest[top, level], shares)


@linked
def log_leaf_split(
    state: GroupedState,
    n_siblings: int,
    sticks: LeafSticks,
    halves: Index,
    is_new: bool,
    rng: RandomState,
) -> float:
    """Return the log ratio of p(tree, β) of a split of a leaf, over the proposal of its shares.

    These are drawn first if they are new. The point above has ``n_siblings`` children before.
    """
    stick, rest, shares = sticks
    customers = np.zeros((2, stick.size))
    if has_parents(state):
        share = 0.5
        for _ in range(3):
            customers[0] = expected_customers(state, stick, share, halves[0])
            customers[1] = expected_customers(state, stick, 1.0 - share, halves[1])
            share = customers[0, 0] / (customers[0, 0] + customers[1, 0])
        d = state.scalars[DISCOUNT]
        a, b = customers[0, 0] - d, customers[1, 0] - d
    else:
        a, b = _shares_of_halves(state, stick[0], halves)
    if is_new:
        share, left = share_of_two(a, b, rng)
        shares[0], shares[1] = max(share, LEAST), max(left, LEAST)
        if has_parents(state):
            draw_parent_shares(state, stick, shares, customers[0], customers[1], rng)
    level = last_level(state) - 1
    value = log_shared_split(state, level, n_siblings, rest, stick[0], shares[0], shares[1])
    if has_parents(state):
        value += log_rows_split(state, stick, shares, halves)
        value += log_parent_ratio(state, stick, shares, customers[0], customers[1])
    else:
        value += log_group_split(state, stick[0], shares[0], shares[1], halves)
    return value - log_beta_density(shares[0], shares[1], a, b)


@linked
def give_leaf_sticks(state: GroupedState, first: int, second: int, sticks: LeafSticks) -> None:
    """Give the two halves of a leaf their shares of its stick."""
    level = last_level(state) - 1
    state.stick[first, level] = sticks.shares[0] * sticks.stick[0]
    state.stick[second, level] = sticks.shares[1] * sticks.stick[0]
    for p in range(state.elder.size):
        state.theta[first, level, p] = sticks.stick[1 + p] + sticks.shares[2 * p + 2]
        state.theta[second, level, p] = sticks.stick[1 + p] + sticks.shares[2 * p + 3]


@linked
def join_leaf_sticks(state: GroupedState, leaf: int, other: int) -> None:
    """Give a leaf the stick of another, which keeps nothing."""
    level = last_level(state) - 1
    state.stick[leaf, level] += state.stick[other, level]
    state.stick[other, level] = 0.0
    for p in range(state.elder.size):
        both = log_sum(state.theta[leaf, level, p], state.theta[other, level, p])
        state.theta[leaf, level, p] = both
        state.theta[other, level, p] = -math.inf


@linked
def _shares_of_halves(state: GroupedState, stick: float, halves: Index) -> tuple[float, float]:
    """Return the parameters of the Beta distribution from which the share of a half is drawn."""
    d, gamma = state.scalars[DISCOUNT], state.gamma[0]
    everyone = np.arange(halves.shape[1])
    share, first, second = 0.5, 1.0, 1.0
    for _ in range(3):
        first = expected_tables(gamma * stick * share, halves[0], everyone)
        second = expected_tables(gamma * stick * (1.0 - share), halves[1], everyone)
        share = first / (first + second)
    return first - d, second - d


@linked
def log_seats_of_half(state: GroupedState, x: float, half: Index, item: int) -> float:
    """Return the log weight of an item, a subtree, for a half with data of groups."""
    gamma, value = state.gamma[0], 0.0
    for j in range(half.size):
        n = float(state.seated[item, j])
        if n > 0.0:
            value += log_ascent(x + half[j], n) - log_ascent(gamma + half[j], n)
    return value
