"""Missing entries: drawn anew in every sweep, alone and together with the place of their row.

*Imputing* draws the missing entries of a row given all other rows and its place (see gaps.py). Its
leaf has M and W with the row; without it (see datum.py) the row is N(M′, W′ + r) with

    M′ − y = (M − y) r/(r − W),    W′ + r = r²/(r − W).

*Reseating* draws the place of a row given what is observed of it, and then what is missing. By
itself the datum move would leave a row where its own imputed entries say that it belongs.
"""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.random import RandomState, normal, uniform
from sticktree.engine.shared.datum import enter
from sticktree.engine.shared.gaps import Gaps, free_directions, weigh_observed
from sticktree.engine.shared.messages import carry, locate, receive_path, send
from sticktree.engine.shared.mixture import predictive_mixture
from sticktree.engine.shared.seats import seat
from sticktree.engine.shared.settle import settle_detached
from sticktree.engine.shared.state import NOISE, Index, State
from sticktree.engine.shared.structure import detach, list_nodes, release_node
from sticktree.jit import jit
from sticktree.tree import NULL

__all__ = ["impute", "reseat"]


@jit
def impute(state: State, gaps: Gaps, inverse: FloatArray, rng: RandomState) -> None:
    """Draw the missing entries of every row, one row after the other; ``inverse`` is A⁻¹."""
    dimension, r = state.data.shape[1], state.scalars[NOISE]
    basis, target = np.empty((dimension, dimension)), np.empty(dimension)
    for k in range(gaps.row.size):
        i = gaps.row[k]
        leaf = state.leaf[i]
        size, _ = free_directions(gaps, k, inverse, basis)
        locate(state, leaf)
        lack = 1.0 / (r - state.nodes[leaf].variance)
        for d in range(dimension):
            y = state.data[i, d]
            target[d] = y + (state.mean[leaf, d] - y) * r * lack
            state.total[leaf, d] -= y
        _draw(state.data[i], basis, size, target, r * math.sqrt(lack), rng)
        for d in range(dimension):
            state.total[leaf, d] += state.data[i, d]
        receive_path(state, leaf)
    send(state)


@jit
def reseat(state: State, gaps: Gaps, inverse: FloatArray, which: Index, rng: RandomState) -> int:
    """Let rows choose their place and draw their missing entries, one row after the other.

    ``which`` are numbers in the list of gaps. Rows that are out of the tree come in; it must not
    be empty. Return how many changed their leaf.
    """
    dimension = state.data.shape[1]
    basis, changed = np.empty((dimension, dimension)), 0
    for k in which:
        i = gaps.row[k]
        size, _ = free_directions(gaps, k, inverse, basis)
        old = state.leaf[i]
        if old != NULL and _leave(state, i):
            old = NULL
        mixture = predictive_mixture(state)
        weight = np.empty(mixture.weight.size)
        weigh_observed(mixture, state.data[i], basis, size, weight)
        c = _choose(weight, rng)
        _draw(state.data[i], basis, size, mixture.mean[c], math.sqrt(mixture.variance[c]), rng)
        enter(state, i, mixture.node[c], mixture.level[c])
        changed += state.leaf[i] != old
        list_nodes(state)
        send(state)
    return changed


@jit
def _leave(state: State, i: int) -> bool:
    """Take a datum out of the tree, and bring all else up to date; tell if its leaf is gone."""
    leaf = state.leaf[i]
    alone = state.nodes[leaf].n == 1
    if alone:
        changed = detach(state, leaf)
        release_node(state, leaf)
        settle_detached(state, changed)
    else:
        seat(state, leaf, -1.0)
        carry(state, leaf, i, -1.0)
    state.leaf[i] = NULL
    list_nodes(state)
    send(state)
    return bool(alone)


@jit
def _choose(weight: FloatArray, rng: RandomState) -> int:
    point = uniform(rng) * weight.sum()
    for c in range(weight.size):
        point -= weight[c]
        if point < 0.0:
            return c
    return int(np.argmax(weight))


@jit
def _draw(
    y: FloatArray,
    basis: FloatArray,
    size: int,
    mean: FloatArray,
    spread: float,
    rng: RandomState,
) -> None:
    """Draw what is missing of ``y``, which is normal along the first directions of the basis."""
    for j in range(size):
        step = spread * normal(rng)
        for d in range(y.size):
            step += basis[j, d] * (mean[d] - y[d])
        for d in range(y.size):
            y[d] += step * basis[j, d]
