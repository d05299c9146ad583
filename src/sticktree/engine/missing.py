"""Missing entries: drawn anew in every sweep, alone and together with the place of their row.

In coordinates whitened by A a datum of a leaf, or on a new branch, is N(m, s I). Its missing
entries are free to move along the columns of A⁻¹ that are theirs, and nothing else of it is. With
an orthonormal basis Q of these directions

    what is observed   y − Q Qᵀ y    has a density in the dimensions that are left,
    what is missing    Qᵀ y          is N(Qᵀ m, s I), whatever is observed.

*Imputing* draws the missing entries of a row given all other rows and its place. Its leaf has M and
W with the row, and without it (see datum.py) M′ − y = (M − y) r/(r − W) and W′ + r = r²/(r − W).

*Reseating* draws the place of a row given what is observed of it, and then what is missing. By
itself the datum move would leave a row where its own imputed entries say that it belongs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.datum import enter
from sticktree.engine.messages import carry, locate, receive_path, send
from sticktree.engine.mixture import Mixture, predictive_mixture
from sticktree.engine.random import RandomState, integer, normal, uniform
from sticktree.engine.seats import seat
from sticktree.engine.settle import settle_detached
from sticktree.engine.state import NOISE, Index, State
from sticktree.engine.structure import detach, list_nodes, release_node
from sticktree.jit import jit
from sticktree.tree import NULL

__all__ = ["Gaps", "impute", "reseat"]


class Gaps(NamedTuple):
    """Where entries are missing: ``column[start[k] : start[k + 1]]`` of row ``row[k]``."""

    row: Index
    start: Index
    column: Index

    @classmethod
    def of(cls, data: FloatArray) -> Gaps:
        """Find the missing entries of a table."""
        rows, columns = np.nonzero(np.isnan(data))
        row, first = np.unique(rows, return_index=True)
        return cls(
            row.astype(np.int64),
            np.append(first, rows.size).astype(np.int64),
            columns.astype(np.int64),
        )


@jit
def impute(state: State, gaps: Gaps, inverse: FloatArray, rng: RandomState) -> None:
    """Draw the missing entries of every row, one row after the other; ``inverse`` is A⁻¹."""
    dimension, r = state.data.shape[1], state.scalars[NOISE]
    basis, target = np.empty((dimension, dimension)), np.empty(dimension)
    for k in range(gaps.row.size):
        i = gaps.row[k]
        leaf = state.leaf[i]
        size = _free_directions(gaps, k, inverse, basis)
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
def reseat(state: State, gaps: Gaps, inverse: FloatArray, n_moves: int, rng: RandomState) -> int:
    """Let rows with missing entries, chosen at random, choose their place and draw the entries.

    Return how many changed their leaf.
    """
    dimension = state.data.shape[1]
    basis, changed = np.empty((dimension, dimension)), 0
    for _ in range(n_moves):
        k = integer(rng, gaps.row.size)
        i = gaps.row[k]
        size = _free_directions(gaps, k, inverse, basis)
        old = state.leaf[i]
        alone = state.nodes[old].n == 1
        _leave(state, i)
        mixture = predictive_mixture(state)
        c = _choose(mixture, state.data[i], basis, size, rng)
        _draw(state.data[i], basis, size, mixture.mean[c], math.sqrt(mixture.variance[c]), rng)
        enter(state, i, mixture.node[c], mixture.level[c])
        changed += alone or state.leaf[i] != old
        list_nodes(state)
        send(state)
    return changed


@jit
def _leave(state: State, i: int) -> None:
    """Take a datum out of the tree, and bring all else up to date."""
    leaf = state.leaf[i]
    if state.nodes[leaf].n == 1:
        changed = detach(state, leaf)
        release_node(state, leaf)
        settle_detached(state, changed)
    else:
        seat(state, leaf, -1.0)
        carry(state, leaf, i, -1.0)
    state.leaf[i] = NULL
    list_nodes(state)
    send(state)


@jit
def _choose(mixture: Mixture, y: FloatArray, basis: FloatArray, size: int, rng: RandomState) -> int:
    """Choose a component by its weight and its density of what is observed of ``y``."""
    dimension = y.size
    value, rest, largest = np.empty(mixture.weight.size), np.empty(dimension), -math.inf
    for c in range(value.size):
        for d in range(dimension):
            rest[d] = y[d] - mixture.mean[c, d]
        for j in range(size):
            _remove(rest, basis[j])
        square = 0.0
        for d in range(dimension):
            square += rest[d] ** 2
        variance = mixture.variance[c]
        value[c] = math.log(mixture.weight[c]) - 0.5 * square / variance
        value[c] -= 0.5 * (dimension - size) * math.log(variance)
        largest = max(largest, value[c])
    total = 0.0
    for c in range(value.size):
        value[c] = math.exp(value[c] - largest)
        total += value[c]
    point = uniform(rng) * total
    for c in range(value.size):
        point -= value[c]
        if point < 0.0:
            return c
    return int(np.argmax(value))


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


@jit
def _free_directions(gaps: Gaps, k: int, inverse: FloatArray, basis: FloatArray) -> int:
    """Put an orthonormal basis of the columns of A⁻¹ that are missing into the rows of ``basis``.

    This is Gram and Schmidt's; a second pass takes away what rounding leaves. Return their number.
    """
    size = 0
    for at in range(gaps.start[k], gaps.start[k + 1]):
        for d in range(inverse.shape[0]):
            basis[size, d] = inverse[d, gaps.column[at]]
        for _ in range(2):
            for j in range(size):
                _remove(basis[size], basis[j])
            square = 0.0
            for d in range(inverse.shape[0]):
                square += basis[size, d] ** 2
            for d in range(inverse.shape[0]):
                basis[size, d] /= math.sqrt(square)
        size += 1
    return size


@jit
def _remove(vector: FloatArray, direction: FloatArray) -> None:
    """Take the part along a unit vector away."""
    along = 0.0
    for d in range(vector.size):
        along += vector[d] * direction[d]
    for d in range(vector.size):
        vector[d] -= along * direction[d]
