"""Rows with gaps: each chooses its leaf by what is observed, then what is missing is drawn."""

from __future__ import annotations

import math

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.bulk.assign import anchored, cover
from sticktree.engine.bulk.components import KEY, NEXT_SALT, SALT, SWEEP, Components, own_copy
from sticktree.engine.bulk.labels import Labels
from sticktree.engine.bulk.margins import (
    complete,
    empty_margins,
    factor,
    misses,
    normal,
    precisions,
    put_first,
    weigh,
)
from sticktree.engine.bulk.partition import Partition
from sticktree.engine.bulk.philox import ASSIGN, philox, rank_of, uniform_of
from sticktree.engine.bulk.sums import add
from sticktree.engine.bulk.tally import Tally, tally_row
from sticktree.engine.bulk.weights import is_diagonal
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

    Rows that miss the same columns follow each other, so margins are seldom made.
    """
    told = own_copy(told)
    size, dimension, n_leaves = part.gap_row.size, part.gap_y.shape[1], told.log_weight.size
    key, sweep, salt = told.words[KEY], told.words[SWEEP], told.words[SALT]
    values, room = np.empty(n_leaves), np.empty(n_leaves)
    dense = told.root.shape[0] > 0 or not is_diagonal(told.transform)
    centre = np.empty((n_leaves, dimension))
    precision = precisions(told, centre) if dense else np.empty((1, 0, 0))
    margins = empty_margins(n_leaves, dimension, len(precision) == 1)
    n_missing = 0
    x, off = np.empty(dimension), np.empty(dimension)
    grid = told.grid[0], told.grid[1], told.grid[2], told.grid[3]
    limit = 0.5 * grid[1] / grid[0] / grid[0]
    for r in range(size * first // step, size * (first + 1) // step):
        for d in range(dimension):
            x[d] = part.gap_y[r, d]
        if dense and not misses(x, margins.order, n_missing):
            n_missing = put_first(x, margins.order)
            factor(precision, centre, told.log_weight, n_missing, margins)
        number = part.gap_row[r]
        rank = rank_of(number, salt)
        leaf = anchored(told, number)
        if leaf < 0:
            if dense:
                weigh(x, margins, n_missing, room, values)
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
                complete(x, margins, n_missing, leaf, off, told, number)
            else:
                for d in range(dimension):
                    if math.isnan(x[d]):
                        noise = normal(told, number, d) / math.sqrt(told.precision[leaf, d])
                        x[d] = (told.centre[leaf, d] + noise) / told.transform[d, d]
            for d in range(dimension):
                # Further out there is no grid. Only leaves of next to no rows ever draw so.
                x[d] = min(max(x[d], -limit), limit)
            for d in range(dimension):
                for e in range(dimension):
                    add(tally.products[d], e, x[d] * x[e], grid[2], grid[3])
        for d in range(dimension):
            completed[r, d] = x[d]
        tally_row(tally, leaf, number, x, told.kind, told.words[NEXT_SALT], grid)


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
