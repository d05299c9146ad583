"""Trees as scipy's linkage matrices, which dendrograms and flat clusterings are made of.

A row of the matrix joins two clusters: their numbers, the height of the join, and the number of
data in it. Cluster i < N is datum i, cluster N + k is that of row k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, as_numbers, is_real
from sticktree.errors import ParameterError
from sticktree.tree.arrays import NULL, data_lists
from sticktree.tree.shapes import Shapes


def linkage_of(tree: Shapes) -> FloatArray:
    """Return the matrix of a tree; see :meth:`Tree.to_linkage`."""
    n = tree.n_data
    if n == 0:
        raise ValueError("to_linkage needs a tree with data: this one has none")
    # Without empty branches and only children each node joins at least two things.
    small = tree.pruned().compressed()
    heights = float(tree.time.max()) - small.time
    # By height, and where heights are equal children, whose numbers are larger, before parents.
    order = np.lexsort((-np.arange(small.n_nodes), heights)).tolist()
    children, data = small.child_table.lists(), data_lists(small.leaf, small.n_nodes)
    size = [1] * n
    cluster = [NULL] * small.n_nodes  # which cluster the data at or below a node are
    joins: list[tuple[int, int, float, int]] = []
    for w in order:
        height = float(heights[w])
        level = data[w] + [cluster[child] for child in children[w]]
        # Neighbours in pairs, pairs of pairs, …: scipy recurses, so a ladder could be too deep.
        while len(level) > 1:
            pairs = []
            for a, b in zip(level[::2], level[1::2], strict=False):
                pairs.append(len(size))
                size.append(size[a] + size[b])
                joins.append((a, b, height, size[-1]))
            level = pairs + level[len(level) - len(level) % 2 :]
        cluster[w] = level[0]
    return np.array(joins, dtype=np.float64).reshape(n - 1, 4)


def read_linkage(
    Z: npt.ArrayLike,  # noqa: N803
    names: Sequence[str] | None = None,
    *,
    merge_ties: bool = True,
    last_time: float | None = None,
) -> dict[str, Any]:
    """Return the arguments of a tree; see :meth:`Tree.from_linkage`."""
    table = as_numbers("Z", Z)
    if table.size == 0:
        table = table.reshape(0, 4)
    if table.ndim != 2 or table.shape[1] != 4:
        raise ParameterError("Z", Z, "four columns", verb="have", shown=f"shape {table.shape}")
    n = len(table) + 1
    left, right = _checked_clusters(table, n)
    heights = np.concatenate([np.zeros(n), table[:, 2]])
    above = np.full(2 * n - 1, NULL)
    joined = np.arange(n, 2 * n - 1)
    above[left] = above[right] = joined
    _check_heights(table, heights, left, right)
    last = float(heights.max()) if last_time is None else last_time
    if not is_real(last) or not np.isfinite(last):
        raise ParameterError("last_time", last_time, "a finite number")
    absorbed = np.zeros(2 * n - 1, dtype=np.bool_)
    if merge_ties:
        absorbed[n:-1] = heights[n:-1] == heights[above[n:-1]]
    sides = np.stack([left, right], axis=1).tolist()
    gone = absorbed.tolist()
    # Depth first, left before right: the order in which scipy draws the leaves.
    parent: list[int] = []
    order: list[int] = []
    leaf = np.empty(n, dtype=np.int32)
    pending = [(2 * n - 2, NULL)]
    while pending:
        cluster, node = pending.pop()
        if not gone[cluster]:
            parent.append(node)
            order.append(cluster)
            node = len(parent) - 1
        if cluster < n:
            leaf[cluster] = node
        else:
            a, b = sides[cluster - n]
            pending += [(b, node), (a, node)]
    return {"parent": parent, "leaf": leaf, "time": last - heights[order], "names": names}


def _checked_clusters(table: FloatArray, n: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the two clusters of each row; raise if a row joins what cannot be joined."""
    pairs = table[:, :2]
    limit = n + np.arange(len(table))[:, None]
    wrong = np.argwhere(~((pairs >= 0) & (pairs < limit) & (pairs == np.floor(pairs))))
    if wrong.size:
        k, column = wrong[0].tolist()
        raise ValueError(
            f"Z[{k}, {column}] = {pairs[k, column]}: row {k} joins clusters from 0 to {n + k - 1}"
        )
    clusters = pairs.astype(np.int64)
    _, first, uses = np.unique(clusters, return_index=True, return_counts=True)
    if (uses > 1).any():
        twice = int(clusters.reshape(-1)[first[uses > 1][0]])
        raise ValueError(f"Z joins cluster {twice} more than once")
    return clusters[:, 0], clusters[:, 1]


def _check_heights(
    table: FloatArray,
    heights: FloatArray,
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
) -> None:
    """Raise if a row lies below what it joins."""
    lowest = np.maximum(heights[left], heights[right])
    wrong = np.flatnonzero(~((table[:, 2] >= lowest) & np.isfinite(table[:, 2])))
    if wrong.size:
        k = int(wrong[0])
        raise ValueError(
            f"Z[{k}, 2] = {table[k, 2]}: a height must be finite and at least those of what "
            f"it joins, here {lowest[k]}; centroid and median linkage may not be such a tree"
        )
