"""Branches with inner nodes of their own, for a datum: where they start, and φ of their nodes.

A branch that starts at node v has weight path · opening · ∫ N(φ; φ_v, V) f(y | φ) dφ, where V is
the variance of the steps from v down to its twig, and f the density of the datum at an empty leaf
there. It is bounded in one of two ways, whichever is less. *From the prior*: f is nowhere larger
than at its centre, and φ is drawn from N. *Around the datum*: N is nowhere larger than at its
centre; f is, as a function of φ, a t around y but for the floor, and φ is drawn from that.
Coordinates that are no centre of an entry that is there come from the prior in both.
"""

from __future__ import annotations

import math

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import opening_at, seats, taking
from sticktree.engine.common.links import ALIVE, ROOT, UNLISTED, list_nodes
from sticktree.engine.common.random import RandomState, gamma, normal, uniform
from sticktree.engine.own.kinds.gaussian import log_lower_gamma
from sticktree.engine.own.leaves import expect, log_largest, log_predictive, predict_others
from sticktree.engine.own.state import (
    ABOVE,
    DIAG,
    FORM,
    FULL,
    KAPPA,
    PHI,
    POWER,
    ROOT_OF,
    SCALE,
    SHAPE,
    SPARE,
    WIDTH,
    State,
)
from sticktree.jit import inlined, linked

VARIANCE, LOG_PEAK = range(2)  # of `State.reach`


@inlined
def opening(state: State, node: int) -> float:
    """Return the probability that a datum which comes to a node opens a branch there."""
    if state.nodes[node].n == 0:  # in an empty tree there is no choice, and n + α may be 0
        return 1.0
    level = state.nodes[node].level
    return opening_at(state, node, level) / seats(state, node, level)


@linked
def set_paths(state: State) -> float:
    """Fill in the probability of the path to nodes above the twigs; return that of a new one."""
    if state.sizes[UNLISTED]:
        list_nodes(state)
    fresh = 0.0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if level >= state.levels.size - 2:
            continue
        path = 1.0
        if node != ROOT:
            above = state.nodes[node].parent
            path = state.nodes[above].path * taking(state, node, level - 1)
            path /= seats(state, above, level - 1)
        state.nodes[node].path = path
        fresh += path * opening(state, node)
    return fresh


@linked
def draw_place(state: State, fresh: float, rng: RandomState) -> int:
    """Draw where a branch with inner nodes of its own starts; `set_paths` must have been."""
    point, chosen = uniform(rng) * fresh, ROOT
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level < state.levels.size - 2:
            chosen = node
            point -= state.nodes[node].path * opening(state, node)
            if point < 0.0:
                break
    return chosen


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
def lend(state: State, spare: int, chain: FloatArray) -> int:
    """Make a spare row the last inner node of a chain; return its number."""
    node, last = state.nodes.size - SPARE + spare, state.levels.size - 2
    state.nodes[node].level = last
    for p in range(state.coordinates.shape[1]):
        state.coordinates[node, p, PHI] = chain[last, p]
    expect(state, node)
    return node


@linked
def set_reach(state: State) -> None:
    """Compute V from each level down to the twigs, and the log density of N at its centre."""
    last = state.levels.size - 2
    for p in range(state.coordinates.shape[1]):
        total = 0.0
        for level in range(last - 1, -1, -1):
            total += state.variance[level + 1, p]
            state.reach[level, p, VARIANCE] = total
            state.reach[level, p, LOG_PEAK] = -0.5 * math.log(2.0 * math.pi * total)


@linked
def bound_branch(state: State, i: int, gaps: bool) -> tuple[bool, float]:
    """Return the log of a bound on the density of a datum on a new branch, wherever it starts.

    Return first whether it is that around the datum. `set_reach` must have been.
    """
    largest, form = log_largest(state, i, gaps), state.sizes[FORM]
    if state.gaussian.size == 0 or (gaps and form == FULL):
        return False, largest
    last, value = state.levels.size - 2, 0.0
    for d in state.gaussian:
        if not (gaps and math.isnan(state.data[i, d])):
            value += state.reach[last - 1, state.columns[d].offset, LOG_PEAK]
            if form == DIAG:
                value -= _log_above_floor(state, d)
    if form != DIAG:
        value -= _log_above_floor(state, state.gaussian[0])
    return (True, value) if value < largest else (False, largest)


