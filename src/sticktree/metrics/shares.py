"""The kernel of purity: pairs of one class, each at the node where it meets."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.jit import jit
from sticktree.tree.arrays import NULL
from sticktree.tree.walk import data_in_order, heavy_children

__all__ = ["sum_of_shares"]


@jit
def sum_of_shares(parent: IntArray, leaf: IntArray, code: IntArray, weight: FloatArray) -> float:
    """Sum over pairs of one class c: weight of c times the share of c where the pair meets.

    Goes up every heavy path with the number of data of each class below. At a node, only classes
    of data that join the path there have pairs that meet there.
    """
    start, count, order = data_in_order(parent, leaf)
    heavy = heavy_children(parent, count)
    n_nodes = parent.size
    child = np.full(n_nodes, NULL, dtype=np.int32)  # children as lists: a first, then next
    sibling = np.full(n_nodes, NULL, dtype=np.int32)
    for w in range(n_nodes - 1, 0, -1):
        sibling[w] = child[parent[w]]
        child[parent[w]] = w
    n_below = np.zeros(weight.size, dtype=np.int64)
    n_pairs = np.zeros(weight.size, dtype=np.int64)
    total = 0.0
    for top in range(n_nodes):
        if count[top] == 0 or (top > 0 and heavy[parent[top]] == top):
            continue
        w = top
        while heavy[w] != NULL:
            w = heavy[w]
        while True:
            branch = child[w]
            n_own = count[w]
            while branch != NULL:
                n_own -= count[branch]
                branch = sibling[branch]
            for at in range(start[w], start[w] + n_own):
                c = code[order[at]]
                n_pairs[c] += n_below[c]
                n_below[c] += 1
            branch = child[w]
            while branch != NULL:
                if branch != heavy[w]:
                    end = start[branch] + count[branch]
                    for at in range(start[branch], end):  # pairs with those outside the branch
                        c = code[order[at]]
                        n_pairs[c] += n_below[c]
                    for at in range(start[branch], end):
                        n_below[code[order[at]]] += 1
                branch = sibling[branch]
            # What joined the path here, and nothing else, is before and behind the heavy child.
            first, last = start[w], start[w] + count[w]
            gap = last if heavy[w] == NULL else start[heavy[w]]
            resume = last if heavy[w] == NULL else start[heavy[w]] + count[heavy[w]]
            for at in range(first, last - (resume - gap)):
                c = code[order[at if at < gap else at + resume - gap]]
                if n_pairs[c] > 0:
                    total += weight[c] * n_pairs[c] * n_below[c] / count[w]
                    n_pairs[c] = 0
            if w == top:
                break
            w = parent[w]
        for at in range(start[top], start[top] + count[top]):
            n_below[code[order[at]]] = 0
    return total
