"""The split–merge move above the leaves: break an inner node in two siblings, or join two.

Items are the children of the nodes at level l; two below one node of level l − 1 are drawn. If they
share their parent, a split is proposed with one of them in each half, otherwise the join of their
parents. The halves come from restricted Gibbs scans in which every item is a normal observation of
φ: exactly so above the last inner level, approximately where items are leaves. φ of the halves, or
of the joined node, is proposed from the same normal distributions. The acceptance ratio is exact.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.group_moves import log_seats_of_half
from sticktree.engine.common.group_nodes import (
    NodeSticks,
    groups_of_halves,
    log_node_split,
    put_groups,
    put_parents,
    share_rest,
    sticks_of,
)
from sticktree.engine.common.groups import is_grouped
from sticktree.engine.common.links import (
    ALIVE,
    DISCOUNT,
    UNLISTED,
    Index,
    link,
    list_nodes,
    unlink,
)
from sticktree.engine.common.random import RandomState, integer, normal, uniform
from sticktree.engine.common.seating import (
    choose_half,
    log_children,
    log_seats,
    log_split,
)
from sticktree.engine.own.kinds.dispatch import approximate
from sticktree.engine.own.leaves import expect, log_evidence, renew
from sticktree.engine.own.state import NOWHERE, PHI, SPARE, State
from sticktree.engine.own.structure import give_up, make_node
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL

SCANS = 2  # restricted Gibbs scans before the one that proposes


@jit
def node_split_sweep(state: State, rng: RandomState, n_moves: int) -> int:
    """Propose ``n_moves`` splits or merges of inner nodes; return how many were accepted."""
    accepted = 0
    if state.levels.size < 3:
        return 0
    for _ in range(n_moves):
        accepted += node_split(state, 1 + integer(rng, state.levels.size - 2), rng)
    return accepted


@linked
def node_split(state: State, level: int, rng: RandomState) -> int:
    """Propose one split or merge of nodes at ``level``; return 1 if it was accepted, else 0."""
    i, j = draw_items(state, level, rng)
    if j == NULL:
        return 0
    first, second = state.nodes[i].parent, state.nodes[j].parent
    above = state.nodes[first].parent
    merging = first != second
    members = list_members(state, i, j)
    size = state.coordinates.shape[1]
    centre = np.empty((members.size, size))
    precision = np.empty((members.size, size))
    for t in range(members.size):
        _observe(state, members[t], centre[t], precision[t])

    side, target = np.empty(members.size, dtype=np.int64), np.empty(members.size, dtype=np.int64)
    half_n, half_k = np.zeros(2), np.zeros(2, dtype=np.int64)
    # Row 2 is for both halves together.
    half_precision, half_weighted = np.zeros((3, size)), np.zeros((3, size))
    for p in range(size):
        for half in range(3):
            half_precision[half, p] = 1.0 / state.variance[level, p]
            half_weighted[half, p] = state.coordinates[above, p, PHI] / state.variance[level, p]
    for t in range(members.size):
        side[t] = integer(rng, 2) if t < members.size - 2 else t - (members.size - 2)
        target[t] = 0 if state.nodes[members[t]].parent == first else 1
        half_n[side[t]] += state.nodes[members[t]].n
        half_k[side[t]] += 1
        for p in range(size):
            weighted = precision[t, p] * centre[t, p]
            half_precision[side[t], p] += precision[t, p]
            half_weighted[side[t], p] += weighted
            half_precision[2, p] += precision[t, p]
            half_weighted[2, p] += weighted
    sticks = sticks_of(state, first, second, above, level, members, target)
    seated = groups_of_halves(state, members, side)
    log_proposal = 0.0
    for scan in range(SCANS + 1):
        forced = merging and scan == SCANS
        log_proposal = _scan(
            state, level, members, side, target, forced, sticks.above[0], seated,
            centre, precision, half_n, half_k, half_precision, half_weighted, rng,
        )  # fmt: skip

    # φ of both halves and of the joined node: those there are, and proposals for the others.
    phi = np.empty((3, size))
    for half in range(3):
        there = (half < 2) == merging
        for p in range(size):
            spread = 1.0 / math.sqrt(half_precision[half, p])
            mean = half_weighted[half, p] / half_precision[half, p]
            if there:
                phi[half, p] = state.coordinates[second if half == 1 else first, p, PHI]
            else:
                phi[half, p] = mean + spread * normal(rng)
            noise = (phi[half, p] - mean) / spread
            sign = -1.0 if half == 2 else 1.0
            log_proposal -= sign * (math.log(spread) + 0.5 * noise * noise)
    d, alpha = state.scalars[DISCOUNT], state.levels[level - 1].alpha
    n_siblings = state.nodes[above].n_children
    n = half_n[0] + half_n[1]
    n_before = n_siblings - 1 if merging else n_siblings
    if is_grouped(state):
        if not merging:
            share_rest(state, level, side, sticks, rng)
        log_prior = log_node_split(state, level, n_before, members, seated, side, sticks)
    else:
        log_prior = (
            log_split(alpha, d, n_before, half_n[0], half_n[1])
            + log_children(state, level, half_n[0], half_k[0])
            + log_children(state, level, half_n[1], half_k[1])
            - log_children(state, level, n, half_k[0] + half_k[1])
        )
    log_ratio = log_prior + _log_likelihood(state, level, above, members, side, phi) - log_proposal
    accepted = math.log(1.0 - uniform(rng)) < (-log_ratio if merging else log_ratio)
    if accepted:
        if merging:
            join_nodes(state, first, second, phi[2])
        else:
            break_node(state, first, members, side, phi)
        if is_grouped(state):
            give_sticks(state, level, members, side, merging, sticks)
    if level == state.levels.size - 2:
        expect(state, first)
        for t in range(members.size):
            renew(state, members[t])
    return 1 if accepted else 0


@linked
def draw_items(state: State, level: int, rng: RandomState) -> tuple[int, int]:
    """Draw a node one level down, and another below the same node two levels up from there."""
    i, j, n_items = NOWHERE, NOWHERE, 0
    for k in range(1, state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == level + 1:
            n_items += 1
            if uniform(rng) * n_items < 1.0:
                i = node
    above = state.nodes[state.nodes[i].parent].parent
    n_items = 0
    for k in range(1, state.sizes[ALIVE]):
        node = state.order[k]
        if node == i or state.nodes[node].level != level + 1:
            continue
        if state.nodes[state.nodes[node].parent].parent == above:
            n_items += 1
            if uniform(rng) * n_items < 1.0:
                j = node
    return i, j


@linked
def list_members(state: State, i: int, j: int) -> Index:
    """List the children of both parents, i and j last; the order does not depend on the tree."""
    first, second = state.nodes[i].parent, state.nodes[j].parent
    count = 0
    members = np.empty(state.sizes[ALIVE], dtype=np.int64)
    for node in range(state.nodes.size):
        if (
            count
            == state.nodes[first].n_children
            + (state.nodes[second].n_children if first != second else 0)
            - 2
        ):
            break
        if node in (i, j) or state.nodes[node].level != state.nodes[i].level:
            continue
        if state.nodes[node].parent in (first, second) and state.nodes[node].n > 0:
            members[count] = node
            count += 1
    members[count], members[count + 1] = i, j
    return members[: count + 2]


@linked
def _observe(state: State, item: int, centre: FloatArray, precision: FloatArray) -> None:
    """Fill in what an item says of its parent's φ."""
    level = state.nodes[item].level
    if level < state.levels.size - 1:
        for p in range(centre.size):
            centre[p] = state.coordinates[item, p, PHI]
            precision[p] = 1.0 / state.variance[level, p]
        return
    for d in range(state.columns.size):
        at = state.columns[d].offset
        for p in range(at, at + state.columns[d].width):
            centre[p], precision[p] = approximate(state, d, item, p)


