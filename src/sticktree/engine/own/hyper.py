"""The move of κ, a and b of every column: slice sampling, with all leaves integrated out."""

from __future__ import annotations

import math
from typing import Any

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ALIVE
from sticktree.engine.common.random import RandomState
from sticktree.engine.common.slice import slice_sampler
from sticktree.engine.own.kinds.dispatch import constants
from sticktree.engine.own.kinds.dispatch import expect as expect_column
from sticktree.engine.own.leaves import expect, part_evidence, renew, set_empty
from sticktree.engine.own.state import SHAPE, State
from sticktree.engine.own.structure import list_ends
from sticktree.jit import jit, linked


@linked
def _log_hyper(x: float, parameters: Any) -> float:
    """Return the log density of the log of a hyper-parameter."""
    state, row, d, mean, deviation = parameters
    state.hyper[row, d] = math.exp(x)
    value = -0.5 * ((x - mean) / deviation) ** 2
    depth = state.levels.size - 1
    if row == SHAPE:
        value += constants(state, d)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == depth - 1:
            expect_column(state, d, node)
        elif state.nodes[node].level == depth:
            value += part_evidence(state, node, state.nodes[node].parent, d)
    return value


_draw_hyper = slice_sampler(_log_hyper)


@jit
def hyper_sweep(state: State, rng: RandomState, mean: FloatArray, deviation: FloatArray) -> None:
    """Redraw κ, a and b of every column; those whose prior has no deviation stay."""
    for d in range(state.columns.size):
        for row in range(3):
            if deviation[row, d] > 0.0:
                parameters = (state, row, d, mean[row, d], deviation[row, d])
                start = math.log(state.hyper[row, d])
                x = _draw_hyper(start, parameters, 1.0, rng)
                state.hyper[row, d] = math.exp(x)
    settle(state)


@jit
def settle(state: State) -> None:
    """Recompute all that depends on φ and the hyper-parameters."""
    depth = state.levels.size - 1
    list_ends(state)
    set_empty(state)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == depth - 1:
            expect(state, node)
        elif state.nodes[node].level == depth:
            renew(state, node)
