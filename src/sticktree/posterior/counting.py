"""Kernels that count what clusterings share, and cut trees where the counts are best.

Counts are never held of more than one draw at a time. A cut takes one node on the way from the root
to each datum; the data below each node taken are a cluster. Trees here have data in their leaves
only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit, linked
from sticktree.tree.arrays import NULL
from sticktree.tree.walk import data_in_order, heavy_children


@linked
def by_cluster(labels: IntArray) -> tuple[IntArray, IntArray]:
    """List the data cluster by cluster; those of k are ``order[start[k] : start[k + 1]]``."""
    n_clusters = 0
    for k in labels:
        n_clusters = max(n_clusters, k + 1)
    start = np.zeros(n_clusters + 1, dtype=np.int32)
    for k in labels:
        start[k + 1] += 1
    for k in range(n_clusters):
        start[k + 1] += start[k]
    order = np.empty(labels.size, dtype=np.int32)
    place = np.zeros(n_clusters, dtype=np.int32)
    for i in range(labels.size):
        order[start[labels[i]] + place[labels[i]]] = i
        place[labels[i]] += 1
    return start, order


@jit
def has_gaps(draws: IntArray) -> bool:
    """Return whether the clusters of some draw are not numbered as they appear."""
    for draw in draws:
        n_clusters = 0
        for j in draw:
            if j > n_clusters:
                return True
            n_clusters = max(n_clusters, j + 1)
    return False


@jit
def without_gaps(draws: IntArray) -> IntArray:
    """Return labels that number the clusters of every draw as they appear; they must be below N."""
    n_draws, n_data = draws.shape
    labels = np.empty((n_draws, n_data), dtype=np.int32)
    number = np.zeros(n_data, dtype=np.int32)  # from 1; 0 is not numbered yet
    for s in range(n_draws):
        n_clusters = 0
        for i in range(n_data):
            if number[draws[s, i]] == 0:
                n_clusters += 1
                number[draws[s, i]] = n_clusters
            labels[s, i] = number[draws[s, i]] - 1
        for j in draws[s]:
            number[j] = 0
    return labels


@jit
def own_sums(draws: IntArray, delta: FloatArray) -> FloatArray:
    """Return Σ_j f(n_j) of every draw; ``delta[n]`` is f(n + 1) − f(n)."""
    n_draws, n_data = draws.shape
    total = np.zeros(n_draws)
    count = np.zeros(n_data, dtype=np.int32)
    for s in range(n_draws):
        running = 0.0
        for j in draws[s]:
            running += delta[count[j]]
            count[j] += 1
        for j in draws[s]:
            count[j] = 0
        total[s] = running
    return total


@jit
def shared_sums(labels: IntArray, draws: IntArray, delta: FloatArray) -> FloatArray:
    """Return Σ_kj f(n_kj) between a clustering and every draw."""
    n_draws, n_data = draws.shape
    total = np.zeros(n_draws)
    if _fits_a_table(labels, draws):
        table = np.zeros((labels.max() + 1, draws.max() + 1), dtype=np.int32)
        growth = np.zeros(n_data + 1)
        for n in range(n_data):
            growth[n + 1] = growth[n] + delta[n]
        for s in range(n_draws):
            _fill(table, labels, draws[s])
            for k in range(table.shape[0]):
                for j in range(table.shape[1]):
                    total[s] += growth[table[k, j]]
        return total
    start, order = by_cluster(labels)
    count = np.zeros(n_data, dtype=np.int32)
    for s in range(n_draws):
        running = 0.0
        for k in range(start.size - 1):
            for at in range(start[k], start[k + 1]):
                j = draws[s, order[at]]
                running += delta[count[j]]
                count[j] += 1
            for at in range(start[k], start[k + 1]):
                count[draws[s, order[at]]] = 0
        total[s] = running
    return total


@jit
def shares_of_company(labels: IntArray, draws: IntArray) -> FloatArray:
    """Return, for every datum, how much of its cluster is with it, on average over draws.

    That is the share of the other members of its cluster; for a datum alone in its cluster, the
    share of draws in which it is alone.
    """
    start, order = by_cluster(labels)
    n_draws, n_data = draws.shape
    share = np.zeros(n_data)
    size = np.zeros(n_data, dtype=np.int32)
    count = np.zeros(n_data, dtype=np.int32)
    dense = _fits_a_table(labels, draws)
    table = np.zeros((1, 1), dtype=np.int32)
    if dense:
        table = np.zeros((start.size - 1, draws.max() + 1), dtype=np.int32)
    for s in range(n_draws):
        for j in draws[s]:
            size[j] += 1
        if dense:
            _fill(table, labels, draws[s])
        for k in range(start.size - 1):
            n_others = start[k + 1] - start[k] - 1
            if dense and n_others > 0:
                continue
            for at in range(start[k], start[k + 1]):
                count[draws[s, order[at]]] += 1
            for at in range(start[k], start[k + 1]):
                i = order[at]
                if n_others > 0:
                    share[i] += (count[draws[s, i]] - 1) / n_others
                elif size[draws[s, i]] == 1:
                    share[i] += 1.0
            for at in range(start[k], start[k + 1]):
                count[draws[s, order[at]]] = 0
        if dense:
            for i in range(n_data):
                k = labels[i]
                n_others = start[k + 1] - start[k] - 1
                if n_others > 0:
                    share[i] += (table[k, draws[s, i]] - 1) / n_others
        for j in draws[s]:
            size[j] = 0
    for i in range(n_data):
        share[i] /= n_draws
    return share


@linked
def _fits_a_table(labels: IntArray, draws: IntArray) -> bool:
    """Return whether there are at most as many pairs of clusters as data.

    Then data are counted in the order in which they lie in memory, which is far faster.
    """
    n_cells = (np.int64(labels.max()) + 1) * (np.int64(draws.max()) + 1)
    return bool(n_cells <= labels.size)


@linked
def _fill(table: IntArray, labels: IntArray, draw: IntArray) -> None:
    """Count the data of each cluster in each of a draw."""
    table[:] = 0
    for i in range(labels.size):
        table[labels[i], draw[i]] += 1


@jit
def times_together(labels: IntArray) -> npt.NDArray[np.float32]:
    """Count in how many draws each pair has one label; data by draws, so that pairs are compared.

    Blocks of data stay in the cache while others pass by.
    """
    n_data, n_draws = labels.shape
    total = np.empty((n_data, n_data), dtype=np.float32)
    block = 64
    for low in range(0, n_data, block):
        for i in range(low, n_data):
            for j in range(low, min(low + block, i + 1)):
                n = 0
                for s in range(n_draws):
                    n += labels[i, s] == labels[j, s]
                total[i, j] = n
                total[j, i] = n
    return total


# ---- cuts of trees ------------------------------------------------------------------------------


@jit
def cut_at(parent: IntArray, leaf: IntArray, level: IntArray, at: int, labels: IntArray) -> None:
    """Write which branch each datum is in at a level; branches are numbered as they appear."""
    branch = np.empty(parent.size, dtype=np.int32)
    branch[0] = 0
    for w in range(1, parent.size):
        branch[w] = branch[parent[w]] if level[parent[w]] >= at else w
    number = np.full(parent.size, NULL, dtype=np.int32)
    n_branches = 0
    for i in range(leaf.size):
        w = branch[leaf[i]]
        if number[w] == NULL:
            number[w] = n_branches
            n_branches += 1
        labels[i] = number[w]


@jit
def branch_sums(
    parent: IntArray, leaf: IntArray, draws: IntArray, delta: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the number of data n_w below every node, and Σ_j f(n_wj) summed over draws.

    ``delta[n]`` is f(n + 1) − f(n), and f(1) must be 0. One draw at a time, up every heavy path
    with the counts n_wj of the draw's clusters.
    """
    start, count, order = data_in_order(parent, leaf)
    heavy = heavy_children(parent, count)
    tops = np.empty(parent.size, dtype=np.int32)
    bottoms = np.empty(parent.size, dtype=np.int32)
    n_paths = 0
    for w in range(parent.size):
        if count[w] > 1 and (w == 0 or heavy[parent[w]] != w):
            tops[n_paths] = w
            low = w
            while heavy[low] != NULL:
                low = heavy[low]
            bottoms[n_paths] = low
            n_paths += 1
    total = np.zeros(parent.size)
    label = np.empty(leaf.size, dtype=np.int32)
    n_shared = np.zeros(leaf.size, dtype=np.int32)
    for s in range(draws.shape[0]):
        for at in range(leaf.size):
            label[at] = draws[s, order[at]]
        for path in range(n_paths):
            top, w = tops[path], bottoms[path]
            done, end = start[w], start[w]  # the data counted so far, in tree order
            running = 0.0
            while True:
                for at in range(start[w], done):
                    running += delta[n_shared[label[at]]]
                    n_shared[label[at]] += 1
                for at in range(end, start[w] + count[w]):
                    running += delta[n_shared[label[at]]]
                    n_shared[label[at]] += 1
                done, end = start[w], start[w] + count[w]
                total[w] += running
                if w == top:
                    break
                w = parent[w]
            for at in range(done, end):
                n_shared[label[at]] = 0
    return count, total


