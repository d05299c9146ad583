"""One tree for many: the consensus of the draws.

A single draw is no answer. What all draws agree on, or nearly, is in the mean level at which each
pair of rows meets; average linkage of those means is the consensus tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.engine.draw import Draw
from sticktree.posterior.clusterings import (
    MAX_DRAWS,
    MIN_DRAWS,
    SharedMatrix,
    check_rows,
    labelled,
    spread,
)
from sticktree.posterior.transfer import transfer_support
from sticktree.tree import Tree

MAX_EXACT = 2000
"""Number of rows up to which all pairs count; above, rows that stay together are one."""
GROUPING_DRAWS, GROUPING_ROUNDS = 100, 3
GROUPING_CELLS = 20_000_000  # rows times draws that are held at a time
FINEST = (32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
"""Numbers of steps between a group and the next in which its rows may be separated."""
TIE = 1e-9  # times nearer than this are the same, up to rounding


def consensus_tree(
    draws: list[Draw], leaf_time: float, *, max_exact: int = MAX_EXACT, max_draws: int = MAX_DRAWS
) -> Tree:
    """Return the consensus of the draws, with the supports of each of its branches.

    Every row has a leaf of its own. Each node above lies at the mean level at which the rows of one
    child meet those of another, over pairs of them and over draws, and is no node of its own where
    that is the level of the node above. Larger children come first.

    With more than ``max_exact`` rows, those that are together in some draws are groups, at most
    ``max_exact``; each row then joins the group that it is most often with. Groups are clustered
    like rows, with their sizes, and each is a star of its rows. Nothing of size N × N is built.
    ``python -m benchmarks answers`` measures how much that changes.

    Parameters
    ----------
    draws : list of Draw
        At most ``max_draws`` of those that have labels are used, spread evenly.
    leaf_time : float
        Where the leaves are: the depth of the model.
    max_exact, max_draws : int
        As above.

    Returns
    -------
    Tree
        With times, supports and transfer supports.
    """
    from sticktree.posterior.linking import average_linkage

    max_exact = check_integer("max_exact", max_exact, minimum=2)
    used = spread(labelled(draws), check_integer("max_draws", max_draws, minimum=1))
    group = _groups(used, max_exact)
    members = Members(group)
    rng = np.random.default_rng(0)  # only for which rows stand for their groups
    levels = summed_meeting_levels(used, members.pick(rng, len(used))) / np.float64(len(used))
    inside = _levels_inside(used, members, rng)
    joins = average_linkage(levels, members.size)
    tree = grown(members, inside, joins, float(leaf_time))
    return tree.annotated(support=support(tree, used), transfer=transfer_support(tree, used))


class Members:
    """Groups of rows: which there are, and rows that stand for them."""

    def __init__(self, group: npt.NDArray[np.int64]) -> None:
        self.size = np.bincount(group)
        self.rows = np.argsort(group, kind="stable")
        self.start = np.cumsum(self.size) - self.size

    @property
    def alone(self) -> bool:
        """Whether every group is one row."""
        return self.rows.size == self.size.size

    def pick(self, rng: np.random.Generator, n: int) -> list[npt.NDArray[np.int64]]:
        """Return a row of each group at random, ``n`` times."""
        if self.alone:
            return [self.rows] * n
        offset = rng.integers(self.size, size=(n, self.size.size))
        return list(self.rows[self.start + offset])

    def pick_pairs(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return two different rows of each group of several."""
        several = np.flatnonzero(self.size > 1)
        size, start = self.size[several], self.start[several]
        first = rng.integers(size)
        second = (first + rng.integers(1, size)) % size
        return self.rows[start + first].astype(np.int32), self.rows[start + second].astype(np.int32)


