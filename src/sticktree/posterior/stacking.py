"""Stacking: weights of models whose mixture foresees best the rows that were left out."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray

__all__ = ["stacking_weights"]

LAST_BARRIER = 1e-11  # a row; the gap to the optimum is at most this times the number of models


def stacking_weights(pointwise: FloatArray) -> FloatArray:
    """Return the weights w on the simplex that maximise Σ_i log Σ_m w_m exp(pointwise[i, m]).

    The maximum is that of the mean over i without the constraint Σ w = 1, but with Σ w taken off;
    a logarithmic barrier keeps weights positive, and goes to 0. Of models that are the same, each
    has the same weight.

    Parameters
    ----------
    pointwise : float array, shape (N, M)
        log p(y_i | all other rows) under each model; -inf is a density of 0. A row that no model
        admits says nothing of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.posterior.stacking import stacking_weights
    >>> print(stacking_weights(np.log([[0.8, 0.2], [0.2, 0.8]])).round(6))
    [0.5 0.5]
    """
    values = np.asarray(pointwise, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            f"pointwise must be of shape (N, M), neither of them 0, got shape {values.shape}"
        )
    if np.isnan(values).any() or (values == np.inf).any():
        raise ValueError("pointwise must be numbers or -inf, got NaN or +inf")
    values = values[(values > -np.inf).any(axis=1)]
    n_models = values.shape[1]
    weights = np.full(n_models, 1.0 / n_models)
    if len(values) == 0 or n_models == 1:
        return weights
    density = np.exp(values - values.max(axis=1, keepdims=True))
    barrier = 1.0
    while barrier > LAST_BARRIER:
        barrier *= 0.1
        weights = _newton(density, weights, barrier)
    return np.asarray(weights / weights.sum())


def _newton(density: FloatArray, weights: FloatArray, barrier: float) -> FloatArray:
    """Minimise −mean log(density w) + Σ w − barrier Σ log w, starting from positive weights."""

    def objective(w: FloatArray) -> float:
        return float(w.sum() - np.log(density @ w).mean() - barrier * np.log(w).sum())

    value = objective(weights)
    for _ in range(100):
        # Steps relative to the weights keep the equations well scaled.
        share = density * weights / (density @ weights)[:, None]
        gradient = weights - share.mean(axis=0) - barrier
        hessian = share.T @ share / len(share) + barrier * np.eye(weights.size)
        step = -np.linalg.solve(hessian, gradient)
        decrease = -float(gradient @ step)
        length = min(1.0, 0.95 / max(-step.min(), 1e-300))
        while length > 1e-12:
            trial = weights * (1.0 + length * step)
            found = objective(trial)
            if found <= value - 0.1 * length * decrease:
                break
            length *= 0.5
        else:
            return weights  # no better in floating point
        weights, value = trial, found
        if decrease < 1e-6 * barrier:
            return weights
    return weights
