"""Places for a datum: leaves, new leaves below twigs, and branches with inner nodes of their own.

The weight of a place is the probability of the path there times the predictive density. The paths
of all places add up to 1, so places whose densities are below e^(−MARGIN) times the largest weight
weigh at most that together. A density is given up as soon as it is known to be below that; with the
bound in the place of all such, the choice is exact, and they are looked at only in the rare case
that it falls on them.

A branch with nodes of its own has φ that nobody knows. All such branches together weigh no more
than a bound (branches.py). With that in the place of their weight, a branch is proposed where the
choice falls on it, and taken with a probability that makes up for the bound; else the choice is
made again. That is rejection sampling, and exact, as if all branches had been integrated over.
Where the bound outweighs the leaves by far this would go on for long: then some branches are drawn
that stand for all, of which the one that the datum was alone on is the first (R. M. Neal, Journal
of Computational and Graphical Statistics 9, 2000, algorithm 8). Which of both is done depends on
the other data alone.
"""

from __future__ import annotations

import math

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import seats, taking
from sticktree.engine.common.links import LEAVES, ROOT, Index
from sticktree.engine.common.random import RandomState, uniform
from sticktree.engine.own.branches import (
    bound_branch,
    draw_chain,
    draw_place,
    lend,
    opening,
    propose_branch,
    set_paths,
)
from sticktree.engine.own.leaves import log_largest, log_predictive
from sticktree.engine.own.sketch import OUT, bound_leaves
from sticktree.engine.own.state import NOWHERE, TWIGS, State
from sticktree.jit import inlined, linked
from sticktree.tree.arrays import NULL

MARGIN = 6.0  # places that are not looked at weigh at most e⁻⁶ of one that is
PATIENCE = 4.0  # how often a branch may be drawn in vain, at most and in the mean
AUXILIARY = 3  # branches that stand for all, where that would be too often
LOG_DENSITY, WEIGHT = range(2)  # of `State.weight`


@inlined
def path_to(state: State, node: int) -> float:
    """Return the probability of the path to a node."""
    path = 1.0
    while node != ROOT:
        above = state.nodes[node].parent
        level = state.nodes[above].level
        path *= taking(state, node, level) / seats(state, above, level)
        node = above
    return path


@inlined
def chance(state: State, node: int) -> float:
    """Return the probability that a datum comes to a leaf, or to a new one below a twig."""
    path = path_to(state, node)
    return path if state.nodes[node].level == state.levels.size - 1 else path * opening(state, node)


@linked
def weigh_near(
    state: State, i: int, gaps: bool, old: int, value: float, margin: float
) -> tuple[int, float, float]:
    """Weigh all places in the tree but those that are out of reach.

    ``old`` is the leaf that the datum was in, and ``value`` its log density there, or NULL. Return
    how many places there are, the log of the largest weight, in units of which weights are, and a
    bound on the weight of all that were left out.
    """
    count, best, far = 0, -math.inf, 0.0
    if old != NULL:
        path = chance(state, old)
        best = value + math.log(path)
        state.near[0], state.weight[0, LOG_DENSITY], state.weight[0, WEIGHT] = old, value, path
        count = 1
    bound_leaves(state, i, gaps)
    for k in range(state.sizes[LEAVES]):
        node, least = state.leaves[k], best - margin
        if node == old:
            continue
        value = state.bound[OUT, k]
        if value >= least:
            value = log_predictive(state, node, i, gaps, least)
        if value >= least:
            best = _note(state, node, value, chance(state, node), count, best)
            count += 1
        else:
            far = math.exp(-margin)
    # New leaves are improbable, and most of them can be told from that.
    largest = math.exp(min(log_largest(state, i, gaps) - best, 700.0))
    little = math.exp(-margin - 2.0)
    for k in range(state.sizes[TWIGS]):
        node, least = state.twigs[k], best - margin
        path = chance(state, node)
        if path * largest < little:
            far += path * largest
            continue
        value = log_predictive(state, node, i, gaps, least)
        if value >= least:
            best = _note(state, node, value, path, count, best)
            count += 1
        else:
            far += path * math.exp(-margin)
    for k in range(count):
        state.weight[k, WEIGHT] *= math.exp(state.weight[k, LOG_DENSITY] - best)
    return count, best, far


