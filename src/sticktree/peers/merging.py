"""A tree by Bayesian hierarchical clustering, under a given prior and under others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, log_expit, logsumexp

from sticktree.checks import FloatArray
from sticktree.peers.normal_inverse_wishart import Clusters, NormalInverseWishart

__all__ = ["Merging"]

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
        from sticktree.peers.greedy_merging import merge_greedily

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
