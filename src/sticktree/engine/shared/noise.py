"""What chains with shared noise have in common: moves of all that is not the tree, and densities.

They need the sums of the leaves and Yᵀ Y only, and do not ask where the rows are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ROOT
from sticktree.engine.common.priors import (
    log_inverse_gamma,
    log_inverse_wishart,
    log_scales,
)
from sticktree.engine.common.sampler import Sampler
from sticktree.engine.shared.messages import log_determinant
from sticktree.engine.shared.scales import draw_covariance, scale_sweep
from sticktree.engine.shared.seats import concentration_move, grouped_concentration_move, settle
from sticktree.engine.shared.state import State

FIRST_VARIANCE = 0.05  # of the noise when a chain starts, in units of the data's own variance


class SharedNoise(Sampler):
    """A chain with shared noise, but for its trees and rows."""

    traced: tuple[str, ...] = ("scales", "noise")
    state: State
    factor: FloatArray  # A, Σ = A Aᵀ

    @property
    def n_data(self) -> int:
        """Number of rows in the tree."""
        return int(self.state.nodes["n"][ROOT])

    def _squares(self) -> FloatArray:
        """Return Yᵀ Y/r in the coordinates whitened by Σ, in the form that Σ has."""
        raise NotImplementedError

    def _whiten(self) -> None:
        """Bring the data, and all that depends on them, into the coordinates of the current Σ."""
        raise NotImplementedError

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all that is learned besides the tree, c and d.

        ``scales`` are v_l, in units of Σ. ``factor`` is A with Σ = A Aᵀ, in standardised units: a
        number if spherical, its diagonal if diagonal. ``noise`` is the geometric mean of the
        standard deviations of the noise.
        """
        diagonal = np.diag(self.factor).copy()
        form = {"spherical": diagonal[0], "diag": diagonal, "full": self.factor.copy()}
        size = np.linalg.slogdet(self.factor)[1] / diagonal.size
        return {
            "scales": self.state.levels["scale"].copy(),
            "factor": np.asarray(form[self.model.covariance_type]),
            "noise": np.asarray(math.exp(size)),
        }

    def move_concentration(self, count: int = 1) -> int:
        """Redraw c and d, as far as they are learned; with groups also γ and the sticks."""
        if self.grouped:
            of_groups = self._learned_of_groups()
            grouped_concentration_move(self.state, self.words, *self._learned(), *of_groups)
        else:
            concentration_move(self.state, self.words, *self._learned())
        return count

    def move_scales(self, count: int = 1) -> int:
        """Redraw every v_l, if each level has its own, and Σ."""
        state, model = self.state, self.model
        n_data, dimension = self.n_data, self.factor.shape[0]
        squares = self._squares()
        shape, rate = model.precision_prior[0], self._prior_rate()
        if model.scales == "per_level":
            scale_sweep(state, self.words, squares, model.scale_prior, shape, rate)
            settle(state)
        log_determinant(state, squares)
        step = draw_covariance(squares, n_data, dimension, shape, rate, self.rng)
        self.factor = self.factor * step if step.ndim == 1 else self.factor @ step
        self._whiten()
        return count

    def _prior_rate(self) -> FloatArray:
        """Return b, or b I, in the coordinates whitened by the current Σ."""
        rate = self.model.precision_prior[1]
        if self.model.covariance_type == "full":
            inverse = np.linalg.inv(self.factor)
            return np.asarray(rate * inverse @ inverse.T)
        variances = np.diag(self.factor) ** 2
        used = variances if self.model.covariance_type == "diag" else variances[:1]
        return rate / used[None, :]

    def log_likelihood(self) -> float:
        """Return log p(Y | tree, v, Σ)."""
        n_data, dimension = self.n_data, self.factor.shape[0]
        squares = self._squares()
        log_det = log_determinant(self.state, squares)
        square = np.trace(squares) if squares.shape[0] == squares.shape[1] else squares.sum()
        value = dimension * log_det + square + n_data * dimension * math.log(2 * math.pi)
        return float(-0.5 * value - n_data * np.linalg.slogdet(self.factor)[1])

    def log_prior(self) -> float:
        """Return the log density of the tree and of all that is learned."""
        value = self._log_prior_of_tree()
        if self.model.scales == "per_level":
            value += log_scales(self.state.levels["scale"], *self.model.scale_prior)
        return value + self._log_prior_covariance()

    def _log_prior_covariance(self) -> float:
        a, b = self.model.precision_prior
        dimension = self.factor.shape[0]
        variances = np.diag(self.factor) ** 2
        if self.model.covariance_type == "spherical":
            return log_inverse_gamma(variances[:1], a, b)
        if self.model.covariance_type == "diag":
            return log_inverse_gamma(variances, a, b)
        return log_inverse_wishart(self.factor, dimension - 1 + 2 * a, 2 * b)
