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

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import LEAST, GroupedState, break_off, top_of
from sticktree.engine.common.links import ALIVE, DISCOUNT, ROOT, Index
from sticktree.engine.common.logarithms import log_ascent
from sticktree.engine.common.random import RandomState, share_of_two
from sticktree.jit import linked


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
def log_joined(state: GroupedState, x: float, node: int, moved: int, groups: Index) -> float:
    """Return log Π_j (x + n_j)_{N_j} for the data of groups at a node and those that move."""
    value = 0.0
    for k in range(groups.size):
        j = groups[k]
        value += log_ascent(x + state.seated[node, j], float(state.seated[moved, j]))
    return value


@linked
def log_alone(state: GroupedState, x: float, moved: int, groups: Index) -> float:
    """Return log Π_j (x)_{N_j}."""
    value = 0.0
    for k in range(groups.size):
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
def _tables_at(
    state: GroupedState, level: int, n_children: int, rest: float, moved: int, groups: Index
) -> float:
    """Return M of a new child."""
    d = state.scalars[DISCOUNT]
    a, share, many = state.levels[level].alpha + d * n_children, 0.5, 1.0
    for _ in range(3):
        many = expected_tables(state.gamma[0] * share * rest, state.seated[moved], groups)
        share = (many - d) / (many + a)
    return many


@linked
def _log_opened(
    state: GroupedState,
    level: int,
    n_children: int,
    rest: float,
    share: float,
    many: float,
    moved: int,
    groups: Index,
) -> float:
    """Return the log weight of a new child with its share of what is left."""
    d = state.scalars[DISCOUNT]
    a = state.levels[level].alpha + d * n_children
    value = math.lgamma(a + 1.0) - math.lgamma(1.0 - d) + math.lgamma(many - d)
    value -= math.lgamma(many + a) + many * math.log(max(share, LEAST))
    return value + log_alone(state, state.gamma[0] * max(share, LEAST) * rest, moved, groups)


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
    groups, gamma, d = groups_below(state, moved), state.gamma[0], state.scalars[DISCOUNT]
    kept_share, kept_left = chain[here_level, 0], chain[here_level, 1]
    below = np.zeros(ceiling + 1)
    whole = log_alone(state, gamma, moved, groups)
    for level in range(ceiling - 1, 0, -1):
        many = _tables_at(state, level, 0, 1.0, moved, groups)
        if level <= here_level:
            share = share_of_two(many - d, state.levels[level].alpha + d, rng)
            chain[level, 0], chain[level, 1] = share
        opened = _log_opened(state, level, 0, 1.0, chain[level, 0], many, moved, groups)
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
            x = gamma * state.stick[node, first - 1]
            path = state.nodes[above].path + log_joined(state, x, node, moved, groups)
        leaving = log_joined(state, gamma, node, moved, groups)
        for at in range(first, min(level + 1, ceiling)):
            path -= leaving
            n_children = state.nodes[node].n_children if at == level else 1
            rest = state.rest[node, at]
            many = _tables_at(state, at, n_children, rest, moved, groups)
            if node == here and at == here_level:
                shares[count, 0], shares[count, 1] = kept_share, kept_left
            else:
                others = state.levels[at].alpha + d * (n_children + 1)
                shares[count, 0], shares[count, 1] = share_of_two(many - d, others, rng)
            weights[count] = path + below[at + 1]
            weights[count] += _log_opened(
                state, at, n_children, rest, shares[count, 0], many, moved, groups
            )
            count += 1
            if at < level:
                path += log_joined(state, gamma * state.stick[node, at], node, moved, groups)
        if level < ceiling:
            state.nodes[node].path = path


@linked
def keep_shares(state: GroupedState, node: int, ceiling: int) -> FloatArray:
    """Return the shares of a subtree that is about to go: at its place, and down to the ceiling.

    Nodes above it that have no other data go with it.
    """
    chain, n = np.zeros((ceiling + 1, 2)), state.nodes[node].n
    while True:
        above = state.nodes[node].parent
        top = state.nodes[above].level
        for level in range(top + 1, min(state.nodes[node].level, ceiling)):
            chain[level, 0], chain[level, 1] = state.stick[node, level], state.rest[node, level]
        chain[top, 0], chain[top, 1] = state.stick[node, top], state.rest[above, top]
        if above == ROOT or state.nodes[above].n > n:
            whole = chain[top, 0] + chain[top, 1]
            chain[top, 0] /= whole
            chain[top, 1] /= whole
            return chain
        node = above


@linked
def hang_shares(state: GroupedState, node: int, at: int, ceiling: int, chain: FloatArray) -> None:
    """Give a subtree that hangs below ``at`` now the shares in ``chain``, down to the ceiling."""
    while True:
        above = state.nodes[node].parent
        top = state.nodes[above].level
        for level in range(top + 1, min(state.nodes[node].level, ceiling)):
            state.stick[node, level] = max(chain[level, 0], LEAST)
            state.rest[node, level] = max(chain[level, 1], LEAST)
        if above == at:
            break_off(state, node, chain[top, 0], chain[top, 1])
            return
        state.stick[node, top] = max(chain[top, 0], LEAST)
        state.rest[above, top] = max(chain[top, 1], LEAST)
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
def log_group_split(
    state: GroupedState,
    level: int,
    n_siblings: int,
    rest: float,
    stick: float,
    share: float,
    left: float,
    halves: Index,
) -> float:
    """Return the log ratio of p(tree, β) where a child of a point of ``level`` is split in two.

    Its stick is broken in ``share`` and ``left`` of it; ``halves`` are the data of groups on each
    side, (2, J). The ratio is in the measure of the share. The point has ``n_siblings`` children
    before.
    """
    d, gamma = state.scalars[DISCOUNT], state.gamma[0]
    a = state.levels[level].alpha + d * n_siblings
    value = math.lgamma(a + 1.0) - math.lgamma(a + d) - math.lgamma(1.0 - d)
    value += d * math.log(rest / stick) - (d + 1.0) * (math.log(share) + math.log(left))
    for j in range(halves.shape[1]):
        first, second = float(halves[0, j]), float(halves[1, j])
        if first + second > 0.0:
            value += log_ascent(gamma * share * stick, first)
            value += log_ascent(gamma * left * stick, second)
            value -= log_ascent(gamma * stick, first + second)
    return value


@linked
def shares_of_halves(state: GroupedState, stick: float, halves: Index) -> tuple[float, float]:
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
