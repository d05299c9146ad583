"""The split–merge move: break a leaf in two siblings, or join two sibling leaves.

S. Jain and R. M. Neal, Journal of Computational and Graphical Statistics 13, 2004. Given φ of their
parent, sibling leaves are independent, and the halves come from restricted Gibbs scans with the
leaves' own predictive densities.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.links import (
    DISCOUNT,
    UNLISTED,
    Index,
    link,
    list_nodes,
    unlink,
)
from sticktree.engine.common.random import RandomState, integer, uniform
from sticktree.engine.common.seating import choose_half, log_split
from sticktree.engine.own.leaves import (
    clear,
    has_gaps,
    log_evidence,
    log_predictive,
    put,
    renew,
)
from sticktree.engine.own.state import NOWHERE, SPARE, State
from sticktree.engine.own.structure import give_up, make_node, sit
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
    n_data = state.leaf.size
    i = integer(rng, n_data)
    first = state.leaf[i]
    node = state.nodes[first].parent
    j, n_others = NOWHERE, 0
    for t in range(n_data):
        if t != i and state.nodes[state.leaf[t]].parent == node:
            n_others += 1
            if uniform(rng) * n_others < 1.0:
                j = t
    if j == NULL:
        return 0
    second = state.leaf[j]
    merging = first != second
    members = np.empty(n_others, dtype=np.int64)
    n_members = 0
    for t in range(n_data):
        if t != i and t != j and (state.leaf[t] == first or state.leaf[t] == second):
            members[n_members] = t
            n_members += 1
    members = members[:n_members]

    halves = state.nodes.size - SPARE + 1  # three spare rows: two halves, and both together
    for k in range(3):
        state.nodes[halves + k].level = state.levels.size - 1
        state.nodes[halves + k].parent = node
        clear(state, halves + k)
        renew(state, halves + k)
    n = np.ones(2)
    put(state, halves, i, 1.0)
    put(state, halves + 1, j, 1.0)
    side, target = np.empty(n_members, dtype=np.int64), np.empty(n_members, dtype=np.int64)
    for t in range(n_members):
        side[t] = integer(rng, 2)
        target[t] = 0 if state.leaf[members[t]] == first else 1
        n[side[t]] += 1.0
        put(state, halves + side[t], members[t], 1.0)
    log_proposal = 0.0
    for scan in range(SCANS + 1):
        forced = merging and scan == SCANS
        log_proposal = _scan(state, halves, members, side, target, forced, n, rng)

    both = halves + 2
    put(state, both, i, 1.0)
    put(state, both, j, 1.0)
    for t in range(n_members):
        put(state, both, members[t], 1.0)
    d = state.scalars[DISCOUNT]
    alpha = state.levels[state.levels.size - 2].alpha
    n_siblings = state.nodes[node].n_children
    log_ratio = (
        log_split(alpha, d, n_siblings - 1 if merging else n_siblings, n[0], n[1])
        + log_evidence(state, halves, node)
        + log_evidence(state, halves + 1, node)
        - log_evidence(state, both, node)
        - log_proposal
    )
    if not math.log(1.0 - uniform(rng)) < (-log_ratio if merging else log_ratio):
        return 0
    # The data of both leaves, those of the first half first.
    rows = np.empty(n_members + 2, dtype=np.int64)
    rows[0], rows[n_members + 1] = i, j
    low, high = 1, n_members
    for t in range(n_members):
        if side[t] == 0:
            rows[low] = members[t]
            low += 1
        else:
            rows[high] = members[t]
            high -= 1
    if merging:
        unlink(state, second)
        give_up(state, second)
        _fill(state, first, rows)
    else:
        new = make_node(state, state.levels.size - 1)
        link(state, new, node)
        _fill(state, first, rows[:low])
        _fill(state, new, rows[low:])
    state.sizes[UNLISTED] = 1
    list_nodes(state)
    return 1


@linked
def _scan(
    state: State,
    halves: int,
    members: Index,
    side: Index,
    target: Index,
    forced: bool,
    n: FloatArray,
    rng: RandomState,
) -> float:
    """Let every member choose a half in turn, or force it to ``target``; return log probability."""
    discount = state.scalars[DISCOUNT]
    log_probability = 0.0
    for t in range(members.size):
        i = members[t]
        put(state, halves + side[t], i, -1.0)
        n[side[t]] -= 1.0
        gaps = has_gaps(state, i)
        # log weight of half 1 minus that of half 0
        difference = math.log((n[1] - discount) / (n[0] - discount))
        difference += log_predictive(state, halves + 1, i, gaps, -math.inf)
        difference -= log_predictive(state, halves, i, gaps, -math.inf)
        chosen, log_choice = choose_half(difference, forced, target[t], rng)
        log_probability += log_choice
        side[t] = chosen
        n[chosen] += 1.0
        put(state, halves + chosen, i, 1.0)
    return log_probability


@linked
def _fill(state: State, leaf: int, rows: Index) -> None:
    """Make these data those of a leaf."""
    clear(state, leaf)
    renew(state, leaf)
    state.first[leaf] = NULL
    for i in rows:
        sit(state, i, leaf)
        put(state, leaf, i, 1.0)
    state.nodes[leaf].n = rows.size
