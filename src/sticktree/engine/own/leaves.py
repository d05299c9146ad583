"""What the moves ask of a leaf, whatever its noise and its columns.

    put            let a datum in or out
    renew          its predictive density, after its parent's φ or a hyper-parameter has changed
    log_predictive of a datum, given those in the leaf
    log_evidence   of all data in the leaf

A leaf is any row of the state's arrays: one of the tree, a spare one, or that of a node of the last
inner level, which stands for an empty leaf below it.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.engine.own.families import (
    column_evidence,
    log_predictive_of_count,
    posterior_rate,
    set_prior,
)
from sticktree.engine.own.incomplete import log_lower_gamma
from sticktree.engine.own.state import (
    BASE,
    CATEGORICAL,
    CENTRE,
    COUNT,
    DIAG,
    FORM,
    FULL,
    GAUSSIAN,
    KAPPA,
    OUTER,
    POWER,
    PRIOR,
    ROOT_OF,
    SCALE,
    SHAPE,
    SPHERICAL,
    SQUARES,
    TOTAL,
    WIDTH,
    State,
)
from sticktree.engine.own.wishart import (
    factorise,
    fit_t,
    log_t,
    update_factor,
    wishart_evidence,
)
from sticktree.jit import inlined, linked

__all__ = [
    "clear",
    "count",
    "expect",
    "giver",
    "has_gaps",
    "is_plain",
    "log_evidence",
    "log_predictive",
    "log_predictive_plain",
    "part_evidence",
    "put",
    "renew",
    "set_empty",
]


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
def expect(state: State, node: int) -> None:
    """Turn φ of a node of the last inner level into what its leaves expect, itself included."""
    for d in range(state.columns.size):
        set_prior(state, node, d)
    renew(state, node)


@linked
def has_gaps(state: State, i: int) -> bool:
    """Tell whether a datum misses an entry."""
    gaps = False
    for d in range(state.columns.size):
        gaps |= math.isnan(state.data[i, d])
    return gaps


@linked
def put(state: State, leaf: int, i: int, sign: float) -> None:
    """Add a datum to a leaf, or take it away; the leaf's predictive density follows."""
    count(state, leaf, i, sign)
    if state.sizes[FORM] == FULL and not _update(state, leaf, i, sign):
        factorise(state, leaf, giver(state, leaf))
    _fit(state, leaf)


@linked
def count(state: State, leaf: int, i: int, sign: float) -> None:
    """Add a datum to the sums of a leaf alone."""
    for d in range(state.columns.size):
        y = state.data[i, d]
        if not math.isnan(y):
            at = state.columns[d].offset
            state.entries[leaf, d, COUNT] += sign
            if state.columns[d].kind == CATEGORICAL:
                state.coordinates[leaf, at + int(y), TOTAL] += sign
            else:
                state.coordinates[leaf, at, TOTAL] += sign * y
                state.entries[leaf, d, SQUARES] += sign * y * y
    if state.sizes[FORM] == FULL:
        size = state.gaussian.size
        for e in range(size):
            first = sign * state.data[i, state.gaussian[e]]
            for g in range(e + 1):
                state.matrices[leaf, OUTER, e, g] += first * state.data[i, state.gaussian[g]]


@linked
def _update(state: State, leaf: int, i: int, sign: float) -> bool:
    """Change the factor of a leaf by a datum that has just been counted."""
    size, column = state.gaussian.size, state.gaussian[0]
    kappa = state.hyper[KAPPA, column]
    n = state.entries[leaf, column, COUNT]
    # The mean before it came, or with it still in; (κ + n)/(κ + n ± 1) weighs the outer product.
    before = kappa + n - sign
    weight = math.sqrt(before / (kappa + n))
    x = np.empty(size)
    for e in range(size):
        x[e] = weight * (
            state.data[i, state.gaussian[e]] - state.entries[leaf, state.gaussian[e], CENTRE]
        )
    if not update_factor(state.matrices[leaf, ROOT_OF], x, sign):
        return False
    log_det = 0.0
    for e in range(size):
        log_det += 2.0 * math.log(state.matrices[leaf, ROOT_OF, e, e])
    state.nodes[leaf].log_det = log_det
    return True


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
    """Recompute the last spare row: what all empty leaves have in common."""
    empty = state.nodes.size - 1
    state.nodes[empty].level = state.levels.size - 2
    for d in range(state.columns.size):
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
        for k in range(WIDTH, BASE + 1):
            state.entries[node, d, k] = state.entries[empty, d, k]
        state.entries[node, d, CENTRE] = state.coordinates[node, state.columns[d].offset, PRIOR]
    if state.sizes[FORM] == FULL:
        state.nodes[node].log_det = state.nodes[empty].log_det
        state.matrices[node, ROOT_OF] = state.matrices[empty, ROOT_OF]


