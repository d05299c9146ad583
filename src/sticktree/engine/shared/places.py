"""Places for a datum: leaves near it, and new branches at any node and on any edge.

*Leaves near a datum* are found by distance alone, and weighed exactly.

The weight of a leaf k is the probability to come there times the predictive density, in units of
the noise's density at its peak. With M and s mean and variance of the prediction without the datum,

    path · (r/s)^(D/2) · exp(−|y − M|²/2s)  ≤  path · e^(−limit)   where |y − M|² ≥ 2 s · limit,

and the paths of all leaves add up to at most 1. So the leaves farther away than that weigh at most
e^(−limit) together. The limit is chosen such that this is little against the weight of one leaf
that is near; with the bound in the place of the far leaves, the choice among all is exact, and they
are looked at only in the rare case that it falls on them.

The search itself needs no more than a bound on s (`State.narrow`) and means that are nearly right
(`State.centre`): `State.scalars` keeps how far those may be off since they were computed. When a
datum comes or goes, no mean but that of its own leaf moves by more than the largest covariance with
a node above that leaf, times δ.

*New branches.* Their weights are bounded without looking at the datum (seats.py). `find_branch`
takes the bounds in place of the weights: it walks down to the branch that covers a point, computes
its exact weight and says whether that covers the point, too. Where the bounds outweigh the leaves,
`choose_exactly` computes all weights instead.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import opening_at, seats, taking
from sticktree.engine.common.links import ALIVE, LEAVES, ROOT, UNLISTED, list_nodes
from sticktree.engine.common.random import RandomState, gumbel, uniform
from sticktree.engine.shared.messages import edge_variance, locate
from sticktree.engine.shared.state import DRIFT, NOISE, State, tail
from sticktree.jit import inlined, linked
from sticktree.tree.arrays import NULL

MARGIN = 5.0  # far leaves weigh at most e⁻⁵ of one that is near


@inlined
def measure(y: FloatArray, centre: FloatArray, n_leaves: int, distance: FloatArray) -> None:
    """Fill in the squared distances of y from the first ``n_leaves`` centres."""
    first = y[0]
    for k in range(n_leaves):
        distance[k] = (first - centre[0, k]) ** 2
    d = 1
    while d + 2 < y.size:
        a, b, c = y[d], y[d + 1], y[d + 2]
        for k in range(n_leaves):
            distance[k] += (
                (a - centre[d, k]) ** 2 + (b - centre[d + 1, k]) ** 2 + (c - centre[d + 2, k]) ** 2
            )
        d += 3
    while d < y.size:
        a = y[d]
        for k in range(n_leaves):
            distance[k] += (a - centre[d, k]) ** 2
        d += 1


@inlined
def nearest(state: State) -> int:
    """Return a leaf that is likely to weigh most."""
    best, chosen = np.inf, 0
    for slot in range(state.sizes[LEAVES]):
        square = state.distance[slot] * state.narrow[slot]
        if square < best:
            best, chosen = square, slot
    return state.leaves[chosen]


@linked
def pull(state: State, leaf: int) -> float:
    """Return the largest covariance of φ at a leaf, brought up to date, with one above it."""
    locate(state, leaf)
    largest, gain, node = 0.0, 1.0, leaf
    while node != ROOT:
        gain *= state.nodes[node].gain
        node = state.nodes[node].parent
        largest = max(largest, gain * state.nodes[node].variance)
    return largest


@inlined
def reach(state: State, weight: float, moved: float) -> tuple[float, float]:
    """Return how far near leaves go, and the bound on the weight of all farther ones.

    The distance is squared, in units of the predictive variance. ``weight`` is that of one leaf,
    and ``moved`` how far means may move when the datum is taken out.
    """
    limit = MARGIN - math.log(weight)
    off = (moved + state.scalars[DRIFT]) / math.sqrt(state.scalars[NOISE])
    return (math.sqrt(2.0 * limit) + off) ** 2, math.exp(-limit)


@inlined
def weigh_leaf(state: State, leaf: int, y: FloatArray, lack: float) -> float:
    """Return the weight of a leaf for the datum at hand.

    Some node on the way up is marked as left: from there on, path and covariance are known.
    """
    locate(state, leaf)
    node, c, path = leaf, 1.0, 1.0
    while state.nodes[node].left == 0:
        c *= state.nodes[node].gain
        path *= state.nodes[node].passing
        node = state.nodes[node].parent
        path *= state.nodes[node].inverse
    c *= state.nodes[node].covariance
    path *= state.nodes[node].path
    r = state.scalars[NOISE]
    inverse = 1.0 / (state.nodes[leaf].variance + c * c * lack + r)
    square = 0.0
    for d in range(y.size):
        square += (y[d] - state.mean[leaf, d] + c * state.shift[d]) ** 2
    ratio = r * inverse
    if y.size == 2:
        return path * ratio * math.exp(-0.5 * square * inverse)
    return path * math.exp(0.5 * (y.size * math.log(ratio) - square * inverse))


@inlined
def weigh_near(state: State, first: int, y: FloatArray, lack: float, limit: float) -> int:
    """Weigh all leaves within reach but ``first``, which has been; return how many there are."""
    count = 1
    for slot in range(state.sizes[LEAVES]):
        if state.distance[slot] * state.narrow[slot] < limit:
            leaf = state.leaves[slot]
            if leaf != first:
                state.near[count].leaf = leaf
                state.near[count].weight = weigh_leaf(state, leaf, y, lack)
                count += 1
    return count


@linked
def find_far(
    state: State, first: int, y: FloatArray, lack: float, limit: float, point: float
) -> int:
    """Return the leaf out of reach whose weight covers ``point``, or NULL if none does."""
    for slot in range(state.sizes[LEAVES]):
        leaf = state.leaves[slot]
        if leaf != first and not state.distance[slot] * state.narrow[slot] < limit:
            point -= weigh_leaf(state, leaf, y, lack)
            if point < 0.0:
                return leaf
    return NULL


TINY = 1e-280  # sums of weights below this may have lost some to underflow


@linked
def find_branch(state: State, y: FloatArray, lack: float, point: float) -> tuple[int, int]:
    """Return node and level of the new branch whose weight covers ``point``; (NULL, 0) if none."""
    node = state.order[0]  # the root
    while True:
        # The point is in units of the weight of the node's children.
        point /= state.nodes[node].inverse
        if point < state.nodes[node].opening:
            level = state.nodes[node].level
            chance = opening_at(state, node, level)
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
            above = state.nodes[node].level
            passing = taking(state, child, above)
            for j in range(above + 1, state.nodes[child].level):
                here = passing / seats(state, child, j)
                chance = here * opening_at(state, child, j)
                if point < chance * state.levels[j].bound:
                    if point < chance * _density(state, child, j, y, lack):
                        return child, j
                    return NULL, 0
                point -= chance * state.levels[j].bound
                passing = here * taking(state, child, j)
            return NULL, 0
        if state.nodes[child].n_children == 0:
            return NULL, 0
        point = (point - state.nodes[child].opening_above) / state.nodes[child].passing
        node = child


@linked
def _density(state: State, node: int, level: int, y: FloatArray, lack: float) -> float:
    """Return the density of the datum at hand on a new branch."""
    locate(state, node)
    _find_covariance(state, node)
    if state.nodes[node].level != level:
        _find_covariance(state, state.nodes[node].parent)
    return math.exp(log_density(state, node, level, y, tail(state, level), lack))


@linked
def _find_covariance(state: State, node: int) -> None:
    """Fill in the covariance of φ at a node with that of the leaf at hand."""
    c, top = 1.0, node
    while state.nodes[top].left == 0:
        c *= state.nodes[top].gain
        top = state.nodes[top].parent
    state.nodes[node].covariance = c * state.nodes[top].covariance


@linked
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


@linked
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


@linked
def _weigh_branches(
    state: State, y: FloatArray, lack: float, rng: RandomState
) -> tuple[float, int, int]:
    """Return the sum of the weights of all new branches, and one of them drawn by weight."""
    depth = state.levels.size - 1
    total, chosen, chosen_level = 0.0, NULL, 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        if node != ROOT:
            above = state.nodes[node].parent
            top = state.nodes[above].level
            passing = state.nodes[above].path * state.nodes[above].inverse
            passing *= taking(state, node, top)
            for j in range(top + 1, level):
                here = passing / seats(state, node, j)
                weight = here * opening_at(state, node, j)
                weight *= math.exp(log_density(state, node, j, y, tail(state, j), lack))
                total += weight
                if uniform(rng) * total < weight:
                    chosen, chosen_level = node, j
                passing = here * taking(state, node, j)
        if level < depth:
            opens = opening_at(state, node, level)
            weight = state.nodes[node].path * state.nodes[node].inverse * opens
            weight *= math.exp(log_density(state, node, level, y, tail(state, level), lack))
            total += weight
            if uniform(rng) * total < weight:
                chosen, chosen_level = node, level
    return total, chosen, chosen_level


@linked
def _choose_by_logs(state: State, y: FloatArray, lack: float, rng: RandomState) -> tuple[int, int]:
    """Choose among all leaves and new branches where the weights themselves are too small."""
    depth = state.levels.size - 1
    best, chosen, chosen_level = -np.inf, NULL, 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        chance = state.nodes[node].path
        if level < depth:
            chance *= opening_at(state, node, level) * state.nodes[node].inverse
        value = log_density(state, node, level, y, tail(state, level), lack)
        value += math.log(chance) + gumbel(rng)
        if value > best:
            best, chosen, chosen_level = value, node, level
        if node != ROOT:
            above = state.nodes[node].parent
            top = state.nodes[above].level
            passing = state.nodes[above].path * state.nodes[above].inverse
            passing = math.log(passing * taking(state, node, top))
            for j in range(top + 1, level):
                total = seats(state, node, j)
                value = log_density(state, node, j, y, tail(state, j), lack) + passing
                value += math.log(opening_at(state, node, j) / total) + gumbel(rng)
                if value > best:
                    best, chosen, chosen_level = value, node, j
                passing += math.log(taking(state, node, j) / total)
    return chosen, chosen_level


@linked
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
