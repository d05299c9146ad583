"""The restaurant's side of the state: factors that moves multiply, and the probability of the tree.

A datum goes from a node p of level a to its child k of level b with probability

    (n_k − d)/(n_p + α_a) · Π_{a<j<b} (n_k − d)/(n_k + α_j),

where the product is over the only children on the edge. At any of those, as at any node, it may
open a new branch instead, and then has a leaf of its own with predictive variance at least
r + v_{m+1} + … + v_L, where m is the level of the branching. That bounds its density, whatever the
datum; so most moves need not look at new branches at all (see datum.py).
"""

from __future__ import annotations

import math

from sticktree.engine.state import ALIVE, DISCOUNT, NOISE, ROOT, State
from sticktree.jit import jit

__all__ = ["log_tree_probability", "refresh", "refresh_path", "set_scales", "tail"]


@jit
def tail(state: State, level: int) -> float:
    """Return the variance of a datum around a node of the given level when it goes down alone."""
    return (
        state.levels[state.levels.size - 1].reach - state.levels[level].reach + state.scalars[NOISE]
    )


@jit
def set_scales(state: State) -> None:
    """Recompute what depends on the scales of the levels alone."""
    reach = 0.0
    for level in range(state.levels.size):
        reach += state.levels[level].scale
        state.levels[level].reach = reach
    for level in range(state.levels.size):
        ratio = tail(state, level) / state.scalars[NOISE]
        state.levels[level].bound = ratio ** (-0.5 * state.data.shape[1])


@jit
def refresh(state: State, node: int) -> None:
    """Recompute the factors of one node, after its data, children or edge have changed."""
    d = state.scalars[DISCOUNT]
    level, n = state.nodes[node].level, state.nodes[node].n
    if level < state.levels.size - 1:
        alpha = state.levels[level].alpha
        state.nodes[node].inverse = 1.0 / (n + alpha)
        state.nodes[node].opening = (alpha + d * state.nodes[node].n_children) * state.levels[
            level
        ].bound
    if node != ROOT:
        passing, opening = n - d, 0.0
        for j in range(state.nodes[state.nodes[node].parent].level + 1, level):
            seats = n + state.levels[j].alpha
            opening += passing * (state.levels[j].alpha + d) / seats * state.levels[j].bound
            passing *= (n - d) / seats
        state.nodes[node].passing = passing
        state.nodes[node].opening_above = opening


@jit
def refresh_path(state: State, node: int) -> None:
    """Recompute the factors of a node and of all above it."""
    while node >= 0:
        refresh(state, node)
        node = state.nodes[node].parent


@jit
def log_tree_probability(state: State, c: float, d: float) -> float:
    """Return log Π g over all nodes above the leaves, with those on edges."""
    total = 0.0
    alone = math.lgamma(1.0 - d)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        n, level = state.nodes[node].n, state.nodes[node].level
        if level < state.levels.size - 1:
            alpha = c * state.levels[level].shape
            total += math.lgamma(alpha + 1.0) - math.lgamma(alpha + n)
            for j in range(1, state.nodes[node].n_children):
                total += math.log(alpha + j * d)
        if node != ROOT:
            above = state.nodes[state.nodes[node].parent].level
            total += (level - above) * (math.lgamma(n - d) - alone)
            for j in range(above + 1, level):
                alpha = c * state.levels[j].shape
                total += math.lgamma(alpha + 1.0) - math.lgamma(alpha + n)
    return total
