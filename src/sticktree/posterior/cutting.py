"""The groups that a person would draw: where to cut the cluster tree.

From the root of Ward's tree of the walk, a join parts a cluster if both its sides are large enough.
Small branches on the way are strays, which join the nearest cluster or are kept apart.

*How many clusters?* The longer the walk, the fewer clusters are left, and partitions that mean
something last. After t = 4, …, 1024 steps, a join parts if the mean directions of its sides are at
an angle with cosine below 0.7. The number of the partition that lasts longest in log t is taken;
of k clusters some two meet the sooner the more there are, so time counts (k − 1)^0.4 times. The
middle of it, between 32 and 128 steps, is that of the cluster tree.

*Which?* The highest joins of the cluster tree that part, until there are as many clusters.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray
from sticktree.errors import ParameterError
from sticktree.posterior.consensus import Members, grown
from sticktree.posterior.parting import APART, least_rows
from sticktree.posterior.walk import STEPS, Walk
from sticktree.posterior.ward import WardTree
from sticktree.tree import NULL, Tree

TIMES = tuple(4.0 * 2.0 ** (k / 4) for k in range(33))
"""Steps after which the tree is looked at, from 4 to 1024."""
MOST_STEPS = 128.0  # of the cluster tree: of more, parts of a cluster are no longer told apart
FIRST_TIME = 2  # of TIMES, from which partitions count: sooner, leaves show more than clusters
CROWDED = 0.4  # power of the number of clusters less one, that time counts by
COHERENT = 0.5  # length of the mean of coordinates below which a branch is scattered strays
SAME = 0.9  # adjusted Rand index above which partitions are the same
GROUPS_A_CLUSTER = 3  # at least, of which k clusters are made


@dataclass(frozen=True, eq=False)
class Cut:
    """A flat clustering of rows.

    Attributes
    ----------
    labels : int array, shape (N,)
        Clusters from 0, in the order of the tree.
    stray : bool array, shape (N,)
        Rows of small branches, apart from the rest; ``labels`` has the cluster nearest to them.
    """

    labels: IntArray
    stray: npt.NDArray[np.bool_]

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max(initial=-1)) + 1


@dataclass(frozen=True)
class Lasting:
    """The number of clusters that lasts longest, for its size, as the walk goes on.

    Attributes
    ----------
    n_clusters : int
        The number; 1 where no two large branches are ever apart.
    t : float
        Steps of the walk, the middle of the time that they last.
    factor : float
        The last time over the first at which there are these clusters.
    counts : list of int
        The number of clusters at each of the times 4, 4.76, …, 1024 steps.
    """

    n_clusters: int
    t: float
    factor: float
    counts: list[int]

    @property
    def steps(self) -> float:
        """Steps of the walk that the cluster tree is made by."""
        return min(max(self.t, float(STEPS)), MOST_STEPS)


def longest_lasting(walk: Walk) -> Lasting:
    """Return the number of clusters that lasts longest as the walk goes on.

    Examples
    --------
    >>> from sticktree.posterior.cutting import longest_lasting
    >>> from sticktree.posterior.walk import Walk
    >>> together = longest_lasting(Walk.of_labels([[0] * 20]))
    >>> apart = longest_lasting(Walk.of_labels([[0] * 10 + [1] * 10]))
    >>> together.n_clusters, apart.n_clusters, apart.factor
    (1, 2, 256.0)
    """
    size = walk.groups.size.astype(np.float64)
    outlines = (_Outline(walk.tree(t)) for t in TIMES)
    found = [outline.labels(outline.apart())[0] for outline in outlines]
    counts = [int(labels.max()) + 1 for labels in found]
    runs = _runs(found, size)
    if not runs:
        return Lasting(1, float(STEPS), math.inf, counts)
    start = FIRST_TIME if max(last for _, last in runs) >= FIRST_TIME else 0

    def lasts(run: tuple[int, int]) -> float:
        first, last = run
        return float(max(last - max(first, start) + 1, 0) * (counts[first] - 1) ** CROWDED)

    first, last = max(runs, key=lasts)  # of equals the first
    middle = (max(first, start) + last) // 2
    return Lasting(counts[middle], TIMES[middle], TIMES[last] / TIMES[first], counts)


def _runs(found: list[IntArray], size: FloatArray) -> list[tuple[int, int]]:
    """Return the first and last times of partitions into several clusters that stay the same."""
    runs, start = [], 0
    for k in range(1, len(found) + 1):
        if k == len(found) or not _same(found[start], found[k], size):
            if found[start].max() > 0:
                runs.append((start, k - 1))
            start = k
    return runs


def cut_into(walk: Walk, n_clusters: int, t: float = STEPS) -> Cut:
    """Return a given number of clusters: a cut of the cluster tree of at most ``t`` steps.

    None has less than 2 % of the rows and less than √N, unless so many cannot be had otherwise.

    Examples
    --------
    >>> from sticktree.posterior.cutting import cut_into
    >>> from sticktree.posterior.walk import Walk
    >>> walk = Walk.of_labels([[0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 2]])
    >>> cut_into(walk, 2).labels
    array([1, 1, 1, 0, 0, 0, 0], dtype=int32)
    """
    n_profiles = walk.profiles.size.size
    if n_clusters > n_profiles:
        raise ParameterError(
            "n_clusters",
            n_clusters,
            f"at most {n_profiles:,}: no draw tells more groups of the {walk.n_data:,} rows apart",
        )
    tree = walk.cluster_tree(t)
    if GROUPS_A_CLUSTER * n_clusters > tree.n_groups < n_profiles:
        tree = walk.cluster_tree(t, GROUPS_A_CLUSTER * n_clusters)
    return _Outline(tree).cut_into(n_clusters)


def _same(a: IntArray, b: IntArray, size: FloatArray) -> bool:
    """Return whether two clusterings of groups are as many clusters, and nearly the same ones."""
    k = int(a.max()) + 1
    return k == int(b.max()) + 1 and (k == 1 or weighted_rand(a, b, size) > SAME)


def weighted_rand(a: IntArray, b: IntArray, size: FloatArray) -> float:
    """Return the adjusted Rand index of two clusterings of groups of rows, over pairs of rows."""
    k = int(b.max()) + 1

    def pairs(labels: npt.NDArray[np.integer]) -> float:
        n = np.bincount(labels, size)
        return float((n * (n - 1)).sum())

    n = float(size.sum())
    mine, theirs, both = pairs(a), pairs(b), pairs(a.astype(np.int64) * k + b)
    by_chance, most = mine * theirs / max(n * (n - 1), 1.0), 0.5 * (mine + theirs)
    return (both - by_chance) / (most - by_chance) if most - by_chance > 1e-9 else 1.0


# ---- going down a tree ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Parted:
    """Nodes at the top of clusters, and small branches that were passed on the way to them."""

    tops: list[int]
    passed: list[int]
    least: float


class _Outline:
    """Ward's tree from the root down: how many rows are below each node, and in which direction."""

    def __init__(self, tree: WardTree) -> None:
        self.tree = tree
        self.m = tree.n_groups
        self.n_data = float(tree.size.sum())
        self.least = least_rows(self.n_data)
        n = np.concatenate([tree.size.astype(np.float64), tree.joins[:, 3]])
        sums = np.zeros((n.size, tree.points.shape[1]))
        sums[: self.m] = tree.points * tree.size[:, None]
        self.below = tree.joins[:, :2].astype(np.int64)
        for k, (a, b) in enumerate(self.below):
            sums[self.m + k] = sums[a] + sums[b]
        length = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        self.n, self.coherence = n, length / n
        self.direction = sums / np.where(length > 0, length, 1.0)[:, None]

    def sides(self, node: int) -> tuple[int, int]:
        a, b = self.below[node - self.m].tolist()
        return a, b

    def cosine(self, a: int, b: int) -> float:
        return float(self.direction[a] @ self.direction[b])

    def split(self, node: int, least: float) -> tuple[int, list[int]] | None:
        """Return the highest join below a node whose sides are large, and branches above it."""
        passed: list[int] = []
        while node >= self.m:
            a, b = self.sides(node)
            if min(self.n[a], self.n[b]) >= least:
                return node, passed
            if max(self.n[a], self.n[b]) < least:
                return None
            small, node = (a, b) if self.n[a] < self.n[b] else (b, a)
            passed.append(small)
        return None

    def apart(self) -> _Parted:
        """Part whatever is apart."""
        waiting, tops, passed = [2 * self.m - 2], list[int](), list[int]()
        while waiting:
            node = waiting.pop()
            split = self.split(node, self.least)
            if split is None or self.cosine(*self.sides(split[0])) >= APART:
                tops.append(node)
            else:
                waiting += self.sides(split[0])
                passed += split[1]
        scattered = [top for top in tops if self.coherence[top] < COHERENT]
        if len(scattered) >= len(tops) - 1:
            return _Parted([2 * self.m - 2], [], self.least)
        tops = [top for top in tops if top not in scattered]
        return _Parted(tops, passed + scattered, self.least)

    def parted(self, n_clusters: int, least: float) -> _Parted:
        """Part at the highest joins until there are so many clusters, or none can be parted."""
        tops, passed, heap = {2 * self.m - 2}, list[int](), list[tuple[int, int, list[int]]]()

        def add(top: int) -> None:
            split = self.split(top, least)
            if split is not None:
                heapq.heappush(heap, (-split[0], top, split[1]))

        add(2 * self.m - 2)
        while heap and len(tops) < n_clusters:
            node, top, above = heapq.heappop(heap)
            tops.remove(top)
            passed += above
            for side in self.sides(-node):
                tops.add(side)
                add(side)
        return _Parted(sorted(tops), passed, least)

    def groups_below(self, node: int) -> list[int]:
        found, waiting = [], [node]
        while waiting:
            node = waiting.pop()
            if node < self.m:
                found.append(node)
            else:
                waiting += self.sides(node)
        return found

    def labels(self, parted: _Parted) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return the cluster of each group, and whether it is a stray."""
        labels, stray = np.full(self.m, NULL, dtype=np.int32), np.zeros(self.m, dtype=bool)
        for k, top in enumerate(parted.tops):
            labels[self.groups_below(top)] = k
            for branch in self.offshoots(top, parted.least):
                stray[self.groups_below(branch)] = True
        directions = self.direction[parted.tops]
        for branch in parted.passed:
            groups = self.groups_below(branch)
            labels[groups] = int(np.argmax(directions @ self.direction[branch]))
            stray[groups] = True
        return labels, stray

    def offshoots(self, top: int, least: float) -> list[int]:
        """Return the small branches of a cluster that are apart from the rest of it."""
        found, node = [], top
        while node >= self.m:
            a, b = self.sides(node)
            small, large = (a, b) if self.n[a] < self.n[b] else (b, a)
            if self.n[small] >= least or self.cosine(a, b) >= APART:
                break
            found.append(small)
            node = large
        return found

    def cut_into(self, n_clusters: int) -> Cut:
        """Return so many clusters."""
        least = self.least
        parted = self.parted(n_clusters, least)
        while len(parted.tops) < n_clusters and least > 1:
            least = max(least / 2, 1)
            parted = self.parted(n_clusters, least)
        labels, stray = self.labels(parted)
        group = self.tree.group
        return Cut(_in_order(labels, self)[group], stray[group])


def _in_order(labels: IntArray, outline: _Outline) -> IntArray:
    """Return clusters numbered as they come in the tree, the larger side of each join first."""
    eldest = list(range(outline.m))
    for a, b in outline.below.tolist():
        eldest.append(min(eldest[a], eldest[b]))
    order, waiting = [], [2 * outline.m - 2]
    while waiting:
        node = waiting.pop()
        if node < outline.m:
            order.append(node)
        else:
            waiting += sorted(
                outline.sides(node), key=lambda side: (outline.n[side], -eldest[side])
            )
    _, first = np.unique(labels[order], return_index=True)
    rank = np.empty(first.size, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[labels]


# ---- the tree as people see it ----------------------------------------------------------------


def tree_of_rows(tree: WardTree) -> Tree:
    """Return the cluster tree as a tree of the rows, those of a group side by side.

    Heights of joins after walks of different lengths cannot be compared, but in order. The time of
    a join is log k / log m, where it is the k-th of m groups' joins from the top: cut just after
    it, there are k + 1 clusters. Joins of the same height have the same time; the root is at 0 and
    leaves are at 1.
    """
    m, joins = tree.n_groups, tree.joins
    above = m - 1 - np.searchsorted(joins[:, 2], joins[:, 2], side="right")
    times = np.log1p(above) / math.log(max(m, 2))
    first = np.concatenate([np.arange(m), np.empty(m - 1, dtype=np.int64)])  # a group of each node
    for k, (a, _) in enumerate(joins[:, :2].astype(np.int64).tolist()):
        first[m + k] = first[a]
    left, right = first[joins[:, :2].astype(np.int64).T]
    inside = np.ones(m) if m > 1 else np.zeros(m)
    return grown(Members(tree.group.astype(np.int64)), inside, (left, right, times), 1.0)
