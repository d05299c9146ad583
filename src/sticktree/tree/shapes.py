"""Trees made from other trees, from paths and from nodes in any order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, is_integer, is_real
from sticktree.errors import ParameterError
from sticktree.tree.arrays import (
    NULL,
    Children,
    accumulate_upward,
    hops_to_root,
    preorder_positions,
    renumbered,
    shape_codes,
)
from sticktree.tree.structure import Structure, SupportKind, check_support_kind
from sticktree.tree.validation import (
    check_names,
    check_support,
    check_times,
    parents_first,
)


class Shapes(Structure):
    """The same tree in another shape; see :class:`~sticktree.tree.Tree`."""

    def annotated(
        self,
        *,
        time: npt.ArrayLike | None = None,
        support: npt.ArrayLike | None = None,
        transfer: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Return the tree with times, supports or names; what is not given stays as it is.

        Examples
        --------
        >>> from sticktree import Tree
        >>> Tree.from_paths([(1,), (2,)]).annotated(names=["ape", "bee"]).names
        ('ape', 'bee')
        """
        return self.from_trusted(
            self.parent,
            self.leaf,
            self.level if time is None else hops_to_root(self.parent),
            self.count,
            time=self._time if time is None else check_times(time, self.parent),
            support=self.support if support is None else check_support(support, self.n_nodes),
            names=self.names if names is None else check_names(names, self.n_data),
            transfer=(
                self.transfer
                if transfer is None
                else check_support(transfer, self.n_nodes, "transfer")
            ),
        )

    def with_data(self, leaf: npt.ArrayLike) -> Self:
        """Return the same nodes, with their times and supports, and other data without names.

        Examples
        --------
        >>> from sticktree import Tree
        >>> Tree([-1, 0, 0], [1, 1, 2], support=[1, 0.5, 1]).with_data([2, 1]).support
        array([1. , 0.5, 1. ])
        """
        return type(self)(
            self.parent,
            leaf,
            level=None if self.has_times else self.level,
            time=self._time,
            support=self.support,
            transfer=self.transfer,
        )

    @classmethod
    def from_parents(cls, parent: npt.ArrayLike, leaf: npt.ArrayLike = ()) -> Self:
        """Make a tree from nodes in any order; they are renumbered by level.

        Examples
        --------
        >>> from sticktree import Tree
        >>> Tree.from_parents([2, 0, -1], leaf=[1]).parent
        array([-1,  0,  1], dtype=int32)
        """
        return cls(*renumbered(*parents_first(parent, leaf)))

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[int]]) -> Self:
        """Make the smallest tree in which datum i follows the index ``paths[i]``.

        Siblings keep the order of their numbers; numbers that no path uses leave no gap. Paths
        of different lengths give data at different levels.

        Examples
        --------
        >>> from sticktree import Tree
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

    # ---- the same tree in another form -------------------------------------------------------

    def canonical(self) -> Self:
        """Return the tree with its nodes renumbered in a way that depends only on the tree.

        Nodes are numbered in a depth-first walk. Siblings come in the order of their first data;
        those without data come last, in the order of their shapes.
        """
        return self.from_trusted(*self._renumber(self._canonical_order))

    def __eq__(self, other: object) -> bool:
        """Compare up to renumbering of the nodes; data keep their numbers."""
        if not isinstance(other, Shapes):
            return NotImplemented
        if (self.n_nodes, self.n_data) != (other.n_nodes, other.n_data):
            return False
        return self._canonical_key == other._canonical_key

    def __hash__(self) -> int:
        """Hash in agreement with equality up to renumbering."""
        return hash(self._canonical_key)

    def pruned(self) -> Self:
        """Return the tree without the nodes that no datum passes (the root stays)."""
        keep = self.count > 0
        keep[0] = True
        return self.from_trusted(*self._renumber(np.flatnonzero(keep)))

    def compressed(self) -> Self:
        """Return the tree without its only children: their edges merge and skip levels.

        The root, branching nodes, leaves and nodes with data of their own stay.
        """
        return self._without((self.n_children == 1) & (self.own_count == 0))

    def collapsed(self, min_support: float = 0.5, *, by: SupportKind = "support") -> Self:
        """Return the tree without the inner nodes whose support is below ``min_support``.

        Their children become children of the node above. The root, leaves, nodes with data of
        their own and those whose support is not known stay. At 0.5 of the exact support what is
        left is the majority: clusters that at least half of the draws have.

        Parameters
        ----------
        min_support : float, default=0.5
            The least support of the nodes that stay.
        by : {"support", "transfer"}, default="support"
            Which support: the share of draws that have exactly this set of data, or the transfer
            support, of which 0.7 is a usual threshold.

        Examples
        --------
        >>> from sticktree import Tree
        >>> tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2], support=[1, 0.3, 1, 1, 1])
        >>> tree.collapsed().parent
        array([-1,  0,  0,  0], dtype=int32)
        """
        if not is_real(min_support) or not 0 <= min_support <= 1:
            raise ParameterError("min_support", min_support, "between 0 and 1")
        check_support_kind("by", by)
        supports = self.supports_of(by)
        if supports is None:
            kind = "supports" if by == "support" else "transfer supports"
            raise ValueError(f"collapsed needs a tree with {kind}: this one has none")
        inner = (self.n_children > 0) & (self.own_count == 0)
        return self._without(inner & (supports < min_support))

    def distinct(self, min_transfer: float = 0.7) -> Self:
        r"""Return the tree with the branches only that draws have, or nearly so, one of each kind.

        Where draws have a branch A, one of nearly the same rows C ⊂ A has a high transfer support
        too: the rows of A \ C move. So C stays only if draws have something nearer to it than A,
        the next branch above that stays: if on average at most half as many rows move as A \ C
        has. Leaves, nodes with data of their own and those whose support is not known stay.

        Parameters
        ----------
        min_transfer : float, default=0.7
            The least transfer support of the nodes that stay.

        Examples
        --------
        All draws have the branch of five rows. Four of these have a transfer support of 0.75 for
        that alone: one of three rows moves, in three draws of four.

        >>> from sticktree import Tree
        >>> tree = Tree.from_newick("(((((a,b,c),d),e),f,g,h,i,j),k,l,m,n,o,p,q,r,s,t);")
        >>> tree = tree.annotated(transfer=[1, 0.9, 1.0, 0.75, 0.5] + [1] * 20)
        >>> tree.distinct().count[tree.distinct().n_children > 0]
        array([20, 10,  5], dtype=int32)
        """
        if not is_real(min_transfer) or not 0 <= min_transfer <= 1:
            raise ParameterError("min_transfer", min_transfer, "between 0 and 1")
        if self.transfer is None:
            raise ValueError("distinct needs a tree with transfer supports: this one has none")
        inner = (self.n_children > 0) & (self.own_count == 0)
        moved = (1 - self.transfer) * np.minimum(self.count - 1, self.n_data - self.count)
        gone = inner & (self.transfer < min_transfer)
        above = self.count.copy()  # rows of the nearest node that stays, at or above
        for nodes in self.nodes_by_level[1:]:
            apart = above[self.parent[nodes]] - self.count[nodes]
            gone[nodes] |= inner[nodes] & (moved[nodes] > apart / 2)
            left_out = nodes[gone[nodes]]
            above[left_out] = above[self.parent[left_out]]
        return self._without(gone)

    def _without(self, gone: npt.NDArray[np.bool_]) -> Self:
        """Return the tree without some nodes; their children hang on the nodes above."""
        keep = ~gone
        keep[0] = True
        anchor = np.arange(self.n_nodes, dtype=np.int32)  # nearest kept node at or above
        for nodes in self.nodes_by_level[1:]:
            left_out = nodes[~keep[nodes]]
            anchor[left_out] = anchor[self.parent[left_out]]
        kept = np.flatnonzero(keep)
        kept = kept[np.argsort(self.preorder[kept])]  # siblings keep their order
        new_id = np.full(self.n_nodes, NULL, dtype=np.int32)
        new_id[kept] = np.arange(kept.size)
        parent = np.full(kept.size, NULL, dtype=np.int32)
        parent[1:] = new_id[anchor[self.parent[kept[1:]]]]
        return self.from_trusted(
            parent,
            new_id[self.leaf],
            hops_to_root(parent) if self.has_times else self.level[kept],
            self.count[kept],
            time=_part(self._time, kept),
            support=_part(self.support, kept),
            names=self.names,
            transfer=_part(self.transfer, kept),
        )

    def expanded(self) -> Self:
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
        return self.from_trusted(
            parent,
            last[self.leaf],
            self.level[owner] - below,
            self.count[owner],
            time=_part(self._time, owner),
            support=_part(self.support, owner),
            names=self.names,
            transfer=_part(self.transfer, owner),
        )

    @cached_property
    def _canonical_order(self) -> IntArray:
        first = np.full(self.n_nodes, self.n_data, dtype=np.int32)
        np.minimum.at(first, self.leaf, np.arange(self.n_data, dtype=np.int32))
        key = accumulate_upward(first, self.parent, self.nodes_by_level, np.minimum)
        empty = np.flatnonzero(self.count == 0)
        if empty.size:
            # All empty siblings come behind those with data, by level and shape.
            code = shape_codes(self.level, self.nodes_by_level, self.child_table)
            order = np.lexsort((code[empty], self.level[empty]))
            known = np.stack([self.level[empty], code[empty]])[:, order]
            new = np.any(np.diff(known, axis=1, prepend=-1), axis=0)
            key[empty[order]] = self.n_data + np.cumsum(new)
        position = preorder_positions(
            self.parent, self.nodes_by_level, Children.of(self.parent, key)
        )
        return np.argsort(position).astype(np.int32)

    @cached_property
    def _canonical_key(self) -> tuple[Any, ...]:
        parent, leaf, level, _, time, support, names, transfer = self._renumber(
            self._canonical_order
        )
        annotations = [
            None if array is None else (array + 0.0).tobytes()
            for array in (time, support, transfer)
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
        FloatArray | None,
    ]:
        """Return the arguments of `from_trusted` for nodes in another order."""
        parent, leaf = renumbered(self.parent, self.leaf, order)
        time, support, transfer = (
            _part(values, order) for values in (self._time, self.support, self.transfer)
        )
        level, count = self.level[order], self.count[order]
        return parent, leaf, level, count, time, support, self.names, transfer


def _part(values: FloatArray | None, nodes: npt.NDArray[Any]) -> FloatArray | None:
    """Return the values of some nodes, if there are any."""
    return None if values is None else values[nodes]
