"""The datum move: take one datum out, and let it choose its leaf given all others.

This is the paper's first step, with every φ integrated out. Three things make it cheap.

*Out without moving.* Taking y out of leaf z changes the mean and variance of every φ, but only
through its covariance c with φ_z, which the tree gives by one product a node:

    M′ = M − c δ,    W′ = W + c²/(r − W_z),    δ = (y − M_z)/(r − W_z).

If the datum goes back where it was, as it mostly does, nothing has changed. If it does not, means
and variances are brought up to date where they are needed next.

*Near leaves* alone are weighed, and *new branches* are looked at only if the choice falls
on their bounds (places.py). Bounds stand in the place of weights; if the choice falls beyond
the weight, it is made again. That is rejection sampling, and exact. Where the bounds outweigh the
leaves, all weights are computed instead.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import (
    add_of_group,
    break_for_one,
    is_grouped,
)
from sticktree.engine.common.links import LEAVES, ROOT, Index, list_nodes
from sticktree.engine.common.random import RandomState, uniform
from sticktree.engine.shared.messages import carry, locate, send
from sticktree.engine.shared.places import (
    TINY,
    choose_exactly,
    find_branch,
    find_far,
    measure,
    nearest,
    pull,
    reach,
    weigh_leaf,
    weigh_near,
)
from sticktree.engine.shared.seats import (
    bound_of_branches,
    greet,
    seat,
    settle_attached,
    settle_detached,
)
from sticktree.engine.shared.state import (
    DRIFT,
    NOISE,
    State,
    attach,
    detach,
    make_node,
    release_node,
)
from sticktree.jit import inlined, jit, linked
from sticktree.tree.arrays import NULL

MOST_DRIFT = 0.25  # of the centres, in units of the noise, before they are computed anew


def datum_sweep(state: State, rng: RandomState) -> int:
    """Move every datum once; return how many changed their leaf."""
    return move_data(state, by_group(state, np.arange(state.leaf.size)), rng)


def by_group(state: State, rows: Index) -> Index:
    """Return rows group by group, and within each as they are; without groups all as they are."""
    if not state.group.size:
        return rows
    return rows[np.argsort(state.group[rows], kind="stable")]


@jit
def move_data(state: State, rows: Index, rng: RandomState) -> int:
    """Let data choose their leaves, one after the other; return how many changed.

    Data that are out of the tree come in. With groups, rows should come group by group.
    """
    changed = 0
    for i in rows:
        if is_grouped(state):
            greet(state, state.group[i])
        changed += _move(state, i, rng)
    if is_grouped(state):  # what follows does not depend on which group was the last
        greet(state, state.seated.shape[1] - 1)
    list_nodes(state)
    send(state)
    return changed


@inlined
def _move(state: State, i: int, rng: RandomState) -> int:
    """Let one datum choose its leaf given all others; return 1 if it changed, else 0."""
    old, y, length = state.leaf[i], state.data[i], 0
    lack, moved = 0.0, 0.0
    if old != NULL and state.nodes[old].n == 1:
        _note_drift(state, old, y)
        changed = detach(state, old)
        release_node(state, old)
        settle_detached(state, changed)
        old = NULL
    elif old != NULL:
        lack, moved, length = _take_out(state, y, old)
    leaf, level = _choose(state, y, old, lack, moved, rng)
    if leaf == old and level == state.levels.size - 1:
        node = old
        for k in range(length):
            state.nodes[node] = state.saved[k]
            node = state.saved[k].parent
        if is_grouped(state):
            add_of_group(state, old, state.present[0], 1)
        return 0
    if old != NULL:
        node = old
        for k in range(length):
            state.nodes[node].left = 0
            node = state.saved[k].parent
        carry(state, old, i, -1.0)
        locate(state, old)
        state.scalars[DRIFT] += moved
    enter(state, i, leaf, level, rng)
    return 1


@inlined
def _take_out(state: State, y: FloatArray, old: int) -> tuple[float, float, int]:
    """Take a datum out of the seats, and prepare the changes of means and variances without it.

    Return 1/(r − W_z), how far means may move, and the length of the path. The nodes on the path
    are marked, and saved as they were.
    """
    locate(state, old)
    lack = 1.0 / (state.scalars[NOISE] - state.nodes[old].variance)
    square = 0.0
    for d in range(y.size):
        state.shift[d] = (y[d] - state.mean[old, d]) * lack
        square += state.shift[d] ** 2
    largest, gain, node, length = 0.0, 1.0, old, 0
    while node != NULL:
        state.saved[length] = state.nodes[node]
        state.nodes[node].left = 1
        covariance = state.nodes[node].variance * gain
        state.nodes[node].covariance = covariance
        if node != old:
            largest = max(largest, covariance)
        gain *= state.nodes[node].gain
        node = state.nodes[node].parent
        length += 1
    seat(state, old, -1.0)
    path = 1.0
    state.nodes[ROOT].path = path
    for k in range(length - 2, -1, -1):
        node = old if k == 0 else state.saved[k - 1].parent
        path *= state.nodes[state.saved[k].parent].inverse * state.nodes[node].passing
        state.nodes[node].path = path
    return lack, largest * math.sqrt(square), length


@inlined
def _choose(
    state: State, y: FloatArray, old: int, lack: float, moved: float, rng: RandomState
) -> tuple[int, int]:
    """Choose a leaf, or a node or edge with the level of a new branch.

    ``old`` is the leaf that the datum has been taken out of, or NULL if it was in no other's.
    """
    if state.nodes[ROOT].n == 0:
        return ROOT, 0
    if old == NULL:
        state.nodes[ROOT].left = 1
        state.nodes[ROOT].path = 1.0
        state.nodes[ROOT].covariance = 0.0
        for d in range(y.size):
            state.shift[d] = 0.0
    place = NULL, 0
    if state.scalars[DRIFT] > MOST_DRIFT * math.sqrt(state.scalars[NOISE]):
        _renew(state)
    measure(y, state.centre, state.sizes[LEAVES], state.distance)
    first = nearest(state) if old == NULL else old
    weight = weigh_leaf(state, first, y, lack)
    exact = not weight > TINY
    if not exact:
        state.near[0].leaf = first
        state.near[0].weight = weight
        limit, far = reach(state, weight, moved)
        n_near = weigh_near(state, first, y, lack, limit)
        total = 0.0
        for k in range(n_near):
            total += state.near[k].weight
        bounds = bound_of_branches(state)
        exact = not total > 0.1 * bounds
        while not exact and place[0] == NULL:
            point = uniform(rng) * (total + far + bounds)
            if point < total:
                place = _find_near(state, n_near, point), state.levels.size - 1
            elif point < total + far:
                leaf = find_far(state, first, y, lack, limit, point - total)
                place = leaf, state.levels.size - 1
            else:
                place = find_branch(state, y, lack, point - total - far)
    if exact:
        place = choose_exactly(state, y, lack, rng)
    state.nodes[ROOT].left = 0
    return place


@inlined
def _find_near(state: State, n_near: int, point: float) -> int:
    for k in range(n_near):
        point -= state.near[k].weight
        if point < 0.0:
            return state.near[k].leaf
    return state.near[0].leaf


@linked
def _renew(state: State) -> None:
    """Compute all centres anew."""
    for slot in range(state.sizes[LEAVES]):
        locate(state, state.leaves[slot])
    state.scalars[DRIFT] = 0.0


@linked
def _note_drift(state: State, leaf: int, y: FloatArray) -> None:
    """Note how far the means of other leaves may differ with a datum in its leaf or not."""
    largest = pull(state, leaf)
    square = 0.0
    for d in range(y.size):
        square += (y[d] - state.mean[leaf, d]) ** 2
    lack = 1.0 / (state.scalars[NOISE] - state.nodes[leaf].variance)
    state.scalars[DRIFT] += largest * lack * math.sqrt(square)


@linked
def enter(state: State, i: int, at: int, level: int, rng: RandomState) -> None:
    """Put a datum into leaf ``at``, or on a new branch from ``level`` on the way to ``at``."""
    if level < state.levels.size - 1:
        leaf = make_node(state, state.levels.size - 1)
        for d in range(state.data.shape[1]):
            state.total[leaf, d] = state.data[i, d]
        state.nodes[leaf].n = 1
        if is_grouped(state):
            state.seated[leaf, state.present[0]] = 1
        shortened = attach(state, leaf, at, level)
        if is_grouped(state):
            break_for_one(state, leaf, state.nodes[leaf].parent, rng)
        settle_attached(state, leaf, shortened)
    else:
        leaf = at
        seat(state, leaf, 1.0)
        carry(state, leaf, i, 1.0)
    state.leaf[i] = leaf
    _note_drift(state, leaf, state.data[i])
