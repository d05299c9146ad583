"""The kernel of the nested restaurant: data take their seats one after another.

Walking down from the root and asking at every node which child to take costs a scan of all its
children. There is a shorter way. Let j be uniform among the data seated so far. At a node w with n
data, follow j to its child k with probability

    n/(n + α) · (1 − d/n_k),

and open a new branch otherwise. As j is in child k with probability n_k/n, the new datum goes to k
with probability (n_k − d)/(n + α), which is the restaurant's; and given that it goes there, j is
uniform among the data of k, so that it serves as the guide at the next level too. One guide and one
uniform number a datum, whatever the numbers of children.
"""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit

__all__ = ["seat"]


@jit
def seat(
    parent: IntArray,
    level: IntArray,
    count: IntArray,
    leaf: IntArray,
    n_nodes: int,
    root: IntArray,
    start: IntArray,
    seated: IntArray,
    alpha: FloatArray,
    extra: FloatArray,
    discount: float,
    uniform: FloatArray,
) -> tuple[IntArray, IntArray, IntArray, int]:
    """Seat the data of several independent subtrees, each in its own restaurant.

    Data ``start[p]`` to ``start[p + 1]`` belong below node ``root[p]``, and are seated already up
    to ``seated[p]``. ``count`` counts these data only. At the root of subtree p the concentration
    is ``alpha[level] + extra[p]``. ``leaf`` is filled in; the node arrays are returned, as they
    may have had to grow. Each new datum uses one row of ``uniform``.
    """
    depth = alpha.size
    path = np.empty(depth + 1, dtype=np.int32)
    row = 0
    for p in range(root.size):
        top = level[root[p]]
        path[top] = root[p]
        for i in range(seated[p], start[p + 1]):
            before = i - start[p]
            meet = top  # the level at which the datum leaves its guide
            if before > 0:
                guide = start[p] + min(int(uniform[row, 0] * before), before - 1)
                node = leaf[guide]
                for at in range(depth, top, -1):
                    path[at] = node
                    node = parent[node]
                follow = 1.0
                while meet < depth:
                    a = alpha[meet] + (extra[p] if meet == top else 0.0)
                    n = count[path[meet]]
                    follow *= n / (n + a) * (1.0 - discount / count[path[meet + 1]])
                    if uniform[row, 1] >= follow:
                        break
                    meet += 1
            if n_nodes + depth > parent.size:
                capacity = 2 * parent.size + depth
                parent = _grown(parent, n_nodes, capacity)
                level = _grown(level, n_nodes, capacity)
                count = _grown(count, n_nodes, capacity)
            for at in range(meet + 1, depth + 1):
                parent[n_nodes] = path[at - 1]
                level[n_nodes] = at
                count[n_nodes] = 0
                path[at] = n_nodes
                n_nodes += 1
            for at in range(top, depth + 1):
                count[path[at]] += 1
            leaf[i] = path[depth]
            row += 1
    return parent, level, count, n_nodes


@jit
def _grown(array: IntArray, size: int, capacity: int) -> IntArray:
    larger = np.empty(capacity, dtype=array.dtype)
    larger[:size] = array[:size]
    return larger
