"""Counts without an upper limit.

    λ ~ Gamma(κ e^u, κ),   y ~ Poisson(λ)

TOTAL of a leaf is the sum of its counts; PRIOR of a node is κ e^φ.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.logarithms import log_ascent
from sticktree.engine.own.kinds.kind import (
    TINY,
    ColumnKind,
    Here,
    Kernels,
    LeafColumn,
    Likelihood,
    counts,
    whole,
)
from sticktree.engine.own.state import COUNT, KAPPA, PHI, PRIOR, TOTAL, State
from sticktree.jit import inlined


@inlined
def _expect(here: Here, coordinates: FloatArray, node: int) -> None:
    rate = math.exp(min(coordinates[node, here.at, PHI], 300.0))
    coordinates[node, here.at, PRIOR] = max(here.kappa * rate, TINY)


@inlined
def _add(
    coordinates: FloatArray,
    entries: FloatArray,
    at: int,
    d: int,
    leaf: int,
    y: float,
    trials: float,
    sign: float,
) -> None:
    entries[leaf, d, COUNT] += sign
    coordinates[leaf, at, TOTAL] += sign * y


@inlined
def _evidence(here: Here, coordinates: FloatArray, leaf: int, node: int) -> float:
    first, total = coordinates[node, here.at, PRIOR], coordinates[leaf, here.at, TOTAL]
    return (
        math.lgamma(first + total)
        - math.lgamma(first)
        + first * math.log(here.kappa)
        - (first + total) * math.log(here.kappa + here.n)
    )


@inlined
def _predict(
    here: Here,
    coordinates: FloatArray,
    leaf: int,
    node: int,
    y: float,
    trials: float,
    inside: float,
) -> float:
    total = coordinates[leaf, here.at, TOTAL] - inside * y
    first = coordinates[node, here.at, PRIOR] + total
    rate = here.kappa + here.n
    return (
        log_ascent(first, y)
        - log_ascent(1.0, y)
        + first * math.log(rate / (rate + 1.0))
        - y * math.log(rate + 1.0)
    )


@inlined
def _constants(state: State, d: int) -> float:
    value = 0.0
    for i in range(state.data.shape[0]):
        y = state.data[i, d]
        if not math.isnan(y):
            value -= math.lgamma(y + 1.0)
    return value


@inlined
def _approximate(state: State, d: int, leaf: int, p: int) -> tuple[float, float]:
    n, total, kappa = (
        state.entries[leaf, d, COUNT],
        state.coordinates[leaf, p, TOTAL],
        state.hyper[KAPPA, d],
    )
    return math.log((total + 0.5) / n), (total + 0.5) * kappa / (kappa + n)


def _rate(leaves: LeafColumn) -> tuple[FloatArray, FloatArray]:
    """Return shape and rate of the Gamma posterior of λ at each leaf."""
    return leaves.prior[:, 0] + leaves.total[:, 0], leaves.hyper[KAPPA] + leaves.entries[COUNT]


def _mean(leaves: LeafColumn, shares: FloatArray, trials: FloatArray) -> FloatArray:
    shape, rate = _rate(leaves)
    return np.asarray(shares @ (shape / rate))


def _sample(leaves: LeafColumn, trials: FloatArray, rng: np.random.Generator) -> FloatArray:
    shape, rate = _rate(leaves)
    return rng.poisson(rng.gamma(shape) / rate).astype(np.float64)


POISSON = ColumnKind(
    "poisson",
    Likelihood(
        "poisson",
        medians=(1.0, 1.0, 1.0),
        deviations=(1.5, 0.0, 0.0),
        kernels=Kernels(_expect, _add, _evidence, _predict, _constants, _approximate),
        mean=_mean,
        sample=_sample,
    ),
    encode=lambda cells, _: counts(cells, "poisson"),
    decode=lambda values, _: whole(values),
)
