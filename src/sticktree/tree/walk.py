"""Kernels that walk a tree of any depth: loops over node ids, since parents come before children.

The passes of ``arrays.py`` go level by level in numpy, which suits shallow trees and needs no
compilation; a tree with as many levels as data needs these.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL


@jit
def data_in_order(parent: IntArray, leaf: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """List the data in the order of a depth-first walk that takes children by their ids.

    Returns ``start``, ``count`` of each node and ``order``: the data at or below w are
    ``order[start[w] : start[w] + count[w]]``, those in w itself first.
    """
    n_nodes = parent.size
    own = np.zeros(n_nodes, dtype=np.int32)
    for i in range(leaf.size):
        own[leaf[i]] += 1
    count = np.zeros(n_nodes, dtype=np.int32)
    for w in range(n_nodes):
        count[w] = own[w]
    for w in range(n_nodes - 1, 0, -1):
        count[parent[w]] += count[w]
    start = np.zeros(n_nodes, dtype=np.int32)
    free = np.zeros(n_nodes, dtype=np.int32)  # where the next child's data begin
    free[0] = own[0]
    for w in range(1, n_nodes):
        start[w] = free[parent[w]]
        free[parent[w]] += count[w]
        free[w] = start[w] + own[w]
    order = np.empty(leaf.size, dtype=np.int32)
    for i in range(leaf.size - 1, -1, -1):
        own[leaf[i]] -= 1
        order[start[leaf[i]] + own[leaf[i]]] = i
    return start, count, order


@linked
def heavy_children(parent: IntArray, count: IntArray) -> IntArray:
    """Return the child with most data of each node; NULL where none of them has any.

    Paths that follow heavy children partition the tree. A pass up such a path that adds, at every
    node, the data that hang beside it, handles each datum at most log₂ N times.
    """
    heavy = np.full(parent.size, NULL, dtype=np.int32)
    for w in range(1, parent.size):
        above = heavy[parent[w]]
        if count[w] > 0 and (above == NULL or count[w] > count[above]):
            heavy[parent[w]] = w
    return heavy


@jit
def meeting_nodes(parent: IntArray, a: IntArray, b: IntArray) -> IntArray:
    """Return the lowest common ancestor of each pair of nodes, by climbing.

    It takes as many steps as there are edges between the two: few in a shallow tree, and in any
    tree about two an edge for all pairs of neighbours in a depth-first walk together.
    """
    meeting = np.empty(a.size, dtype=np.int32)
    for k in range(a.size):
        first, second = a[k], b[k]
        while first != second:  # the larger id is not above the other
            if first > second:
                first = parent[first]
            else:
                second = parent[second]
        meeting[k] = first
    return meeting


@jit
def sums_below(
    parent: IntArray, leaf: IntArray, key: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Return the sum, modulo 2⁶⁴, of the keys of the data at or below every node.

    With random keys, two nodes have the same sum only if they have the same data below them, but
    for a probability of 2⁻⁶⁴.
    """
    total = np.zeros(parent.size, dtype=np.uint64)
    for i in range(leaf.size):
        total[leaf[i]] += key[i]
    for w in range(parent.size - 1, 0, -1):
        total[parent[w]] += total[w]
    return total
