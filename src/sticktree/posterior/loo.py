"""Leave-one-out predictive density: how well a model predicts each row from all others.

With θ all that a draw says but where row i sits, the posterior given all rows is proportional to
the posterior without row i times p(y_i | θ). So draws given all rows, weighted by 1/p(y_i | θ), are
draws without it, and

    p(y_i | all other rows) = 1 / E[1/p(y_i | θ)].

The largest weights are replaced by what a Pareto law fitted to them says: Pareto smoothed
importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry, 2024). The shape k̂ of that law tells
whether the weights can be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from sticktree.blas import one_thread
from sticktree.checks import FloatArray
from sticktree.engine import engine_of
from sticktree.engine.draw import Draw
from sticktree.model import Model
from sticktree.posterior.smoothing import smooth_largest

BAD_K_HAT = 0.7


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leave-one-out predictive density of a model.

    Attributes
    ----------
    elpd : float
        Sum over rows of log p(y_i | all other rows), in nats.
    se : float
        Its standard error, by how much rows differ.
    pointwise : float array, shape (N,)
        log p(y_i | all other rows).
    k_hat : float array, shape (N,)
        Shape of the largest importance weights. Above 0.7 the row's density is not to be trusted.
        NaN where it cannot be told, as with fewer than 25 draws.
    n_models : int
        Of how many models it is, with the weights of a stack.
    """

    elpd: float
    se: float
    pointwise: FloatArray
    k_hat: FloatArray
    n_models: int = 1

    @classmethod
    def of_rows(
        cls, pointwise: FloatArray, k_hat: FloatArray | None = None, n_models: int = 1
    ) -> LeaveOneOut:
        """Return what densities of the rows say; k̂ is NaN if it is not known."""
        known = np.full(pointwise.size, math.nan) if k_hat is None else k_hat
        se = standard_error(pointwise)
        return cls(float(pointwise.sum()), se, pointwise, known, n_models)

    @property
    def n_bad_k(self) -> int | None:
        """Number of rows whose density is not to be trusted; None if that cannot be told."""
        if np.isnan(self.k_hat).any():
            return None
        return int((self.k_hat > BAD_K_HAT).sum())

    def __repr__(self) -> str:
        """Return the sum, its error and how many rows are not to be trusted."""
        bad = "k-hat not known" if self.n_bad_k is None else f"{self.n_bad_k} with k-hat above"
        bad += "" if self.n_bad_k is None else f" {BAD_K_HAT}"
        what = f"elpd {self.elpd:.1f} ± {self.se:.1f} nats"
        return f"LeaveOneOut({what}, {self.pointwise.size} rows, {bad})"

    def __str__(self) -> str:
        """Return in a few lines how good the model is, and whether that can be trusted."""
        n_rows = self.pointwise.size
        models = f", by a stack of {self.n_models} models" if self.n_models > 1 else ""
        lines = [
            f"leave-one-out log density of {n_rows} rows, in nats{models}",
            f"  in all   {self.elpd:12.2f} ± {self.se:.2f}",
            f"  per row  {self.elpd / n_rows:12.4f} ± {self.se / n_rows:.4f}",
        ]
        if self.n_bad_k is None:
            lines.append("  k-hat cannot be told from so few draws: the figures are rough.")
        elif self.n_bad_k:
            lines += [
                f"  k-hat is above {BAD_K_HAT} for {self.n_bad_k} rows: without such a row the "
                "posterior would be too",
                "  different for these draws to tell; the figures above are likely too high.",
            ]
        else:
            lines.append(
                f"  k-hat is at most {BAD_K_HAT} for all rows: the figures can be trusted."
            )
        return "\n".join(lines)


def densities_without(draws: Sequence[Draw], model: Model, data: FloatArray) -> FloatArray:
    """Return log p(y_i | all other rows) at every draw, shape (draws, N).

    A draw whose parameters have left the range of numbers predicts nothing: it has -inf.
    """
    each = engine_of(model).predictives(list(draws), data, model)
    with one_thread(), np.errstate(all="ignore"):
        found = np.array([predictive.leave_one_out() for predictive in each])
    return np.where(found < np.inf, found, -np.inf)


