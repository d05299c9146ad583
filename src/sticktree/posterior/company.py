"""Kernels that tell with which groups of rows each row shares its leaf."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.jit import jit

__all__ = ["Integers", "most_often_with"]

Integers = npt.NDArray[np.integer[Any]]

LEAST_SHARE = 0.01  # of a group's rows in a leaf; fewer are passed over


@jit
def most_often_with(
    leaves: Integers, group: Integers
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], FloatArray]:
    """Return for each row the group whose other members share its leaf most often.

    ``leaves`` has a line for each draw. For a row that is its group, to be alone counts. Also
    returns the runner-up, or −1 if there is none, and its part in what the two have together, from
    0 to a half.
    """
    n_draws, n = leaves.shape
    size = np.bincount(group)
    n_groups = size.size
    start, which, n_rows = _groups_in_leaves(leaves, group, size)
    best, second = group.astype(np.int64), np.full(n, -1, dtype=np.int64)
    part = np.zeros(n)
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
            g = met[k]
            if g != best[i] and (second[i] < 0 or share[g] > share[second[i]]):
                second[i] = g
        if second[i] >= 0:
            part[i] = share[second[i]] / (share[best[i]] + share[second[i]])
        for k in range(n_met):
            share[met[k]] = 0.0
    return best, second, part


@jit
def _groups_in_leaves(
    leaves: Integers, group: Integers, size: Integers
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """List, for each leaf of each draw, the groups in it, and with how many rows each.

    Those of leaf w of draw s are at ``start[s, w]`` to ``start[s, w + 1]``. Groups of which less
    than a hundredth is there are left out: they would be most of the list.
    """
    n_draws, n = leaves.shape
    n_leaves = leaves.max() + 1
    start = np.zeros((n_draws, n_leaves + 1), dtype=np.int64)
    which, n_rows = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.int32)
    n_in = np.zeros(size.size, dtype=np.int32)
    met = np.empty(size.size, dtype=np.int32)
    begin = np.empty(n_leaves + 1, dtype=np.int64)
    rows = np.empty(n, dtype=np.int32)
    n_pairs = 0
    for s in range(n_draws):
        begin[:] = 0
        for i in range(n):
            begin[leaves[s, i] + 1] += 1
        for leaf in range(n_leaves):
            begin[leaf + 1] += begin[leaf]
        for i in range(n):
            leaf = leaves[s, i]
            rows[begin[leaf]] = i
            begin[leaf] += 1  # at the end it is where the leaf ends
        low = 0
        for leaf in range(n_leaves):
            start[s, leaf] = n_pairs
            n_met = 0
            for at in range(low, begin[leaf]):
                g = group[rows[at]]
                if n_in[g] == 0:
                    met[n_met] = g
                    n_met += 1
                n_in[g] += 1
            low = begin[leaf]
            for k in range(n_met):
                g = met[k]
                if n_in[g] >= LEAST_SHARE * size[g]:
                    if n_pairs == which.size:
                        which = np.concatenate((which, np.empty_like(which)))
                        n_rows = np.concatenate((n_rows, np.empty_like(n_rows)))
                    which[n_pairs], n_rows[n_pairs] = g, n_in[g]
                    n_pairs += 1
                n_in[g] = 0
        start[s, n_leaves] = n_pairs
    return start, which, n_rows
