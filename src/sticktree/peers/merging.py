"""A tree by Bayesian hierarchical clustering, under a given prior and under others.

The prior of a cluster is conjugate to a normal with unknown mean and covariance: the covariance is
inverse Wishart, Σ ~ IW(Ψ, ν), and the mean is normal given it, μ ~ N(0, Σ/κ). Here Ψ = ν s² I: a
typical standard deviation is s in every direction. A cluster is known by its size n, its mean and
its scatter, the sum of (x − mean)(x − mean)ᵀ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, log_expit, logsumexp, multigammaln

from sticktree.checks import FloatArray
from sticktree.jit import jit, linked

NEGLIGIBLE = -40.0  # log weight of a cluster in the predictive density


@dataclass(frozen=True, eq=False)
class Merging:
    """Who joins whom, and what the prior says of it.

    Attributes
    ----------
    prior, concentration : NormalInverseWishart, float
        What the tree was made by.
    pairs : int array, shape (N − 1, 2)
        The clusters that are joined; row i is cluster i, and join k makes cluster N + k.
    clusters : Clusters
        All 2N − 1 clusters.
    log_odds : float array, shape (N − 1,)
        Of each join: that its data are one cluster, rather than cut by the tree below.
    log_evidence : float
        p(data | tree), the mean of p(data | partition) over the partitions that the tree has.
    """

    prior: NormalInverseWishart
    concentration: float
    pairs: npt.NDArray[np.int64]
    clusters: Clusters
    log_odds: FloatArray
    log_evidence: float

    @classmethod
    def greedy(cls, x: FloatArray, prior: NormalInverseWishart, concentration: float) -> Merging:
        """Join, again and again, the two clusters that are most probably one."""
        n, dimension = x.shape
        clusters = Clusters(
            np.ones(2 * n - 1),
            np.concatenate([x, np.empty((n - 1, dimension))]),
            np.zeros((2 * n - 1, dimension, dimension)),
        )
        rows = clusters.some(np.arange(n))
        log_sum = np.empty(2 * n - 1)
        log_sum[:n] = prior.log_evidence(rows) + math.log(concentration)
        sizes = np.arange(n + 1.0)
        log_factor = prior.log_factor(sizes)
        log_factor[1:] += math.log(concentration) + gammaln(sizes[1:])
        pairs, log_odds = merge_greedily(
            clusters, log_sum, log_factor, prior.mean_precision, prior.degrees, prior.width
        )
        log_evidence = float(log_sum[-1]) - _log_sum_of_weights(pairs, concentration)
        return cls(prior, concentration, pairs, clusters, log_odds, log_evidence)

    def under(self, prior: NormalInverseWishart, concentration: float) -> Merging:
        """Return the same tree under another prior."""
        n = len(self.pairs) + 1
        log_one = (
            prior.log_evidence(self.clusters)
            + math.log(concentration)
            + gammaln(self.clusters.size)
        )
        log_sum = _log_sums(self.pairs, log_one)
        apart = log_sum[self.pairs[:, 0]] + log_sum[self.pairs[:, 1]]
        log_evidence = float(log_sum[-1]) - _log_sum_of_weights(self.pairs, concentration)
        return Merging(
            prior, concentration, self.pairs, self.clusters, log_one[n:] - apart, log_evidence
        )

    def log_probability(self) -> FloatArray:
        """Return for every cluster the log probability that a partition of the tree has it.

        Its data are one cluster, with odds as above, and those of no join above it are.
        """
        n = len(self.pairs) + 1
        log_cut = log_expit(-self.log_odds)
        result = np.zeros(2 * n - 1)
        for k in range(n - 2, -1, -1):
            result[self.pairs[k]] = result[n + k] + log_cut[k]
        result[n:] += log_expit(self.log_odds)
        return result

    def log_predictive(self, rows: FloatArray) -> FloatArray:
        """Return the log density of new rows, averaged over the partitions of the tree."""
        clusters, alpha = self.clusters, self.concentration
        new = Clusters(np.zeros(1), *(np.zeros_like(part[:1]) for part in clusters[1:]))
        log_weight = np.append(self.log_probability() + np.log(clusters.size), math.log(alpha))
        log_weight -= math.log(len(self.pairs) + 1 + alpha)
        counted = np.flatnonzero(log_weight > NEGLIGIBLE)
        all_of_them = Clusters(*map(np.concatenate, zip(clusters, new, strict=True)))
        of_clusters = self.prior.log_predictive(rows, all_of_them.some(counted))
        return np.asarray(logsumexp(of_clusters + log_weight[counted], axis=1))


def _log_sums(pairs: npt.NDArray[np.int64], log_one: FloatArray) -> FloatArray:
    """Return, for every cluster, the log sum over the ways to cut the tree below it.

    To cut at no place has the log weight ``log_one``; else the two parts are cut on their own.
    """
    result = log_one.tolist()
    for k, (a, b) in enumerate(pairs.tolist(), len(pairs) + 1):
        high, low = result[k], result[a] + result[b]
        if high < low:
            high, low = low, high
        result[k] = high + math.log1p(math.exp(low - high))
    return np.array(result)


def _log_sum_of_weights(pairs: npt.NDArray[np.int64], concentration: float) -> float:
    """Return log d of the root: the sum of the prior weights α Γ(n) of all partitions."""
    n = len(pairs) + 1
    size = [1.0] * n
    for a, b in pairs.tolist():
        size.append(size[a] + size[b])
    return float(_log_sums(pairs, math.log(concentration) + gammaln(np.array(size)))[-1])


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


@linked
def _best_place(odds: FloatArray, best: npt.NDArray[np.int64], alive: npt.NDArray[np.bool_]) -> int:
    """Return the place whose cluster goes best with its partner."""
    found = -1
    for i in range(best.size):
        if alive[i] and best[i] >= 0 and (found < 0 or odds[i, best[i]] > odds[found, best[found]]):
            found = i
    return found


@linked
def _best_partner(odds: FloatArray, alive: npt.NDArray[np.bool_], i: int) -> int:
    """Return the later place whose cluster goes best with that in place i; −1 if there is none."""
    found = -1
    for j in range(i + 1, alive.size):
        if alive[j] and (found < 0 or odds[i, j] > odds[i, found]):
            found = j
    return found


@linked
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


@linked
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


@linked
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


@linked
def _log_one_plus_exp(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
