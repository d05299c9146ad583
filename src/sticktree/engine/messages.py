"""Gaussian messages on the tree, in whitened coordinates: one scalar precision a node.

Root φ ~ N(0, v_0), child φ ~ N(φ_parent, V) where V sums the scales of the levels on its edge,
datum y ~ N(φ_leaf, r). Each dimension is independent and has the same precisions.

Upward, Λ and h of a node are precision and precision × mean of what the data below say of φ:

    leaf      Λ = n/r          h = Σ y/r
    edge      G = 1/(1 + Λ V)  and the parent receives Λ G and h G

Downward, given all data, φ_child | φ_parent has mean G (φ_parent + V h) and variance V G, so

    M_child = G (M_parent + V h)          W_child = G² W_parent + V G.

The covariance of φ_child with any φ outside its subtree is G times its parent's.
"""

from __future__ import annotations

import math

from sticktree.checks import FloatArray
from sticktree.engine.state import ALIVE, NOISE, ROOT, State
from sticktree.jit import jit
from sticktree.tree import NULL

__all__ = ["edge_variance", "log_determinant", "receive", "receive_path", "send"]


@jit
def edge_variance(state: State, node: int) -> float:
    """Return V, the variance of the steps from the parent down to a node (for the root, v_0)."""
    if node == ROOT:
        return state.levels[0].scale
    return (
        state.levels[state.nodes[node].level].reach
        - state.levels[state.nodes[state.nodes[node].parent].level].reach
    )


@jit
def receive(state: State, node: int) -> None:
    """Recompute the upward message of a node from its data or its children."""
    dimension = state.total.shape[1]
    if state.nodes[node].level == state.levels.size - 1:
        r = state.scalars[NOISE]
        state.nodes[node].precision = state.nodes[node].n / r
        for d in range(dimension):
            state.weighted[node, d] = state.total[node, d] / r
    else:
        precision = 0.0
        for d in range(dimension):
            state.weighted[node, d] = 0.0
        child = state.nodes[node].first_child
        while child != NULL:
            gain = state.nodes[child].gain
            precision += state.nodes[child].precision * gain
            for d in range(dimension):
                state.weighted[node, d] += state.weighted[child, d] * gain
            child = state.nodes[child].next_sibling
        state.nodes[node].precision = precision
    state.nodes[node].gain = 1.0 / (1.0 + state.nodes[node].precision * edge_variance(state, node))


@jit
def receive_path(state: State, node: int) -> None:
    """Recompute the upward messages of a node and of all above it."""
    while node != NULL:
        receive(state, node)
        node = state.nodes[node].parent


@jit
def send(state: State) -> None:
    """Recompute mean and variance of φ given all data, for all nodes from the root down."""
    dimension = state.total.shape[1]
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        gain, step = state.nodes[node].gain, edge_variance(state, node)
        if node == ROOT:
            state.nodes[node].variance = step * gain
            for d in range(dimension):
                state.mean[node, d] = gain * step * state.weighted[node, d]
        else:
            above = state.nodes[node].parent
            state.nodes[node].variance = gain * (gain * state.nodes[above].variance + step)
            for d in range(dimension):
                mean = state.mean[above, d] + step * state.weighted[node, d]
                state.mean[node, d] = gain * mean


@jit
def log_determinant(state: State, quadratic: FloatArray) -> float:
    """Return log |S| and add Yᵀ S⁻¹ Y to ``quadratic``, where Y ~ MN(0, S, I) given the tree.

    Only the part that depends on the tree and the scales is added: what is missing is Yᵀ Y/r.
    ``quadratic`` is (1, 1) for its trace, (1, D) for its diagonal, (D, D) for all of it.
    """
    dimension = state.total.shape[1]
    total = state.nodes[ROOT].n * math.log(state.scalars[NOISE])
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        step = edge_variance(state, node)
        total -= math.log(state.nodes[node].gain)
        factor = step * state.nodes[node].gain
        if quadratic.shape[1] == 1:
            square = 0.0
            for d in range(dimension):
                square += state.weighted[node, d] ** 2
            quadratic[0, 0] -= factor * square
        elif quadratic.shape[0] == 1:
            for d in range(dimension):
                quadratic[0, d] -= factor * state.weighted[node, d] ** 2
        else:
            for d in range(dimension):
                for e in range(dimension):
                    quadratic[d, e] -= factor * state.weighted[node, d] * state.weighted[node, e]
    return total
