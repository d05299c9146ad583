"""What chains with shared noise have in common: moves of all that is not the tree, and densities.

They need the sums of the leaves and Yᵀ Y only, and do not ask where the rows are.

*Rates.* The prior of the noise has rates b, in standardised units, which are fixed or learned
(A. Huang and M. P. Wand, Bayesian Analysis 8, 2013):

    spherical   τ ~ Gamma(a, b)                             b ~ Gamma(½, g)
    diagonal    τ_d ~ Gamma(a, b_d)                         b_d ~ Gamma(½, g)
    full        Σ ~ InvWishart(D − 1 + 2a, 2 diag(b))       b_d ~ Gamma(½, g)

A standard deviation then has a half-t prior with 2a degrees of freedom, of scale 1/√(2ag): wide
noise and narrow noise are both likely enough, in each column by itself. Given Σ each rate is a
Gamma number again, with the precisions (Σ⁻¹)_dd in place of τ_d. No rate is below 10⁻⁴: the density
of a half-t is above 0 at 0, so that a column that never varies would have no noise at all, and the
posterior no integral.

*Rounding.* A value y that was rounded to a unit u stands for all between y − u/2 and y + u/2. The
likelihood of a row given its leaf is the geometric mean of its density over these, which is

    N(y; φ, rΣ) · exp(−½ tr((rΣ)⁻¹ F)),     F = diag(u²/12).

The second factor knows nothing of trees: to the moves of Σ and of v_l it is N F more of Yᵀ Y, and
to all others nothing. Without it a column that is nearly always the same would have next to no
noise, and decide of the tree.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, gammainccinv

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.common.links import ROOT
from sticktree.engine.common.priors import (
    log_gammas,
    log_inverse_gamma,
    log_inverse_wishart,
    log_scales,
)
from sticktree.engine.common.sampler import Sampler, Snapshot
from sticktree.engine.shared.factor import inverse_of, least_form, log_volume, times
from sticktree.engine.shared.messages import log_determinant
from sticktree.engine.shared.scales import draw_covariance, scale_sweep
from sticktree.engine.shared.seats import concentration_move, grouped_concentration_move, settle
from sticktree.engine.shared.spectrum import MANY, wide_scale_sweep
from sticktree.engine.shared.state import State

LEAST_RATE = 1e-4  # the noise of n rows that are alike has the variance 2e-4/n
FAR = 30.0  # above which a rate times the bound is so far out that exponentials do


class SharedNoise(Sampler):
    """A chain with shared noise, but for its trees and rows."""

    traced: tuple[str, ...] = ("scales", "noise")
    state: State
    factor: FloatArray  # A, Σ = A Aᵀ; its diagonal unless Σ is full
    rates: FloatArray  # b, (D,) or (1,) if spherical

    @property
    def n_data(self) -> int:
        """Number of rows in the tree."""
        return int(self.state.nodes["n"][ROOT])

    @property
    def covariance(self) -> FloatArray:
        """Σ as a matrix."""
        factor = np.diag(self.factor) if self.factor.ndim == 1 else self.factor
        return np.asarray(factor @ factor.T)

    def _squares(self) -> FloatArray:
        """Return Yᵀ Y/r in the coordinates whitened by Σ, in the form that Σ has."""
        raise NotImplementedError

    def _n_seen(self) -> IntArray:
        """Return how many rows have a value in each column."""
        raise NotImplementedError

    def _spread_squares(self) -> FloatArray:
        """Return the same with what rounding adds to it."""
        squares, floors = self._squares(), self.model.floors
        if floors is None:
            return squares
        floors = floors * self._n_seen() / self.model.noise
        if self.model.covariance_type == "full":
            inverse = inverse_of(self.factor)
            return np.asarray(squares + (inverse * floors) @ inverse.T)
        of_columns = (floors / self.factor**2)[None, :]
        if self.model.covariance_type == "spherical":
            of_columns = of_columns.sum(axis=1, keepdims=True)
        return np.asarray(squares + of_columns)

    def _whiten(self) -> None:
        """Bring the data, and all that depends on them, into the coordinates of the current Σ."""
        raise NotImplementedError

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """Return copies of all that is learned besides the tree, c and d.

        ``scales`` are v_l, in units of Σ. ``factor`` is A with Σ = A Aᵀ, in standardised units: a
        number if spherical, its diagonal if diagonal. ``noise`` is the geometric mean of the
        standard deviations of the noise. ``rates`` are b, if they are learned.
        """
        spherical = self.model.covariance_type == "spherical"
        size = log_volume(self.factor) / self.factor.shape[0]
        kept = {
            "scales": self.state.levels["scale"].copy(),
            "factor": np.asarray(self.factor[0]) if spherical else self.factor.copy(),
            "noise": np.asarray(math.exp(size)),
        }
        return kept | ({"rates": self.rates.copy()} if self.model.learns_rates else {})

    def move_concentration(self, count: int = 1) -> int:
        """Redraw c and d, as far as they are learned; with groups also γ and the sticks."""
        if self.grouped:
            of_groups = self._learned_of_groups()
            grouped_concentration_move(self.state, self.words, *self._learned(), *of_groups)
        else:
            concentration_move(self.state, self.words, *self._learned())
        return count

    def move_scales(self, count: int = 1) -> int:
        """Redraw b, if it is learned, every v_l, if each level has its own, and Σ."""
        state, model = self.state, self.model
        n_data, dimension = self.n_data, self.factor.shape[0]
        if model.learns_rates:
            self._draw_rates()
        squares = self._spread_squares()
        shape, rate = model.precision_prior[0], self._prior_rate()
        if model.scales == "per_level":
            wide = model.covariance_type == "full" and dimension >= MANY
            sweep = wide_scale_sweep if wide else scale_sweep
            sweep(state, self.words, squares, model.scale_prior, shape, rate)
            settle(state)
        log_determinant(state, squares)
        step = draw_covariance(squares, n_data, dimension, shape, rate, self.rng)
        self.factor = times(self.factor, step)
        self._whiten()
        return count

    def _draw_rates(self) -> None:
        """Redraw b given Σ."""
        shape, rate = self._law_of_rates()
        self.rates = gamma_above(shape, rate, LEAST_RATE, self.rng)

    def _law_of_rates(self) -> tuple[float, FloatArray]:
        """Return shape and rates of the Gamma law of each b given Σ."""
        a, (shape, rate) = self.model.precision_prior[0], self.model.rate_prior
        # (Σ⁻¹)_dd is the sum of squares of column d of A⁻¹.
        precision = (inverse_of(self.factor) ** 2).sum(axis=0)
        if self.model.covariance_type == "spherical":
            return shape + a, rate + precision[:1]
        more = 0.5 * (precision.size - 1) if self.model.covariance_type == "full" else 0.0
        return shape + a + more, rate + precision

    def _first_rates(self) -> FloatArray:
        """Return b as it is fixed, or what is expected of it given the first Σ."""
        fixed = self.model.precision_prior[1]
        if fixed is None:
            shape, rate = self._law_of_rates()
            return np.maximum(shape / rate, LEAST_RATE)
        spherical = self.model.covariance_type == "spherical"
        return np.full(1 if spherical else self.factor.shape[0], fixed)

    def _prior_rate(self) -> FloatArray:
        """Return b, or diag(b), in the coordinates whitened by the current Σ."""
        if self.model.covariance_type == "full":
            inverse = inverse_of(self.factor)
            return np.asarray((inverse * self.rates) @ inverse.T)
        return (self.rates / self.factor[: self.rates.size] ** 2)[None, :]

    def log_likelihood(self) -> float:
        """Return log p(Y | tree, v, Σ)."""
        n_data, dimension = self.n_data, self.factor.shape[0]
        squares = self._spread_squares()
        log_det = log_determinant(self.state, squares)
        square = np.trace(squares) if squares.shape[0] == squares.shape[1] else squares.sum()
        value = dimension * log_det + square + n_data * dimension * math.log(2 * math.pi)
        return float(-0.5 * value - n_data * log_volume(self.factor))

    def log_prior(self) -> float:
        """Return the log density of the tree and of all that is learned."""
        value = self._log_prior_of_tree()
        if self.model.scales == "per_level":
            value += log_scales(self.state.levels["scale"], *self.model.scale_prior)
        if self.model.learns_rates:
            shape, rate = self.model.rate_prior
            value += log_gammas(self.rates, shape, rate)
            value -= self.rates.size * math.log(gammaincc(shape, rate * LEAST_RATE))
        return value + self._log_prior_covariance()

    def _log_prior_covariance(self) -> float:
        a = self.model.precision_prior[0]
        if self.model.covariance_type == "full":
            degrees = self.factor.shape[0] - 1 + 2 * a
            return log_inverse_wishart(self.factor, degrees, 2.0 * self.rates)
        return log_inverse_gamma(self.factor[: self.rates.size] ** 2, a, self.rates)

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that it takes to go on with the identical draws, but the rows and ``rng``."""
        kept = {"rates": self.rates.copy()} if self.model.learns_rates else {}
        return super().snapshot() | kept | {"factor": self.factor.copy()}

    def _load_noise(self, snapshot: Snapshot) -> None:
        """Take Σ and its rates over from a snapshot; old ones have a matrix in any form."""
        factor = snapshot["factor"]
        self.factor = least_form(factor, self.model.covariance_type, len(factor))
        self.rates = snapshot["rates"].copy() if "rates" in snapshot else self._first_rates()


