"""Ward's tree of weighted points: joins that add least to the spread within clusters.

To join clusters of n_a and n_b rows with means a and b adds n_a n_b / (n_a + n_b) |a − b|² to the
sum of squares within clusters. Heights are the root of twice that, as scipy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray

N_STEPS = 8  # of Lloyd's algorithm


@dataclass(frozen=True, eq=False)
class WardTree:
    """A binary tree of groups of rows.

    Attributes
    ----------
    group : int array, shape (N,)
        The group of each row, from 0.
    joins : float array, shape (groups − 1, 4)
        A linkage matrix of the groups as scipy has them: two clusters, the height of their join,
        and the number of rows in it. Heights increase.
    points : float array, shape (groups, d)
        Where each group is.
    size : int array, shape (groups,)
        How many rows each group has.
    """

    group: IntArray
    joins: FloatArray
    points: FloatArray
    size: npt.NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.joins) + 1

    @cached_property
    def cophenetic(self) -> FloatArray:
        """The height at which each pair of groups is joined, square; 0 on the diagonal."""
        m = self.n_groups
        heights = np.zeros((m, m))
        members = [np.array([k]) for k in range(m)]
        for a, b, height, _ in self.joins:
            first, second = members[int(a)], members[int(b)]
            heights[np.ix_(first, second)] = height
            heights[np.ix_(second, first)] = height
            members.append(np.concatenate([first, second]))
        return heights

    def heights(self, rows: npt.NDArray[np.integer]) -> FloatArray:
        """Return the height at which each pair of some rows is joined, square."""
        at = self.group[rows]
        return self.cophenetic[np.ix_(at, at)]

    def linkage(self) -> FloatArray:
        """Return the linkage matrix of the rows; those of a group are joined at height 0."""
        n, m = self.group.size, self.n_groups
        order = np.argsort(self.group, kind="stable")
        inner = np.zeros((n - m, 4))
        first = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        size = np.diff(first, append=n)
        cluster = np.empty(m, dtype=np.int64)  # that all rows of a group are
        done = 0
        for k, (start, count) in enumerate(zip(first.tolist(), size.tolist(), strict=True)):
            if count == 1:
                cluster[k] = order[start]
                continue
            here = inner[done : done + count - 1]
            here[:, 0] = order[start + 1 : start + count]
            here[:, 1] = n + done - 1 + np.arange(count - 1)
            here[0, 1] = order[start]
            here[:, 3] = np.arange(2, count + 1)
            done += count - 1
            cluster[k] = n + done - 1
        joins = self.joins.copy()
        ids = np.concatenate([cluster, n + done + np.arange(m - 1)])
        joins[:, :2] = ids[joins[:, :2].astype(np.int64)]
        return np.concatenate([inner, joins])


def joined(points: FloatArray, size: npt.NDArray[np.number]) -> FloatArray:
    """Return the linkage matrix of weighted points.

    Chains of nearest neighbours find the joins in O(m²), out of order.
    """
    from sticktree.posterior.linking import ward_joins

    m = len(points)
    if m < 2:
        return np.empty((0, 4))
    left, right = np.empty(m - 1, dtype=np.int64), np.empty(m - 1, dtype=np.int64)
    cost = np.empty(m - 1)
    ward_joins(points.astype(np.float64), size.astype(np.float64), left, right, cost)
    return _in_order(left, right, cost, size)


def _in_order(
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    cost: FloatArray,
    size: npt.NDArray[np.number],
) -> FloatArray:
    """Sort joins by height; each side is known by its point of least number."""
    m = size.size
    table = np.empty((m - 1, 4))
    # Joins of equal cost may differ by rounding: none may come before one that it is made of.
    cost, highest = cost.copy(), np.zeros(m)
    for k, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        cost[k] = highest[a] = max(cost[k], highest[a], highest[b])
    root, rows = list(range(m)), size.astype(np.float64).tolist()
    for k, at in enumerate(np.argsort(cost, kind="stable").tolist()):
        a, b = int(left[at]), int(right[at])
        first, second = sorted((root[a], root[b]))
        rows.append(rows[first] + rows[second])
        table[k] = first, second, np.sqrt(2.0 * cost[at]), rows[-1]
        root[a] = m + k
    return table


def micro_centres(points: FloatArray, size: npt.NDArray[np.integer], most: int) -> FloatArray:
    """Return the centres of at most ``most`` small clusters of weighted points, by k-means.

    No random numbers: centres start at the point of most rows and then at whichever point is
    farthest from all of them.
    """
    weight = size.astype(np.float64)
    square = np.einsum("ij,ij->i", points, points)
    centres = np.empty((most, points.shape[1]))
    gap = np.full(len(points), np.inf)
    at = int(np.argmax(weight))
    for k in range(most):
        centres[k] = points[at]
        gap = np.minimum(gap, square + square[at] - 2.0 * (points @ points[at]))
        at = int(np.argmax(gap))
        if gap[at] < 1e-12:
            centres = centres[: k + 1]
            break
    for _ in range(N_STEPS):
        nearest = nearest_centre(points, centres)
        count = np.bincount(nearest, weights=weight, minlength=len(centres))
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, weight[:, None] * points)
        centres = sums[count > 0] / count[count > 0, None]
    return centres


def nearest_centre(points: FloatArray, centres: FloatArray) -> npt.NDArray[np.int64]:
    """Return which centre each point is nearest to."""
    half = 0.5 * np.einsum("ij,ij->i", centres, centres)
    return np.asarray(np.argmax(points @ centres.T - half, axis=1))