@linked
def _scan(
    state: State,
    level: int,
    members: Index,
    side: Index,
    target: Index,
    forced: bool,
    stick: float,
    seated: Index,
    centre: FloatArray,
    precision: FloatArray,
    half_n: FloatArray,
    half_k: Index,
    half_precision: FloatArray,
    half_weighted: FloatArray,
    rng: RandomState,
) -> float:
    """Let all but the last two items choose a half in turn, or force them; return log probability.

    Neither half may become empty: the last two items stay where they are.
    """
    discount, alpha = state.scalars[DISCOUNT], state.levels[level].alpha
    size = centre.shape[1]
    log_probability = 0.0
    for t in range(members.size - 2):
        m = state.nodes[members[t]].n
        half_n[side[t]] -= m
        half_k[side[t]] -= 1
        put_groups(state, members[t], seated, side[t], -1)
        for p in range(size):
            half_precision[side[t], p] -= precision[t, p]
            half_weighted[side[t], p] -= precision[t, p] * centre[t, p]
        difference = 0.0  # log weight of half 1 minus that of half 0
        for half in range(2):
            if is_grouped(state):
                x = 0.5 * state.gamma[0] * stick
                weight = log_seats_of_half(state, x, seated[half], members[t])
            else:
                weight = log_seats(alpha, discount, half_n[half], half_k[half], m)
            for p in range(size):
                if precision[t, p] > 0.0:
                    spread = 1.0 / half_precision[half, p] + 1.0 / precision[t, p]
                    off = centre[t, p] - half_weighted[half, p] / half_precision[half, p]
                    weight -= 0.5 * (math.log(spread) + off * off / spread)
            difference += weight if half == 1 else -weight
        chosen, log_choice = choose_half(difference, forced, target[t], rng)
        log_probability += log_choice
        side[t] = chosen
        half_n[chosen] += m
        half_k[chosen] += 1
        put_groups(state, members[t], seated, chosen, 1)
        for p in range(size):
            half_precision[chosen, p] += precision[t, p]
            half_weighted[chosen, p] += precision[t, p] * centre[t, p]
    return log_probability


