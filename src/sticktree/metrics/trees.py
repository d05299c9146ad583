"""How well a tree keeps known classes together, and how different two trees are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from sticktree.checks import FloatArray
from sticktree.errors import ParameterError
from sticktree.metrics.partitions import class_codes
from sticktree.tree import NULL, Tree


def dendrogram_purity(
    tree: Tree,
    labels: Iterable[Any],
    weighting: Literal["pairs", "leaves"] = "pairs",
) -> float:
    """Return the dendrogram purity of a tree, exactly.

    Take two data of one class, and the smallest branch that has both: what share of its data is of
    that class? Purity is the mean of that share. It is 1 if every class has a branch of its own.

    Parameters
    ----------
    tree : Tree
        Any tree: with several children at a node, and with several data in a node, which then
        meet in it.
    labels : sequence of hashable, length N
        The class of each datum. Data whose label is missing (None or NaN) are left out, as if the
        tree did not have them.
    weighting : {"pairs", "leaves"}
        Over what the mean is: ``"pairs"`` takes all pairs of data of one class alike, so that large
        classes count most; ``"leaves"`` picks a datum, then another of its class (Heller and
        Ghahramani 2005), so that a class counts by its number of data. For the latter, data that
        are alone in their class are left out of the mean; they still count in the shares.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    The work is O(N log N), whatever the depth of the tree and the number of classes.

    References
    ----------
    K. A. Heller and Z. Ghahramani, Bayesian hierarchical clustering, ICML 2005.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.metrics import dendrogram_purity
    >>> tree = Tree.from_paths([(1, 1), (1, 2), (2, 1), (2, 2)])
    >>> dendrogram_purity(tree, ["ape", "ape", "bee", "bee"])
    1.0
    >>> dendrogram_purity(tree, ["ape", "bee", "ape", "bee"])
    0.5
    """
    _check_tree("tree", tree)
    if weighting not in ("pairs", "leaves"):
        raise ParameterError("weighting", weighting, '"pairs" or "leaves"')
    codes = class_codes("labels", labels, tree.n_data)
    known = codes != NULL
    codes = codes[known]
    size = np.bincount(codes).astype(np.float64)
    if not (size > 1).any():
        raise ValueError(
            "labels must have at least two data of one class, got "
            f"{size.size} classes of one datum each"
        )
    if weighting == "pairs":
        weight = np.full(size.size, 1.0 / (size * (size - 1) / 2).sum())
    else:
        weight = 2.0 / np.maximum(size - 1, 1) / size[size > 1].sum()

    from sticktree.metrics.pairs import sum_of_shares

    return float(min(sum_of_shares(tree.parent.copy(), tree.leaf[known], codes, weight), 1.0))


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
    from sticktree.tree.walk import sums_below

    keys = np.random.default_rng(0).integers(2**64, size=(2, tree.n_data), dtype=np.uint64)
    counts = (tree.count > 1) & (tree.count < tree.n_data)
    parent, leaf = tree.parent.copy(), tree.leaf.copy()
    halves = [sums_below(parent, leaf, key)[counts].tolist() for key in keys]
    return set(zip(*halves, strict=True))


def meeting_distance(a: Tree, b: Tree, *, max_exact: int = 10_000, n_pairs: int = 200_000) -> float:
    """Return how differently pairs of data meet in two trees: a root mean square, from 0 to 1.

    The time of the deepest node that two data share is compared over all pairs of data. Times (or
    levels, in a tree without times) are scaled to 0 at the root and 1 at the last datum. Unlike
    :func:`robinson_foulds`, this respects multifurcations: to resolve one by edges of no length
    costs nothing, by short ones little.

    Parameters
    ----------
    a, b : Tree
        Two trees of the same data.
    max_exact : int, default=10_000
        Number of data up to which all pairs are compared; the work grows with its square.
    n_pairs : int, default=200_000
        Number of pairs, a fixed random sample, that are compared of more data. As differences are
        at most 1, the standard error is at most 0.5/√n_pairs, whatever the trees.

    Notes
    -----
    No array of all pairs is ever made.

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
    if n_data > max_exact:
        rng = np.random.default_rng(0)
        i = rng.integers(n_data, size=n_pairs)
        j = (i + rng.integers(1, n_data, size=n_pairs)) % n_data
        scaled = [_scaled_time(tree)[tree.lca(tree.leaf[i], tree.leaf[j])] for tree in (a, b)]
        return float(np.sqrt(np.mean((scaled[0] - scaled[1]) ** 2)))

    from sticktree.metrics.pairs import mean_square_apart

    arrays = [(t.parent.copy(), t.leaf.copy(), _scaled_time(t)) for t in (a, b)]
    return float(np.sqrt(mean_square_apart(*arrays[0], *arrays[1])))


def _scaled_time(tree: Tree) -> FloatArray:
    """Return times from 0 at the root to 1 at the last datum."""
    time = tree.time - tree.time[0]
    last = float(time[tree.leaf].max())
    scaled: FloatArray = time / last if last > 0 else np.zeros(tree.n_nodes)
    return scaled


def _check_pair(a: Tree, b: Tree) -> None:
    _check_tree("a", a)
    _check_tree("b", b)
    if a.n_data != b.n_data:
        raise ValueError(f"a and b must have the same data, got {a.n_data} and {b.n_data}")


def _check_tree(name: str, tree: Any) -> None:
    if not isinstance(tree, Tree):
        raise ParameterError(name, tree, "a sticktree.Tree", shown=type(tree).__name__)
