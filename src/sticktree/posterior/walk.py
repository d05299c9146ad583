"""The posterior walk: step to a random row of your own cluster in a random draw.

With partitions z_s, of share w_s each, and n_s(c) rows in cluster c, a step goes from row i to j
with probability

    P_ij = Σ_s w_s 1[z_s(i) = z_s(j)] / n_s(z_s(i)) = (B Bᵀ)_ij,
    B_{i,(s,c)} = 1[z_s(i) = c] √(w_s / n_s(c)).

P is doubly stochastic with eigenvalues in [0, 1]. Rows are near if chains of co-clustering connect
them: a bent cluster that draws cover by twenty leaves is one, and two leaves that never exchange a
row are two. With P = V Λ Vᵀ the coordinates of row i after t steps are V_i Λ^t, scaled to length 1:
cosines are those of the rows of P^t, and groups far apart differ by √2, whatever their size.

Rows that are together in all partitions are one row of larger weight, which changes nothing but the
cost; no matrix of all pairs of many rows is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.blas import one_thread
from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw
from sticktree.posterior.clusterings import labelled, labels_at, spread
from sticktree.posterior.ward import WardTree, ward_tree

STEPS = 32
"""Steps of the walk that the cluster tree is made by."""
MOST_DRAWS = 60  # more change next to nothing
FEWEST_DRAWS = 30  # of many rows
MOST_LABELS = 200_000
N_NODES = 4.0  # times √N: nodes of a level, above which it says more of leaves than of clusters
N_VECTORS = 64  # eigenvectors, where not all can be afforded
DENSE = 700  # rows or clusters of which a square matrix is decomposed whole
N_PARTS = 256  # of rows that nothing connects, and are told apart
FAINTEST = 1e-6  # eigenvalues below are left out
N_ROWS = 500  # whose pairs are compared between trees
FLAT = 0.05  # standard deviation of heights, of 1 at most, below which a tree has no clusters


@dataclass(frozen=True, eq=False)
class Walk:
    """The walk over rows that partitions define.

    Attributes
    ----------
    profile : int array, shape (N,)
        Rows of one profile are together in all partitions.
    size : int array
        How many rows each profile has.
    eigenvalues : float array
        The largest first; all of them, unless profiles and clusters are many.
    vectors : float array, shape (profiles, eigenvalues)
        Eigenvectors, scaled by √size.
    """

    profile: IntArray
    size: npt.NDArray[np.int64]
    eigenvalues: FloatArray
    vectors: FloatArray
    _trees: dict[int, WardTree] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, draws: Sequence[Draw], depth: int, most: int | None = None) -> Walk:
        """Return the walk of draws.

        Parameters
        ----------
        draws : sequence of Draw
            Draws, of which those that have kept labels count.
        depth : int
            Levels of their trees below the root.
        most : int, optional
            Draws that are used, spread evenly; by default 60, of many rows 30.
        """
        known = labelled(draws)
        if most is None:
            affordable = MOST_LABELS // max(known[0].n_data, 1)
            most = min(max(affordable, FEWEST_DRAWS), MOST_DRAWS)
        used = spread(known, most)
        shares = level_shares(used, depth)
        labels = [labels_at(used, level) for level in shares]
        weights = [np.full(len(used), share / len(used)) for share in shares.values()]
        return cls.of_labels(np.concatenate(labels), np.concatenate(weights))

    @classmethod
    def of_labels(cls, labels: npt.ArrayLike, shares: npt.ArrayLike | None = None) -> Walk:
        """Return the walk of partitions.

        Parameters
        ----------
        labels : array of int, shape (S, N)
            A partition a row; clusters have any numbers from 0.
        shares : array of float, shape (S,), optional
            How often each partition is stepped in; by default equally often.

        Examples
        --------
        >>> from sticktree.posterior.walk import Walk
        >>> walk = Walk.of_labels([[0, 0, 1, 1], [0, 0, 0, 1]])
        >>> walk.eigenvalues.round(3)
        array([1.   , 0.789, 0.211])
        """
        partitions = np.atleast_2d(np.asarray(labels))
        share = np.full(len(partitions), 1.0) if shares is None else np.asarray(shares, dtype=float)
        profile, first, size = _profiles(partitions)
        of_profiles = partitions[:, first]
        with one_thread():
            values, vectors = _spectrum(of_profiles, size, share / share.sum())
        return cls(profile, size, values, vectors)

    @property
    def n_data(self) -> int:
        """Number of rows."""
        return self.profile.size

    def coordinates(self, t: float = STEPS) -> FloatArray:
        """Return the coordinates of rows after ``t`` steps, of length 1; up to a rotation."""
        return self._coordinates(t)[self.profile]

    def _coordinates(self, t: float) -> FloatArray:
        scaled = self.eigenvalues**t
        kept = scaled > 1e-9
        u: FloatArray = self.vectors[:, kept] * scaled[kept]
        # A row whose every eigenvector is faint, or left out, is nowhere.
        length = np.sqrt(np.einsum("ij,ij->i", u, u))
        return u / np.where(length > 0, length, 1.0)[:, None]

    def tree(self, t: int = STEPS) -> WardTree:
        """Return Ward's tree of the coordinates after ``t`` steps: the cluster tree."""
        if t not in self._trees:
            with one_thread():
                self._trees[t] = ward_tree(self._coordinates(t), self.size, self.profile)
        return self._trees[t]

    def linkage(self, t: int = STEPS) -> FloatArray:
        """Return the cluster tree as scipy's linkage matrix of the rows."""
        return self.tree(t).linkage()


