"""The spectrum of the posterior walk, from tables of counts and without a matrix of all rows.

The step matrix of rows is P = B Bᵀ with B_{i,(s,c)} = √(w_s / n_s(c)) where row i is in cluster c
of partition s; Bᵀ B has the same eigenvalues, is as wide as there are clusters, and its entries are
numbers of rows that two clusters share: whole numbers, so that no order of adding them matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray

WHOLE = 700  # rows or clusters of which a square matrix is decomposed whole
DENSE = 2000  # of which it is made, and decomposed in part
N_VECTORS = 96  # eigenvectors, where not all can be afforded
N_PARTS = 256  # of rows that nothing connects, and are told apart
FAINTEST = 1e-6  # eigenvalues below are left out


@dataclass(frozen=True, eq=False)
class Profiles:
    """Rows that are together in all partitions, as one.

    Attributes
    ----------
    of_row : int array, shape (N,)
        The profile of each row, numbered as they appear.
    size : int array, shape (m,)
        How many rows each has.
    column : int array, shape (m, S)
        The cluster of each profile in each partition; clusters of all partitions are numbered
        together.
    share : float array, shape (S,)
        How often each partition is stepped in; they sum to 1.
    rows_in : int array
        How many rows each cluster has.
    of_cluster : int array
        The partition of each cluster.
    """

    of_row: IntArray
    size: npt.NDArray[np.int64]
    column: IntArray
    share: FloatArray
    rows_in: npt.NDArray[np.int64]
    of_cluster: IntArray

    @classmethod
    def of(cls, partitions: npt.NDArray[np.integer], share: FloatArray) -> Profiles:
        """Return the profiles of partitions, whose clusters have any numbers from 0.

        Two rows that differ are taken for one with probability 2^-64.
        """
        rng = np.random.default_rng(0)
        n_clusters = np.array([int(labels.max(initial=0)) + 1 for labels in partitions])
        key = np.zeros(partitions.shape[1], dtype=np.uint64)
        for labels, count in zip(partitions, n_clusters, strict=True):
            key += rng.integers(2**64, size=int(count), dtype=np.uint64)[labels]
        _, first, inverse, size = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        rank = np.empty(order.size, dtype=np.int32)
        rank[order] = np.arange(order.size)
        start = np.concatenate([[0], np.cumsum(n_clusters)])
        column = np.empty((order.size, len(partitions)), dtype=np.int32)
        for s, labels in enumerate(partitions):
            column[:, s] = labels[first[order]] + start[s]
        size = size[order].astype(np.int64)
        rows_in = np.zeros(int(start[-1]), dtype=np.int64)
        for s in range(len(partitions)):
            rows_in += np.bincount(column[:, s], size, rows_in.size).astype(np.int64)
        of_cluster = np.repeat(np.arange(len(partitions), dtype=np.int32), n_clusters)
        return cls(rank[inverse.reshape(-1)], size, column, share, rows_in, of_cluster)

    @property
    def weight(self) -> FloatArray:
        """The square of B's entry for each cluster: w_s / n_s(c)."""
        there = self.rows_in > 0  # numbers that no cluster has
        share = self.share[self.of_cluster]
        return np.divide(share, self.rows_in, out=np.zeros(share.size), where=there)

    def sums_over(
        self, values: FloatArray, part: slice | npt.NDArray[np.int64] = slice(None)
    ) -> FloatArray:
        """Return the sum of ``values`` of the clusters that each profile is in."""
        from scipy.sparse import csr_array

        column = self.column[part]
        m, n_draws = column.shape
        ends = np.arange(0, m * n_draws + 1, n_draws)
        table = csr_array((np.ones(m * n_draws), column.reshape(-1), ends), (m, self.rows_in.size))
        return np.asarray(table @ values)


def spectrum(profiles: Profiles) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of P, the largest first, and the loadings of clusters.

    The entries of a row in the eigenvectors, of length 1 over all rows, are the sum of the loadings
    of the clusters that it is in.
    """
    weight = profiles.weight
    m, n_clusters = profiles.size.size, weight.size
    tall = m > n_clusters
    if tall and n_clusters <= DENSE:
        from sticktree.posterior.counting import shared_rows

        root = np.sqrt(weight)
        shared = shared_rows(profiles.column, profiles.size, n_clusters)
        values, w = _decomposed(shared.astype(np.float64) * root * root[:, None])
    else:
        b = _sparse(profiles, weight)
        if min(m, n_clusters) <= WHOLE:
            values, w = _decomposed((b @ b.T).toarray())
            w = b.T @ w / np.sqrt(values)
        elif tall:
            values, w = _largest(b.T.tocsr(), np.sqrt(weight) * profiles.rows_in)
        else:
            values, w = _largest(b, np.sqrt(profiles.size))
            w = b.T @ w / np.sqrt(values)
    return np.minimum(values, 1.0), np.sqrt(weight)[:, None] * w / np.sqrt(values)


def _decomposed(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues and vectors of a matrix: all, or the largest of a large one."""
    from scipy.linalg import eigh

    n = len(matrix)
    most = (n - N_VECTORS - N_PARTS, n - 1) if n > WHOLE else None
    found, vectors = eigh(matrix, subset_by_index=most)
    return _kept(found, vectors)


def _kept(found: FloatArray, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sort by eigenvalue, the largest first, without those next to 0."""
    order = np.argsort(-found, kind="stable")
    order = order[found[order] > FAINTEST]
    return found[order], vectors[:, order]


def _sparse(profiles: Profiles, weight: FloatArray) -> Any:
    """Return B of profiles: entries are times the root of their sizes."""
    from scipy.sparse import csr_array

    column = profiles.column
    m, n_draws = column.shape
    entries = np.sqrt(weight[column] * profiles.size[:, None]).reshape(-1)
    ends = np.arange(0, m * n_draws + 1, n_draws)
    return csr_array((entries, column.reshape(-1), ends), (m, weight.size))


def _largest(b: Any, stationary: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of B Bᵀ, sparse, and their vectors.

    Parts of the rows that nothing connects have an eigenvalue 1 each, whose vector is the
    stationary one, 0 elsewhere. Lanczos' algorithm may miss some of equal eigenvalues, so these
    are taken out first.
    """
    from scipy.sparse import block_array, csr_array
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import LinearOperator, eigsh

    back = b.T.tocsr()
    n = b.shape[0]
    _, found = connected_components(block_array([[None, b], [back, None]]), directed=False)
    part = np.unique(found[:n], return_inverse=True)[1].reshape(-1)
    mass = np.bincount(part, weights=stationary**2)
    entries = stationary / np.sqrt(np.where(mass > 0, mass, 1.0))[part]
    parts = csr_array((entries, part, np.arange(n + 1)), (n, mass.size))
    parts_back = parts.T.tocsr()

    def step(x: FloatArray) -> FloatArray:
        moved: FloatArray = b @ (back @ x) - parts @ (parts_back @ x)
        return moved

    operator = LinearOperator((n, n), matvec=step, dtype=np.float64)
    beginning = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(operator, k=N_VECTORS, ncv=2 * N_VECTORS, v0=beginning, tol=1e-3)
    # Numbers that no cluster has are parts without rows.
    heaviest = np.sort(np.argsort(-mass, kind="stable")[: min(N_PARTS, np.count_nonzero(mass))])
    return _kept(
        np.concatenate([np.ones(heaviest.size), values]),
        np.concatenate([parts[:, heaviest].toarray(), vectors], axis=1),
    )
