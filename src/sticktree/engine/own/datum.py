"""The datum move: take one datum out, and let it choose its leaf given all others.

Given φ at the inner nodes, leaves are independent: what a leaf says of a datum does not change when
another leaf loses it. And its own leaf without the datum is known by what it is with it (see
`log_within`). So a datum that stays where it was, as most do, leaves all as it was, and nothing is
computed anew but the numbers of data on the path. How it chooses is in places.py.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import add_of_group, break_for_one, is_grouped
from sticktree.engine.common.links import UNLISTED, Index, add_data, list_nodes
from sticktree.engine.common.random import RandomState
from sticktree.engine.own.branches import set_reach
from sticktree.engine.own.leaves import has_gaps, log_predictive, log_within, put
from sticktree.engine.own.places import AUXILIARY, choose
from sticktree.engine.own.state import NOWHERE, State
from sticktree.engine.own.structure import give_up, grow, hang, make_node, prune, rise, sit
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL


@jit
def move_data(state: State, rows: Index, rng: RandomState) -> int:
    """Let data choose their leaves, one after the other; return how many changed.

    Data that are out of the tree come in.
    """
    places = np.empty(AUXILIARY, dtype=np.int64)
    chains = np.empty((AUXILIARY, state.levels.size, state.coordinates.shape[1]))
    changed = 0
    set_reach(state)
    for i in rows:
        if is_grouped(state):
            state.present[0] = state.group[i]
        changed += _move(state, i, places, chains, rng)
    if state.sizes[UNLISTED]:
        list_nodes(state)
    return changed


@linked
def _move(state: State, i: int, places: Index, chains: FloatArray, rng: RandomState) -> int:
    """Let one datum choose its leaf given all others; return 1 if it changed, else 0."""
    gaps, old, value, kept, is_out = has_gaps(state, i), state.leaf[i], 0.0, 0, True
    if old != NULL:
        old, value, is_out = hold(state, i, gaps)
        if old == NULL:
            cut = take_out(state, i, chains[0])
            # A branch that went with the datum is the first that stands for new ones.
            if state.nodes[cut].level < state.levels.size - 2:
                kept, places[0] = 1, cut
    node, which = choose(state, i, gaps, old, value, kept, places, chains, rng)
    if node == old and which == NULL:
        release(state, i, is_out)
        return 0
    if old != NULL:
        rise(state, i)
        if not is_out:
            put(state, old, i, -1.0)
    enter(state, i, node, chains[max(which, 0)], rng)
    return 1


@linked
def hold(state: State, i: int, gaps: bool) -> tuple[int, float, bool]:
    """Take a datum off the counts of its leaf, for a moment.

    Return the leaf, or NULL if the datum is alone there, its log density given the others, and
    whether it had to be taken off the sums of the leaf, too. `release` undoes it.
    """
    leaf = state.leaf[i]
    if state.nodes[leaf].n == 1:
        return NOWHERE, 0.0, False
    value, is_out = log_within(state, leaf, i, gaps), False
    if math.isnan(value):
        is_out = True
        put(state, leaf, i, -1.0)
        value = log_predictive(state, leaf, i, gaps, -math.inf)
    add_data(state, leaf, -1)
    if is_grouped(state):
        add_of_group(state, leaf, state.group[i], -1)
    return leaf, value, is_out


@linked
def release(state: State, i: int, is_out: bool) -> None:
    """Undo `hold`."""
    leaf = state.leaf[i]
    add_data(state, leaf, 1)
    if is_grouped(state):
        add_of_group(state, leaf, state.group[i], 1)
    if is_out:
        put(state, leaf, i, 1.0)


@linked
def take_out(state: State, i: int, chain: FloatArray) -> int:
    """Take a datum that is alone on a leaf out with its branch; return where that hung.

    φ of the branch goes into ``chain``.
    """
    leaf = state.leaf[i]
    rise(state, i)
    add_data(state, leaf, -1)
    if is_grouped(state):
        add_of_group(state, leaf, state.group[i], -1)
    cut = prune(state, leaf, chain)
    give_up(state, leaf)
    return cut


@linked
def enter(state: State, i: int, node: int, chain: FloatArray, rng: RandomState) -> None:
    """Put a datum into a leaf, or into a new one below an inner node by way of a chain."""
    depth = state.levels.size - 1
    if state.nodes[node].level < depth:
        at = node
        above = grow(state, at, depth - 1, chain)
        node = make_node(state, depth)
        hang(state, node, above)
        if is_grouped(state):
            break_for_one(state, node, at, rng)
    sit(state, i, node)
    add_data(state, node, 1)
    if is_grouped(state):
        add_of_group(state, node, state.group[i], 1)
    put(state, node, i, 1.0)
