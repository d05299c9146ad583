"""Pareto smoothed importance sampling, for many rows at once.

The largest weights of a row are replaced by quantiles of a generalised Pareto law fitted to them
(A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry, Journal of Machine Learning Research 25,
2024). The law's parameters are posterior means by J. Zhang and M. A. Stephens (Technometrics 51,
2009), with a weak prior that draws the shape to 1/2.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from sticktree.checks import FloatArray

FEWEST_DRAWS = 25  # a Pareto law is fitted to the largest fifth, which must be five at least
CELLS = 1_000_000  # that are in memory at a time
PRIOR_SHAPE, PRIOR_DRAWS = 0.5, 10.0


def smooth_largest(log_weights: FloatArray) -> FloatArray:
    """Smooth the largest weights of each row in place, where possible, and return the shapes k̂.

    k̂ is −∞ where weights are bounded, as all of the largest are the same, ∞ where no law fits them,
    and NaN with fewer than 25 draws. Weights that are smoothed are normalised.

    Parameters
    ----------
    log_weights : float array, shape (rows, draws)
        All finite.
    """
    n_rows, n_draws = log_weights.shape
    k_hat = np.full(n_rows, -math.inf)
    if n_draws < FEWEST_DRAWS:
        k_hat[np.ptp(log_weights, axis=1) > 0.0] = math.nan
        return k_hat
    n_tail = int(3 * math.sqrt(n_draws)) if n_draws > 225 else n_draws // 5
    cells = n_draws + n_tail * _grid_size(n_tail)
    step = max(CELLS // cells, 1)
    with np.errstate(all="ignore"):  # where the tree alone varies, many draws have equal weights
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            k_hat[part] = _smooth_some(log_weights[part], n_tail)
    return k_hat


def _smooth_some(log_weights: FloatArray, n_tail: int) -> FloatArray:
    weights = log_weights - log_weights.max(axis=1, keepdims=True)
    order = np.argsort(weights, axis=1)
    tail_at = order[:, -n_tail:]
    tail = np.take_along_axis(weights, tail_at, axis=1)
    bounded = tail[:, -1] - tail[:, 0] < np.finfo(np.float64).tiny
    cutoff = np.exp(np.take_along_axis(weights, order[:, -n_tail - 1][:, None], axis=1))
    shape, scale = _fitted_law(np.exp(tail) - cutoff)
    quantile = -np.log1p(-(np.arange(n_tail) + 0.5) / n_tail)
    excess = np.where(
        shape == 0.0, quantile, np.expm1(shape * quantile) / np.where(shape == 0.0, 1.0, shape)
    )
    smoothed = np.log(cutoff + scale * excess)
    smoothed = np.where(smoothed > tail[:, -1:], tail[:, -1:], smoothed)
    np.put_along_axis(weights, tail_at, smoothed, axis=1)
    weights -= logsumexp(weights, axis=1, keepdims=True)
    sound = np.isfinite(shape[:, 0]) & (scale[:, 0] > 0.0) & np.isfinite(weights).all(axis=1)
    log_weights[sound & ~bounded] = weights[sound & ~bounded]
    return np.where(bounded, -math.inf, np.where(sound, shape[:, 0], math.inf))


def _grid_size(n: int) -> int:
    return 30 + int(math.sqrt(n))


def _fitted_law(excess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shape and scale of the Pareto law of each row of ascending excesses, as columns.

    With θ = −k/σ the likelihood has a closed form at the best k, k(θ) = mean log(1 − θ x); θ is its
    mean over a grid, weighted by the profile likelihood.
    """
    n = excess.shape[1]
    size = _grid_size(n)
    grid = (1.0 - np.sqrt(size / (np.arange(1, size + 1) - 0.5))) / 3.0
    theta = grid / excess[:, [int(n / 4 + 0.5) - 1]] + 1.0 / excess[:, -1:]
    k = np.log1p(-theta[:, :, None] * excess[:, None, :]).mean(axis=2)
    profile = n * (np.log(-theta / k) - k - 1.0)
    weight = np.exp(profile - logsumexp(profile, axis=1, keepdims=True))
    weight[weight < 10 * np.finfo(np.float64).eps] = 0.0
    theta = (theta * weight).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
    shape = np.log1p(-theta * excess).mean(axis=1, keepdims=True)
    scale = -shape / theta
    return (n * shape + PRIOR_DRAWS * PRIOR_SHAPE) / (n + PRIOR_DRAWS), scale
