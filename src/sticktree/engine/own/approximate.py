"""A normal approximation of what a leaf says of its parent's φ, for proposals only."""

from __future__ import annotations

import math

from sticktree.engine.own.families import posterior_rate
from sticktree.engine.own.state import (
    CATEGORICAL,
    COUNT,
    FORM,
    FULL,
    GAUSSIAN,
    KAPPA,
    POISSON,
    SCALE,
    SHAPE,
    SPHERICAL,
    TOTAL,
    State,
)
from sticktree.jit import linked

__all__ = ["approximate"]


@linked
def approximate(state: State, leaf: int, d: int, p: int) -> tuple[float, float]:
    """Return centre and precision for coordinate p, which belongs to column d.

    The precision is that of n observations of a parameter that itself varies as κ observations do.
    """
    kind, n = state.columns[d].kind, state.entries[leaf, d, COUNT]
    kappa = state.hyper[KAPPA, d]
    if n == 0.0:
        return 0.0, 0.0
    total = state.coordinates[leaf, p, TOTAL]
    if kind == GAUSSIAN:
        mean = total / n
        column = state.gaussian[0] if state.sizes[FORM] == SPHERICAL else d
        a, b = state.hyper[SHAPE, column], state.hyper[SCALE, column]
        if state.sizes[FORM] == FULL:
            column = state.gaussian[0]
            kappa, a = state.hyper[KAPPA, column], state.hyper[SHAPE, column]
            e = 0
            while state.gaussian[e] != d:
                e += 1
            b = 0.5 * state.psi[e, e] / a
        rate = a * b + posterior_rate(state, leaf, d, mean, kappa)
        return mean, (a + 0.5 * n) / rate * kappa * n / (kappa + n)
    if kind == CATEGORICAL:
        share = (total + 0.5) / (n + 0.5 * state.columns[d].width)
        return math.log(share), kappa * n / (kappa + n) * share * (1.0 - share)
    if kind == POISSON:
        return math.log((total + 0.5) / n), (total + 0.5) * kappa / (kappa + n)
    trials = total + n * state.hyper[SHAPE, d]
    share = (total + 0.5) / (trials + 1.0)
    precision = kappa * trials / (kappa + trials) * share * (1.0 - share)
    return math.log(share / (1.0 - share)), precision
