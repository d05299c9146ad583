"""The tree as the page has it: nodes in the tree's order, the rows of each one a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.report.markup import packed
from sticktree.tree import Tree


@dataclass(frozen=True, eq=False)
class Branches:
    """A tree whose nodes are numbered by a depth-first walk, and its rows in the same order.

    Attributes
    ----------
    order : int array, shape (N,)
        The data in the tree's order.
    parent, start, count : int arrays, shape (M,)
        Parent of each node; its rows are ``order[start : start + count]``.
    time : float array, shape (M,)
        When each node's rows part.
    support, transfer : float arrays, shape (M,), or None
        Exact and transfer support of each node; NaN where they are not known.
    total : int array, shape (M,)
        Rows of each node, with those that are not shown.
    """

    order: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    time: npt.NDArray[np.float64]
    support: npt.NDArray[np.float64] | None
    transfer: npt.NDArray[np.float64] | None
    total: npt.NDArray[np.int64]

    @classmethod
    def of(cls, tree: Tree) -> Branches:
        """Renumber a tree; nodes without data are left out."""
        tree = tree.pruned()
        position = tree.preorder.astype(np.int64)
        node_at = np.argsort(position)
        parent = np.full(tree.n_nodes, -1, dtype=np.int64)
        parent[1:] = position[tree.parent[node_at[1:]]]
        count = tree.count[node_at].astype(np.int64)
        return cls(
            tree.data_order.astype(np.int64),
            parent,
            tree.data_start[node_at].astype(np.int64),
            count,
            tree.time[node_at],
            _part(tree.support, node_at),
            _part(tree.transfer, node_at),
            count,
        )

    def showing(self, rows: npt.NDArray[np.int64]) -> Branches:
        """Return the branches of some rows, which are numbered anew; ``rows`` ascends.

        Nodes without any of them are left out, and so are those with a single branch left.
        """
        shown = np.zeros(self.order.size, dtype=bool)
        shown[rows] = True
        order = self.order[shown[self.order]]
        before = np.concatenate([[0], np.cumsum(shown[self.order])])
        start = before[self.start]
        count = before[self.start + self.count] - start
        seen = np.flatnonzero(count[1:]) + 1
        n_branches = np.bincount(self.parent[seen], minlength=count.size)
        in_branches = np.zeros(count.size, dtype=np.int64)
        np.add.at(in_branches, self.parent[seen], count[seen])
        keep = (count > 0) & ((n_branches != 1) | (in_branches < count))
        keep[0] = True
        above = self.parent.copy()
        while not keep[above[1:]].all():
            above[1:] = np.where(keep[above[1:]], above[1:], self.parent[above[1:]])
        kept = np.flatnonzero(keep)
        parent = np.full(kept.size, -1, dtype=np.int64)
        parent[1:] = np.searchsorted(kept, above[kept[1:]])
        return Branches(
            np.searchsorted(rows, order),
            parent,
            start[kept],
            count[kept],
            self.time[kept],
            _part(self.support, kept),
            _part(self.transfer, kept),
            self.total[kept],
        )

    def packed(self) -> dict[str, Any]:
        """Return the arrays as text."""
        return {
            "parent": packed(self.parent, "int32"),
            "start": packed(self.start, "int32"),
            "count": packed(self.count, "int32"),
            "time": packed(self.time, "float32"),
            "support": None if self.support is None else packed(self.support, "float32"),
            "transfer": None if self.transfer is None else packed(self.transfer, "float32"),
            "total": None if self.total is self.count else packed(self.total, "int32"),
        }


def _part(
    values: npt.NDArray[np.float64] | None, nodes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64] | None:
    """Return the values of some nodes, if there are any."""
    return None if values is None else values[nodes]
