"""Kernels for clusters of rows: who belongs to which group, and average linkage of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.jit import jit

__all__ = ["Integers", "average_linkage", "most_often_with"]

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


@jit
def most_often_with(leaves: Integers, group: Integers) -> npt.NDArray[np.int64]:
    """Return for each row the group whose other members share its leaf most often.

    ``leaves`` has a line for each draw. For a row that is its group, to be alone counts.
    """
    n_draws, n = leaves.shape
    n_groups = group.max() + 1
    size = np.bincount(group, minlength=n_groups)
    # Of each leaf of each draw: the groups in it, and with how many rows each.
    n_leaves = leaves.max() + 1
    start = np.zeros((n_draws, n_leaves + 1), dtype=np.int64)
    which = np.empty(n_draws * n, dtype=np.int32)
    n_rows = np.empty(n_draws * n, dtype=np.int32)
    n_in = np.zeros(n_groups, dtype=np.int32)
    n_pairs = 0
    for s in range(n_draws):
        rows = np.argsort(leaves[s], kind="mergesort")
        k = 0
        for leaf in range(n_leaves):
            start[s, leaf] = n_pairs
            while k < n and leaves[s, rows[k]] == leaf:
                g = group[rows[k]]
                if n_in[g] == 0:
                    which[n_pairs] = g
                    n_pairs += 1
                n_in[g] += 1
                k += 1
            for pair in range(start[s, leaf], n_pairs):
                n_rows[pair] = n_in[which[pair]]
                n_in[which[pair]] = 0
        start[s, n_leaves] = n_pairs
    best = group.astype(np.int64)
    share = np.zeros(n_groups)
    met = np.empty(n_groups, dtype=np.int64)
    for i in range(n):
        own = group[i]
        met[0], n_met = own, 1
        share[own] = 1e-12  # stay, if in doubt
        for s in range(n_draws):
            low, high = start[s, leaves[s, i]], start[s, leaves[s, i] + 1]
            for pair in range(low, high):
                g = which[pair]
                if share[g] == 0:
                    met[n_met] = g
                    n_met += 1
                if g != own:
                    share[g] += n_rows[pair] / size[g]
                elif size[g] > 1:
                    share[g] += (n_rows[pair] - 1) / (size[g] - 1)
                elif high - low == 1:
                    share[g] += 1
        for k in range(n_met):
            if share[met[k]] > share[best[i]]:
                best[i] = met[k]
        for k in range(n_met):
            share[met[k]] = 0.0
    return best
