"""Kernels that count what clusters share, never more than one draw's counts at a time."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit

__all__ = [
    "by_cluster",
    "has_gaps",
    "own_sums",
    "shared_sums",
    "shares_of_company",
    "without_gaps",
]


@jit
def by_cluster(labels: IntArray) -> tuple[IntArray, IntArray]:
    """List the data cluster by cluster; those of k are ``order[start[k] : start[k + 1]]``."""
    n_clusters = 0
    for k in labels:
        n_clusters = max(n_clusters, k + 1)
    start = np.zeros(n_clusters + 1, dtype=np.int32)
    for k in labels:
        start[k + 1] += 1
    for k in range(n_clusters):
        start[k + 1] += start[k]
    order = np.empty(labels.size, dtype=np.int32)
    place = np.zeros(n_clusters, dtype=np.int32)
    for i in range(labels.size):
        order[start[labels[i]] + place[labels[i]]] = i
        place[labels[i]] += 1
    return start, order


@jit
def has_gaps(draws: IntArray) -> bool:
    """Tell whether the clusters of some draw are not numbered as they appear."""
    for draw in draws:
        n_clusters = 0
        for j in draw:
            if j > n_clusters:
                return True
            n_clusters = max(n_clusters, j + 1)
    return False


@jit
def without_gaps(draws: IntArray) -> IntArray:
    """Return labels that number the clusters of every draw as they appear; they must be below N."""
    n_draws, n_data = draws.shape
    labels = np.empty((n_draws, n_data), dtype=np.int32)
    number = np.zeros(n_data, dtype=np.int32)  # from 1; 0 is not numbered yet
    for s in range(n_draws):
        n_clusters = 0
        for i in range(n_data):
            if number[draws[s, i]] == 0:
                n_clusters += 1
                number[draws[s, i]] = n_clusters
            labels[s, i] = number[draws[s, i]] - 1
        for j in draws[s]:
            number[j] = 0
    return labels


@jit
def own_sums(draws: IntArray, delta: FloatArray) -> FloatArray:
    """Return Σ_j f(n_j) of every draw; ``delta[n]`` is f(n + 1) − f(n)."""
    n_draws, n_data = draws.shape
    total = np.zeros(n_draws)
    count = np.zeros(n_data, dtype=np.int32)
    for s in range(n_draws):
        running = 0.0
        for j in draws[s]:
            running += delta[count[j]]
            count[j] += 1
        for j in draws[s]:
            count[j] = 0
        total[s] = running
    return total


@jit
def shared_sums(labels: IntArray, draws: IntArray, delta: FloatArray) -> FloatArray:
    """Return Σ_kj f(n_kj) between a clustering and every draw."""
    n_draws, n_data = draws.shape
    total = np.zeros(n_draws)
    if _fits_a_table(labels, draws):
        table = np.zeros((labels.max() + 1, draws.max() + 1), dtype=np.int32)
        growth = np.zeros(n_data + 1)
        for n in range(n_data):
            growth[n + 1] = growth[n] + delta[n]
        for s in range(n_draws):
            _fill(table, labels, draws[s])
            for k in range(table.shape[0]):
                for j in range(table.shape[1]):
                    total[s] += growth[table[k, j]]
        return total
    start, order = by_cluster(labels)
    count = np.zeros(n_data, dtype=np.int32)
    for s in range(n_draws):
        running = 0.0
        for k in range(start.size - 1):
            for at in range(start[k], start[k + 1]):
                j = draws[s, order[at]]
                running += delta[count[j]]
                count[j] += 1
            for at in range(start[k], start[k + 1]):
                count[draws[s, order[at]]] = 0
        total[s] = running
    return total


@jit
def shares_of_company(labels: IntArray, draws: IntArray) -> FloatArray:
    """Return, for every datum, how much of its cluster is with it, on average over draws.

    That is the share of the other members of its cluster; for a datum alone in its cluster, the
    share of draws in which it is alone.
    """
    start, order = by_cluster(labels)
    n_draws, n_data = draws.shape
    share = np.zeros(n_data)
    size = np.zeros(n_data, dtype=np.int32)
    count = np.zeros(n_data, dtype=np.int32)
    dense = _fits_a_table(labels, draws)
    table = np.zeros((1, 1), dtype=np.int32)
    if dense:
        table = np.zeros((start.size - 1, draws.max() + 1), dtype=np.int32)
    for s in range(n_draws):
        for j in draws[s]:
            size[j] += 1
        if dense:
            _fill(table, labels, draws[s])
        for k in range(start.size - 1):
            n_others = start[k + 1] - start[k] - 1
            if dense and n_others > 0:
                continue
            for at in range(start[k], start[k + 1]):
                count[draws[s, order[at]]] += 1
            for at in range(start[k], start[k + 1]):
                i = order[at]
                if n_others > 0:
                    share[i] += (count[draws[s, i]] - 1) / n_others
                elif size[draws[s, i]] == 1:
                    share[i] += 1.0
            for at in range(start[k], start[k + 1]):
                count[draws[s, order[at]]] = 0
        if dense:
            for i in range(n_data):
                k = labels[i]
                n_others = start[k + 1] - start[k] - 1
                if n_others > 0:
                    share[i] += (table[k, draws[s, i]] - 1) / n_others
        for j in draws[s]:
            size[j] = 0
    for i in range(n_data):
        share[i] /= n_draws
    return share


@jit
def _fits_a_table(labels: IntArray, draws: IntArray) -> bool:
    """Tell whether the counts of all pairs of clusters are no more than the data.

    Then data are counted in the order in which they lie in memory, which is far faster.
    """
    n_cells = (np.int64(labels.max()) + 1) * (np.int64(draws.max()) + 1)
    return bool(n_cells <= labels.size)


@jit
def _fill(table: IntArray, labels: IntArray, draw: IntArray) -> None:
    """Count the data of each cluster in each of a draw."""
    table[:] = 0
    for i in range(labels.size):
        table[labels[i], draw[i]] += 1
