"""The split–merge move above the leaves: break a node in two siblings, or join two sibling nodes.

What `split_merge` does for the data of leaves, this does for the subtrees of a node at level l < L.
Items are the subtrees that start at level l + 1; to the rest of the tree each is one datum, by its
upward message. Two items below one node of level l − 1 are drawn. If they share their node of level
l, a split is proposed with one of them in each half; otherwise the join of their nodes. The halves
come from restricted Gibbs scans over the other items (S. Jain and R. M. Neal, Journal of
Computational and Graphical Statistics 13, 2004). Levels and items are drawn in a way that the move
does not change. A regraft takes one subtree at a time; this takes half a node at once.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.group_moves import log_seats_of_half
from sticktree.engine.common.group_nodes import (
    NodeSticks,
    log_node_split,
    put_parents,
    share_rest,
    sticks_of,
)
from sticktree.engine.common.groups import is_grouped
from sticktree.engine.common.links import ALIVE, DISCOUNT, ROOT, Index
from sticktree.engine.common.random import RandomState, integer, uniform
from sticktree.engine.common.seating import (
    choose_half,
    log_children,
    log_seats,
    log_split,
)
from sticktree.engine.shared.messages import count_siblings, look_outside
from sticktree.engine.shared.seats import settle
from sticktree.engine.shared.state import State, attach, detach
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL

SCANS = 2  # restricted Gibbs scans before the one that proposes


@jit
def node_split_sweep(state: State, rng: RandomState, n_moves: int) -> int:
    """Propose ``n_moves`` splits or merges of nodes; return how many were accepted."""
    accepted = 0
    if state.levels.size < 3:
        return 0
    for _ in range(n_moves):
        accepted += node_split(state, 1 + integer(rng, state.levels.size - 2), rng)
    return accepted


@linked
def _point(state: State, node: int, level: int) -> int:
    """Return the node at or below the point at ``level`` on the way from the root to a node."""
    while state.nodes[state.nodes[node].parent].level >= level > 0:
        node = state.nodes[node].parent
    return node if level > 0 else ROOT


@linked
def node_split(state: State, level: int, rng: RandomState) -> int:
    """Propose one split or merge of nodes at ``level``; return 1 if it was accepted, else 0."""
    dimension = state.data.shape[1]
    i, j, items = _choose_items(state, level, rng)
    if j == NULL:
        return 0
    first, second = _point(state, i, level), _point(state, j, level)
    merging = first != second
    n_siblings = count_siblings(state, first, level)
    mean = np.empty(dimension)
    variance = look_outside(state, first, second, level, mean)

    # Items between i and j, then i and j themselves, as data of precision λ and mean x.
    n_items = 0
    for k in range(items.size):
        item = items[k]
        point = _point(state, item, level)
        if item != i and item != j and point in (first, second):
            items[n_items] = item
            n_items += 1
    members = np.empty(n_items + 2, dtype=np.int64)
    for t in range(n_items):
        members[t] = items[t]
    members[n_items], members[n_items + 1] = i, j
    size = np.empty(n_items + 2, dtype=np.int64)
    precision, weighted = np.empty(n_items + 2), np.empty((n_items + 2, dimension))
    for t in range(n_items + 2):
        item = members[t]
        edge = state.levels[state.nodes[item].level].reach - state.levels[level].reach
        gain = 1.0 / (1.0 + state.nodes[item].precision * edge)
        size[t] = state.nodes[item].n
        precision[t] = state.nodes[item].precision * gain
        for e in range(dimension):
            weighted[t, e] = state.weighted[item, e] * gain

    side = np.empty(n_items + 2, dtype=np.int64)
    half_n, half_k = np.zeros(2), np.zeros(2, dtype=np.int64)
    half_precision, half_weighted = np.zeros(2), np.zeros((2, dimension))
    seated = np.zeros((2, state.seated.shape[1]), dtype=np.int64)  # the groups of each half
    halves = (half_n, half_k, half_precision, half_weighted, seated)
    target = np.empty(n_items + 2, dtype=np.int64)
    for t in range(n_items + 2):
        side[t] = integer(rng, 2) if t < n_items else t - n_items
        target[t] = 0 if _point(state, members[t], level) == first else 1
        _put(state, members[t], t, side[t], 1.0, size, precision, weighted, halves)
    sticks = sticks_of(state, first, second, _point(state, i, level - 1), level, members, target)
    log_proposal = 0.0
    for scan in range(SCANS + 1):
        log_proposal = _scan(
            state, level, members, side, target, merging and scan == SCANS,
            sticks, size, precision, weighted, halves, mean, variance, rng,
        )  # fmt: skip

    d = state.scalars[DISCOUNT]
    alpha = state.levels[level - 1].alpha
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
    log_ratio = (
        log_prior
        + _evidence(state, level, half_precision, half_weighted, mean, variance)
        - log_proposal
    )
    half_precision[0] += half_precision[1]
    half_precision[1] = 0.0
    for e in range(dimension):
        half_weighted[0, e] += half_weighted[1, e]
        half_weighted[1, e] = 0.0
    log_ratio -= _evidence(state, level, half_precision, half_weighted, mean, variance)
    if not math.log(1.0 - uniform(rng)) < (-log_ratio if merging else log_ratio):
        return 0
    _carry(state, level, members, target if merging else side, merging)
    if is_grouped(state):
        _give_sticks(state, level, members, side, merging, sticks)
    settle(state)
    return 1


@linked
def _give_sticks(
    state: State, level: int, members: Index, side: Index, merging: bool, sticks: NodeSticks
) -> None:
    """Give all items, their nodes and the point above these the sticks that they have now."""
    top = _point(state, members[0], level - 1)
    state.rest[top, level - 1] = sticks.above[1]
    for p in range(state.elder.size):
        state.theta_rest[top, level - 1, p] = sticks.parents_above[1, p]
    for t in range(members.size):
        node = _point(state, members[t], level)
        if merging:
            state.stick[node, level - 1] = sticks.above[0]
            state.rest[node, level] = sticks.rest[0]
            state.stick[members[t], level] = sticks.item[t]
            put_parents(state, node, members[t], t, level, 0, merging, sticks)
        else:
            half = side[t]
            state.stick[node, level - 1] = sticks.above[0] * sticks.share[half]
            state.rest[node, level] = sticks.rest[1 + half] / sticks.share[half]
            state.stick[members[t], level] = sticks.item[t] / sticks.share[half]
            put_parents(state, node, members[t], t, level, half, merging, sticks)


@linked
def _choose_items(state: State, level: int, rng: RandomState) -> tuple[int, int, Index]:
    """Draw a subtree and another below the same node two levels up; list all that are there."""
    items = np.empty(state.sizes[ALIVE], dtype=np.int64)
    n_items, i = 0, NULL
    for k in range(1, state.sizes[ALIVE]):
        node = state.order[k]
        above = state.nodes[state.nodes[node].parent].level
        if above <= level < state.nodes[node].level:
            items[n_items] = node
            n_items += 1
            if uniform(rng) * n_items < 1.0:
                i = node
    top = _point(state, i, level - 1)
    n_others, j = 0, NULL
    n_kept = 0
    for k in range(n_items):
        item = items[k]
        if _point(state, item, level - 1) == top:
            items[n_kept] = item
            n_kept += 1
            if item != i:
                n_others += 1
                if uniform(rng) * n_others < 1.0:
                    j = item
    return i, j, items[:n_kept]


@linked
def _put(
    state: State,
    item: int,
    t: int,
    side: int,
    sign: float,
    size: Index,
    precision: FloatArray,
    weighted: FloatArray,
    halves: tuple[FloatArray, Index, FloatArray, FloatArray, Index],
) -> None:
    """Add an item to one half, or take it away."""
    half_n, half_k, half_precision, half_weighted, seated = halves
    for j in range(seated.shape[1]):
        seated[side, j] += int(sign) * state.seated[item, j]
    half_n[side] += sign * size[t]
    half_k[side] += 1 if sign > 0.0 else -1
    half_precision[side] += sign * precision[t]
    for d in range(half_weighted.shape[1]):
        half_weighted[side, d] += sign * weighted[t, d]


@linked
def _scan(
    state: State,
    level: int,
    members: Index,
    side: Index,
    target: Index,
    forced: bool,
    sticks: NodeSticks,
    size: Index,
    precision: FloatArray,
    weighted: FloatArray,
    halves: tuple[FloatArray, Index, FloatArray, FloatArray, Index],
    mean: FloatArray,
    variance: float,
    rng: RandomState,
) -> float:
    """Let all but the last two items choose a half in turn, or force them; return log probability.

    The two halves are taken as independent given the rest of the tree.
    """
    half_n, half_k, half_precision, half_weighted, seated = halves
    half_stick = 0.5 * state.gamma[0] * sticks.above[0]
    discount, alpha = state.scalars[DISCOUNT], state.levels[level].alpha
    prior = 1.0 / (variance + state.levels[level].scale)
    log_probability = 0.0
    for t in range(side.size - 2):
        _put(state, members[t], t, side[t], -1.0, size, precision, weighted, halves)
        own = 1.0 / precision[t]
        difference = 0.0  # log weight of half 1 minus that of half 0
        for half in range(2):
            total = prior + half_precision[half]
            spread = 1.0 / total + own
            square = 0.0
            for d in range(mean.size):
                centre = (mean[d] * prior + half_weighted[half, d]) / total
                square += (weighted[t, d] * own - centre) ** 2
            if is_grouped(state):
                weight = log_seats_of_half(state, half_stick, seated[half], members[t])
            else:
                weight = log_seats(alpha, discount, half_n[half], half_k[half], size[t])
            weight -= 0.5 * (mean.size * math.log(spread) + square / spread)
            difference += weight if half == 1 else -weight
        chosen, log_choice = choose_half(difference, forced, target[t], rng)
        log_probability += log_choice
        side[t] = chosen
        _put(state, members[t], t, chosen, 1.0, size, precision, weighted, halves)
    return log_probability


@linked
def _evidence(
    state: State,
    level: int,
    precision: FloatArray,
    weighted: FloatArray,
    mean: FloatArray,
    variance: float,
) -> float:
    """Return the log likelihood of two nodes below φ ~ N(mean, variance), or of one and none."""
    step = state.levels[level].scale
    dimension = mean.size
    gains = np.empty(2)
    total = 0.0
    for half in range(2):
        gains[half] = 1.0 / (1.0 + precision[half] * step)
        total += precision[half] * gains[half]
    joint = 1.0 / (1.0 + total * variance)
    value = dimension * (math.log(gains[0]) + math.log(gains[1]) + math.log(joint))
    for d in range(dimension):
        both = 0.0
        for half in range(2):
            both += weighted[half, d] * gains[half]
            value += step * gains[half] * weighted[half, d] ** 2
        value += joint * (variance * both**2 + 2.0 * both * mean[d] - total * mean[d] ** 2)
    return 0.5 * value


@linked
def _carry(state: State, level: int, members: Index, side: Index, merging: bool) -> None:
    """Hang the items of half 1 below the node of half 0, or below a new sibling of it."""
    i, j = members[members.size - 2], members[members.size - 1]
    detach(state, j)
    if merging:
        attach(state, j, _point(state, i, level), level)
    else:
        attach(state, j, _point(state, i, level - 1), level - 1)
    for t in range(members.size - 2):
        if side[t] == 1:
            detach(state, members[t])
            attach(state, members[t], _point(state, j, level), level)
