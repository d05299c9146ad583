"""Shares of branches in groups, draw by draw.

In a draw, group j has its own sticks θ_j around the shared ones β, which are Dirichlet given its
rows. The share of a cluster is Σ θ_j(f) over the leaves f of the draw that are of it (`homes`), so
that nodes need not match between draws, and that it is as uncertain as which rows belong to the
cluster. A leaf may hold clusters that the draw does not tell apart; their shares of it are those in
the rows of the group, Dirichlet with half a row for each. Shares add up over every cut, and to 1
together with what is not seen yet: branches that none of the rows is on.

What is said of groups rests on their own rows. The γ of the model is one for all points of the
tree, most of which part a cluster into leaves that all groups have alike, so that it is large and
draws groups to one another; predictions are better for it, but intervals of shares would be too
narrow, and P(> 0) of groups that are the same would be near one half. So where the tree parts
clusters, β counts as half a row for each part, in the place of γ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw
from sticktree.posterior.homes import Homes
from sticktree.tree import NULL

ALONE = 0.9  # share of one cluster among the data of a node that is of it
HALF = 0.5  # row that the shared share of a branch counts as, as in the prior of Jeffreys
SWEEPS = 3  # over the groups, of which the last is kept
APART = 0.1  # concentration of groups: two are alike with odds ten to one, before rows are seen


def group_shares(
    draws: Sequence[Draw],
    group: IntArray,
    n_groups: int,
    labels: IntArray,
    rng: np.random.Generator,
    times: int = 1,
) -> FloatArray:
    """Draw the shares of clusters in groups, shape (draws · times, groups, clusters + 1).

    The last is what is not seen yet. ``labels`` are the clusters of the data; groups beyond
    ``n_groups`` are left out. Given each of the draws, shares are drawn so many ``times``.
    """
    n_clusters = int(labels.max()) + 1
    out = np.empty((len(draws), times, n_groups, n_clusters + 1))
    for k, draw in enumerate(draws):
        homes = Homes.of(draw, labels, n_clusters)
        below = _below(draw, homes.counts)
        points = Points.of(draw, group, n_groups).resting_on_rows(below)
        leaves = np.flatnonzero(draw.level == draw.level.max())
        within = below[leaves] / np.maximum(below[leaves].sum(axis=1, keepdims=True), 1.0)
        mass = node_shares(points, draw.parent, rng, times)
        together = (homes.counts[leaves] > 0).sum(axis=1) > 1
        out[k, ..., :-1] = mass[..., leaves[~together]] @ within[~together]
        for leaf in leaves[together]:
            rows = np.flatnonzero(draw.leaf == leaf)
            cluster = homes.clusters(draw.leaf[rows], labels[rows])
            parts = _parts_of_leaf(cluster, group[rows], (n_groups, n_clusters), rng, times)
            out[k, ..., :-1] += mass[..., leaf, None] * parts
    out[..., -1] = np.maximum(1.0 - out[..., :-1].sum(axis=-1), 0.0)
    return out.reshape(-1, n_groups, n_clusters + 1)


def _parts_of_leaf(
    cluster: IntArray, group: IntArray, shape: tuple[int, int], rng: np.random.Generator, times: int
) -> FloatArray:
    """Draw the shares of clusters in each group within a leaf, (times, groups, clusters).

    ``cluster`` and ``group`` are those of its data.
    """
    n = np.zeros(shape)
    here = group < shape[0]
    np.add.at(n, (group[here], cluster[here]), 1.0)
    out, known = np.zeros((times, *shape)), np.unique(cluster)
    drawn = rng.standard_gamma(np.broadcast_to(n[:, known] + HALF, (times, shape[0], known.size)))
    out[..., known] = drawn / drawn.sum(axis=2, keepdims=True)
    return out


def _below(draw: Draw, counts: FloatArray) -> FloatArray:
    """Return how many data of each cluster are at or below each node, given those of leaves.

    Rows of a stream that have left memory have no labels. A node that has no others is taken as the
    one above it, unless that is the root: then it is none of the clusters.
    """
    below = counts.copy()
    for k in range(draw.parent.size - 1, 0, -1):
        below[draw.parent[k]] += below[k]
    for k in np.flatnonzero(below.sum(axis=1) == 0).tolist():  # parents come before children
        if draw.parent[k] != 0:
            below[k] = below[draw.parent[k]]
    return below


@dataclass(frozen=True)
class Points:
    """The points of a draw's tree, nodes and only children on edges, with their sticks and rows.

    A stick is an entry: its node, and the point that it is broken off from. ``seated`` are rows of
    each group at a node.
    """

    node: list[int]  # of each entry
    starts: list[bool]  # whether the point of an entry is the parent of its node
    point: list[int]  # of each entry
    beta: FloatArray  # the stick of each entry
    left: FloatArray  # what is left at each point
    seated: FloatArray  # (nodes, groups)
    above: npt.NDArray[np.int64]  # the node, at or below each point, that has its rows
    gamma: FloatArray  # of each point

    @classmethod
    def of(cls, draw: Draw, group: IntArray, n_groups: int) -> Points:
        """Find the points of a draw; groups beyond ``n_groups`` are left out."""
        parent, level = draw.parent.astype(np.int64), draw.level.astype(np.int64)
        if "sums_seated" in draw.parameters:  # of leaves in the order of their numbers
            of_leaves = draw.parameters["sums_seated"]
            seated = np.zeros((parent.size, of_leaves.shape[1]))
            seated[level == level.max()] = of_leaves
        else:
            seated = np.zeros((parent.size, int(group.max()) + 1))
            np.add.at(seated, (draw.leaf, group), 1.0)
        for k in range(parent.size - 1, 0, -1):
            seated[parent[k]] += seated[k]
        node: list[int] = []
        levels: list[int] = []
        point: list[int] = []
        known: dict[tuple[int, int], int] = {}  # by the node at or below, and the level
        for k in range(1, parent.size):
            for at in range(int(level[parent[k]]), int(level[k])):
                key = (int(parent[k]), at) if at == level[parent[k]] else (k, at)
                node.append(k)
                levels.append(at)
                point.append(known.setdefault(key, len(known)))
        where = np.array(list(known), dtype=np.int64)
        return cls(
            node,
            [at == level[parent[k]] for k, at in zip(node, levels, strict=True)],
            point,
            draw.parameters["stick"][node, levels],
            draw.parameters["rest"][where[:, 0], where[:, 1]],
            seated[:, :n_groups],
            where[:, 0],
            np.full(len(where), float(draw.parameters["group_concentration"])),
        )

    def parts(self, below: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the point of each part, and the part of each entry.

        ``below[k]`` are data of each cluster below a node. Of the sticks of a point, those whose
        data are of one cluster, but for a tenth, are one part together.
        """
        n_below = below.sum(axis=1)
        alone = (below.max(axis=1) >= ALONE * n_below) & (n_below > 0)
        part = np.where(alone, below.argmax(axis=1), below.shape[1] + np.arange(len(below)))
        pairs = np.stack([self.point, part[self.node]])
        found, of_entry = np.unique(pairs, axis=1, return_inverse=True)
        return found[0].astype(np.int32), of_entry.ravel().astype(np.int32)

    def resting_on_rows(self, below: FloatArray) -> Points:
        """Return the points with half a row for each part in the place of γ, where clusters part.

        See `parts`.
        """
        n_parts = np.bincount(self.parts(below)[0], minlength=self.left.size)
        return replace(self, gamma=np.where(n_parts > 1, HALF * n_parts, self.gamma))


