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

EXACT = 600  # points up to which all are joined one by one
N_MICRO = 300  # micro-clusters that take their place if there are more
N_SEEN = 6_000  # points that the centres of micro-clusters are fitted to
N_STEPS = 8  # of Lloyd's algorithm
AT_ONCE = 20_000  # points that are compared with the centres at a time


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
    """

    group: IntArray
    joins: FloatArray

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


def ward_tree(points: FloatArray, size: npt.NDArray[np.integer], group: IntArray) -> WardTree:
    """Return Ward's tree of points.

    Parameters
    ----------
    points : float array, shape (m, d)
        The points.
    size : int array, shape (m,)
        How many rows are at each.
    group : int array, shape (N,)
        At which point each row is.
    """
    if len(points) > EXACT:
        of_point = micro_clusters(points, size, N_MICRO)
        mass = size[:, None] * points
        count = np.bincount(of_point, weights=size)
        centre = np.stack([np.bincount(of_point, weights=column) for column in mass.T], axis=1)
        points, size, group = centre / count[:, None], count, of_point[group]
    return WardTree(group, joined(points, size))


def joined(points: FloatArray, size: npt.NDArray[np.number]) -> FloatArray:
    """Return the linkage matrix of weighted points.

    Chains of nearest neighbours find the joins in O(m²), out of order.
    """
    m = len(points)
    centre, n = points.astype(np.float64), size.astype(np.float64)
    square = np.einsum("ij,ij->i", centre, centre)
    active = np.ones(m, dtype=bool)
    left, right, cost = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64), np.empty(m)
    chain: list[int] = []
    for k in range(m - 1):
        if not chain:
            chain.append(int(np.argmax(active)))
        while True:
            last = chain[-1]
            gap = np.maximum(square + square[last] - 2.0 * (centre @ centre[last]), 0.0)
            added = np.where(active, gap * (n * n[last] / (n + n[last])), np.inf)
            added[last] = np.inf
            nearest = int(np.argmin(added))
            if len(chain) > 1 and added[chain[-2]] <= added[nearest]:
                break  # ties go to the one before: or the chain would go round
            chain.append(nearest)
        other = chain[-2]
        del chain[-2:]
        kept, gone = min(last, other), max(last, other)
        left[k], right[k], cost[k] = kept, gone, added[other]
        total = n[kept] + n[gone]
        centre[kept] = (n[kept] * centre[kept] + n[gone] * centre[gone]) / total
        square[kept] = centre[kept] @ centre[kept]
        n[kept], active[gone] = total, False
    return _in_order(left[: m - 1], right[: m - 1], cost[: m - 1], size)


def _in_order(
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    cost: FloatArray,
    size: npt.NDArray[np.number],
) -> FloatArray:
    """Sort joins by height; each side is known by its point of least number."""
    m = size.size
    table = np.empty((m - 1, 4))
    root, rows = list(range(m)), size.astype(np.float64).tolist()
    lowest = 0.0
    for k, at in enumerate(np.argsort(cost, kind="stable").tolist()):
        a, b = int(left[at]), int(right[at])
        lowest = max(lowest, float(np.sqrt(2.0 * cost[at])))
        first, second = sorted((root[a], root[b]))
        rows.append(rows[first] + rows[second])
        table[k] = first, second, lowest, rows[-1]
        root[a] = m + k
    return table


def micro_clusters(points: FloatArray, size: npt.NDArray[np.integer], most: int) -> IntArray:
    """Return which of at most ``most`` small clusters each point is in, by k-means.

    No random numbers: centres start at the point of most rows and then at whichever point is
    farthest from all of them. Of many points, centres are fitted to some.
    """
    chosen = np.arange(len(points))
    if len(points) > N_SEEN:
        chosen = np.sort(np.argsort(-size, kind="stable")[:N_SEEN])
    seen, weight = points[chosen], size[chosen].astype(np.float64)
    square = np.einsum("ij,ij->i", seen, seen)
    centres = np.empty((most, points.shape[1]))
    gap = np.full(len(seen), np.inf)
    at = int(np.argmax(weight))
    for k in range(most):
        centres[k] = seen[at]
        gap = np.minimum(gap, square + square[at] - 2.0 * (seen @ seen[at]))
        at = int(np.argmax(gap))
        if gap[at] < 1e-12:
            centres = centres[: k + 1]
            break
    for _ in range(N_STEPS):
        nearest = _nearest(seen, centres)
        count = np.bincount(nearest, weights=weight, minlength=len(centres))
        sums = np.stack(
            [
                np.bincount(nearest, weights=weight * column, minlength=len(centres))
                for column in seen.T
            ],
            axis=1,
        )
        centres = sums[count > 0] / count[count > 0, None]
    nearest = _nearest(points, centres)
    return np.unique(nearest, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _nearest(points: FloatArray, centres: FloatArray) -> npt.NDArray[np.int64]:
    half = 0.5 * np.einsum("ij,ij->i", centres, centres)
    nearest = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        nearest[part] = np.argmax(points[part] @ centres.T - half, axis=1)
    return nearest
