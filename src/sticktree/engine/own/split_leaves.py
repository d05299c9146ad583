"""The split–merge move: break a leaf in two siblings, or join two sibling leaves.

S. Jain and R. M. Neal, Journal of Computational and Graphical Statistics 13, 2004. Given φ of their
parent, sibling leaves are independent, and the halves come from restricted Gibbs scans with the
leaves' own predictive densities. The random number that decides is drawn first: a merge needs no
scan where the evidence alone refuses it.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.group_moves import (
    give_leaf_sticks,
    join_leaf_sticks,
    leaf_sticks,
    log_leaf_split,
)
from sticktree.engine.common.groups import is_grouped
from sticktree.engine.common.links import DISCOUNT, Index, link, list_nodes, unlink
from sticktree.engine.common.random import RandomState, integer, uniform
from sticktree.engine.common.seating import choose_half, log_split
from sticktree.engine.own.leaves import (
    add_sums,
    clear,
    count,
    has_gaps,
    log_evidence,
    log_predictive,
    log_within,
    put,
    renew,
)
from sticktree.engine.own.state import SPARE, State
from sticktree.engine.own.structure import give_up, make_node, rise, sit
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL

SCANS = 3  # restricted Gibbs scans before the one that proposes


@jit
def split_merge_sweep(state: State, rng: RandomState, n_moves: int) -> int:
    """Propose ``n_moves`` splits or merges; return how many were accepted."""
    accepted = 0
    for _ in range(n_moves):
        accepted += split_merge(state, rng)
    return accepted


@linked
def split_merge(state: State, rng: RandomState) -> int:
    """Propose one split or merge; return 1 if it was accepted, else 0."""
    i = integer(rng, state.leaf.size)
    first = state.leaf[i]
    node = state.nodes[first].parent
    if state.nodes[node].n == 1:
        return 0
    j = _draw_other(state, i, node, rng)
    second = state.leaf[j]
    merging = first != second
    log_u = math.log(1.0 - uniform(rng))
    n_siblings, d = state.nodes[node].n_children, state.scalars[DISCOUNT]
    level = state.levels.size - 2
    alpha = state.levels[level].alpha
    halves = state.nodes.size - SPARE + 1  # three spare rows: two halves, and both together
    for k in range(3):
        state.nodes[halves + k].level = state.levels.size - 1
        state.nodes[halves + k].parent = node
        clear(state, halves + k)
    room = math.inf
    seated = np.zeros((2, state.seated.shape[1]), dtype=np.int64)  # the groups of each half
    sticks = leaf_sticks(state, first, second, node)
    if merging:
        if is_grouped(state):
            seated[0], seated[1] = state.seated[first], state.seated[second]
            log_prior = log_leaf_split(state, n_siblings - 1, sticks, seated, False, rng)
            seated[:] = 0
        else:
            first_n, second_n = float(state.nodes[first].n), float(state.nodes[second].n)
            log_prior = log_split(alpha, d, n_siblings - 1, first_n, second_n)
        both = halves + 2
        add_sums(state, both, first)
        add_sums(state, both, second)
        # The log ratio but for the probability of the way back, which only takes something off.
        room = log_evidence(state, both, node) - log_u - log_prior
        room -= log_evidence(state, first, node) + log_evidence(state, second, node)
        if room <= 0.0:
            return 0

    members, target = _list_members(state, i, j)
    side, n = np.empty(members.size, dtype=np.int64), np.ones(2)
    if is_grouped(state):
        seated[0, state.group[i]] += 1
        seated[1, state.group[j]] += 1
    count(state, halves, i, 1.0)
    count(state, halves + 1, j, 1.0)
    for t in range(members.size):
        side[t] = integer(rng, 2)
        n[side[t]] += 1.0
        if is_grouped(state):
            seated[side[t], state.group[members[t]]] += 1
        count(state, halves + side[t], members[t], 1.0)
    renew(state, halves)
    renew(state, halves + 1)
    log_proposal = 0.0
    for scan in range(SCANS + 1):
        forced = merging and scan == SCANS
        log_proposal = _scan(
            state, halves, members, side, target, forced, n, seated,
            0.5 * state.gamma[0] * sticks.stick[0], room, rng,
        )  # fmt: skip
    if merging:
        if room + log_proposal <= 0.0:
            return 0
        _join(state, first, second)
        return 1
    if is_grouped(state):
        log_prior = log_leaf_split(state, n_siblings, sticks, seated, True, rng)
    else:
        log_prior = log_split(alpha, d, n_siblings, n[0], n[1])
    log_ratio = (
        log_prior
        + log_evidence(state, halves, node)
        + log_evidence(state, halves + 1, node)
        - log_evidence(state, first, node)
        - log_proposal
    )
    if not log_u < log_ratio:
        return 0
    new = _break(state, first, halves, members, side, j)
    if is_grouped(state):
        state.seated[first], state.seated[new] = seated[0], seated[1]
        give_leaf_sticks(state, first, new, sticks)
    return 1


@linked
def _draw_other(state: State, i: int, node: int, rng: RandomState) -> int:
    """Draw another datum below a node, all with the same probability."""
    k = integer(rng, state.nodes[node].n - 1)
    leaf = state.nodes[node].first_child
    while True:
        n = state.nodes[leaf].n - (leaf == state.leaf[i])
        if k < n:
            break
        k -= n
        leaf = state.nodes[leaf].next_sibling
    j = state.first[leaf]
    while True:
        if j != i:
            if k == 0:
                return j
            k -= 1
        j = state.beside[j, 1]


@linked
def _list_members(state: State, i: int, j: int) -> tuple[Index, Index]:
    """List the data of the leaves of i and j but these; return 0 or 1 for the leaf of each, too."""
    first, second = state.leaf[i], state.leaf[j]
    size = state.nodes[first].n - 2
    if first != second:
        size += state.nodes[second].n
    members, target = np.empty(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    listed = 0
    for half in range(2 if first != second else 1):
        t = state.first[second if half == 1 else first]
        while t != NULL:
            if t not in (i, j):
                members[listed], target[listed] = t, half
                listed += 1
            t = state.beside[t, 1]
    return members, target


@linked
def _scan(
    state: State,
    halves: int,
    members: Index,
    side: Index,
    target: Index,
    forced: bool,
    n: FloatArray,
    seated: Index,
    half_stick: float,
    room: float,
    rng: RandomState,
) -> float:
    """Let every member choose a half in turn, or force it to ``target``; return log probability.

    A forced scan is given up once its log probability is below −``room``. With groups, a half has
    ``half_stick``, γ times half the stick of both, and ``seated`` data of each group.
    """
    discount = state.scalars[DISCOUNT]
    log_probability = 0.0
    for t in range(members.size):
        i, own = members[t], side[t]
        gaps, is_out = has_gaps(state, i), False
        value = log_within(state, halves + own, i, gaps)
        if math.isnan(value):
            is_out = True
            put(state, halves + own, i, -1.0)
            value = log_predictive(state, halves + own, i, gaps, -math.inf)
        n[own] -= 1.0
        if is_grouped(state):
            seated[own, state.group[i]] -= 1
        other = log_predictive(state, halves + 1 - own, i, gaps, -math.inf)
        # log weight of half 1 minus that of half 0
        difference = other - value if own == 0 else value - other
        if is_grouped(state):
            g = state.group[i]
            difference += math.log((seated[1, g] + half_stick) / (seated[0, g] + half_stick))
        else:
            difference += math.log((n[1] - discount) / (n[0] - discount))
        chosen, log_choice = choose_half(difference, forced, target[t], rng)
        log_probability += log_choice
        n[chosen] += 1.0
        if is_grouped(state):
            seated[chosen, state.group[i]] += 1
        if chosen != own and not is_out:
            put(state, halves + own, i, -1.0)
        if chosen != own or is_out:
            put(state, halves + chosen, i, 1.0)
        side[t] = chosen
        if forced and room + log_probability <= 0.0:
            break
    return log_probability


@linked
def _join(state: State, first: int, second: int) -> None:
    """Give all data of a leaf to another."""
    add_sums(state, first, second)
    renew(state, first)
    while state.first[second] != NULL:
        i = state.first[second]
        rise(state, i)
        sit(state, i, first)
    state.nodes[first].n += state.nodes[second].n
    if is_grouped(state):
        state.seated[first] += state.seated[second]
        join_leaf_sticks(state, first, second)
    unlink(state, second)
    give_up(state, second)
    list_nodes(state)


@linked
def _break(state: State, first: int, halves: int, members: Index, side: Index, j: int) -> int:
    """Give j and the data of half 1 to a new leaf beside the first, and return that."""
    new = make_node(state, state.levels.size - 1)
    link(state, new, state.nodes[first].parent)
    clear(state, first)
    add_sums(state, first, halves)
    add_sums(state, new, halves + 1)
    renew(state, first)
    renew(state, new)
    rise(state, j)
    sit(state, j, new)
    moved = 1
    for t in range(members.size):
        if side[t] == 1:
            rise(state, members[t])
            sit(state, members[t], new)
            moved += 1
    state.nodes[new].n = moved
    state.nodes[first].n -= moved
    list_nodes(state)
    return new
