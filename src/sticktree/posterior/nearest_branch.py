"""The kernel of transfer support: of each branch, the rows that move to make it one of a tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.jit import jit


@jit
def add_moves(
    parent: IntArray,
    leaf: IntArray,
    order: IntArray,
    cut: IntArray,
    first: IntArray,
    last: IntArray,
    above: IntArray,
    heavy: IntArray,
    moves: npt.NDArray[np.int64],
) -> None:
    """Add, for each branch A, the fewest rows that move to make it a branch B of a tree.

    |A Δ B| = |A| + |B| − 2 |A ∩ B|. Where A grows, |B| − 2 |A ∩ B| only shrinks, so its smallest
    value so far is the smallest there is. Up each path of largest branches A grows to the next by
    the rows beside it, which takes every row at most log₂ N times in all; a row of A adds to those
    branches B alone that have it, from its leaf to the root.
    """
    # Rows of one run that share a leaf are one entry, with a weight.
    n_runs = cut.size - 1
    entry = np.zeros(n_runs + 1, dtype=np.int64)
    where, weight = np.empty(leaf.size, dtype=np.int32), np.empty(leaf.size, dtype=np.int32)
    seen = np.full(parent.size, -1, dtype=np.int64)  # the entry of each leaf
    size = np.zeros(parent.size, dtype=np.int64)
    n_entries = 0
    for run in range(n_runs):
        for k in range(cut[run], cut[run + 1]):
            at = leaf[order[k]]
            size[at] += 1
            if seen[at] < entry[run]:
                seen[at] = n_entries
                where[n_entries] = at
                weight[n_entries] = 0
                n_entries += 1
            weight[seen[at]] += 1
        entry[run + 1] = n_entries
    for node in range(parent.size - 1, 0, -1):
        size[parent[node]] += size[node]

    shared = np.zeros(parent.size, dtype=np.int64)  # |A ∩ B| of every B
    touched = np.empty(parent.size, dtype=np.int64)
    for lowest in range(first.size):
        if heavy[lowest] >= 0:
            continue
        branch, inside = lowest, -1
        n_rows, n_touched = 0, 0
        best = size[0]
        while True:
            left_from, left_to = entry[first[branch]], entry[last[branch]]
            right_from = left_to
            if inside >= 0:
                left_to, right_from = entry[first[inside]], entry[last[inside]]
            for part in range(2):
                start = left_from if part == 0 else right_from
                stop = left_to if part == 0 else entry[last[branch]]
                for k in range(start, stop):
                    n_rows += weight[k]
                    node = where[k]
                    while True:
                        if shared[node] == 0:
                            touched[n_touched] = node
                            n_touched += 1
                        shared[node] += weight[k]
                        best = min(best, size[node] - 2 * shared[node])
                        if node == 0:
                            break
                        node = parent[node]
            moves[branch] += n_rows + min(best, -1)  # −1 is a single row of A
            inside, branch = branch, above[branch]
            if branch < 0 or heavy[branch] != inside:
                break
        for k in range(n_touched):
            shared[touched[k]] = 0