@linked
def _log_likelihood(
    state: State, level: int, above: int, members: Index, side: Index, phi: FloatArray
) -> float:
    """Return log p(φ, items) of two halves minus that of both together."""
    last = level == state.levels.size - 2
    spare = state.nodes.size - SPARE
    value = 0.0
    for half in range(3):
        sign = -1.0 if half == 2 else 1.0
        for p in range(phi.shape[1]):
            off = phi[half, p] - state.coordinates[above, p, PHI]
            spread = state.variance[level, p]
            value -= 0.5 * sign * (math.log(spread) + off * off / spread)
        if last:
            state.nodes[spare].level = level
            state.coordinates[spare, :, PHI] = phi[half]
            expect(state, spare)
        for t in range(members.size):
            if half != 2 and side[t] != half:
                continue
            if last:
                value += sign * log_evidence(state, members[t], spare)
            else:
                for p in range(phi.shape[1]):
                    off = state.coordinates[members[t], p, PHI] - phi[half, p]
                    spread = state.variance[level + 1, p]
                    value -= 0.5 * sign * (math.log(spread) + off * off / spread)
    return value


@linked
def join_nodes(state: State, first: int, second: int, phi: FloatArray) -> None:
    """Give all children of ``second`` to ``first``, whose φ changes."""
    state.coordinates[first, :, PHI] = phi
    while state.nodes[second].first_child != NULL:
        child = state.nodes[second].first_child
        unlink(state, child)
        link(state, child, first)
        state.nodes[first].n += state.nodes[child].n
        put_groups(state, child, state.seated, first, 1)
    unlink(state, second)
    give_up(state, second)
    state.nodes[second].n = 0
    state.sizes[UNLISTED] = 1
    list_nodes(state)


@linked
def give_sticks(
    state: State, level: int, members: Index, side: Index, merging: bool, sticks: NodeSticks
) -> None:
    """Give items and their parents at ``level`` the sticks that they have after a split or join."""
    for t in range(members.size):
        node, half = state.nodes[members[t]].parent, side[t]
        whole = 1.0 if merging else sticks.share[half]
        rest = sticks.rest[0] if merging else sticks.rest[1 + half]
        state.stick[node, level - 1] = sticks.above[0] * whole
        state.rest[node, level] = rest / whole
        state.stick[members[t], level] = sticks.item[t] / whole
        put_parents(state, node, members[t], t, level, half, merging, sticks)


@linked
def break_node(state: State, first: int, members: Index, side: Index, phi: FloatArray) -> None:
    """Hang the items of half 1 below a new sibling of ``first``; both have a new φ."""
    new = make_node(state, state.nodes[first].level)
    link(state, new, state.nodes[first].parent)
    state.coordinates[first, :, PHI], state.coordinates[new, :, PHI] = phi[0], phi[1]
    for t in range(members.size):
        if side[t] == 1:
            unlink(state, members[t])
            link(state, members[t], new)
            state.nodes[new].n += state.nodes[members[t]].n
            state.nodes[first].n -= state.nodes[members[t]].n
            put_groups(state, members[t], state.seated, new, 1)
            put_groups(state, members[t], state.seated, first, -1)
    if state.nodes[new].level == state.levels.size - 2:
        expect(state, new)
    state.sizes[UNLISTED] = 1
    list_nodes(state)
