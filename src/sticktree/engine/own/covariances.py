"""With full covariances: the move of Ψ and of φ above the leaves, and what is missing of the data.

Each leaf draws W = R⁻¹ ~ Wishart(ν_n, Ψ_n⁻¹). Given those, φ of their parent is normal, and Ψ is
Wishart, as is its prior. Entries that are missing are normal given the leaf's mean and W.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ALIVE, ROOT
from sticktree.engine.common.random import RandomState, chi_square, gamma, normal, uniform
from sticktree.engine.own.kinds.wishart import cholesky
from sticktree.engine.own.state import (
    CENTRE,
    COUNT,
    KAPPA,
    LOG_PSI,
    PHI,
    ROOT_OF,
    SHAPE,
    TOTAL,
    State,
)
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL


@linked
def _solve_transposed(factor: FloatArray, x: FloatArray) -> None:
    """Solve Fᵀ z = x in place, F lower triangular."""
    for e in range(x.size - 1, -1, -1):
        for g in range(e + 1, x.size):
            x[e] -= factor[g, e] * x[g]
        x[e] /= factor[e, e]


@linked
def draw_wishart(factor: FloatArray, degrees: float, rng: RandomState) -> FloatArray:
    """Draw W ~ Wishart(degrees, (F Fᵀ)⁻¹), by Bartlett's decomposition."""
    size = factor.shape[0]
    root = np.zeros((size, size))  # its rows are the columns of F⁻ᵀ T
    for e in range(size):
        root[e, e] = math.sqrt(chi_square(rng, degrees - e))
        for g in range(e + 1, size):
            root[e, g] = normal(rng)
        _solve_transposed(factor, root[e])
    return root.T @ root


@jit
def covariance_sweep(state: State, rng: RandomState, psi: float) -> None:
    """Redraw φ of the Gaussian columns above the leaves, then Ψ. The state must be settled after.

    Ψ ~ Wishart(G + 1, psi/(G + 1) I).
    """
    size, column = state.gaussian.size, state.gaussian[0]
    kappa, degrees = state.hyper[KAPPA, column], size - 1 + 2.0 * state.hyper[SHAPE, column]
    total = (size + 1) / psi * np.eye(size)
    n_leaves = 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level != state.levels.size - 2:
            continue
        precision, weighted = np.zeros((size, size)), np.zeros(size)
        child = state.nodes[node].first_child
        while child != NULL:
            n = state.entries[child, column, COUNT]
            drawn = draw_wishart(state.matrices[child, ROOT_OF], degrees + n, rng)
            total += drawn
            n_leaves += 1
            weight = kappa / (kappa + n)
            for e in range(size):
                for g in range(size):
                    precision[e, g] += weight * n * drawn[e, g]
                    mean = state.coordinates[child, state.columns[state.gaussian[g]].offset, TOTAL]
                    weighted[e] += weight * drawn[e, g] * mean
            child = state.nodes[child].next_sibling
        _draw_phi(state, node, precision, weighted, rng)
    factor = np.empty((size, size))
    cholesky(total, factor)
    state.psi[:] = draw_wishart(factor, size + 1 + n_leaves * degrees, rng)
    state.scalars[LOG_PSI] = cholesky(state.psi, factor)


@linked
def _draw_phi(
    state: State, node: int, precision: FloatArray, weighted: FloatArray, rng: RandomState
) -> None:
    """Redraw φ of a node given precision and precision × mean from its leaves."""
    size, level = state.gaussian.size, state.nodes[node].level
    for e in range(size):
        p = state.columns[state.gaussian[e]].offset
        above = 0.0 if node == ROOT else state.coordinates[state.nodes[node].parent, p, PHI]
        precision[e, e] += 1.0 / state.variance[level, p]
        weighted[e] += above / state.variance[level, p]
    factor = np.empty((size, size))
    cholesky(precision, factor)
    for e in range(size):
        for g in range(e):
            weighted[e] -= factor[e, g] * weighted[g]
        weighted[e] /= factor[e, e]
    for e in range(size):
        weighted[e] += normal(rng)
    _solve_transposed(factor, weighted)
    for e in range(size):
        state.coordinates[node, state.columns[state.gaussian[e]].offset, PHI] = weighted[e]


