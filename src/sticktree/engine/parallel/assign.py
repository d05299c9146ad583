"""The pass in which every row chooses its leaf.

Weights are bounded over a block of rows, by the box around them; leaves whose bound is out of the
question are not looked at. What they might weigh in all is known, though: where it could change a
row's choice, all leaves are weighed. So each row chooses what it would if all were.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.parallel.components import PRODUCTS, SQUARES, Components, n_sums
from sticktree.engine.parallel.partition import BLOCK, Partition
from sticktree.engine.parallel.philox import Word, normal_of, philox, rank_of, uniform_of
from sticktree.engine.parallel.sums import MAGIC, add
from sticktree.jit import inlined, jit

__all__ = [
    "ASSIGN",
    "KEY",
    "NEXT_SALT",
    "PICK",
    "PICK_SALT",
    "SALT",
    "SWEEP",
    "Labels",
    "Tally",
    "assign_blocks",
    "assign_gaps",
    "cover",
    "empty_tally",
    "is_diagonal",
    "log_observed",
    "log_weight",
    "own_copy",
    "tally_row",
    "transform_block",
]

MARGIN = 34.0  # a leaf whose log weight is so much below another's may be left out
DOUBT = 1e-11  # share of the weights by which a sum of them may be off

ASSIGN, IMPUTE = np.uint64(0), np.uint64(1)  # purposes of random numbers
KEY, SWEEP, SALT, NEXT_SALT, PICK_SALT, PICK = range(6)  # places in `Components.words`
NO_RANK = np.uint64(0xFFFFFFFFFFFFFFFF)

Labels = npt.NDArray[np.int32]


class Tally(NamedTuple):
    """Sums over rows; those of parts of the rows add up."""

    count: npt.NDArray[np.int64]  # type: ignore[assignment] # (K,)
    lacking: npt.NDArray[np.int64]  # (K, D) entries that are missing and not imputed
    sums: npt.NDArray[np.int64]  # (K, S, 2) on the grids
    products: npt.NDArray[np.int64]  # (D, D, 2) over rows with imputed entries
    rank: npt.NDArray[np.uint64]  # (K,) the least of the next sweep
    anchor: npt.NDArray[np.uint64]  # (K,) the row that has it


def empty_tally(n_leaves: int, dimension: int, kind: int) -> Tally:
    """Return sums over no rows."""
    return Tally(
        np.zeros(n_leaves, dtype=np.int64),
        np.zeros((n_leaves, dimension), dtype=np.int64),
        np.zeros((n_leaves, n_sums(kind, dimension), 2), dtype=np.int64),
        np.zeros((dimension, dimension, 2), dtype=np.int64),
        np.full(n_leaves, NO_RANK),
        np.zeros(n_leaves, dtype=np.uint64),
    )


@inlined
def tally_row(
    tally: Tally, leaf: int, number: Word, y: FloatArray, kind: int, salt: Word, grid: FloatArray
) -> None:
    """Add a row to the sums of a leaf; entries that are missing are left out."""
    dimension = y.size
    tally.count[leaf] += 1
    rank = rank_of(number, salt)
    if rank < tally.rank[leaf]:
        tally.rank[leaf], tally.anchor[leaf] = rank, number
    sums = tally.sums[leaf]
    at = dimension
    for d in range(dimension):
        if math.isnan(y[d]):
            tally.lacking[leaf, d] += 1
            continue
        add(sums, d, y[d], grid[0], grid[1])
        if kind == SQUARES:
            add(sums, dimension + d, y[d] * y[d], grid[2], grid[3])
        elif kind == PRODUCTS:
            for e in range(d + 1):
                add(sums, at + e, y[d] * y[e], grid[2], grid[3])
            at += d + 1


@jit
def _bounds(
    low: FloatArray, high: FloatArray, told: Components, lower: FloatArray, upper: FloatArray
) -> float:
    """Fill in bounds on the log weight of every leaf for rows in a box; return the best lower."""
    dimension, best = low.size, -math.inf
    full = told.root.shape[0] > 0
    middle, reach = 0.5 * (low + high), 0.5 * (high - low)
    for k in range(told.log_weight.size):
        near, far = 0.0, 0.0
        if full:
            for d in range(dimension):
                t, slack = 0.0, 0.0
                for e in range(d + 1):
                    t += told.root[k, d, e] * (middle[e] - told.centre[k, e])
                    slack += abs(told.root[k, d, e]) * reach[e]
                near += max(abs(t) - slack, 0.0) ** 2
                far += (abs(t) + slack) ** 2
        else:
            for d in range(dimension):
                left, right = told.centre[k, d] - low[d], high[d] - told.centre[k, d]
                off = max(-left, -right, 0.0)
                near += told.precision[k, d] * off * off
                off = max(left, right)
                far += told.precision[k, d] * off * off
        lower[k] = told.log_weight[k] - 0.5 * far
        upper[k] = told.log_weight[k] - 0.5 * near
        best = max(best, lower[k])
    return best


@inlined
def log_weight(told: Components, k: int, x: FloatArray, place: int, full: bool) -> float:
    """Return the log weight of a leaf for one row of a block."""
    square = 0.0
    for d in range(x.shape[0]):
        if full:
            t = 0.0
            for e in range(d + 1):
                t += told.root[k, d, e] * (x[e, place] - told.centre[k, e])
            square += t * t
        else:
            off = x[d, place] - told.centre[k, d]
            square += told.precision[k, d] * off * off
    return told.log_weight[k] - 0.5 * square


@jit
def _choose_among_all(
    told: Components, x: FloatArray, place: int, rank: Word, point: float, values: FloatArray
) -> int:
    """Return the leaf that covers a point of [0, 1), of all that a row may join."""
    n_leaves, full, largest = told.log_weight.size, told.root.shape[0] > 0, -math.inf
    for k in range(n_leaves):
        values[k] = -math.inf
        if rank > told.limit[k]:
            values[k] = log_weight(told, k, x, place, full)
            largest = max(largest, values[k])
    return cover(values, n_leaves, largest, point)


@jit
def cover(values: FloatArray, size: int, largest: float, point: float) -> int:
    """Return the place among log weights that covers a point of [0, 1)."""
    total = 0.0
    for k in range(size):
        total += math.exp(values[k] - largest)
    point *= total
    below, chosen = 0.0, 0
    for k in range(size):
        weight = math.exp(values[k] - largest)
        if weight > 0.0:
            chosen = k
            below += weight
            if point < below:
                break
    return chosen


@jit
def _exponentials(x: FloatArray, out: FloatArray, power: npt.NDArray[np.int64]) -> None:
    """Fill in exp(x) for x ≤ 0, in loops that processors do several at a time.

    ``power`` is room of the same size. exp(x) = 2^k · exp(r) with |r| ≤ log(2)/2, whose power
    series to the twelfth term is right to the last digit or the one before.
    """
    for i in range(x.size):
        value = max(x[i], -700.0)
        k = (value * 1.4426950408889634 + MAGIC) - MAGIC
        r = (value - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
        p = 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        out[i] = p * r + 1.0
        power[i] = (int(k) + 1023) << 52
    scale = power.view(np.float64)
    for i in range(x.size):
        out[i] *= scale[i]


@jit
def own_copy(told: Components) -> Components:
    """Return a copy for one thread.

    References to arrays are counted in every call of a function that takes them. Threads that
    count the same ones wait for each other.
    """
    return Components(
        told.log_weight.copy(),
        told.centre.copy(),
        told.precision.copy(),
        told.transform.copy(),
        told.root.copy(),
        told.limit.copy(),
        told.anchor.copy(),
        told.words.copy(),
        told.kind,
        told.impute,
        told.grid.copy(),
    )


@jit
def assign_blocks(
    part: Partition, first: int, step: int, told: Components, labels: Labels, tally: Tally
) -> None:
    """Let the rows of every so many blocks choose; ``labels`` has the shape of ``part.row``."""
    told = own_copy(told)
    dimension, n_leaves = part.y.shape[1], told.log_weight.size
    full = told.root.shape[0] > 0
    key, sweep, salt = told.words[KEY], told.words[SWEEP], told.words[SALT]
    x, y = np.empty((dimension, BLOCK)), np.empty(dimension)
    off = np.empty((dimension, BLOCK))
    low, high = np.empty(dimension), np.empty(dimension)
    lower, upper, values = np.empty(n_leaves), np.empty(n_leaves), np.empty(n_leaves)
    near = np.empty(n_leaves, dtype=np.int64)
    logs, weight = np.empty((n_leaves, BLOCK)), np.empty((n_leaves, BLOCK))
    power = np.empty(BLOCK, dtype=np.int64)
    rank, point = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK)
    largest, total, shifted = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    anchors = _marks(told)
    diagonal = is_diagonal(told.transform)
    for block in range(first, part.filled.size, step):
        transform_block(part.y, block, told.transform, full, diagonal, x, low, high)
        best = _bounds(low, high, told, lower, upper)
        size = 0
        for k in range(n_leaves):
            if upper[k] >= best - MARGIN:
                near[size] = k
                size += 1
        for i in range(BLOCK):
            number = part.row[block, i]
            rank[i] = rank_of(number, salt)
            point[i] = uniform_of(philox(number, sweep, ASSIGN, key)[0])
            largest[i] = -math.inf
            total[i] = 0.0
        for j in range(size):
            _weigh(told, near[j], x, full, rank, logs[j], largest, off, shifted)
        for j in range(size):
            for i in range(BLOCK):
                shifted[i] = logs[j, i] - largest[i]
            _exponentials(shifted, weight[j], power)
            for i in range(BLOCK):
                total[i] += weight[j, i]
        left_out = (n_leaves - size) * math.exp(-MARGIN)
        for i in range(part.filled[block]):
            number = part.row[block, i]
            leaf = -1
            if anchors[rank[i] >> np.uint64(48)]:
                leaf = _anchored(told, number)
            if leaf < 0:
                leaf = _sure_choice(
                    weight, size, i, point[i], total[i], left_out * math.exp(best - largest[i])
                )
                if leaf < 0:
                    leaf = _choose_among_all(told, x, i, rank[i], point[i], values)
                else:
                    leaf = near[leaf]
            labels[block, i] = leaf
            for d in range(dimension):
                y[d] = part.y[block, d, i]
            tally_row(tally, leaf, number, y, told.kind, told.words[NEXT_SALT], told.grid)


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


@inlined
def _weigh(
    told: Components,
    k: int,
    x: FloatArray,
    full: bool,
    rank: npt.NDArray[np.uint64],
    logs: FloatArray,
    largest: FloatArray,
    off: FloatArray,
    turned: FloatArray,
) -> None:
    """Fill in the log weights of a leaf for all rows of a block, and follow the largest.

    ``off`` and ``turned`` are room for a block and for one number for each of its rows.
    """
    for i in range(BLOCK):
        logs[i] = 0.0
    for d in range(x.shape[0]):
        if full:
            for i in range(BLOCK):
                off[d, i] = x[d, i] - told.centre[k, d]
                turned[i] = 0.0
            for e in range(d + 1):
                factor = told.root[k, d, e]
                for i in range(BLOCK):
                    turned[i] += factor * off[e, i]
            for i in range(BLOCK):
                logs[i] += turned[i] * turned[i]
        else:
            centre, precision = told.centre[k, d], told.precision[k, d]
            for i in range(BLOCK):
                away = x[d, i] - centre
                logs[i] += precision * away * away
    top, limit = told.log_weight[k], told.limit[k]
    for i in range(BLOCK):
        value = top - 0.5 * logs[i] if rank[i] > limit else -math.inf
        logs[i] = value
        largest[i] = max(largest[i], value)


@inlined
def transform_block(
    y: FloatArray,
    block: int,
    transform: FloatArray,
    full: bool,
    diagonal: bool,
    x: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Fill in x = T y for the rows of a block, and the box around them.

    (A slice of ``y`` would be one more reference to count, for which threads would wait.)
    """
    dimension = y.shape[1]
    for d in range(dimension):
        if full:
            for i in range(BLOCK):
                x[d, i] = y[block, d, i]
        elif diagonal:
            for i in range(BLOCK):
                x[d, i] = transform[d, d] * y[block, d, i]
        else:
            for i in range(BLOCK):
                x[d, i] = 0.0
            for e in range(dimension):
                factor = transform[d, e]
                for i in range(BLOCK):
                    x[d, i] += factor * y[block, e, i]
        least, most = x[d, 0], x[d, 0]
        for i in range(BLOCK):
            least, most = min(least, x[d, i]), max(most, x[d, i])
        low[d], high[d] = least, most


@jit
def is_diagonal(matrix: FloatArray) -> bool:
    """Tell whether a matrix is zero off its diagonal."""
    for d in range(matrix.shape[0]):
        for e in range(matrix.shape[1]):
            if d != e and matrix[d, e] != 0.0:
                return False
    return True


@jit
def _marks(told: Components) -> npt.NDArray[np.bool_]:
    """Return for the first 16 bits of a rank whether an anchor has them."""
    marks = np.zeros(1 << 16, dtype=np.bool_)
    for k in range(told.limit.size):
        marks[told.limit[k] >> np.uint64(48)] = True
    return marks


@inlined
def _anchored(told: Components, number: Word) -> int:
    """Return the leaf whose anchor a row is, or −1."""
    for k in range(told.anchor.size):
        if told.anchor[k] == number:
            return k
    return -1


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
        leaf = _anchored(told, number)
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
def _normal(told: Components, number: Word, d: int) -> float:
    """Return the normal number for a missing entry."""
    purpose = IMPUTE + np.uint64(d) * np.uint64(4)
    first, second = philox(number, told.words[SWEEP], purpose, told.words[KEY])
    return normal_of(first, second)


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
