"""The predictive distribution of one draw: a mixture over leaves and new branches.

Components are the leaves, an empty leaf below every node of the last inner level, and some branches
with inner nodes of their own, drawn from the prior to stand for all of those. Entries that are
missing of a row are left out of its density.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.common.franchise import load_groups
from sticktree.engine.common.links import DISCOUNT, FACTOR, Index
from sticktree.engine.common.random import random_state
from sticktree.engine.draw import Draw
from sticktree.engine.own.densities import (
    leave_one_out,
    load_tree,
    recount,
    take_sums,
    weigh_rows,
)
from sticktree.engine.own.kinds import LIKELIHOODS, LeafColumn
from sticktree.engine.own.kinds.gaussian import sample_together
from sticktree.engine.own.kinds.wishart import t_of_missing
from sticktree.engine.own.layout import empty_state, layout_of
from sticktree.engine.own.state import (
    DIAG,
    FORM,
    FULL,
    GAUSSIAN,
    LOG_PSI,
    PHI,
    PRIOR,
    TOTAL,
    State,
)
from sticktree.engine.points import whole_parameters
from sticktree.model import Model
from sticktree.tree import Tree
from sticktree.tree.arrays import NULL

CHUNK = 4096  # rows whose weights are in memory at a time
FAINT = 1e-4  # components of a row that weigh less are left out of its conditional mean
FAINTEST = -1e300  # so that the sum of densities that are all 0 is 0
BY_CODE = tuple(LIKELIHOODS.values())


def predictives(
    draws: list[Draw], data: FloatArray, model: Model, group: int | None = None
) -> Iterator[ColumnsPredictive]:
    """Yield the predictive distribution of every draw; each is valid until the next.

    Draws that have kept the sums of their leaves need no data. If the data belong to groups, it is
    that of the next row of a group, by default a new one; see `Groups.asked`.
    """
    if draws and "sums_n" in draws[0].parameters:
        yield from _from_sums(draws, model, group)
        return
    state = empty_state(data, model)
    gaps = np.isnan(data)
    gaps[:, ~layout_of(model, data.shape[1]).is_gaussian] = False
    for draw in draws:
        if state.sizes[FORM] == FULL:
            state.data[gaps] = draw.parameters["imputed"]
        rebuild(
            state,
            draw,
            draw.concentration,
            draw.discount,
            draw.parameters,
            model.less_discount,
        )
        if model.groups is not None:
            load_groups(state, whole_parameters(draw), *model.groups.asked(group))
        yield ColumnsPredictive(state, data, _seed(draw))


def rebuild(
    state: State,
    tree: Tree | Draw,
    concentration: float,
    discount: float,
    parameters: dict[str, FloatArray],
    less_discount: bool = False,
) -> None:
    """Put a tree, whose nodes keep their numbers, and parameters into a state."""
    if tree.leaf.size != state.leaf.size:
        raise ValueError(
            f"the draw has {tree.leaf.size} labels of {state.leaf.size} rows: a predictive "
            "distribution needs the labels of all, or the sums of the leaves"
        )
    parent, level = tree.parent.astype(np.int32), tree.level.astype(np.int32)
    load_tree(state, parent, level, tree.leaf.astype(np.int32))
    inner = np.flatnonzero(level < level.max())
    set_parameters(state, inner, concentration, discount, parameters, less_discount)
    recount(state)


def set_parameters(
    state: State,
    inner: npt.NDArray[np.int64],
    concentration: float,
    discount: float,
    parameters: dict[str, FloatArray],
    less_discount: bool = False,
) -> None:
    """Put parameters into a state; the sums of its leaves must follow."""
    state.scalars[FACTOR], state.scalars[DISCOUNT] = concentration, discount
    state.levels["alpha"] = concentration * state.levels["shape"] - discount * less_discount
    state.coordinates[inner, :, PHI] = parameters["phi"]
    for name in ("variance", "hyper", "psi"):
        getattr(state, name)[...] = parameters[name]
    if state.sizes[FORM] == FULL:
        state.scalars[LOG_PSI] = np.linalg.slogdet(state.psi)[1]


def _seed(draw: Draw) -> int:
    """Return a seed of the draw alone: new branches give the same answer every time."""
    return int(np.float64(draw.log_joint).view(np.uint64))


def _from_sums(
    draws: list[Draw], model: Model, group: int | None = None
) -> Iterator[ColumnsPredictive]:
    """Yield the predictive distribution of every draw, from the sums of its leaves."""
    n_columns = draws[0].parameters["sums_total"].shape[1]
    room = max(int((draw.level == model.depth).sum()) for draw in draws)
    state = empty_state(np.zeros((room, n_columns)), model.of_sums())
    state = replace(state, data=state.data[:0], leaf=state.leaf[:0], group=state.group[:0])
    full = state.sizes[FORM] == FULL
    for draw in draws:
        parent, level = draw.parent.astype(np.int32), draw.level.astype(np.int32)
        load_tree(state, parent, level, np.empty(0, dtype=np.int32))
        set_parameters(
            state,
            np.flatnonzero(draw.level < model.depth),
            draw.concentration,
            draw.discount,
            draw.parameters,
            model.less_discount,
        )
        n, seen, total, second = (
            draw.parameters[f"sums_{name}"] for name in ("n", "seen", "total", "second")
        )
        leaves = np.flatnonzero(draw.level == model.depth).astype(np.int64)
        squares = np.einsum("kdd->kd", second).copy() if full else second
        if model.groups is not None:
            load_groups(state, whole_parameters(draw), *model.groups.asked(group))
        take_sums(state, leaves, n, seen, total, squares, second if full else np.empty((0, 0, 0)))
        yield ColumnsPredictive(state, np.empty((0, n_columns)), _seed(draw))


class Components(NamedTuple):
    """The components of a predictive mixture, as :func:`weigh_rows` has them."""

    node: Index
    level: Index
    row: Index
    weight: FloatArray


def _log_sums(log_weights: FloatArray) -> FloatArray:
    """Return the log of the sum of each row of weights, as a column."""
    # scipy's takes longer than the densities of a hundred rows do.
    top = np.maximum(log_weights.max(axis=1, keepdims=True), FAINTEST)
    return np.asarray(top + np.log(np.exp(log_weights - top).sum(axis=1, keepdims=True)))


class ColumnsPredictive:
    """The predictive mixture of a settled state."""

    def __init__(self, state: State, raw: FloatArray, seed: int) -> None:
        self.state = state
        self.raw = raw  # the data, which may miss entries that the state has imputed
        self._words = random_state(np.random.default_rng(seed))
        self.likelihoods = [BY_CODE[code] for code in state.columns["kind"]]
        self._known: Components | None = None

    def _weigh(self, x: FloatArray) -> FloatArray:
        """Return log probability × density of components and rows; the former are known then."""
        state = replace(self.state, data=np.ascontiguousarray(x))
        node, level, row, weight, values = weigh_rows(state, self._words.copy())
        if self._known is None:
            self._known = Components(node, level, row, weight)
        log_weights: FloatArray = values
        return log_weights

    @property
    def _components(self) -> Components:
        if self._known is None:
            self._weigh(np.empty((0, self.state.columns.size)))
        assert self._known is not None
        return self._known

    @property
    def node(self) -> IntArray:
        """Where each component hangs or is."""
        return self._components.node.astype(np.int32)

    @property
    def level(self) -> IntArray:
        """Where the new branch of each component starts."""
        return self._components.level.astype(np.int32)

    @property
    def row(self) -> Index:
        """The row of each component among the leaves of the state."""
        return self._components.row

    @property
    def weight(self) -> FloatArray:
        """The probability of each component."""
        return self._components.weight

    def _log_weights(self, x: FloatArray) -> Iterator[FloatArray]:
        for start in range(0, max(len(x), 1), CHUNK):
            yield self._weigh(x[start : start + CHUNK])

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return the log density of what is there of every row."""
        return np.concatenate([_log_sums(weights)[:, 0] for weights in self._log_weights(x)])

    def responsibilities(self, x: FloatArray) -> FloatArray:
        """Return, for every row, the probability that it comes from each component."""
        parts = [np.exp(weights - _log_sums(weights)) for weights in self._log_weights(x)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def leave_one_out(self) -> FloatArray:
        """Return the log density of what is observed of each row of the data given all others."""
        if self.state.leaf.size == 0:
            raise ValueError(
                "leave-one-out densities need the rows of the data one by one: fit with "
                'algorithm="gibbs"'
            )
        return leave_one_out(self.state, self.raw, self._words.copy())

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` rows."""
        which = rng.choice(self.weight.size, n, p=self.weight / self.weight.sum())
        return self._sample(np.full((n, self.state.columns.size), np.nan), which, rng)

    def conditional_sample(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return rows whose missing entries are drawn given those that are there."""
        shares = np.cumsum(self.responsibilities(x), axis=1)
        points = rng.uniform(size=(len(x), 1)) * shares[:, -1:]
        return self._sample(x, np.argmax(shares > points, axis=1), rng)

    def _sample(self, x: FloatArray, which: Index, rng: np.random.Generator) -> FloatArray:
        """Draw the missing entries of rows, each from a given component."""
        state, row = self.state, self.row[which]
        out = np.array(x, dtype=np.float64)
        if state.sizes[FORM] == FULL:
            for i in np.flatnonzero(np.isnan(x[:, state.gaussian]).any(axis=1)):
                mean, root, degrees = t_of_missing(state, out[i], int(row[i]))
                gap = state.gaussian[np.isnan(out[i, state.gaussian])]
                noise = root @ rng.standard_normal(gap.size)
                out[i, gap] = mean + noise / np.sqrt(rng.chisquare(degrees))
        elif state.sizes[FORM] != DIAG:
            sample_together(state, out, row, rng)
        self._fill_given(out, rng)
        for d, likelihood in enumerate(self.likelihoods):
            gap = np.flatnonzero(np.isnan(out[:, d]))
            if gap.size and likelihood.sample is not None:
                trials = self._trials(d, out[gap])
                out[gap, d] = likelihood.sample(self._at(d, row[gap]), trials, rng)
        return out

    def conditional_mean(self, x: FloatArray) -> FloatArray:
        """Return rows whose missing entries are their means given those that are there.

        A missing category is its most probable one.
        """
        state = self.state
        out = np.array(x, dtype=np.float64)
        rows = np.flatnonzero(np.isnan(x).any(axis=1))
        shares = self.responsibilities(x[rows])
        full = state.sizes[FORM] == FULL
        self._fill_given(out)
        for d, likelihood in enumerate(self.likelihoods):
            if likelihood.mean is None or (full and state.columns["kind"][d] == GAUSSIAN):
                continue
            gap = np.isnan(x[rows, d])
            if gap.any():
                trials = self._trials(d, out[rows[gap]])
                out[rows[gap], d] = likelihood.mean(self._at(d, self.row), shares[gap], trials)
        if full:
            self._fill_gaussian(out, rows, shares)
        return out

    def _fill_gaussian(self, out: FloatArray, rows: Index, shares: FloatArray) -> None:
        """Fill in the conditional means of Gaussian columns with a full covariance."""
        state = self.state
        for k, i in enumerate(rows):
            gap = np.isnan(out[i, state.gaussian])
            if not gap.any():
                continue
            total, weight = np.zeros(int(gap.sum())), 0.0
            for c in np.flatnonzero(shares[k] > FAINT):
                total += shares[k, c] * t_of_missing(state, out[i], int(self.row[c]))[0]
                weight += shares[k, c]
            out[i, state.gaussian[gap]] = total / weight

    def _fill_given(self, out: FloatArray, rng: np.random.Generator | None = None) -> None:
        """Fill in what is missing of columns that are data and never modelled.

        A row gets what a random row of the data has, the same one for all such columns unless some
        of these have gaps; without ``rng`` it gets their mean.
        """
        given = [d for d, likelihood in enumerate(self.likelihoods) if likelihood.kernels is None]
        if not given or not np.isnan(out[:, given]).any():
            return
        points = None if rng is None else rng.uniform(size=len(out))
        for d in given:
            seen = self.raw[~np.isnan(self.raw[:, d]), d]
            filled = seen.mean() if points is None else seen[(points * seen.size).astype(np.int64)]
            out[:, d] = np.where(np.isnan(out[:, d]), filled, out[:, d])

    def _trials(self, d: int, rows: FloatArray) -> FloatArray:
        """Return the numbers of trials of rows in column d; none if it has no such."""
        column = int(self.state.columns["trials"][d])
        return rows[:, column] if column != NULL else np.empty(0)

    def _at(self, d: int, leaf: Index) -> LeafColumn:
        """Return what is known of a column at some leaves."""
        state = self.state
        last = state.levels.size - 1
        node = np.where(state.nodes["level"][leaf] == last, state.nodes["parent"][leaf], leaf)
        at, width = int(state.columns["offset"][d]), int(state.columns["width"][d])
        return LeafColumn(
            state.coordinates[node, at : at + width, PRIOR],
            state.coordinates[leaf, at : at + width, TOTAL],
            state.entries[leaf, d].T.copy(),
            state.hyper[:, d],
            float(state.columns["floor"][d]),
        )
