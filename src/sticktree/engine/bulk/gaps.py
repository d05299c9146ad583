"""Rows with gaps: each chooses its leaf by what is observed, then what is missing is drawn."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.assign import anchored, cover
from sticktree.engine.bulk.components import (
    KEY,
    NEXT_SALT,
    SALT,
    SWEEP,
    Components,
    is_diagonal,
    own_copy,
)
from sticktree.engine.bulk.partition import Labels, Partition
from sticktree.engine.bulk.philox import (
    ASSIGN,
    IMPUTE,
    Word,
    normal_of,
    philox,
    rank_of,
    uniform_of,
)
from sticktree.engine.bulk.sums import Tally, add, tally_row
from sticktree.jit import inlined, jit, linked


@jit
def assign_gaps(
    part: Partition,
    first: int,
    step: int,
    leaves: Components,
    labels: Labels,
    completed: FloatArray,
    tally: Tally,
) -> None:
    """Let a share of the rows with gaps choose by what is observed, and draw what is missing.

    Rows that miss the same columns follow each other, so margins are seldom made.
    """
    leaves = own_copy(leaves)
    size, dimension, n_leaves = part.gap_row.size, part.gap_y.shape[1], leaves.log_weight.size
    key, sweep, salt = leaves.words[KEY], leaves.words[SWEEP], leaves.words[SALT]
    values, room = np.empty(n_leaves), np.empty(n_leaves)
    dense = leaves.root.shape[0] > 0 or not is_diagonal(leaves.transform)
    centre = np.empty((n_leaves, dimension))
    precision = precisions(leaves, centre) if dense else np.empty((1, 0, 0))
    margins = empty_margins(n_leaves, dimension, len(precision) == 1)
    n_missing = 0
    x, off = np.empty(dimension), np.empty(dimension)
    grid = leaves.grid[0], leaves.grid[1], leaves.grid[2], leaves.grid[3]
    limit = 0.5 * grid[1] / grid[0] / grid[0]
    for r in range(size * first // step, size * (first + 1) // step):
        for d in range(dimension):
            x[d] = part.gap_y[r, d]
        if dense and not misses(x, margins.order, n_missing):
            n_missing = put_first(x, margins.order)
            factor(precision, centre, leaves.log_weight, n_missing, margins)
        number = part.gap_row[r]
        rank = rank_of(number, salt)
        leaf = anchored(leaves, number)
        if leaf < 0:
            if dense:
                weigh(x, margins, n_missing, room, values)
            largest = -math.inf
            for k in range(n_leaves):
                if not dense:
                    values[k] = log_observed(leaves, k, x)
                if leaves.share.size:
                    values[k] += leaves.share[k, part.gap_group[r]]
                if rank <= leaves.limit[k]:
                    values[k] = -math.inf
                largest = max(largest, values[k])
            point = uniform_of(philox(number, sweep, ASSIGN, key)[0])
            leaf = cover(values, n_leaves, largest, point)
        labels[r] = leaf
        if leaves.impute:
            if dense:
                complete(x, margins, n_missing, leaf, off, leaves, number)
            else:
                for d in range(dimension):
                    if math.isnan(x[d]):
                        noise = normal(leaves, number, d) / math.sqrt(leaves.precision[leaf, d])
                        x[d] = (leaves.centre[leaf, d] + noise) / leaves.transform[d, d]
            for d in range(dimension):
                # Further out there is no grid. Only leaves of next to no rows ever draw so.
                x[d] = min(max(x[d], -limit), limit)
            for d in range(dimension):
                for e in range(dimension):
                    add(tally.products[d], e, x[d] * x[e], grid[2], grid[3])
        for d in range(dimension):
            completed[r, d] = x[d]
        tally_row(tally, leaf, number, x, leaves.kind, leaves.words[NEXT_SALT], grid)
        if part.gap_group.size:
            tally.seated[leaf, part.gap_group[r]] += 1


@inlined
def log_observed(leaves: Components, k: int, y: FloatArray) -> float:
    """Return the log weight of a leaf for what is observed, all columns being independent."""
    value = leaves.log_weight[k]
    for d in range(y.size):
        if math.isnan(y[d]):
            # The weight has the density of all columns at the centre.
            value -= 0.5 * math.log(leaves.precision[k, d])
        else:
            off = leaves.transform[d, d] * y[d] - leaves.centre[k, d]
            value -= 0.5 * leaves.precision[k, d] * off * off
    return value


# ---- Leaves as rows see them that miss the same columns, where columns depend on each other -----
#
# With the missing columns first, the precision matrix of a leaf is RᵀR for an upper triangle R. Its
# last block is the root of the precision of what is observed alone. The rows above it give the law
# of what is missing given that: R (y − mean) is standard normal, and part of y is known.


class Margins(NamedTuple):
    """K leaves for rows that miss the same columns; arrays are filled in anew for others."""

    order: npt.NDArray[np.int64]  # (D,) columns, the missing ones first
    root: FloatArray  # (D, D, K) R, or (D, D, 1) if all leaves have the same
    mean: FloatArray  # (D, K)
    turned: FloatArray  # (D, K) R mean, where observed
    top: FloatArray  # (K,) the log weight for a row whose observed entries are the mean


@linked
def empty_margins(n_leaves: int, dimension: int, alike: bool) -> Margins:
    """Return room for leaves, whose precisions are alike or not."""
    return Margins(
        np.full(dimension, -1, dtype=np.int64),
        np.empty((dimension, dimension, 1 if alike else n_leaves)),
        np.empty((dimension, n_leaves)),
        np.empty((dimension, n_leaves)),
        np.empty(n_leaves),
    )


@linked
def precisions(leaves: Components, mean: FloatArray) -> FloatArray:
    """Return the precision matrices of leaves in the coordinates of y, and fill in their means.

    Leaves without roots are alike: noise is shared, or columns would not depend on each other.
    """
    n_leaves, dimension = mean.shape
    if leaves.root.shape[0] > 0:
        out = np.empty((n_leaves, dimension, dimension))
        for k in range(n_leaves):
            out[k] = leaves.root[k].T @ leaves.root[k]
        mean[:] = leaves.centre
        return out
    scaled = leaves.transform.copy()
    for d in range(dimension):
        scaled[d] *= leaves.precision[0, d]
    mean[:] = leaves.centre @ np.linalg.inv(leaves.transform).T
    out = np.empty((1, dimension, dimension))
    out[0] = leaves.transform.T @ scaled
    return out


@inlined
def misses(y: FloatArray, order: npt.NDArray[np.int64], n_missing: int) -> bool:
    """Tell whether a row misses the first columns of an order, and no others."""
    for j in range(order.size):
        if order[j] < 0 or math.isnan(y[order[j]]) != (j < n_missing):
            return False
    return True


@linked
def put_first(y: FloatArray, order: npt.NDArray[np.int64]) -> int:
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


@linked
def factor(
    precision: FloatArray,
    centre: FloatArray,
    log_weight: FloatArray,
    n_missing: int,
    margins: Margins,
) -> None:
    """Fill in the leaves, for rows that miss the first columns of the order.

    The log weight of a leaf has the density of all columns at their mean; that of the missing ones
    is taken out.
    """
    order, size = margins.order, margins.order.size
    permuted = np.empty((size, size))
    for f in range(len(precision)):
        for i in range(size):
            for j in range(size):
                permuted[i, j] = precision[f, order[i], order[j]]
        lower = np.linalg.cholesky(permuted)
        for i in range(size):
            for j in range(size):
                margins.root[j, i, f] = lower[i, j]
    for k in range(len(centre)):
        f = k if len(precision) > 1 else 0
        margins.top[k] = log_weight[k]
        for j in range(n_missing):
            margins.top[k] -= math.log(margins.root[j, j, f])
        for j in range(size - 1, -1, -1):
            margins.mean[j, k] = centre[k, order[j]]
            margins.turned[j, k] = 0.0
            for i in range(j, size):
                margins.turned[j, k] += margins.root[j, i, f] * margins.mean[i, k]


@inlined
def weigh(
    y: FloatArray, margins: Margins, n_missing: int, room: FloatArray, values: FloatArray
) -> None:
    """Fill in the log weights of all leaves for what is observed of a row."""
    order, root, turned = margins.order, margins.root, margins.turned
    n_leaves, alike = values.size, root.shape[2] == 1
    for k in range(n_leaves):
        values[k] = margins.top[k]
    for j in range(n_missing, order.size):
        if alike:
            entry = 0.0
            for i in range(j, order.size):
                entry += root[j, i, 0] * y[order[i]]
            for k in range(n_leaves):
                away = entry - turned[j, k]
                values[k] -= 0.5 * away * away
        else:
            for k in range(n_leaves):
                room[k] = -turned[j, k]
            for i in range(j, order.size):
                entry = y[order[i]]
                for k in range(n_leaves):
                    room[k] += root[j, i, k] * entry
            for k in range(n_leaves):
                values[k] -= 0.5 * room[k] * room[k]


@inlined
def complete(
    y: FloatArray,
    margins: Margins,
    n_missing: int,
    leaf: int,
    off: FloatArray,
    leaves: Components,
    number: Word,
) -> None:
    """Draw what is missing of a row in a leaf; ``off`` is room for y − mean."""
    order, root = margins.order, margins.root
    f = leaf if root.shape[2] > 1 else 0
    for j in range(order.size - 1, -1, -1):
        if j >= n_missing:
            off[j] = y[order[j]] - margins.mean[j, leaf]
            continue
        value = normal(leaves, number, order[j])
        for i in range(j + 1, order.size):
            value -= root[j, i, f] * off[i]
        off[j] = value / root[j, j, f]
        y[order[j]] = margins.mean[j, leaf] + off[j]


@inlined
def normal(leaves: Components, number: Word, d: int) -> float:
    """Return the normal number for a missing entry."""
    purpose = IMPUTE + np.uint64(d) * np.uint64(4)
    first, second = philox(number, leaves.words[SWEEP], purpose, leaves.words[KEY])
    return normal_of(first, second)
