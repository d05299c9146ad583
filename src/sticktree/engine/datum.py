"""The datum move: take one datum out, and let it choose its leaf given all others.

This is the paper's first step, with every φ integrated out. Three things make it cheap.

*Out without moving.* Taking y out of leaf z changes the mean and variance of every φ, but only
through its covariance c with φ_z, which the tree gives by one product a node:

    M′ = M − c δ,    W′ = W + c²/(r − W_z),    δ = (y − M_z)/(r − W_z).

If the datum goes back where it was, as it mostly does, nothing has changed.

*Far leaves.* A leaf whose weight, at its very largest, is less than e⁻⁴¹ of the weight of the
datum's own leaf is left out: all of them together cannot show in double precision.

*New branches.* Their weights are bounded without looking at the datum (seats.py). The choice is
made with the bounds in their place; if it falls on a new branch, its exact weight is computed and
the choice stands with probability weight/bound, else it is made again. That is rejection sampling,
and exact. Where the bounds outweigh the leaves, all weights are computed instead.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.messages import edge_variance, receive, receive_path, send
from sticktree.engine.random import RandomState, gumbel, uniform
from sticktree.engine.seats import refresh, refresh_path, tail
from sticktree.engine.state import ALIVE, DISCOUNT, NOISE, ROOT, State
from sticktree.engine.structure import add_data, attach, detach, list_nodes, make_node, release_node
from sticktree.jit import jit
from sticktree.tree import NULL

__all__ = [
    "datum_sweep",
    "insert_datum",
    "log_density",
    "settle",
    "settle_attached",
    "settle_detached",
]

NEGLIGIBLE = 41.0  # e⁻⁴¹ is 1.6e-18
TINY = 1e-280  # sums of weights below this may have lost some to underflow


@jit
def settle(state: State) -> None:
    """Recompute all that depends on the tree, after a change of its structure."""
    list_nodes(state)
    for k in range(state.sizes[ALIVE] - 1, -1, -1):
        receive(state, state.order[k])
        refresh(state, state.order[k])
    send(state)


@jit
def settle_detached(state: State, changed: int) -> None:
    """Recompute what a `detach` has changed; ``changed`` is what it returned."""
    list_nodes(state)
    receive_path(state, changed)
    refresh_path(state, changed)
    send(state)


@jit
def settle_attached(state: State, node: int, shortened: int) -> None:
    """Recompute what an `attach` has changed, but means and variances."""
    list_nodes(state)
    if shortened != NULL:
        receive(state, shortened)
        refresh(state, shortened)
    receive_path(state, node)
    refresh_path(state, node)


@jit
def datum_sweep(state: State, rng: RandomState) -> int:
    """Move every datum once; return how many changed their leaf."""
    moved = 0
    for i in range(state.data.shape[0]):
        moved += move_datum(state, i, rng)
    return moved


@jit
def insert_datum(state: State, i: int, rng: RandomState) -> None:
    """Bring in a datum that is out of the tree."""
    leaf, level = _choose(state, i, NULL, rng)
    _enter(state, i, leaf, level)


@jit
def move_datum(state: State, i: int, rng: RandomState) -> int:
    """Let one datum choose its leaf given all others; return 1 if it changed, else 0."""
    old = state.leaf[i]
    if state.nodes[old].n == 1:
        changed = detach(state, old)
        release_node(state, old)
        settle_detached(state, changed)
        leaf, level = _choose(state, i, NULL, rng)
        _enter(state, i, leaf, level)
        return 1
    leaf, level = _choose(state, i, old, rng)
    if leaf == old and level == state.levels.size - 1:
        return 0
    add_data(state, old, -1)
    for d in range(state.data.shape[1]):
        state.total[old, d] -= state.data[i, d]
    receive_path(state, old)
    refresh_path(state, old)
    _enter(state, i, leaf, level)
    return 1


@jit
def _enter(state: State, i: int, at: int, level: int) -> None:
    """Put a datum into leaf ``at``, or on a new branch from ``level`` on the way to ``at``."""
    fresh = level < state.levels.size - 1
    leaf = make_node(state, state.levels.size - 1) if fresh else at
    state.leaf[i] = leaf
    for d in range(state.data.shape[1]):
        state.total[leaf, d] += state.data[i, d]
    if fresh:
        state.nodes[leaf].n = 1
        settle_attached(state, leaf, attach(state, leaf, at, level))
    else:
        add_data(state, leaf, 1)
        receive_path(state, leaf)
        refresh_path(state, leaf)
    send(state)


@jit
def _choose(state: State, i: int, old: int, rng: RandomState) -> tuple[int, int]:
    """Choose a leaf, or a node or edge with the level of a new branch.

    ``old`` is the leaf where the datum still is, or NULL if it is out of the tree.
    """
    if state.nodes[ROOT].n == 0:
        return ROOT, 0
    y = state.data[i]
    lack = _take_out(state, y, old)
    bounds = _walk(state, old)
    total = _weigh_leaves(state, y, old, lack)
    if not total > 0.1 * bounds:
        branches, node, level = _weigh_branches(state, y, lack, rng)
        if not total + branches > TINY:
            return _choose_by_logs(state, y, lack, rng)
        if uniform(rng) * (total + branches) >= total:
            return node, level
        return _find_leaf(state, uniform(rng) * total), state.levels.size - 1
    while True:
        point = uniform(rng) * (total + bounds)
        if point < total:
            return _find_leaf(state, point), state.levels.size - 1
        node, level = _find_branch(state, y, lack, point - total)
        if node != NULL:
            return node, level


@jit
def _take_out(state: State, y: FloatArray, old: int) -> float:
    """Prepare the changes of all means and variances without the datum; return 1/(r − W_z)."""
    for k in range(state.sizes[ALIVE]):
        state.nodes[state.order[k]].left = 0
    if old == NULL:
        for k in range(state.sizes[ALIVE]):
            state.nodes[state.order[k]].covariance = 0.0
        state.shift[:] = 0.0
        return 0.0
    lack = 1.0 / (state.scalars[NOISE] - state.nodes[old].variance)
    for d in range(y.size):
        state.shift[d] = (y[d] - state.mean[old, d]) * lack
    node, gain = old, 1.0
    while node != NULL:
        state.nodes[node].left = 1
        state.nodes[node].covariance = state.nodes[node].variance * gain
        gain *= state.nodes[node].gain
        node = state.nodes[node].parent
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].left == 0:
            state.nodes[node].covariance = (
                state.nodes[node].gain * state.nodes[state.nodes[node].parent].covariance
            )
    return lack


@jit
def _inverse(state: State, node: int) -> float:
    """Return 1/(n + α), without the datum."""
    if state.nodes[node].left == 0:
        return state.nodes[node].inverse
    return 1.0 / (state.nodes[node].n - 1 + state.levels[state.nodes[node].level].alpha)


@jit
def _edge(state: State, node: int) -> tuple[float, float]:
    """Return the factors of the edge above a node, without the datum: to pass, to leave it."""
    if state.nodes[node].left == 0:
        return state.nodes[node].passing, state.nodes[node].opening_above
    n, d = state.nodes[node].n - 1, state.scalars[DISCOUNT]
    passing, opening = n - d, 0.0
    for j in range(state.nodes[state.nodes[node].parent].level + 1, state.nodes[node].level):
        seats = n + state.levels[j].alpha
        opening += passing * (state.levels[j].alpha + d) / seats * state.levels[j].bound
        passing *= (n - d) / seats
    return passing, opening


@jit
def _walk(state: State, old: int) -> float:
    """Fill in the probability to come by each node; return the sum of bounds on new branches."""
    depth = state.levels.size - 1
    bounds = 0.0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if node == ROOT:
            state.nodes[node].path = 1.0
        else:
            above = state.nodes[node].parent
            enter = state.nodes[above].path * _inverse(state, above)
            passing, opening = _edge(state, node)
            state.nodes[node].path = enter * passing
            bounds += enter * opening
        if state.nodes[node].level < depth:
            bounds += state.nodes[node].path * _inverse(state, node) * state.nodes[node].opening
    return bounds


@jit
def _weigh_leaves(state: State, y: FloatArray, old: int, lack: float) -> float:
    """Fill in the weights of all leaves, in units of the density at its peak; return their sum."""
    depth, r = state.levels.size - 1, state.scalars[NOISE]
    limit = np.inf
    if old != NULL:
        own = state.nodes[old].path * _leaf_density(state, old, y, lack)
        state.nodes[old].weight = own
        if own > 0.0:
            limit = NEGLIGIBLE - math.log(own)
    size = math.sqrt(2.0 * limit)
    shift = 0.0
    for d in range(y.size):
        shift += state.shift[d] ** 2
    shift = math.sqrt(shift)
    total = 0.0
    for k in range(state.sizes[ALIVE]):
        leaf = state.order[k]
        if state.nodes[leaf].level != depth:
            continue
        if leaf != old:
            # Out of reach if |y − M′|² > 2 s·limit, where |y − M′| ≥ |y − M| − |c δ|.
            c = state.nodes[leaf].covariance
            reach = size * math.sqrt(state.nodes[leaf].variance + c * c * lack + r) + c * shift
            if _is_beyond(y, state.mean, leaf, reach * reach):
                state.nodes[leaf].weight = 0.0
            else:
                density = _leaf_density(state, leaf, y, lack)
                state.nodes[leaf].weight = state.nodes[leaf].path * density
        total += state.nodes[leaf].weight
    return total


@jit
def _is_beyond(x: FloatArray, mean: FloatArray, node: int, square: float) -> bool:
    """Tell whether |x − mean of node|² exceeds ``square``, and look no further once it does."""
    found = 0.0
    for start in range(0, x.size, 4):
        for d in range(start, min(start + 4, x.size)):
            found += (x[d] - mean[node, d]) ** 2
        if found > square:
            return True
    return False


@jit
def _leaf_density(state: State, leaf: int, y: FloatArray, lack: float) -> float:
    """Return the predictive density at a leaf, divided by that of the noise at its peak."""
    c, r = state.nodes[leaf].covariance, state.scalars[NOISE]
    spread = state.nodes[leaf].variance + c * c * lack + r
    square = 0.0
    for d in range(y.size):
        square += (y[d] - state.mean[leaf, d] + c * state.shift[d]) ** 2
    ratio = r / spread
    if y.size == 2:
        return ratio * math.exp(-0.5 * square / spread)
    return math.exp(0.5 * (y.size * math.log(ratio) - square / spread))


@jit
def _find_leaf(state: State, point: float) -> int:
    last = NULL
    for k in range(state.sizes[ALIVE]):
        leaf = state.order[k]
        if state.nodes[leaf].level == state.levels.size - 1 and state.nodes[leaf].weight > 0.0:
            last = leaf
            point -= state.nodes[leaf].weight
            if point < 0.0:
                break
    return last


@jit
def _find_branch(state: State, y: FloatArray, lack: float, point: float) -> tuple[int, int]:
    """Find the new branch whose bound covers ``point``; accept it if its weight does, too."""
    depth, d = state.levels.size - 1, state.scalars[DISCOUNT]
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if node != ROOT:
            above = state.nodes[node].parent
            enter = state.nodes[above].path * _inverse(state, above)
            _, opening = _edge(state, node)
            if point < enter * opening:
                n = state.nodes[node].n - state.nodes[node].left
                passing = enter * (n - d)
                for j in range(state.nodes[above].level + 1, level):
                    seats = n + state.levels[j].alpha
                    chance = passing * (state.levels[j].alpha + d) / seats
                    bound = chance * state.levels[j].bound
                    if point < bound:
                        density = log_density(state, node, j, y, tail(state, j), lack)
                        return (node, j) if point < chance * math.exp(density) else (NULL, 0)
                    point -= bound
                    passing *= (n - d) / seats
                return NULL, 0
            point -= enter * opening
        if level < depth:
            chance = state.nodes[node].path * _inverse(state, node)
            if point < chance * state.nodes[node].opening:
                chance *= state.levels[level].alpha + d * state.nodes[node].n_children
                density = log_density(state, node, level, y, tail(state, level), lack)
                return (node, level) if point < chance * math.exp(density) else (NULL, 0)
            point -= chance * state.nodes[node].opening
    return NULL, 0


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
            above = state.nodes[node].parent
            n = state.nodes[node].n - state.nodes[node].left
            passing = state.nodes[above].path * _inverse(state, above) * (n - d)
            for j in range(state.nodes[above].level + 1, level):
                seats = n + state.levels[j].alpha
                weight = passing * (state.levels[j].alpha + d) / seats
                weight *= math.exp(log_density(state, node, j, y, tail(state, j), lack))
                total += weight
                if uniform(rng) * total < weight:
                    chosen, chosen_level = node, j
                passing *= (n - d) / seats
        if level < depth:
            alpha = state.levels[level].alpha + d * state.nodes[node].n_children
            weight = state.nodes[node].path * _inverse(state, node) * alpha
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
            chance *= (state.levels[level].alpha + d * state.nodes[node].n_children) * _inverse(
                state, node
            )
        value = log_density(state, node, level, y, tail(state, level), lack)
        value += math.log(chance) + gumbel(rng)
        if value > best:
            best, chosen, chosen_level = value, node, level
        if node != ROOT:
            above = state.nodes[node].parent
            n = state.nodes[node].n - state.nodes[node].left
            passing = math.log(state.nodes[above].path * _inverse(state, above) * (n - d))
            for j in range(state.nodes[above].level + 1, level):
                seats = n + state.levels[j].alpha
                value = log_density(state, node, j, y, tail(state, j), lack) + passing
                value += math.log((state.levels[j].alpha + d) / seats) + gumbel(rng)
                if value > best:
                    best, chosen, chosen_level = value, node, j
                passing += math.log((n - d) / seats)
    return chosen, chosen_level


@jit
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
