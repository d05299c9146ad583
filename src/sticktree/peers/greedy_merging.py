"""The kernel of Bayesian hierarchical clustering: which two clusters are joined next."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.jit import jit
from sticktree.peers.normal_inverse_wishart import Clusters

__all__ = ["merge_greedily"]


@jit
def merge_greedily(
    clusters: Clusters,
    log_sum: FloatArray,
    log_factor: FloatArray,
    mean_precision: float,
    degrees: float,
    width: float,
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Join the pair with the highest log odds of being one cluster, until one is left.

    Cluster i < N is row i, and the k-th join makes cluster N + k, whose size, mean, scatter and
    ``log_sum`` are written. Every way to cut a tree into clusters has a weight: the product of α
    Γ(n) p(data) over its clusters. ``log_sum`` is over all ways. The odds of joining are the
    weight of one cluster by the product of the sums of the two. ``log_factor[n]`` has what is in
    the weight of a cluster of n rows but for its volume.

    Returns the pairs, and the log odds of all joins.
    """
    n = (log_sum.size + 1) // 2
    dimension = clusters.mean.shape[1]
    pairs = np.empty((n - 1, 2), dtype=np.int64)
    log_odds = np.empty(n - 1)
    prior = (mean_precision, degrees, width)
    work = np.empty((dimension, dimension))
    # Clusters sit in places; of two that are joined, the new one takes the first place.
    place = np.arange(n)
    alive = np.ones(n, dtype=np.bool_)
    odds = np.empty((n, n))  # above the diagonal
    best = np.empty(n, dtype=np.int64)
    for i in range(n):
        for j in range(i + 1, n):
            weight = _log_weight(clusters, i, j, log_factor, prior, work)
            odds[i, j] = weight - (log_sum[i] + log_sum[j])
        best[i] = _best_partner(odds, alive, i)
    for k in range(n - 1):
        left = _best_place(odds, best, alive)
        right = best[left]
        a, b, joined = place[left], place[right], n + k
        pairs[k, 0], pairs[k, 1] = a, b
        log_odds[k] = odds[left, right]
        log_sum[joined] = log_sum[a] + log_sum[b] + _log_one_plus_exp(log_odds[k])
        _join(clusters, a, b, joined)
        place[left] = joined
        alive[right] = False
        for i in range(n):
            if alive[i] and i != left:
                weight = _log_weight(clusters, place[i], joined, log_factor, prior, work)
                odds[min(i, left), max(i, left)] = weight - (log_sum[place[i]] + log_sum[joined])
        for i in range(n):
            if not alive[i]:
                continue
            if i == left or best[i] == left or best[i] == right:
                best[i] = _best_partner(odds, alive, i)
            elif i < left and odds[i, left] > odds[i, best[i]]:
                best[i] = left
    return pairs, log_odds


@jit
def _best_place(odds: FloatArray, best: npt.NDArray[np.int64], alive: npt.NDArray[np.bool_]) -> int:
    """Return the place whose cluster goes best with its partner."""
    found = -1
    for i in range(best.size):
        if alive[i] and best[i] >= 0 and (found < 0 or odds[i, best[i]] > odds[found, best[found]]):
            found = i
    return found


@jit
def _best_partner(odds: FloatArray, alive: npt.NDArray[np.bool_], i: int) -> int:
    """Return the later place whose cluster goes best with that in place i; −1 if there is none."""
    found = -1
    for j in range(i + 1, alive.size):
        if alive[j] and (found < 0 or odds[i, j] > odds[i, found]):
            found = j
    return found


@jit
def _join(clusters: Clusters, a: int, b: int, joined: int) -> None:
    """Write size, mean and scatter of two clusters as one."""
    size, mean, scatter = clusters.size, clusters.mean, clusters.scatter
    n = size[a] + size[b]
    size[joined] = n
    share = size[a] * size[b] / n
    for p in range(mean.shape[1]):
        mean[joined, p] = (size[a] * mean[a, p] + size[b] * mean[b, p]) / n
        for q in range(mean.shape[1]):
            between = (mean[a, p] - mean[b, p]) * (mean[a, q] - mean[b, q])
            scatter[joined, p, q] = scatter[a, p, q] + scatter[b, p, q] + share * between


@jit
def _log_weight(
    clusters: Clusters,
    a: int,
    b: int,
    log_factor: FloatArray,
    prior: tuple[float, float, float],
    work: FloatArray,
) -> float:
    """Return the log weight of two clusters as one."""
    size, mean, scatter = clusters.size, clusters.mean, clusters.scatter
    mean_precision, degrees, width = prior
    n = size[a] + size[b]
    share = size[a] * size[b] / n
    shrunk = mean_precision * n / (mean_precision + n)
    for p in range(work.shape[0]):
        centre = (size[a] * mean[a, p] + size[b] * mean[b, p]) / n
        for q in range(p + 1):
            between = (mean[a, p] - mean[b, p]) * (mean[a, q] - mean[b, q])
            other = (size[a] * mean[a, q] + size[b] * mean[b, q]) / n
            within = scatter[a, p, q] + scatter[b, p, q]
            work[p, q] = within + share * between + shrunk * centre * other
        work[p, p] += width
    log_weight: float = log_factor[int(n)] - 0.5 * (degrees + n) * _log_determinant(work)
    return log_weight


@jit
def _log_determinant(work: FloatArray) -> float:
    """Return the log determinant of a matrix given below the diagonal, which is overwritten."""
    result = 0.0
    for p in range(work.shape[0]):
        for q in range(p + 1):
            rest = work[p, q]
            for r in range(q):
                rest -= work[p, r] * work[q, r]
            if p == q:
                work[p, p] = math.sqrt(rest)
                result += math.log(rest)
            else:
                work[p, q] = rest / work[q, q]
    return result


@jit
def _log_one_plus_exp(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
