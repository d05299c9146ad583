"""Kernels of a search for clusterings of very many data: each looks at clusters nearby only.

A datum may go to those clusters that share most with its own in the draws. The counts of clusters
against those of all draws do not grow with the data, and data are taken in the order in which they
lie in memory.
"""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit

__all__ = ["counts_of", "neighbours", "sweep_nearby"]


@jit
def counts_of(
    labels: IntArray, draws: IntArray, first: IntArray, n_clusters: int
) -> tuple[IntArray, IntArray]:
    """Return the sizes of clusters, and how many data each has in each cluster of each draw.

    Clusters of draw s are the rows from ``first[s]`` on.
    """
    size = np.zeros(n_clusters, dtype=np.int32)
    shared = np.zeros((first[-1], n_clusters), dtype=np.int32)
    for k in labels:
        size[k] += 1
    for s in range(draws.shape[0]):
        for i in range(labels.size):
            shared[first[s] + draws[s, i], labels[i]] += 1
    return size, shared


@jit
def neighbours(size: IntArray, shared: IntArray, most: int) -> IntArray:
    """Return for each cluster those whose members its own are most often with, itself left out.

    A row of the result ends with −1 where there are fewer.
    """
    n_clusters = size.size
    with_whom = np.zeros((n_clusters, n_clusters))
    for counts in shared:
        for k in range(n_clusters):
            if counts[k] > 0:
                for other in range(n_clusters):
                    if other != k and counts[other] > 0:
                        with_whom[k, other] += counts[k] * (counts[other] / size[other])
    near = np.full((n_clusters, most), -1, dtype=np.int32)
    for k in range(n_clusters):
        order = np.argsort(-with_whom[k], kind="mergesort")
        for place in range(min(most, n_clusters)):
            if with_whom[k, order[place]] > 0:
                near[k, place] = order[place]
    return near


@jit
def sweep_nearby(
    labels: IntArray,
    draws: IntArray,
    first: IntArray,
    size: IntArray,
    shared: IntArray,
    delta: FloatArray,
    near: IntArray,
    fixed: bool,
) -> int:
    """Move each datum to the cluster nearby that lowers the loss most; return how many moved.

    ``labels`` and the counts change. None opens a cluster; if ``fixed``, none is emptied.
    """
    n_draws = draws.shape[0]
    rows = np.empty(n_draws, dtype=np.int32)
    n_moved = 0
    for i in range(labels.size):
        old = labels[i]
        if fixed and size[old] == 1:
            continue
        back = 0.0
        for s in range(n_draws):
            rows[s] = first[s] + draws[s, i]
            back += delta[shared[rows[s], old] - 1]
        least, best = delta[size[old] - 1] - 2.0 * back / n_draws - 1e-9, old
        for k in near[old]:
            if k < 0:
                break
            if size[k] == 0:
                continue
            gain = 0.0
            for s in range(n_draws):
                gain += delta[shared[rows[s], k]]
            cost = delta[size[k]] - 2.0 * gain / n_draws
            if cost < least:
                least, best = cost, k
        if best != old:
            size[old] -= 1
            size[best] += 1
            for s in range(n_draws):
                shared[rows[s], old] -= 1
                shared[rows[s], best] += 1
            labels[i] = best
            n_moved += 1
    return n_moved
