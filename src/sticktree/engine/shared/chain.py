"""One chain: a state, its random numbers, and a sweep of all moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.chain import Effort, Move
from sticktree.engine.common.links import LEAVES
from sticktree.engine.common.random import random_state
from sticktree.engine.common.start import find_start
from sticktree.engine.shared.datum import datum_sweep
from sticktree.engine.shared.factor import coloured, inverse_of, whitened
from sticktree.engine.shared.missing import Gaps, impute, reseat
from sticktree.engine.shared.mixture import leave_one_out
from sticktree.engine.shared.noise import SharedNoise
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.scales import add_squares
from sticktree.engine.shared.seats import settle_data
from sticktree.engine.shared.split_leaves import split_merge_sweep
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.engine.shared.state import empty_state, load_tree
from sticktree.model import Model

MOST_RESEATED = 100  # rows with missing entries that choose their place by what is observed


class Chain(SharedNoise):
    """A Markov chain over trees and hyper-parameters, on rows in memory.

    Parameters
    ----------
    data : float array, shape (N, D)
        Standardised data; entries may be missing (NaN).
    model : Model
        What to sample.
    rng : numpy.random.Generator
        The chain's own source of randomness.
    """

    of_nodes = ("nodes", "total")
    of_all = (*SharedNoise.of_all, "leaf")

    def __init__(self, data: FloatArray, model: Model, rng: np.random.Generator) -> None:
        self.model = model
        self.rng = rng
        self.words = random_state(rng)
        self._keep(data)
        start = find_start(data, model.depth, model.covariance_type, rng)
        if self.gaps.row.size:
            self.raw[self.missing] = start.data[self.missing]
        within = start.covariance
        root = np.linalg.cholesky(within) if within.ndim == 2 else np.sqrt(within)
        self.factor = np.asarray(root, dtype=np.float64)
        self.rates = self._first_rates()
        self.state = empty_state(
            whitened(self.raw, self.factor),
            model.shape,
            model.first_scales(start.between),
            1.0 if model.concentration is None else model.concentration,
            0.1 if model.discount is None else model.discount,
            model.noise,
            model.less_discount,
            group=None if model.groups is None else model.groups.of_row,
            line=None if model.groups is None else model.groups.line,
        )
        tree = start.tree.compressed()
        load_tree(self.state, tree.parent, tree.level, tree.leaf)
        self._fix_gamma()
        self._seat_groups()
        settle_data(self.state)
        self.effort = Effort(self.size)

    def _keep(self, data: FloatArray) -> None:
        """Keep the data, and a copy that can be completed if entries are missing."""
        self.missing = np.isnan(data)
        self.gaps = Gaps.of(data)
        self.raw = data.copy() if self.gaps.row.size else data

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return what any chain with shared noise has, and ``imputed``: the missing entries.

        They come row by row, and only if there are any.
        """
        return super().parameters() | self._imputed()

    def _imputed(self) -> dict[str, npt.NDArray[Any]]:
        return {"imputed": self.raw[self.missing]} if self.gaps.row.size else {}

    def _take_over(self) -> None:
        """Take the missing entries that the state has now over into the data."""
        rows = self.gaps.row
        completed = coloured(self.state.data[rows], self.factor)
        self.raw[self.missing] = completed[self.missing[rows]]

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that it takes to go on with the identical draws, but the data."""
        leaves = self.state.leaves[: self.state.sizes[LEAVES]].copy()
        return super().snapshot() | {"leaves": leaves} | self._imputed()

    @classmethod
    def restored(
        cls,
        data: FloatArray,
        model: Model,
        rng: np.random.Generator,
        snapshot: dict[str, npt.NDArray[Any]],
    ) -> Chain:
        """Return a chain that goes on where a snapshot was taken."""
        chain = cls.__new__(cls)
        chain.model, chain.rng = model, rng
        chain._keep(data)
        if chain.gaps.row.size:
            chain.raw[chain.missing] = snapshot["imputed"]
        chain._load_noise(snapshot)
        ones = np.ones(model.depth + 1)
        group = None if model.groups is None else model.groups.of_row
        line = None if model.groups is None else model.groups.line
        chain.state = empty_state(
            chain.raw, ones[1:], ones, 1.0, 0.0, model.noise, group=group, line=line
        )
        chain.state.leaves[: snapshot["leaves"].size] = snapshot["leaves"]
        chain._load(snapshot)
        chain._whiten()
        return chain

    def moves(self) -> list[Move]:
        """Return all moves of a sweep, in their order."""
        state, words, n_data = self.state, self.words, self.raw.shape[0]
        n_splits = self.effort.count(8)
        reseated = min(self.gaps.row.size, MOST_RESEATED) if n_data > 1 else 0
        return [
            Move("datum", lambda _: datum_sweep(state, words), n_data),
            Move("regraft", lambda n: regraft_sweep(state, words, n), self.effort.count(4)),
            Move("split_merge", lambda n: split_merge_sweep(state, words, n), n_splits),
            Move("node_split", lambda n: node_split_sweep(state, words, n), n_splits),
            *([Move("missing", self._move_missing, reseated)] if self.gaps.row.size else []),
            Move("concentration", self.move_concentration),
            Move("scales", self.move_scales),
        ]

    def _move_missing(self, count: int) -> int:
        """Redraw all missing entries, and the places of some rows; return how many changed."""
        state, gaps = self.state, self.gaps
        inverse, moved = inverse_of(self.factor), 0
        if count:
            which = self.rng.permutation(gaps.row.size)[:count]
            moved = reseat(state, gaps, inverse, which, self.words)
        impute(state, gaps, inverse, self.words)
        self._take_over()
        return moved

    def _squares(self) -> FloatArray:
        dimension = self.raw.shape[1]
        form = {"spherical": (1, 1), "diag": (1, dimension), "full": (dimension, dimension)}
        squares = np.zeros(form[self.model.covariance_type])
        add_squares(self.state, squares)
        return squares

    def _n_seen(self) -> IntArray:
        return (~self.missing).sum(axis=0)

    def _whiten(self) -> None:
        """Bring the data, and all that depends on them, into the coordinates of the current Σ."""
        self.state.data[:] = whitened(self.raw, self.factor)
        settle_data(self.state)

    def leave_one_out(self) -> FloatArray:
        """Return log p(y_i | all other data, tree without y_i, v, Σ) for every i.

        The place of y_i in the tree is integrated out, and so is what is missing of it; units are
        standardised. Nothing that the chain draws later depends on whether this was called.
        """
        return leave_one_out(self.state, self.factor, self.missing)
