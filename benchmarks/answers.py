"""What it takes to turn draws into answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.cluster.hierarchy import linkage

from benchmarks.table import Row, duration, duration_row, verdict
from benchmarks.timing import race
from sticktree.metrics import dendrogram_purity, meeting_distance
from sticktree.posterior import Draw, flat_clustering
from sticktree.posterior.consensus import consensus_tree
from sticktree.processes import NestedRestaurant
from sticktree.tree import Tree


def rows(quick: bool = False) -> Iterator[Row]:
    n_data = 2_000 if quick else 100_000
    yield purity("a caterpillar", caterpillar(n_data), n_classes=100)
    for n_classes in (100, n_data // 2):
        yield purity("a random binary tree", binary(n_data), n_classes)
    sizes = ((200, 50, True),) if quick else ((1_000, 1_000, True), (1_000, 1_000, False))
    for n_rows, n_draws, nested in (*sizes, (2_000 if quick else 50_000, 200, True)):
        yield flat(n_rows, n_draws, nested)
    for n_rows, limit in ((300, 5.0),) if quick else ((1_000, 5.0), (50_000, 60.0)):
        yield consensus(n_rows, 50 if quick else 1_000, limit)
    yield grouped(400 if quick else 4_000, 50 if quick else 300)


def consensus(n_rows: int, n_draws: int, limit: float) -> Row:
    """Time the consensus of draws in which one row in twenty is elsewhere."""
    draws = alike(n_rows, n_draws)
    points = np.random.default_rng(0).standard_normal((3_000, 2))
    ours, peer = race(
        lambda: consensus_tree(draws, 4.0), lambda: linkage(points, "average"), rounds=1
    )
    what = f"consensus of {n_draws:,} draws of {n_rows:,} rows"
    return duration_row(what, ours, limit, peer=f"{duration(peer)} (linkage of 3,000)")


def grouped(n_rows: int, n_draws: int) -> Row:
    """Measure how far pairs move if rows are taken in groups, a quarter as many."""
    draws = alike(n_rows, n_draws)
    exact = consensus_tree(draws, 4.0, max_exact=n_rows)
    tree = consensus_tree(draws, 4.0, max_exact=n_rows // 4)
    error = meeting_distance(tree, exact)
    what = f"RMS change of where pairs of {n_rows:,} rows meet, in {n_rows // 4:,} groups"
    return Row(
        what,
        f"{error:.4f} of the depth",
        "0 (exact)",
        f"{error:.4f}",
        "≤ 0.02",
        verdict(error <= 0.02),
    )


def alike(n_rows: int, n_draws: int) -> list[Draw]:
    """Return draws of one tree in which one row in twenty is elsewhere."""
    rng = np.random.default_rng(0)
    tree = NestedRestaurant(2.0, 3).sample(n_rows, rng).compressed()
    draws = []
    for _ in range(n_draws):
        leaf = tree.leaf.copy()
        moved = np.flatnonzero(rng.random(n_rows) < 0.05)
        leaf[moved] = tree.leaf[rng.integers(n_rows, size=moved.size)]
        parent = np.maximum(tree.parent, 0).astype(np.uint16)
        level = tree.level.astype(np.uint8)
        draws.append(Draw(leaf.astype(np.uint16), parent, level, {}, (), 1.0, 0.0, 0.0))
    return draws


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
