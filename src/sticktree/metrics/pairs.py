"""Kernels over all pairs of data: of one class where they meet, of two trees how they differ."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL
from sticktree.tree.walk import data_in_order, heavy_children, meeting_nodes


@jit
def sum_of_shares(parent: IntArray, leaf: IntArray, code: IntArray, weight: FloatArray) -> float:
    """Sum over pairs of one class c: weight of c times the share of c where the pair meets.

    Goes up every heavy path with the number of data of each class below. At a node, only classes
    of data that join the path there have pairs that meet there.
    """
    start, count, order = data_in_order(parent, leaf)
    heavy = heavy_children(parent, count)
    n_nodes = parent.size
    child = np.full(n_nodes, NULL, dtype=np.int32)  # children as lists: a first, then next
    sibling = np.full(n_nodes, NULL, dtype=np.int32)
    for w in range(n_nodes - 1, 0, -1):
        sibling[w] = child[parent[w]]
        child[parent[w]] = w
    n_below = np.zeros(weight.size, dtype=np.int64)
    n_pairs = np.zeros(weight.size, dtype=np.int64)
    total = 0.0
    for top in range(n_nodes):
        if count[top] == 0 or (top > 0 and heavy[parent[top]] == top):
            continue
        w = top
        while heavy[w] != NULL:
            w = heavy[w]
        while True:
            branch = child[w]
            n_own = count[w]
            while branch != NULL:
                n_own -= count[branch]
                branch = sibling[branch]
            for at in range(start[w], start[w] + n_own):
                c = code[order[at]]
                n_pairs[c] += n_below[c]
                n_below[c] += 1
            branch = child[w]
            while branch != NULL:
                if branch != heavy[w]:
                    end = start[branch] + count[branch]
                    for at in range(start[branch], end):  # pairs with those outside the branch
                        c = code[order[at]]
                        n_pairs[c] += n_below[c]
                    for at in range(start[branch], end):
                        n_below[code[order[at]]] += 1
                branch = sibling[branch]
            # What joined the path here, and nothing else, is before and behind the heavy child.
            first, last = start[w], start[w] + count[w]
            gap = last if heavy[w] == NULL else start[heavy[w]]
            resume = last if heavy[w] == NULL else start[heavy[w]] + count[heavy[w]]
            for at in range(first, last - (resume - gap)):
                c = code[order[at if at < gap else at + resume - gap]]
                if n_pairs[c] > 0:
                    total += weight[c] * n_pairs[c] * n_below[c] / count[w]
                    n_pairs[c] = 0
            if w == top:
                break
            w = parent[w]
        for at in range(start[top], start[top] + count[top]):
            n_below[code[order[at]]] = 0
    return total


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


@linked
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


@linked
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
