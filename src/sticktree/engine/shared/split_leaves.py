"""The split–merge move: break a leaf in two siblings, or join two sibling leaves.

S. Jain and R. M. Neal, Journal of Computational and Graphical Statistics 13, 2004. Two data below
one node of the last level but one are drawn. If they share a leaf, a split is proposed with one of
them in each half; otherwise the join of their leaves. The halves come from a few restricted Gibbs
scans over the other data of the leaf, in which the two halves are taken as independent given the
rest of the tree. They are not, quite; the acceptance ratio is exact all the same, as the proposal
may be anything whose probability is known. Siblings suffice, as regrafts carry leaves between
parents.
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
from sticktree.engine.common.groups import add_group, is_grouped
from sticktree.engine.common.links import DISCOUNT, LEAVES, Index, add_data
from sticktree.engine.common.random import RandomState, integer, uniform
from sticktree.engine.common.seating import choose_half, log_split
from sticktree.engine.shared.messages import count_siblings, look_outside
from sticktree.engine.shared.seats import settle
from sticktree.engine.shared.state import NOISE, State, attach, detach, make_node, release_node
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL

SCANS = 3  # restricted Gibbs scans before the one that proposes


@jit
def split_merge_sweep(state: State, rng: RandomState, n_moves: int) -> int:
    """Propose ``n_moves`` splits or merges; return how many were accepted."""
    accepted = 0
    rows = np.empty(state.leaf.size, dtype=np.int64)
    start = np.empty(state.leaves.size, dtype=np.int64)
    _list_rows(state, rows, start)
    for _ in range(n_moves):
        if split_merge(state, rows, start, rng) == 1:
            accepted += 1
            _list_rows(state, rows, start)
    return accepted


@linked
def _list_rows(state: State, rows: Index, start: Index) -> None:
    """List the data leaf by leaf; those of the leaf in a slot begin at the slot's ``start``."""
    end = 0
    for slot in range(state.sizes[LEAVES]):
        end += state.nodes[state.leaves[slot]].n
        start[slot] = end
    for i in range(state.leaf.size - 1, -1, -1):
        slot = state.nodes[state.leaf[i]].slot
        start[slot] -= 1
        rows[start[slot]] = i


@linked
def split_merge(state: State, rows: Index, start: Index, rng: RandomState) -> int:
    """Propose one split or merge; return 1 if it was accepted, else 0."""
    depth = state.levels.size - 1
    n_data, dimension = state.data.shape
    i = integer(rng, n_data)
    first = state.leaf[i]
    j = _other(state, rows, start, i, rng)
    if j == NULL:
        return 0
    second = state.leaf[j]
    merging = first != second
    members = np.empty(state.nodes[first].n + state.nodes[second].n, dtype=np.int64)
    n_members = 0
    for half in range(2 if merging else 1):
        leaf = second if half == 1 else first
        begin = start[state.nodes[leaf].slot]
        for k in range(begin, begin + state.nodes[leaf].n):
            if rows[k] not in (i, j):
                members[n_members] = rows[k]
                n_members += 1
    members = members[:n_members]

    d, alpha = state.scalars[DISCOUNT], state.levels[depth - 1].alpha
    n_siblings = count_siblings(state, first, depth)
    mean = np.empty(dimension)
    variance = look_outside(state, first, second, depth, mean)

    side = np.empty(n_members, dtype=np.int64)
    n = np.ones(2)
    seated = np.zeros((2, state.seated.shape[1]), dtype=np.int64)  # the groups of each half
    parent = state.nodes[first].parent
    top = parent if state.nodes[parent].level == depth - 1 else first
    sticks = leaf_sticks(state, first, second, top)
    if is_grouped(state):
        seated[0, state.group[i]] += 1
        seated[1, state.group[j]] += 1
    total = np.empty((2, dimension))
    for e in range(dimension):
        total[0, e], total[1, e] = state.data[i, e], state.data[j, e]
    for t in range(n_members):
        side[t] = integer(rng, 2)
        _put(state, members[t], side[t], 1.0, n, total, seated)
    target = np.empty(n_members, dtype=np.int64)
    for t in range(n_members):
        target[t] = 0 if state.leaf[members[t]] == first else 1
    by_size = _weights_by_size(state, n_members + 2, dimension, variance)
    log_proposal = 0.0
    for scan in range(SCANS + 1):
        last = scan == SCANS
        log_proposal = _scan(
            state, members, side, target, merging and last, last, n, total, mean, by_size,
            seated, 0.5 * state.gamma[0] * sticks.stick[0], rng,
        )  # fmt: skip

    both = np.empty(dimension)
    for e in range(dimension):
        both[e] = total[0, e] + total[1, e]
    n_before = n_siblings - 1 if merging else n_siblings
    if is_grouped(state):
        log_prior = log_leaf_split(state, n_before, sticks, seated, not merging, rng)
    else:
        log_prior = log_split(alpha, d, n_before, n[0], n[1])
    log_ratio = (
        log_prior
        + _evidence(state, n[0], total[0], n[1], total[1], mean, variance)
        - _evidence(state, n[0] + n[1], both, 0.0, both, mean, variance)
        - log_proposal
    )
    if math.log(1.0 - uniform(rng)) >= (-log_ratio if merging else log_ratio):
        return 0
    if merging:
        _merge(state, first, second, members, j)
    else:
        new = _split(state, first, members, side, j)
        if is_grouped(state):
            give_leaf_sticks(state, first, new, sticks)
    settle(state)
    return 1