@linked
def _draw_row(
    row: FloatArray,
    missing: npt.NDArray[np.bool_],
    mean: FloatArray,
    w: FloatArray,
    rng: RandomState,
) -> None:
    """Redraw the missing entries of a row ~ N(mean, W⁻¹) given the others."""
    size = row.size
    there = 0
    which = np.empty(size, dtype=np.int64)
    for e in range(size):
        if missing[e]:
            which[there] = e
            there += 1
    part, factor, x = np.empty((there, there)), np.empty((there, there)), np.empty(there)
    for a in range(there):
        x[a] = 0.0
        for b in range(there):
            part[a, b] = w[which[a], which[b]]
        for g in range(size):
            if not missing[g]:
                x[a] -= w[which[a], g] * (row[g] - mean[g])
    cholesky(part, factor)
    for a in range(there):
        for b in range(a):
            x[a] -= factor[a, b] * x[b]
        x[a] /= factor[a, a]
    for a in range(there):
        x[a] += normal(rng)
    _solve_transposed(factor, x)
    for a in range(there):
        row[which[a]] = mean[which[a]] + x[a]


@jit
def impute(state: State, rng: RandomState, missing: npt.NDArray[np.bool_]) -> None:
    """Redraw all Gaussian entries that are missing. The sums of the leaves must follow."""
    size, column = state.gaussian.size, state.gaussian[0]
    depth = state.levels.size - 1
    kappa, degrees = state.hyper[KAPPA, column], size - 1 + 2.0 * state.hyper[SHAPE, column]
    mean, row, gap = np.empty(size), np.empty(size), np.empty(size, dtype=np.bool_)
    factor = np.empty((size, size))
    for k in range(state.sizes[ALIVE]):
        leaf = state.order[k]
        if state.nodes[leaf].level != depth:
            continue
        drawn, ready = state.psi, False
        for i in range(state.leaf.size):
            if state.leaf[i] != leaf:
                continue
            any_gap = False
            for e in range(size):
                gap[e] = missing[i, state.gaussian[e]]
                any_gap |= gap[e]
            if not any_gap:
                continue
            if not ready:
                n = state.entries[leaf, column, COUNT]
                drawn = draw_wishart(state.matrices[leaf, ROOT_OF], degrees + n, rng)
                cholesky(drawn, factor)
                for e in range(size):
                    mean[e] = normal(rng) / math.sqrt(kappa + n)
                _solve_transposed(factor, mean)
                for e in range(size):
                    mean[e] += state.entries[leaf, state.gaussian[e], CENTRE]
                ready = True
            for e in range(size):
                row[e] = state.data[i, state.gaussian[e]]
            _draw_row(row, gap, mean, drawn, rng)
            for e in range(size):
                state.data[i, state.gaussian[e]] = row[e]


@linked
def draw_precision(shape: float, rate: float, floor: float, rng: RandomState) -> float:
    """Draw 1/s ~ Gamma(shape, rate) with s no less than a floor."""
    if floor * shape < rate:  # more than about half of all are
        while True:
            x = gamma(rng, shape) / rate
            if x * floor <= 1.0:
                return x
    # With t = 1/floor and m = rate · t, the density in u = x/t is u^(a−m−1) · (u e^(1−u))^m up to a
    # factor: a power of a uniform number, and a chance that grows up to u = 1.
    m = rate / floor
    if shape - m < 1e-3:
        m = shape - 1e-3
    while True:
        log_u = math.log(1.0 - uniform(rng)) / (shape - m)
        u = math.exp(log_u)
        chance = m * log_u - rate / floor * (u - 1.0)
        if math.log(1.0 - uniform(rng)) < chance:
            return u / floor
