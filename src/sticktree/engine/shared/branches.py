"""New branches for a datum, at any node and on any edge.

Their weights are bounded without looking at the datum (seats.py). `find_branch` takes the bounds in
place of the weights: it walks down to the branch that covers a point, computes its exact weight and
says whether that covers the point, too. Where the bounds outweigh the leaves, `weigh_all` computes
all weights instead.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.random import RandomState, gumbel, uniform
from sticktree.engine.shared.messages import edge_variance, locate
from sticktree.engine.shared.near import weigh_leaf
from sticktree.engine.shared.seats import tail
from sticktree.engine.shared.state import ALIVE, DISCOUNT, NOISE, ROOT, UNLISTED, State
from sticktree.engine.shared.structure import list_nodes
from sticktree.jit import inlined, jit
from sticktree.tree import NULL

__all__ = ["choose_exactly", "find_branch", "log_density"]

TINY = 1e-280  # sums of weights below this may have lost some to underflow


@jit
def find_branch(state: State, y: FloatArray, lack: float, point: float) -> tuple[int, int]:
    """Return node and level of the new branch whose weight covers ``point``; (NULL, 0) if none."""
    d, node = state.scalars[DISCOUNT], state.order[0]  # the root
    while True:
        # The point is in units of the weight of the node's children.
        point /= state.nodes[node].inverse
        if point < state.nodes[node].opening:
            level = state.nodes[node].level
            chance = state.levels[level].alpha + d * state.nodes[node].n_children
            if point < chance * _density(state, node, level, y, lack):
                return node, level
            return NULL, 0
        point -= state.nodes[node].opening
        child = state.nodes[node].first_child
        while child != NULL and point >= state.nodes[child].share:
            point -= state.nodes[child].share
            child = state.nodes[child].next_sibling
        if child == NULL:
            return NULL, 0
        if point < state.nodes[child].opening_above:
            n = state.nodes[child].n
            passing = n - d
            for j in range(state.nodes[node].level + 1, state.nodes[child].level):
                here = passing / (n + state.levels[j].alpha)
                chance = here * (state.levels[j].alpha + d)
                if point < chance * state.levels[j].bound:
                    if point < chance * _density(state, child, j, y, lack):
                        return child, j
                    return NULL, 0
                point -= chance * state.levels[j].bound
                passing = here * (n - d)
            return NULL, 0
        if state.nodes[child].n_children == 0:
            return NULL, 0
        point = (point - state.nodes[child].opening_above) / state.nodes[child].passing
        node = child


@inlined
def _density(state: State, node: int, level: int, y: FloatArray, lack: float) -> float:
    """Return the density of the datum at hand on a new branch."""
    locate(state, node)
    _find_covariance(state, node)
    if state.nodes[node].level != level:
        _find_covariance(state, state.nodes[node].parent)
    return math.exp(log_density(state, node, level, y, tail(state, level), lack))


@inlined
def _find_covariance(state: State, node: int) -> None:
    """Fill in the covariance of φ at a node with that of the leaf at hand."""
    c, top = 1.0, node
    while state.nodes[top].left == 0:
        c *= state.nodes[top].gain
        top = state.nodes[top].parent
    state.nodes[node].covariance = c * state.nodes[top].covariance


@jit
def choose_exactly(state: State, y: FloatArray, lack: float, rng: RandomState) -> tuple[int, int]:
    """Choose among all leaves and new branches by their exact weights."""
    _complete(state)
    depth = state.levels.size - 1
    total, chosen = 0.0, NULL
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == depth:
            weight = weigh_leaf(state, node, y, lack)
            total += weight
            if uniform(rng) * total < weight:
                chosen = node
    branches, node, level = _weigh_branches(state, y, lack, rng)
    if not total + branches > TINY:
        return _choose_by_logs(state, y, lack, rng)
    if uniform(rng) * (total + branches) < total:
        return chosen, depth
    return node, level


@jit
def _complete(state: State) -> None:
    """Bring all nodes up to date and fill in their covariances and paths for the datum at hand."""
    if state.sizes[UNLISTED]:
        list_nodes(state)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        locate(state, node)
        if state.nodes[node].left == 0:
            above = state.nodes[node].parent
            state.nodes[node].covariance = state.nodes[node].gain * state.nodes[above].covariance
            state.nodes[node].path = (
                state.nodes[above].path * state.nodes[above].inverse * state.nodes[node].passing
            )


@jit
def _weigh_branches(
    state: State, y: FloatArray, lack: float, rng: RandomState
) -> tuple[float, int, int]:
    """Return the sum of the weights of all new branches, and one of them drawn by weight."""
    depth, d = state.levels.size - 1, state.scalars[DISCOUNT]
    total, chosen, chosen_level = 0.0, NULL, 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if node != ROOT:
            above, n = state.nodes[node].parent, state.nodes[node].n
            passing = state.nodes[above].path * state.nodes[above].inverse * (n - d)
            for j in range(state.nodes[above].level + 1, level):
                here = passing / (n + state.levels[j].alpha)
                weight = here * (state.levels[j].alpha + d)
                weight *= math.exp(log_density(state, node, j, y, tail(state, j), lack))
                total += weight
                if uniform(rng) * total < weight:
                    chosen, chosen_level = node, j
                passing = here * (n - d)
        if level < depth:
            alpha = state.levels[level].alpha + d * state.nodes[node].n_children
            weight = state.nodes[node].path * state.nodes[node].inverse * alpha
            weight *= math.exp(log_density(state, node, level, y, tail(state, level), lack))
            total += weight
            if uniform(rng) * total < weight:
                chosen, chosen_level = node, level
    return total, chosen, chosen_level


@jit
def _choose_by_logs(state: State, y: FloatArray, lack: float, rng: RandomState) -> tuple[int, int]:
    """Choose among all leaves and new branches where the weights themselves are too small."""
    depth, d = state.levels.size - 1, state.scalars[DISCOUNT]
    best, chosen, chosen_level = -np.inf, NULL, 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        chance = state.nodes[node].path
        if level < depth:
            alpha = state.levels[level].alpha + d * state.nodes[node].n_children
            chance *= alpha * state.nodes[node].inverse
        value = log_density(state, node, level, y, tail(state, level), lack)
        value += math.log(chance) + gumbel(rng)
        if value > best:
            best, chosen, chosen_level = value, node, level
        if node != ROOT:
            above, n = state.nodes[node].parent, state.nodes[node].n
            passing = math.log(state.nodes[above].path * state.nodes[above].inverse * (n - d))
            for j in range(state.nodes[above].level + 1, level):
                seats = n + state.levels[j].alpha
                value = log_density(state, node, j, y, tail(state, j), lack) + passing
                value += math.log((state.levels[j].alpha + d) / seats) + gumbel(rng)
                if value > best:
                    best, chosen, chosen_level = value, node, j
                passing += math.log((n - d) / seats)
    return chosen, chosen_level


@inlined
def log_density(
    state: State, node: int, level: int, x: FloatArray, extra: float, lack: float
) -> float:
    """Return the log density of ``x`` around φ at a level on the way down to a node.

    ``extra`` is the variance of x around φ. The density is divided by that of the noise at its
    peak. φ on an edge is a Gaussian bridge between its ends.
    """
    dimension = x.size
    square = 0.0
    if state.nodes[node].level == level:
        c = state.nodes[node].covariance
        spread = state.nodes[node].variance + c * c * lack + extra
        for d in range(dimension):
            square += (x[d] - state.mean[node, d] + c * state.shift[d]) ** 2
    else:
        above = state.nodes[node].parent
        below = state.levels[state.nodes[node].level].reach - state.levels[level].reach
        length = edge_variance(state, node)
        to_node = (length - below) / length
        to_above = below / length
        c = to_above * state.nodes[above].covariance + to_node * state.nodes[node].covariance
        spread = (
            to_node * below
            + to_above**2 * state.nodes[above].variance
            + to_node**2 * state.nodes[node].variance
            + 2.0 * to_node * to_above * state.nodes[node].gain * state.nodes[above].variance
            + c * c * lack
            + extra
        )
        for d in range(dimension):
            mean = to_above * state.mean[above, d] + to_node * state.mean[node, d]
            square += (x[d] - mean + c * state.shift[d]) ** 2
    return 0.5 * (dimension * math.log(state.scalars[NOISE] / spread) - square / spread)