def _groups(draws: list[Draw], most: int) -> npt.NDArray[np.int64]:
    """Return the group of each row: rows that are mostly together."""
    n = draws[0].n_data
    if n <= most:
        return np.arange(n)

    from sticktree.posterior.linking import most_often_with

    # Draws far from each other first: neighbours in a chain are nearly the same.
    most_draws = int(np.clip(GROUPING_CELLS // n, MIN_DRAWS, GROUPING_DRAWS))
    order = np.random.default_rng(0).permutation(len(draws))[:most_draws]
    tree = draws[order[0]].tree
    position = tree.preorder[tree.leaf]
    group = _renumbered(position)
    if group.max() >= most:  # near leaves are together
        rank = np.argsort(np.argsort(position, kind="stable"))
        group = _renumbered(rank * most // n)
    for k in order[1:]:
        leaf = draws[k].leaf
        finer = _renumbered(group * (int(leaf.max()) + 1) + leaf)
        if finer.max() >= most:
            break
        group = finer
    leaves = np.empty((len(order), n), dtype=np.int32)
    for s, k in enumerate(order):
        leaves[s] = draws[k].leaf
    for _ in range(GROUPING_ROUNDS):
        better, second, part = most_often_with(leaves, group)
        group = _renumbered(better)
    return _parted(group, second, part, most)


def _renumbered(number: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return numbers from 0 in the same order, without gaps; in little memory."""
    if number.max() > number.size:
        return np.searchsorted(np.unique(number), number)
    there = np.bincount(number) > 0
    return np.asarray((np.cumsum(there) - 1)[number], dtype=np.int64)


def _parted(
    group: npt.NDArray[np.int64], second: npt.NDArray[np.int64], part: FloatArray, most: int
) -> npt.NDArray[np.int64]:
    """Part groups by where else their rows are, and how often, as finely as ``most`` allows."""
    n_groups = int(second.max()) + 2
    for n_steps in FINEST:
        step = np.round(2 * n_steps * part).astype(np.int64)  # part is at most a half
        other = np.where(step > 0, second + 1, 0)
        key = (group * n_groups + other) * (n_steps + 1) + step
        finer = _renumbered(key)
        if finer.max() < most:
            return finer
    return group.astype(np.int64)


def _levels_inside(draws: list[Draw], members: Members, rng: np.random.Generator) -> FloatArray:
    """Return the mean level at which two rows of each group of several meet."""
    inside = np.zeros(members.size.size)
    if not members.alone:
        for draw in draws:
            pairs = members.pick_pairs(rng)
            inside[members.size > 1] += draw.tree.meeting_level(*pairs)
    return inside / len(draws)


def grown(
    members: Members,
    inside: FloatArray,
    joins: tuple[npt.NDArray[Any], npt.NDArray[Any], FloatArray],
    leaf_time: float,
) -> Tree:
    """Return the tree of rows, groups and joins of groups."""
    n, m = members.rows.size, members.size.size
    # Ids: rows, then groups, then joins from the nearest to the root.
    order = np.argsort(-joins[2], kind="stable")
    parent = np.full(n + 2 * m - 1, -1, dtype=np.int64)
    time = np.concatenate([np.full(n, leaf_time), inside, joins[2][order]])
    parent[members.rows] = n + np.repeat(np.arange(m), members.size)
    # A join is named by one group of each side. Joins of nearly the same level may come in another
    # order than they were made in, for sums are rounded: so look up where those groups are by now.
    above, top = np.arange(m), n + np.arange(m)
    for node, k in enumerate(order, start=n + m):
        left, right = (_highest(above, int(joins[side][k])) for side in (0, 1))
        for child in (top[left], top[right]):
            parent[child] = node
            time[node] = min(time[node], time[child]) if child >= n + m else time[node]
        above[right] = left
        top[left] = node
    # Groups of one are their row; equal times are one node; groups lie below the join above.
    root = parent.size - 1
    gone = np.zeros(parent.size, dtype=bool)
    if n > 1:
        gone[n : n + m] = members.size == 1
    for node in range(root - 1, n - 1, -1):
        if n <= node < n + m:
            time[node] = max(time[node], time[parent[node]])
        gone[node] |= time[node] <= time[parent[node]] + TIE
    return _numbered(parent, time, gone, n)


def _highest(above: npt.NDArray[np.int64], group: int) -> int:
    """Return the group that stands for all that a group has been joined with."""
    while above[group] != group:
        above[group] = above[above[group]]  # next time the way is shorter
        group = int(above[group])
    return group


def _numbered(
    parent: npt.NDArray[np.int64], time: FloatArray, gone: npt.NDArray[np.bool_], n: int
) -> Tree:
    """Return the tree without the nodes that are gone; in a walk, large children first.

    Parents have larger ids than their children; the data are the first ``n`` nodes.
    """
    from sticktree.posterior.linking import counted, walked

    count, size, first = counted(parent, gone, n)
    kept = np.flatnonzero(~gone)
    below = kept[:-1]  # the root is the last
    # Parents from the root down; of one parent the largest child first, of equals the eldest.
    below = below[np.lexsort((first[below], -count[below], -parent[below]))]
    place = walked(below, parent, size)
    above = np.full(kept.size, -1)
    above[place[below]] = place[parent[below]]
    times = np.empty(kept.size)
    times[place[kept]] = time[kept]
    return Tree(above, place[:n], time=times)


def meeting_times(draws: Sequence[Draw], rows: npt.ArrayLike | None = None) -> SharedMatrix:
    """Return the posterior mean of the level of the deepest node that each pair of data shares.

    Parameters
    ----------
    draws : sequence of Draw
        At most a thousand of those that have labels are used, spread evenly.
    rows : array of int, optional
        For which data, and in which order; by default all. At most 20,000.

    Returns
    -------
    array of float32, square
        On the diagonal is the level of the datum's own leaf.
    """
    used = spread(labelled(draws), MAX_DRAWS)
    chosen = check_rows(rows, used[0].n_data)
    return summed_meeting_levels(used, [chosen] * len(used)) / np.float32(len(used))


def summed_meeting_levels(draws: Sequence[Draw], rows: Sequence[npt.NDArray[Any]]) -> SharedMatrix:
    """Return the sum over draws of the levels at which the rows chosen for each draw meet.

    Single precision holds these whole numbers without rounding.
    """
    from sticktree.posterior.linking import add_meeting_levels, mirror

    n = len(rows[0])
    total = np.zeros((n, n), dtype=np.float32)
    for draw, chosen in zip(draws, rows, strict=True):
        parent, leaf = draw.parent.astype(np.int32), draw.leaf[chosen].astype(np.int32)
        add_meeting_levels(parent, leaf, draw.level.astype(np.int32), total)
    mirror(total)
    return total


def support(tree: Tree, draws: Sequence[Draw]) -> FloatArray:
    """Return, for each node, the share of draws in which a node has exactly the same data below it.

    Single data and all data together are clusters of every draw. Sets are compared by sums of
    random 64-bit numbers, one for each datum: the chance that two different sets have the same sum
    is 2⁻⁶⁴. Draws without labels are left out.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.posterior.consensus import support
    >>> support(Tree.from_paths([(1, 1), (1, 2), (2, 1)]), draws=[])
    array([1., 0., 1., 1., 1., 1.])
    """
    from sticktree.tree.walk import sums_below

    keys = np.random.default_rng(0).integers(2**64, size=tree.n_data, dtype=np.uint64)
    sums = sums_below(tree.parent.copy(), tree.leaf.copy(), keys)  # frozen, they are another type
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
