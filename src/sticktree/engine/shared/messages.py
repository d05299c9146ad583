"""Gaussian messages on the tree, in whitened coordinates: one scalar precision a node.

Root φ ~ N(0, v_0), child φ ~ N(φ_parent, V) where V sums the scales of the levels on its edge,
datum y ~ N(φ_leaf, r). Each dimension is independent and has the same precisions.

Upward, Λ and h of a node are precision and precision × mean of what the data below say of φ:

    leaf      Λ = n/r          h = Σ y/r         (fewer than n if it has moved since; see `told`)
    edge      G = 1/(1 + Λ V)  and the parent receives Λ G and h G

Downward, given all data, φ_child | φ_parent has mean G (φ_parent + V h) and variance V G, so

    M_child = G (M_parent + V h)          W_child = G² W_parent + V G.

The covariance of φ_child with any φ outside its subtree is G times its parent's.

Upward messages are always up to date; means and variances are computed where they are needed, and
bear the time at which they were.
"""

from __future__ import annotations

import math

from sticktree.checks import FloatArray
from sticktree.engine.common.links import ALIVE, CLOCK, ROOT
from sticktree.engine.shared.state import DRIFT, NOISE, State
from sticktree.jit import inlined, jit, linked
from sticktree.tree.arrays import NULL


@inlined
def edge_variance(state: State, node: int) -> float:
    """Return V, the variance of the steps from the parent down to a node (for the root, v_0)."""
    if node == ROOT:
        return state.levels[0].scale
    return (
        state.levels[state.nodes[node].level].reach
        - state.levels[state.nodes[state.nodes[node].parent].level].reach
    )


@inlined
def told(state: State, leaf: int) -> float:
    """Return as how many data those of a leaf tell of its place.

    Fewer than they are if it has moved since: see `sticktree.engine.online.drifting`.
    """
    n = float(state.nodes[leaf].n)
    if state.lost.size:
        n -= state.lost[leaf]
    return n


@linked
def receive(state: State, node: int) -> None:
    """Recompute the upward message of a node from its data or its children."""
    dimension = state.total.shape[1]
    if state.nodes[node].level == state.levels.size - 1:
        r = state.scalars[NOISE]
        state.nodes[node].precision = told(state, node) / r
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


@linked
def receive_path(state: State, node: int) -> None:
    """Recompute the upward messages of a node and of all above it."""
    while node != NULL:
        receive(state, node)
        node = state.nodes[node].parent
    state.sizes[CLOCK] += 1


@inlined
def carry(state: State, leaf: int, i: int, sign: float) -> None:
    """Add a datum to the messages of a leaf and of all above it, or take it away.

    The leaf must count its data right.
    """
    dimension, r = state.total.shape[1], state.scalars[NOISE]
    node, more = leaf, 0.0
    while node != NULL:
        before, precision = state.nodes[node].gain, state.nodes[node].precision
        now = state.nodes[node].n / r if node == leaf else precision + more
        gain = 1.0 / (1.0 + now * edge_variance(state, node))
        state.nodes[node].precision = now
        state.nodes[node].gain = gain
        more = now * gain - precision * before
        for d in range(dimension):
            old = state.weighted[node, d]
            if node == leaf:
                state.total[leaf, d] += sign * state.data[i, d]
                new = state.total[leaf, d] / r
            else:
                new = old + state.shift[d]
            state.weighted[node, d] = new
            state.shift[d] = new * gain - old * before
        node = state.nodes[node].parent
    state.sizes[CLOCK] += 1


@inlined
def locate(state: State, node: int) -> None:
    """Bring mean and variance of φ at a node up to date, and those of all above it."""
    clock = state.sizes[CLOCK]
    while state.nodes[node].stamp != clock:
        top = node
        while top != ROOT and state.nodes[state.nodes[top].parent].stamp != clock:
            top = state.nodes[top].parent
        _locate(state, top)


@inlined
def _locate(state: State, node: int) -> None:
    """Compute mean and variance of φ at a node from those of its parent."""
    dimension = state.total.shape[1]
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
    if state.nodes[node].level == state.levels.size - 1:
        slot = state.nodes[node].slot
        # W ≤ r/n, and at most twice that without a datum of another leaf.
        state.narrow[slot] = 1.0 / (state.scalars[NOISE] * (1.0 + 2.0 / told(state, node)))
        for d in range(dimension):
            state.centre[d, slot] = state.mean[node, d]
    state.nodes[node].stamp = state.sizes[CLOCK]


@linked
def send(state: State) -> None:
    """Recompute mean and variance of φ given all data, for all nodes from the root down."""
    state.sizes[CLOCK] = 0
    state.scalars[DRIFT] = 0.0
    for k in range(state.sizes[ALIVE]):
        _locate(state, state.order[k])


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


@linked
def count_siblings(state: State, node: int, level: int) -> int:
    """Return the number of nodes at ``level`` below the same node of the level above."""
    parent = state.nodes[node].parent
    return state.nodes[parent].n_children if state.nodes[parent].level == level - 1 else 1


@linked
def look_outside(state: State, first: int, second: int, level: int, mean: FloatArray) -> float:
    """Fill in the mean of φ one level up given all data but theirs; return its variance.

    The nodes cross ``level``; they may be one and the same.
    """
    parent = state.nodes[first].parent
    precision = 1.0 / state.nodes[parent].variance
    for d in range(mean.size):
        mean[d] = state.mean[parent, d] * precision
    for k in range(1 if first == second else 2):
        node = first if k == 0 else second
        gain = state.nodes[node].gain
        precision -= state.nodes[node].precision * gain
        for d in range(mean.size):
            mean[d] -= state.weighted[node, d] * gain
    for d in range(mean.size):
        mean[d] /= precision
    above = state.levels[state.nodes[parent].level].reach
    return 1.0 / precision + state.levels[level - 1].reach - above
