"""R-hat and effective sample sizes of many scalars at once.

As in A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, Rank-normalization,
folding, and localization: an improved R̂ for assessing convergence of MCMC, Bayesian Analysis 16,
2021: chains are split in halves, values are replaced by normal scores of their ranks, and the R-hat
of a scalar is the larger of that and of the one of distances from the median.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from sticktree.checks import FloatArray

Key = TypeVar("Key")


def convergence(
    scalars: Mapping[Key, npt.NDArray[Any]],
) -> tuple[dict[Key, float], dict[Key, float]]:
    """Return R-hat (from two chains on) and effective sample size of each scalar that varies.

    Scalars have shape (chains, draws), all the same, with at least four draws. One that is not a
    number somewhere has neither.
    """
    # Not of the type it came in: whole numbers would overflow.
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in scalars.items()}
    varying = [name for name, values in columns.items() if np.ptp(values) != 0]
    if not varying:
        return {}, {}
    values = np.array([columns[name] for name in varying])
    n_chains, n_draws = values.shape[1:]
    half = n_draws // 2
    halves = np.concatenate([values[:, :, :half], values[:, :, -half:]], axis=1)
    unknown = np.isnan(values).any(axis=(1, 2))
    halves[unknown] = 0.0
    scores = normal_scores(halves)
    ess = np.where(unknown, math.nan, effective_sizes(scores))
    sizes = dict(zip(varying, ess.tolist(), strict=True))
    if n_chains == 1:
        return {}, sizes
    folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
    # Chains that are constant, each at its own value, have an infinite R-hat.
    with np.errstate(divide="ignore", invalid="ignore"):
        bulk, tail = _r_hat(scores), _r_hat(normal_scores(folded))
    # As Python's max: a tail that is not a number, as all distances are the same, does not count.
    r_hat = np.where(unknown, math.nan, np.where(tail > bulk, tail, bulk))
    return dict(zip(varying, r_hat.tolist(), strict=True)), sizes


def normal_scores(values: FloatArray) -> FloatArray:
    """Return the normal quantiles of the ranks of values, entry by entry of the first axis.

    Equal values have the mean of their ranks.
    """
    flat = values.reshape(len(values), -1)
    rank = np.empty(flat.shape)
    for scores, row in zip(rank, flat, strict=True):
        order = np.sort(row)
        below, up_to = np.searchsorted(order, row), np.searchsorted(order, row, "right")
        scores[:] = 0.5 * (below + up_to + 1)
    scaled: FloatArray = ndtri((rank - 0.375) / (flat.shape[1] + 0.25))
    return scaled.reshape(values.shape)


def _r_hat(values: FloatArray) -> FloatArray:
    """Return √(var⁺ / W) of the chains of each scalar, shape (scalars, chains, draws)."""
    n_draws = values.shape[2]
    between = n_draws * values.mean(axis=2).var(axis=1, ddof=1)
    within = values.var(axis=2, ddof=1).mean(axis=1)
    r_hat: FloatArray = np.sqrt((between / within + n_draws - 1) / n_draws)
    return r_hat


def effective_sizes(values: FloatArray) -> FloatArray:
    """Return how many independent draws tell as much of the mean, shape (scalars, chains, draws).

    Autocorrelations of all chains are pooled, and summed by Geyer's initial monotone sequence.
    """
    n_scalars, n_chains, n_draws = values.shape
    size = next_fast_len(2 * n_draws)
    centred = values - values.mean(axis=2, keepdims=True)
    transformed = rfft(centred, n=size, axis=2)
    power = transformed.real**2 + transformed.imag**2
    covariance = irfft(power, n=size, axis=2)[:, :, :n_draws].mean(axis=1) / n_draws
    within = covariance[:, :1] * n_draws / (n_draws - 1.0)
    total = covariance[:, :1].copy()
    if n_chains > 1:
        total += values.mean(axis=2).var(axis=1, ddof=1)[:, None]
    constant = np.ptp(values.reshape(n_scalars, -1), axis=1) < np.finfo(np.float64).resolution
    total[constant] = 1.0
    correlation = 1.0 - (within - covariance) / total
    correlation[:, 0] = 1.0
    sizes = np.full(n_scalars, float(n_chains * n_draws))
    for k in np.flatnonzero(~constant):
        longest = 1.0 / math.log10(n_chains * n_draws)
        sizes[k] /= max(_autocorrelation_time(correlation[k].tolist()), longest)
    return sizes


def _autocorrelation_time(correlation: list[float]) -> float:
    """Return 1 + 2 Σ ρ_t over lags as long as sums of neighbouring pairs are positive, and fall.

    The even lag after these counts once, and not at all if it is what makes the sum negative.
    """
    kept = correlation[:2]
    t = 2
    while t < len(correlation) - 2 and sum(correlation[t - 2 : t]) > 0.0:
        kept += correlation[t : t + 2]
        t += 2
    last = kept[-2] if sum(kept[-2:]) >= 0.0 else max(kept[-2], 0.0)
    pairs = [kept[k] + kept[k + 1] for k in range(0, len(kept) - 2, 2)]
    for k in range(1, len(pairs)):
        pairs[k] = min(pairs[k], pairs[k - 1])
    return -1.0 + 2.0 * math.fsum(pairs) + last
