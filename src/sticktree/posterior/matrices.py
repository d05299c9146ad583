"""Kernels for square matrices over chosen data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.jit import jit
from sticktree.tree.walk import data_in_order, meeting_nodes

__all__ = ["add_meeting_levels", "times_together"]


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
    """Add the levels at which pairs of data meet in one tree.

    In the tree's order of the data, a pair meets at the lowest of the levels at which neighbours
    between them meet.
    """
    _, _, order = data_in_order(parent, leaf)
    n_data = leaf.size
    in_order = np.empty(n_data, dtype=np.int32)
    for at in range(n_data):
        in_order[at] = leaf[order[at]]
    neighbours = meeting_nodes(parent, in_order[:-1], in_order[1:])
    for first in range(n_data):
        i = order[first]
        lowest = level[leaf[i]]
        total[i, i] += lowest
        for at in range(first, n_data - 1):
            lowest = min(lowest, level[neighbours[at]])
            j = order[at + 1]
            total[i, j] += lowest
            total[j, i] += lowest
