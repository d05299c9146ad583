"""The kernel of average linkage, of rows or of groups of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.jit import jit

__all__ = ["Integers", "average_linkage"]

Integers = npt.NDArray[np.integer[Any]]


@jit
def average_linkage(nearness: FloatArray, size: Integers) -> tuple[Integers, Integers, FloatArray]:
    """Join the nearest two clusters, in the mean over pairs of their members, until one is left.

    ``nearness`` (m × m, symmetric; its diagonal is not read) is overwritten; ``size`` is how many
    members each item has. Returns the two clusters of each join, each by one of its items, and how
    near they are. Chains of nearest neighbours find the joins in O(m²), out of order.
    """
    m = size.size
    members = size.astype(np.float64)
    left, right = np.empty(m - 1, dtype=np.int64), np.empty(m - 1, dtype=np.int64)
    near = np.empty(m - 1, dtype=np.float64)
    active = np.arange(m)  # items that stand for a cluster, in any order
    place = np.arange(m)
    n_active = m
    chain = np.empty(m + 1, dtype=np.int64)
    length = 0
    for k in range(m - 1):
        if length == 0:
            chain[0] = active[0]
            length = 1
        while True:
            last = chain[length - 1]
            before = chain[length - 2] if length > 1 else -1
            # Ties go to the item before: or the chain would go round.
            best = before
            best_near = nearness[last, before] if length > 1 else -np.inf
            for a in range(n_active):
                other = active[a]
                if other != last and nearness[last, other] > best_near:
                    best_near = nearness[last, other]
                    best = other
            if length > 1 and best == before:
                break
            chain[length] = best
            length += 1
        length -= 2
        kept, gone = min(last, before), max(last, before)
        left[k], right[k], near[k] = kept, gone, best_near
        # The last active item takes the place of the one that is gone.
        n_active -= 1
        moved = active[n_active]
        active[place[gone]] = moved
        place[moved] = place[gone]
        total = members[kept] + members[gone]
        for a in range(n_active):
            other = active[a]
            if other != kept:
                mean = (
                    members[kept] * nearness[kept, other] + members[gone] * nearness[gone, other]
                ) / total
                nearness[kept, other] = mean
                nearness[other, kept] = mean
        members[kept] = total
    return left, right, near
