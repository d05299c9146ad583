"""Simulated compositions whose differences are known, and answers of peers about them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import fisher_exact
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score

from sticktree.checks import FloatArray, IntArray

N_GROUPS, N_ROWS, N_BRANCHES, DIMENSION = 8, 500, 10, 6
FAMILY = np.repeat([0, 1, 2], [4, 3, 3])  # of each branch
FAR, NEAR = 5.0, 2.0  # deviation of the centres of families, and of branches in a family
THIN, LONG = 0.35, 2.0  # deviations along the axes of a branch, in random directions
APART = 4.2  # least Mahalanobis distance of two branches, by the mean of their covariances
SMALLEST = 0.02  # share of a branch
PAIRS = [(j, j + N_GROUPS // 2) for j in range(N_GROUPS // 2)]  # of groups that are compared
MOST_CLUSTERS = 20
OF_FIRST = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85])  # of two branches that overlap


class Simulation(NamedTuple):
    """Rows of groups in branches: the second half of the groups has other shares of five."""

    data: FloatArray
    branch: IntArray
    group: IntArray
    shares: FloatArray  # (groups, branches)

    @property
    def log_ratio(self) -> FloatArray:
        """Of shares in the pairs of groups, second over first, shape (pairs, branches)."""
        return np.array([np.log(self.shares[b] / self.shares[a]) for a, b in PAIRS])

    @property
    def differs(self) -> Any:
        return np.abs(self.log_ratio) > 0.1


def simulate(seed: int, n_rows: int = N_ROWS) -> Simulation:
    """Draw ten elongated branches in three families, and rows of eight groups."""
    rng = np.random.default_rng(seed)
    centre, root = _branches(rng)
    first, second = _shares(rng)
    half = N_GROUPS // 2
    shares = np.array([first] * half + [second] * half)
    parts = [rng.choice(N_BRANCHES, size=n_rows, p=share) for share in shares]
    branch = np.concatenate(parts).astype(np.int32)
    noise = rng.standard_normal((branch.size, DIMENSION))
    data = centre[branch] + np.einsum("nij,nj->ni", root[branch], noise)
    group = np.repeat(np.arange(N_GROUPS, dtype=np.int32), n_rows)
    return Simulation(data, branch, group, shares)


def overlapping(seed: int, distance: float) -> tuple[FloatArray, IntArray, IntArray]:
    """Draw rows, branches and groups of two round branches, so many deviations apart."""
    rng = np.random.default_rng([seed, int(10 * distance)])
    parts = [rng.random(N_ROWS) >= share for share in OF_FIRST]
    branch = np.concatenate(parts).astype(np.int32)
    data = rng.standard_normal((branch.size, 3))
    data[:, 0] += distance * branch
    return data, branch, np.repeat(np.arange(OF_FIRST.size, dtype=np.int32), N_ROWS)


def _branches(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return centres of branches and roots of their covariances, none too near another."""
    while True:
        families = FAR * rng.standard_normal((3, DIMENSION))
        centre = families[FAMILY] + NEAR * rng.standard_normal((N_BRANCHES, DIMENSION))
        turned, _ = np.linalg.qr(rng.standard_normal((N_BRANCHES, DIMENSION, DIMENSION)))
        axes = np.exp(rng.uniform(np.log(THIN), np.log(LONG), (N_BRANCHES, 1, DIMENSION)))
        root = turned * axes
        covariance = root @ root.transpose(0, 2, 1)
        i, j = np.triu_indices(N_BRANCHES, 1)
        between = centre[i] - centre[j]
        solved = np.linalg.solve((covariance[i] + covariance[j]) / 2.0, between[:, :, None])
        if (np.einsum("nd,nd->n", between, solved[:, :, 0]) > APART**2).all():
            return centre, root


def _shares(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return two compositions: two branches double, three halve, and five are the same."""
    while True:
        same = rng.dirichlet(np.full(5, 5.0)) / 2.0
        more, less = rng.dirichlet(np.full(2, 5.0)), rng.dirichlet(np.full(3, 5.0))
        first = np.concatenate([same, more / 6.0, less / 3.0])
        second = np.concatenate([same, more / 3.0, less / 6.0])
        if min(first.min(), second.min()) > SMALLEST:
            order = rng.permutation(N_BRANCHES)
            return first[order], second[order]


def nearest(sets: list[Any], branch: IntArray) -> list[int]:
    """Return for each branch the set of rows that is most like it, by Jaccard's index."""
    found = []
    for k in range(N_BRANCHES):
        rows = branch == k
        found.append(int(np.argmax([(rows & one).sum() / (rows | one).sum() for one in sets])))
    return found


def roc_area(simulation: Simulation, evidence: FloatArray) -> float:
    """Return the area under the ROC curve: do branches that differ have more evidence?"""
    return float(roc_auc_score(simulation.differs.ravel(), evidence.ravel()))


def fisher_evidence(simulation: Simulation, labels: IntArray) -> FloatArray:
    """Return −log p of Fisher's exact test for each pair and branch, by the nearest clusters."""
    sets = [labels == k for k in np.unique(labels)]
    chosen, out = nearest(sets, simulation.branch), np.empty((len(PAIRS), N_BRANCHES))
    for row, pair in enumerate(PAIRS):
        sizes = [int((simulation.group == j).sum()) for j in pair]
        for k in range(N_BRANCHES):
            inside = [int((sets[chosen[k]] & (simulation.group == j)).sum()) for j in pair]
            table = np.array([[n, size - n] for n, size in zip(inside, sizes, strict=True)])
            out[row, k] = -np.log(max(fisher_exact(table).pvalue, 1e-300))
    return out


def kmeans_by_bic(data: FloatArray) -> IntArray:
    """Return the clusters of k-means whose number has the least BIC, as round normals."""
    n, dimension = data.shape
    found: dict[float, IntArray] = {}
    for k in range(2, MOST_CLUSTERS + 1):
        fit = KMeans(k, n_init=3, random_state=0).fit(data)
        sizes, variance = np.bincount(fit.labels_), fit.inertia_ / (n * dimension)
        log_density = -0.5 * n * dimension * (np.log(2 * np.pi * variance) + 1.0)
        log_density += (sizes * np.log(sizes / n)).sum()
        found[-2.0 * log_density + k * (dimension + 1) * np.log(n)] = fit.labels_
    return found[min(found)]