@inlined
def _log_above_floor(state: State, d: int) -> float:
    """Return the log prior probability that a variance is not below its floor."""
    return state.entries[state.nodes.size - 1, d, ABOVE]


@linked
def propose_branch(
    state: State,
    i: int,
    gaps: bool,
    around: bool,
    place: int,
    chain: FloatArray,
    least: float,
    rng: RandomState,
) -> float:
    """Draw φ of a branch from a node; return the log of its weight in units of the bound.

    What is below ``least`` need not be exact.
    """
    if gaps or not around or state.gaussian.size < state.columns.size:
        draw_chain(state, place, chain, rng)
    if not around:
        largest = log_largest(state, i, gaps)
        twig = lend(state, 0, chain)
        return log_predictive(state, twig, i, gaps, least + largest) - largest
    last, level, form = state.levels.size - 2, state.nodes[place].level, state.sizes[FORM]
    empty, column = state.nodes.size - 1, state.gaussian[0]
    spread = gamma(rng, state.hyper[SHAPE, column]) if form != DIAG else 1.0
    value, square, there = 0.0, 1.0, 0
    for e in range(state.gaussian.size):
        d = state.gaussian[e]
        if gaps and math.isnan(state.data[i, d]):
            continue
        there += 1
        state.work[0, e] = normal(rng)
        off, width = 0.0, state.entries[empty, d, WIDTH]
        if form == FULL:
            kappa = state.hyper[KAPPA, column]
            for g in range(e + 1):
                off += state.matrices[empty, ROOT_OF, e, g] * state.work[0, g]
            off *= math.sqrt((kappa + 1.0) / (2.0 * kappa * spread))
        else:
            if form == DIAG:
                spread = gamma(rng, state.hyper[SHAPE, d])
            off = state.work[0, e] / math.sqrt(2.0 * width * spread)
        p = state.columns[d].offset
        start, end = state.coordinates[place, p, PHI], state.data[i, d] - off
        variance = state.reach[level, p, VARIANCE]
        value -= 0.5 * (end - start) ** 2 / variance
        value += state.reach[level, p, LOG_PEAK] - state.reach[last - 1, p, LOG_PEAK]
        floor = state.columns[d].floor
        if form == DIAG and floor > 0.0:
            rate = state.hyper[SHAPE, d] * state.hyper[SCALE, d] * (1.0 + width * off * off)
            value += log_lower_gamma(state.entries[empty, d, POWER], rate / floor)
        square += width * off * off
        _draw_bridge(state, p, level, start, end, chain, rng)
    floor = state.columns[column].floor
    if form != DIAG and form != FULL and floor > 0.0 and there > 0:
        a = state.hyper[SHAPE, column]
        rate = a * state.hyper[SCALE, column] * square
        value += log_lower_gamma(a + 0.5 * there, rate / floor)
    if value < least or state.gaussian.size == state.columns.size:
        return value
    return value + predict_others(state, lend(state, 0, chain), i, 0.0, least - value)


@inlined
def _draw_bridge(
    state: State, p: int, level: int, here: float, end: float, chain: FloatArray, rng: RandomState
) -> None:
    """Draw a coordinate of φ of the nodes between a level, where it is known, and a twig."""
    last = state.levels.size - 2
    chain[last, p] = end
    for j in range(level + 1, last):
        share = state.variance[j, p] / state.reach[j - 1, p, VARIANCE]
        here += share * (end - here) + math.sqrt(state.variance[j, p] * (1.0 - share)) * normal(rng)
        chain[j, p] = here
