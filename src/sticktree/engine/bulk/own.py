"""The chain for many rows whose leaves have their own noise; all columns are Gaussian."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.chain import BulkChain
from sticktree.engine.bulk.laws import FullLaw, Leaf, LeafLaw, VarianceLaw
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.sums import PRODUCTS, SQUARES, Sums
from sticktree.engine.chain import Move
from sticktree.engine.common.links import ALIVE, MADE
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.densities import load_tree, take_sums
from sticktree.engine.own.layout import empty_state, layout_of
from sticktree.engine.own.noise import OwnNoise
from sticktree.engine.own.regraft import regraft_sweep
from sticktree.engine.own.split_nodes import node_split_sweep
from sticktree.engine.own.state import KAPPA, PHI, SCALE, SHAPE, SPARE, State
from sticktree.engine.own.structure import drop_leaf, join_leaves, split_leaf
from sticktree.model import Model


class OwnBulkChain(OwnNoise, BulkChain):
    """A Markov chain over trees, φ at their inner nodes, and hyper-parameters.

    See `BulkChain` for what it is given. With full covariances rows should have been spread out
    where values repeat; see `partition`.
    """

    first_sweeps = 100
    state: State
    headroom = 4096.0  # leaves of a row or two have wide tails

    def _first_chain(self, y: FloatArray, model: Model) -> ColumnsChain:
        # What full covariances have in place of a floor was done to all rows already.
        model = replace(model, columns=None) if self.full else model
        return ColumnsChain(y, model, self.rng)

    def _begin(self, rows: Rows) -> None:
        model = self.model
        self.full = model.covariance_type == "full"
        self.kind = PRODUCTS if self.full else SQUARES
        self.impute = self.full and rows.extent.gaps
        if not self.impute:
            self.headroom = 1.0
        super()._begin(rows)
        self.layout = layout_of(model, rows.extent.dimension)
        if not self.layout.is_gaussian.all():
            kinds = [column.kind for column in self.layout.columns]
            msg = f"columns must all be 'gaussian' for many rows, got {kinds}"
            raise ValueError(msg)

    def _read_rows(self) -> None:
        self.impute = self.full and self.rows.extent.gaps
        self.headroom = type(self).headroom if self.impute else 1.0
        self._set_grids()

    def _take_over(
        self, chain: ColumnsChain, number: npt.NDArray[np.uint64], group: IntArray | None = None
    ) -> None:
        self.words = chain.words
        tree, old = chain.tree(), chain.state
        self.state = self._new_state(max(self.room, 2 * tree.n_nodes))
        for name in ("scalars", "levels", "variance", "hyper", "psi"):
            getattr(self.state, name)[...] = getattr(old, name)
        load_tree(self.state, tree.parent, tree.level, tree.leaf[:0])
        order = old.order[: old.sizes[ALIVE]]
        self.state.coordinates[: order.size, :, PHI] = old.coordinates[order, :, PHI]
        self.leaves = np.unique(tree.leaf).astype(np.int64)
        index = np.searchsorted(self.leaves, tree.leaf)
        self.sums = Sums.over(old.data, index, self.leaves.size, self.kind)
        self._find_anchors(index, number)
        self._take_groups(chain, index, group)
        self._settle()

    def _new_state(self, room: int) -> State:
        """Return a state with room for ``room`` leaves, and no rows."""
        state = empty_state(np.zeros((room, self.rows.extent.dimension)), self.model.of_sums())
        return replace(state, data=state.data[:0], leaf=state.leaf[:0], group=state.group[:0])

    def _settle(self) -> None:
        n, seen, total, second = self.sums
        squares = np.einsum("kdd->kd", second).copy() if self.full else second
        outer = second if self.full else np.empty((0, 0, 0))
        self._seat_leaves()
        take_sums(self.state, self.leaves, n, seen, total, squares, outer)

    def transform(self) -> FloatArray:
        """Return T, by which rows are brought into the coordinates of the leaves."""
        return np.eye(self.rows.extent.dimension)

    def _in_coordinates(self, sums: Sums) -> Sums:
        return sums

    def _rows_in_coordinates(self, y: FloatArray) -> FloatArray:
        return y

    def _law(self) -> LeafLaw:
        state, together = self.state, self.model.covariance_type == "spherical"
        if self.full:
            hyper = state.hyper[:, 0]
            return FullLaw(float(hyper[KAPPA]), float(hyper[SHAPE]), state.psi)
        used = slice(0, 1 if together else None)
        hyper, floor = state.hyper[:, used], state.columns["floor"][used]
        return VarianceLaw(hyper[KAPPA], hyper[SHAPE], hyper[SCALE], floor, together)

    def _draw_leaves(self) -> tuple[Leaf, FloatArray]:
        parent = self.state.nodes["parent"][self.leaves]
        above = self.state.coordinates[parent, :, PHI]
        return self._law().draw(self.sums, above, self.rng), above

    def _siblings(self) -> tuple[IntArray, IntArray]:
        nodes = self.state.nodes
        parent = nodes["parent"][self.leaves]
        return parent, nodes["n_children"][parent]

    def _split(self, leaf: int) -> int:
        return int(split_leaf(self.state, leaf))

    def _merge(self, leaf: int, other: int) -> None:
        join_leaves(self.state, other)

    def _drop(self, leaf: int) -> None:
        drop_leaf(self.state, leaf)

    def _make_room(self, n_leaves: int) -> None:
        old = self.state
        if n_leaves < (old.nodes.size - SPARE) // (self.model.depth + 1) - 1:
            return
        new, made = self._new_state(2 * n_leaves), int(old.sizes[MADE])
        of_groups = ("seated", "stick", "rest", "theta", "theta_rest")
        of_nodes = ("nodes", "order", "coordinates", "entries", "leaves", "twigs", "place")
        for name in of_nodes + of_groups:
            getattr(new, name)[:made] = getattr(old, name)[:made]
        for name in ("sizes", "levels", "scalars", "variance", "hyper", "psi", "gamma", "kappa"):
            getattr(new, name)[...] = getattr(old, name)
        self.state = new

    def _moves_of_tree(self) -> list[Move]:
        state, words, n_moves = self.state, self.words, self.effort.count(2)
        return [
            Move("regraft", lambda n: regraft_sweep(state, words, n), n_moves),
            Move("node_split", lambda n: node_split_sweep(state, words, n), n_moves),
            Move("parameters", self.move_parameters),
        ]
