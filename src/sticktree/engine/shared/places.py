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
from sticktree.engine.shared.state import ALONG, DRIFT, EDGE, NOISE, SQUARE, State, tail
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
    multiply(state, node, y)
    if state.nodes[node].level != level:
        above = state.nodes[node].parent
        _find_covariance(state, above)
        multiply(state, above, y)
    moved = _dot(state.shift, state.shift)
    return math.exp(log_density(state, node, level, tail(state, level), moved, lack))


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
    _complete(state, y)
    depth, moved = state.levels.size - 1, _dot(state.shift, state.shift)
    total, chosen = 0.0, NULL
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        if state.nodes[node].level == depth:
            value = log_density(state, node, depth, state.scalars[NOISE], moved, lack)
            weight = state.nodes[node].path * math.exp(value)
            total += weight
            if uniform(rng) * total < weight:
                chosen = node
    branches, node, level = _weigh_branches(state, moved, lack, rng)
    if not total + branches > TINY:
        return _choose_by_logs(state, moved, lack, rng)
    if uniform(rng) * (total + branches) < total:
        return chosen, depth
    return node, level


@linked
def _complete(state: State, y: FloatArray) -> None:
    """Bring all nodes up to date and fill in what is needed of each for the datum at hand.

    That is its covariance, its path and its products.
    """
    if state.sizes[UNLISTED]:
        list_nodes(state)
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        locate(state, node)
        multiply(state, node, y)
        if state.nodes[node].left == 0:
            above = state.nodes[node].parent
            state.nodes[node].covariance = state.nodes[node].gain * state.nodes[above].covariance
            state.nodes[node].path = (
                state.nodes[above].path * state.nodes[above].inverse * state.nodes[node].passing
            )


@linked
def _weigh_branches(
    state: State, moved: float, lack: float, rng: RandomState
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
                weight *= math.exp(log_density(state, node, j, tail(state, j), moved, lack))
                total += weight
                if uniform(rng) * total < weight:
                    chosen, chosen_level = node, j
                passing = here * taking(state, node, j)
        if level < depth:
            opens = opening_at(state, node, level)
            weight = state.nodes[node].path * state.nodes[node].inverse * opens
            weight *= math.exp(log_density(state, node, level, tail(state, level), moved, lack))
            total += weight
            if uniform(rng) * total < weight:
                chosen, chosen_level = node, level
    return total, chosen, chosen_level


@linked
def _choose_by_logs(state: State, moved: float, lack: float, rng: RandomState) -> tuple[int, int]:
    """Choose among all leaves and new branches where the weights themselves are too small."""
    depth = state.levels.size - 1
    best, chosen, chosen_level = -np.inf, NULL, 0
    for k in range(state.sizes[ALIVE]):
        node = state.order[k]
        level = state.nodes[node].level
        chance = state.nodes[node].path
        if level < depth:
            chance *= opening_at(state, node, level) * state.nodes[node].inverse
        value = log_density(state, node, level, tail(state, level), moved, lack)
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
                value = log_density(state, node, j, tail(state, j), moved, lack) + passing
                value += math.log(opening_at(state, node, j) / total) + gumbel(rng)
                if value > best:
                    best, chosen, chosen_level = value, node, j
                passing += math.log(taking(state, node, j) / total)
    return chosen, chosen_level


@inlined
def log_density(
    state: State, node: int, level: int, extra: float, moved: float, lack: float
) -> float:
    """Return the log density of what is at hand around φ at a level on the way down to a node.

    ``extra`` is its variance around φ, ``moved`` is |δ|². The density is divided by that of the
    noise at its peak. φ on an edge is a Gaussian bridge between its ends: its mean is a M + b M′
    with a + b = 1, so that

        |y − a M − b M′|² = a |y − M|² + b |y − M′|² − ab |M − M′|².

    Given the products of the ends, a level costs as much in any number of columns.
    """
    if state.nodes[node].level == level:
        c = state.nodes[node].covariance
        spread = state.nodes[node].variance + c * c * lack + extra
        square, along = state.product[node, SQUARE], state.product[node, ALONG]
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
        square = to_above * state.product[above, SQUARE] + to_node * state.product[node, SQUARE]
        square -= to_above * to_node * state.product[node, EDGE]
        along = to_above * state.product[above, ALONG] + to_node * state.product[node, ALONG]
    square += c * (2.0 * along + c * moved)
    dimension = state.shift.size
    return 0.5 * (dimension * math.log(state.scalars[NOISE] / spread) - square / spread)


@linked
def multiply(state: State, node: int, y: FloatArray) -> None:
    """Fill in the products of a node for what is at hand.

    They are |y − M|², (y − M)·δ and, if a new branch may leave the edge above, |M − M′|² between
    its ends. Four sums side by side do not wait for each other.
    """
    dimension, mean, shift = y.size, state.mean, state.shift
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    k = 0
    while k + 4 <= dimension:
        p, q = y[k] - mean[node, k], y[k + 1] - mean[node, k + 1]
        r, s = y[k + 2] - mean[node, k + 2], y[k + 3] - mean[node, k + 3]
        a, b, c, d = a + p * p, b + q * q, c + r * r, d + s * s
        e, f = e + p * shift[k], f + q * shift[k + 1]
        g, h = g + r * shift[k + 2], h + s * shift[k + 3]
        k += 4
    while k < dimension:
        p = y[k] - mean[node, k]
        a, e = a + p * p, e + p * shift[k]
        k += 1
    state.product[node, SQUARE] = (a + b) + (c + d)
    state.product[node, ALONG] = (e + f) + (g + h)
    above = state.nodes[node].parent
    if above != NULL and state.nodes[node].level > state.nodes[above].level + 1:
        a, b, c, d, k = 0.0, 0.0, 0.0, 0.0, 0
        while k + 4 <= dimension:
            p, q = mean[above, k] - mean[node, k], mean[above, k + 1] - mean[node, k + 1]
            r, s = mean[above, k + 2] - mean[node, k + 2], mean[above, k + 3] - mean[node, k + 3]
            a, b, c, d = a + p * p, b + q * q, c + r * r, d + s * s
            k += 4
        while k < dimension:
            a += (mean[above, k] - mean[node, k]) ** 2
            k += 1
        state.product[node, EDGE] = (a + b) + (c + d)


@inlined
def _dot(x: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for d in range(x.size):
        total += x[d] * y[d]
    return total
