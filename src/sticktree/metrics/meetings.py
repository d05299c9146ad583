"""The kernel that compares the meetings of all pairs of data in two trees, a row at a time."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit
from sticktree.tree.walk import data_in_order, meeting_nodes

__all__ = ["mean_square_apart"]


@jit
def mean_square_apart(
    parent_a: IntArray,
    leaf_a: IntArray,
    time_a: FloatArray,
    parent_b: IntArray,
    leaf_b: IntArray,
    time_b: FloatArray,
) -> float:
    """Return the mean over pairs of data of the squared difference of their meeting times."""
    n_data = leaf_a.size
    order_a, next_a = _neighbours(parent_a, leaf_a, time_a)
    order_b, next_b = _neighbours(parent_b, leaf_b, time_b)
    place_b = np.empty(n_data, dtype=np.int32)
    for at in range(n_data):
        place_b[order_b[at]] = at
    in_a, in_b = np.empty(n_data), np.empty(n_data)
    total = 0.0
    for at in range(n_data):
        i = order_a[at]
        _meetings(order_a, next_a, at, in_a)
        _meetings(order_b, next_b, place_b[i], in_b)
        for j in range(n_data):
            if j != i:
                total += (in_a[j] - in_b[j]) ** 2
    return total / (n_data * (n_data - 1.0))


@jit
def _neighbours(parent: IntArray, leaf: IntArray, time: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the data in the tree's order, and when each of them meets the next."""
    _, _, order = data_in_order(parent, leaf)
    in_order = np.empty(leaf.size, dtype=np.int32)
    for at in range(leaf.size):
        in_order[at] = leaf[order[at]]
    node = meeting_nodes(parent, in_order[:-1], in_order[1:])
    meeting = np.empty(node.size)
    for at in range(node.size):
        meeting[at] = time[node[at]]
    return order, meeting


@jit
def _meetings(order: IntArray, meeting: FloatArray, at: int, out: FloatArray) -> None:
    """Write when the datum at one place of the tree's order meets each other datum.

    That is the earliest time at which neighbours between the two meet.
    """
    earliest = np.inf
    for right in range(at, order.size - 1):
        earliest = min(earliest, meeting[right])
        out[order[right + 1]] = earliest
    earliest = np.inf
    for left in range(at - 1, -1, -1):
        earliest = min(earliest, meeting[left])
        out[order[left]] = earliest