@inlined
def _half_step(x: float) -> float:
    """Return log Γ(x + ½) − log Γ(x): where x is large, by Stirling's series."""
    if x < 20.0:
        return math.lgamma(x + 0.5) - math.lgamma(x)
    y = 1.0 / x
    square = y * y
    series = 1.0 / 192.0 - square * (1.0 / 640.0 - square * 17.0 / 14336.0)
    return 0.5 * math.log(x) - y * (0.125 - square * series)


@linked
def _fit(state: State, leaf: int) -> None:
    """Recompute centres and widths of the Gaussian columns of a leaf."""
    node, form = giver(state, leaf), state.sizes[FORM]
    state.nodes[leaf].base = 0.0
    if form == SPHERICAL:
        _fit_together(state, leaf, node)
        return
    for d in range(state.columns.size):
        if state.columns[d].kind != GAUSSIAN:
            continue
        at, n = state.columns[d].offset, state.entries[leaf, d, COUNT]
        first = state.gaussian[0]
        kappa = state.hyper[KAPPA, first if form == FULL else d]
        u = state.coordinates[node, at, PRIOR]
        state.entries[leaf, d, CENTRE] = (kappa * u + state.coordinates[leaf, at, TOTAL]) / (
            kappa + n
        )
        if form == DIAG:
            a, floor = state.hyper[SHAPE, d], state.columns[d].floor
            b_n = a * state.hyper[SCALE, d] + posterior_rate(state, leaf, d, u, kappa)
            a_n = a + 0.5 * n
            width = (kappa + n) / (2.0 * b_n * (kappa + n + 1.0))
            base = _half_step(a_n) + 0.5 * math.log(width / math.pi)
            if floor > 0.0:
                base -= log_lower_gamma(a_n, b_n / floor)
            state.entries[leaf, d, WIDTH] = width
            state.entries[leaf, d, POWER] = a_n + 0.5
            state.entries[leaf, d, BASE] = base
            state.nodes[leaf].base += base
    if form == FULL and state.gaussian.size > 0:
        fit_t(state, leaf)


@linked
def _fit_together(state: State, leaf: int, node: int) -> None:
    """Recompute centres and widths of Gaussian columns that share one variance."""
    if state.gaussian.size == 0:
        return
    column = state.gaussian[0]
    kappa, a = state.hyper[KAPPA, column], state.hyper[SHAPE, column]
    b_n, a_n = a * state.hyper[SCALE, column], a
    for d in state.gaussian:
        u = state.coordinates[node, state.columns[d].offset, PRIOR]
        b_n += posterior_rate(state, leaf, d, u, kappa)
        a_n += 0.5 * state.entries[leaf, d, COUNT]
    state.nodes[leaf].power = a_n
    size = 0.5 * state.gaussian.size
    base = math.lgamma(a_n + size) - math.lgamma(a_n)
    if state.columns[column].floor > 0.0:
        base -= log_lower_gamma(a_n, b_n / state.columns[column].floor)
    state.entries[leaf, column, POWER] = b_n
    for d in state.gaussian:
        at, n = state.columns[d].offset, state.entries[leaf, d, COUNT]
        u = state.coordinates[node, at, PRIOR]
        state.entries[leaf, d, CENTRE] = (kappa * u + state.coordinates[leaf, at, TOTAL]) / (
            kappa + n
        )
        width = (kappa + n) / (2.0 * b_n * (kappa + n + 1.0))
        state.entries[leaf, d, WIDTH] = width
        state.entries[leaf, d, BASE] = 0.5 * math.log(width / math.pi)
        base += state.entries[leaf, d, BASE]
    state.nodes[leaf].base = base


