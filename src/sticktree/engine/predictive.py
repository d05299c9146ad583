"""The predictive distribution of a draw with shared noise, in standardised units.

Component k is N(A m_k, s_k Σ) with Σ = A Aᵀ, where m_k and s_k are those of the mixture in whitened
coordinates. Where a row has missing entries, its observed ones o have the covariance s_k Σ_oo, so
they are whitened by a factor of Σ_oo and the same kernels serve. What is missing depends on what is
observed by B = Σ_mo Σ_oo⁻¹, the same for all components.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.chain import rebuild
from sticktree.engine.mixture import Mixture, log_density, predictive_mixture, responsibilities
from sticktree.engine.state import empty_state
from sticktree.model import Model

if TYPE_CHECKING:
    from sticktree.posterior.draws import Draw

__all__ = ["SharedPredictive", "predictives"]

Mask = npt.NDArray[np.bool_]


def predictives(draws: list[Draw], data: FloatArray, model: Model) -> Iterator[SharedPredictive]:
    """Yield the predictive distribution of every draw, given the data it was learned from."""
    zeros = np.zeros_like(data)
    state = empty_state(zeros, model.shape, np.ones(model.depth + 1), 1.0, 0.0, model.noise)
    missing = np.isnan(data)
    for draw in draws:
        completed = data
        if "imputed" in draw.parameters:
            completed = data.copy()
            completed[missing] = draw.parameters["imputed"]
        factor = draw.parameters["factor"]
        if factor.ndim < 2:
            factor = np.diag(np.broadcast_to(factor, data.shape[1]))
        np.matmul(completed, np.linalg.inv(factor).T, out=state.data)
        rebuild(state, draw.tree, draw.concentration, draw.discount, draw.parameters["scales"])
        yield SharedPredictive(predictive_mixture(state), factor)


class SharedPredictive:
    """A mixture in coordinates whitened by A, seen in standardised units.

    Parameters
    ----------
    mixture : Mixture
        The components.
    factor : float array, shape (D, D)
        A.
    """

    def __init__(self, mixture: Mixture, factor: FloatArray) -> None:
        self.mixture = mixture
        self.factor = factor

    @property
    def node(self) -> IntArray:
        """The node that each component hangs on or is."""
        return self.mixture.node

    @property
    def level(self) -> IntArray:
        """Where each new branch starts."""
        return self.mixture.level

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return the log density of the observed entries of every row; 0 if there are none."""
        out = np.zeros(x.shape[0])
        for rows, seen in _patterns(x):
            if seen.any():
                mixture, white, log_det = self._observed(x[rows], seen)
                out[rows] = log_density(mixture, white) - log_det
        return out

    def responsibilities(self, x: FloatArray) -> FloatArray:
        """Return the probability that each row comes from each component."""
        out = np.empty((x.shape[0], self.mixture.weight.size))
        for rows, seen in _patterns(x):
            mixture, white, _ = self._observed(x[rows], seen)
            out[rows] = responsibilities(mixture, white)
        return out

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` rows."""
        weight = self.mixture.weight
        component = rng.choice(weight.size, n, p=weight / weight.sum())
        spread = np.sqrt(self.mixture.variance[component])[:, None]
        noise = spread * rng.standard_normal((n, self.factor.shape[0]))
        return np.asarray((self.mixture.mean[component] + noise) @ self.factor.T)

    def conditional_mean(self, x: FloatArray) -> FloatArray:
        """Return ``x`` with the mean of what is missing given what is observed."""
        out = x.copy()
        for rows, seen in _patterns(x):
            if not seen.all():
                mixture, white, _ = self._observed(x[rows], seen)
                mean = responsibilities(mixture, white) @ self.mixture.mean @ self.factor.T
                slope, _ = self._regression(seen)
                given = mean[:, ~seen] + (x[rows][:, seen] - mean[:, seen]) @ slope.T
                out[np.ix_(rows, ~seen)] = given
        return out

    def conditional_sample(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return ``x`` with a draw of what is missing given what is observed."""
        out = x.copy()
        for rows, seen in _patterns(x):
            if not seen.all():
                mixture, white, _ = self._observed(x[rows], seen)
                below = np.cumsum(responsibilities(mixture, white), axis=1)
                point = below[:, -1] * rng.random(rows.size)
                component = (below <= point[:, None]).sum(axis=1)
                mean = self.mixture.mean[component] @ self.factor.T
                slope, rest = self._regression(seen)
                noise = rng.standard_normal((rows.size, rest.shape[0])) @ rest.T
                noise *= np.sqrt(self.mixture.variance[component])[:, None]
                given = mean[:, ~seen] + (x[rows][:, seen] - mean[:, seen]) @ slope.T
                out[np.ix_(rows, ~seen)] = given + noise
        return out

    def _observed(self, x: FloatArray, seen: Mask) -> tuple[Mixture, FloatArray, float]:
        """Return the mixture of the observed entries, these, both white, and their log |A|."""
        if seen.all():
            white = np.ascontiguousarray(x @ np.linalg.inv(self.factor).T)
            return self.mixture, white, float(np.linalg.slogdet(self.factor)[1])
        part = self.factor[seen]
        factor = np.linalg.cholesky(part @ part.T)
        mean = np.linalg.solve(factor, part @ self.mixture.mean.T).T
        white = np.linalg.solve(factor, x[:, seen].T).T
        mixture = self.mixture._replace(mean=np.ascontiguousarray(mean))
        return mixture, np.ascontiguousarray(white), float(np.log(np.diag(factor)).sum())

    def _regression(self, seen: Mask) -> tuple[FloatArray, FloatArray]:
        """Return B and a factor of Σ_mm − B Σ_om."""
        sigma = self.factor @ self.factor.T
        across = sigma[np.ix_(~seen, seen)]
        slope = np.linalg.solve(sigma[np.ix_(seen, seen)], across.T).T
        # Part of A alone, so that no difference is taken: Σ_mm − B Σ_om = C Cᵀ.
        part = self.factor[~seen] - slope @ self.factor[seen]
        return np.asarray(slope), np.asarray(np.linalg.cholesky(part @ part.T))


def _patterns(x: FloatArray) -> Iterator[tuple[npt.NDArray[np.intp], Mask]]:
    """Yield every pattern of observed entries with the rows that have it."""
    seen = ~np.isnan(x)
    if seen.all():
        yield np.arange(x.shape[0]), np.ones(x.shape[1], dtype=np.bool_)
        return
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    which = which.ravel()
    for k in range(len(patterns)):
        yield np.flatnonzero(which == k), patterns[k]