@jit
def best_cut(parent: IntArray, leaf: IntArray, count: IntArray, cost: FloatArray) -> IntArray:
    """Return the node each datum falls to in the cut with the least sum of costs.

    Of cuts that cost the same, the one with fewer clusters.
    """
    n_nodes = parent.size
    below = np.zeros(n_nodes)  # the least cost of what is below, in several clusters
    inner = np.zeros(n_nodes, dtype=np.bool_)
    whole = np.zeros(n_nodes, dtype=np.bool_)
    for w in range(n_nodes - 1, -1, -1):
        rounding = 1e-12 * (1.0 + abs(cost[w]))
        whole[w] = not inner[w] or cost[w] <= below[w] + rounding
        if w > 0 and count[w] > 0:
            inner[parent[w]] = True
            below[parent[w]] += cost[w] if whole[w] else below[w]
    return _fallen_to(parent, leaf, whole)


@linked
def _fallen_to(parent: IntArray, leaf: IntArray, whole: npt.NDArray[np.bool_]) -> IntArray:
    """Return the topmost node that stays whole on the way from the root to each datum."""
    cluster = np.full(parent.size, NULL, dtype=np.int32)
    for w in range(parent.size):
        if w > 0 and cluster[parent[w]] != NULL:
            cluster[w] = cluster[parent[w]]
        elif whole[w]:
            cluster[w] = w
    fallen_to = np.empty(leaf.size, dtype=np.int32)
    for i in range(leaf.size):
        fallen_to[i] = cluster[leaf[i]]
    return fallen_to


