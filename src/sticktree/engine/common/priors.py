"""Log densities of the priors: those of scipy.stats take longer than a whole sweep."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammainc, multigammaln

from sticktree.checks import FloatArray
from sticktree.model import SCALE_LIMIT


def log_gamma(x: float, shape: float, rate: float) -> float:
    """Return the log density of Gamma(shape, rate)."""
    return shape * math.log(rate) - math.lgamma(shape) + (shape - 1.0) * math.log(x) - rate * x


def log_gammas(x: FloatArray, shape: float, rate: float) -> float:
    """Return the sum of the log densities of x ~ Gamma(shape, rate)."""
    constant = shape * math.log(rate) - math.lgamma(shape)
    return float((constant + (shape - 1.0) * np.log(x) - rate * x).sum())


def log_beta(x: float, a: float, b: float) -> float:
    """Return the log density of Beta(a, b)."""
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant + (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x)


def log_inverse_gamma(x: FloatArray, shape: float, rate: float | FloatArray) -> float:
    """Return the sum of the log densities of x, where 1/x ~ Gamma(shape, rate)."""
    constant = shape * np.log(rate) - math.lgamma(shape)
    return float((constant - (shape + 1.0) * np.log(x) - rate / x).sum())


def log_scales(x: FloatArray, shape: float, rate: float) -> float:
    """Return the log density of scales: 1/x ~ Gamma(shape, rate), x within `SCALE_LIMIT`."""
    within = gammainc(shape, rate * SCALE_LIMIT) - gammainc(shape, rate / SCALE_LIMIT)
    return log_inverse_gamma(x, shape, rate) - x.size * math.log(within)


def log_inverse_wishart(factor: FloatArray, degrees: float, scale: FloatArray) -> float:
    """Return the log density of Σ = A Aᵀ under InvWishart(degrees, diag(scale))."""
    dimension = len(factor)
    log_det = 2.0 * float(np.linalg.slogdet(factor)[1])
    trace = float((np.linalg.inv(factor) ** 2 * scale).sum())
    return float(
        0.5 * degrees * float(np.log(0.5 * scale).sum())
        - multigammaln(0.5 * degrees, dimension)
        - 0.5 * (degrees + dimension + 1.0) * log_det
        - 0.5 * trace
    )
