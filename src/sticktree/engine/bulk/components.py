"""The leaves as rows see them in a sweep: weighted normal densities.

In the form "diag" a row y is x = T y, and the leaf k is N(c_k, 1/p_k) in each coordinate of x. In
the form "full" it is N(c_k, (B_kᵀ B_k)⁻¹) in those of y.

A leaf must not lose its last row: an empty leaf could never come back in the next sweep, and
the two ways would not balance. So in every sweep rows are ranked anew, by their numbers alone; the
row of least rank stays in its leaf, as its *anchor*, and rows of a lower rank than its anchor's may
not join. Given the anchors that is Gibbs sampling of all other rows, for in any outcome the anchors
are the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.partition import BLOCK
from sticktree.engine.bulk.sums import MAGIC
from sticktree.jit import inlined, linked

# Places in `Components.words`: the key and the sweep of all random numbers, the salts of the ranks
# now and next, and salt and limit of the ranks of rows that are picked.
KEY, SWEEP, SALT, NEXT_SALT, PICK_SALT, PICK = range(6)


NO_SHARES = np.empty((0, 0))


class Components(NamedTuple):
    """K leaves for rows of D columns, and the random numbers of one sweep.

    If rows belong to J groups, ``log_weight`` is of the group in which a leaf weighs most.
    """

    log_weight: FloatArray  # (K,) log weight of the leaf and log density at its centre
    centre: FloatArray  # (K, D)
    precision: FloatArray  # (K, D) p, if diag
    transform: FloatArray  # (D, D) T, if diag
    root: FloatArray  # (K, D, D) B, lower triangular, if full; else no rows
    limit: npt.NDArray[np.uint64]  # (K,) rank of the anchor
    anchor: npt.NDArray[np.uint64]  # (K,) number of the anchor
    words: npt.NDArray[np.uint64]  # (6,) of which random numbers are made
    kind: int  # which sums
    impute: bool  # whether missing entries are drawn
    grid: FloatArray  # (4,) coarse and fine, of y and of products
    share: FloatArray = NO_SHARES  # (K, J) what is added to the log weight in each group, or none


def pick_limits(leaves: Components) -> tuple[int, int]:
    """Return the salt by which rows are picked, and the rank below which they are."""
    return int(leaves.words[PICK_SALT]), int(leaves.words[PICK])


@linked
def own_copy(leaves: Components) -> Components:
    """Return a copy for one thread.

    References to arrays are counted in every call of a function that takes them. Threads that
    count the same ones wait for each other.
    """
    return Components(
        leaves.log_weight.copy(),
        leaves.centre.copy(),
        leaves.precision.copy(),
        leaves.transform.copy(),
        leaves.root.copy(),
        leaves.limit.copy(),
        leaves.anchor.copy(),
        leaves.words.copy(),
        leaves.kind,
        leaves.impute,
        leaves.grid.copy(),
        leaves.share.copy(),
    )


# ---- Log weights of leaves for the rows of a block: one row, all rows, or bounds on all ---------


@linked
def is_diagonal(matrix: FloatArray) -> bool:
    """Tell whether a matrix is zero off its diagonal."""
    for d in range(matrix.shape[0]):
        for e in range(matrix.shape[1]):
            if d != e and matrix[d, e] != 0.0:
                return False
    return True


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


@inlined
def log_weight(leaves: Components, k: int, x: FloatArray, place: int, full: bool) -> float:
    """Return the log weight of a leaf for one row of a block."""
    square = 0.0
    for d in range(x.shape[0]):
        if full:
            t = 0.0
            for e in range(d + 1):
                t += leaves.root[k, d, e] * (x[e, place] - leaves.centre[k, e])
            square += t * t
        else:
            off = x[d, place] - leaves.centre[k, d]
            square += leaves.precision[k, d] * off * off
    return leaves.log_weight[k] - 0.5 * square


@inlined
def log_weights(
    leaves: Components,
    k: int,
    x: FloatArray,
    full: bool,
    rank: npt.NDArray[np.uint64],
    group: npt.NDArray[np.uint64],
    logs: FloatArray,
    largest: FloatArray,
    off: FloatArray,
    turned: FloatArray,
) -> None:
    """Fill in the log weights of a leaf for all rows of a block, and follow the largest.

    ``group`` are the groups of the rows, if there are any; ``off`` and ``turned`` are room for a
    block and for one number for each of its rows.
    """
    for i in range(BLOCK):
        logs[i] = 0.0
    for d in range(x.shape[0]):
        if full:
            for i in range(BLOCK):
                off[d, i] = x[d, i] - leaves.centre[k, d]
                turned[i] = 0.0
            for e in range(d + 1):
                factor = leaves.root[k, d, e]
                for i in range(BLOCK):
                    turned[i] += factor * off[e, i]
            for i in range(BLOCK):
                logs[i] += turned[i] * turned[i]
        else:
            centre, precision = leaves.centre[k, d], leaves.precision[k, d]
            for i in range(BLOCK):
                away = x[d, i] - centre
                logs[i] += precision * away * away
    top, limit = leaves.log_weight[k], leaves.limit[k]
    if leaves.share.size:
        for i in range(BLOCK):
            logs[i] -= 2.0 * leaves.share[k, group[i]]
    for i in range(BLOCK):
        value = top - 0.5 * logs[i] if rank[i] > limit else -math.inf
        logs[i] = value
        largest[i] = max(largest[i], value)


@linked
def bound_weights(low: FloatArray, high: FloatArray, leaves: Components, upper: FloatArray) -> int:
    """Fill in bounds of log weights for rows in a box; return the best leaf in its middle."""
    dimension, best, nearest = low.size, -math.inf, 0
    full = leaves.root.shape[0] > 0
    middle, reach = 0.5 * (low + high), 0.5 * (high - low)
    for k in range(leaves.log_weight.size):
        near, square = 0.0, 0.0
        for d in range(dimension):
            if full:
                off, slack = 0.0, 0.0
                for e in range(d + 1):
                    off += leaves.root[k, d, e] * (middle[e] - leaves.centre[k, e])
                    slack += abs(leaves.root[k, d, e]) * reach[e]
                precision = 1.0
            else:
                off, slack = middle[d] - leaves.centre[k, d], reach[d]
                precision = leaves.precision[k, d]
            square += precision * off * off
            near += precision * max(abs(off) - slack, 0.0) ** 2
        upper[k] = leaves.log_weight[k] - 0.5 * near
        if leaves.log_weight[k] - 0.5 * square > best:
            best, nearest = leaves.log_weight[k] - 0.5 * square, k
    return nearest


@linked
def exponentials(x: FloatArray, out: FloatArray, power: npt.NDArray[np.int64]) -> None:
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
