"""What the moves ask of a leaf, whatever its noise and its columns.

    put            let a datum in or out
    renew          its predictive density, after its parent's φ or a hyper-parameter has changed
    log_predictive of a datum, given those in the leaf
    log_within     of a datum that is in the leaf, given the others
    log_evidence   of all data in the leaf

A leaf is any row of the state's arrays: one of the tree, a spare one, or that of a node of the last
inner level, which stands for an empty leaf below it.
"""

from __future__ import annotations

import math

from sticktree.engine.own.kinds.dispatch import add, evidence, predict
from sticktree.engine.own.kinds.dispatch import expect as expect_column
from sticktree.engine.own.kinds.gaussian import (
    evidence_together,
    fit_each,
    fit_together,
    log_t_each,
    log_t_together,
    log_t_within,
)
from sticktree.engine.own.kinds.wishart import (
    factorise,
    fit_t,
    log_largest_t,
    log_t,
    log_t_inside,
    update,
    wishart_evidence,
)
from sticktree.engine.own.sketch import sketch_leaf
from sticktree.engine.own.state import (
    BASE,
    CENTRE,
    COUNT,
    DIAG,
    FORM,
    FULL,
    GAUSSIAN,
    LIFT,
    OUTER,
    PRIOR,
    ROOT_OF,
    SPHERICAL,
    SQUARES,
    STEPS,
    TOTAL,
    WIDTH,
    State,
)
from sticktree.jit import inlined, linked


@inlined
def giver(state: State, leaf: int) -> int:
    """Return the node whose φ a leaf starts from."""
    return state.nodes[leaf].parent if state.nodes[leaf].level == state.levels.size - 1 else leaf


@linked
def clear(state: State, leaf: int) -> None:
    """Forget all data of a leaf."""
    for d in range(state.columns.size):
        state.entries[leaf, d, COUNT] = 0.0
        state.entries[leaf, d, SQUARES] = 0.0
    for p in range(state.coordinates.shape[1]):
        state.coordinates[leaf, p, TOTAL] = 0.0
    if state.sizes[FORM] == FULL:
        state.matrices[leaf, OUTER] = 0.0


@linked
def add_sums(state: State, leaf: int, other: int) -> None:
    """Add the sums of another leaf to those of a leaf."""
    for d in range(state.columns.size):
        state.entries[leaf, d, COUNT] += state.entries[other, d, COUNT]
        state.entries[leaf, d, SQUARES] += state.entries[other, d, SQUARES]
    for p in range(state.coordinates.shape[1]):
        state.coordinates[leaf, p, TOTAL] += state.coordinates[other, p, TOTAL]
    if state.sizes[FORM] == FULL:
        size = state.gaussian.size
        for e in range(size):
            for g in range(e + 1):
                state.matrices[leaf, OUTER, e, g] += state.matrices[other, OUTER, e, g]


@linked
def expect(state: State, node: int) -> None:
    """Turn φ of a node of the last inner level into what its leaves expect, itself included."""
    for d in range(state.columns.size):
        expect_column(state, d, node)
    renew(state, node)


@linked
def has_gaps(state: State, i: int) -> bool:
    """Tell whether a datum misses a Gaussian entry."""
    gaps = False
    for d in state.gaussian:
        gaps |= math.isnan(state.data[i, d])
    return gaps


@linked
def put(state: State, leaf: int, i: int, sign: float) -> None:
    """Add a datum to a leaf, or take it away; the leaf's predictive density follows."""
    count(state, leaf, i, sign)
    if state.sizes[FORM] == FULL and not update(state, leaf, i, sign):
        factorise(state, leaf, giver(state, leaf))
    _fit(state, leaf)


@linked
def count(state: State, leaf: int, i: int, sign: float) -> None:
    """Add a datum to the sums of a leaf alone."""
    for d in range(state.columns.size):
        if not math.isnan(state.data[i, d]):
            add(state, d, leaf, i, sign)
    if state.sizes[FORM] == FULL:
        size = state.gaussian.size
        for e in range(size):
            first = sign * state.data[i, state.gaussian[e]]
            for g in range(e + 1):
                state.matrices[leaf, OUTER, e, g] += first * state.data[i, state.gaussian[g]]


@linked
def renew(state: State, leaf: int) -> None:
    """Recompute the predictive density of a leaf from its sums and its parent."""
    if state.nodes[leaf].level < state.levels.size - 1 and leaf != state.nodes.size - 1:
        _imitate(state, leaf)
        return
    if state.sizes[FORM] == FULL:
        factorise(state, leaf, giver(state, leaf))
    _fit(state, leaf)


@linked
def set_empty(state: State) -> None:
    """Recompute the last spare row: what all empty leaves have in common; forget the table."""
    empty = state.nodes.size - 1
    state.nodes[empty].level = state.levels.size - 2
    for d in range(state.columns.size):
        for k in range(STEPS):
            state.steps[d, k] = math.nan
    for d in state.gaussian:
        state.coordinates[empty, state.columns[d].offset, PRIOR] = 0.0
    clear(state, empty)
    renew(state, empty)


