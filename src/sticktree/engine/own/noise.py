"""What chains with own noise have in common: moves of all that is not the tree, and densities.

They need the sums of the leaves only, and do not ask where the rows are.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import multigammaln

from sticktree.checks import FloatArray
from sticktree.engine.common.concentration import draw_concentration
from sticktree.engine.common.franchise import franchise_move
from sticktree.engine.common.links import (
    ALIVE,
)
from sticktree.engine.common.priors import log_inverse_gamma
from sticktree.engine.common.sampler import Sampler
from sticktree.engine.own.covariances import covariance_sweep
from sticktree.engine.own.densities import log_likelihood
from sticktree.engine.own.hyper import hyper_sweep, settle
from sticktree.engine.own.layout import Layout
from sticktree.engine.own.nodes import log_density_of_nodes, node_sweep, variance_sweep
from sticktree.engine.own.scales import scale_sweep
from sticktree.engine.own.state import (
    FORM,
    FULL,
    PHI,
    State,
)


class OwnNoise(Sampler):
    """A chain whose leaves have their own noise, but for its trees and rows."""

    traced: tuple[str, ...] = ("variance", "hyper")
    of_nodes = ("nodes", "coordinates")
    of_all = (*Sampler.of_all, "variance", "hyper", "psi")
    layout: Layout
    state: State

    def _imputed(self) -> FloatArray:
        """Return what is imputed of the data, if this is kept one by one."""
        return np.empty(0)

    def move_parameters(self, count: int = 1) -> int:
        """Redraw φ of the inner nodes and all that is learned besides the tree."""
        state, words, model = self.state, self.words, self.model
        node_sweep(state, words)
        if state.sizes[FORM] == FULL:
            covariance_sweep(state, words, model.psi)
            scale_sweep(state, words, model.psi)
            settle(state)
        hyper_sweep(state, words, self.layout.hyper_mean, self.layout.hyper_deviation)
        variance_sweep(state, words, *model.node_prior)
        if self.grouped:
            franchise_move(state, words, *self._learned(), *self._learned_of_groups())
        else:
            draw_concentration(state, words, *self._learned())
        return count

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

    def log_likelihood(self) -> float:
        """Return log p(Y | tree, φ, hyper-parameters), leaves integrated out."""
        return float(log_likelihood(self.state))

    def log_prior(self) -> float:
        """Return the log density of the tree, of φ, and of all that is learned."""
        state, model, layout = self.state, self.model, self.layout
        value = self._log_prior_of_tree() + log_density_of_nodes(state)
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