@linked
def log_predictive(state: State, leaf: int, i: int, gaps: bool, least: float) -> float:
    """Return the log predictive density of a datum at a leaf that does not contain it.

    Entries that are missing, which ``gaps`` says there are, are left out. Each column takes
    something off the largest value that there could be: once it is below ``least`` the rest is not
    looked at, and what is returned is below it, too.
    """
    form = state.sizes[FORM]
    value = state.nodes[leaf].base
    if form == FULL and state.gaussian.size > 0:
        value = log_t(state, leaf, i, gaps, least)
    elif form == SPHERICAL and state.gaussian.size > 0:
        value = _log_t_together(state, leaf, i, gaps)
    elif gaps:
        for d in range(state.columns.size):
            if math.isnan(state.data[i, d]) and state.columns[d].kind == GAUSSIAN:
                value -= state.entries[leaf, d, BASE]
    node = giver(state, leaf)
    for d in range(state.columns.size):
        y = state.data[i, d]
        if gaps and math.isnan(y):
            continue
        if state.columns[d].kind != GAUSSIAN:
            value += log_predictive_of_count(state, leaf, node, d, y)
        elif form == DIAG:
            width = state.entries[leaf, d, WIDTH]
            square = 1.0 + width * (y - state.entries[leaf, d, CENTRE]) ** 2
            power = state.entries[leaf, d, POWER]
            value -= power * math.log(square)
            if state.columns[d].floor > 0.0:
                n = state.entries[leaf, d, COUNT]
                kappa = state.hyper[KAPPA, d] + n
                b_n = 0.5 * kappa / ((kappa + 1.0) * width)
                value += log_lower_gamma(power, b_n * square / state.columns[d].floor)
        if value < least:
            break
    return value


@inlined
def log_predictive_plain(state: State, leaf: int, i: int, least: float) -> float:
    """Return the same where `is_plain`, without a function to call."""
    value, d = state.nodes[leaf].base, 0
    while d < state.columns.size and value >= least:
        off = state.data[i, d] - state.entries[leaf, d, CENTRE]
        square = 1.0 + state.entries[leaf, d, WIDTH] * off * off
        value -= state.entries[leaf, d, POWER] * math.log(square)
        d += 1
    return value


@linked
def is_plain(state: State) -> bool:
    """Tell whether all columns are Gaussian, with variances of their own and without floors."""
    plain = state.sizes[FORM] == DIAG and state.gaussian.size == state.columns.size
    for d in range(state.columns.size):
        plain &= state.columns[d].floor == 0.0
    return plain


@linked
def _log_t_together(state: State, leaf: int, i: int, gaps: bool) -> float:
    """Return the log predictive density of Gaussian columns that share one variance."""
    value, power = state.nodes[leaf].base, state.nodes[leaf].power
    square, there = 1.0, 0
    for d in state.gaussian:
        y = state.data[i, d]
        if not math.isnan(y):
            square += state.entries[leaf, d, WIDTH] * (y - state.entries[leaf, d, CENTRE]) ** 2
            there += 1
        else:
            value -= state.entries[leaf, d, BASE]
    if there == 0:
        return 0.0
    if gaps:
        value += math.lgamma(power + 0.5 * there) - math.lgamma(power + 0.5 * state.gaussian.size)
    value -= (power + 0.5 * there) * math.log(square)
    column = state.gaussian[0]
    floor = state.columns[column].floor
    if floor > 0.0:
        rate = state.entries[leaf, column, POWER] * square
        value += log_lower_gamma(power + 0.5 * there, rate / floor)
    return value


@linked
def _evidence_together(state: State, leaf: int, node: int) -> float:
    """Return the log evidence of Gaussian columns that share one variance."""
    column = state.gaussian[0]
    kappa, a = state.hyper[KAPPA, column], state.hyper[SHAPE, column]
    rate = a * state.hyper[SCALE, column]
    b_n, a_n, value = rate, a, 0.0
    for d in state.gaussian:
        n = state.entries[leaf, d, COUNT]
        b_n += posterior_rate(
            state, leaf, d, state.coordinates[node, state.columns[d].offset, PRIOR], kappa
        )
        a_n += 0.5 * n
        value += 0.5 * math.log(kappa / (kappa + n))
    value += a * math.log(rate) - a_n * math.log(b_n) + math.lgamma(a_n) - math.lgamma(a)
    floor = state.columns[column].floor
    if floor > 0.0:
        value += log_lower_gamma(a_n, b_n / floor) - log_lower_gamma(a, rate / floor)
    return value - (a_n - a) * math.log(2.0 * math.pi)


@linked
def part_evidence(state: State, leaf: int, node: int, d: int) -> float:
    """Return that part of a leaf's log evidence below a node which column d has a say in."""
    if state.columns[d].kind != GAUSSIAN or state.sizes[FORM] == DIAG:
        return column_evidence(state, leaf, node, d)
    if state.sizes[FORM] == SPHERICAL:
        return _evidence_together(state, leaf, node)
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
            value += column_evidence(state, leaf, node, d)
        elif not together:
            together = True
            value += part_evidence(state, leaf, node, d)
    return value
