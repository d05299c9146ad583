"""Stacking: several models as one predictive distribution, weighted by how well they predict.

The weights maximise the leave-one-out density of the mixture (Y. Yao, A. Vehtari, D. Simpson and
A. Gelman, Bayesian Analysis 13, 2018), held back towards the model that was chosen: see
`cautious_weights`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sticktree.checks import FloatArray
from sticktree.data.scaling import Scaling
from sticktree.model import Model
from sticktree.posterior.loo import LeaveOneOut
from sticktree.posterior.predictive import PosteriorPredictive, share_of

LAST_BARRIER = 1e-11  # a row; the gap to the optimum is at most this times the number of models
CAUTION = 0.1  # votes for the chosen model, as a share of the rows
LEAST_WEIGHT = 1e-3  # of a model that has any


@dataclass(frozen=True, eq=False)
class Stack:
    """A mixture of models, each with its own posterior.

    What :class:`~sticktree.posterior.predictive.PosteriorPredictive` answers of the draws of one
    model, in standardised units, a stack answers of all its models together. ``score_samples`` and
    ``score`` are in the user's units.

    Attributes
    ----------
    weights : dict of float
        The weight of every model; they sum to 1.
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

    @property
    def models(self) -> list[Model]:
        """The models that it mixes."""
        return [self.predictives[name].model for name in self.weights]

    # ---- in the user's units ---------------------------------------------------------------------

    def score_samples(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the log density of every row, in the user's units."""
        x = self.scaling.standardised(self.scaling.columns.encode(X))
        return np.asarray(self.log_density(x) + self.scaling.log_units(x))

    def score(self, X: npt.ArrayLike, y: object = None) -> float:  # noqa: N803
        """Return the mean log density of the rows."""
        return float(self.score_samples(X).mean())

    # ---- standardised ----------------------------------------------------------------------------

    def thinned(self, most: int) -> Stack:
        """Return the stack with about ``most`` draws in all, by weight, and one of each model."""
        predictives = {
            name: self.predictives[name].thinned(max(round(weight * most), 1))
            for name, weight in self.weights.items()
        }
        return Stack(self.weights, predictives, self.scaling)

    def of_group(self, group: int | None) -> Stack:
        """Return the stack for the next row of a group; see `PosteriorPredictive.of_group`."""
        predictives = {name: each.of_group(group) for name, each in self.predictives.items()}
        return Stack(self.weights, predictives, self.scaling)

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return the log of the weighted mean over models of the density of every row."""
        total = np.full(len(x), -np.inf)
        for name, weight in self.weights.items():
            total = np.logaddexp(total, np.log(weight) + self.predictives[name].log_density(x))
        return total

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` rows, each from a model chosen by its weight."""
        if len(self.weights) == 1:
            (only,) = (self.predictives[name] for name in self.weights)
            return only.sample(n, rng)
        counts = rng.multinomial(n, list(self.weights.values())).tolist()
        rows = [
            self.predictives[name].sample(count, rng)
            for name, count in zip(self.weights, counts, strict=True)
            if count
        ]
        return rng.permutation(np.concatenate(rows))

    def imputed(self, x: FloatArray) -> FloatArray:
        """Return ``x`` with the mean of what is missing in each row given what is observed.

        A model counts as much as its weight times its density of what is observed.
        """
        mean, total = x.copy(), np.full(len(x), -np.inf)
        gaps = np.isnan(x)
        for name, weight in self.weights.items():
            log_density, full = self.predictives[name].filled(x)
            total, share = share_of(np.log(weight) + log_density, total)
            before = np.where(np.isnan(mean), full, mean)
            mean = np.where(gaps, before + share[:, None] * (full - before), x)
        return mean

    def sample_imputed(self, n: int, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return ``n`` copies of ``x`` with draws of what is missing, shape (n, rows, D).

        Each comes from a model chosen by its weight times its density of what is observed in the
        row: a model takes the place of those before with its share in the sum so far.
        """
        out, total = np.repeat(x[None], n, axis=0), np.full(len(x), -np.inf)
        for number, (name, weight) in enumerate(self.weights.items()):
            log_density, copies = self.predictives[name].sample_filled(n, x, rng)
            total, share = share_of(np.log(weight) + log_density, total)
            taken = rng.random((n, len(x))) < share if number else np.ones((n, len(x)), dtype=bool)
            out[taken] = copies[taken]
        return out


# ---- weights -------------------------------------------------------------------------------------


def cautious_weights(pointwise: FloatArray, chosen: int, caution: float = CAUTION) -> FloatArray:
    """Return the weights of a stack that is held back towards the model that was chosen.

    They are those of `stacking_weights` after votes for the chosen model: rows that it alone
    admits, a share ``caution`` of the rows there are. A model that would add less than that is
    worth then has no weight at all: leave-one-out densities of short chains are rough, and without
    votes a stack follows them too far. Weights below 0.001 are 0.

    Parameters
    ----------
    pointwise : float array, shape (N, M)
        log p(y_i | all other rows) under each model.
    chosen : int
        The model that was chosen.
    caution : float, default=0.1
        Votes for it, as a share of the rows; 0 is plain stacking.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.posterior.stacking import cautious_weights
    >>> even = np.log([[0.8, 0.2], [0.2, 0.8]] * 50)
    >>> print(cautious_weights(even, chosen=0, caution=0.0).round(2))
    [0.5 0.5]
    >>> print(cautious_weights(even, chosen=0).round(2))
    [0.61 0.39]
    """
    votes = np.full((round(caution * len(pointwise)), pointwise.shape[1]), -np.inf)
    votes[:, chosen] = 0.0
    weights = stacking_weights(np.concatenate([pointwise, votes]))
    weights[weights < LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


def mixed(results: Mapping[str, LeaveOneOut], weights: Mapping[str, float]) -> LeaveOneOut:
    """Return the leave-one-out density of a stack from those of its models.

    A row is as doubtful as it is to the most doubtful model.
    """
    names = list(weights)
    each = np.stack([np.log(weights[name]) + results[name].pointwise for name in names])
    k_hat = np.max([results[name].k_hat for name in names], axis=0)
    return LeaveOneOut.of_rows(logsumexp(each, axis=0), k_hat, len(names))


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
