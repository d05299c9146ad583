"""How sure a branch is: the share of draws that have the same cluster."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray
from sticktree.engine.draw import Draw
from sticktree.tree import Tree

__all__ = ["support"]


def support(tree: Tree, draws: list[Draw]) -> FloatArray:
    """Return, for each node, the share of draws in which exactly its data are those below a node.

    Single data and all data together are clusters of every draw. Sets are compared by sums of
    random 64-bit numbers, one for each datum: the chance that two different sets have the same sum
    is 2⁻⁶⁴. Draws without labels are left out.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.posterior.support import support
    >>> support(Tree.from_paths([(1, 1), (1, 2), (2, 1)]), draws=[])
    array([1., 0., 1., 1., 1., 1.])
    """
    from sticktree.tree.walk import sums_below

    keys = np.random.default_rng(0).integers(2**64, size=tree.n_data, dtype=np.uint64)
    sums = sums_below(tree.parent, tree.leaf, keys)
    order = np.argsort(sums)
    hits = np.zeros(tree.n_nodes)
    known = sums[order]
    known_rows = [draw for draw in draws if draw.labelled]
    for draw in known_rows:
        parent, leaf = draw.parent.astype(np.int32), draw.leaf.astype(np.int32)
        found = np.unique(sums_below(parent, leaf, keys))
        low, high = np.searchsorted(known, found, "left"), np.searchsorted(known, found, "right")
        for k in np.flatnonzero(low < high):
            hits[order[low[k] : high[k]]] += 1
    share: FloatArray = hits / max(len(known_rows), 1)
    share[(tree.count <= 1) | (tree.count == tree.n_data)] = 1.0
    return share
