"""The kernel that gives every set of data below a node a key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.jit import jit

__all__ = ["sums_below"]


@jit
def sums_below(
    parent: IntArray, leaf: IntArray, key: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Return the sum, modulo 2⁶⁴, of the keys of the data at or below every node."""
    total = np.zeros(parent.size, dtype=np.uint64)
    for i in range(leaf.size):
        total[leaf[i]] += key[i]
    for w in range(parent.size - 1, 0, -1):
        total[parent[w]] += total[w]
    return total
