"""What is told to all rows before a sweep: the leaves, as weighted normal densities.

In the form "diag" a row y is x = T y, and the leaf k is N(c_k, 1/p_k) in each coordinate of x. In
the form "full" it is N(c_k, (B_kᵀ B_k)⁻¹) in those of y.

A leaf must not lose its last row: a leaf that is gone could never come back in the next sweep, and
the two ways would not balance. So in every sweep rows are ranked anew, by their numbers alone; the
row of least rank stays in its leaf, as its *anchor*, and rows of a lower rank than its anchor's may
not join. Given the anchors that is Gibbs sampling of all other rows, for in any outcome the anchors
are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.jit import jit

__all__ = [
    "KEY",
    "NEXT_SALT",
    "PRODUCTS",
    "SALT",
    "SQUARES",
    "SUMS",
    "SWEEP",
    "Components",
    "n_sums",
    "own_copy",
    "pick_limits",
]

# What is summed over the rows of a leaf: y; y and y²; y and y yᵀ.
SUMS, SQUARES, PRODUCTS = range(3)
# Places in `Components.words`: the key and the sweep of all random numbers, the salts of the ranks
# now and next, and salt and limit of the ranks of rows that are picked.
KEY, SWEEP, SALT, NEXT_SALT, PICK_SALT, PICK = range(6)


def n_sums(kind: int, dimension: int) -> int:
    """Return how many sums a leaf has."""
    return dimension + (0, dimension, dimension * (dimension + 1) // 2)[kind]


class Components(NamedTuple):
    """K leaves for rows of D columns, and the random numbers of one sweep."""

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


def pick_limits(told: Components) -> tuple[int, int]:
    """Return the salt by which rows are picked, and the rank below which they are."""
    return int(told.words[PICK_SALT]), int(told.words[PICK])


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
