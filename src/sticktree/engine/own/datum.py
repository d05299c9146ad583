"""The datum move: take one datum out, and let it choose its leaf given all others.

Given φ at the inner nodes, the weight of a leaf is that of its path times its predictive density.
So is that of a new leaf below a node of the last inner level. A new branch that starts higher up
has nodes whose φ nobody knows: some such branches are drawn from the prior, place and φ, and stand
for all (R. M. Neal, Journal of Computational and Graphical Statistics 9, 2000, algorithm 8). If the
datum was alone on its branch, that branch is one of them.

The choice is by the largest of log weight plus Gumbel noise. The noise is drawn first: then a leaf
is given up as soon as the columns looked at so far rule it out, and the choice is exact.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.links import (
    ALIVE,
    DISCOUNT,
    FREE,
    ROOT,
    UNLISTED,
    Index,
    add_data,
    list_nodes,
)
from sticktree.engine.common.random import RandomState, normal, uniform
from sticktree.engine.own.leaves import (
    expect,
    has_gaps,
    is_plain,
    log_predictive,
    log_predictive_plain,
    put,
)
from sticktree.engine.own.state import NOWHERE, PHI, SPARE, TOTAL, State
from sticktree.engine.own.structure import grow, hang, make_node, prune
from sticktree.jit import inlined, jit, linked
from sticktree.tree.arrays import NULL

AUXILIARY = 3  # branches with nodes of their own that stand for all


@jit
def move_data(state: State, rows: Index, rng: RandomState) -> int:
    """Let data choose their leaves, one after the other; return how many changed.

    Data that are out of the tree come in.
    """
    chain = np.empty((state.levels.size, state.coordinates.shape[1]))
    before = np.empty((state.columns.size, state.entries.shape[2]))
    totals = np.empty(state.coordinates.shape[1])
    all_plain = is_plain(state)
    chains = np.empty((AUXILIARY, state.levels.size, state.coordinates.shape[1]))
    places = np.empty(AUXILIARY, dtype=np.int64)
    changed = 0
    for i in rows:
        leaf, base = state.leaf[i], 0.0
        if leaf != NULL:
            before[:], totals[:] = state.entries[leaf], state.coordinates[leaf, :, TOTAL]
            base = state.nodes[leaf].base
        old, cut = take_out(state, i, chain)
        if state.sizes[UNLISTED]:
            list_nodes(state)
        # A branch that went with the datum is the first that stands for new ones.
        kept = 0
        if cut != NULL and state.nodes[cut].level < state.levels.size - 2:
            kept, places[0] = 1, cut
            chains[0] = chain
        plain = all_plain and not has_gaps(state, i)
        node, which = _choose(state, i, old, kept, places, chains, plain, rng)
        if plain and node == old and which == NULL:
            # It stays: all is as it was, and need not be computed again.
            state.leaf[i] = old
            add_data(state, old, 1)
            state.entries[old], state.coordinates[old, :, TOTAL] = before, totals
            state.nodes[old].base = base
        elif which == NULL:
            enter(state, i, node, chain)
        else:
            enter(state, i, node, chains[which])
        changed += state.leaf[i] != old
    if state.sizes[UNLISTED]:
        list_nodes(state)
    return changed


@linked
def take_out(state: State, i: int, chain: FloatArray) -> tuple[int, int]:
    """Take a datum out of its leaf.

    Return the leaf, or NULL if it is gone, and then the node that its branch hung on, or NULL.
    """
    leaf = state.leaf[i]
    if leaf == NULL:
        return NULL, NULL
    state.leaf[i] = NULL
    add_data(state, leaf, -1)
    if state.nodes[leaf].n > 0:
        put(state, leaf, i, -1.0)
        return leaf, NULL
    cut = prune(state, leaf, chain)
    state.nodes[leaf].next_sibling = state.sizes[FREE]
    state.sizes[FREE] = leaf
    return NULL, cut


@linked
def enter(state: State, i: int, node: int, chain: FloatArray) -> None:
    """Put a datum into a leaf, or into a new one below an inner node by way of a chain."""
    depth = state.levels.size - 1
    if state.nodes[node].level < depth:
        above = grow(state, node, depth - 1, chain)
        node = make_node(state, depth)
        hang(state, node, above)
    state.leaf[i] = node
    add_data(state, node, 1)
    put(state, node, i, 1.0)


@inlined
def _share(state: State, node: int, d: float) -> float:
    """Return the probability to go from a node's parent to the node."""
    above = state.nodes[node].parent
    alpha = state.levels[state.nodes[above].level].alpha
    return (state.nodes[node].n - d) / (state.nodes[above].n + alpha)


