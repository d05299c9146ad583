"""The Gaussian columns of a leaf together, with a covariance of their own.

R ~ InvWishart(ν, Ψ) with ν = G − 1 + 2a, μ ~ N(u, R/κ), y ~ N(μ, R). With n data of mean ȳ, the
scale matrix of the leaf is

    Ψ_n = Ψ + Σ (y − ȳ)(y − ȳ)ᵀ + κn/(κ + n) (ȳ − u)(ȳ − u)ᵀ = F Fᵀ,

and its predictive a multivariate t. A datum that comes or goes changes Ψ_n by one outer product,
and F by O(G²) operations.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.logarithms import bound_log
from sticktree.engine.own.state import (
    CENTRE,
    COUNT,
    KAPPA,
    LOG_PSI,
    OUTER,
    PHI,
    PRIOR,
    ROOT_OF,
    SHAPE,
    STEPS,
    TOTAL,
    WIDTH,
    State,
)
from sticktree.jit import inlined, linked

CANCELLED = 1e-7  # share of a determinant that must be left, when a datum is taken off, to be exact


@linked
def cholesky(matrix: FloatArray, factor: FloatArray) -> float:
    """Fill in the lower Cholesky factor of a matrix; return its log determinant.

    The factor may take the place of the matrix.
    """
    log_det, det = 0.0, 1.0
    size = matrix.shape[0]
    for i in range(size):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i == j:
                det *= max(value, 1e-300)
                factor[i, i] = math.sqrt(max(value, 1e-300))
            else:
                factor[i, j] = value / factor[j, j]
                factor[j, i] = 0.0
        if not 1e-150 < det < 1e150:
            log_det += math.log(det)
            det = 1.0
    return log_det + math.log(det)


@linked
def factorise(state: State, leaf: int, node: int) -> None:
    """Compute Ψ_n of a leaf below a node anew, and its factor."""
    size = state.gaussian.size
    n = state.entries[leaf, state.gaussian[0], COUNT]
    kappa = state.hyper[KAPPA, state.gaussian[0]]
    scale = 1.0 / (kappa + n)
    for e in range(size):
        at = state.columns[state.gaussian[e]].offset
        state.work[0, e] = u = state.coordinates[node, at, PHI]
        state.work[1, e] = kappa * u + state.coordinates[leaf, at, TOTAL]
    for e in range(size):
        # Σ y yᵀ + κ u uᵀ − (κ + n) μ_n μ_nᵀ, where μ_n = (κu + Σy)/(κ + n).
        first, second = kappa * state.work[0, e], scale * state.work[1, e]
        for g in range(e + 1):
            state.matrices[leaf, ROOT_OF, e, g] = (
                state.psi[e, g]
                + state.matrices[leaf, OUTER, e, g]
                + first * state.work[0, g]
                - second * state.work[1, g]
            )
    state.nodes[leaf].log_det = cholesky(
        state.matrices[leaf, ROOT_OF], state.matrices[leaf, ROOT_OF]
    )


@linked
def update(state: State, leaf: int, i: int, sign: float) -> bool:
    """Change the factor of a leaf by a datum that has just been counted."""
    size, column = state.gaussian.size, state.gaussian[0]
    kappa = state.hyper[KAPPA, column]
    n = state.entries[leaf, column, COUNT]
    # The mean before it came, or with it still in; (κ + n)/(κ + n ± 1) weighs the outer product.
    before = kappa + n - sign
    weight = math.sqrt(before / (kappa + n))
    for e in range(size):
        state.work[0, e] = weight * (
            state.data[i, state.gaussian[e]] - state.entries[leaf, state.gaussian[e], CENTRE]
        )
    return _update_factor(state, leaf, sign)


@linked
def _update_factor(state: State, leaf: int, sign: float) -> bool:
    """Change F Fᵀ of a leaf by ± x xᵀ, where x is in ``work`` and used up.

    Return False if the result is not positive definite.
    """
    size, change = state.gaussian.size, 1.0
    for k in range(size):
        before, x = state.matrices[leaf, ROOT_OF, k, k], state.work[0, k]
        ratio = x / before
        square = 1.0 + sign * ratio * ratio
        if square <= 1e-10:
            return False
        cosine = math.sqrt(square)
        inverse = 1.0 / cosine
        sine = ratio
        change *= square
        state.matrices[leaf, ROOT_OF, k, k] = before * cosine
        for i in range(k + 1, size):
            now = (state.matrices[leaf, ROOT_OF, i, k] + sign * sine * state.work[0, i]) * inverse
            state.matrices[leaf, ROOT_OF, i, k] = now
            state.work[0, i] = cosine * state.work[0, i] - sine * now
        if not 1e-150 < change < 1e150:
            state.nodes[leaf].log_det += math.log(change)
            change = 1.0
    state.nodes[leaf].log_det += math.log(change)
    return True


@linked
def fit_t(state: State, leaf: int, node: int) -> None:
    """Recompute centres of a leaf, and what its predictive t has in common for all data."""
    size, column = state.gaussian.size, state.gaussian[0]
    kappa = state.hyper[KAPPA, column]
    for d in state.gaussian:
        at = state.columns[d].offset
        centre = kappa * state.coordinates[node, at, PRIOR] + state.coordinates[leaf, at, TOTAL]
        state.entries[leaf, d, CENTRE] = centre / (kappa + state.entries[leaf, d, COUNT])
    for e in range(size):
        state.entries[leaf, state.gaussian[e], WIDTH] = 1.0 / state.matrices[leaf, ROOT_OF, e, e]
    n = state.entries[leaf, column, COUNT]
    state.nodes[leaf].power = state.hyper[SHAPE, column] + 0.5 * (n + size)
    state.nodes[leaf].base = _known_peak(state, n) - 0.5 * state.nodes[leaf].log_det


@inlined
def _known_peak(state: State, n: float) -> float:
    """Return `_log_peak` of all columns for a leaf of n data, from the table if it is there."""
    size = state.gaussian.size
    if n >= STEPS:
        return _log_peak(state, n, size)
    k, column = int(n), state.gaussian[0]
    if math.isnan(state.steps[column, k]):
        state.steps[column, k] = _log_peak(state, n, size)
    return state.steps[column, k]


@linked
def _log_peak(state: State, n: float, there: int) -> float:
    """Return the log density of the predictive t of some of the columns at its centre.

    The leaf has n data, and a scale matrix of determinant 1.
    """
    column = state.gaussian[0]
    kappa, degrees = state.hyper[KAPPA, column] + n, 2.0 * state.hyper[SHAPE, column] + n
    return (
        math.lgamma(0.5 * (degrees + there))
        - math.lgamma(0.5 * degrees)
        + 0.5 * there * math.log(kappa / ((kappa + 1.0) * math.pi))
    )


@linked
def log_t(state: State, leaf: int, i: int, gaps: bool, least: float) -> float:
    """Return the log predictive density of a datum's Gaussian entries at a leaf.

    What is below ``least`` need not be exact. Entries that are missing are left out.
    """
    if gaps:
        return _log_t_of_part(state, leaf, i)
    column = state.gaussian[0]
    kappa = state.hyper[KAPPA, column] + state.entries[leaf, column, COUNT]
    shrink = kappa / (kappa + 1.0)
    value, power = state.nodes[leaf].base, state.nodes[leaf].power
    if value < least:
        return -math.inf
    square = 0.0
    for e in range(state.gaussian.size):
        square += _residual(state, leaf, i, e) ** 2
        if value - power * bound_log(1.0 + shrink * square) < least:
            return -math.inf
    return value - power * math.log1p(shrink * square)


@linked
def log_t_inside(state: State, leaf: int, i: int) -> float:
    """Return the same of a datum that is in the leaf, given all others there.

    With q = xᵀ Ψ_n⁻¹ x, x = y − centre, the determinant of the others' matrix is that of Ψ_n times
    1 − q κ_n/(κ_n − 1). Where little is left of it, it is not exact enough: then NaN is returned.
    """
    column, size = state.gaussian[0], state.gaussian.size
    n = state.entries[leaf, column, COUNT]
    kappa = state.hyper[KAPPA, column] + n
    square = 0.0
    for e in range(size):
        square += _residual(state, leaf, i, e) ** 2
    left = 1.0 - square * kappa / (kappa - 1.0)
    if not left > CANCELLED:
        return math.nan
    power = state.nodes[leaf].power - 0.5
    peak = _known_peak(state, n - 1.0) - 0.5 * state.nodes[leaf].log_det
    return peak + (power - 0.5) * math.log(left)


@inlined
def _residual(state: State, leaf: int, i: int, e: int) -> float:
    """Return entry e of F⁻¹ (y − centre), given those before it."""
    d = state.gaussian[e]
    residual = state.data[i, d] - state.entries[leaf, d, CENTRE]
    for g in range(e):
        residual -= state.matrices[leaf, ROOT_OF, e, g] * state.work[0, g]
    residual *= state.entries[leaf, d, WIDTH]
    state.work[0, e] = residual
    return residual


@linked
def _log_t_of_part(state: State, leaf: int, i: int) -> float:
    """Return the log density of what is there: the margin of a t is a t, too."""
    x = np.empty(state.gaussian.size)
    there = 0
    for d in state.gaussian:
        if not math.isnan(state.data[i, d]):
            x[there] = state.data[i, d] - state.entries[leaf, d, CENTRE]
            there += 1
    if there == 0:
        return 0.0
    factor = np.empty((there, there))
    log_det = cholesky(_observed_part(state, leaf, i, there), factor)
    square = 0.0
    for e in range(there):
        for g in range(e):
            x[e] -= factor[e, g] * x[g]
        x[e] /= factor[e, e]
        square += x[e] * x[e]
    n = state.entries[leaf, state.gaussian[0], COUNT]
    kappa = state.hyper[KAPPA, state.gaussian[0]] + n
    power = 0.5 * (2.0 * state.hyper[SHAPE, state.gaussian[0]] + n + there)
    peak = _log_peak(state, n, there) - 0.5 * log_det
    return peak - power * math.log1p(kappa / (kappa + 1.0) * square)


@linked
def log_largest_t(state: State, leaf: int, i: int) -> float:
    """Return the log density of what is there of a datum, were it at the centre of a leaf."""
    there = 0
    for d in state.gaussian:
        there += not math.isnan(state.data[i, d])
    if there == 0:
        return 0.0
    factor = np.empty((there, there))
    log_det = cholesky(_observed_part(state, leaf, i, there), factor)
    n = state.entries[leaf, state.gaussian[0], COUNT]
    return _log_peak(state, n, there) - 0.5 * log_det


@linked
def _observed_part(state: State, leaf: int, i: int, there: int) -> FloatArray:
    """Return the rows and columns of Ψ_n for which the datum has an entry."""
    size = state.gaussian.size
    part = np.empty((there, there))
    row = 0
    for e in range(size):
        if math.isnan(state.data[i, state.gaussian[e]]):
            continue
        column = 0
        for g in range(e + 1):
            if math.isnan(state.data[i, state.gaussian[g]]):
                continue
            value = 0.0
            for k in range(g + 1):
                value += state.matrices[leaf, ROOT_OF, e, k] * state.matrices[leaf, ROOT_OF, g, k]
            part[row, column] = value
            part[column, row] = value
            column += 1
        row += 1
    return part


@linked
def log_multigamma(x: float, size: int) -> float:
    """Return the log of the multivariate gamma function."""
    value = 0.25 * size * (size - 1) * math.log(math.pi)
    for k in range(size):
        value += math.lgamma(x - 0.5 * k)
    return value


@linked
def wishart_evidence(state: State, leaf: int) -> float:
    """Return the log marginal likelihood of a leaf's Gaussian columns, its factor up to date."""
    column, size = state.gaussian[0], state.gaussian.size
    n = state.entries[leaf, column, COUNT]
    if n == 0.0:
        return 0.0
    kappa = state.hyper[KAPPA, column]
    degrees = size - 1 + 2.0 * state.hyper[SHAPE, column]
    return (
        -0.5 * n * size * math.log(math.pi)
        + 0.5 * size * math.log(kappa / (kappa + n))
        + 0.5 * degrees * state.scalars[LOG_PSI]
        - 0.5 * (degrees + n) * state.nodes[leaf].log_det
        + log_multigamma(0.5 * (degrees + n), size)
        - log_multigamma(0.5 * degrees, size)
    )


