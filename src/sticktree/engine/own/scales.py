"""With full covariances: the move of the scale of Ψ, with all leaves integrated out.

Where leaves are small, a draw of Ψ given a covariance for each leaf moves by small steps only, as
these covariances say of Ψ what it said of them. Here Ψ goes to eᵗ Ψ, and t is slice sampled.
"""

from __future__ import annotations

import math
from typing import Any

from sticktree.engine.common.links import ALIVE
from sticktree.engine.common.random import RandomState
from sticktree.engine.common.slice import slice_sampler
from sticktree.engine.own.kinds.wishart import factorise, wishart_evidence
from sticktree.engine.own.state import LOG_PSI, State
from sticktree.jit import jit, linked

WIDTH = 0.3  # of the slice


@linked
def _log_scale(t: float, parameters: Any) -> float:
    """Return the log density of t, where Ψ is eᵗ Ψ₀."""
    state, psi, log_psi, scale = parameters
    size = state.gaussian.size
    growth = math.exp(t)
    # Its G (G + 1)/2 entries change by the factor eᵗ each.
    value = 0.5 * size * (size + 1) * t
    for e in range(size):
        for g in range(size):
            state.psi[e, g] = growth * psi[e, g]
        value -= 0.5 * (size + 1) / scale * state.psi[e, e]
    state.scalars[LOG_PSI] = log_psi + size * t
    for k in range(state.sizes[ALIVE]):
        leaf = state.order[k]
        if state.nodes[leaf].level == state.levels.size - 1:
            factorise(state, leaf, state.nodes[leaf].parent)
            value += wishart_evidence(state, leaf)
    return value


_draw_scale = slice_sampler(_log_scale)


@jit
def scale_sweep(state: State, rng: RandomState, scale: float) -> None:
    """Redraw the scale of Ψ ~ Wishart(G + 1, scale/(G + 1) I). The state must be settled after."""
    parameters = (state, state.psi.copy(), state.scalars[LOG_PSI], scale)
    _log_scale(_draw_scale(0.0, parameters, WIDTH, rng), parameters)
