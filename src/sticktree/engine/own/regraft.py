"""The regraft move: take a whole subtree out, and let it choose its place given the rest.

An inner node keeps its φ, and the way to it from any point of the tree is Gaussian: what lies
between is integrated out for the choice, and then drawn from the bridge. A leaf goes by the
evidence of its data below each node of the last inner level; longer ways to it are drawn from the
prior, and its own way is kept as one of them (algorithm 8 again).
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.group_moves import (
    count_places,
    hang_shares,
    keep_shares,
    shares_room,
    weigh_places,
)
from sticktree.engine.common.groups import add_group, is_grouped
from sticktree.engine.common.links import ALIVE, DISCOUNT, ROOT, add_data, list_nodes
from sticktree.engine.common.random import RandomState, gumbel, integer, normal
from sticktree.engine.common.seating import chain_weights, log_rising
from sticktree.engine.own.branches import draw_chain
from sticktree.engine.own.leaves import expect, log_evidence
from sticktree.engine.own.state import NOWHERE, PHI, SPARE, State
from sticktree.engine.own.structure import grow, hang, prune
from sticktree.jit import jit, linked

AUXILIARY = 3


@jit
def regraft_sweep(state: State, rng: RandomState, n_moves: int) -> int:
    """Regraft subtrees drawn at random; return how many changed their place.

    A level is drawn first, then one of its nodes: the way back is as likely.
    """
    moved = 0
    if state.levels.size < 3:
        return 0
    for _ in range(n_moves):
        level = 1 + integer(rng, state.levels.size - 1)
        chosen, n_nodes = NOWHERE, 0
        for k in range(1, state.sizes[ALIVE]):
            node = state.order[k]
            if state.nodes[node].level == level:
                n_nodes += 1
                if integer(rng, n_nodes) == 0:
                    chosen = node
        moved += regraft(state, chosen, rng)
    return moved


@linked
def regraft(state: State, top: int, rng: RandomState) -> int:
    """Let the subtree below a node choose its place; return 1 if it changed, else 0."""
    level, m = state.nodes[top].level, state.nodes[top].n
    chain = np.empty((state.levels.size, state.coordinates.shape[1]))
    before = state.nodes[top].parent
    shares = keep_shares(state, top, level) if is_grouped(state) else np.empty((0, 2))
    add_data(state, before, -m)
    if is_grouped(state):
        add_group(state, before, top, -1)
    cut = prune(state, top, chain)
    list_nodes(state)
    weights, parts = np.empty(state.sizes[ALIVE]), np.empty((0, 2))
    if is_grouped(state):
        parts = set_group_weights(state, top, cut, shares, weights, rng)
    else:
        set_prior_weights(state, level, m, weights)
    if level == state.levels.size - 1:
        at = _place_leaf(state, top, cut, weights, chain, rng)
    else:
        at = place_node(state, top, weights, chain, rng)
    stayed = at == cut and state.nodes[cut].level == level - 1
    parent = grow(state, at, level - 1, chain)
    hang(state, top, parent)
    add_data(state, parent, m)
    if is_grouped(state):
        add_group(state, parent, top, 1)
        hang_parts(state, top, at, shares, parts)
    list_nodes(state)
    return 0 if stayed else 1


@linked
def set_group_weights(
    state: State,
    top: int,
    cut: int,
    shares: FloatArray,
    weights: FloatArray,
    rng: RandomState,
) -> FloatArray:
    """Fill in the log prior weight of a place for a subtree with groups below each node above it.

    ``cut`` is the present place, ``shares`` its shares by level. Return the shares of all places.
    """
    ceiling = state.nodes[top].level
    parts = shares_room(state, state.sizes[ALIVE])
    weigh_places(state, top, ceiling, cut, state.nodes[cut].level, shares, weights, parts, rng)
    # They come one after the other; each is to stand at the place of its node.
    place = count_places(state, ceiling)
    for k in range(state.sizes[ALIVE] - 1, -1, -1):
        if state.nodes[state.order[k]].level < ceiling:
            place -= 1
            weights[k] = weights[place]
            parts[k] = parts[place]
    return parts


@linked
def hang_parts(state: State, top: int, at: int, shares: FloatArray, parts: FloatArray) -> None:
    """Give a subtree that hangs below ``at`` now its shares; nodes are listed as before."""
    k, level = 0, state.nodes[at].level
    while state.order[k] != at:
        k += 1
    shares[level] = parts[k]
    hang_shares(state, top, at, state.nodes[top].level, shares)


@linked
def set_prior_weights(state: State, ceiling: int, m: int, weights: FloatArray) -> None:
    """Fill in the log prior weight of a place for m data below each node above ``ceiling``."""
    d = state.scalars[DISCOUNT]
    chain = chain_weights(state.levels, d, ceiling, m)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level, n = state.nodes[node].level, state.nodes[node].n
        if level >= ceiling:
            continue
        path = 0.0
        if node != ROOT:
            path = state.nodes[state.nodes[node].parent].path + log_rising(n - d, m)
        alpha = state.levels[level].alpha
        path -= log_rising(alpha + n, m)
        state.nodes[node].path = path
        weights[k] = path + math.log(alpha + d * state.nodes[node].n_children) + chain[level + 1]


@linked
def place_node(
    state: State, top: int, weights: FloatArray, chain: FloatArray, rng: RandomState
) -> int:
    """Choose the node that an inner node hangs below, and draw what lies between."""
    ceiling, size = state.nodes[top].level, state.coordinates.shape[1]
    step = np.zeros((ceiling + 1, size))  # variance from each level down to the ceiling
    for j in range(ceiling - 1, -1, -1):
        for p in range(size):
            step[j, p] = step[j + 1, p] + state.variance[j + 1, p]
    constant = np.zeros(ceiling + 1)
    for j in range(ceiling):
        for p in range(size):
            constant[j] -= 0.5 * math.log(step[j, p])
    best, chosen = -math.inf, ROOT
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if level >= ceiling:
            continue
        value = weights[k] + gumbel(rng) + constant[level]
        for p in range(size):
            value -= (
                0.5
                * (state.coordinates[top, p, PHI] - state.coordinates[node, p, PHI]) ** 2
                / step[level, p]
            )
        if value > best:
            best, chosen = value, node
    for p in range(size):
        here = state.coordinates[chosen, p, PHI]
        for j in range(state.nodes[chosen].level + 1, ceiling):
            share = state.variance[j, p] / step[j - 1, p]
            spread = math.sqrt(state.variance[j, p] * (1.0 - share))
            here += share * (state.coordinates[top, p, PHI] - here) + spread * normal(rng)
            chain[j, p] = here
    return chosen


@linked
def _place_leaf(
    state: State, leaf: int, cut: int, weights: FloatArray, chain: FloatArray, rng: RandomState
) -> int:
    """Choose the node that a leaf hangs below; ``chain`` is how it comes there from that node."""
    last = state.levels.size - 2
    spare = state.nodes.size - SPARE
    largest = -math.inf
    best, chosen = -math.inf, ROOT
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == last:
            value = weights[k] + log_evidence(state, leaf, node) + gumbel(rng)
            if value > best:
                best, chosen = value, node
        elif state.nodes[node].level < last:
            largest = max(largest, weights[k])
    fresh = 0.0
    for k in range(state.sizes[ALIVE]):
        if state.nodes[state.order[k]].level < last:
            fresh += math.exp(weights[k] - largest)
    way = np.empty_like(chain)
    way[:] = chain
    for auxiliary in range(AUXILIARY):
        place = cut
        if auxiliary > 0 or state.nodes[cut].level == last:
            place, lead = NOWHERE, -math.inf
            for k in range(state.sizes[ALIVE]):
                if state.nodes[state.order[k]].level < last:
                    value = weights[k] + gumbel(rng)
                    if value > lead:
                        lead, place = value, state.order[k]
            draw_chain(state, place, way, rng)
        state.nodes[spare].level = last
        for p in range(state.coordinates.shape[1]):
            state.coordinates[spare, p, PHI] = way[last, p]
        expect(state, spare)
        value = largest + math.log(fresh / AUXILIARY) + log_evidence(state, leaf, spare)
        value += gumbel(rng)
        if value > best:
            best, chosen = value, place
            chain[:] = way
    return chosen