@linked
def _other(state: State, rows: Index, start: Index, i: int, rng: RandomState) -> int:
    """Draw another datum below the same node of the last level but one; NULL if there is none."""
    leaf = state.leaf[i]
    parent = state.nodes[leaf].parent
    shared = state.nodes[parent].level == state.levels.size - 2
    n_others = state.nodes[parent if shared else leaf].n - 1
    if n_others < 1:
        return NULL
    left = integer(rng, n_others)
    other = state.nodes[parent].first_child if shared else leaf
    # The place of i is taken by the last datum, which cannot be drawn itself.
    last = NULL
    chosen = NULL
    while other != NULL:
        size = state.nodes[other].n
        begin = start[state.nodes[other].slot]
        if 0 <= left < size:
            chosen = rows[begin + left]
        left -= size
        last = rows[begin + size - 1]
        other = state.nodes[other].next_sibling if shared else NULL
    return last if chosen == i else chosen


@linked
def _put(
    state: State,
    t: int,
    side: int,
    sign: float,
    n: FloatArray,
    total: FloatArray,
    seated: Index,
) -> None:
    """Add a datum to one half, or take it away."""
    n[side] += sign
    if is_grouped(state):
        seated[side, state.group[t]] += int(sign)
    for d in range(total.shape[1]):
        total[side, d] += sign * state.data[t, d]


@linked
def _weights_by_size(state: State, size: int, dimension: int, variance: float) -> FloatArray:
    """Return what the weight of a half depends on besides its centre, by its number of data n.

    Rows are 1/(r P), 1/(2 s), and log(n − d) − (D/2) log s, where P is the precision of the
    half's φ and s its predictive variance; the last entry of the first row is 1/V, the prior's.
    """
    r, d = state.scalars[NOISE], state.scalars[DISCOUNT]
    prior = 1.0 / (variance + state.levels[state.levels.size - 1].scale)
    out = np.empty((3, size + 1))
    for n in range(1, size):
        precision = prior + n / r
        spread = 1.0 / precision + r
        out[0, n] = 1.0 / (r * precision)
        out[1, n] = 0.5 / spread
        chance = 0.0 if is_grouped(state) else math.log(n - d)
        out[2, n] = chance - 0.5 * dimension * math.log(spread)
    out[0, size] = prior * r
    return out


