"""Counts that spread more widely than Poisson ones.

    q ~ Beta(κ σ(u), κ σ(−u)),   y ~ Γ(y + a)/(Γ(a) y!) · q^y (1 − q)^a

TOTAL of a leaf is the sum of its counts; PRIOR of a node is κ σ(φ).
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
from sticktree.engine.own.state import COUNT, KAPPA, PHI, PRIOR, SHAPE, TOTAL, State
from sticktree.jit import inlined


@inlined
def expect_share(here: Here, coordinates: FloatArray, node: int) -> None:
    """Turn φ, a logit, into the first of two pseudo-counts that sum to κ."""
    share = 1.0 / (1.0 + math.exp(-coordinates[node, here.at, PHI]))
    coordinates[node, here.at, PRIOR] = min(
        max(here.kappa * share, TINY), here.kappa * (1.0 - 1e-15)
    )


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
    second = here.kappa - first
    return (
        math.lgamma(first + total)
        - math.lgamma(first)
        + math.lgamma(second + here.n * here.a)
        - math.lgamma(second)
        + math.lgamma(here.kappa)
        - math.lgamma(here.kappa + total + here.n * here.a)
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
    r = here.a
    second = here.kappa - coordinates[node, here.at, PRIOR] + here.n * r
    both = first + second
    return (
        log_ascent(first, y)
        + math.lgamma(second + r)
        - math.lgamma(second)
        + math.lgamma(both)
        - math.lgamma(both + r)
        - log_ascent(both + r, y)
        + log_ascent(r, y)
        - log_ascent(1.0, y)
    )


@inlined
def _constants(state: State, d: int) -> float:
    value, r = 0.0, state.hyper[SHAPE, d]
    for i in range(state.data.shape[0]):
        y = state.data[i, d]
        if not math.isnan(y):
            value += math.lgamma(y + r) - math.lgamma(r) - math.lgamma(y + 1.0)
    return value


@inlined
def _approximate(state: State, d: int, leaf: int, p: int) -> tuple[float, float]:
    total, kappa = state.coordinates[leaf, p, TOTAL], state.hyper[KAPPA, d]
    trials = total + state.entries[leaf, d, COUNT] * state.hyper[SHAPE, d]
    share = (total + 0.5) / (trials + 1.0)
    precision = kappa * trials / (kappa + trials) * share * (1.0 - share)
    return math.log(share / (1.0 - share)), precision


def _counts(leaves: LeafColumn) -> tuple[FloatArray, FloatArray]:
    """Return both parameters of the Beta posterior of q at each leaf."""
    first, kappa = leaves.prior[:, 0] + leaves.total[:, 0], leaves.hyper[KAPPA]
    return first, kappa - leaves.prior[:, 0] + leaves.entries[COUNT] * leaves.hyper[SHAPE]


def _mean(leaves: LeafColumn, shares: FloatArray, trials: FloatArray) -> FloatArray:
    first, second = _counts(leaves)
    # E q/(1 − q) of a Beta; where it has no mean, the ratio of the parameters stands for it.
    odds = first / np.where(second > 1.0, second - 1.0, second)
    return np.asarray(leaves.hyper[SHAPE] * (shares @ odds))


def _sample(leaves: LeafColumn, trials: FloatArray, rng: np.random.Generator) -> FloatArray:
    q = rng.beta(*_counts(leaves))
    rate = rng.gamma(leaves.hyper[SHAPE], size=q.size) * q / np.maximum(1.0 - q, 1e-12)
    return rng.poisson(rate).astype(np.float64)


NEGATIVE_BINOMIAL = ColumnKind(
    "negative_binomial",
    Likelihood(
        "negative_binomial",
        medians=(2.0, 2.0, 1.0),
        deviations=(1.5, 1.0, 0.0),
        kernels=Kernels(expect_share, _add, _evidence, _predict, _constants, _approximate),
        mean=_mean,
        sample=_sample,
    ),
    encode=lambda cells, _: counts(cells, "negative_binomial"),
    decode=lambda values, _: whole(values),
)