@inlined
def opening(state: State, node: int, d: float) -> float:
    """Return the probability that a datum which comes to a node opens a branch there."""
    alpha = state.levels[state.nodes[node].level].alpha
    if state.nodes[node].n == 0:  # in an empty tree there is no choice, and n + α may be 0
        return 1.0
    return (alpha + d * state.nodes[node].n_children) / (state.nodes[node].n + alpha)


@linked
def set_paths(state: State) -> float:
    """Fill in the probability of the path to every node; return that of a new inner node."""
    d, last = state.scalars[DISCOUNT], state.levels.size - 2
    fresh = 0.0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if node == ROOT:
            state.nodes[node].path = 1.0
        else:
            above = state.nodes[node].parent
            state.nodes[node].path = state.nodes[above].path * _share(state, node, d)
        if state.nodes[node].level < last:
            fresh += state.nodes[node].path * opening(state, node, d)
    return fresh


@linked
def draw_chain(state: State, at: int, chain: FloatArray, rng: RandomState) -> None:
    """Draw φ of the inner nodes of a new branch below a node from the prior."""
    level = state.nodes[at].level
    for p in range(state.coordinates.shape[1]):
        value = state.coordinates[at, p, PHI]
        for j in range(level + 1, state.levels.size - 1):
            value += math.sqrt(state.variance[j, p]) * normal(rng)
            chain[j, p] = value


@linked
def draw_place(state: State, fresh: float, rng: RandomState) -> int:
    """Draw where a branch with inner nodes of its own starts."""
    d, last = state.scalars[DISCOUNT], state.levels.size - 2
    point, chosen = uniform(rng) * fresh, ROOT
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level < last:
            chosen = node
            point -= state.nodes[node].path * opening(state, node, d)
            if point < 0.0:
                break
    return chosen


@linked
def lend(state: State, spare: int, chain: FloatArray) -> int:
    """Make a spare row the last inner node of a chain; return its number."""
    node, last = state.nodes.size - SPARE + spare, state.levels.size - 2
    state.nodes[node].level = last
    for p in range(state.coordinates.shape[1]):
        state.coordinates[node, p, PHI] = chain[last, p]
    expect(state, node)
    return node


@inlined
def _race(weight: float, rng: RandomState) -> float:
    """Return log weight plus Gumbel noise."""
    return -math.log(-math.log(1.0 - uniform(rng)) / weight)


@linked
def _choose(
    state: State,
    i: int,
    old: int,
    kept: int,
    places: Index,
    chains: FloatArray,
    plain: bool,
    rng: RandomState,
) -> tuple[int, int]:
    """Choose a leaf, or an inner node with the number of the chain to go on by, or NULL."""
    depth, d = state.levels.size - 1, state.scalars[DISCOUNT]
    gaps = has_gaps(state, i)
    fresh = set_paths(state)
    best, chosen, which = -math.inf, NOWHERE, NOWHERE
    if old != NULL:
        start = _race(state.nodes[old].path, rng)
        best, chosen = start + log_predictive(state, old, i, gaps, -math.inf), old
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if level < depth - 1 or node == old:
            continue
        weight = state.nodes[node].path
        if level < depth:
            weight *= opening(state, node, d)
        start = _race(weight, rng)
        if plain:
            value = start + log_predictive_plain(state, node, i, best - start)
        else:
            value = start + log_predictive(state, node, i, gaps, best - start)
        if value > best:
            best, chosen = value, node
    if fresh > 0.0:
        for k in range(AUXILIARY):
            if k >= kept:
                places[k] = draw_place(state, fresh, rng)
                draw_chain(state, places[k], chains[k], rng)
            start = _race(fresh / AUXILIARY, rng)
            node = lend(state, 0, chains[k])
            value = start + log_predictive(state, node, i, gaps, best - start)
            if value > best:
                best, chosen, which = value, places[k], k
    return chosen, which
