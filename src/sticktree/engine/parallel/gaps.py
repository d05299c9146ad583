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
    """Let every so many rows with gaps choose by what is observed, then draw what is missing."""
    told = own_copy(told)
    dimension, n_leaves = part.gap_y.shape[1], told.log_weight.size
    key, sweep, salt = told.words[KEY], told.words[SWEEP], told.words[SALT]
    values = np.empty(n_leaves)
    dense = told.root.shape[0] > 0 or not is_diagonal(told.transform)
    x = np.empty(dimension)
    limit = 0.5 * told.grid[1] / told.grid[0] / told.grid[0]
    for r in range(first, part.gap_row.size, step):
        number = part.gap_row[r]
        rank = rank_of(number, salt)
        leaf = anchored(told, number)
        if leaf < 0:
            largest = -math.inf
            for k in range(n_leaves):
                values[k] = -math.inf
                if rank > told.limit[k]:
                    if dense:
                        values[k] = _log_margin(told, k, part.gap_y[r])
                    else:
                        values[k] = log_observed(told, k, part.gap_y[r])
                    largest = max(largest, values[k])
            point = uniform_of(philox(number, sweep, ASSIGN, key)[0])
            leaf = cover(values, n_leaves, largest, point)
        labels[r] = leaf
        x[:] = part.gap_y[r]
        if told.impute:
            if dense:
                _complete(told, leaf, x, number)
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
        completed[r] = x
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
def _log_margin(told: Components, k: int, y: FloatArray) -> float:
    """Return the log weight of a leaf for what is observed, from its precision matrix.

    With off = y − c where observed, else the best value: the density of all at that point, over
    that of the missing part at its centre.
    """
    mean = np.empty(y.size)
    part, pull, missing = _split_precision(told, k, y, mean)
    off = np.zeros(y.size)
    for d in range(y.size):
        if not math.isnan(y[d]):
            off[d] = y[d] - mean[d]
    best = np.linalg.solve(part, pull)
    for a in range(missing.size):
        off[missing[a]] = best[a]
    square = 0.0
    for d in range(y.size):
        t = 0.0
        if told.root.shape[0] > 0:
            for e in range(d + 1):
                t += told.root[k, d, e] * off[e]
        else:
            for e in range(y.size):
                t += told.transform[d, e] * off[e]
            t *= math.sqrt(told.precision[k, d])
        square += t * t
    return told.log_weight[k] - 0.5 * square - 0.5 * np.linalg.slogdet(part)[1]


@jit
def _complete(told: Components, k: int, y: FloatArray, number: Word) -> None:
    """Draw what is missing of a row in a leaf."""
    mean = np.empty(y.size)
    part, pull, missing = _split_precision(told, k, y, mean)
    factor = np.linalg.cholesky(part)
    drawn = np.linalg.solve(part, pull)
    noise = np.empty(missing.size)
    for a in range(missing.size):
        noise[a] = _normal(told, number, missing[a])
    noise = np.linalg.solve(factor.T.copy(), noise)
    for a in range(missing.size):
        y[missing[a]] = mean[missing[a]] + drawn[a] + noise[a]


@inlined
def _normal(told: Components, number: Word, d: int) -> float:
    """Return the normal number for a missing entry."""
    purpose = IMPUTE + np.uint64(d) * np.uint64(4)
    first, second = philox(number, told.words[SWEEP], purpose, told.words[KEY])
    return normal_of(first, second)


@jit
def _split_precision(
    told: Components, k: int, y: FloatArray, mean: FloatArray
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
    """Return the precision of what is missing, its product with the offset, and which it is."""
    dimension = y.size
    matrix = _precision(told, k, mean)
    missing = np.flatnonzero(np.isnan(y))
    part = np.empty((missing.size, missing.size))
    pull = np.zeros(missing.size)
    for a in range(missing.size):
        for b in range(missing.size):
            part[a, b] = matrix[missing[a], missing[b]]
        for e in range(dimension):
            if not math.isnan(y[e]):
                pull[a] -= matrix[missing[a], e] * (y[e] - mean[e])
    return part, pull, missing


@jit
def _precision(told: Components, k: int, mean: FloatArray) -> FloatArray:
    """Return the precision matrix of a leaf in the coordinates of y, and fill in its mean."""
    dimension = mean.size
    root = np.zeros((dimension, dimension))
    if told.root.shape[0] > 0:
        root[:] = told.root[k]
        mean[:] = told.centre[k]
    else:
        for d in range(dimension):
            for e in range(dimension):
                root[d, e] = math.sqrt(told.precision[k, d]) * told.transform[d, e]
        mean[:] = np.linalg.solve(told.transform, told.centre[k])
    return root.T @ root
