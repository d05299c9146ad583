"""The nodes and data of a tree: flat integer arrays under a thin, immutable view."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_positive, is_integer
from sticktree.errors import ParameterError
from sticktree.tree.arrays import (
    NULL,
    AncestorTable,
    Children,
    accumulate_upward,
    hops_to_root,
    nodes_by_level,
    preorder_positions,
    read_only,
)
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
)

ROOT = "Δ"

SupportKind = Literal["support", "transfer"]
"""Which support: the share of draws that have a branch exactly, or how nearly draws have it."""
SUPPORT_KINDS: tuple[SupportKind, ...] = ("support", "transfer")


def check_support_kind(name: str, value: object, *others: object) -> None:
    """Raise if a value is no kind of support, nor one of some others."""
    if isinstance(value, str) and value in SUPPORT_KINDS:
        return
    if not any(value is other for other in others):
        *most, last = [*map(str, others), *(f'"{kind}"' for kind in SUPPORT_KINDS)]
        raise ParameterError(name, value, f"{', '.join(most)} or {last}")


class Structure:
    """A tree of nodes 0 … M − 1, and what can be asked of it; see :class:`~sticktree.Tree`."""

    parent: IntArray
    leaf: IntArray
    level: IntArray
    count: IntArray
    support: FloatArray | None
    transfer: FloatArray | None
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
        transfer: npt.ArrayLike | None = None,
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
            transfer=(
                None if transfer is None else check_support(transfer, parents.size, "transfer")
            ),
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
        transfer: FloatArray | None = None,
    ) -> None:
        for name, array in (("parent", parent), ("leaf", leaf), ("level", level), ("count", count)):
            object.__setattr__(self, name, read_only(array))
        for name, known in (("_time", time), ("support", support), ("transfer", transfer)):
            object.__setattr__(self, name, None if known is None else read_only(known))
        object.__setattr__(self, "names", names)

    def __setattr__(self, name: str, value: Any) -> None:
        """Raise: a tree never changes."""
        raise AttributeError(f"a Tree cannot be changed: make a new one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        """Raise: a tree never changes."""
        raise AttributeError(f"a Tree cannot be changed: {name} cannot be deleted")

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
        transfer: FloatArray | None = None,
    ) -> Self:
        """Wrap arrays of the right types that are known to agree, unchecked and not copied."""
        tree = cls.__new__(cls)
        known = {"time": time, "support": support, "transfer": transfer}
        tree._store(parent, leaf, level, count, names=names, **known)
        return tree

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

    @property
    def support_kind(self) -> SupportKind | None:
        """Which support to show where one has room: transfer if there is one, or else exact."""
        known = [kind for kind in reversed(SUPPORT_KINDS) if self.supports_of(kind) is not None]
        return known[0] if known else None

    def supports_of(self, kind: SupportKind | None) -> FloatArray | None:
        """Return one kind of support, if the tree has it."""
        return {"support": self.support, "transfer": self.transfer, None: None}[kind]

    @cached_property
    def own_count(self) -> IntArray:
        """Number of data that sit in each node itself."""
        return read_only(np.bincount(self.leaf, minlength=self.n_nodes).astype(np.int32))

    @cached_property
    def n_children(self) -> IntArray:
        """Number of children of each node, the paper's K."""
        return read_only(np.diff(self.child_table.start))

    @cached_property
    def leaves(self) -> IntArray:
        """Ids of the nodes without children."""
        return read_only(np.flatnonzero(self.n_children == 0).astype(np.int32))

    # ---- neighbours ----------------------------------------------------------------------------

    def children(self, node: int) -> IntArray:
        """Return the children of a node, in the order of their indices."""
        return self.child_table[self._check_node(node)]

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
        first = self.data_start[self._check_node(node)]
        return np.sort(self.data_order[first : first + self.count[node]])

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
            omega += [int(self.rank[w])] + [1] * skipped
        return tuple(omega)

    def node(self, index: Sequence[int]) -> int:
        """Return the node with the given index ω; the empty index is the root."""
        omega = tuple(index)
        w = 0
        while self.level[w] < len(omega):
            at = int(self.level[w])
            children = self.child_table[w]
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
        >>> from sticktree import Tree
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
        return self.level[self._meeting_node(i, j)]

    def meeting_time(self, i: npt.ArrayLike, j: npt.ArrayLike) -> FloatArray:
        """Return the time of the deepest node that data ``i`` and ``j`` share."""
        return self.time[self._meeting_node(i, j)]

    def _meeting_node(self, i: npt.ArrayLike, j: npt.ArrayLike) -> IntArray:
        first, second = integers("i", i, ndim=None), integers("j", j, ndim=None)
        check_range("i", first, self.n_data)
        check_range("j", second, self.n_data)
        return self._ancestor_table.query(self.leaf[first], self.leaf[second])

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
        for nodes in self.nodes_by_level[1:]:
            above = self.parent[nodes]
            inside = self.time[above] >= level
            branch[nodes[inside]] = branch[above[inside]]
        position = self.preorder[branch[self.leaf]]
        return np.unique(position, return_inverse=True)[1].reshape(-1).astype(np.int32)

    # ---- derived arrays, made when first asked for ------------------------------------------

    @cached_property
    def child_table(self) -> Children:
        """The children of all nodes."""
        return Children.of(self.parent)

    @cached_property
    def rank(self) -> IntArray:
        """The place of each node among its siblings, from 1; 0 for the root."""
        return read_only(self.child_table.rank(self.parent))

    @cached_property
    def nodes_by_level(self) -> list[IntArray]:
        """The nodes of each level that has any, from the root down."""
        return nodes_by_level(self.level)

    @cached_property
    def preorder(self) -> IntArray:
        """Position of each node in a depth-first walk: the tree's order."""
        return read_only(preorder_positions(self.parent, self.nodes_by_level, self.child_table))

    @cached_property
    def data_order(self) -> IntArray:
        """The data in the tree's order, in which those below any node are neighbours."""
        return read_only(np.argsort(self.preorder[self.leaf], kind="stable").astype(np.int32))

    @cached_property
    def data_start(self) -> IntArray:
        """Where the data below each node begin in `data_order`; there are ``count`` of them."""
        # Data of an inner node lie before those of its children, whose positions are larger.
        position = self.preorder[self.leaf[self.data_order]]
        return read_only(np.searchsorted(position, self.preorder).astype(np.int32))

    @cached_property
    def _ancestor_table(self) -> AncestorTable:
        return AncestorTable(self.parent, self.preorder)

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
        return type(self).from_trusted, (*arrays, self.names, self.transfer)


def format_index(index: tuple[int, ...]) -> str:
    """Write an index ω as 1.2.1; the root's is Δ.

    Examples
    --------
    >>> from sticktree.tree.structure import format_index
    >>> format_index((1, 12)), format_index(())
    ('1.12', 'Δ')
    """
    return ".".join(map(str, index)) or ROOT
