"""Gamma numbers that may not exceed a bound: precisions of leaves whose variances have a floor."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from sticktree.checks import FloatArray
from sticktree.engine.own.kinds.gaussian import log_lower_gamma
from sticktree.jit import jit

TINIEST = 1e-290  # a precision is never quite zero
FARTHEST = -12.0  # log mass below the bound down to which its inverse is taken
NEAREST = -1e-9  # log mass above which next to no draw is beyond the bound


@jit
def _log_masses(shape: FloatArray, bound: FloatArray, out: FloatArray) -> None:
    for k in range(shape.size):
        out[k] = log_lower_gamma(shape[k], bound[k])


def log_masses(shape: FloatArray, rate: FloatArray, floor: FloatArray) -> FloatArray:
    """Return the log probabilities that Gamma(shape, rate) numbers do not exceed 1/floor."""
    return _masses_below(*np.broadcast_arrays(shape, rate, floor))


def _masses_below(shape: FloatArray, rate: FloatArray, floor: FloatArray) -> FloatArray:
    out = np.zeros(shape.shape)
    some = floor > 0.0
    if some.any():
        values = np.empty(int(some.sum()))
        _log_masses(shape[some], rate[some] / floor[some], values)
        out[some] = values
    return out


def truncated_gamma(
    shape: FloatArray, rate: FloatArray, floor: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw Gamma(shape, rate) numbers, none above 1/floor."""
    if not np.any(floor > 0.0):
        return np.asarray(_plain(shape, rng) / rate)
    shape, rate, floor = np.broadcast_arrays(shape, rate, floor)
    log_mass = _masses_below(shape, rate, floor)
    out = np.asarray(_plain(shape, rng) / rate)
    beyond = (floor > 0.0) & (log_mass >= NEAREST)
    beyond[beyond] = out[beyond] > 1.0 / floor[beyond]
    middle = beyond | ((log_mass < NEAREST) & (log_mass > FARTHEST))
    if middle.any():
        a = shape[middle]
        point = np.exp(log_mass[middle]) * (1.0 - rng.random(a.shape))
        drawn = np.maximum(gammaincinv(a, point) / rate[middle], TINIEST)
        out[middle] = np.minimum(drawn, 1.0 / floor[middle])
    far = log_mass <= FARTHEST
    if far.any():
        out[far] = _below(shape[far], rate[far] / floor[far], rng) / floor[far]
    return out


def _plain(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw Gamma(shape, 1) numbers; those of small shapes may be too small to write."""
    small = shape < 1.0
    drawn = rng.standard_gamma(shape + small)
    if small.any():
        drawn[small] *= (1.0 - rng.random(int(small.sum()))) ** (1.0 / shape[small])
    return np.asarray(np.maximum(drawn, TINIEST))


def _below(shape: FloatArray, bound: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw t in (0, 1] ~ t^(shape − 1) e^(−bound t), where a Gamma number is hardly ever so small.

    Where the density grows up to 1, it is below the exponential that touches it there. Elsewhere,
    the shape being about 1 or less, it is below t^(shape − 1), and the bound so small that this is
    next to the same.
    """
    out = np.empty_like(shape)
    left = np.arange(shape.size)
    while left.size:
        a, x = shape[left], bound[left]
        u = 1.0 - rng.random(left.size)
        flat = a - 1.0 - x < 1e-9
        slope = np.where(flat, 1.0, a - 1.0 - x)
        # 1 + log(u)/slope, given that it is above 0.
        t = 1.0 + np.log1p(-(1.0 - u) * -np.expm1(-slope)) / slope
        t = np.where(flat, u ** (1.0 / a), t)
        t = np.clip(t, TINIEST, 1.0)
        log_share = np.where(flat, -x * t, (a - 1.0) * (np.log(t) - t + 1.0))
        taken = np.log(1.0 - rng.random(left.size)) < log_share
        out[left[taken]] = t[taken]
        left = left[~taken]
    return out
