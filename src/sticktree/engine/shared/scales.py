"""The move of the level scales v_l and of the covariance Σ, every φ integrated out.

Given the tree, Y ~ MN(0, S, Σ) with S fixed by the v_l. With a conjugate prior Σ integrates out as
well, so each v_l is slice sampled from

    |S|^(−D/2) · p(Yᵀ S⁻¹ Y) · p(v_l),     1/v_l ~ Gamma(a, b) with v_l within `SCALE_LIMIT`,

and Σ is then drawn given all of them. In coordinates whitened by the last Σ = A Aᵀ the prior of the
relative covariance has a scale that depends on A; it is passed in.

    spherical   τ ~ Gamma(a, b)            given Y: Gamma(a + N D/2, b + ½ tr Q),  Q = Yᵀ S⁻¹ Y
    diagonal    τ_d ~ Gamma(a, b)          given Y: Gamma(a + N/2,   b + ½ Q_dd)
    full        Σ ~ InvWishart(D − 1 + 2a, 2b I)    given Y: (D − 1 + 2a + N, 2b I + Q)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ALIVE, ROOT
from sticktree.engine.common.random import RandomState
from sticktree.engine.common.slice import slice_sampler
from sticktree.engine.shared.messages import log_determinant, receive
from sticktree.engine.shared.state import NOISE, State, set_scales
from sticktree.jit import jit, linked
from sticktree.model import SCALE_LIMIT

LARGEST = math.log(SCALE_LIMIT)


@jit
def add_squares(state: State, quadratic: FloatArray) -> None:
    """Add Yᵀ Y/r to ``quadratic``, in the form that `log_determinant` says."""
    r = state.scalars[NOISE]
    n_data, dimension = state.data.shape
    for i in range(n_data):
        if quadratic.shape[1] == 1:
            for d in range(dimension):
                quadratic[0, 0] += state.data[i, d] ** 2 / r
        elif quadratic.shape[0] == 1:
            for d in range(dimension):
                quadratic[0, d] += state.data[i, d] ** 2 / r
        else:
            for d in range(dimension):
                for e in range(d + 1):
                    quadratic[d, e] += state.data[i, d] * state.data[i, e] / r
    if quadratic.shape[0] > 1:
        for d in range(dimension):
            for e in range(d):
                quadratic[e, d] = quadratic[d, e]


@linked
def log_marginal(
    state: State, squares: FloatArray, prior_shape: float, prior_rate: FloatArray
) -> float:
    """Return log p(Y | tree, v) with Σ integrated out, up to a constant; messages are recomputed.

    ``squares`` is Yᵀ Y/r. ``prior_shape`` is a, and ``prior_rate`` is b in whitened coordinates:
    (1, 1), (1, D), or half the prior scale matrix (D, D).
    """
    for k in range(state.sizes[ALIVE] - 1, -1, -1):
        receive(state, state.order[k])
    quadratic = squares.copy()
    n_data, dimension = state.nodes[ROOT].n, state.data.shape[1]
    value = -0.5 * dimension * log_determinant(state, quadratic)
    if quadratic.shape[1] == 1:
        shape = prior_shape + 0.5 * n_data * dimension
        value -= shape * math.log(prior_rate[0, 0] + 0.5 * quadratic[0, 0])
    elif quadratic.shape[0] == 1:
        for d in range(dimension):
            rate = prior_rate[0, d] + 0.5 * quadratic[0, d]
            value -= (prior_shape + 0.5 * n_data) * math.log(rate)
    else:
        degrees = dimension - 1 + 2.0 * prior_shape + n_data
        value -= 0.5 * degrees * _log_det(2.0 * prior_rate + quadratic)
    return value


@linked
def _log_det(matrix: FloatArray) -> float:
    """Return the log determinant of a positive definite matrix, by Cholesky's elimination.

    It is infinite where rounding has made it anything else, so that nothing is drawn there.
    """
    total = 0.0
    for k in range(matrix.shape[0]):
        pivot = matrix[k, k]
        if not pivot > 0.0:
            return math.inf
        total += math.log(pivot)
        for i in range(k + 1, matrix.shape[0]):
            factor = matrix[i, k] / pivot
            for j in range(k + 1, i + 1):
                matrix[i, j] -= factor * matrix[j, k]
    return total


@linked
def _log_scale(x: float, parameters: Any) -> float:
    """Return the log density of x = log v_l, where 1/v_l ~ Gamma(a, b) within the limit."""
    if not abs(x) <= LARGEST:
        return -math.inf
    state, level, scale_prior, squares, prior_shape, prior_rate = parameters
    state.levels[level].scale = math.exp(x)
    set_scales(state)
    prior = -scale_prior[0] * x - scale_prior[1] * math.exp(-x)
    return log_marginal(state, squares, prior_shape, prior_rate) + prior


_draw_scale = slice_sampler(_log_scale)


@jit
def draw_scale(
    state: State,
    rng: RandomState,
    level: int,
    squares: FloatArray,
    scale_prior: tuple[float, float],
    prior_shape: float,
    prior_rate: FloatArray,
) -> None:
    """Redraw v_l of one level. The messages of the state must be settled afterwards."""
    parameters = (state, level, scale_prior, squares, prior_shape, prior_rate)
    start = min(max(math.log(state.levels[level].scale), -LARGEST), LARGEST)
    x = _draw_scale(start, parameters, 1.0, rng)
    state.levels[level].scale = math.exp(x)
    set_scales(state)


@jit
def scale_sweep(
    state: State,
    rng: RandomState,
    squares: FloatArray,
    scale_prior: tuple[float, float],
    prior_shape: float,
    prior_rate: FloatArray,
) -> None:
    """Redraw every v_l in turn. The messages of the state must be settled afterwards."""
    for level in range(state.levels.size):
        draw_scale(state, rng, level, squares, scale_prior, prior_shape, prior_rate)


def draw_covariance(
    quadratic: FloatArray,
    n_data: int,
    dimension: int,
    prior_shape: float,
    prior_rate: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw a factor B of the relative covariance Σ = B Bᵀ given Q; (D, D), or its diagonal (D,)."""
    if quadratic.shape[1] == 1:
        shape = prior_shape + 0.5 * n_data * dimension
        precision = rng.standard_gamma(shape) / (prior_rate[0, 0] + 0.5 * quadratic[0, 0])
        return np.full(dimension, precision**-0.5)
    if quadratic.shape[0] == 1:
        shape = prior_shape + 0.5 * n_data
        gammas = rng.standard_gamma(shape, dimension)
        return np.asarray(((prior_rate[0] + 0.5 * quadratic[0]) / gammas) ** 0.5)
    # Bartlett: with Ψ = C Cᵀ and T lower triangular, T_ii² ~ χ²(ν − i), T_ij ~ N(0, 1), the inverse
    # of C⁻ᵀ T Tᵀ C⁻¹ is inverse Wishart with scale Ψ.
    degrees = dimension - 1 + 2.0 * prior_shape + n_data
    bartlett = np.tril(rng.standard_normal((dimension, dimension)), -1)
    bartlett += np.diag(np.sqrt(rng.chisquare(degrees - np.arange(dimension))))
    factor = np.linalg.cholesky(2.0 * prior_rate + quadratic)
    return np.asarray(np.linalg.solve(bartlett, factor.T).T)
