"""Passes over the flat arrays of a tree.

A tree here is an array ``parent`` with ``parent[0] == NULL`` and ``parent[i] < i`` otherwise.
Every function is vectorised over nodes; none of them knows the class
:class:`~sticktree.tree.Tree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray

_Array = TypeVar("_Array", IntArray, FloatArray)

NULL = -1
"""The id of no node: the parent of the root."""


def read_only(array: _Array) -> _Array:
    """Freeze an array and return it."""
    array.setflags(write=False)
    return array


def hops_to_root(parent: IntArray) -> IntArray:
    """Count the edges between each node and its root, by pointer doubling: O(M log depth).

    Nodes that never reach a root (they lie on, or below, a cycle) get ``NULL``. The array need
    not be in any order.
    """
    ancestor = np.where(parent == NULL, np.arange(parent.size, dtype=parent.dtype), parent)
    hops = (parent != NULL).astype(np.int32)
    # After k rounds `ancestor` is 2^k edges up, or a root.
    for _ in range(max(parent.size, 2).bit_length()):
        hops = hops + hops[ancestor]
        ancestor = ancestor[ancestor]
    return np.where(parent[ancestor] == NULL, hops, NULL).astype(np.int32)


def renumbered(
    parent: IntArray, leaf: IntArray, order: npt.NDArray[Any]
) -> tuple[IntArray, IntArray]:
    """Give node ``order[k]`` the number k; nodes left out of ``order`` must not be referred to."""
    new_id = np.full(parent.size + 1, NULL, dtype=np.int32)  # the last entry maps NULL to NULL
    new_id[order] = np.arange(order.size, dtype=np.int32)
    return new_id[parent[order]], new_id[leaf]


def data_lists(leaf: IntArray, n_nodes: int) -> list[list[int]]:
    """Return the data of every node as plain lists."""
    data: list[list[int]] = [[] for _ in range(n_nodes)]
    for i, node in enumerate(leaf.tolist()):
        data[node].append(i)
    return data


def nodes_by_level(level: IntArray) -> list[IntArray]:
    """Group node ids by level, root first.

    Along every edge the level grows, so that a loop over the groups sees parents before children,
    and a reversed loop children before parents.
    """
    order = np.argsort(level, kind="stable").astype(np.int32)
    starts = (np.flatnonzero(np.diff(level[order])) + 1).tolist()
    return [order[low:high] for low, high in pairwise([0, *starts, order.size])]


def accumulate_upward(
    own: IntArray, parent: IntArray, levels: Sequence[IntArray], add: np.ufunc = np.add
) -> IntArray:
    """Combine each node's own value with those of all nodes below it."""
    total = own.copy()
    for nodes in reversed(levels[1:]):
        add.at(total, parent[nodes], total[nodes])
    return total


@dataclass(frozen=True)
class Children:
    """The children of all nodes, node after node: those of w are ``ids[start[w]:start[w + 1]]``."""

    ids: IntArray
    start: IntArray

    @classmethod
    def of(cls, parent: IntArray, key: IntArray | None = None) -> Children:
        """List children by ascending ``key`` (by default by id)."""
        n_children = np.bincount(parent[1:], minlength=parent.size)
        start = np.zeros(parent.size + 1, dtype=np.int32)
        np.cumsum(n_children, out=start[1:])
        if key is None:
            ids = np.argsort(parent[1:], kind="stable") + 1
        else:
            ids = np.lexsort((key[1:], parent[1:])) + 1
        return cls(read_only(ids.astype(np.int32)), start)

    def __getitem__(self, node: int) -> IntArray:
        """Return the children of one node."""
        return self.ids[self.start[node] : self.start[node + 1]]

    def lists(self) -> list[list[int]]:
        """Return the children of every node as plain lists, for loops over all nodes."""
        ids, start = self.ids.tolist(), self.start.tolist()
        return [ids[start[w] : start[w + 1]] for w in range(len(start) - 1)]

    def rank(self, parent: IntArray) -> IntArray:
        """Return each node's place among its siblings, counted from 1; 0 for the root."""
        rank = np.zeros(parent.size, dtype=np.int32)
        rank[self.ids] = np.arange(self.ids.size) - self.start[parent[self.ids]] + 1
        return rank


def preorder_positions(
    parent: IntArray, levels: Sequence[IntArray], children: Children
) -> IntArray:
    """Return each node's position in a depth-first walk that takes children in their order."""
    size = accumulate_upward(np.ones(parent.size, dtype=np.int32), parent, levels)
    # A child follows its parent and the whole subtrees of its elder siblings.
    sizes = size[children.ids]
    before = np.cumsum(sizes) - sizes
    position = np.zeros(parent.size, dtype=np.int32)
    if children.ids.size:
        eldest = children.start[parent[children.ids]]
        position[children.ids] = 1 + before - before[eldest]
    for nodes in levels[1:]:
        position[nodes] += position[parent[nodes]]
    return position


class AncestorTable:
    """Lowest common ancestors of any pairs in constant time each, after O(M log M) preparation.

    Between two nodes of a preorder walk, every node visited lies strictly below their lowest
    common ancestor and one of them is its child; so the ancestor is the earliest parent in that
    range, and a sparse table of range minima answers every query.
    """

    def __init__(self, parent: IntArray, position: IntArray) -> None:
        self._position = position
        self._node_at = np.argsort(position).astype(np.int32)
        at = np.where(parent == NULL, 0, position[parent])[self._node_at]
        table = [at.astype(np.int32)]
        width = 1
        while 2 * width <= at.size:
            last = table[-1]
            table.append(np.minimum(last[: last.size - width], last[width:]))
            width *= 2
        self._table = table

    def query(self, a: IntArray, b: IntArray) -> IntArray:
        """Return the lowest common ancestor of each pair; ``a`` and ``b`` broadcast."""
        first, last = np.broadcast_arrays(self._position[a], self._position[b])
        low, high = np.minimum(first, last).ravel(), np.maximum(first, last).ravel()
        ancestor: IntArray = self._node_at[low]  # right where a is b
        apart = low < high
        low, high = low[apart] + 1, high[apart] + 1
        # frexp gives the exact floor of log2 of an integer range length.
        power = np.frexp(high - low)[1] - 1
        minimum = np.empty(low.size, dtype=np.int32)
        for k in np.unique(power):
            of_k = power == k
            row = self._table[k]
            minimum[of_k] = np.minimum(row[low[of_k]], row[high[of_k] - (1 << int(k))])
        ancestor[apart] = self._node_at[minimum]
        return ancestor.reshape(first.shape)


def shape_codes(level: IntArray, levels: Sequence[IntArray], children: Children) -> IntArray:
    """Give subtrees of one level the same code if they have the same shape, in a fixed order.

    Works from the deepest level up. A node's key is the sorted list of its children's levels and
    codes; within a level, codes number the distinct keys in sorted order.
    """
    code = np.zeros(level.size, dtype=np.int32)
    for nodes in reversed(levels):
        keys = [
            tuple(sorted(zip(level[below].tolist(), code[below].tolist(), strict=True)))
            for below in map(children.__getitem__, nodes.tolist())
        ]
        number = {key: k for k, key in enumerate(sorted(set(keys)))}
        code[nodes] = [number[key] for key in keys]
    return code