@linked
def _imitate(state: State, node: int) -> None:
    """Give the empty leaf below a node all but its centre from the one that stands for all."""
    empty = state.nodes.size - 1
    state.nodes[node].base = state.nodes[empty].base
    state.nodes[node].power = state.nodes[empty].power
    for d in state.gaussian:
        for k in range(WIDTH, LIFT + 1):
            state.entries[node, d, k] = state.entries[empty, d, k]
        state.entries[node, d, CENTRE] = state.coordinates[node, state.columns[d].offset, PRIOR]
    if state.sizes[FORM] == FULL:
        state.nodes[node].log_det = state.nodes[empty].log_det
        state.matrices[node, ROOT_OF] = state.matrices[empty, ROOT_OF]


@linked
def _fit(state: State, leaf: int) -> None:
    """Recompute centres and widths of the Gaussian columns of a leaf."""
    node, form = giver(state, leaf), state.sizes[FORM]
    state.nodes[leaf].base = 0.0
    if form == SPHERICAL:
        fit_together(state, leaf, node)
    elif form == DIAG:
        fit_each(state, leaf, node)
    elif state.gaussian.size > 0:
        fit_t(state, leaf, node)
    sketch_leaf(state, leaf)


@linked
def log_predictive(state: State, leaf: int, i: int, gaps: bool, least: float) -> float:
    """Return the log predictive density of a datum at a leaf that does not contain it.

    Entries that are missing are left out; ``gaps`` says whether there are Gaussian ones. Each
    column takes something off the largest value that there could be: once it is below ``least`` the
    rest is not looked at, and what is returned is below it, too.
    """
    value = 0.0
    if state.gaussian.size > 0:
        form = state.sizes[FORM]
        if form == DIAG:
            value = log_t_each(state, leaf, i, gaps, least)
        elif form == FULL:
            value = log_t(state, leaf, i, gaps, least)
        else:
            value = log_t_together(state, leaf, i, gaps)
        if state.gaussian.size == state.columns.size:
            return value
    return value + predict_others(state, leaf, i, 0.0, least - value)


@linked
def log_within(state: State, leaf: int, i: int, gaps: bool) -> float:
    """Return the log predictive density of a datum at its own leaf, given all others there.

    NaN is returned where that takes a leaf without the datum.
    """
    value = 0.0
    if state.gaussian.size > 0:
        form = state.sizes[FORM]
        if form == DIAG:
            value = log_t_within(state, leaf, i, gaps)
        elif form == FULL and not gaps:
            value = log_t_inside(state, leaf, i)
        else:
            return math.nan
        if state.gaussian.size == state.columns.size:
            return value
    return value + predict_others(state, leaf, i, 1.0, -math.inf)


@linked
def predict_others(state: State, leaf: int, i: int, inside: float, least: float) -> float:
    """Return the log density of all that is not Gaussian; see `log_predictive`."""
    value, node = 0.0, giver(state, leaf)
    for d in range(state.columns.size):
        if value < least:
            return -math.inf
        if state.columns[d].kind != GAUSSIAN and not math.isnan(state.data[i, d]):
            value += predict(state, d, leaf, node, i, inside)
    return value


@linked
def log_largest(state: State, i: int, gaps: bool) -> float:
    """Return a bound on the log density of a datum at any empty leaf; it is never above that."""
    empty, form = state.nodes.size - 1, state.sizes[FORM]
    value = state.nodes[empty].base
    if gaps and state.gaussian.size > 0:
        if form == FULL:
            return log_largest_t(state, empty, i)
        there = 0
        for d in state.gaussian:
            if math.isnan(state.data[i, d]):
                value -= state.entries[empty, d, BASE]
            else:
                there += 1
        if form == SPHERICAL:
            power = state.nodes[empty].power
            whole = power + 0.5 * state.gaussian.size
            value += math.lgamma(power + 0.5 * there) - math.lgamma(whole)
    return value


@linked
def part_evidence(state: State, leaf: int, node: int, d: int) -> float:
    """Return that part of a leaf's log evidence below a node which column d has a say in."""
    if state.columns[d].kind != GAUSSIAN or state.sizes[FORM] == DIAG:
        return evidence(state, d, leaf, node)
    if state.sizes[FORM] == SPHERICAL:
        return evidence_together(state, leaf, node)
    factorise(state, leaf, node)
    return wishart_evidence(state, leaf)


@linked
def log_evidence(state: State, leaf: int, node: int) -> float:
    """Return the log marginal likelihood of all data of a leaf, if it were below a node.

    With full covariances the leaf must be renewed afterwards if the node is not its own.
    """
    value, together = 0.0, False
    for d in range(state.columns.size):
        if state.columns[d].kind != GAUSSIAN or state.sizes[FORM] == DIAG:
            value += evidence(state, d, leaf, node)
        elif not together:
            together = True
            value += part_evidence(state, leaf, node, d)
    return value
