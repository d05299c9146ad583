"""The chain for many rows whose leaves share their noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.bulk.chain import BulkChain
from sticktree.engine.bulk.laws import Leaf, SharedLaw
from sticktree.engine.bulk.sums import SUMS, Sums, Tally
from sticktree.engine.chain import Move
from sticktree.engine.common.links import LEAVES
from sticktree.engine.common.sampler import Snapshot
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.factor import inverse_of, whitened
from sticktree.engine.shared.noise import SharedNoise
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.seats import take_sums
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.engine.shared.state import NOISE, State, empty_state, load_tree, set_scales
from sticktree.engine.shared.trunk import draw_places, join_leaves, split_leaf
from sticktree.model import Model


class SharedBulkChain(SharedNoise, BulkChain):
    """A Markov chain over trees and hyper-parameters; see `BulkChain` for what it is given."""

    first_sweeps = 50
    kind = SUMS
    state: State

    def _first_chain(self, y: FloatArray, model: Model) -> Chain:
        return Chain(y, model, self.rng)

    def _read_rows(self) -> None:
        self.impute = self.rows.extent.gaps
        self._whole_products = self._float_products(self.rows.products(self.grids[1]))
        self._products = self._whole_products

    def _float_products(self, sums: npt.NDArray[np.int64]) -> FloatArray:
        return self.grids[1].value(sums)

    def _take_over(
        self, chain: Chain, number: npt.NDArray[np.uint64], group: IntArray | None = None
    ) -> None:
        self.words, self.factor, self.rates = chain.words, chain.factor, chain.rates
        tree = chain.tree()
        self.state = self._new_state(max(self.room, 2 * tree.n_nodes))
        self.state.scalars[:] = chain.state.scalars
        self.state.levels[:] = chain.state.levels
        set_scales(self.state)
        load_tree(self.state, tree.parent, tree.level, tree.leaf[:0])
        self.leaves = np.unique(tree.leaf).astype(np.int64)
        index = np.searchsorted(self.leaves, tree.leaf)
        self.sums = Sums.over(chain.raw, index, self.leaves.size, self.kind)
        self._find_anchors(index, number)
        self._take_groups(chain, index, group)
        self._settle()

    def _new_state(self, room: int) -> State:
        """Return a state with room for ``room`` leaves, and no rows."""
        model, dimension = self.model.of_sums(), self.factor.shape[0]
        state = empty_state(
            np.empty((room, dimension)),
            model.shape,
            np.ones(model.depth + 1),
            1.0,
            0.0,
            model.noise,
            group=None if model.groups is None else model.groups.of_row,
            line=None if model.groups is None else model.groups.line,
        )
        return replace(
            state,
            data=state.data[:0],
            leaf=state.leaf[:0],
            group=state.group[:0],
            lost=np.zeros(state.nodes.size),
        )

    def _settle(self) -> None:
        white = self._in_coordinates(self.sums)
        self._seat_leaves()
        take_sums(self.state, self.leaves, white.n, white.seen, white.total)

    def _whiten(self) -> None:
        self._settle()

    def _squares(self) -> FloatArray:
        inverse = self.transform()
        white = inverse @ self._products @ inverse.T / self.state.scalars[NOISE]
        if self.model.covariance_type == "full":
            return np.ascontiguousarray(white)
        diagonal = np.diag(white)[None, :]
        return (
            diagonal.copy() if self.model.covariance_type == "diag" else diagonal.sum(keepdims=True)
        )

    def _n_seen(self) -> IntArray:
        return self.n_data - np.array(self.rows.extent.missing)

    def _imputed_products(self, tally: Tally) -> None:
        if self.impute:
            self._products = self._whole_products + self._float_products(tally.products)

    def transform(self) -> FloatArray:
        """Return T, by which rows are brought into the coordinates of the leaves."""
        inverse = inverse_of(self.factor)
        return np.diag(inverse[0]) if self.factor.ndim == 1 else inverse

    def _in_coordinates(self, sums: Sums) -> Sums:
        return sums._replace(total=np.ascontiguousarray(whitened(sums.total, self.factor)))

    def _law(self) -> SharedLaw:
        return SharedLaw(float(self.state.levels["scale"][-1]), float(self.state.scalars[NOISE]))

    def _draw_leaves(self) -> tuple[Leaf, FloatArray]:
        size, dimension = self.leaves.size, self.factor.shape[0]
        theta, above = np.empty((size, dimension)), np.empty((size, dimension))
        draw_places(
            self.state, self.leaves, np.empty_like(self.state.mean), theta, above, self.words
        )
        return Leaf(theta, np.empty((size, 0))), above

    def _siblings(self) -> tuple[IntArray, IntArray]:
        nodes = self.state.nodes
        parent = nodes["parent"][self.leaves]
        shared = nodes["level"][parent] == self.model.depth - 1
        # A leaf whose parent is further up has the level above for itself.
        places = np.where(shared, parent, -1 - self.leaves)
        return places, np.where(shared, nodes["n_children"][parent], 1)

    def _split(self, leaf: int) -> int:
        return int(split_leaf(self.state, leaf))

    def _merge(self, leaf: int, other: int) -> None:
        join_leaves(self.state, other)

    def _drop(self, leaf: int) -> None:
        join_leaves(self.state, leaf)  # in a compressed tree what is above branches, or goes too

    def _make_room(self, n_leaves: int) -> None:
        old = self.state
        if n_leaves < old.leaves.size:
            return
        new = self._new_state(2 * n_leaves)
        of_groups = ("seated", "stick", "rest", "theta", "theta_rest")
        of_nodes = ("nodes", "order", "total", "weighted", "mean", "lost")
        for name in (*of_nodes, "leaves", "narrow", *of_groups):
            mine, its = getattr(new, name), getattr(old, name)
            mine[: len(its)] = its
        new.centre[:, : old.centre.shape[1]] = old.centre
        for name in ("sizes", "levels", "scalars", "gamma", "kappa"):
            getattr(new, name)[:] = getattr(old, name)
        self.state = new

    def _moves_of_tree(self) -> list[Move]:
        state, words, n_moves = self.state, self.words, self.effort.count(2)
        return [
            Move("regraft", lambda n: regraft_sweep(state, words, n), n_moves),
            Move("node_split", lambda n: node_split_sweep(state, words, n), n_moves),
            Move("concentration", self.move_concentration),
            Move("scales", self.move_scales),
        ]

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that it takes to go on with the identical draws, but the rows."""
        slots = self.state.leaves[: self.state.sizes[LEAVES]].copy()
        return super().snapshot() | {"slots": slots, "products": self._products.copy()}

    def _load(self, snapshot: Snapshot) -> None:
        self._load_noise(snapshot)
        self._products = snapshot["products"].copy()
        super()._load(snapshot)
        self.state.leaves[: snapshot["slots"].size] = snapshot["slots"]
        set_scales(self.state)
