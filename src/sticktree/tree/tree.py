"""The one tree of the library: flat integer arrays under a thin, immutable view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_positive, is_integer, is_real
from sticktree.tree.arrays import (
    NULL,
    AncestorTable,
    Children,
    accumulate_upward,
    hops_to_root,
    nodes_by_level,
    preorder_positions,
    read_only,
    renumbered,
    shape_codes,
)
from sticktree.tree.exports import Exports
from sticktree.tree.validation import (
    check_counts,
    check_leaves,
    check_levels,
    check_names,
    check_parents,
    check_range,
    check_support,
    check_times,
    integers,
    parents_first,
)

__all__ = ["NULL", "Tree"]


class Tree(Exports):
    """A rooted tree with data in its nodes.

    Nodes are the integers 0 … M − 1. Node 0 is the root Δ, and every other node has a smaller
    number than its children. Any number of children, any depth, leaves at different depths, data
    at inner nodes and nodes without data are all allowed.

    Levels grow along every edge, usually by one. An edge that skips levels stands for a chain of
    only children: :meth:`compressed` and :meth:`expanded` go from one form to the other.

    Parameters
    ----------
    parent : array of int, shape (M,)
        ``parent[w]`` is the parent of node w; ``NULL`` (−1) for the root.
    leaf : array of int, shape (N,)
        ``leaf[i]`` is the node in which datum i sits.
    level : array of int, shape (M,), optional
        Level of each node; by default the number of edges to the root.
    count : array of int, shape (M,), optional
        Number of data at or below each node. It follows from the others; if given, it is checked.
    time : array of float, shape (M,), optional
        Where each node lies between root and data, if not at its level: it never shrinks along an
        edge. Levels are then numbers of edges.
    support : array of float, shape (M,), optional
        Posterior probability of the set of data below each node; NaN where it is not known.
    names : sequence of str, length N, optional
        Names of the data.

    Attributes
    ----------
    parent, leaf, level, count : read-only int32 arrays
        As above.
    time : read-only float array
        As above; the levels, if no times were given.
    support : read-only float array or None
        As above.
    names : tuple of str or None
        As above.

    Examples
    --------
    >>> from sticktree import Tree
    >>> tree = Tree(parent=[-1, 0, 0, 1, 1], leaf=[3, 3, 4, 2])
    >>> tree
    Tree(n_nodes=5, n_data=4, depth=2)
    >>> tree.count
    array([4, 3, 1, 2, 1], dtype=int32)
    >>> tree.index(4), tree.node((1, 2))
    ((1, 2), 4)
    >>> tree.cut(1)
    array([0, 0, 0, 1], dtype=int32)
    """

    parent: IntArray
    leaf: IntArray
    level: IntArray
    count: IntArray
    support: FloatArray | None
    names: tuple[str, ...] | None
    _time: FloatArray | None

    def __init__(
        self,
        parent: npt.ArrayLike,
        leaf: npt.ArrayLike = (),
        *,
        level: npt.ArrayLike | None = None,
        count: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
        support: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        parents = integers("parent", parent)
        leaves = integers("leaf", leaf)
        check_parents(parents)
        if level is None:
            levels = hops_to_root(parents)
        elif time is not None:
            raise ValueError("level and time cannot both be given: with times, levels count edges")
        else:
            levels = integers("level", level)
            check_levels(levels, parents)
        check_leaves(leaves, parents.size)
        own = np.bincount(leaves, minlength=parents.size).astype(np.int32)
        counts = accumulate_upward(own, parents, nodes_by_level(levels))
        if count is not None:
            check_counts(integers("count", count), counts)
        self._store(
            parents,
            leaves,
            levels,
            counts,
            time=None if time is None else check_times(time, parents),
            support=None if support is None else check_support(support, parents.size),
            names=None if names is None else check_names(names, leaves.size),
        )

    def _store(
        self,
        parent: IntArray,
        leaf: IntArray,
        level: IntArray,
        count: IntArray,
        *,
        time: FloatArray | None = None,
        support: FloatArray | None = None,
        names: tuple[str, ...] | None = None,
    ) -> None:
        for name, array in (("parent", parent), ("leaf", leaf), ("level", level), ("count", count)):
            object.__setattr__(self, name, read_only(array))
        for name, known in (("_time", time), ("support", support)):
            object.__setattr__(self, name, None if known is None else read_only(known))
        object.__setattr__(self, "names", names)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse: a tree never changes."""
        raise AttributeError(f"a Tree cannot be changed: make a new one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        """Refuse: a tree never changes."""
        raise AttributeError(f"a Tree cannot be changed: {name} cannot be deleted")

    # ---- other ways to make a tree -------------------------------------------------------------

    @classmethod
    def from_trusted(
        cls,
        parent: IntArray,
        leaf: IntArray,
        level: IntArray,
        count: IntArray,
        time: FloatArray | None = None,
        support: FloatArray | None = None,
        names: tuple[str, ...] | None = None,
    ) -> Tree:
        """Wrap arrays of the right types that are known to agree, unchecked and not copied."""
        tree = cls.__new__(cls)
        tree._store(parent, leaf, level, count, time=time, support=support, names=names)
        return tree

    def annotated(
        self,
        *,
        time: npt.ArrayLike | None = None,
        support: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> Tree:
        """Return the tree with times, supports or names; what is not given stays as it is.

        Examples
        --------
        >>> Tree.from_paths([(1,), (2,)]).annotated(names=["ape", "bee"]).names
        ('ape', 'bee')
        """
        return Tree.from_trusted(
            self.parent,
            self.leaf,
            self.level if time is None else hops_to_root(self.parent),
            self.count,
            time=self._time if time is None else check_times(time, self.parent),
            support=self.support if support is None else check_support(support, self.n_nodes),
            names=self.names if names is None else check_names(names, self.n_data),
        )

    @classmethod
    def from_parents(cls, parent: npt.ArrayLike, leaf: npt.ArrayLike = ()) -> Tree:
        """Make a tree from nodes in any order; they are renumbered by level.

        Examples
        --------
        >>> Tree.from_parents([2, 0, -1], leaf=[1]).parent
        array([-1,  0,  1], dtype=int32)
        """
        parents = integers("parent", parent)
        leaves = integers("leaf", leaf)
        check_range("parent", parents, parents.size, lowest=NULL)
        check_leaves(leaves, parents.size)
        return cls(*renumbered(parents, leaves, parents_first(parents)))

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[int]]) -> Tree:
        """Make the smallest tree in which datum i follows the index ``paths[i]``.

        Siblings keep the order of their numbers; numbers that no path uses leave no gap. Paths
        of different lengths give data at different levels.

        Examples
        --------
        >>> Tree.from_paths([(1, 1), (1, 2), (2, 1)]).paths()
        [(1, 1), (1, 2), (2, 1)]
        """
        rows = [tuple(path) for path in paths]
        length = max(map(len, rows), default=0)
        table = np.zeros((len(rows), length), dtype=np.int64)
        for i, row in enumerate(rows):
            if not all(is_integer(step) and step >= 1 for step in row):
                raise ValueError(f"paths[{i}] = {row}: an index has positive integers only")
            table[i, : len(row)] = row
        parent: list[npt.NDArray[Any]] = [np.array([NULL])]
        node = np.zeros(len(rows), dtype=np.int64)
        n_nodes = 1
        for column in table.T:
            moving = np.flatnonzero(column)
            steps = np.stack([node[moving], column[moving]], axis=1)
            branches, which = np.unique(steps, axis=0, return_inverse=True)
            parent.append(branches[:, 0])
            node[moving] = n_nodes + which.reshape(-1)
            n_nodes += len(branches)
        return cls(np.concatenate(parent), node)

    # ---- sizes ---------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes, M."""
        return self.parent.size

    @property
    def n_data(self) -> int:
        """Number of data, N."""
        return self.leaf.size

    @cached_property
    def depth(self) -> int:
        """The deepest level."""
        return int(self.level.max())

    @cached_property
    def time(self) -> FloatArray:
        """Where each node lies between root and data: the time given, or else its level."""
        if self._time is not None:
            return self._time
        return read_only(self.level.astype(np.float64))

    @property
    def has_times(self) -> bool:
        """Whether nodes have times of their own, and not those of their levels."""
        return self._time is not None

    @cached_property
    def own_count(self) -> IntArray:
        """Number of data that sit in each node itself."""
        return read_only(np.bincount(self.leaf, minlength=self.n_nodes).astype(np.int32))

    @cached_property
    def n_children(self) -> IntArray:
        """Number of children of each node, the paper's K."""
        return read_only(np.diff(self._children.start))

    @cached_property
    def leaves(self) -> IntArray:
        """Ids of the nodes without children."""
        return read_only(np.flatnonzero(self.n_children == 0).astype(np.int32))

    # ---- neighbours ----------------------------------------------------------------------------

    def children(self, node: int) -> IntArray:
        """Return the children of a node, in the order of their indices."""
        return self._children[self._check_node(node)]

    def path(self, node: int) -> IntArray:
        """Return the nodes from the root to ``node``, both included."""
        up = [self._check_node(node)]
        while (above := int(self.parent[up[-1]])) != NULL:
            up.append(above)
        return np.array(up[::-1], dtype=np.int32)

    def ancestors(self, node: int) -> IntArray:
        """Return the nodes strictly above ``node``, from the root down: Δ ⪯ ω′ ≺ ω."""
        return self.path(node)[:-1]

    def data_below(self, node: int) -> IntArray:
        """Return the data at or below a node."""
        first = self.preorder[self._check_node(node)]
        position = self.preorder[self.leaf]
        within = (position >= first) & (position < first + self._subtree_size[node])
        return np.flatnonzero(within).astype(np.int32)

    def nodes_at(self, level: int) -> IntArray:
        """Return the nodes of one level."""
        return np.flatnonzero(self.level == level).astype(np.int32)

    # ---- the paper's index ω ---------------------------------------------------------------

    def index(self, node: int) -> tuple[int, ...]:
        """Return the index ω = (ω₁, …, ω_L) of a node: which child to take at each level.

        On an edge that skips levels, the only children in between are all number 1.
        """
        omega: list[int] = []
        for w in self.path(node)[1:]:
            skipped = int(self.level[w] - self.level[self.parent[w]]) - 1
            omega += [int(self._rank[w])] + [1] * skipped
        return tuple(omega)

    def node(self, index: Sequence[int]) -> int:
        """Return the node with the given index ω; the empty index is the root."""
        omega = tuple(index)
        w = 0
        while self.level[w] < len(omega):
            at = int(self.level[w])
            children = self._children[w]
            if not 1 <= omega[at] <= children.size:
                raise KeyError(
                    f"no node has index {omega}: {omega[:at]} has {children.size} children, "
                    f"numbered from 1"
                )
            w = int(children[omega[at] - 1])
            if any(step != 1 for step in omega[at + 1 : self.level[w]]):
                raise KeyError(f"no node has index {omega}: below {omega[: at + 1]} runs a chain")
        if self.level[w] > len(omega):
            raise KeyError(f"no node has index {omega}: the edge to node {w} skips that level")
        return w

    def paths(self) -> list[tuple[int, ...]]:
        """Return the index of the node of each datum."""
        of_node = {int(w): self.index(int(w)) for w in np.unique(self.leaf)}
        return [of_node[int(w)] for w in self.leaf]

    # ---- where two nodes or two data part --------------------------------------------------

    def lca(self, a: npt.ArrayLike, b: npt.ArrayLike) -> IntArray:
        """Return the lowest common ancestors of nodes ``a`` and ``b``, which broadcast.

        Examples
        --------
        >>> tree = Tree(parent=[-1, 0, 0, 1, 1])
        >>> tree.lca(3, [4, 2, 3])
        array([1, 0, 3], dtype=int32)
        """
        first, second = integers("a", a, ndim=None), integers("b", b, ndim=None)
        check_range("a", first, self.n_nodes)
        check_range("b", second, self.n_nodes)
        return self._ancestor_table.query(first, second)

    def lca_matrix(self) -> IntArray:
        """Return the lowest common ancestors of all pairs of nodes, an M × M array."""
        every = np.arange(self.n_nodes, dtype=np.int32)
        return self._ancestor_table.query(every[:, None], every[None, :])

    def meeting_level(self, i: npt.ArrayLike, j: npt.ArrayLike) -> IntArray:
        """Return the level of the deepest node that data ``i`` and ``j`` share."""
        first, second = integers("i", i, ndim=None), integers("j", j, ndim=None)
        check_range("i", first, self.n_data)
        check_range("j", second, self.n_data)
        return self.level[self._ancestor_table.query(self.leaf[first], self.leaf[second])]

    def meeting_time(self, i: npt.ArrayLike, j: npt.ArrayLike) -> FloatArray:
        """Return the time of the deepest node that data ``i`` and ``j`` share."""
        first, second = integers("i", i, ndim=None), integers("j", j, ndim=None)
        check_range("i", first, self.n_data)
        check_range("j", second, self.n_data)
        return self.time[self._ancestor_table.query(self.leaf[first], self.leaf[second])]

    def meeting_level_matrix(self) -> IntArray:
        """Return the meeting levels of all pairs of data, an N × N array."""
        nodes, which = np.unique(self.leaf, return_inverse=True)
        between = self.level[self._ancestor_table.query(nodes[:, None], nodes[None, :])]
        return between[np.ix_(which, which)]

    # ---- flat clusterings ------------------------------------------------------------------

    def cut(self, level: float) -> IntArray:
        """Return a label 0 … K − 1 for every datum: the branch it is in at ``level``.

        In a tree with times, that is the branch at that time. Labels follow the tree's order, so
        that near labels are near in the tree. A datum whose node lies above the level is labelled
        by that node; a level below the deepest gives the nodes of the data themselves.
        """
        level = check_positive("level", level, zero=True)
        branch = np.arange(self.n_nodes, dtype=np.int32)
        for nodes in self._levels[1:]:
            above = self.parent[nodes]
            inside = self.time[above] >= level
            branch[nodes[inside]] = branch[above[inside]]
        position = self.preorder[branch[self.leaf]]
        return np.unique(position, return_inverse=True)[1].reshape(-1).astype(np.int32)

    # ---- the same tree in another form -------------------------------------------------------

    def canonical(self) -> Tree:
        """Return the tree with its nodes renumbered in a way that depends only on the tree.

        Nodes are numbered in a depth-first walk. Siblings come in the order of their first data;
        those without data come last, in the order of their shapes.
        """
        return Tree.from_trusted(*self._renumber(self._canonical_order))

    def __eq__(self, other: object) -> bool:
        """Compare up to renumbering of the nodes; data keep their numbers."""
        if not isinstance(other, Tree):
            return NotImplemented
        if (self.n_nodes, self.n_data) != (other.n_nodes, other.n_data):
            return False
        return self._canonical_key == other._canonical_key

    def __hash__(self) -> int:
        """Hash in agreement with equality up to renumbering."""
        return hash(self._canonical_key)

    def pruned(self) -> Tree:
        """Return the tree without the nodes that no datum passes (the root stays)."""
        keep = self.count > 0
        keep[0] = True
        return Tree.from_trusted(*self._renumber(np.flatnonzero(keep)))

    def compressed(self) -> Tree:
        """Return the tree without its only children: their edges merge and skip levels.

        The root, branching nodes, leaves and nodes with data of their own stay.
        """
        return self._without((self.n_children == 1) & (self.own_count == 0))

    def collapsed(self, min_support: float = 0.5) -> Tree:
        """Return the tree without the inner nodes whose support is smaller.

        Their children become children of the node above. The root, leaves, nodes with data of
        their own and those whose support is not known stay. At 0.5 what is left is the majority:
        clusters that more than half of the draws have.

        Examples
        --------
        >>> tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2], support=[1, 0.3, 1, 1, 1])
        >>> tree.collapsed().parent
        array([-1,  0,  0,  0], dtype=int32)
        """
        if not is_real(min_support) or not 0 <= min_support <= 1:
            raise ValueError(f"min_support must be between 0 and 1, got {min_support!r}")
        if self.support is None:
            raise ValueError("collapsed needs a tree with supports: this one has none")
        inner = (self.n_children > 0) & (self.own_count == 0)
        return self._without(inner & (self.support < min_support))

    def _without(self, gone: npt.NDArray[np.bool_]) -> Tree:
        """Return the tree without some nodes; their children hang on the nodes above."""
        keep = ~gone
        keep[0] = True
        anchor = np.arange(self.n_nodes, dtype=np.int32)  # nearest kept node at or above
        for nodes in self._levels[1:]:
            left_out = nodes[~keep[nodes]]
            anchor[left_out] = anchor[self.parent[left_out]]
        kept = np.flatnonzero(keep)
        kept = kept[np.argsort(self.preorder[kept])]  # siblings keep their order
        new_id = np.full(self.n_nodes, NULL, dtype=np.int32)
        new_id[kept] = np.arange(kept.size)
        parent = np.full(kept.size, NULL, dtype=np.int32)
        parent[1:] = new_id[anchor[self.parent[kept[1:]]]]
        return Tree.from_trusted(
            parent,
            new_id[self.leaf],
            hops_to_root(parent) if self.has_times else self.level[kept],
            self.count[kept],
            time=_part(self._time, kept),
            support=_part(self.support, kept),
            names=self.names,
        )

    def expanded(self) -> Tree:
        """Return the tree with a node at every level: the inverse of :meth:`compressed`."""
        length = np.ones(self.n_nodes, dtype=np.int32)  # nodes that stand for each edge
        length[1:] = self.level[1:] - self.level[self.parent[1:]]
        last = np.cumsum(length, dtype=np.int32) - 1
        owner = np.repeat(np.arange(self.n_nodes), length)
        every = np.arange(owner.size, dtype=np.int32)
        below = last[owner] - every  # steps left to the end of the edge
        parent = every - 1
        starts = (last - length + 1)[1:]
        parent[starts] = last[self.parent[1:]]
        return Tree.from_trusted(
            parent,
            last[self.leaf],
            self.level[owner] - below,
            self.count[owner],
            time=_part(self._time, owner),
            support=_part(self.support, owner),
            names=self.names,
        )

    # ---- derived arrays, made when first asked for ------------------------------------------

    @cached_property
    def _children(self) -> Children:
        return Children.of(self.parent)

    @cached_property
    def _rank(self) -> IntArray:
        return self._children.rank(self.parent)

    @cached_property
    def _levels(self) -> list[IntArray]:
        return nodes_by_level(self.level)

    @cached_property
    def _subtree_size(self) -> IntArray:
        return accumulate_upward(np.ones(self.n_nodes, dtype=np.int32), self.parent, self._levels)

    @cached_property
    def preorder(self) -> IntArray:
        """Position of each node in a depth-first walk: the tree's order."""
        return read_only(preorder_positions(self.parent, self._levels, self._children))

    @cached_property
    def _ancestor_table(self) -> AncestorTable:
        return AncestorTable(self.parent, self.preorder)

    @cached_property
    def _canonical_order(self) -> IntArray:
        first = np.full(self.n_nodes, self.n_data, dtype=np.int32)
        np.minimum.at(first, self.leaf, np.arange(self.n_data, dtype=np.int32))
        key = accumulate_upward(first, self.parent, self._levels, np.minimum)
        empty = np.flatnonzero(self.count == 0)
        if empty.size:
            # All empty siblings come behind those with data, by level and shape.
            code = shape_codes(self.level, self._levels, self._children)
            order = np.lexsort((code[empty], self.level[empty]))
            known = np.stack([self.level[empty], code[empty]])[:, order]
            new = np.any(np.diff(known, axis=1, prepend=-1), axis=0)
            key[empty[order]] = self.n_data + np.cumsum(new)
        position = preorder_positions(self.parent, self._levels, Children.of(self.parent, key))
        return np.argsort(position).astype(np.int32)

    @cached_property
    def _canonical_key(self) -> tuple[Any, ...]:
        parent, leaf, level, _, time, support, names = self._renumber(self._canonical_order)
        annotations = [
            None if array is None else (array + 0.0).tobytes() for array in (time, support)
        ]
        return parent.tobytes(), leaf.tobytes(), level.tobytes(), *annotations, names

    def _renumber(
        self, order: npt.NDArray[Any]
    ) -> tuple[
        IntArray,
        IntArray,
        IntArray,
        IntArray,
        FloatArray | None,
        FloatArray | None,
        tuple[str, ...] | None,
    ]:
        parent, leaf = renumbered(self.parent, self.leaf, order)
        time, support = _part(self._time, order), _part(self.support, order)
        return parent, leaf, self.level[order], self.count[order], time, support, self.names

    def _check_node(self, node: int) -> int:
        if not is_integer(node) or not 0 <= node < self.n_nodes:
            raise IndexError(f"node must be an id from 0 to {self.n_nodes - 1}, got {node!r}")
        return int(node)

    def __repr__(self) -> str:
        """Return the sizes of the tree."""
        return f"Tree(n_nodes={self.n_nodes}, n_data={self.n_data}, depth={self.depth})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the arrays."""
        arrays = (self.parent, self.leaf, self.level, self.count, self._time, self.support)
        return Tree.from_trusted, (*arrays, self.names)


def _part(values: FloatArray | None, nodes: npt.NDArray[Any]) -> FloatArray | None:
    """Return the values of some nodes, if there are any."""
    return None if values is None else values[nodes]