def leaf_shares(draw: Draw, group: IntArray, n_groups: int, rng: np.random.Generator) -> FloatArray:
    """Draw the mass of every node in each group as the model has it; see `node_shares`."""
    (mass,) = node_shares(Points.of(draw, group, n_groups), draw.parent, rng)
    return np.asarray(mass)


def node_shares(
    points: Points, parent: IntArray, rng: np.random.Generator, times: int = 1
) -> FloatArray:
    """Draw the mass of every node in each group given the rows and shared sticks of a draw.

    Of shape (times, groups, nodes). At a point of the tree, sticks of a group are
    Dirichlet(n_1 + γβ_1, …, n_K + γβ_K, γβ_new). Edges may skip levels: every level has a point.
    """
    n_groups, n_points = points.seated.shape[1], points.left.size
    shape = points.seated[points.node].T + points.gamma[points.point] * points.beta
    left = np.broadcast_to(points.gamma * points.left, (n_groups, n_points))
    logs = _log_gammas(np.tile(np.concatenate([shape, left], axis=1), (times, 1)), rng)
    everyone = np.concatenate([points.point, np.arange(n_points)])
    order = np.argsort(everyone, kind="stable")
    starts = np.searchsorted(everyone[order], np.arange(n_points))
    total = np.logaddexp.reduceat(logs[:, order], starts, axis=1)
    share = np.exp(logs[:, : len(points.node)] - total[:, points.point]).T
    mass = np.ones((parent.size, times * n_groups))
    for entry, k in enumerate(points.node):  # parents come before their children
        if points.starts[entry]:
            mass[k] = mass[parent[k]]
        mass[k] *= share[entry]
    return np.asarray(mass.T.reshape(times, n_groups, -1))