@jit
def best_cut_into(
    parent: IntArray, leaf: IntArray, count: IntArray, cost: FloatArray, n_clusters: int
) -> tuple[IntArray, FloatArray]:
    """Return the node each datum falls to in the best cut into exactly ``n_clusters``.

    Also returns the least costs of cuts into 1, 2, … clusters, infinite where there is none; if the
    last of them is, or if there are fewer than ``n_clusters``, there is no such cut.

    The table of a node, the least cost for each number of clusters, is made from those of its
    children, joined one after another. In a depth-first walk backwards the tables that are waiting
    are those of disjoint branches, so that a stack of length N holds them.
    """
    n_nodes = parent.size
    child = np.full(n_nodes, NULL, dtype=np.int32)  # children with data: a first, then next
    sibling = np.full(n_nodes, NULL, dtype=np.int32)
    n_tips = np.zeros(n_nodes, dtype=np.int32)  # leaves with data, the most clusters there can be
    for w in range(n_nodes - 1, -1, -1):
        if count[w] == 0:
            continue
        if child[w] == NULL:
            n_tips[w] = 1
        if w > 0:
            sibling[w] = child[parent[w]]
            child[parent[w]] = w
            n_tips[parent[w]] += n_tips[w]
    # What each child gets, if it and its elder siblings have k clusters together.
    first = np.zeros(n_nodes + 1, dtype=np.int64)
    joined = np.zeros(n_nodes, dtype=np.int32)
    for w in range(1, n_nodes):
        joined[parent[w]] += n_tips[w]
        first[w + 1] = first[w] + (min(n_clusters, joined[parent[w]]) if count[w] > 0 else 0)
    part = np.zeros(first[n_nodes], dtype=np.int32)

    walk = _depth_first(parent, child, sibling)
    stack = np.empty(n_tips[0])
    height = 0
    table, before = np.empty(n_clusters + 1), np.empty(n_clusters + 1)
    for at in range(walk.size - 1, -1, -1):
        w = walk[at]
        length = 0
        branch = child[w]
        while branch != NULL:
            size = min(n_clusters, n_tips[branch])
            height -= size  # the eldest lies on top
            longer = min(n_clusters, length + size)
            for k in range(1, length + 1):
                before[k] = table[k]
            for k in range(1, longer + 1):
                least, best = np.inf, 0
                if length == 0:
                    least, best = stack[height + k - 1], k
                for own in range(max(1, k - length), min(size, k - 1) + 1):
                    joint = before[k - own] + stack[height + own - 1]
                    if joint < least:
                        least, best = joint, own
                table[k] = least
                part[first[branch] + k - 1] = best
            length = longer
            branch = sibling[branch]
        table[1] = cost[w]
        length = max(length, 1)
        for k in range(1, length + 1):
            stack[height] = table[k]
            height += 1

    whole = np.zeros(n_nodes, dtype=np.bool_)
    wanted = np.zeros(n_nodes, dtype=np.int32)
    wanted[0] = n_clusters
    brood = np.empty(n_nodes, dtype=np.int32)
    if height == n_clusters and stack[height - 1] < np.inf:
        for w in walk:
            whole[w] = wanted[w] == 1
            left, n_children = wanted[w], 0
            branch = child[w]
            while branch != NULL and left > 1:
                brood[n_children] = branch
                n_children += 1
                branch = sibling[branch]
            for c in range(n_children - 1, -1, -1):
                if left > 0:
                    wanted[brood[c]] = part[first[brood[c]] + left - 1]
                    left -= wanted[brood[c]]
    return _fallen_to(parent, leaf, whole), stack[:height]


@linked
def _depth_first(parent: IntArray, child: IntArray, sibling: IntArray) -> IntArray:
    """Return the nodes with data in a depth-first walk."""
    walk = np.empty(parent.size, dtype=np.int32)
    w, n = 0, 0
    while w != NULL:
        walk[n] = w
        n += 1
        if child[w] != NULL:
            w = child[w]
            continue
        while w != NULL and sibling[w] == NULL:
            w = parent[w]
        if w != NULL:
            w = sibling[w]
    return walk[:n]


@jit
def shared_rows(
    column: IntArray, size: npt.NDArray[np.int64], n_clusters: int
) -> npt.NDArray[np.int64]:
    """Return how many rows each pair of clusters shares."""
    shared = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    for i in range(column.shape[0]):
        for s in range(column.shape[1]):
            a = column[i, s]
            for r in range(s + 1):
                shared[a, column[i, r]] += size[i]
    for a in range(n_clusters):
        for b in range(a):
            shared[b, a] = shared[a, b] = shared[a, b] + shared[b, a]
    return shared
