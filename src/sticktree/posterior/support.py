"""How sure a branch is: the share of draws that have the same cluster."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.jit import jit
from sticktree.posterior.draws import Draw
from sticktree.tree import Tree

__all__ = ["support"]


def support(tree: Tree, draws: list[Draw]) -> FloatArray:
    """Return, for each node, the share of draws in which exactly its data are those below a node.

    Single data and all data together are clusters of every draw. Sets are compared by sums of
    random 64-bit numbers, one for each datum: the chance that two different sets have the same sum
    is 2⁻⁶⁴.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.posterior.support import support
    >>> support(Tree.from_paths([(1, 1), (1, 2), (2, 1)]), draws=[])
    array([1., 0., 1., 1., 1.])
    """
    keys = np.random.default_rng(0).integers(2**64, size=tree.n_data, dtype=np.uint64)
    sums = _sums(tree.parent, tree.leaf, keys)
    order = np.argsort(sums)
    hits = np.zeros(tree.n_nodes)
    known = sums[order]
    for draw in draws:
        found = np.unique(_sums(draw.parent, draw.leaf, keys))
        low, high = np.searchsorted(known, found, "left"), np.searchsorted(known, found, "right")
        for k in np.flatnonzero(low < high):
            hits[order[low[k] : high[k]]] += 1
    share: FloatArray = hits / max(len(draws), 1)
    share[(tree.count <= 1) | (tree.count == tree.n_data)] = 1.0
    return share


def _sums(
    parent: npt.NDArray[np.integer], leaf: npt.NDArray[np.integer], keys: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Return the sum of the keys of the data below each node, modulo 2⁶⁴."""
    sums = np.zeros(parent.size, dtype=np.uint64)
    np.add.at(sums, leaf, keys)
    _add_upward(parent.astype(np.int64), sums)
    return sums


@jit
def _add_upward(parent: npt.NDArray[np.int64], values: npt.NDArray[np.uint64]) -> None:
    """Add to the value of each node those of all nodes below it."""
    for node in range(parent.size - 1, 0, -1):
        values[parent[node]] += values[node]
