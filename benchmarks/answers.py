"""What it takes to turn draws into answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.cluster.hierarchy import linkage

from benchmarks.table import Row, duration, duration_row
from benchmarks.timing import race
from sticktree.metrics import dendrogram_purity
from sticktree.posterior import flat_clustering
from sticktree.tree import Tree


def rows(quick: bool = False) -> Iterator[Row]:
    n_data = 2_000 if quick else 100_000
    yield purity("a caterpillar", caterpillar(n_data), n_classes=100)
    for n_classes in (100, n_data // 2):
        yield purity("a random binary tree", binary(n_data), n_classes)
    sizes = ((200, 50, True),) if quick else ((1_000, 1_000, True), (1_000, 1_000, False))
    for n_rows, n_draws, nested in (*sizes, (2_000 if quick else 50_000, 200, True)):
        yield flat(n_rows, n_draws, nested)


def purity(kind: str, tree: Tree, n_classes: int) -> Row:
    labels = np.random.default_rng(0).integers(n_classes, size=tree.n_data)
    points = np.random.default_rng(0).standard_normal((3_000, 2))
    ours, peer = race(
        lambda: dendrogram_purity(tree, labels), lambda: linkage(points, "average"), rounds=5
    )
    what = f"purity of {kind} of {tree.n_data:,} data and {n_classes:,} classes"
    return duration_row(what, ours, 1.0, peer=f"{duration(peer)} (linkage of 3,000)")


def flat(n_rows: int, n_draws: int, nested: bool) -> Row:
    """Time the clustering of draws with twenty clusters and one datum in ten elsewhere."""
    rng = np.random.default_rng(0)
    truth = np.sort(rng.integers(20, size=n_rows))
    other = rng.integers(20, size=(n_draws, n_rows))
    draws = np.where(rng.random((n_draws, n_rows)) < 0.1, other, truth).astype(np.int32)
    tree = binary(n_rows)
    points = rng.standard_normal((3_000, 2))
    ours, peer = race(
        lambda: flat_clustering(draws, tree=tree, nested=nested),
        lambda: linkage(points, "average"),
        rounds=3,
    )
    how = "the best cut of a tree" if nested else "the best flat clustering"
    what = f"{how}, {n_rows:,} data and {n_draws:,} draws"
    return duration_row(what, ours, 5.0, peer=f"{duration(peer)} (linkage of 3,000)")


def caterpillar(n_data: int) -> Tree:
    """Return a tree with one datum at every level."""
    parent = (np.arange(2 * n_data - 1) - 1) // 2 * 2
    parent[0] = -1
    return Tree(parent, np.append(np.arange(1, 2 * n_data - 2, 2), 2 * n_data - 2))


def binary(n_data: int) -> Tree:
    """Return a random tree in which a leaf parts at each step; data are in the tree's order."""
    rng = np.random.default_rng(1)
    parent, tips = [-1], [0]
    for which in rng.integers(np.arange(1, n_data)):
        w = len(parent)
        parent += [tips[which], tips[which]]
        tips[which] = w
        tips.append(w + 1)
    leaf = np.array(tips)
    order = Tree(parent, leaf).preorder[leaf]
    return Tree(parent, leaf[np.argsort(order)])
