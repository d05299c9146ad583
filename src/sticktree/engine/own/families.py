"""What a leaf says of one column, its parameters integrated out given φ of its parent.

    gaussian            s ~ InvGamma(a, ab) with s ≥ f,  μ ~ N(u, s/κ),     y ~ N(μ, s)
    categorical         θ ~ Dirichlet(κ softmax(u)),                        y ~ θ
    poisson             λ ~ Gamma(κ e^u, κ),                                y ~ Poisson(λ)
    negative binomial   q ~ Beta(κ σ(u), κ σ(−u)),     y ~ Γ(y + a)/(Γ(a) y!) · q^y (1 − q)^a

All are conjugate, so a leaf is its counts, sums and sums of squares. What depends on single data
alone, such as y!, is left to `log_constants`.
"""

from __future__ import annotations

import math

from sticktree.checks import FloatArray
from sticktree.engine.own.incomplete import log_lower_gamma
from sticktree.engine.own.state import (
    CATEGORICAL,
    COUNT,
    GAUSSIAN,
    KAPPA,
    NEGATIVE_BINOMIAL,
    PHI,
    POISSON,
    PRIOR,
    SCALE,
    SHAPE,
    SQUARES,
    TOTAL,
    State,
)
from sticktree.jit import inlined, jit, linked

__all__ = [
    "column_evidence",
    "log_constants",
    "log_predictive_of_count",
    "posterior_rate",
    "set_prior",
]

TINY = 1e-300  # a pseudo-count is never quite zero


@linked
def set_prior(state: State, node: int, d: int) -> None:
    """Turn φ of a node of the last inner level into what its leaves expect of column d."""
    kind, at, width = state.columns[d].kind, state.columns[d].offset, state.columns[d].width
    kappa = state.hyper[KAPPA, d]
    if kind == CATEGORICAL:
        largest = -math.inf
        for p in range(at, at + width):
            largest = max(largest, state.coordinates[node, p, PHI])
        total = 0.0
        for p in range(at, at + width):
            state.coordinates[node, p, PRIOR] = math.exp(state.coordinates[node, p, PHI] - largest)
            total += state.coordinates[node, p, PRIOR]
        for p in range(at, at + width):
            state.coordinates[node, p, PRIOR] = max(
                kappa * state.coordinates[node, p, PRIOR] / total, TINY
            )
    elif kind == POISSON:
        state.coordinates[node, at, PRIOR] = max(
            kappa * math.exp(min(state.coordinates[node, at, PHI], 300.0)), TINY
        )
    elif kind == NEGATIVE_BINOMIAL:
        share = 1.0 / (1.0 + math.exp(-state.coordinates[node, at, PHI]))
        state.coordinates[node, at, PRIOR] = min(max(kappa * share, TINY), kappa * (1.0 - 1e-15))
    else:
        state.coordinates[node, at, PRIOR] = state.coordinates[node, at, PHI]


@inlined
def posterior_rate(state: State, leaf: int, d: int, u: float, kappa: float) -> float:
    """Return ½ Σ (y − ȳ)² + ½ κn/(κ + n) (ȳ − u)² of a Gaussian column."""
    n, at = state.entries[leaf, d, COUNT], state.columns[d].offset
    if n == 0.0:
        return 0.0
    mean = state.coordinates[leaf, at, TOTAL] / n
    around = max(state.entries[leaf, d, SQUARES] - n * mean * mean, 0.0)
    return 0.5 * (around + kappa * n / (kappa + n) * (mean - u) ** 2)


@linked
def column_evidence(state: State, leaf: int, node: int, d: int) -> float:
    """Return the log marginal likelihood of a leaf's entries in column d below a node."""
    kind, at, n = state.columns[d].kind, state.columns[d].offset, state.entries[leaf, d, COUNT]
    if n == 0.0:
        return 0.0
    kappa, a = state.hyper[KAPPA, d], state.hyper[SHAPE, d]
    if kind == GAUSSIAN:
        rate = a * state.hyper[SCALE, d]
        b_n = rate + posterior_rate(state, leaf, d, state.coordinates[node, at, PRIOR], kappa)
        a_n = a + 0.5 * n
        value = (
            0.5 * math.log(kappa / (kappa + n))
            + a * math.log(rate)
            - a_n * math.log(b_n)
            + math.lgamma(a_n)
            - math.lgamma(a)
            - 0.5 * n * math.log(2.0 * math.pi)
        )
        floor = state.columns[d].floor
        if floor > 0.0:
            value += log_lower_gamma(a_n, b_n / floor) - log_lower_gamma(a, rate / floor)
        return value
    if kind == CATEGORICAL:
        value = math.lgamma(kappa) - math.lgamma(kappa + n)
        for p in range(at, at + state.columns[d].width):
            if state.coordinates[leaf, p, TOTAL] > 0.0:
                pseudo = state.coordinates[node, p, PRIOR]
                value += math.lgamma(pseudo + state.coordinates[leaf, p, TOTAL]) - math.lgamma(
                    pseudo
                )
        return value
    first, total = state.coordinates[node, at, PRIOR], state.coordinates[leaf, at, TOTAL]
    if kind == POISSON:
        return (
            math.lgamma(first + total)
            - math.lgamma(first)
            + first * math.log(kappa)
            - (first + total) * math.log(kappa + n)
        )
    second = kappa - first
    return (
        math.lgamma(first + total)
        - math.lgamma(first)
        + math.lgamma(second + n * a)
        - math.lgamma(second)
        + math.lgamma(kappa)
        - math.lgamma(kappa + total + n * a)
    )


@linked
def log_predictive_of_count(state: State, leaf: int, node: int, d: int, y: float) -> float:
    """Return the log probability of a category or a count at a leaf, given its data."""
    kind, at, n = state.columns[d].kind, state.columns[d].offset, state.entries[leaf, d, COUNT]
    kappa = state.hyper[KAPPA, d]
    if kind == CATEGORICAL:
        p = at + int(y)
        return math.log(
            (state.coordinates[leaf, p, TOTAL] + state.coordinates[node, p, PRIOR]) / (n + kappa)
        )
    first = state.coordinates[node, at, PRIOR] + state.coordinates[leaf, at, TOTAL]
    if kind == POISSON:
        rate = kappa + n
        return (
            math.lgamma(first + y)
            - math.lgamma(first)
            - math.lgamma(y + 1.0)
            + first * math.log(rate / (rate + 1.0))
            - y * math.log(rate + 1.0)
        )
    r = state.hyper[SHAPE, d]
    second = kappa - state.coordinates[node, at, PRIOR] + n * r
    return (
        math.lgamma(first + y)
        - math.lgamma(first)
        + math.lgamma(second + r)
        - math.lgamma(second)
        + math.lgamma(first + second)
        - math.lgamma(first + second + y + r)
        + math.lgamma(y + r)
        - math.lgamma(r)
        - math.lgamma(y + 1.0)
    )


@jit
def log_constants(data: FloatArray, kind: int, d: int, r: float) -> float:
    """Return what the counts of column d add to the log likelihood wherever they sit."""
    value = 0.0
    for i in range(data.shape[0]):
        y = data[i, d]
        if not math.isnan(y):
            if kind == POISSON:
                value -= math.lgamma(y + 1.0)
            elif kind == NEGATIVE_BINOMIAL:
                value += math.lgamma(y + r) - math.lgamma(r) - math.lgamma(y + 1.0)
    return value
