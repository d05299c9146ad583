"""Missing entries: what is observed of a row, and draws of the rest in every sweep.

In coordinates whitened by A a row from component k of a mixture is N(m_k, s_k I). Its missing
entries are free to move along the columns of A⁻¹ that are theirs, and nothing else of it is. With
an orthonormal basis Q of these directions, A⁻¹ of the missing columns is Q R, and

    what is observed   y − Q Qᵀ y    has a density in the dimensions that are left; in standardised
                                     units it is that density over |A| |R|,
    what is missing    Qᵀ y          is N(Qᵀ m_k, s_k I), whatever is observed.

Where A is diagonal these directions are the missing coordinates themselves. Its inverse then comes
as one row, and no basis is made.

*Imputing* draws the missing entries of a row given all other rows and its place. Its
leaf has M and W with the row; without it (see datum.py) the row is N(M′, W′ + r) with

    M′ − y = (M − y) r/(r − W),    W′ + r = r²/(r − W).

*Reseating* draws the place of a row given what is observed of it, and then what is missing. By
itself the datum move would leave a row where its own imputed entries say that it belongs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.common.groups import is_grouped
from sticktree.engine.common.links import Index, list_nodes
from sticktree.engine.common.random import RandomState, normal, uniform
from sticktree.engine.shared.datum import enter
from sticktree.engine.shared.messages import carry, locate, receive_path, send
from sticktree.engine.shared.mixture import Mixture, predictive_mixture
from sticktree.engine.shared.seats import greet, seat, settle_detached
from sticktree.engine.shared.state import NOISE, State, detach, release_node
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL


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


@linked
def room_for_basis(inverse: FloatArray) -> FloatArray:
    """Return room for a basis; none is needed where whitening does not mix columns."""
    size = 0 if inverse.shape[0] == 1 else inverse.shape[0]
    return np.empty((size, size))


@linked
def free_directions(gaps: Gaps, k: int, inverse: FloatArray, basis: FloatArray) -> float:
    """Put Q, transposed, into ``basis``, if there is room; return log |R|.

    This is Gram and Schmidt's; a second pass takes away what rounding leaves.
    """
    log_volume = 0.0
    if basis.shape[0] == 0:
        for at in range(gaps.start[k], gaps.start[k + 1]):
            log_volume += math.log(abs(inverse[0, gaps.column[at]]))
        return log_volume
    for size, at in enumerate(range(gaps.start[k], gaps.start[k + 1])):
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
            log_volume += 0.5 * math.log(square)
    return log_volume


@linked
def _remove(vector: FloatArray, direction: FloatArray) -> None:
    """Take the part along a unit vector away."""
    along = 0.0
    for d in range(vector.size):
        along += vector[d] * direction[d]
    for d in range(vector.size):
        vector[d] -= along * direction[d]


@linked
def weigh_observed(
    mixture: Mixture, y: FloatArray, gaps: Gaps, k: int, basis: FloatArray, weight: FloatArray
) -> float:
    """Put weight × density of what is observed of ``y``, for each component, into ``weight``.

    The largest is 1; return its logarithm, up to powers of 2π.
    """
    dimension, largest = y.size, -math.inf
    size = gaps.start[k + 1] - gaps.start[k]
    rest = np.empty(dimension)
    for c in range(weight.size):
        for d in range(dimension):
            rest[d] = y[d] - mixture.mean[c, d]
        if basis.shape[0] == 0:
            for at in range(gaps.start[k], gaps.start[k + 1]):
                rest[gaps.column[at]] = 0.0
        else:
            for j in range(size):
                _remove(rest, basis[j])
        square = 0.0
        for d in range(dimension):
            square += rest[d] ** 2
        variance = mixture.variance[c]
        value = math.log(mixture.weight[c]) - 0.5 * square / variance
        value -= 0.5 * (dimension - size) * math.log(variance)
        # Far out the square overflows; every component is then as good as any other.
        weight[c] = max(value, -1e300)
        largest = max(largest, weight[c])
    for c in range(weight.size):
        weight[c] = math.exp(weight[c] - largest)
    return largest


@jit
def observed_log_density(
    mixture: Mixture, y: FloatArray, gaps: Gaps, inverse: FloatArray
) -> FloatArray:
    """Return the log density of what is observed of each row of ``y``, all of which have gaps.

    It is times |A|, and what stands in place of missing entries does not matter. A row without
    entries has 0.
    """
    n_rows, dimension = y.shape
    basis, weight = room_for_basis(inverse), np.empty(mixture.weight.size)
    out = np.empty(n_rows)
    for k in range(n_rows):
        log_volume = free_directions(gaps, k, inverse, basis)
        largest = weigh_observed(mixture, y[k], gaps, k, basis, weight)
        there = dimension - (gaps.start[k + 1] - gaps.start[k])
        constant = 0.5 * there * math.log(2.0 * math.pi)
        out[k] = largest + math.log(weight.sum()) - constant - log_volume
    return out


@jit
def observed_responsibilities(
    mixture: Mixture, y: FloatArray, gaps: Gaps, inverse: FloatArray
) -> FloatArray:
    """Return the probability that each row, all of which have gaps, comes from each component."""
    n_rows = y.shape[0]
    basis, out = room_for_basis(inverse), np.empty((n_rows, mixture.weight.size))
    for k in range(n_rows):
        free_directions(gaps, k, inverse, basis)
        weigh_observed(mixture, y[k], gaps, k, basis, out[k])
        out[k] /= out[k].sum()
    return out


@jit
def complete(y: FloatArray, gaps: Gaps, inverse: FloatArray, target: FloatArray) -> None:
    """Move each row of ``y`` as near to its target as its missing entries allow."""
    basis = room_for_basis(inverse)
    for k in range(y.shape[0]):
        free_directions(gaps, k, inverse, basis)
        _approach(y[k], gaps, k, basis, target[k], np.zeros(y.shape[1]))


@jit
def impute(state: State, gaps: Gaps, inverse: FloatArray, rng: RandomState) -> None:
    """Draw the missing entries of every row, one row after the other; ``inverse`` is A⁻¹."""
    dimension, r = state.data.shape[1], state.scalars[NOISE]
    basis, target = room_for_basis(inverse), np.empty(dimension)
    for k in range(gaps.row.size):
        i = gaps.row[k]
        leaf = state.leaf[i]
        free_directions(gaps, k, inverse, basis)
        locate(state, leaf)
        lack = 1.0 / (r - state.nodes[leaf].variance)
        for d in range(dimension):
            y = state.data[i, d]
            target[d] = y + (state.mean[leaf, d] - y) * r * lack
            state.total[leaf, d] -= y
        _draw(state.data[i], gaps, k, basis, target, r * math.sqrt(lack), rng)
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
    basis, changed = room_for_basis(inverse), 0
    for k in which:
        i = gaps.row[k]
        if is_grouped(state):
            greet(state, state.group[i])
        free_directions(gaps, k, inverse, basis)
        old = state.leaf[i]
        if old != NULL and _leave(state, i):
            old = NULL
        mixture = predictive_mixture(state)
        weight = np.empty(mixture.weight.size)
        weigh_observed(mixture, state.data[i], gaps, k, basis, weight)
        c = _choose(weight, rng)
        spread = math.sqrt(mixture.variance[c])
        _draw(state.data[i], gaps, k, basis, mixture.mean[c], spread, rng)
        enter(state, i, mixture.node[c], mixture.level[c], rng)
        changed += state.leaf[i] != old
        list_nodes(state)
        send(state)
    if is_grouped(state):
        greet(state, state.seated.shape[1] - 1)
    return changed


@linked
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


@linked
def _draw(
    y: FloatArray,
    gaps: Gaps,
    k: int,
    basis: FloatArray,
    mean: FloatArray,
    spread: float,
    rng: RandomState,
) -> None:
    """Draw what is missing of ``y``, which is normal along the free directions."""
    off = np.empty(gaps.start[k + 1] - gaps.start[k])
    for j in range(off.size):
        off[j] = spread * normal(rng)
    _approach(y, gaps, k, basis, mean, off)


@linked
def _approach(
    y: FloatArray, gaps: Gaps, k: int, basis: FloatArray, target: FloatArray, off: FloatArray
) -> None:
    """Move ``y`` along its free directions to where it is ``off`` from a target in each."""
    for j in range(gaps.start[k + 1] - gaps.start[k]):
        if basis.shape[0] == 0:
            column = gaps.column[gaps.start[k] + j]
            y[column] = target[column] + off[j]
        else:
            step = off[j]
            for d in range(y.size):
                step += basis[j, d] * (target[d] - y[d])
            for d in range(y.size):
                y[d] += step * basis[j, d]
