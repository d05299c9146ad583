"""Kernels for square matrices over chosen data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.jit import jit

__all__ = ["add_meeting_levels", "mirror", "times_together"]


@jit
def times_together(labels: IntArray) -> npt.NDArray[np.float32]:
    """Count in how many draws each pair has one label; data by draws, so that pairs are compared.

    Blocks of data stay in the cache while others pass by.
    """
    n_data, n_draws = labels.shape
    total = np.empty((n_data, n_data), dtype=np.float32)
    block = 64
    for low in range(0, n_data, block):
        for i in range(low, n_data):
            for j in range(low, min(low + block, i + 1)):
                n = 0
                for s in range(n_draws):
                    n += labels[i, s] == labels[j, s]
                total[i, j] = n
                total[j, i] = n
    return total


@jit
def add_meeting_levels(
    parent: IntArray, leaf: IntArray, level: IntArray, total: npt.NDArray[np.float32]
) -> None:
    """Add the level at which rows i and j ≤ i meet to ``total[i, j]``, for all pairs.

    Parents come before their children, and level 0 is the root's.
    """
    n_nodes, n = parent.size, leaf.size
    # Leaves that have rows are ranked in a walk, so that each node has a range of ranks.
    size = np.zeros(n_nodes, dtype=np.int64)
    for i in range(n):
        size[leaf[i]] = 1
    for node in range(n_nodes - 1, 0, -1):
        size[parent[node]] += size[node]
    start = np.zeros(n_nodes, dtype=np.int64)
    taken = np.zeros(n_nodes, dtype=np.int64)
    meeting = np.zeros((n_nodes, size[0]), dtype=np.int16)  # of a node with a leaf, by rank
    for node in range(1, n_nodes):
        if size[node] > 0:
            above = parent[node]
            start[node] = start[above] + taken[above]
            taken[above] += size[node]
            # As its parent does, but for those below itself.
            meeting[node] = meeting[above]
            meeting[node, start[node] : start[node] + size[node]] = level[node]
    rank = start[leaf]
    for i in range(n):
        row = meeting[leaf[i]]
        for j in range(i + 1):
            total[i, j] += row[rank[j]]


@jit
def mirror(total: npt.NDArray[np.float32]) -> None:
    """Copy what is below the diagonal to above it."""
    for i in range(len(total)):
        for j in range(i):
            total[j, i] = total[i, j]
