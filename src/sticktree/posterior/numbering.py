"""The kernel that numbers the nodes of a tree in a walk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.jit import jit

__all__ = ["counted", "walked"]

Longs = npt.NDArray[np.int64]


@jit
def counted(parent: Longs, gone: npt.NDArray[np.bool_], n: int) -> tuple[Longs, Longs, Longs]:
    """Hang the children of nodes that are gone on those above; count what is below each node.

    Parents have larger ids than their children, the root the largest; the first ``n`` nodes are
    data. ``parent`` is overwritten. Returns the number of data and of nodes at or below each node,
    and the first datum there.
    """
    n_nodes = parent.size
    n_data, size = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    first = np.full(n_nodes, n, dtype=np.int64)
    for node in range(n):
        n_data[node] = 1
        first[node] = node
    for node in range(n_nodes - 2, -1, -1):
        if gone[parent[node]]:
            parent[node] = parent[parent[node]]
    for node in range(n_nodes):
        if gone[node]:
            continue
        size[node] += 1
        above = parent[node]
        if above >= 0:
            n_data[above] += n_data[node]
            size[above] += size[node]
            first[above] = min(first[above], first[node])
    return n_data, size, first


@jit
def walked(siblings: Longs, parent: Longs, size: Longs) -> Longs:
    """Return the place of each node in a depth-first walk; −1 for those that are not listed.

    ``siblings`` lists all nodes but the root, those above before those below and siblings in the
    order of the walk; ``size`` is how many nodes are at or below each.
    """
    place = np.full(parent.size, -1, dtype=np.int64)
    free = np.zeros(parent.size, dtype=np.int64)  # where the next child goes
    place[parent.size - 1] = 0
    free[parent.size - 1] = 1
    for node in siblings:
        above = parent[node]
        place[node] = free[above]
        free[above] += size[node]
        free[node] = place[node] + 1
    return place
