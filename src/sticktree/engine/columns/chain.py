"""One chain: a state, its random numbers, and a sweep of all moves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import multigammaln

from sticktree.checks import FloatArray
from sticktree.engine.columns.covariances import covariance_sweep, impute
from sticktree.engine.columns.datum import enter, move_data, take_out, weigh_all
from sticktree.engine.columns.families import log_constants
from sticktree.engine.columns.hyper import hyper_sweep, settle
from sticktree.engine.columns.leaves import clear, count, log_evidence
from sticktree.engine.columns.node_split import node_split_sweep
from sticktree.engine.columns.nodes import node_sweep, variance_sweep
from sticktree.engine.columns.regraft import regraft_sweep
from sticktree.engine.columns.split_merge import split_merge_sweep
from sticktree.engine.columns.state import (
    FORM,
    FULL,
    LOG_PSI,
    NEGATIVE_BINOMIAL,
    PHI,
    POISSON,
    SHAPE,
    State,
    empty_state,
)
from sticktree.engine.columns.structure import load_tree
from sticktree.engine.concentration import draw_concentration
from sticktree.engine.effort import Effort
from sticktree.engine.interface import SweepInfo
from sticktree.engine.priors import log_beta, log_gamma, log_inverse_gamma
from sticktree.engine.random import RandomState, random_state
from sticktree.engine.seats import log_tree_probability
from sticktree.engine.state import ALIVE, DISCOUNT, FACTOR, MADE, ROOT, UNLISTED, tree_of
from sticktree.engine.structure import list_nodes
from sticktree.jit import jit
from sticktree.model import Model
from sticktree.tree import Tree

__all__ = ["ColumnsChain", "leave_one_out", "rebuild"]

FRESH = 3  # draws of a new branch that stand for all, in a density


class ColumnsChain:
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

    traced: tuple[str, ...] = ("variance", "hyper")

    def __init__(self, data: FloatArray, model: Model, rng: np.random.Generator) -> None:
        self._begin(data, model, rng)
        self.words = random_state(rng)
        if self.gaps is not None:
            self.state.data[self.gaps] = rng.standard_normal(int(self.gaps.sum()))
        settle(self.state)
        move_data(self.state, rng.permutation(data.shape[0]), self.words)

    def _begin(self, data: FloatArray, model: Model, rng: np.random.Generator) -> None:
        self.raw, self.model, self.rng = data, model, rng
        self.effort = Effort()
        self.state = empty_state(data, model)
        self.layout = model.layout(data.shape[1])
        self.gaps: npt.NDArray[np.bool_] | None = None
        if self.state.sizes[FORM] == FULL:
            gaps = np.isnan(data)
            gaps[:, [kind != "gaussian" for kind in self.layout.kind]] = False
            self.gaps = gaps if gaps.any() else None

    def sweep(self) -> SweepInfo:
        """Apply every move once, or as often as the size of the tree asks for."""
        state, words, model = self.state, self.words, self.model
        effort = self.effort.next(int(state.sizes[ALIVE]))
        moved = move_data(state, np.arange(state.leaf.size), words)
        n_regrafts, n_splits = effort.n_regrafts, effort.n_splits
        regrafted = regraft_sweep(state, words, n_regrafts)
        split_merged = split_merge_sweep(state, words, n_splits)
        nodes_split = node_split_sweep(state, words, n_splits)
        node_sweep(state, words)
        if state.sizes[FORM] == FULL:
            covariance_sweep(state, words, model.psi)
            settle(state)
        hyper_sweep(state, words, self.layout.hyper_mean, self.layout.hyper_deviation)
        variance_sweep(state, words, *model.node_prior)
        draw_concentration(
            state,
            words,
            model.concentration is None,
            model.concentration_prior,
            model.discount is None,
            model.discount_prior,
            model.less_discount,
        )
        if self.gaps is not None:
            impute(state, words, self.gaps)
        recount(state)  # data may have changed, and rounding adds up
        return SweepInfo(
            moved, regrafted, split_merged, nodes_split, n_regrafts, n_splits, n_splits
        )

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that it takes to go on with the identical draws, but the data."""
        state = self.state
        made = int(state.sizes[MADE])
        saved = {name: getattr(state, name)[:made].copy() for name in ("nodes", "coordinates")}
        for name in ("sizes", "levels", "scalars", "leaf", "variance", "hyper", "psi"):
            saved[name] = getattr(state, name).copy()
        saved["imputed"] = self._imputed()
        saved["words"] = self.words.copy()
        saved["effort"] = self.effort.saved()
        return saved

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
        chain.words = snapshot["words"].copy()
        chain.effort = Effort.restored(snapshot.get("effort"))
        state = chain.state
        for name in ("nodes", "coordinates"):
            getattr(state, name)[: len(snapshot[name])] = snapshot[name]
        for name in ("sizes", "levels", "scalars", "leaf", "variance", "hyper", "psi"):
            getattr(state, name)[...] = snapshot[name]
        if chain.gaps is not None:
            state.data[chain.gaps] = snapshot["imputed"]
        list_nodes(state)
        recount(state)
        return chain

    def _imputed(self) -> FloatArray:
        return np.empty(0) if self.gaps is None else self.state.data[self.gaps]

    def tree(self) -> Tree:
        """Return the tree, with every node of every level."""
        return tree_of(self.state)

    @property
    def concentration(self) -> float:
        """The factor c of the concentrations."""
        return float(self.state.scalars[FACTOR])

    @property
    def discount(self) -> float:
        """The discount d."""
        return float(self.state.scalars[DISCOUNT])

    def parameters(self) -> dict[str, FloatArray]:
        """Return copies of all parameters; φ has a row for each node of the tree."""
        state = self.state
        order = state.order[: state.sizes[ALIVE]]
        return {
            "phi": state.coordinates[order[state.nodes["level"][order] < self.model.depth], :, PHI],
            "variance": state.variance.copy(),
            "hyper": state.hyper.copy(),
            "psi": state.psi.copy(),
            "imputed": self._imputed(),
        }

    def leave_one_out(self) -> FloatArray:
        """Return the log density of what is observed of every row, given all others."""
        return leave_one_out(self.state, self.raw, self.words)

    def log_joint(self) -> float:
        """Return the log density of data, tree, φ and hyper-parameters."""
        return self.log_prior() + self.log_likelihood()

    def log_likelihood(self) -> float:
        """Return log p(Y | tree, φ, hyper-parameters), leaves integrated out."""
        state = self.state
        value = sum_evidence(state)
        for d, kind in enumerate(state.columns["kind"]):
            if kind in (POISSON, NEGATIVE_BINOMIAL):
                value += log_constants(state.data, int(kind), d, state.hyper[SHAPE, d])
        return float(value)

    def log_prior(self) -> float:
        """Return the log density of the tree, of φ, and of all that is learned."""
        state, model, layout = self.state, self.model, self.layout
        c, d = self.concentration, self.discount
        value = log_tree_probability(state, c, d, model.less_discount)
        value += log_density_of_nodes(state)
        if model.concentration is None:
            value += log_gamma(c, *model.concentration_prior)
        if model.discount is None:
            value += log_beta(d, *model.discount_prior)
        value += log_inverse_gamma(state.variance, *model.node_prior)
        learned = layout.hyper_deviation > 0.0
        deviation = layout.hyper_deviation[learned]
        off = (np.log(state.hyper) - layout.hyper_mean)[learned] / deviation
        value -= float((0.5 * off**2 + np.log(deviation * state.hyper[learned])).sum())
        value -= 0.5 * learned.sum() * math.log(2.0 * math.pi)
        if state.sizes[FORM] == FULL:
            value += self._log_prior_psi()
        return float(value)

    def _log_prior_psi(self) -> float:
        size = self.state.gaussian.size
        scale = self.model.psi / (size + 1)
        return float(
            -0.5 * np.trace(self.state.psi) / scale
            - 0.5 * (size + 1) * size * math.log(2.0 * scale)
            - multigammaln(0.5 * (size + 1), size)
        )


