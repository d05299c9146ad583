"""The pass in which every row chooses its leaf.

Weights are bounded over a block of rows, by the box around them; leaves whose bound is far below
the best weight are left out. How much they weigh together is bounded as well: where that could
change a row's choice, all leaves are weighed. So each row chooses as if all leaves were weighed.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import (
    KEY,
    NEXT_SALT,
    SALT,
    SWEEP,
    Components,
    bound_weights,
    exponentials,
    is_diagonal,
    log_weight,
    log_weights,
    own_copy,
    transform_block,
)
from sticktree.engine.bulk.partition import BLOCK, Labels, Partition
from sticktree.engine.bulk.philox import ASSIGN, Word, philox, rank_of, uniform_of
from sticktree.engine.bulk.sums import Tally, tally_block
from sticktree.jit import inlined, jit, linked

MARGIN = 20.0  # a leaf whose log weight is so much below another's may be left out
PICKS, FEW = 3, 4  # leaves that are looked at by their bounds, as long as more than a few wait
LEAST = -1e300  # below are leaves that were looked at
DOUBT = 1e-11  # share of the weights by which a sum of them may be off


@jit
def assign_blocks(
    part: Partition, first: int, step: int, leaves: Components, labels: Labels, tally: Tally
) -> None:
    """Let the rows of a share of the blocks choose; ``labels`` has the shape of ``part.row``."""
    leaves = own_copy(leaves)
    dimension, n_leaves = part.y.shape[1], leaves.log_weight.size
    full = leaves.root.shape[0] > 0
    key, sweep, salt = leaves.words[KEY], leaves.words[SWEEP], leaves.words[SALT]
    kind, next_salt = leaves.kind, leaves.words[NEXT_SALT]
    grid = leaves.grid[0], leaves.grid[1], leaves.grid[2], leaves.grid[3]
    x, off = np.empty((dimension, BLOCK)), np.empty((dimension, BLOCK))
    low, high = np.empty(dimension), np.empty(dimension)
    upper, values = np.empty(n_leaves), np.empty(n_leaves)
    near, order = np.empty(n_leaves, dtype=np.int64), np.empty(n_leaves, dtype=np.int64)
    logs, weight = np.empty((n_leaves, BLOCK)), np.empty((n_leaves, BLOCK))
    power = np.empty(BLOCK, dtype=np.int64)
    rank, point = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK)
    group, grouped = np.zeros(BLOCK, dtype=np.uint64), leaves.share.size > 0
    largest, total, shifted = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    anchors = _marks(leaves)
    diagonal = is_diagonal(leaves.transform)
    for block in range(first, part.filled.size, step):
        transform_block(part.y, block, leaves.transform, full, diagonal, x, low, high)
        nearest = bound_weights(low, high, leaves, upper)
        for i in range(BLOCK):
            number = part.row[block, i]
            rank[i] = rank_of(number, salt)
            point[i] = uniform_of(philox(number, sweep, ASSIGN, key)[0])
            largest[i] = -math.inf
            total[i] = 0.0
        for i in range(BLOCK if grouped else 0):
            group[i] = part.group[block, i]
        size, pick, worst, waiting = 0, nearest, -math.inf, 0
        while pick >= 0:
            near[size] = pick
            upper[pick] = -math.inf
            log_weights(leaves, pick, x, full, rank, group, logs[size], largest, off, shifted)
            size += 1
            worst = _least(largest, rank, leaves.limit[nearest])
            waiting = _count(upper, worst - MARGIN)
            # A block of two clusters needs a look at both before the others are out of question.
            pick = _most(upper) if waiting > FEW and size < PICKS else -1
        for k in range(n_leaves if waiting else 0):
            if upper[k] >= max(worst - MARGIN, LEAST):
                near[size] = k
                log_weights(leaves, k, x, full, rank, group, logs[size], largest, off, shifted)
                size += 1
        _sort(near, size, order)
        for j in range(size):
            for i in range(BLOCK):
                shifted[i] = logs[order[j], i] - largest[i]
            exponentials(shifted, weight[j], power)
            for i in range(BLOCK):
                total[i] += weight[j, i]
        left_out = (n_leaves - size) * math.exp(-MARGIN)
        for i in range(part.filled[block]):
            number = part.row[block, i]
            leaf = -1
            if anchors[rank[i] >> np.uint64(48)]:
                leaf = anchored(leaves, number)
            if leaf < 0:
                leaf = _sure_choice(
                    weight, size, i, point[i], total[i], left_out * math.exp(worst - largest[i])
                )
                if leaf < 0:
                    leaf = _choose_among_all(leaves, x, i, rank[i], group[i], point[i], values)
                else:
                    leaf = near[order[leaf]]
            labels[block, i] = leaf
        tally_block(tally, part, block, labels, kind, next_salt, grid, shifted, total, largest)


@inlined
def _least(largest: FloatArray, rank: npt.NDArray[np.uint64], limit: Word) -> float:
    """Return the log weight of the row that is worst off, of those that may join the nearest leaf.

    (Anchors may not, and are at home there. They would make all leaves of the block count.)
    """
    worst = math.inf
    for i in range(BLOCK):
        if rank[i] > limit:
            worst = min(worst, largest[i])
    return worst


@inlined
def _count(upper: FloatArray, limit: float) -> int:
    """Return how many bounds are not below a limit, of leaves that were not looked at."""
    limit, count = max(limit, LEAST), 0
    for k in range(upper.size):
        count += int(upper[k] >= limit)
    return count


@inlined
def _most(upper: FloatArray) -> int:
    """Return which bound is the largest."""
    pick = 0
    for k in range(upper.size):
        if upper[k] > upper[pick]:
            pick = k
    return pick


@inlined
def _sort(near: npt.NDArray[np.int64], size: int, order: npt.NDArray[np.int64]) -> None:
    """Fill in the order of leaves by their numbers; all but the first few are in order."""
    for j in range(size):
        i = j
        while i > 0 and near[order[i - 1]] > near[j]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = j


@inlined
def _sure_choice(
    weight: FloatArray, size: int, place: int, point: float, total: float, left_out: float
) -> int:
    """Return which of the leaves near covers the point, or −1 if those left out may matter."""
    doubt = left_out + DOUBT * total
    if not doubt < 1e-3 * total:
        return -1
    below = 0.0
    for j in range(size):
        above = below + weight[j, place]
        if point * (total + doubt) < above - doubt:
            return j if point * (total - doubt) >= below + doubt else -1
        below = above
    return -1


@linked
def _choose_among_all(
    leaves: Components,
    x: FloatArray,
    place: int,
    rank: Word,
    group: Word,
    point: float,
    values: FloatArray,
) -> int:
    """Return the leaf that covers a point of [0, 1), of all that a row may join."""
    n_leaves, full, largest = leaves.log_weight.size, leaves.root.shape[0] > 0, -math.inf
    for k in range(n_leaves):
        values[k] = -math.inf
        if rank > leaves.limit[k]:
            values[k] = log_weight(leaves, k, x, place, full)
            if leaves.share.size:
                values[k] += leaves.share[k, group]
            largest = max(largest, values[k])
    return cover(values, n_leaves, largest, point)


@linked
def cover(values: FloatArray, size: int, largest: float, point: float) -> int:
    """Return the place among log weights that covers a point of [0, 1).

    ``values`` becomes the weights, in proportion to the largest.
    """
    total = 0.0
    for k in range(size):
        values[k] = math.exp(values[k] - largest)
        total += values[k]
    point *= total
    below, chosen = 0.0, 0
    for k in range(size):
        if values[k] > 0.0:
            chosen = k
            below += values[k]
            if point < below:
                break
    return chosen


@linked
def _marks(leaves: Components) -> npt.NDArray[np.bool_]:
    """Return for the first 16 bits of a rank whether an anchor has them."""
    marks = np.zeros(1 << 16, dtype=np.bool_)
    for k in range(leaves.limit.size):
        marks[leaves.limit[k] >> np.uint64(48)] = True
    return marks


@inlined
def anchored(leaves: Components, number: Word) -> int:
    """Return the leaf whose anchor a row is, or −1."""
    for k in range(leaves.anchor.size):
        if leaves.anchor[k] == number:
            return k
    return -1
