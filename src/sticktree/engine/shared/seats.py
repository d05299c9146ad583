"""The restaurant's side of the state: factors that moves multiply, and the probability of the tree.

A datum goes from a node p of level a to its child k of level b with probability

    (n_k − d)/(n_p + α_a) · Π_{a<j<b} (n_k − d)/(n_k + α_j),

where the product is over the only children on the edge. At any of those, as at any node, it may
open a new branch instead, and then has a leaf of its own with predictive variance at least
r + v_{m+1} + … + v_L, where m is the level of the branching. That bounds its density, whatever the
datum. Bounds add up from the leaves to the root: a node's *offers* are the bounds on all new
branches below it, for a datum that has come by. So the bound on all of them is at hand at the root,
most moves need not look at new branches at all, and one of them is found by a walk down from the
root (see branches.py).
"""

from __future__ import annotations

import math

from sticktree.engine.shared.state import ALIVE, DISCOUNT, NOISE, ROOT, State, TreeState
from sticktree.jit import inlined, jit
from sticktree.tree import NULL

__all__ = [
    "bound_of_branches",
    "log_children",
    "log_rising",
    "log_tree_probability",
    "refresh",
    "refresh_path",
    "seat",
    "set_scales",
    "tail",
]


@inlined
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


@inlined
def _set_factors(state: State, node: int) -> None:
    """Recompute the factors of one node; its offers must be right."""
    d = state.scalars[DISCOUNT]
    level, n = state.nodes[node].level, state.nodes[node].n
    offer = 0.0
    if level < state.levels.size - 1:
        alpha = state.levels[level].alpha
        # In an empty tree the first datum has no choice, and n + α may be 0.
        state.nodes[node].inverse = 1.0 / (n + alpha) if n > 0 else 1.0
        state.nodes[node].opening = (alpha + d * state.nodes[node].n_children) * state.levels[
            level
        ].bound
        offer = state.nodes[node].inverse * (state.nodes[node].opening + state.nodes[node].offers)
    if node != ROOT:
        passing, opening = n - d, 0.0
        for j in range(state.nodes[state.nodes[node].parent].level + 1, level):
            here = passing / (n + state.levels[j].alpha)
            opening += here * (state.levels[j].alpha + d) * state.levels[j].bound
            passing = here * (n - d)
        state.nodes[node].passing = passing
        state.nodes[node].opening_above = opening
        state.nodes[node].share = opening + passing * offer


@inlined
def refresh(state: State, node: int) -> None:
    """Recompute the factors of one node, after its data, children or edge have changed."""
    offers = 0.0
    child = state.nodes[node].first_child
    while child != NULL:
        offers += state.nodes[child].share
        child = state.nodes[child].next_sibling
    state.nodes[node].offers = offers
    _set_factors(state, node)


@jit
def refresh_path(state: State, node: int) -> None:
    """Recompute the factors of a node and of all above it."""
    while node != NULL:
        refresh(state, node)
        node = state.nodes[node].parent


@inlined
def seat(state: State, leaf: int, change: float) -> None:
    """Add to the number of data of a leaf and of all above it, and to what depends on it."""
    more, node = 0.0, leaf
    while node != NULL:
        before = state.nodes[node].share
        state.nodes[node].n += int(change)
        state.nodes[node].offers += more
        _set_factors(state, node)
        more = state.nodes[node].share - before
        node = state.nodes[node].parent


@inlined
def bound_of_branches(state: State) -> float:
    """Return the sum of the bounds on all new branches."""
    root = state.nodes[ROOT]
    return root.inverse * (root.opening + root.offers)


@inlined
def log_rising(x: float, length: int) -> float:
    """Return the log of the rising factorial x (x + 1) … (x + length − 1)."""
    return math.lgamma(x + length) - math.lgamma(x)


@jit
def log_children(state: TreeState, level: int, n: float, n_children: int) -> float:
    """Return the part of log g of a node that depends on n and K alone."""
    alpha, d = state.levels[level].alpha, state.scalars[DISCOUNT]
    value = math.lgamma(alpha + 1.0) - math.lgamma(alpha + n)
    for k in range(1, n_children):
        value += math.log(alpha + k * d)
    return value


@jit
def log_tree_probability(state: TreeState, c: float, d: float, less_discount: bool) -> float:
    """Return log Π g over all nodes above the leaves, with those on edges.

    The concentrations are c·b(l), less d if ``less_discount``.
    """
    total = 0.0
    less = d if less_discount else 0.0
    alone = math.lgamma(1.0 - d)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        n, level = state.nodes[node].n, state.nodes[node].level
        if level < state.levels.size - 1:
            alpha = c * state.levels[level].shape - less
            total += math.lgamma(alpha + 1.0) - math.lgamma(alpha + n)
            for j in range(1, state.nodes[node].n_children):
                total += math.log(alpha + j * d)
        if node != ROOT:
            above = state.nodes[state.nodes[node].parent].level
            total += (level - above) * (math.lgamma(n - d) - alone)
            for j in range(above + 1, level):
                alpha = c * state.levels[j].shape - less
                total += math.lgamma(alpha + 1.0) - math.lgamma(alpha + n)
    return total
