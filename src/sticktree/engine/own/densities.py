"""A state filled from a draw, and the densities of rows under it.

What leaves know of their data is counted row by row, or taken from sums. Densities are of the rows
in the tree, all together or each given the others, and of new ones.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.common.groups import is_grouped, restore_path, sticks_on_path
from sticktree.engine.common.links import (
    ALIVE,
    FREE,
    LEAVES,
    MADE,
    ROOT,
    UNLISTED,
    Index,
    add_data,
    link,
    list_nodes,
)
from sticktree.engine.common.random import RandomState
from sticktree.engine.own.branches import (
    bound_branch,
    draw_chain,
    draw_place,
    lend,
    propose_branch,
    set_paths,
    set_reach,
)
from sticktree.engine.own.datum import enter, hold, release, take_out
from sticktree.engine.own.hyper import settle
from sticktree.engine.own.kinds.dispatch import constants
from sticktree.engine.own.leaves import (
    clear,
    count,
    has_gaps,
    log_evidence,
    log_predictive,
    put,
)
from sticktree.engine.own.places import WEIGHT, chance, weigh_near
from sticktree.engine.own.state import (
    COUNT,
    FORM,
    FULL,
    NOWHERE,
    OUTER,
    SPARE,
    SQUARES,
    TOTAL,
    TWIGS,
    State,
)
from sticktree.engine.own.structure import list_data, make_node
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL

FRESH = 3  # draws of a new branch that stand for all, in a density
UNSEEN = 20.0  # what weighs less than e⁻²⁰ of the rest is left out of a density
FAINT = 7.0  # what weighs less than e⁻⁷ needs one such draw


@jit
def load_tree(state: State, parent: IntArray, level: IntArray, leaf: IntArray) -> None:
    """Replace the tree of a state by a full one whose nodes keep their numbers."""
    state.sizes[FREE] = NULL
    state.sizes[MADE] = 0
    state.sizes[LEAVES] = 0
    state.sizes[TWIGS] = 0
    for node in range(parent.size):
        made = make_node(state, int(level[node]))
        if node != ROOT:
            link(state, made, int(parent[node]))
    for i in range(leaf.size):
        state.leaf[i] = leaf[i]
        add_data(state, int(leaf[i]), 1)
    list_nodes(state)
    list_data(state)


@jit
def recount(state: State) -> None:
    """Compute all sums of the leaves from the data, and what depends on them."""
    depth = state.levels.size - 1
    for k in range(state.sizes[ALIVE]):
        if state.nodes[state.order[k]].level >= depth - 1:
            clear(state, state.order[k])
    for i in range(state.leaf.size):
        count(state, state.leaf[i], i, 1.0)
    settle(state)
    list_data(state)


@jit
def take_sums(
    state: State,
    leaves: Index,
    n: FloatArray,
    seen: FloatArray,
    total: FloatArray,
    squares: FloatArray,
    outer: FloatArray,
) -> None:
    """Give each leaf the sums of its rows; all else follows. ``outer`` is used if full."""
    list_nodes(state)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        state.nodes[node].n = 0
        if state.nodes[node].level >= state.levels.size - 2:
            clear(state, node)
    for k in range(leaves.size):
        leaf = leaves[k]
        state.nodes[leaf].n = int(n[k])
        for d in range(total.shape[1]):
            state.entries[leaf, d, COUNT] = seen[k, d]
            state.entries[leaf, d, SQUARES] = squares[k, d]
            state.coordinates[leaf, state.columns[d].offset, TOTAL] = total[k, d]
        if state.sizes[FORM] == FULL:
            state.matrices[leaf, OUTER] = outer[k]
    for k in range(state.sizes[ALIVE] - 1, 0, -1):
        node = state.order[k]
        state.nodes[state.nodes[node].parent].n += state.nodes[node].n
    settle(state)


@jit
def leave_one_out(state: State, raw: FloatArray, rng: RandomState) -> FloatArray:
    """Return the log density of every row of ``raw`` given all other rows.

    ``raw`` may differ from the state's data, where entries are imputed or spread over the width
    of their last digit. The state stays as it was.
    """
    n_data = state.leaf.size
    out = np.empty(n_data)
    chain = np.empty((state.levels.size, state.coordinates.shape[1]))
    way, row = np.empty_like(chain), np.empty(raw.shape[1])
    set_reach(state)
    for i in range(n_data):
        gaps, differs, cut = False, False, NOWHERE
        for d in range(row.size):
            row[d] = state.data[i, d]
            gaps |= math.isnan(raw[i, d])
            differs |= row[d] != raw[i, d] and not math.isnan(row[d])
        sticks = np.empty((0, 2))
        if is_grouped(state):
            state.present[0] = state.group[i]
            sticks = sticks_on_path(state, state.leaf[i])
        old, value, is_out = hold(state, i, gaps)
        if old == NULL:
            cut = take_out(state, i, chain)
        if differs:
            if old != NULL and not is_out:
                put(state, old, i, -1.0)
                is_out = True
            for d in range(row.size):
                state.data[i, d] = raw[i, d]
            if old != NULL:
                value = log_predictive(state, old, i, gaps, -math.inf)
        out[i] = weigh_all(state, i, gaps, old, value, way, rng)
        if differs:
            for d in range(row.size):
                state.data[i, d] = row[d]
        if old == NULL:
            enter(state, i, cut, chain, rng)
            if is_grouped(state):
                restore_path(state, state.leaf[i], sticks)
        else:
            release(state, i, is_out)
    if state.sizes[UNLISTED]:
        list_nodes(state)
    recount(state)
    return out


@jit
def log_likelihood(state: State) -> float:
    """Return the log evidence of all leaves, and what the data add wherever they sit."""
    value = 0.0
    for k in range(state.sizes[ALIVE]):
        leaf = state.order[k]
        if state.nodes[leaf].level == state.levels.size - 1:
            value += log_evidence(state, leaf, state.nodes[leaf].parent)
    for d in range(state.columns.size):
        value += constants(state, d)
    return value


@linked
def weigh_all(
    state: State,
    i: int,
    gaps: bool,
    old: int,
    value: float,
    chain: FloatArray,
    rng: RandomState,
) -> float:
    """Return the log predictive density of a datum that is not in the tree, over all places.

    ``old`` and ``value`` are as in `weigh_near`. Branches with inner nodes of their own are
    averaged over some draws.
    """
    n_near, best, _ = weigh_near(state, i, gaps, old, value, UNSEEN)
    total = 0.0
    for k in range(n_near):
        total += state.weight[k, WEIGHT]
    if state.levels.size == 2:
        return best + math.log(total)
    around, largest = bound_branch(state, i, gaps)
    fresh = set_paths(state)
    most = largest + math.log(fresh) - best
    if most < -UNSEEN:
        return best + math.log(total)
    n_draws = FRESH if most > -FAINT else 1
    for _ in range(n_draws):
        place, least = draw_place(state, fresh, rng), best - UNSEEN - largest
        value = propose_branch(state, i, gaps, around, place, chain, least, rng) + largest
        weight = fresh / n_draws
        if value > best:
            total = total * math.exp(best - value) + weight
            best = value
        else:
            total += weight * math.exp(value - best)
    return best + math.log(total)


@jit
def weigh_rows(
    state: State, rng: RandomState
) -> tuple[Index, Index, Index, FloatArray, FloatArray]:
    """Return the components of the predictive mixture, and the log weight of each for all data.

    That is: the node each hangs on or is, the level where it starts, its row among the leaves, its
    probability, and log probability × density for every row of the state's data, none of which need
    be in the tree. As many branches as there are spare rows stand for those with inner nodes of
    their own.
    """
    depth = state.levels.size - 1
    fresh = set_paths(state)
    size = SPARE - 1 if fresh > 0.0 else 0
    for k in range(state.sizes[ALIVE]):
        size += state.nodes[state.order[k]].level >= depth - 1
    node, level = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    leaf, weight = np.empty(size, dtype=np.int64), np.empty(size)
    chain = np.empty((state.levels.size, state.coordinates.shape[1]))
    c = 0
    for k in range(state.sizes[ALIVE]):
        at = state.order[k]
        if state.nodes[at].level < depth - 1:
            continue
        node[c], level[c], leaf[c], weight[c] = at, state.nodes[at].level, at, chance(state, at)
        c += 1
    for k in range(size - c):
        at = draw_place(state, fresh, rng)
        draw_chain(state, at, chain, rng)
        node[c], level[c] = at, state.nodes[at].level
        leaf[c], weight[c] = lend(state, k, chain), fresh / (SPARE - 1)
        c += 1
    values = np.empty((state.data.shape[0], size))
    for i in range(values.shape[0]):
        gaps = has_gaps(state, i)
        for c in range(size):
            density = log_predictive(state, leaf[c], i, gaps, -math.inf)
            values[i, c] = math.log(weight[c]) + density
    return node, level, leaf, weight, values
