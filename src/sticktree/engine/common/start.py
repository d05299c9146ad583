"""Where chains start: a tree that is too fine but not absurd, and the noise within its leaves.

The tree is Ward's, cut into k₀ leaves, and at fewer branches for each level above. Its distances
are whitened by the covariance within the clusters, pooled, which the clusters give in turn: the two
are found in a few rounds. Rows that are many are clustered by a sample, and the others go to the
nearest centre.

Chains that are compared with each other should start apart. So each has its own k₀, up to twice
larger or smaller than usual, and clusters its rows by some of the columns, drawn at random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import linkage

from sticktree.checks import FloatArray
from sticktree.model import CovarianceType
from sticktree.tree import NULL, Tree

ROUNDS = 5
ROWS_OF_LEAF = 8  # about, if there are not too many leaves
MOST_LEAVES = 40
MOST_ROWS = 400  # that are clustered; the others follow
LEAST_VARIANCE = 1e-3  # of all rows, in standardised units: columns may be constant
Labels = npt.NDArray[np.int64]


class Start(NamedTuple):
    """Where a chain starts."""

    tree: Tree  # with a node at every level above each leaf
    data: FloatArray  # (N, D) completed
    covariance: FloatArray  # (D, D) within the leaves if full, else its diagonal (D,)
    between: float  # variance of the centres in units of that, mean over columns


def find_start(
    data: FloatArray, depth: int, form: CovarianceType, rng: np.random.Generator
) -> Start:
    """Return where a chain starts on standardised data, which may have gaps.

    ``form`` is that of the covariance within the leaves.
    """
    n_data, n_columns = data.shape
    usual = min(max(2.0, n_data / ROWS_OF_LEAF), float(MOST_LEAVES))
    n_leaves = max(min(round(usual * 2.0 ** rng.uniform(-1.0, 0.0)), n_data // 2), 1)
    rows = np.arange(n_data)
    if n_data > MOST_ROWS:
        rows = np.sort(rng.choice(n_data, MOST_ROWS, replace=False))
    columns = np.arange(n_columns)
    if n_columns > 3:
        size = round(n_columns * rng.uniform(0.5, 1.0))
        columns = np.sort(rng.choice(n_columns, max(size, 3), replace=False))
    nested = _nested_clusters(data[np.ix_(rows, columns)], depth, n_leaves, form)
    leaf = _nearest(data, rows, nested[-1], form)
    # Clusters above follow from the leaf: its first row is in the same ones as all others.
    first = np.unique(nested[-1], return_index=True)[1]
    tree = _tree([level[first][leaf] for level in nested])
    completed = _completed(data, leaf)
    covariance = _pooled(data, completed, leaf, form)
    centre = _means(completed, leaf)[leaf]
    between = float((_whitened(centre, covariance) ** 2).mean())
    return Start(tree, completed, covariance, between)


def _nested_clusters(
    data: FloatArray, depth: int, n_leaves: int, form: CovarianceType
) -> list[Labels]:
    """Return Ward's clusters for each level below the root, each within one of the level above."""
    sizes = np.maximum(np.round(n_leaves ** (np.arange(1, depth + 1) / depth)), 1.0).astype(int)
    label = np.zeros(len(data), dtype=np.int64)
    if len(data) == 1 or n_leaves == 1:
        return [label] * depth
    if form == "full" and 2 * data.shape[1] > len(data):
        form = "diag"  # correlations say nothing
    merges = linkage(np.nan_to_num(data), "ward")
    for _ in range(ROUNDS - 1):
        label = _cut(merges, n_leaves)
        completed = _completed(data, label)
        merges = linkage(_whitened(completed, _pooled(data, completed, label, form)), "ward")
    return [_cut(merges, size) for size in sizes]


def _cut(merges: FloatArray, size: int) -> Labels:
    """Return the clusters that are left before the last merges, as numbers from 0."""
    n_data = len(merges) + 1
    done = n_data - size
    top = np.arange(2 * n_data - 1)
    top[merges[:done, :2].astype(np.int64)] = n_data + np.arange(done)[:, None]
    while True:  # every step goes twice as far up
        above = top[top]
        if (above == top).all():
            return np.unique(top[:n_data], return_inverse=True)[1].ravel()
        top = above


def _means(data: FloatArray, label: Labels) -> FloatArray:
    """Return the mean of what is observed in each cluster; 0, that of all, where nothing is."""
    there = ~np.isnan(data)
    seen, total = np.zeros((2, label.max() + 1, data.shape[1]))
    np.add.at(seen, label, there)
    np.add.at(total, label, np.where(there, data, 0.0))
    return np.asarray(total / np.maximum(seen, 1.0))


def _completed(data: FloatArray, label: Labels) -> FloatArray:
    """Return data with the means of their clusters where entries are missing."""
    missing = np.isnan(data)
    return np.where(missing, _means(data, label)[label], data) if missing.any() else data


def _pooled(
    data: FloatArray, completed: FloatArray, label: Labels, form: CovarianceType
) -> FloatArray:
    """Return the covariance within clusters, or its diagonal, by what is observed.

    Variances are drawn a little towards those of all rows, for clusters may hold nothing but
    repeated rows; correlations towards 0, the more the more columns there are for the rows.
    """
    off = completed - _means(completed, label)[label]
    n_clusters = np.unique(label).size
    observed = np.maximum((~np.isnan(data)).sum(axis=0) - n_clusters, 0)
    whole = np.maximum(completed.var(axis=0), LEAST_VARIANCE)
    variance = ((off**2).sum(axis=0) + whole) / (observed + 1.0)
    if form == "spherical":
        return np.full(variance.size, variance.mean())
    if form == "diag":
        return np.asarray(variance)
    degrees = max(len(data) - n_clusters, 1)
    spread = np.sqrt((off**2).sum(axis=0))
    unit = off / np.where(spread > 0.0, spread, 1.0)
    correlation = unit.T @ unit * (degrees / (degrees + data.shape[1]))
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation * np.sqrt(variance) * np.sqrt(variance)[:, None])


def _whitened(data: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return rows in coordinates in which a covariance, or its diagonal, is I."""
    if covariance.ndim == 1:
        return np.asarray(data / np.sqrt(covariance))
    return np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), data.T).T)


def _nearest(data: FloatArray, rows: Labels, label: Labels, form: CovarianceType) -> Labels:
    """Return the cluster of every row, where some are known."""
    if rows.size == len(data):
        return label
    some = data[rows]
    known = _completed(some, label)
    covariance = _pooled(some, known, label, form)
    white, centre = (_whitened(np.nan_to_num(x), covariance) for x in (data, _means(known, label)))
    away = (centre**2).sum(axis=1) - 2.0 * white @ centre.T
    out = np.argmin(away, axis=1)
    out[rows] = label
    return out


def _tree(nested: list[Labels]) -> Tree:
    """Return the tree of nested clusters: one list for each level below the root."""
    parent, level = [np.array([NULL])], [np.array([0])]
    above, n_nodes = np.zeros(nested[0].size, dtype=np.int64), 1
    for number, label in enumerate(nested, start=1):
        _, first, place = np.unique(label, return_index=True, return_inverse=True)
        parent.append(above[first])
        level.append(np.full(first.size, number))
        above, n_nodes = n_nodes + place.ravel(), n_nodes + first.size
    arrays = (np.concatenate(parts).astype(np.int32) for parts in (parent, level))
    parents, levels = arrays
    return Tree(parents, above.astype(np.int32), level=levels)
