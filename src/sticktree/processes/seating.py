"""The kernel of the nested restaurant: data take their seats one after another.

Walking down from the root and asking at every node which child to take costs a scan of all its
children. There is a shorter way. Let j be uniform among the data seated so far. At a node w with n
data, follow j to its child k with probability

    n/(n + α) · (1 − d/n_k),

and open a new branch otherwise. As j is in child k with probability n_k/n, the new datum goes to k
with probability (n_k − d)/(n + α), which is the restaurant's; and given that it goes there, j is
uniform among the data of k, so that it serves as the guide at the next level too. One guide and one
uniform number a datum, whatever the numbers of children. The product of these factors down to a
node with n_w of the N data is p(Δ → w)·N/n_w.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit, linked
from sticktree.tree import Tree


class Nodes(NamedTuple):
    """Node arrays under construction; they may be longer than the number of nodes."""

    parent: IntArray
    level: IntArray
    n: IntArray  # data at or below each node, the tree's count

    @classmethod
    def of(cls, tree: Tree) -> Nodes:
        """Copy the arrays of a tree."""
        return cls(tree.parent.copy(), tree.level.copy(), tree.count.copy())


class Parties(NamedTuple):
    """Groups of data, each with a restaurant of its own below a node.

    Data ``start[p]`` to ``start[p + 1]`` belong below node ``root[p]`` and are seated already up to
    ``seated[p]``. At ``root[p]`` itself the concentration is larger by ``extra[p]``.
    """

    root: IntArray
    start: IntArray
    seated: IntArray
    extra: FloatArray

    @classmethod
    def single(cls, n_seated: int, n_data: int) -> Parties:
        """Return one party at the root of the tree."""
        start = np.array([0, n_data], dtype=np.int32)
        zero = np.zeros(1, dtype=np.int32)
        return cls(zero, start, np.array([n_seated], dtype=np.int32), np.zeros(1))

    @classmethod
    def fresh(
        cls, root: npt.NDArray[Any], sizes: npt.NDArray[Any], extra: npt.NDArray[Any]
    ) -> Parties:
        """Return parties of the given sizes, nobody seated."""
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return cls(root.astype(np.int32), start, start[:-1], extra.astype(np.float64))


@jit
def seat(
    nodes: Nodes,
    n_nodes: int,
    leaf: IntArray,
    parties: Parties,
    alpha: FloatArray,
    discount: float,
    uniform: FloatArray,
) -> tuple[Nodes, int]:
    """Seat all data that are not seated yet, one after another.

    ``nodes.n`` counts the data of the parties only. ``leaf`` is filled in; the node arrays are
    returned, as they may have had to grow. Each new datum uses one row of ``uniform``.
    """
    used = 0
    for p in range(parties.root.size):
        first, n_seated, end = parties.start[p], parties.seated[p], parties.start[p + 1]
        own_alpha = alpha.copy()
        own_alpha[nodes.level[parties.root[p]]] += parties.extra[p]
        while n_seated < end:
            if n_nodes + alpha.size > nodes.parent.size:
                capacity = 2 * nodes.parent.size + alpha.size
                nodes = Nodes(
                    _grown(nodes.parent, n_nodes, capacity),
                    _grown(nodes.level, n_nodes, capacity),
                    _grown(nodes.n, n_nodes, capacity),
                )
            n_more, n_nodes = _seat_party(
                nodes,
                n_nodes,
                leaf[first:end],
                n_seated - first,
                parties.root[p],
                own_alpha,
                discount,
                uniform[used : used + end - n_seated],
            )
            n_seated += n_more
            used += n_more
    return nodes, n_nodes


@linked
def _seat_party(
    nodes: Nodes,
    n_nodes: int,
    leaf: IntArray,
    n_seated: int,
    root: int,
    alpha: FloatArray,
    discount: float,
    uniform: FloatArray,
) -> tuple[int, int]:
    """Seat data of one party while there is room for new nodes; return how many, and the nodes."""
    parent, level, count = nodes
    depth, top = alpha.size, level[root]
    path = np.empty(depth + 1, dtype=np.int32)
    path[top] = root
    for i in range(n_seated, leaf.size):
        if n_nodes + depth > parent.size:
            return i - n_seated, n_nodes
        u, v = uniform[i - n_seated, 0], uniform[i - n_seated, 1]
        # Climb from the guide's leaf to see whether the datum follows it all the way.
        meet = top  # the level at which the datum leaves its guide
        if i > 0:
            node = leaf[min(int(u * i), i - 1)]
            n = seats = float(count[node])
            take, of = 1.0, 1.0  # numerator and denominator of p(Δ → leaf)
            for at in range(depth, top, -1):
                path[at] = node
                node = parent[node]
                take *= n - discount
                n = float(count[node])
                of *= n + float(alpha[at - 1])
            # By far the most often it does. Where the products overflow, the comparison is false
            # and the slower way, level by level from the top, decides.
            if v * seats * of < take * i:
                meet = depth
            else:
                reach = 1.0
                while meet < depth:
                    n = float(count[path[meet + 1]])
                    reach *= (n - discount) / (count[path[meet]] + alpha[meet])
                    if v * n >= reach * i:
                        break
                    meet += 1
        for at in range(meet + 1, depth + 1):
            parent[n_nodes] = path[at - 1]
            level[n_nodes] = at
            count[n_nodes] = 0
            path[at] = n_nodes
            n_nodes += 1
        for at in range(top, depth + 1):
            count[path[at]] += 1
        leaf[i] = path[depth]
    return leaf.size - n_seated, n_nodes


@linked
def _grown(array: IntArray, size: int, capacity: int) -> IntArray:
    larger = np.empty(capacity, dtype=array.dtype)
    larger[:size] = array[:size]
    return larger
