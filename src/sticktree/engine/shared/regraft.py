"""The regraft move: take a whole subtree out, and let it choose its place given the rest.

To the rest of the tree, a subtree is one datum: its upward message says that φ at its root is h/Λ
with variance 1/Λ. It may hang below any point of the tree above its own level, through a chain of
only children. With m data, the prior weight of a point is the ratio of Π g with and without
the subtree: rising factorials of length m along the path. Without this move, data travel
one by one and clusters never.
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
from sticktree.engine.common.groups import is_grouped, top_of
from sticktree.engine.common.links import ALIVE, DISCOUNT, ROOT, list_nodes
from sticktree.engine.common.random import RandomState, gumbel, integer
from sticktree.engine.common.seating import chain_weights, log_rising
from sticktree.engine.shared.messages import send
from sticktree.engine.shared.places import log_density, multiply
from sticktree.engine.shared.seats import settle_attached, settle_detached
from sticktree.engine.shared.state import State, attach, detach
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL


@jit
def regraft_sweep(state: State, rng: RandomState, n_moves: int) -> int:
    """Regraft subtrees drawn at random; return how many changed their place.

    A level is drawn first, then one of the subtrees with root at that level, each as likely as any
    other. A regraft changes nothing at that level and below, so the way back is as likely.
    """
    moved = 0
    for _ in range(n_moves):
        ceiling = 1 + integer(rng, state.levels.size - 1)
        n_tops = 0
        for k in range(1, state.sizes[ALIVE]):
            n_tops += _crosses(state, state.order[k], ceiling)
        if n_tops < 2:
            continue
        left = integer(rng, n_tops)
        for k in range(1, state.sizes[ALIVE]):
            if _crosses(state, state.order[k], ceiling):
                if left == 0:
                    moved += regraft(state, state.order[k], ceiling, rng)
                    break
                left -= 1
    send(state)
    return moved


@linked
def _crosses(state: State, node: int, level: int) -> bool:
    """Tell whether the edge above a node, or the node itself, has a point at ``level``."""
    above = state.nodes[state.nodes[node].parent].level
    return above < level and level <= state.nodes[node].level


@linked
def regraft(state: State, top: int, ceiling: int, rng: RandomState) -> int:
    """Let the subtree that starts at ``ceiling``, on the way down to ``top``, choose its place.

    Return 1 if it changed, else 0. Means and variances are left to whoever needs them next.
    """
    above = state.nodes[top].parent
    sibling = state.nodes[top].next_sibling
    if sibling == NULL:
        sibling = state.nodes[top].previous_sibling
    level_before = state.nodes[above].level
    chain = keep_shares(state, top, ceiling) if is_grouped(state) else np.empty((0, 2))
    changed = detach(state, top)
    settle_detached(state, changed)
    list_nodes(state)
    send(state)
    at, level = _choose_place(state, top, ceiling, changed, level_before, chain, rng)
    shortened = attach(state, top, at, level)
    if is_grouped(state):
        hang_shares(state, top, state.nodes[top].parent, ceiling, chain)
    settle_attached(state, top, shortened)
    list_nodes(state)
    now = state.nodes[top].parent
    same = state.nodes[now].level == level_before and state.nodes[sibling].parent == now
    return 0 if same else 1


@linked
def _choose_place(
    state: State,
    top: int,
    ceiling: int,
    here: int,
    here_level: int,
    chain: FloatArray,
    rng: RandomState,
) -> tuple[int, int]:
    """Choose a node, or a level on the edge above it, by exact log weights.

    With groups, ``chain`` has the shares of the present place, and then of the one that is chosen.
    """
    bottom = state.nodes[top].level
    own = 1.0 / state.nodes[top].precision
    x = np.empty(state.data.shape[1])
    for e in range(x.size):
        x[e] = state.weighted[top, e] * own
        state.shift[e] = 0.0
    weights = np.empty(count_places(state, ceiling))
    shares = shares_room(state, weights.size if is_grouped(state) else 0)
    if is_grouped(state):
        weigh_places(state, top, ceiling, here, here_level, chain, weights, shares, rng)
    else:
        _weigh_places(state, state.nodes[top].n, ceiling, weights)
    best, chosen, chosen_level = -np.inf, NULL, 0
    place, chosen_place = 0, 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        multiply(state, node, x)
        for j in range(top_of(state, node), min(state.nodes[node].level + 1, ceiling)):
            extra = state.levels[bottom].reach - state.levels[j].reach + own
            value = weights[place]
            value += log_density(state, node, j, extra, 0.0, 0.0) + gumbel(rng)
            if value > best:
                best, chosen, chosen_level, chosen_place = value, node, j, place
            place += 1
    if is_grouped(state):
        chain[chosen_level] = shares[chosen_place]
    return chosen, chosen_level


@linked
def _weigh_places(state: State, m: int, ceiling: int, weights: FloatArray) -> None:
    """Fill in the log prior weights of all places for a subtree of m data, without groups.

    Places are points above the ceiling: nodes in their order, before each those on the edge above.
    """
    d, place = state.scalars[DISCOUNT], 0
    chain = chain_weights(state.levels, d, ceiling, m)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        path = 0.0
        if node != ROOT:
            above = state.nodes[node].parent
            n = state.nodes[node].n
            together = log_rising(n - d, m)
            path = state.nodes[above].path + together
            for j in range(state.nodes[above].level + 1, min(level, ceiling)):
                alpha = state.levels[j].alpha
                path -= log_rising(alpha + n, m)
                weights[place] = path + math.log(alpha + d) + chain[j + 1]
                place += 1
                path += together
        if level < ceiling:
            alpha = state.levels[level].alpha
            path -= log_rising(alpha + state.nodes[node].n, m)
            state.nodes[node].path = path
            opening = math.log(alpha + d * state.nodes[node].n_children)
            weights[place] = path + opening + chain[level + 1]
            place += 1
