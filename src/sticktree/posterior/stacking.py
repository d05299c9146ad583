"""Stacking: several models as one density, weighted to predict best the rows that were left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.scaling import Scaling
from sticktree.posterior.predictive import PosteriorPredictive

__all__ = ["Stack", "stacking_weights"]

LAST_BARRIER = 1e-11  # a row; the gap to the optimum is at most this times the number of models


@dataclass(frozen=True, eq=False)
class Stack:
    """Models weighted to maximise the leave-one-out density of their mixture.

    Attributes
    ----------
    weights : dict of float
        The weight of every model that has one.
    predictives : dict of PosteriorPredictive
        The predictive distribution of each of these.
    scaling : Scaling
        Columns and units of the rows.
    """

    weights: dict[str, float]
    predictives: dict[str, PosteriorPredictive]
    scaling: Scaling

    def __repr__(self) -> str:
        """Return the models and their weights."""
        parts = (f"{weight:.2f} × {name}" for name, weight in self.weights.items())
        return f"Stack({' + '.join(parts)})"

    def score_samples(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the log density of every row, in the user's units."""
        x = self.scaling.standardised(self.scaling.columns.encode(X))
        total = np.full(len(x), -np.inf)
        for name, weight in self.weights.items():
            log_density = self.predictives[name].log_density(x)
            total = np.logaddexp(total, np.log(weight) + log_density)
        return np.asarray(total + self.scaling.log_units(x))

    def score(self, X: npt.ArrayLike, y: object = None) -> float:  # noqa: N803
        """Return the mean log density of the rows."""
        return float(self.score_samples(X).mean())


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
