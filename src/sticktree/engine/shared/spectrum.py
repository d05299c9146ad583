"""The move of the level scales with a full Σ of many columns: one factorisation for each level.

See scales.py for the law. Where K ways of the tree cross level l, let ȳ_k be what the data below
way k say of φ there, with variance s_k. These are all that depends on v_l:

    ȳ ~ MN(0, C + v_l I, Σ),     C_jk = Σ v_m over the levels m < l that ways j and k share,
                                 C_kk = v_0 + … + v_(l−1) + s_k.

With M = 2b + Q_w, where Q_w is Yᵀ S⁻¹ Y within the data below each way, the determinant that takes
Σ's place is |M + ȳᵀ (C + v I)⁻¹ ȳ| = |M| · |C + ȳ M⁻¹ ȳᵀ + v I| / |C + v I|. So with λ the
eigenvalues of C, and μ those of C + ȳ M⁻¹ ȳᵀ, the log density of v_l is

    −D/2 Σ log(λ_k + v) − ½ (D − 1 + 2a + N) Σ (log(μ_k + v) − log(λ_k + v)) + log p(v),

and a slice asks for K logarithms at each of its points, where the determinant has D³/3 products.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ALIVE, ROOT, Index
from sticktree.engine.common.random import RandomState
from sticktree.engine.common.slice import slice_sampler
from sticktree.engine.shared.scales import LARGEST, draw_scale
from sticktree.engine.shared.state import State, set_scales
from sticktree.jit import jit, linked

MANY = 64  # columns, from which on this is the quicker way


@linked
def _log_scale(x: float, parameters: Any) -> float:
    """Return the log density of x = log v_l."""
    if not abs(x) <= LARGEST:
        return -math.inf
    below, with_data, dimension, degrees, scale_prior = parameters
    v = math.exp(x)
    value = -scale_prior[0] * x - scale_prior[1] / v
    for k in range(below.size):
        without = math.log(below[k] + v)
        value -= 0.5 * dimension * without
        value -= 0.5 * degrees * (math.log(with_data[k] + v) - without)
    return value


_draw_scale = slice_sampler(_log_scale)


@jit
def _draw_by_spectrum(
    start: float,
    below: FloatArray,
    with_data: FloatArray,
    dimension: float,
    degrees: float,
    scale_prior: tuple[float, float],
    rng: RandomState,
) -> float:
    parameters = (below, with_data, dimension, degrees, scale_prior)
    start = min(max(start, -LARGEST), LARGEST)
    return _draw_scale(start, parameters, 1.0, rng)


def wide_scale_sweep(
    state: State,
    rng: RandomState,
    squares: FloatArray,
    scale_prior: tuple[float, float],
    prior_shape: float,
    prior_rate: FloatArray,
) -> None:
    """Redraw every v_l in turn, as `scale_sweep` does, for a full Σ.

    Levels come from the root down, so that no message changes that a later one needs. The messages
    of the state must be up to date, and be settled afterwards.
    """
    dimension = state.data.shape[1]
    degrees = dimension - 1 + 2.0 * prior_shape + int(state.nodes["n"][ROOT])
    for level in range(state.levels.size):
        ways = _ways(state, level)
        spectra = None
        if ways.size <= dimension:
            spectra = _spectra(state, level, ways, squares, prior_rate)
        if spectra is None:  # there are so many ways that determinants of Σ are smaller
            draw_scale(state, rng, level, squares, scale_prior, prior_shape, prior_rate)
        else:
            start = math.log(state.levels["scale"][level])
            x = _draw_by_spectrum(start, *spectra, float(dimension), degrees, scale_prior, rng)
            state.levels["scale"][level] = math.exp(x)
        set_scales(state)


def _ways(state: State, level: int) -> Index:
    """Return the nodes at a level, or next below it on an edge that crosses it."""
    order = state.order[: state.sizes[ALIVE]]
    if level == 0:
        return order[:1]
    here = state.nodes["level"][order] >= level
    here[1:] &= state.nodes["level"][state.nodes["parent"][order[1:]]] < level
    return order[here]


def _spectra(
    state: State, level: int, ways: Index, squares: FloatArray, prior_rate: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return λ and μ, or None where rounding leaves M indefinite."""
    nodes, reach = state.nodes, state.levels["reach"]
    order = state.order[1 : state.sizes[ALIVE]]
    parent = nodes["parent"][order]
    inside = nodes["level"][parent] >= level
    within, above = order[inside], parent[inside]
    step = reach[nodes["level"][within]] - reach[nodes["level"][above]]
    h = state.weighted[within]
    precision = nodes["precision"][ways]
    crossing = state.weighted[ways]
    matrix = 2.0 * prior_rate + squares
    matrix -= (h.T * (step * nodes["gain"][within])) @ h
    matrix -= (crossing.T / precision) @ crossing
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    mean = crossing / precision[:, None]
    white = solve_triangular(factor, mean.T, lower=True, check_finite=False)
    c = _shared_variance(state, level, ways)
    c[np.diag_indices_from(c)] += 1.0 / precision + reach[nodes["level"][ways]] - reach[level]
    below = np.maximum(np.linalg.eigvalsh(c), 0.0)
    with_data = np.maximum(np.linalg.eigvalsh(c + white.T @ white), 0.0)
    return below, with_data


def _shared_variance(state: State, level: int, ways: Index) -> npt.NDArray[np.float64]:
    """Return the sum of the scales of the levels above that each two ways share."""
    levels, parents = state.nodes["level"], state.nodes["parent"]
    out = np.zeros((ways.size, ways.size))
    now = ways.copy()
    for above in range(level - 1, -1, -1):
        while True:  # up to the nodes that cross the level above
            parent = np.where(now == ROOT, ROOT, parents[now])
            climbs = (now != ROOT) & (levels[parent] >= above)
            if not climbs.any():
                break
            now = np.where(climbs, parent, now)
        out += state.levels["scale"][above] * (now[:, None] == now)
    return out