def gamma_above(
    shape: float, rate: FloatArray, least: float, rng: np.random.Generator
) -> FloatArray:
    """Draw Gamma(shape, rate) numbers, none of them below ``least``."""
    found = rng.standard_gamma(shape, rate.size) / rate
    below = found < least
    if below.any():
        bound = rate[below] * least
        found[below] = np.maximum(_tail(shape, bound, rng) / rate[below], least)
    return found


def _tail(shape: float, bound: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw Gamma(shape, 1) numbers above bounds."""
    out = np.empty_like(bound)
    far = bound > FAR + 2.0 * shape
    near = gammaincc(shape, bound[~far]) * (1.0 - rng.random(int((~far).sum())))
    out[~far] = gammainccinv(shape, near)
    left = np.flatnonzero(far)
    while left.size:
        # x^(shape − 1) e^(−x) is below the exponential that touches it at the bound; if it falls
        # faster than e^(−x), below that.
        start, tangent = bound[left], float(shape > 1.0)
        slope = 1.0 - tangent * (shape - 1.0) / start
        beyond = rng.standard_exponential(left.size) / slope
        log_share = (shape - 1.0) * (np.log1p(beyond / start) - tangent * beyond / start)
        taken = np.log(1.0 - rng.random(left.size)) < log_share
        out[left[taken]] = (start + beyond)[taken]
        left = left[~taken]
    return out