def t_of_missing(state: State, y: FloatArray, leaf: int) -> tuple[FloatArray, FloatArray, float]:
    """Return the t of a row's missing Gaussian entries at a leaf, given those that are there.

    It is mean + root · z/√χ², z normal and χ² with the degrees returned.
    """
    column = int(state.gaussian[0])
    n = float(state.entries[leaf, column, COUNT])
    kappa = float(state.hyper[KAPPA, column]) + n
    root = state.matrices[leaf, ROOT_OF]
    scale = root @ root.T
    off = y[state.gaussian] - state.entries[leaf, state.gaussian, CENTRE]
    gap = np.isnan(off)
    centre = state.entries[leaf, state.gaussian[gap], CENTRE]
    degrees = 2.0 * float(state.hyper[SHAPE, column]) + n
    rest, cross = scale[np.ix_(gap, gap)], scale[np.ix_(gap, ~gap)]
    widen = (kappa + 1.0) / kappa
    if gap.all():
        return centre, np.linalg.cholesky(widen * rest), degrees
    solved = np.linalg.solve(scale[np.ix_(~gap, ~gap)], np.column_stack([off[~gap], cross.T]))
    square = off[~gap] @ solved[:, 0]
    factor = np.linalg.cholesky((widen + square) * (rest - cross @ solved[:, 1:]))
    return centre + cross @ solved[:, 0], factor, degrees + float((~gap).sum())
