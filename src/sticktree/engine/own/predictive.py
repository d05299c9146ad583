"""The predictive distribution of one draw: a mixture over leaves and new branches.

Components are the leaves, an empty leaf below every node of the last inner level, and some branches
with inner nodes of their own, drawn from the prior to stand for all of those. Entries that are
missing of a row are left out of its density.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import gammainc, gammaincinv, logsumexp

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.common.links import Index
from sticktree.engine.common.random import random_state
from sticktree.engine.draw import Draw
from sticktree.engine.own.counting import leave_one_out
from sticktree.engine.own.datum import weigh_rows
from sticktree.engine.own.noise import rebuild, set_parameters
from sticktree.engine.own.state import (
    CATEGORICAL,
    CENTRE,
    COUNT,
    DIAG,
    FORM,
    FULL,
    GAUSSIAN,
    KAPPA,
    POISSON,
    POWER,
    PRIOR,
    ROOT_OF,
    SHAPE,
    TOTAL,
    WIDTH,
    State,
    empty_state,
)
from sticktree.engine.own.structure import load_tree
from sticktree.model import Model

__all__ = ["ColumnsPredictive", "predictives"]

CHUNK = 4096  # rows whose weights are in memory at a time
FAINT = 1e-4  # components of a row that weigh less are left out of its conditional mean


def predictives(draws: list[Draw], data: FloatArray, model: Model) -> Iterator[ColumnsPredictive]:
    """Yield the predictive distribution of every draw; each is valid until the next.

    Draws that have kept the sums of their leaves need no data.
    """
    if draws and "sums_n" in draws[0].parameters:
        yield from _from_sums(draws, model)
        return
    state = empty_state(data, model)
    gaps = np.isnan(data)
    gaps[:, [kind != "gaussian" for kind in model.layout(data.shape[1]).kind]] = False
    for draw in draws:
        if state.sizes[FORM] == FULL:
            state.data[gaps] = draw.parameters["imputed"]
        rebuild(
            state,
            draw.tree,
            draw.concentration,
            draw.discount,
            draw.parameters,
            model.less_discount,
        )
        yield ColumnsPredictive(state, data, _seed(draw))


def _seed(draw: Draw) -> int:
    """Return a seed of the draw alone: new branches give the same answer every time."""
    return int(np.float64(draw.log_joint).view(np.uint64))


def _from_sums(draws: list[Draw], model: Model) -> Iterator[ColumnsPredictive]:
    """Yield the predictive distribution of every draw, from the sums of its leaves."""
    from sticktree.engine.own.counting import take_sums

    n_columns = draws[0].parameters["sums_total"].shape[1]
    room = max(int((draw.level == model.depth).sum()) for draw in draws)
    state = empty_state(np.zeros((room, n_columns)), model)
    state = state._replace(data=state.data[:0], leaf=state.leaf[:0])
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
        take_sums(state, leaves, n, seen, total, squares, second if full else np.empty((0, 0, 0)))
        yield ColumnsPredictive(state, np.empty((0, n_columns)), _seed(draw))


class ColumnsPredictive:
    """The predictive mixture of a settled state.

    Attributes
    ----------
    node, level : int array, shape (K,)
        Where each component hangs or is, and where its new branch starts.
    row, weight : int and float array, shape (K,)
        Its row among the leaves of the state, and its probability.
    """

    def __init__(self, state: State, raw: FloatArray, seed: int) -> None:
        self.state = state
        self.raw = raw  # the data, which may miss entries that the state has imputed
        self._words = random_state(np.random.default_rng(seed))
        nothing = np.empty((0, state.columns.size))
        node, level, self.row, self.weight, _ = self._weigh(nothing)
        self.node: IntArray = node.astype(np.int32)
        self.level: IntArray = level.astype(np.int32)

    def _weigh(self, x: FloatArray) -> tuple[Index, Index, Index, FloatArray, FloatArray]:
        state = self.state._replace(data=np.ascontiguousarray(x))
        result: tuple[Index, Index, Index, FloatArray, FloatArray] = weigh_rows(
            state, self._words.copy()
        )
        return result

    def _log_weights(self, x: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        for start in range(0, len(x), CHUNK):
            part = slice(start, start + CHUNK)
            yield part, self._weigh(x[part])[4]

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return the log density of what is there of every row."""
        out = np.empty(len(x))
        for part, weights in self._log_weights(x):
            out[part] = logsumexp(weights, axis=1)
        return out

    def responsibilities(self, x: FloatArray) -> FloatArray:
        """Return, for every row, the probability that it comes from each component."""
        out = np.empty((len(x), self.node.size))
        for part, weights in self._log_weights(x):
            out[part] = np.exp(weights - logsumexp(weights, axis=1, keepdims=True))
        return out

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
                mean, root, degrees = self._conditional(out[i], int(row[i]))
                gap = state.gaussian[np.isnan(out[i, state.gaussian])]
                noise = root @ rng.standard_normal(gap.size)
                out[i, gap] = mean + noise / np.sqrt(rng.chisquare(degrees))
        elif state.sizes[FORM] != DIAG:
            self._sample_together(out, row, rng)
        for d in range(state.columns.size):
            gap = np.flatnonzero(np.isnan(out[:, d]))
            if gap.size:
                out[gap, d] = self._sample_column(d, row[gap], rng)
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
        for d in range(state.columns.size):
            if full and state.columns["kind"][d] == GAUSSIAN:
                continue
            gap = np.isnan(x[rows, d])
            if gap.any():
                out[rows[gap], d] = self._mean(d, shares[gap])
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
                total += shares[k, c] * self._conditional(out[i], int(self.row[c]))[0]
                weight += shares[k, c]
            out[i, state.gaussian[gap]] = total / weight

    def _conditional(self, y: FloatArray, leaf: int) -> tuple[FloatArray, FloatArray, float]:
        """Return the t of a row's missing Gaussian entries at a leaf, given those that are there.

        It is mean + root · z/√χ², z normal and χ² with the degrees returned.
        """
        state = self.state
        column = int(state.gaussian[0])
        n = float(state.entries[leaf, column, COUNT])
        kappa = float(state.hyper[KAPPA, column]) + n
        root = state.matrices[leaf, ROOT_OF]
        scale = root @ root.T
        off = y[state.gaussian] - state.entries[leaf, state.gaussian, CENTRE]
        gap = np.isnan(off)
        centre = state.entries[leaf, state.gaussian[gap], CENTRE]
        degrees = 2.0 * float(state.hyper[SHAPE, column]) + n
        rest, cross = scale[np.ix_(gap, gap)], scale[np.ix_(gap, ~gap)]
        widen = (kappa + 1.0) / kappa
        if gap.all():
            return centre, np.linalg.cholesky(widen * rest), degrees
        solved = np.linalg.solve(scale[np.ix_(~gap, ~gap)], np.column_stack([off[~gap], cross.T]))
        square = off[~gap] @ solved[:, 0]
        factor = np.linalg.cholesky((widen + square) * (rest - cross @ solved[:, 1:]))
        return centre + cross @ solved[:, 0], factor, degrees + float((~gap).sum())

    def _variance(self, d: int, leaf: Index, rng: np.random.Generator) -> FloatArray:
        """Draw the variance of a leaf in a Gaussian column, not below its floor."""
        state = self.state
        kappa = state.hyper[KAPPA, d] + state.entries[leaf, d, COUNT]
        shape = state.entries[leaf, d, POWER] - 0.5
        rate = 0.5 * kappa / ((kappa + 1.0) * state.entries[leaf, d, WIDTH])
        return _floored(shape, rate, float(state.columns["floor"][d]), rng)

    def _sample_together(self, out: FloatArray, leaf: Index, rng: np.random.Generator) -> None:
        """Draw the missing entries of Gaussian columns that share one variance."""
        state = self.state
        if not state.gaussian.size:
            return
        column = int(state.gaussian[0])
        shape, rate = state.nodes["power"][leaf].copy(), state.entries[leaf, column, POWER].copy()
        off = out[:, state.gaussian] - state.entries[leaf[:, None], state.gaussian, CENTRE]
        there = ~np.isnan(off)
        widths = state.entries[leaf[:, None], state.gaussian, WIDTH]
        shape += 0.5 * there.sum(axis=1)
        rate *= 1.0 + np.where(there, widths * off**2, 0.0).sum(axis=1)
        s = _floored(shape, rate, float(state.columns["floor"][column]), rng)
        for d in state.gaussian:
            gap = np.flatnonzero(np.isnan(out[:, d]))
            kappa = state.hyper[KAPPA, column] + state.entries[leaf[gap], d, COUNT]
            noise = rng.standard_normal(gap.size) * np.sqrt(s[gap] * (kappa + 1.0) / kappa)
            out[gap, d] = state.entries[leaf[gap], d, CENTRE] + noise

    def _pseudo(self, d: int, leaf: Index) -> FloatArray:
        """Return what the parents of leaves give them as pseudo-counts, one row a leaf."""
        state = self.state
        last = state.levels.size - 1
        node = np.where(state.nodes["level"][leaf] == last, state.nodes["parent"][leaf], leaf)
        at, width = int(state.columns["offset"][d]), int(state.columns["width"][d])
        return np.asarray(state.coordinates[node, at : at + width, PRIOR])

    def _parameters(self, d: int, leaf: Index) -> tuple[FloatArray, FloatArray]:
        """Return the two parameters of the posterior of a leaf's rate, or its pseudo-counts."""
        state = self.state
        at, width = int(state.columns["offset"][d]), int(state.columns["width"][d])
        first = self._pseudo(d, leaf) + state.coordinates[leaf, at : at + width, TOTAL]
        n, kappa = state.entries[leaf, d, COUNT], state.hyper[KAPPA, d]
        if state.columns["kind"][d] in (CATEGORICAL, POISSON):
            return first, kappa + n
        return first, kappa - self._pseudo(d, leaf)[:, 0] + n * state.hyper[SHAPE, d]

    def _mean(self, d: int, shares: FloatArray) -> FloatArray:
        """Return the mean of a column under mixtures of all components, or the likeliest category.

        ``shares`` has a row of weights for each mixture.
        """
        state, kind = self.state, int(self.state.columns["kind"][d])
        if kind == GAUSSIAN:
            return np.asarray(shares @ state.entries[self.row, d, CENTRE])
        first, second = self._parameters(d, self.row)
        if kind == CATEGORICAL:
            return np.asarray((shares @ (first / second[:, None])).argmax(axis=1), dtype=np.float64)
        if kind == POISSON:
            return np.asarray(shares @ (first[:, 0] / second))
        # E q/(1 − q) of a Beta; where it has no mean, the ratio of the parameters stands for it.
        odds = first[:, 0] / np.where(second > 1.0, second - 1.0, second)
        return np.asarray(state.hyper[SHAPE, d] * (shares @ odds))

    def _sample_column(self, d: int, leaf: Index, rng: np.random.Generator) -> FloatArray:
        """Draw an entry of a column from the predictive distribution of each leaf."""
        state, kind = self.state, int(self.state.columns["kind"][d])
        if kind == GAUSSIAN:
            kappa = state.hyper[KAPPA, d] + state.entries[leaf, d, COUNT]
            spread = np.sqrt(self._variance(d, leaf, rng) * (kappa + 1.0) / kappa)
            noise = spread * rng.standard_normal(leaf.size)
            return np.asarray(state.entries[leaf, d, CENTRE] + noise)
        first, second = self._parameters(d, leaf)
        if kind == CATEGORICAL:
            shares = np.cumsum(first / second[:, None], axis=1)
            points = rng.uniform(size=(leaf.size, 1)) * shares[:, -1:]
            return np.argmax(shares > points, axis=1).astype(np.float64)
        if kind == POISSON:
            return rng.poisson(rng.gamma(first[:, 0]) / second).astype(np.float64)
        q = rng.beta(first[:, 0], second)
        rate = rng.gamma(state.hyper[SHAPE, d], size=leaf.size) * q / np.maximum(1.0 - q, 1e-12)
        return rng.poisson(rate).astype(np.float64)


def _floored(
    shape: FloatArray, rate: FloatArray, floor: float, rng: np.random.Generator
) -> FloatArray:
    """Draw s with 1/s ~ Gamma(shape, rate), not below a floor."""
    if floor == 0.0:
        return np.asarray(rate / rng.standard_gamma(shape))
    below = gammainc(shape, rate / floor) * rng.uniform(size=np.shape(shape))
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(rate / gammaincinv(shape, below), floor))
