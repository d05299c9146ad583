"""Leaves near a datum: found by distance alone, weighed exactly.

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
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.shared.messages import locate
from sticktree.engine.shared.state import DRIFT, LEAVES, NOISE, ROOT, State
from sticktree.jit import inlined, jit
from sticktree.tree import NULL

__all__ = ["find_far", "measure", "nearest", "pull", "reach", "weigh_leaf", "weigh_near"]

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


@inlined
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


@jit
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