def group_partitions(
    draws: Sequence[Draw],
    group: IntArray,
    n_groups: int,
    labels: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Draw partitions of the groups, those together having the same shares, (draws, groups).

    The prior is a Chinese restaurant with a small concentration, `APART`: where rows tell little,
    groups are alike. A group joins s with weight n_s Π (γβ_k + n_sk)_{n_jk}/(γ + n_s)_{n_j}, over
    all points where clusters part and their parts, with half a row for each in the place of γ.
    """
    out = np.zeros((len(draws), n_groups), dtype=np.int32)
    for row, draw in enumerate(draws):
        points = Points.of(draw, group, n_groups)
        homes = Homes.of(draw, labels, int(labels.max()) + 1)
        point, of_entry = points.parts(_below(draw, homes.counts))
        n_parts = np.bincount(point, minlength=points.left.size)
        if (n_parts < 2).all():
            continue
        n = np.zeros((point.size, n_groups))
        np.add.at(n, of_entry, points.seated[points.node])
        kept = n_parts[point] > 1
        weight: FloatArray = HALF * n_parts.astype(np.float64)
        base: FloatArray = weight[point] * np.bincount(of_entry, points.beta)
        whole = points.seated[points.above][n_parts > 1]
        out[row] = _partition(n[kept].T, base[kept], whole.T, weight[n_parts > 1], rng)
    return out


def _partition(
    n: FloatArray, base: FloatArray, whole: FloatArray, gamma: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Draw a partition of groups with ``n`` rows in parts and ``whole`` rows at points."""
    n_groups = len(n)
    part = np.arange(n_groups, dtype=np.int32)
    for _ in range(SWEEPS):
        for j in range(n_groups):
            part[j] = NULL
            others, sizes = np.unique(part[part != NULL], return_counts=True)
            sums = np.array([n[part == s].sum(axis=0) for s in others] + [0.0 * base])
            totals = np.array([whole[part == s].sum(axis=0) for s in others] + [0.0 * gamma])
            logs = np.log(np.append(sizes, APART))
            logs += _log_rise(base + sums, n[j]).sum(axis=1)
            logs -= _log_rise(gamma + totals, whole[j]).sum(axis=1)
            chosen = int(np.argmax(logs + rng.gumbel(size=logs.size)))
            new = next(s for s in range(n_groups) if s not in part)
            part[j] = others[chosen] if chosen < others.size else new
    return part


def _log_rise(x: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray(gammaln(x + n) - gammaln(x))


def _log_gammas(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw logs of Gamma numbers, which themselves may be too small to write."""
    shape = np.maximum(shape, 1e-290)
    boost = np.log1p(-rng.random(shape.shape)) / shape
    return np.asarray(np.log(rng.standard_gamma(shape + 1.0)) + boost)
