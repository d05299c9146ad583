"""One chain: a state, its random numbers, and a sweep of all moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.chain import Effort, Move
from sticktree.engine.common.random import random_state
from sticktree.engine.common.start import find_start
from sticktree.engine.own.collapsed import collapsed_sweep
from sticktree.engine.own.covariances import covariance_sweep, impute
from sticktree.engine.own.datum import move_data
from sticktree.engine.own.densities import leave_one_out, load_tree, recount
from sticktree.engine.own.hyper import settle
from sticktree.engine.own.layout import empty_state, layout_of
from sticktree.engine.own.nodes import node_sweep
from sticktree.engine.own.noise import OwnNoise
from sticktree.engine.own.regraft import regraft_sweep
from sticktree.engine.own.split_leaves import split_merge_sweep
from sticktree.engine.own.split_nodes import node_split_sweep
from sticktree.engine.own.state import (
    FORM,
    FULL,
    LOG_PSI,
    SCALE,
    SHAPE,
)
from sticktree.model import Model

FIRST_ROUNDS = 3  # in which φ is drawn from the bottom of a new tree to its root


class ColumnsChain(OwnNoise):
    """A Markov chain over trees, φ at their inner nodes, and hyper-parameters.

    Parameters
    ----------
    data : float array, shape (N, D)
        Gaussian columns standardised, categories as numbers from 0, counts as they are; NaN is
        missing.
    model : Model
        What to sample.
    rng : numpy.random.Generator
        The chain's own source of randomness.
    """

    of_all = (*OwnNoise.of_all, "leaf")

    def __init__(self, data: FloatArray, model: Model, rng: np.random.Generator) -> None:
        self._begin(data, model, rng)
        self.words = random_state(rng)
        if self.layout.is_gaussian.all():
            self._start_from_clusters()
        else:
            if self.gaps is not None:
                self.state.data[self.gaps] = rng.standard_normal(int(self.gaps.sum()))
            settle(self.state)
            move_data(self.state, rng.permutation(data.shape[0]), self.words)
        self.effort = Effort(self.size)

    def _start_from_clusters(self) -> None:
        """Start where `find_start` says; φ and the noise are about as its clusters have them."""
        state, full = self.state, self.state.sizes[FORM] == FULL
        start = find_start(self.raw, self.model.depth, self.model.covariance_type, self.rng)
        if self.gaps is not None:
            state.data[self.gaps] = start.data[self.gaps]
        # The mean of the noise is a b/(a − 1), or Ψ/(2a − 2).
        excess = np.maximum(state.hyper[SHAPE] - 1.0, 0.5)
        learned = self.layout.hyper_deviation[SCALE] > 0.0
        if full:
            state.psi[:] = 2.0 * excess[0] * start.covariance
            state.scalars[LOG_PSI] = np.linalg.slogdet(state.psi)[1]
        else:
            state.hyper[SCALE, learned] = (start.covariance * excess / state.hyper[SHAPE])[learned]
        tree = start.tree
        load_tree(state, tree.parent, tree.level, tree.leaf)
        self._seat_groups()
        recount(state)
        for _ in range(FIRST_ROUNDS):
            node_sweep(state, self.words)
            if full:
                covariance_sweep(state, self.words, self.model.psi)
                settle(state)

    def _begin(self, data: FloatArray, model: Model, rng: np.random.Generator) -> None:
        self.raw, self.model, self.rng = data, model, rng
        self.state = empty_state(data, model)
        self._fix_gamma()
        self.layout = layout_of(model, data.shape[1])
        self.gaps: npt.NDArray[np.bool_] | None = None
        if self.state.sizes[FORM] == FULL:
            gaps = np.isnan(data)
            gaps[:, ~self.layout.is_gaussian] = False
            self.gaps = gaps if gaps.any() else None

    def moves(self) -> list[Move]:
        """Return all moves of a sweep, in their order."""
        state, words, n_data = self.state, self.words, self.state.leaf.size
        n_splits = self.effort.count(8)
        moves = [
            Move("datum", lambda n: move_data(state, np.arange(n), words), n_data),
            Move("regraft", lambda n: regraft_sweep(state, words, n), self.effort.count(4)),
            Move("split_merge", lambda n: split_merge_sweep(state, words, n), n_splits),
            Move("node_split", lambda n: node_split_sweep(state, words, n), n_splits),
        ]
        if state.levels.size > 2 and self.layout.is_gaussian.all():
            moves.append(Move("collapsed", self._move_collapsed, self.effort.count(3)))
        return [
            *moves,
            Move("parameters", self.move_parameters),
            Move("missing", self._move_missing),
        ]

    def _move_collapsed(self, count: int) -> int:
        """Regraft two of three times, split or merge else; φ is redrawn."""
        n_splits = count // 3
        return collapsed_sweep(self.state, self.words, count - n_splits, n_splits)

    def _move_missing(self, count: int) -> int:
        """Redraw the missing entries that full covariances need."""
        if self.gaps is not None:
            impute(self.state, self.words, self.gaps)
        recount(self.state)  # data may have changed, and rounding adds up
        return count

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that it takes to go on with the identical draws, but the data."""
        return super().snapshot() | {"imputed": self._imputed()}

    @classmethod
    def restored(
        cls,
        data: FloatArray,
        model: Model,
        rng: np.random.Generator,
        snapshot: dict[str, npt.NDArray[Any]],
    ) -> ColumnsChain:
        """Return a chain that goes on where a snapshot was taken."""
        chain = cls.__new__(cls)
        chain._begin(data, model, rng)
        chain._load(snapshot)
        if chain.gaps is not None:
            chain.state.data[chain.gaps] = snapshot["imputed"]
        recount(chain.state)
        return chain

    def _imputed(self) -> FloatArray:
        return np.empty(0) if self.gaps is None else self.state.data[self.gaps]

    def leave_one_out(self) -> FloatArray:
        """Return the log density of what is observed of every row, given all others."""
        return leave_one_out(self.state, self.raw, self.words)