def densities_of(
    x: FloatArray, draws: Sequence[Draw], model: Model, data: FloatArray
) -> FloatArray:
    """Return the log density of rows ``x`` at every draw, shape (draws, rows); see above."""
    each = engine_of(model).predictives(list(draws), data, model)
    with one_thread(), np.errstate(all="ignore"):
        found = np.array([predictive.log_density(x) for predictive in each])
    return np.where(found < np.inf, found, -np.inf)


def leave_one_out(log_densities: FloatArray, smooth: bool = True) -> LeaveOneOut:
    """Turn log densities of each row given the others, draw by draw, into those without the row.

    Parameters
    ----------
    log_densities : float array, shape (n_chains, n_draws, N)
        log p(y_i | rest) at every draw, as `Chain.leave_one_out` gives them. With fewer than 25
        draws in all, weights are not smoothed and k̂ is NaN.
    smooth : bool, default=True
        Without smoothing the largest weights are cut at √S times the mean of S weights (E. L.
        Ionides, Journal of Computational and Graphical Statistics 17, 2008): rougher, but quicker.
    """
    values = np.asarray(log_densities, dtype=np.float64)
    if values.ndim != 3 or 0 in values.shape:
        raise ValueError(
            "log_densities must be of shape (n_chains, n_draws, N), none of them 0, "
            f"got shape {values.shape}"
        )
    if np.isnan(values).any() or (values == np.inf).any():
        raise ValueError("log_densities must be numbers or -inf, got NaN or +inf")
    rows = np.ascontiguousarray(values.reshape(-1, values.shape[2]).T)
    pointwise, k_hat = np.full(len(rows), -math.inf), np.full(len(rows), math.inf)
    possible = np.flatnonzero((rows > -math.inf).all(axis=1))
    log_weights, k_hat[possible] = importance(rows[possible], smooth)
    sums = logsumexp(log_weights + rows[possible], axis=1)
    pointwise[possible] = sums - logsumexp(log_weights, axis=1)
    return LeaveOneOut.of_rows(pointwise, k_hat)


def importance(rows: FloatArray, smooth: bool = True) -> tuple[FloatArray, FloatArray]:
    """Return log weights of draws, which make them draws without a row, and k̂, for each row.

    ``rows`` are finite log p(y_i | rest) at every draw, shape (N, draws). Weights need not be
    normalised.
    """
    log_weights = -rows
    if smooth:
        return log_weights, smooth_largest(log_weights)
    mean = logsumexp(log_weights, axis=1, keepdims=True) - math.log(rows.shape[1])
    log_weights = np.minimum(log_weights, mean + 0.5 * math.log(rows.shape[1]))
    return log_weights, np.full(len(rows), math.nan)


def standard_error(values: FloatArray) -> float:
    """Return the standard error of a sum over rows; infinite where it cannot be told."""
    if values.size < 2 or not np.isfinite(values).all():
        return math.inf
    return math.sqrt(values.size) * float(values.std(ddof=1))


class Comparison(NamedTuple):
    """One model beside the best: its elpd, and how much less that is."""

    name: str
    elpd: float
    se: float
    difference: float  # from the best, at most 0
    se_difference: float  # by how much differences vary from row to row
    n_bad_k: int | None  # None if that cannot be told


def compare(models: Mapping[str, LeaveOneOut]) -> list[Comparison]:
    """Compare models fitted to the same rows; the best comes first.

    Differences are paired, row by row: their standard errors are often far smaller than those of
    the models' own elpd.
    """
    sizes = {name: model.pointwise.size for name, model in models.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"models must be fitted to the same rows, got numbers of rows {sizes}")
    names = sorted(models, key=lambda name: -models[name].elpd)
    table = []
    for name in names:
        model = models[name]
        difference = _difference(model, models[names[0]])
        se = 0.0 if name == names[0] else standard_error(difference)
        total = float(difference.sum())
        table.append(Comparison(name, model.elpd, model.se, total, se, model.n_bad_k))
    return table


def _difference(model: LeaveOneOut, other: LeaveOneOut) -> FloatArray:
    """Return the difference of log densities, row by row; 0 where both are -inf."""
    same = model.pointwise == other.pointwise
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, model.pointwise - other.pointwise)