@linked
def _scan(
    state: State,
    members: Index,
    side: Index,
    target: Index,
    forced: bool,
    priced: bool,
    n: FloatArray,
    total: FloatArray,
    mean: FloatArray,
    by_size: FloatArray,
    seated: Index,
    half_stick: float,
    rng: RandomState,
) -> float:
    """Let every member choose a half in turn, or force it to ``target``.

    Return the log probability of all choices, if it is asked for (``priced``). With groups, a half
    has ``half_stick``, γ times half the stick of both, and ``seated`` data of each group.
    """
    pull = by_size[0, by_size.shape[1] - 1]
    log_probability = 0.0
    for t in range(members.size):
        i = members[t]
        _put(state, i, side[t], -1.0, n, total, seated)
        first, second = int(n[0]), int(n[1])
        square, other = 0.0, 0.0
        for d in range(mean.size):
            y, centre = state.data[i, d], mean[d] * pull
            square += (y - (centre + total[0, d]) * by_size[0, first]) ** 2
            other += (y - (centre + total[1, d]) * by_size[0, second]) ** 2
        # log weight of half 1 minus that of half 0
        difference = (by_size[2, second] - other * by_size[1, second]) - (
            by_size[2, first] - square * by_size[1, first]
        )
        if is_grouped(state):
            j = state.group[i]
            difference += math.log((seated[1, j] + half_stick) / (seated[0, j] + half_stick))
        if priced:
            side[t], log_choice = choose_half(difference, forced, target[t], rng)
            log_probability += log_choice
        else:
            side[t] = 1 if uniform(rng) * (1.0 + math.exp(-difference)) < 1.0 else 0
        _put(state, i, side[t], 1.0, n, total, seated)
    return log_probability


@linked
def _evidence(
    state: State,
    n: float,
    total: FloatArray,
    n_other: float,
    total_other: FloatArray,
    mean: FloatArray,
    variance: float,
) -> float:
    """Return the log likelihood of one leaf, or two, below φ ~ N(mean, variance).

    What is the same however the data are divided is left out.
    """
    r, step = state.scalars[NOISE], state.levels[state.levels.size - 1].scale
    dimension = mean.size
    first = 1.0 / (r + n * step)
    second = 1.0 / (r + n_other * step)
    precision = n * first + n_other * second
    value = dimension * math.log(r * first)
    if n_other > 0.0:
        value += dimension * math.log(r * second)
    joint = 1.0 / (1.0 + precision * variance)
    value += dimension * math.log(joint)
    for d in range(dimension):
        weighted = total[d] * first
        value += step * total[d] * weighted / r
        if n_other > 0.0:
            weighted += total_other[d] * second
            value += step * total_other[d] ** 2 * second / r
        value += joint * (
            variance * weighted**2 + 2.0 * weighted * mean[d] - precision * mean[d] ** 2
        )
    return 0.5 * value


@linked
def _split(state: State, leaf: int, members: Index, side: Index, j: int) -> int:
    """Move ``j`` and the members of its half to a new sibling of the leaf, and return that."""
    depth = state.levels.size - 1
    new = make_node(state, depth)
    moved = 0
    for t in range(members.size + 1):
        if t < members.size and side[t] == 0:
            continue
        datum = members[t] if t < members.size else j
        state.leaf[datum] = new
        moved += 1
        if is_grouped(state):
            state.seated[new, state.group[datum]] += 1
        for d in range(state.total.shape[1]):
            state.total[new, d] += state.data[datum, d]
            state.total[leaf, d] -= state.data[datum, d]
    add_data(state, leaf, -moved)
    if is_grouped(state):
        add_group(state, leaf, new, -1)
    state.nodes[new].n = moved
    parent = state.nodes[leaf].parent
    attach(state, new, parent if state.nodes[parent].level == depth - 1 else leaf, depth - 1)
    return new


@linked
def _merge(state: State, leaf: int, other: int, members: Index, j: int) -> None:
    """Move all data of ``other`` into ``leaf``."""
    for t in range(members.size):
        if state.leaf[members[t]] == other:
            state.leaf[members[t]] = leaf
    state.leaf[j] = leaf
    for d in range(state.total.shape[1]):
        state.total[leaf, d] += state.total[other, d]
    n = state.nodes[other].n
    if is_grouped(state):  # the stick goes to the leaf, not to what is left
        join_leaf_sticks(state, leaf, other)
    detach(state, other)
    add_data(state, leaf, n)
    if is_grouped(state):
        add_group(state, leaf, other, 1)
    release_node(state, other)
