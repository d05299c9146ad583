"""The move of φ at the inner nodes, and of the variances v_l of the steps between them.

Above the last inner level φ is normal given its parent and children. There it answers to its
leaves, whose evidence is slice sampled coordinate by coordinate; with full covariances each leaf
first draws its own, and φ is normal given those (see covariances.py).
"""

from __future__ import annotations

import math
from typing import Any

from sticktree.engine.common.links import ALIVE, ROOT
from sticktree.engine.common.random import RandomState, gamma, normal
from sticktree.engine.common.slice import slice_sampler
from sticktree.engine.own.kinds.dispatch import expect as expect_column
from sticktree.engine.own.leaves import expect, part_evidence, renew
from sticktree.engine.own.state import FORM, FULL, GAUSSIAN, PHI, State
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL


@linked
def _log_coordinate(x: float, parameters: Any) -> float:
    """Return the log density of φ at coordinate p of a node of the last inner level."""
    state, node, d, p, mean = parameters
    level = state.nodes[node].level
    state.coordinates[node, p, PHI] = x
    expect_column(state, d, node)
    value = -0.5 * (x - mean) ** 2 / state.variance[level, p]
    child = state.nodes[node].first_child
    while child != NULL:
        value += part_evidence(state, child, node, d)
        child = state.nodes[child].next_sibling
    return value


_draw_coordinate = slice_sampler(_log_coordinate)


@jit
def node_sweep(state: State, rng: RandomState) -> None:
    """Redraw φ of every inner node, from the root down."""
    last = state.levels.size - 2
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if level < last:
            _draw_between(state, node, rng)
        elif level == last:
            _draw_above_leaves(state, node, rng)


@linked
def _draw_between(state: State, node: int, rng: RandomState) -> None:
    """Redraw φ of a node whose children have a φ, too."""
    level = state.nodes[node].level
    for p in range(state.coordinates.shape[1]):
        precision = 1.0 / state.variance[level, p]
        weighted = 0.0
        if node != ROOT:
            weighted = state.coordinates[state.nodes[node].parent, p, PHI] * precision
        child = state.nodes[node].first_child
        while child != NULL:
            precision += 1.0 / state.variance[level + 1, p]
            weighted += state.coordinates[child, p, PHI] / state.variance[level + 1, p]
            child = state.nodes[child].next_sibling
        state.coordinates[node, p, PHI] = weighted / precision + normal(rng) / math.sqrt(precision)


@linked
def _draw_above_leaves(state: State, node: int, rng: RandomState) -> None:
    """Redraw φ of a node whose children are leaves."""
    for d in range(state.columns.size):
        if state.sizes[FORM] == FULL and state.columns[d].kind == GAUSSIAN:
            continue
        at = state.columns[d].offset
        for p in range(at, at + state.columns[d].width):
            mean = 0.0 if node == ROOT else state.coordinates[state.nodes[node].parent, p, PHI]
            width = 2.0 * math.sqrt(state.variance[state.nodes[node].level, p])
            parameters = (state, node, d, p, mean)
            state.coordinates[node, p, PHI] = _draw_coordinate(
                state.coordinates[node, p, PHI], parameters, width, rng
            )
            expect_column(state, d, node)
    expect(state, node)
    child = state.nodes[node].first_child
    while child != NULL:
        renew(state, child)
        child = state.nodes[child].next_sibling


@jit
def variance_sweep(state: State, rng: RandomState, shape: float, rate: float) -> None:
    """Redraw every v_l: inverse gamma given φ."""
    for level in range(state.variance.shape[0]):
        for p in range(state.coordinates.shape[1]):
            n, square = 0, 0.0
            for k in range(state.sizes[ALIVE]):
                node = state.order[k]
                if state.nodes[node].level == level:
                    above = (
                        0.0 if node == ROOT else state.coordinates[state.nodes[node].parent, p, PHI]
                    )
                    square += (state.coordinates[node, p, PHI] - above) ** 2
                    n += 1
            draw = gamma(rng, shape + 0.5 * n)
            state.variance[level, p] = (rate + 0.5 * square) / draw


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