@inlined
def _note(state: State, node: int, value: float, path: float, count: int, best: float) -> float:
    """Take a place down as one that is near; return the log of the largest weight so far."""
    state.near[count] = node
    state.weight[count, LOG_DENSITY], state.weight[count, WEIGHT] = value, path
    # Paths are at most 1: without a larger density there is no larger weight.
    return max(best, value + math.log(path)) if value > best else best


@linked
def _find_far(state: State, i: int, gaps: bool, n_near: int, best: float, point: float) -> int:
    """Return the place that was left out whose weight covers ``point``, or NULL if none does."""
    n_leaves = state.sizes[LEAVES]
    for k in range(n_leaves + state.sizes[TWIGS]):
        node = state.leaves[k] if k < n_leaves else state.twigs[k - n_leaves]
        j = 0
        while j < n_near and state.near[j] != node:
            j += 1
        if j == n_near:
            value = log_predictive(state, node, i, gaps, -math.inf)
            point -= chance(state, node) * math.exp(value - best)
            if point < 0.0:
                return node
    return NOWHERE


@linked
def choose(
    state: State,
    i: int,
    gaps: bool,
    old: int,
    value: float,
    kept: int,
    places: Index,
    chains: FloatArray,
    rng: RandomState,
) -> tuple[int, int]:
    """Choose a leaf, or an inner node with the number of the chain to go on by, or NULL.

    ``old`` and ``value`` are as in `weigh_near`. If ``kept``, the first place and chain are those
    of the branch that went with the datum.
    """
    n_near, best, far = weigh_near(state, i, gaps, old, value, MARGIN)
    total = 0.0
    for k in range(n_near):
        total += state.weight[k, WEIGHT]
    # Of new branches: their probability, or 1 as long as it is not known; and the largest density.
    fresh, known, around, bound = 0.0, True, False, 0.0
    if state.levels.size > 2:
        around, largest = bound_branch(state, i, gaps)
        fresh, known, bound = 1.0, False, math.exp(min(largest - best, 700.0))
        if bound > PATIENCE:
            fresh, known = set_paths(state), True
            if fresh * bound > PATIENCE:
                return _choose_among_some(
                    state, i, gaps, old, value, fresh, kept, places, chains, rng
                )
    if not total + far + fresh * bound < math.inf:
        return _any_place(state, old), NOWHERE
    while True:
        point = uniform(rng) * (total + far + fresh * bound)
        if point < total:
            return _find_near(state, n_near, point), NOWHERE
        if point < total + far:
            node = _find_far(state, i, gaps, n_near, best, point - total)
            if node == NULL and total == 0.0 and fresh * bound == 0.0:
                node = _any_place(state, old)
            if node != NULL:
                return node, NOWHERE
            continue
        if not known:
            fresh, known = set_paths(state), True
            if not point < total + far + fresh * bound:
                continue
        places[0] = draw_place(state, fresh, rng)
        least = math.log(1.0 - uniform(rng))
        if propose_branch(state, i, gaps, around, places[0], chains[0], least, rng) > least:
            return places[0], 0


@inlined
def _any_place(state: State, old: int) -> int:
    """Return a place for a datum whose densities are no numbers, so far is it from all others."""
    if old != NULL:
        return old
    return state.leaves[0] if state.sizes[LEAVES] else state.twigs[0]


@inlined
def _find_near(state: State, n_near: int, point: float) -> int:
    for k in range(n_near):
        point -= state.weight[k, WEIGHT]
        if point < 0.0:
            return state.near[k]
    return state.near[0]


@linked
def _choose_among_some(
    state: State,
    i: int,
    gaps: bool,
    old: int,
    value: float,
    fresh: float,
    kept: int,
    places: Index,
    chains: FloatArray,
    rng: RandomState,
) -> tuple[int, int]:
    """Choose among all places in the tree and some branches with nodes of their own."""
    best, chosen, which = -math.inf, old, NOWHERE
    if old != NULL:
        best = _race(chance(state, old), rng) + value
    n_leaves = state.sizes[LEAVES]
    for k in range(n_leaves + state.sizes[TWIGS]):
        node = state.leaves[k] if k < n_leaves else state.twigs[k - n_leaves]
        if node != old:
            start = _race(chance(state, node), rng)
            value = start + log_predictive(state, node, i, gaps, best - start)
            if value > best:
                best, chosen = value, node
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


@inlined
def _race(weight: float, rng: RandomState) -> float:
    """Return log weight plus Gumbel noise: the largest wins."""
    return -math.log(-math.log(1.0 - uniform(rng)) / weight)
