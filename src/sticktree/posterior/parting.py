"""The joins of the cluster tree: what a long walk keeps apart is parted first, then the rest.

After many steps only clusters that hardly anything connects are told apart; what is within them has
mixed, and Ward's joins there mean nothing. So the tree is made from the root down. A set of rows is
parted by Ward's tree of their coordinates after many steps if the two large sides at its top are
well apart; if not, by that after fewer steps, but for strays, small branches that are apart. What
no walk parts well is parted by the shortest.

Ward's tree of a branch is the branch, so within one number of steps nothing is made anew. Heights
are those of Ward's tree, less one whenever the walk was made shorter: they order joins by the walk
first, and cuts at them are nested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.posterior.ward import joined

APART = 0.7  # cosine of mean directions below which two sides are apart
WELL_APART = 0.5  # and below which a walk parts two large ones
LEAST_SHARE = 0.02  # of all rows: a smaller branch is no cluster, unless it has √N rows
LEAST_ROWS = 3


def least_rows(n_data: float) -> float:
    """Return how many rows a cluster has at the least."""
    return max(min(LEAST_SHARE * n_data, math.sqrt(n_data)), LEAST_ROWS)


def parted_joins(points: Sequence[FloatArray], size: npt.NDArray[np.int64]) -> FloatArray:
    """Return the joins of groups of rows, given their coordinates after more and fewer steps.

    Parameters
    ----------
    points : sequence of float arrays, shape (m, d)
        Coordinates of the groups, those after most steps first; numbers of coordinates may differ.
    size : int array, shape (m,)
        How many rows each group has.

    Returns
    -------
    float array, shape (m − 1, 4)
        A linkage matrix as scipy has them.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.posterior.parting import parted_joins
    >>> long = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 2)  # two sets, of which the first ...
    >>> short = np.eye(3)[[0, 0, 1, 1, 2, 2]]  # ... are two after fewer steps
    >>> joins = parted_joins([long, short], np.full(6, 10))
    >>> joins[-2:].astype(int)
    array([[ 7,  8,  0, 40],
           [ 6,  9,  1, 60]])
    """
    highest = math.sqrt(2.0 * float(size.sum())) * (1 + 1e-9)  # no join of unit vectors is higher
    least = least_rows(float(size.sum()))
    found: list[tuple[float, int, int]] = []
    waiting = [(np.arange(size.size), 0)] if size.size > 1 else []
    while waiting:
        members, stage = waiting.pop()
        shorter = len(points) - 1 - stage
        tree = _Branches(points[stage], size, members)
        joins, left = tree.parted(least, anyhow=shorter == 0)
        found += [(tree.height(at) / highest + shorter, *tree.eldest(at)) for at in joins]
        waiting += [(branch, stage + 1) for branch in left]
    return _linkage(found, size)


def _linkage(found: list[tuple[float, int, int]], size: npt.NDArray[np.int64]) -> FloatArray:
    """Return joins as a linkage matrix; each side is known by one of its groups.

    Those nearer to the root come first, so that backwards none of equal height precedes its own
    branches.
    """
    m = size.size
    table = np.empty((m - 1, 4))
    parent, rows = np.arange(2 * m - 1), size.astype(np.float64).tolist()

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = int(parent[node])
        return node

    backwards = reversed(found)
    for k, (height, left, right) in enumerate(sorted(backwards, key=lambda join: join[0])):
        a, b = sorted((root(left), root(right)))
        rows.append(rows[a] + rows[b])
        parent[a] = parent[b] = m + k
        table[k] = a, b, height, rows[-1]
    return table


class _Branches:
    """Ward's tree of some of the groups: rows, mean direction and a group below each node."""

    def __init__(
        self, points: FloatArray, size: npt.NDArray[np.int64], members: npt.NDArray[np.int64]
    ) -> None:
        self.members, self.m = members, members.size
        self.joins = joined(points[members], size[members])
        self.below = self.joins[:, :2].astype(np.int64).tolist()
        self.rows = np.concatenate([size[members], self.joins[:, 3]]).tolist()
        sums = np.empty((2 * self.m - 1, points.shape[1]))
        sums[: self.m] = points[members] * size[members, None]
        self.group = members.tolist()
        for k, (a, b) in enumerate(self.below):
            sums[self.m + k] = sums[a] + sums[b]
            self.group.append(self.group[a])
        length = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        self.direction = sums / np.where(length > 0, length, 1.0)[:, None]

    def height(self, node: int) -> float:
        return float(self.joins[node - self.m, 2])

    def sides(self, node: int) -> tuple[int, int]:
        a, b = self.below[node - self.m]
        return a, b

    def eldest(self, node: int) -> tuple[int, int]:
        """Return a group of each side of a join."""
        a, b = self.sides(node)
        return self.group[a], self.group[b]

    def parted(self, least: float, anyhow: bool) -> tuple[list[int], list[npt.NDArray[np.int64]]]:
        """Part into large branches that are well apart, or anyhow.

        Returns the joins that part, those of strays and of branches that are too small to be
        parted, and the groups of each branch that is left for a shorter walk.
        """
        joins: list[int] = []
        left: list[npt.NDArray[np.int64]] = []
        waiting = [2 * self.m - 2]
        while waiting:
            node = waiting.pop()
            split, path = self.split(node, least)
            if anyhow or self.rows[node] < 2 * least:
                joins += self.joins_below(node)
                continue
            parts = split is not None and self.cosine(*self.sides(split)) < WELL_APART
            for at, small in path:
                if not parts and self.cosine(*self.sides(at)) >= APART:
                    break
                joins += [at, *self.joins_below(small)]
                node = sum(self.sides(at)) - small
            if split is not None and parts:
                joins.append(split)
                waiting += self.sides(split)
            else:
                left.append(self.groups_below(node))
        return joins, left

    def split(self, node: int, least: float) -> tuple[int | None, list[tuple[int, int]]]:
        """Return the highest join whose sides are large, and the joins above with small sides."""
        path: list[tuple[int, int]] = []
        while node >= self.m:
            small, large = sorted(self.sides(node), key=lambda side: self.rows[side])
            if self.rows[small] >= least:
                return node, path
            path.append((node, small))
            node = large
        return None, path

    def cosine(self, a: int, b: int) -> float:
        return float(self.direction[a] @ self.direction[b])

    def joins_below(self, node: int) -> list[int]:
        """Return the joins at and below a node, from the top."""
        found = [node] if node >= self.m else []
        for at in found:
            found += [side for side in self.sides(at) if side >= self.m]
        return found

    def groups_below(self, node: int) -> npt.NDArray[np.int64]:
        joins = self.joins_below(node)
        found = [side for at in joins for side in self.sides(at) if side < self.m] or [node]
        return np.sort(self.members[found])
