"""Kernels of the consensus tree: groups of rows, where rows meet, average linkage, numbering."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit, linked

Integers = npt.NDArray[np.integer[Any]]
Longs = npt.NDArray[np.int64]

LEAST_SHARE = 0.01  # of a group's rows in a leaf; fewer are passed over


@jit
def add_meeting_levels(
    parent: IntArray, leaf: IntArray, level: IntArray, total: npt.NDArray[np.float32]
) -> None:
    """Add the level at which rows i and j ≤ i meet to ``total[i, j]``, for all pairs.

    Parents come before their children, and level 0 is the root's.
    """
    n_nodes, n = parent.size, leaf.size
    # Leaves that have rows are ranked in a walk, so that each node has a range of ranks.
    size = np.zeros(n_nodes, dtype=np.int64)
    for i in range(n):
        size[leaf[i]] = 1
    for node in range(n_nodes - 1, 0, -1):
        size[parent[node]] += size[node]
    start = np.zeros(n_nodes, dtype=np.int64)
    taken = np.zeros(n_nodes, dtype=np.int64)
    meeting = np.zeros((n_nodes, size[0]), dtype=np.int16)  # of a node with a leaf, by rank
    for node in range(1, n_nodes):
        if size[node] > 0:
            above = parent[node]
            start[node] = start[above] + taken[above]
            taken[above] += size[node]
            # As its parent does, but for those below itself.
            meeting[node] = meeting[above]
            meeting[node, start[node] : start[node] + size[node]] = level[node]
    rank = start[leaf]
    for i in range(n):
        row = meeting[leaf[i]]
        for j in range(i + 1):
            total[i, j] += row[rank[j]]


@jit
def mirror(total: npt.NDArray[np.float32]) -> None:
    """Copy what is below the diagonal to above it."""
    for i in range(len(total)):
        for j in range(i):
            total[j, i] = total[i, j]


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
def counted(parent: Longs, gone: npt.NDArray[np.bool_], n: int) -> tuple[Longs, Longs, Longs]:
    """Hang the children of nodes that are gone on those above; count what is below each node.

    Parents have larger ids than their children, the root the largest; the first ``n`` nodes are
    data. ``parent`` is overwritten. Returns the number of data and of nodes at or below each node,
    and the first datum there.
    """
    n_nodes = parent.size
    n_data, size = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    first = np.full(n_nodes, n, dtype=np.int64)
    for node in range(n):
        n_data[node] = 1
        first[node] = node
    for node in range(n_nodes - 2, -1, -1):
        if gone[parent[node]]:
            parent[node] = parent[parent[node]]
    for node in range(n_nodes):
        if gone[node]:
            continue
        size[node] += 1
        above = parent[node]
        if above >= 0:
            n_data[above] += n_data[node]
            size[above] += size[node]
            first[above] = min(first[above], first[node])
    return n_data, size, first


@jit
def walked(siblings: Longs, parent: Longs, size: Longs) -> Longs:
    """Return the place of each node in a depth-first walk; −1 for those that are not listed.

    ``siblings`` lists all nodes but the root, those above before those below and siblings in the
    order of the walk; ``size`` is how many nodes are at or below each.
    """
    place = np.full(parent.size, -1, dtype=np.int64)
    free = np.zeros(parent.size, dtype=np.int64)  # where the next child goes
    place[parent.size - 1] = 0
    free[parent.size - 1] = 1
    for node in siblings:
        above = parent[node]
        place[node] = free[above]
        free[above] += size[node]
        free[node] = place[node] + 1
    return place


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


@linked
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


@jit
def ward_joins(
    centre: FloatArray,
    n: FloatArray,
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    cost: FloatArray,
) -> None:
    """Fill in the joins of points, each side known by its point of least number."""
    m, d = centre.shape
    active = np.ones(m, dtype=np.bool_)
    chain = np.empty(m, dtype=np.int64)
    length = 0
    for k in range(m - 1):
        if length == 0:
            first = 0
            while not active[first]:
                first += 1
            chain[0], length = first, 1
        while True:
            last = chain[length - 1]
            before = chain[length - 2] if length > 1 else -1
            nearest, least, least_before = -1, np.inf, np.inf
            for j in range(m):
                if not active[j] or j == last:
                    continue
                gap = 0.0
                for e in range(d):
                    gap += (centre[j, e] - centre[last, e]) ** 2
                added = gap * (n[j] * n[last] / (n[j] + n[last]))
                if j == before:
                    least_before = added
                if added < least:
                    nearest, least = j, added
            if before >= 0 and least_before <= least:
                break  # ties go to the one before: or the chain would go round
            chain[length] = nearest
            length += 1
        length -= 2
        kept, gone = min(last, before), max(last, before)
        left[k], right[k], cost[k] = kept, gone, least_before
        total = n[kept] + n[gone]
        for e in range(d):
            centre[kept, e] = (n[kept] * centre[kept, e] + n[gone] * centre[gone, e]) / total
        n[kept], active[gone] = total, False
        # Between points that differ by rounding alone a chain may have come by the one that is gone
        # before: it goes on from there.
        for at in range(length):
            if chain[at] == gone:
                length = at
                break
