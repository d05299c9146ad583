"""The part of a tree that a picture has room for.

Every datum has a row, and rows lie in the tree's order. Branches of few rows are too narrow to be
drawn each for itself: what is left are the larger branches, chains of small losses become one
branch, and all that leaves them becomes *dust*: rows of which only the time they leave is shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.tree import Tree
from sticktree.tree.structure import SupportKind

SOON = 0.03  # of all time


@dataclass(frozen=True, eq=False)
class Rows:
    """A tree as a picture needs it: spans of rows instead of nodes with data.

    Attributes
    ----------
    tree : Tree
        The tree, without nodes that have no data.
    order : int array, shape (N,)
        The data in the tree's order: datum ``order[r]`` has row r.
    first, last : int arrays, shape (M,)
        Below node w lie the rows ``first[w]`` to ``last[w] - 1``.
    tip : float array, shape (N,)
        The time at which each row ends.
    end : float
        The time at which the picture ends, above 0.
    """

    tree: Tree
    order: IntArray
    first: IntArray
    last: IntArray
    tip: FloatArray
    end: float

    @classmethod
    def of(cls, tree: Tree) -> Rows:
        """Lay the data of a tree out in rows."""
        tree = tree.pruned()
        order, first = tree.data_order, tree.data_start
        if tree.has_times:
            tip = tree.time[tree.leaf[order]]
            end = float(tree.time.max()) or 1.0
        else:
            # Data that share a leaf part below it, on a step of their own.
            alone = tree.depth > 0 and (tree.own_count <= 1).all()
            end = float(tree.depth + (0 if alone else 1))
            tip = np.full(order.size, end)
        return cls(tree, order, first, first + tree.count, tip, end)

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return self.order.size


@dataclass(frozen=True, eq=False)
class Outline:
    """The branches of a tree that have at least ``smallest`` rows, and the dust between them.

    Branches are numbered from the root down. A branch begins where the one above it ends, and ends
    where it forks or falls apart.

    Attributes
    ----------
    rows : Rows
        What it is the outline of.
    smallest : int
        The number of rows from which a branch is shown.
    node : int array, shape (B,)
        The node in which each branch ends.
    above : int array, shape (B,)
        The branch above; −1 for the first.
    begin, end : float arrays, shape (B,)
        Times.
    forks : bool array, shape (B,)
        Whether other branches follow.
    leaves : float array, shape (N,)
        The time at which each row leaves the branches that are shown; its tip, if it never does.
    owner : int array, shape (N,)
        The branch that each row leaves.
    """

    rows: Rows
    smallest: int
    node: IntArray
    above: IntArray
    begin: FloatArray
    end: FloatArray
    forks: npt.NDArray[np.bool_]
    leaves: FloatArray
    owner: IntArray

    @classmethod
    def of(cls, rows: Rows, smallest: int = 1, soon: float = SOON) -> Outline:
        """Find the branches with at least ``smallest`` rows.

        What happens to a branch within the share ``soon`` of all time before its end belongs to
        its end.
        """
        tree = rows.tree
        kept = tree.count >= min(smallest, rows.n_rows)
        if smallest > 1:
            _join_late(rows, kept, soon)
        n_kept = np.zeros(tree.n_nodes, dtype=np.int32)
        np.add.at(n_kept, tree.parent[1:][kept[1:]], 1)
        # At a node with data of its own a branch ends too, if these have rows that are shown.
        ends = kept & ((n_kept != 1) | ((tree.own_count > 0) & (smallest <= 1)))
        node = np.flatnonzero(ends).astype(np.int32)
        number = np.full(tree.n_nodes, -1, dtype=np.int32)
        number[node] = np.arange(node.size)
        # The nearest branch strictly above each node, and the branch whose chain a node is on.
        over = np.full(tree.n_nodes, -1, dtype=np.int32)
        for nodes in tree.nodes_by_level[1:]:
            parent = tree.parent[nodes]
            over[nodes] = np.where(ends[parent], number[parent], over[parent])
        chain = np.where(ends, number, -1)
        for nodes in reversed(tree.nodes_by_level[1:]):
            on = nodes[kept[nodes]]
            parent = tree.parent[on]
            passing = ~ends[parent]
            chain[parent[passing]] = chain[on[passing]]
        above = over[node]
        begin = np.where(above >= 0, tree.time[node[above]], 0.0)
        # Where a row leaves: its deepest kept node.
        deepest = np.where(kept, np.arange(tree.n_nodes), -1).astype(np.int32)
        for nodes in tree.nodes_by_level[1:]:
            lost = nodes[deepest[nodes] < 0]
            deepest[lost] = deepest[tree.parent[lost]]
        at = deepest[tree.leaf[rows.order]]
        alone = (tree.n_children[at] == 0) & (tree.count[at] == 1)
        return cls(
            rows,
            smallest,
            node,
            above,
            begin,
            tree.time[node],
            n_kept[node] > 0,
            np.where(alone, rows.tip, tree.time[at]),
            chain[at],
        )

    @classmethod
    def fitting(cls, rows: Rows, room: float) -> Outline:
        """Find the branches that have room if at most ``room`` of them lie side by side."""
        if rows.n_rows <= room:
            return cls.of(rows)
        return cls.of(rows, math.ceil(rows.n_rows / max(room, 1.0)))

    @property
    def first(self) -> IntArray:
        """First row of each branch's end."""
        return self.rows.first[self.node]

    @property
    def last(self) -> IntArray:
        """One beyond the last row of each branch's end."""
        return self.rows.last[self.node]

    @property
    def count(self) -> IntArray:
        """Number of rows of each branch's end."""
        return self.rows.tree.count[self.node]

    @property
    def middle(self) -> FloatArray:
        """Where each branch lies among the rows, which are one wide: row r is from r to r + 1."""
        return np.asarray((self.first + self.last) / 2.0)

    def best_supported(self, kind: SupportKind | None = "support") -> IntArray:
        """Return the node with the largest support along each branch; its end, if none is known.

        A branch that loses rows on its way is a chain of nodes, each with a support of its own.
        """
        tree = self.rows.tree
        best = self.node.copy()
        supports = tree.supports_of(kind)
        if supports is None:
            return best
        support = np.nan_to_num(supports, nan=-1.0)
        for k, until in enumerate(np.where(self.above >= 0, self.node[self.above], -1)):
            w = int(tree.parent[best[k]])
            while w != until:
                if support[w] >= support[best[k]]:
                    best[k] = w
                w = int(tree.parent[w])
        return best

    def dust(self) -> list[tuple[int, int, int]]:
        """Return the dust of chains and forks: branch, first row and one beyond the last of each.

        The rows in which branches end without a fork are not part of it.
        """
        inside = np.zeros(self.rows.n_rows + 1, dtype=np.int64)
        for k in np.flatnonzero(~self.forks):
            inside[self.first[k]] += 1
            inside[self.last[k]] -= 1
        free = np.cumsum(inside)[:-1] == 0
        change = np.flatnonzero(np.diff(free) | (np.diff(self.owner) != 0))
        starts = np.concatenate([[0], change + 1])
        stops = np.concatenate([change + 1, [self.rows.n_rows]])
        return [
            (int(self.owner[a]), int(a), int(b))
            for a, b in zip(starts, stops, strict=True)
            if free[a]
        ]


def _join_late(rows: Rows, kept: npt.NDArray[np.bool_], soon: float) -> None:
    """Let a branch end where all that follows, of what is kept, happens soon; in place."""
    tree = rows.tree
    latest = np.where(kept, tree.time, -np.inf)
    for nodes in reversed(tree.nodes_by_level[1:]):
        np.maximum.at(latest, tree.parent[nodes], latest[nodes])
    ended = latest - tree.time <= soon * rows.end
    for nodes in tree.nodes_by_level[1:]:
        above = tree.parent[nodes]
        kept[nodes[ended[above]]] = False
        ended[nodes] |= ended[above]
