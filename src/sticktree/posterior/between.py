r"""How much of a column's variance is between clusters, and how much of it by chance.

Of a partition with :math:`K` clusters, and of the :math:`n` values of a column that are there,

.. math:: \text{share} = \frac{\sum_k n_k (m_k - m)^2}{\sum_i (x_i - m)^2},

with means :math:`m_k` and :math:`m`. Of categories :math:`x_i` is the vector that is 1 in the place
of its category and 0 elsewhere: the sum below is then :math:`n` times Gini's :math:`1 - \sum_c
p_c^2`, and the share is how much less likely two values are to differ within a cluster (Goodman &
Kruskal's τ).

A column that has nothing to do with the clusters has a share above 0. If its values are dealt out
to the rows at random, all orders alike, the mean share is

.. math:: \text{chance} = \frac{K - 1}{n - 1}

whatever the values and the sizes of the clusters: the mean of :math:`n_k (m_k - m)^2` over all
orders is :math:`(n - n_k) / (n (n - 1))` times the sum below, and these add up. The share beyond
chance is (share − chance) / (1 − chance), Kelley's ε², whose mean is then 0.

All of it is sums over the rows of each cluster: no matrix of columns by columns is made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sticktree.blas import one_thread
from sticktree.checks import FloatArray, IntArray
from sticktree.data.readable import standardised

CELLS = 2_000_000  # of columns that are held at a time, beside the table
ROUNDING = 1e-12  # a share below which there is nothing


@dataclass(frozen=True, eq=False)
class Between:
    """Shares of some columns for several partitions.

    Attributes
    ----------
    share, chance : float arrays, shape (S, D)
        The share of variance between clusters, and its mean over all orders of the values; NaN
        where a column has no two values that differ.
    n_values : int array, shape (D,)
        Values that are there.
    """

    share: FloatArray
    chance: FloatArray
    n_values: npt.NDArray[np.int64]


def between_numbers(values: FloatArray, partitions: IntArray) -> Between:
    """Return shares of columns of numbers.

    Parameters
    ----------
    values : float array, shape (N, D)
        What is not finite is missing.
    partitions : int array, shape (S, N)
        A partition a row, its clusters numbered from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.posterior.between import between_numbers
    >>> found = between_numbers(np.array([[1.0, 1.0], [2.0, 3.0], [8.0, 3.0], [9.0, 1.0]]),
    ...                         np.array([[0, 0, 1, 1]]))
    >>> found.share.round(2), found.chance.round(2)
    (array([[0.98, 0.  ]]), array([[0.33, 0.33]]))
    """
    n_rows, n_columns = values.shape
    sums = [_sum_over_clusters(labels) for labels in partitions]
    width = max(CELLS // max(n_rows, 1), 1)
    starts = range(0, max(n_columns, 1), width)  # one piece, if an empty one, of no columns
    return _side_by_side([_of_columns(values[:, k : k + width], sums) for k in starts])


def _sum_over_clusters(labels: npt.NDArray[np.integer]) -> sparse.csr_array:
    """Return the matrix that sums rows of a table over each cluster, shape (K, N)."""
    n_clusters, n_rows = int(labels.max(initial=-1)) + 1, labels.size
    place = labels.astype(np.int64), np.arange(n_rows)
    return sparse.csr_array((np.ones(n_rows), place), shape=(n_clusters, n_rows))


def _of_columns(values: FloatArray, sums: list[sparse.csr_array]) -> Between:
    z = standardised(values)  # so that squares stay finite, and little is lost far from 0
    seen = np.isfinite(z)
    z[~seen] = 0.0
    n_values = seen.sum(axis=0)
    total = np.einsum("ij,ij->j", z, z)
    whole = bool(seen.all())
    there = seen[:, :1].astype(np.float64) if whole else seen.astype(np.float64)
    share, chance = np.empty((2, len(sums), values.shape[1]))
    with one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        for s, matrix in enumerate(sums):
            of_cluster, count = matrix @ z, matrix @ there
            of_cluster *= of_cluster
            of_cluster /= np.maximum(count, 1.0)
            n_clusters = (count > 0).sum(axis=0)
            share[s], chance[s] = _judged(of_cluster.sum(axis=0), total, n_clusters, n_values)
    return Between(share, chance, n_values)


def _judged(
    between: FloatArray, total: FloatArray, n_clusters: npt.ArrayLike, n_values: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return share and chance; NaN where nothing varies."""
    share = between / total
    share = np.where(share > ROUNDING, np.minimum(share, 1.0), 0.0)
    chance = (np.asarray(n_clusters) - 1.0) / (np.asarray(n_values) - 1.0)
    flat = ~(total > 0)
    return np.where(flat, np.nan, share), np.where(flat, np.nan, chance)


def _side_by_side(parts: list[Between]) -> Between:
    return Between(
        np.concatenate([part.share for part in parts], axis=1),
        np.concatenate([part.chance for part in parts], axis=1),
        np.concatenate([part.n_values for part in parts]),
    )


def between_categories(
    codes: npt.NDArray[np.integer], n_categories: int, partitions: IntArray
) -> Between:
    """Return shares of one column of categories.

    Parameters
    ----------
    codes : int array, shape (N,)
        The category of each row, −1 where it is missing.
    n_categories : int
        How many there are.
    partitions : int array, shape (S, N)
        As of :func:`between_numbers`.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.posterior.between import between_categories
    >>> partitions = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> found = between_categories(np.array([0, 0, 1, 1]), 2, partitions)
    >>> found.share.ravel(), found.chance.ravel().round(2)
    (array([1., 0.]), array([0.33, 0.33]))
    """
    there = np.flatnonzero(codes >= 0)
    known = codes[there].astype(np.int64)
    n = there.size
    expected = float((np.bincount(known, minlength=1) ** 2).sum()) / max(n, 1)
    share, chance = np.empty((2, len(partitions), 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        for s, labels in enumerate(partitions):
            place = labels[there].astype(np.int64) * n_categories + known
            n_clusters = int(labels.max(initial=-1)) + 1
            counts = np.bincount(place, minlength=n_clusters * n_categories)
            counts = counts.reshape(n_clusters, n_categories).astype(np.float64)
            size = counts.sum(axis=1)
            between = (counts**2).sum(axis=1) / np.maximum(size, 1.0)
            share[s], chance[s] = _judged(
                np.array([between.sum() - expected]),
                np.array([n - expected]),
                np.count_nonzero(size),
                n,
            )
    return Between(share, chance, np.array([n]))
