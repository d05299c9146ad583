"""The conjugate prior of a normal with unknown mean and covariance, in closed form.

The covariance is inverse Wishart, Σ ~ IW(Ψ, ν), and the mean is normal given it, μ ~ N(0, Σ/κ).
Here Ψ = ν s² I: a typical standard deviation is s in every direction. A cluster is known by its
size n, its mean and its scatter, the sum of (x − mean)(x − mean)ᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, multigammaln

from sticktree.checks import FloatArray

__all__ = ["Clusters", "NormalInverseWishart"]


class Clusters(NamedTuple):
    """Sizes, shape (K,), means, shape (K, D), and scatters, shape (K, D, D), of clusters."""

    size: FloatArray
    mean: FloatArray
    scatter: FloatArray

    def some(self, which: npt.NDArray[np.intp]) -> Clusters:
        """Return some of the clusters."""
        return Clusters(self.size[which], self.mean[which], self.scatter[which])


@dataclass(frozen=True)
class NormalInverseWishart:
    """The prior: dimension D, κ, ν > D − 1 and s as above."""

    dimension: int
    mean_precision: float
    degrees: float
    scale: float

    @property
    def width(self) -> float:
        """What stands on the diagonal of Ψ."""
        return self.degrees * self.scale**2

    def log_factor(self, size: FloatArray) -> FloatArray:
        """Return the part of the log evidence of clusters that depends on their sizes alone.

        The whole is this less (ν + n)/2 log |Ψₙ|.
        """
        d, nu, kappa = self.dimension, self.degrees, self.mean_precision
        return np.asarray(
            multigammaln(0.5 * (nu + size), d)
            - multigammaln(0.5 * nu, d)
            + 0.5 * d * (nu * np.log(self.width) - np.log1p(size / kappa) - size * np.log(np.pi))
        )

    def posterior_scatter(self, clusters: Clusters) -> FloatArray:
        """Return Ψₙ of every cluster."""
        n, mean = clusters.size, clusters.mean
        shrunk = self.mean_precision * n / (self.mean_precision + n)
        outer = mean[:, :, None] * mean[:, None, :]
        prior = self.width * np.eye(self.dimension)
        return np.asarray(prior + clusters.scatter + shrunk[:, None, None] * outer)

    def log_evidence(self, clusters: Clusters) -> FloatArray:
        """Return the log marginal likelihood of the data of every cluster."""
        log_volume = np.linalg.slogdet(self.posterior_scatter(clusters))[1]
        n = clusters.size
        return np.asarray(self.log_factor(n) - 0.5 * (self.degrees + n) * log_volume)

    def log_predictive(self, rows: FloatArray, clusters: Clusters) -> FloatArray:
        """Return the log density of rows as the next ones of each cluster, shape (rows, K).

        It is Student's t with ν + n − D + 1 degrees of freedom.
        """
        d, n = self.dimension, clusters.size
        kappa = self.mean_precision + n
        freedom = self.degrees + n - d + 1
        spread = ((kappa + 1) / (kappa * freedom))[:, None, None]
        factors = np.linalg.cholesky(self.posterior_scatter(clusters) * spread)
        log_volume = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        factor = gammaln(0.5 * (freedom + d)) - gammaln(0.5 * freedom)
        factor -= 0.5 * d * np.log(np.pi * freedom) + log_volume
        centres = clusters.mean * (n / kappa)[:, None]
        result = np.empty((len(rows), n.size))
        for k in range(n.size):
            z = np.linalg.solve(factors[k], (rows - centres[k]).T)
            ratio = (z**2).sum(axis=0) / freedom[k]
            result[:, k] = factor[k] - 0.5 * (freedom[k] + d) * np.log1p(ratio)
        return result
