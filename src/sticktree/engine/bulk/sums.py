"""Sums that come out the same in any order.

Sums of floats depend on the order, and so on how rows are dealt out to threads and workers. Here
each number is rounded to a coarse grid, and what is left over to a fine one; both are summed as
integers. The grids are such that N numbers of the largest size fit into 64 bits, and a number loses
nothing that its own 53 bits hold, unless it is tiny compared with the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.jit import inlined

__all__ = ["Grid", "add"]

WORD = 61  # bits of a sum
MOST_BITS = 50  # of one number on one grid: rounding by adding MAGIC is exact up to there
MAGIC = 1.5 * 2.0**52  # a float of this size has no digits after the point


@dataclass(frozen=True)
class Grid:
    """Steps per unit of the coarse and the fine grid.

    Attributes
    ----------
    coarse, fine : float
        Powers of two.
    """

    coarse: float
    fine: float

    @classmethod
    def of(cls, n: int, largest: float) -> Grid:
        """Return grids for sums of ``n`` numbers of size ``largest`` at most."""
        bits = min(WORD - max(math.ceil(math.log2(max(n, 2))), 1), MOST_BITS)
        coarse = bits - 1 - math.ceil(math.log2(max(largest, 1e-300)))
        return cls(2.0**coarse, 2.0 ** (coarse + bits))

    def value(self, sums: npt.NDArray[np.int64]) -> FloatArray:
        """Return sums as floats; the last axis is coarse and fine."""
        return np.asarray(sums[..., 0] / self.coarse + sums[..., 1] / self.fine)


@inlined
def add(sums: npt.NDArray[np.int64], at: int, x: float, coarse: float, fine: float) -> None:
    """Add a number to row ``at`` of an array of shape (…, 2).

    The grids should be no elements of arrays: then what is divided is divided once for all numbers.
    """
    steps = (x * coarse + MAGIC) - MAGIC
    rest = ((x - steps * (1.0 / coarse)) * fine + MAGIC) - MAGIC
    sums[at, 0] += int(steps)
    sums[at, 1] += int(rest)
