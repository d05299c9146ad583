"""Rows with gaps: each chooses its leaf by what is observed, then what is missing is drawn."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.parallel.assign import anchored, cover
from sticktree.engine.parallel.components import KEY, NEXT_SALT, SALT, SWEEP, Components, own_copy
from sticktree.engine.parallel.labels import Labels
from sticktree.engine.parallel.partition import Partition
from sticktree.engine.parallel.philox import (
    ASSIGN,
    IMPUTE,
    Word,
    normal_of,
    philox,
    rank_of,
    uniform_of,
)
from sticktree.engine.parallel.sums import add
from sticktree.engine.parallel.tally import Tally, tally_row
from sticktree.engine.parallel.weights import is_diagonal
from sticktree.jit import inlined, jit

__all__ = ["assign_gaps", "log_observed"]


@jit
def assign_gaps(
    part: Partition,
    first: int,
    step: int,
    told: Components,
    labels: Labels,
    completed: FloatArray,
    tally: Tally,
) -> None:
    """Let a share of the rows with gaps choose by what is observed, and draw what is missing.

    Rows that miss the same columns follow each other, so what these need is seldom made.
    """
    told = own_copy(told)
    size, dimension, n_leaves = part.gap_row.size, part.gap_y.shape[1], told.log_weight.size
    key, sweep, salt = told.words[KEY], told.words[SWEEP], told.words[SALT]
    values, room = np.empty(n_leaves), np.empty(n_leaves)
    dense = told.root.shape[0] > 0 or not is_diagonal(told.transform)
    centre = np.empty((n_leaves, dimension))
    precision = _precisions(told, centre) if dense else np.empty((0, 0, 0))
    top, mean = np.empty(n_leaves), np.empty((dimension, n_leaves))
    root, off = np.empty((dimension, dimension, n_leaves)), np.empty((dimension, n_leaves))
    order = np.full(dimension, -1, dtype=np.int64)
    n_missing = 0
    x = np.empty(dimension)
    limit = 0.5 * told.grid[1] / told.grid[0] / told.grid[0]
    for r in range(size * first // step, size * (first + 1) // step):
        for d in range(dimension):
            x[d] = part.gap_y[r, d]
        if dense and not _misses(x, order, n_missing):
            n_missing = _missing_first(x, order)
            _factor(precision, centre, told.log_weight, order, n_missing, root, mean, top)
        number = part.gap_row[r]
        rank = rank_of(number, salt)
        leaf = anchored(told, number)
        if dense:
            _weigh(x, order, n_missing, root, mean, top, off, room, values)
        if leaf < 0:
            largest = -math.inf
            for k in range(n_leaves):
                if not dense:
                    values[k] = log_observed(told, k, x)
                if rank <= told.limit[k]:
                    values[k] = -math.inf
                largest = max(largest, values[k])
            point = uniform_of(philox(number, sweep, ASSIGN, key)[0])
            leaf = cover(values, n_leaves, largest, point)
        labels[r] = leaf
        if told.impute:
            if dense:
                _complete(x, order, n_missing, root, mean, off, leaf, told, number)
            else:
                for d in range(dimension):
                    if math.isnan(x[d]):
                        noise = _normal(told, number, d) / math.sqrt(told.precision[leaf, d])
                        x[d] = (told.centre[leaf, d] + noise) / told.transform[d, d]
            for d in range(dimension):
                # Further out there is no grid. Only leaves of next to no rows ever draw so.
                x[d] = min(max(x[d], -limit), limit)
            for d in range(dimension):
                for e in range(dimension):
                    add(tally.products[d], e, x[d] * x[e], told.grid[2], told.grid[3])
        for d in range(dimension):
            completed[r, d] = x[d]
        tally_row(tally, leaf, number, x, told.kind, told.words[NEXT_SALT], told.grid)


@inlined
def log_observed(told: Components, k: int, y: FloatArray) -> float:
    """Return the log weight of a leaf for what is observed, all columns being independent."""
    value = told.log_weight[k]
    for d in range(y.size):
        if math.isnan(y[d]):
            # The weight has the density of all columns at the centre.
            value -= 0.5 * math.log(told.precision[k, d])
        else:
            off = told.transform[d, d] * y[d] - told.centre[k, d]
            value -= 0.5 * told.precision[k, d] * off * off
    return value


@jit
def _precisions(told: Components, mean: FloatArray) -> FloatArray:
    """Return the precision matrix of each leaf in the coordinates of y, and fill in its mean."""
    n_leaves, dimension = mean.shape
    out = np.empty((n_leaves, dimension, dimension))
    inverse = np.linalg.inv(told.transform)
    for k in range(n_leaves):
        if told.root.shape[0] > 0:
            out[k] = told.root[k].T @ told.root[k]
            mean[k] = told.centre[k]
        else:
            scaled = told.transform.copy()
            for d in range(dimension):
                scaled[d] *= told.precision[k, d]
            out[k] = told.transform.T @ scaled
            mean[k] = inverse @ told.centre[k]
    return out


@inlined
def _misses(y: FloatArray, order: npt.NDArray[np.int64], n_missing: int) -> bool:
    """Tell whether a row misses the first columns of an order, and no others."""
    for j in range(order.size):
        if order[j] < 0 or math.isnan(y[order[j]]) != (j < n_missing):
            return False
    return True


@jit
def _missing_first(y: FloatArray, order: npt.NDArray[np.int64]) -> int:
    """Put the columns that a row misses first; return how many there are."""
    n_missing = int(np.isnan(y).sum())
    gap, there = 0, n_missing
    for d in range(y.size):
        if math.isnan(y[d]):
            order[gap] = d
            gap += 1
        else:
            order[there] = d
            there += 1
    return n_missing


@jit
def _factor(
    precision: FloatArray,
    centre: FloatArray,
    log_weight: FloatArray,
    order: npt.NDArray[np.int64],
    n_missing: int,
    root: FloatArray,
    mean: FloatArray,
    top: FloatArray,
) -> None:
    """Fill in what rows that miss the same columns need of each leaf; leaves are the last axis.

    With the missing columns first, the precision is RᵀR. The last block of R is the root of the
    precision of what is observed alone; the first, with what stands beside it, is the law of what
    is missing. ``top`` is the log weight of a leaf for a row whose observed entries are its mean:
    the density of all columns at the mean, over that of the missing ones.
    """
    size = order.size
    turned = np.empty((size, size))
    for k in range(len(precision)):
        for i in range(size):
            mean[i, k] = centre[k, order[i]]
            for j in range(size):
                turned[i, j] = precision[k, order[i], order[j]]
        lower = np.linalg.cholesky(turned)
        for i in range(size):
            for j in range(size):
                root[j, i, k] = lower[i, j]
        top[k] = log_weight[k]
        for j in range(n_missing):
            top[k] -= math.log(lower[j, j])


@inlined
def _weigh(
    y: FloatArray,
    order: npt.NDArray[np.int64],
    n_missing: int,
    root: FloatArray,
    mean: FloatArray,
    top: FloatArray,
    off: FloatArray,
    room: FloatArray,
    values: FloatArray,
) -> None:
    """Fill in the log weights of all leaves for what is observed, and ``off``, y − mean."""
    n_leaves = top.size
    for k in range(n_leaves):
        values[k] = top[k]
    for j in range(order.size - 1, n_missing - 1, -1):
        entry = y[order[j]]
        for k in range(n_leaves):
            off[j, k] = entry - mean[j, k]
            room[k] = 0.0
        for i in range(j, order.size):
            for k in range(n_leaves):
                room[k] += root[j, i, k] * off[i, k]
        for k in range(n_leaves):
            values[k] -= 0.5 * room[k] * room[k]


@inlined
def _complete(
    y: FloatArray,
    order: npt.NDArray[np.int64],
    n_missing: int,
    root: FloatArray,
    mean: FloatArray,
    off: FloatArray,
    leaf: int,
    told: Components,
    number: Word,
) -> None:
    """Draw what is missing: R off is standard normal there, given ``off`` of what is observed."""
    for j in range(n_missing - 1, -1, -1):
        value = _normal(told, number, order[j])
        for i in range(j + 1, order.size):
            value -= root[j, i, leaf] * off[i, leaf]
        off[j, leaf] = value / root[j, j, leaf]
        y[order[j]] = mean[j, leaf] + off[j, leaf]


@inlined
def _normal(told: Components, number: Word, d: int) -> float:
    """Return the normal number for a missing entry."""
    purpose = IMPUTE + np.uint64(d) * np.uint64(4)
    first, second = philox(number, told.words[SWEEP], purpose, told.words[KEY])
    return normal_of(first, second)
