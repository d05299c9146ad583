"""The tree of a chain with shared noise, whose leaves have sums and no rows."""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ALIVE, DISCOUNT, ROOT, Index, TreeState, list_nodes
from sticktree.engine.common.random import RandomState, log_gamma_number, normal
from sticktree.engine.shared.messages import edge_variance
from sticktree.engine.shared.state import State, attach, detach, make_node, release_node
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL


@jit
def draw_places(
    state: State,
    leaves: Index,
    phi: FloatArray,
    theta: FloatArray,
    above: FloatArray,
    rng: RandomState,
) -> None:
    """Draw φ of all nodes given the sums: of leaves, and of the level above each leaf.

    ``phi`` is room for all nodes. The level above a leaf may lie on an edge: there φ is a Gaussian
    bridge between its ends.
    """
    depth, dimension = state.levels.size - 1, phi.shape[1]
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        step, gain = edge_variance(state, node), state.nodes[node].gain
        spread = math.sqrt(step * gain)
        for d in range(dimension):
            mean = step * state.weighted[node, d]
            if node != ROOT:
                mean += phi[state.nodes[node].parent, d]
            phi[node, d] = gain * mean + spread * normal(rng)
    last = state.levels[depth].scale
    for k in range(leaves.size):
        leaf = leaves[k]
        parent = state.nodes[leaf].parent
        before = state.levels[depth - 1].reach - state.levels[state.nodes[parent].level].reach
        spread = math.sqrt(before * last / (before + last))
        for d in range(dimension):
            theta[k, d] = phi[leaf, d]
            above[k, d] = phi[parent, d]
            if state.nodes[parent].level < depth - 1:
                mean = (last * phi[parent, d] + before * phi[leaf, d]) / (before + last)
                above[k, d] = mean + spread * normal(rng)


@linked
def _log_share(rng: RandomState, a: float, b: float) -> float:
    """Return the log of a Beta(a, b) number."""
    first, second = log_gamma_number(rng, a), log_gamma_number(rng, b)
    largest = max(first, second)
    return first - largest - math.log(math.exp(first - largest) + math.exp(second - largest))


@jit
def draw_weights(state: TreeState, leaves: Index, path: FloatArray, rng: RandomState) -> FloatArray:
    """Draw the sticks of all branches given the counts; return the log weight of every leaf.

    ``path`` is room for all nodes. At a node with K children they are Dirichlet(n_k − d, …,
    α + K d), the last for all branches that are not there.
    """
    d = state.scalars[DISCOUNT]
    path[ROOT] = 0.0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].n_children == 0:
            continue
        level = state.nodes[node].level
        rest = state.levels[level].alpha + d * state.nodes[node].n_children
        log_total = log_gamma_number(rng, rest)
        child = state.nodes[node].first_child
        while child != NULL:
            path[child] = log_gamma_number(rng, state.nodes[child].n - d)
            largest = max(log_total, path[child])
            log_total = largest + math.log(
                math.exp(log_total - largest) + math.exp(path[child] - largest)
            )
            child = state.nodes[child].next_sibling
        child = state.nodes[node].first_child
        while child != NULL:
            path[child] += path[node] - log_total
            for j in range(level + 1, state.nodes[child].level):
                n = state.nodes[child].n - d
                path[child] += _log_share(rng, n, state.levels[j].alpha + d)
            child = state.nodes[child].next_sibling
    out = np.empty(leaves.size)
    for k in range(leaves.size):
        out[k] = path[leaves[k]]
    return out


@jit
def split_leaf(state: State, leaf: int) -> int:
    """Return a new leaf beside a leaf; the counts must follow."""
    depth = state.levels.size - 1
    parent = state.nodes[leaf].parent
    node = make_node(state, depth)
    attach(state, node, parent if state.nodes[parent].level == depth - 1 else leaf, depth - 1)
    list_nodes(state)
    return node


@jit
def join_leaves(state: State, removed: int) -> None:
    """Take a leaf away that has a sibling; the counts must follow."""
    detach(state, removed)
    release_node(state, removed)
    list_nodes(state)
