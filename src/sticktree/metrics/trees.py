"""How different two trees of the same data are."""

from __future__ import annotations

import numpy as np

from sticktree.checks import FloatArray
from sticktree.tree import Tree

__all__ = ["meeting_distance", "robinson_foulds"]

EXACT_DATA = 10_000
"""Up to so many data, all pairs are compared; the work grows with their square."""

N_PAIRS = 200_000
"""Pairs that are compared of more data."""


def robinson_foulds(a: Tree, b: Tree, normalized: bool = True) -> float:
    """Return the Robinson–Foulds distance of two rooted trees: clusters that only one of them has.

    A cluster is the set of data at or below a node. Those of a single datum, of all data and of
    none are not counted, and a set that several nodes of a chain have counts once. Lengths play no
    part. A tree that resolves a multifurcation of the other differs from it by every node that it
    adds; :func:`meeting_distance` is milder.

    Parameters
    ----------
    a, b : Tree
        Two trees of the same data.
    normalized : bool
        Divide by the number of clusters of both trees, so that 0 is the same clusters and 1 is none
        in common. Two trees without any cluster have distance 0.

    Notes
    -----
    Clusters are compared by sums of 128 random bits for each datum: that two different ones agree
    by chance has a probability below 10⁻²⁶ for trees of a million nodes.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.metrics import robinson_foulds
    >>> a = Tree.from_paths([(1, 1), (1, 2), (2, 1), (2, 2)])
    >>> b = Tree.from_paths([(1, 1), (1, 2), (2,), (3,)])
    >>> robinson_foulds(a, b), robinson_foulds(a, b, normalized=False)
    (0.3333333333333333, 1.0)
    """
    _check_pair(a, b)
    first, second = _clusters(a), _clusters(b)
    n_apart = len(first ^ second)
    if not normalized:
        return float(n_apart)
    return n_apart / max(len(first) + len(second), 1)


def _clusters(tree: Tree) -> set[tuple[int, int]]:
    """Return a key for every set of data below a node that is not trivial."""
    from sticktree.metrics.clades import sums_below

    keys = np.random.default_rng(0).integers(2**64, size=(2, tree.n_data), dtype=np.uint64)
    counts = (tree.count > 1) & (tree.count < tree.n_data)
    parent, leaf = tree.parent.copy(), tree.leaf.copy()
    halves = [sums_below(parent, leaf, key)[counts].tolist() for key in keys]
    return set(zip(*halves, strict=True))


def meeting_distance(a: Tree, b: Tree) -> float:
    """Return how differently pairs of data meet in two trees: a root mean square, from 0 to 1.

    The time of the deepest node that two data share is compared over all pairs of data. Times (or
    levels, in a tree without times) are scaled to 0 at the root and 1 at the last datum. Unlike
    :func:`robinson_foulds`, this respects multifurcations: to resolve one by edges of no length
    costs nothing, by short ones little.

    Parameters
    ----------
    a, b : Tree
        Two trees of the same data.

    Notes
    -----
    Exact up to 10,000 data. Of more, a fixed random sample of 200,000 pairs is compared; as
    differences are at most 1, the standard error is then at most 0.0012, whatever the trees. No
    array of all pairs is ever made.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.metrics import meeting_distance
    >>> star = Tree([-1, 0, 0, 0], leaf=[1, 2, 3])
    >>> resolved = Tree([-1, 0, 0, 1, 1], leaf=[3, 4, 2], time=[0, 0, 1, 1, 1])
    >>> meeting_distance(star, resolved)
    0.0
    """
    _check_pair(a, b)
    n_data = a.n_data
    if n_data < 2:
        return 0.0
    if n_data > EXACT_DATA:
        rng = np.random.default_rng(0)
        i = rng.integers(n_data, size=N_PAIRS)
        j = (i + rng.integers(1, n_data, size=N_PAIRS)) % n_data
        scaled = [_scaled_time(tree)[tree.lca(tree.leaf[i], tree.leaf[j])] for tree in (a, b)]
        return float(np.sqrt(np.mean((scaled[0] - scaled[1]) ** 2)))

    from sticktree.metrics.meetings import mean_square_apart

    arrays = [(t.parent.copy(), t.leaf.copy(), _scaled_time(t)) for t in (a, b)]
    return float(np.sqrt(mean_square_apart(*arrays[0], *arrays[1])))


def _scaled_time(tree: Tree) -> FloatArray:
    """Return times from 0 at the root to 1 at the last datum."""
    time = tree.time - tree.time[0]
    last = float(time[tree.leaf].max())
    scaled: FloatArray = time / last if last > 0 else np.zeros(tree.n_nodes)
    return scaled


def _check_pair(a: Tree, b: Tree) -> None:
    for name, tree in (("a", a), ("b", b)):
        if not isinstance(tree, Tree):
            raise ValueError(f"{name} must be a sticktree.Tree, got {type(tree).__name__}")
    if a.n_data != b.n_data:
        raise ValueError(f"a and b must have the same data, got {a.n_data} and {b.n_data}")
