"""The predictive distribution of a draw with shared noise, in standardised units.

Component k is N(A m_k, s_k Σ) with Σ = A Aᵀ, where m_k and s_k are those of the mixture in whitened
coordinates. Rows with missing entries are in missing.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.common.franchise import load_groups
from sticktree.engine.common.links import DISCOUNT, FACTOR
from sticktree.engine.points import whole_parameters
from sticktree.engine.shared.factor import (
    coloured,
    inverse_of,
    least_form,
    log_volume,
    whitened,
)
from sticktree.engine.shared.missing import (
    Gaps,
    complete,
    observed_log_density,
    observed_responsibilities,
)
from sticktree.engine.shared.mixture import (
    Mixture,
    leave_one_out,
    log_density,
    predictive_mixture,
    responsibilities,
)
from sticktree.engine.shared.seats import settle, take_sums
from sticktree.engine.shared.state import State, empty_state, load_tree, set_scales
from sticktree.model import Model

if TYPE_CHECKING:
    from sticktree.engine.draw import Draw
    from sticktree.tree import Tree


def predictives(
    draws: list[Draw], data: FloatArray, model: Model, group: int | None = None
) -> Iterator[SharedPredictive]:
    """Yield the predictive distribution of every draw, given the data it was learned from.

    Draws that have kept the sums of their leaves need no data. If the data belong to groups, it is
    that of the next row of a group, by default a new one; see `Groups.asked`.
    """
    if draws and "sums_n" in draws[0].parameters:
        yield from _from_sums(draws, model, group)
        return
    zeros = np.zeros_like(data)
    of_row = None if model.groups is None else model.groups.of_row
    scales = np.ones(model.depth + 1)
    line = None if model.groups is None else model.groups.line
    state = empty_state(zeros, model.shape, scales, 1.0, 0.0, model.noise, group=of_row, line=line)
    missing = np.isnan(data)
    for draw in draws:
        completed = data
        if "imputed" in draw.parameters:
            completed = data.copy()
            completed[missing] = draw.parameters["imputed"]
        factor = least_form(draw.parameters["factor"], model.covariance_type, data.shape[1])
        state.data[:] = whitened(completed, factor)
        rebuild(
            state,
            draw,
            draw.concentration,
            draw.discount,
            draw.parameters["scales"],
            model.less_discount,
        )
        if model.groups is not None:
            load_groups(state, whole_parameters(draw), *model.groups.asked(group))
            settle(state)
        yield SharedPredictive(predictive_mixture(state), factor, state, missing)


def rebuild(
    state: State,
    tree: Tree | Draw,
    concentration: float,
    discount: float,
    scales: FloatArray,
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
    set_parameters(state, concentration, discount, scales, less_discount)
    settle(state)


def set_parameters(
    state: State,
    concentration: float,
    discount: float,
    scales: FloatArray,
    less_discount: bool = False,
) -> None:
    """Put parameters into a state; it must be settled afterwards."""
    state.scalars[FACTOR], state.scalars[DISCOUNT] = concentration, discount
    state.levels["alpha"] = concentration * state.levels["shape"] - discount * less_discount
    state.levels["scale"] = scales
    set_scales(state)


def _from_sums(
    draws: list[Draw], model: Model, group: int | None = None
) -> Iterator[SharedPredictive]:
    """Yield the predictive distribution of every draw, from the sums of its leaves."""
    dimension = draws[0].parameters["sums_total"].shape[1]
    room = max(draw.parent.size for draw in draws)
    none, groups = (np.empty((0, dimension)), np.empty(0, dtype=np.int64)), model.of_sums().groups
    state = empty_state(
        np.empty((room, dimension)),
        model.shape,
        np.ones(model.depth + 1),
        1.0,
        0.0,
        model.noise,
        group=None if groups is None else groups.of_row,
        line=None if groups is None else groups.line,
    )
    lost = np.zeros(state.nodes.size)
    state = replace(state, data=none[0], leaf=none[1], group=state.group[:0], lost=lost)
    for draw in draws:
        factor = least_form(draw.parameters["factor"], model.covariance_type, dimension)
        parent = draw.parent.astype(np.int32)
        load_tree(state, parent, draw.level.astype(np.int32), np.empty(0, dtype=np.int32))
        set_parameters(
            state,
            draw.concentration,
            draw.discount,
            draw.parameters["scales"],
            model.less_discount,
        )
        leaves = np.flatnonzero(draw.level == model.depth).astype(np.int64)
        if groups is not None:
            load_groups(state, whole_parameters(draw), *groups.asked(group))
        total = whitened(draw.parameters["sums_total"], factor)
        n, seen = draw.parameters["sums_n"], draw.parameters["sums_seen"]
        take_sums(state, leaves, n, seen, np.ascontiguousarray(total))
        yield SharedPredictive(predictive_mixture(state), factor, state, np.isnan(none[0]))


class SharedPredictive:
    """A mixture in coordinates whitened by A, seen in standardised units.

    Parameters
    ----------
    mixture : Mixture
        The components.
    factor : float array, shape (D, D) or (D,)
        A, or its diagonal where that is all.
    state : State
        The state that the mixture is made from.
    missing : bool array, shape (N, D)
        Which entries of its data are imputed.
    """

    def __init__(
        self, mixture: Mixture, factor: FloatArray, state: State, missing: npt.NDArray[np.bool_]
    ) -> None:
        self.mixture = mixture
        self.factor = factor
        self.state = state
        self.missing = missing
        self.inverse = inverse_of(factor)

    def leave_one_out(self) -> FloatArray:
        """Return the log density of what is observed of each row of the data given all others."""
        if self.state.leaf.size == 0:
            raise ValueError(
                "leave-one-out densities need the rows of the data one by one: fit with "
                'algorithm="gibbs"'
            )
        return leave_one_out(self.state, self.factor, self.missing)

    @property
    def node(self) -> IntArray:
        """The node that each component hangs on or is."""
        return self.mixture.node

    @property
    def level(self) -> IntArray:
        """Where each new branch starts."""
        return self.mixture.level

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return the log density of the observed entries of every row; 0 if there are none."""
        rows = _Rows(x, self.factor, self.inverse)
        out = np.empty(x.shape[0])
        out[rows.whole] = log_density(self.mixture, rows.white[rows.whole])
        if rows.gaps.row.size:  # else their kernels need not be compiled
            out[rows.gaps.row] = observed_log_density(self.mixture, *rows.with_gaps)
        out -= log_volume(self.factor)
        out[rows.missing.all(axis=1)] = 0.0
        return out

    def responsibilities(self, x: FloatArray) -> FloatArray:
        """Return the probability that each row comes from each component."""
        rows = _Rows(x, self.factor, self.inverse)
        out = np.empty((x.shape[0], self.mixture.weight.size))
        out[rows.whole] = responsibilities(self.mixture, rows.white[rows.whole])
        if rows.gaps.row.size:
            out[rows.gaps.row] = observed_responsibilities(self.mixture, *rows.with_gaps)
        return out

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` rows."""
        weight = self.mixture.weight
        component = rng.choice(weight.size, n, p=weight / weight.sum())
        return coloured(self._draw(component, rng), self.factor)

    def conditional_mean(self, x: FloatArray) -> FloatArray:
        """Return ``x`` with the mean of what is missing given what is observed."""
        rows = _Rows(x, self.factor, self.inverse)
        share = observed_responsibilities(self.mixture, *rows.with_gaps)
        return self._completed(x, rows, share @ self.mixture.mean)

    def conditional_sample(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return ``x`` with a draw of what is missing given what is observed."""
        rows = _Rows(x, self.factor, self.inverse)
        below = np.cumsum(observed_responsibilities(self.mixture, *rows.with_gaps), axis=1)
        point = below[:, -1:] * rng.random((len(below), 1))
        component = (below <= point).sum(axis=1)
        return self._completed(x, rows, self._draw(component, rng))

    def _draw(self, component: npt.NDArray[np.intp], rng: np.random.Generator) -> FloatArray:
        """Draw a row from each of the components, in whitened coordinates."""
        noise = rng.standard_normal((component.size, self.factor.shape[0]))
        spread = np.sqrt(self.mixture.variance[component])[:, None]
        return np.asarray(self.mixture.mean[component] + spread * noise)

    def _completed(self, x: FloatArray, rows: _Rows, target: FloatArray) -> FloatArray:
        """Return ``x`` with the missing entries of what lies nearest to the targets."""
        white, gaps, inverse = rows.with_gaps
        complete(white, gaps, inverse, target)
        out = x.copy()
        out[gaps.row] = coloured(white, self.factor)
        return np.where(rows.missing, out, x)


class _Rows:
    """Rows in whitened coordinates, with zeros where entries are missing."""

    def __init__(self, x: FloatArray, factor: FloatArray, inverse: FloatArray) -> None:
        self.missing = np.isnan(x)
        self.gaps = Gaps.of(x)
        self.whole = np.flatnonzero(~self.missing.any(axis=1))
        filled = np.where(self.missing, 0.0, x) if self.gaps.row.size else x
        self.white = np.ascontiguousarray(whitened(filled, factor))
        self.with_gaps = self.white[self.gaps.row], self.gaps, inverse