def agreement(first: Walk, second: Walk, t: int = STEPS) -> float:
    """Return how well two walks over the same rows agree on the cluster tree, 1 if fully.

    It is the cophenetic correlation of their trees over the pairs of at most 500 rows, which are
    spread evenly, but for trees without clusters: these agree with each other.

    Examples
    --------
    >>> from sticktree.posterior.walk import Walk, agreement
    >>> first = Walk.of_labels([[0, 0, 1, 1], [0, 0, 1, 1]])
    >>> second = Walk.of_labels([[1, 1, 0, 0], [0, 0, 1, 2]])
    >>> round(agreement(first, second), 2)
    1.0
    """
    rows = np.array(spread(range(first.n_data), N_ROWS), dtype=np.int64)
    pairs = np.tril_indices(rows.size, -1)
    if not pairs[0].size:
        return 1.0
    # Two halves of the rows at right angles meet at height √N.
    a, b = (walk.tree(t).heights(rows)[pairs] / math.sqrt(walk.n_data) for walk in (first, second))
    # As if both had a common part of small variance: where there is nothing else, they agree.
    ((aa, ab), (_, bb)) = np.cov(a, b, bias=True) + FLAT**2
    return float(ab / math.sqrt(aa * bb))


def level_shares(draws: Sequence[Draw], depth: int) -> dict[int, float]:
    """Return the levels that the walk steps in, and how often in each.

    That is the deepest level with at most 4 √N nodes on average. As the one below goes from there
    to twice as many nodes, its share goes from 1 to 0, so that nothing jumps when chains grow some
    leaves more.
    """
    limit = N_NODES * math.sqrt(draws[0].n_data)
    nodes = np.mean([draw.nodes_per_level(depth) for draw in draws], axis=0)
    level = int((nodes <= limit).sum())
    if level == depth:
        return {depth: 1.0}
    if level == 0:
        return {1: 1.0}
    below = 1.0 - math.log2(nodes[level] / limit)
    return {level: 1.0} if below <= 0 else {level: 1.0 - below, level + 1: below}


# ---- the spectrum -----------------------------------------------------------------------------


def _profiles(
    partitions: npt.NDArray[np.integer],
) -> tuple[IntArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return numbers of rows by the clusters they are in, the first row of each, and sizes.

    Two rows that differ have one key with probability 2^-64.
    """
    rng = np.random.default_rng(0)
    key = np.zeros(partitions.shape[1], dtype=np.uint64)
    for labels in partitions:
        words = rng.integers(2**64, size=int(labels.max()) + 1, dtype=np.uint64)
        key += words[labels]
    _, first, inverse, size = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    profile = rank[inverse.reshape(-1)].astype(np.int32)
    return profile, first[order].astype(np.int64), size[order].astype(np.int64)


def _spectrum(
    partitions: npt.NDArray[np.integer], size: npt.NDArray[np.int64], share: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues and eigenvectors of P, the largest first."""
    from scipy.linalg import eigh
    from scipy.sparse import csr_array

    n_draws, m = partitions.shape
    n_clusters = partitions.max(axis=1).astype(np.int64) + 1
    start = np.concatenate([[0], np.cumsum(n_clusters)])
    column = partitions.T + start[:-1]
    rows_in = np.bincount(column.reshape(-1), np.repeat(size, n_draws), start[-1])
    of_cluster = np.repeat(share, n_clusters)
    weight = np.divide(of_cluster, rows_in, out=np.zeros(start[-1]), where=rows_in > 0)
    entries = np.sqrt(weight[column] * size[:, None]).reshape(-1)
    ends = np.arange(0, m * n_draws + 1, n_draws)
    b = csr_array((entries, column.reshape(-1), ends), (m, int(start[-1])))
    tall = m > start[-1]
    if min(b.shape) <= DENSE:
        found, vectors = eigh((b.T @ b if tall else b @ b.T).toarray())
    elif tall:
        found, vectors = _largest(b.T.tocsr(), np.sqrt(of_cluster * rows_in))
    else:
        found, vectors = _largest(b, np.sqrt(size))
    order = np.argsort(-found, kind="stable")
    order = order[found[order] > FAINTEST]
    values, vectors = np.minimum(found[order], 1.0), vectors[:, order]
    return values, (b @ vectors) / np.sqrt(values) if tall else vectors


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
    return (
        np.concatenate([np.ones(heaviest.size), values]),
        np.concatenate([parts[:, heaviest].toarray(), vectors], axis=1),
    )