@jit
def recount(state: State) -> None:
    """Compute all sums of the leaves from the data, and what depends on them."""
    depth = state.levels.size - 1
    for k in range(state.sizes[ALIVE]):
        if state.nodes[state.order[k]].level >= depth - 1:
            clear(state, state.order[k])
    for i in range(state.leaf.size):
        count(state, state.leaf[i], i, 1.0)
    settle(state)


@jit
def sum_evidence(state: State) -> float:
    """Return the log evidence of all leaves."""
    value = 0.0
    for k in range(state.sizes[ALIVE]):
        leaf = state.order[k]
        if state.nodes[leaf].level == state.levels.size - 1:
            value += log_evidence(state, leaf, state.nodes[leaf].parent)
    return value


@jit
def log_density_of_nodes(state: State) -> float:
    """Return log p(φ | tree, v)."""
    value = 0.0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if level == state.levels.size - 1:
            continue
        for p in range(state.coordinates.shape[1]):
            above = 0.0 if node == ROOT else state.coordinates[state.nodes[node].parent, p, PHI]
            off, spread = state.coordinates[node, p, PHI] - above, state.variance[level, p]
            value -= 0.5 * (math.log(2.0 * math.pi * spread) + off * off / spread)
    return value


@jit
def leave_one_out(state: State, raw: FloatArray, rng: RandomState) -> FloatArray:
    """Return the log density of every row of ``raw`` given all other rows.

    ``raw`` may miss entries that are imputed in the state. The state stays as it was.
    """
    n_data = state.leaf.size
    out = np.empty(n_data)
    chain = np.empty((state.levels.size, state.coordinates.shape[1]))
    row = np.empty(raw.shape[1])
    for i in range(n_data):
        old, cut = take_out(state, i, chain)
        if state.sizes[UNLISTED]:
            list_nodes(state)
        row[:] = state.data[i]
        state.data[i] = raw[i]
        out[i] = weigh_all(state, i, rng, FRESH)
        state.data[i] = row
        enter(state, i, old if cut < 0 else cut, chain)
    if state.sizes[UNLISTED]:
        list_nodes(state)
    recount(state)
    return out


def rebuild(
    state: State,
    tree: Tree,
    concentration: float,
    discount: float,
    parameters: dict[str, FloatArray],
    less_discount: bool = False,
) -> None:
    """Put a tree, whose nodes keep their numbers, and parameters into a state."""
    load_tree(state, tree.parent, tree.level, tree.leaf)
    state.scalars[FACTOR], state.scalars[DISCOUNT] = concentration, discount
    state.levels["alpha"] = concentration * state.levels["shape"] - discount * less_discount
    inner = np.flatnonzero(tree.level < tree.level.max())
    state.coordinates[inner, :, PHI] = parameters["phi"]
    for name in ("variance", "hyper", "psi"):
        getattr(state, name)[...] = parameters[name]
    if state.sizes[FORM] == FULL:
        state.scalars[LOG_PSI] = np.linalg.slogdet(state.psi)[1]
    recount(state)
