"""What is observed of a row under a density of whole rows, the rest integrated out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity

from sticktree.checks import FloatArray

LOG_TWO_PI = float(np.log(2 * np.pi))


def log_density_of_observed(mixture: Any, rows: FloatArray) -> FloatArray:
    """Return the log density of each row's entries that are not NaN.

    ``mixture`` is one of scikit-learn's: normals, or Gaussian kernels. Those of its variational
    mixture are taken at its point estimate.
    """
    log_weights, means, covariances = components(mixture)
    result = np.empty(len(rows))
    for k, row in enumerate(rows):
        seen = ~np.isnan(row)
        factor = np.linalg.cholesky(covariances[:, seen][:, :, seen])
        z = np.linalg.solve(factor, (row - means)[:, seen, None])[:, :, 0]
        log_volume = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        log_normal = -0.5 * (z**2).sum(axis=1) - log_volume - 0.5 * seen.sum() * LOG_TWO_PI
        result[k] = logsumexp(log_weights + log_normal)
    return result


def components(mixture: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log weights, means and full covariances of a mixture's components."""
    if isinstance(mixture, KernelDensity):
        means = np.asarray(mixture.tree_.data)
        n, dimension = means.shape
        covariance = mixture.bandwidth_**2 * np.eye(dimension)
        return np.full(n, -np.log(n)), means, np.broadcast_to(covariance, (n, *covariance.shape))
    n, dimension = mixture.means_.shape
    found, identity = np.asarray(mixture.covariances_), np.eye(dimension)
    match mixture.covariance_type:
        case "full":
            covariances = found
        case "tied":
            covariances = np.broadcast_to(found, (n, dimension, dimension))
        case "diag":
            covariances = found[:, :, None] * identity
        case _:
            covariances = found[:, None, None] * identity
    return np.log(mixture.weights_), mixture.means_, covariances
