"""The cut of a tree with the least posterior expected loss, exactly."""

from __future__ import annotations

import numpy as np

from sticktree.checks import IntArray
from sticktree.posterior.loss import Loss, growth
from sticktree.tree import Tree

__all__ = ["cut_of_least_loss"]


def cut_of_least_loss(
    tree: Tree, draws: IntArray, loss: Loss, n_clusters: int | None = None
) -> IntArray | None:
    """Return the best of all clusterings whose clusters are branches of the tree.

    The expected loss is a sum over clusters, so the best cut below a node is the node itself or the
    best cuts below its children. Branches may be cut at different levels. Data that stay in an
    inner node, when it is cut, are a cluster of their own.

    Parameters
    ----------
    tree : Tree
        What to cut.
    draws : array of int, shape (S, N)
        The draws' clusterings, numbered from 0.
    loss : {"vi", "binder"}
        What to minimise.
    n_clusters : int, optional
        Exactly so many clusters.

    Returns
    -------
    array of int, shape (N,), or None
        Node by which each datum is labelled; None if the tree has no cut into ``n_clusters``.
    """
    from sticktree.posterior.cutting import best_cut, best_cut_into, branch_sums

    parent, leaf = _with_data_in_leaves(tree)
    table = growth(loss, tree.n_data)
    count, shared = branch_sums(parent, leaf, draws, np.diff(table))
    cost = table[count] - 2.0 * shared / len(draws)
    if n_clusters is None:
        return best_cut(parent, leaf, count, cost)
    cut, least = best_cut_into(parent, leaf, count, cost, n_clusters)
    return cut if least.size == n_clusters and least[-1] < np.inf else None


def _with_data_in_leaves(tree: Tree) -> tuple[IntArray, IntArray]:
    """Return parents and leaves, with a new leaf for the data of each inner node."""
    inner = np.flatnonzero((tree.own_count > 0) & (tree.n_children > 0))
    node = np.arange(tree.n_nodes, dtype=np.int32)
    node[inner] = tree.n_nodes + np.arange(inner.size)
    parent = np.concatenate([tree.parent, inner]).astype(np.int32)
    return parent, node[tree.leaf]
