"""Shares of branches in groups, draw by draw.

In a draw, group j has its own sticks θ_j around the shared ones, which are Dirichlet given its
rows. The share of a set S of rows is θ_j(S) = Σ_f θ_j(f)·|f ∩ S|/|f| over the leaves f of the draw,
so that nodes need not match between draws. Shares add up over every cut, and to 1 together with
what is not seen yet: branches that none of the rows is on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw
from sticktree.model import Line
from sticktree.tree import NULL

SWEEPS = 3  # over the groups, of which the last is kept
APART = 0.1  # concentration of groups: two are alike with odds ten to one, before rows are seen


def group_shares(
    draws: Sequence[Draw],
    group: IntArray,
    n_groups: int,
    labels: IntArray,
    rng: np.random.Generator,
    line: Line | None = None,
) -> FloatArray:
    """Draw the shares of clusters in groups, shape (draws, groups, clusters + 1).

    The last is what is not seen yet. ``labels`` are the clusters of the data; groups beyond
    ``n_groups`` are left out. With parents, ``line``, those that have no rows follow.
    """
    n_clusters = int(labels.max()) + 1
    n_parents = 0 if line is None else int((line.members > group.max()).sum())
    out = np.empty((len(draws), n_groups + n_parents, n_clusters + 1))
    for k, draw in enumerate(draws):
        mass = leaf_shares(draw, group, n_groups, rng, line)
        within = np.zeros((draw.parent.size, n_clusters))
        np.add.at(within, (draw.leaf, labels), 1.0)
        size = within.sum(axis=1)
        leaves = size > 0
        within[leaves] /= size[leaves, None]
        out[k, :, :-1] = mass[:, leaves] @ within[leaves]
        out[k, :, -1] = np.maximum(1.0 - out[k, :, :-1].sum(axis=1), 0.0)
    return out


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
    gamma: float
    theta: FloatArray  # (entries, parents) logs of their sticks
    theta_left: FloatArray  # (points, parents) logs of what is left of them
    kappa: float

    @classmethod
    def of(cls, draw: Draw, group: IntArray, n_groups: int) -> Points:
        """Find the points of a draw; groups beyond ``n_groups`` are left out."""
        parent, level = draw.parent.astype(np.int64), draw.level.astype(np.int64)
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
        related = "theta" in draw.parameters
        return cls(
            node,
            [at == level[parent[k]] for k, at in zip(node, levels, strict=True)],
            point,
            draw.parameters["stick"][node, levels],
            draw.parameters["rest"][where[:, 0], where[:, 1]],
            seated[:, :n_groups],
            where[:, 0],
            float(draw.parameters["group_concentration"]),
            draw.parameters["theta"][node, levels] if related else np.empty((len(node), 0)),
            (
                draw.parameters["theta_rest"][where[:, 0], where[:, 1]]
                if related
                else np.empty((len(where), 0))
            ),
            float(draw.parameters["kinship"]) if related else 0.0,
        )

    def base(self, j: int, line: Line | None) -> FloatArray:
        """Return γ times the base of a group at every stick and, last, at what is left."""
        shared = np.concatenate([self.beta, self.left])
        if line is None or line.above[j] == NULL:
            return self.gamma * shared
        own = np.exp(self.of_parent(int(line.above[j])))
        return np.asarray(self.gamma * (self.kappa * own + (1.0 - self.kappa) * shared))

    def of_parent(self, p: int) -> FloatArray:
        """Return the logs of all sticks of a parent and, last, of what is left."""
        return np.concatenate([self.theta[:, p], self.theta_left[:, p]])


def leaf_shares(
    draw: Draw,
    group: IntArray,
    n_groups: int,
    rng: np.random.Generator,
    line: Line | None = None,
) -> FloatArray:
    """Draw the mass of every node in each group given the rows and the sticks of a draw.

    Of shape (groups, nodes). At a point of the tree, sticks of a group are
    Dirichlet(n_1 + γβ_1, …, n_K + γβ_K, γβ_new), with its base in the place of β if it has a
    parent. A draw has those of groups that are parents; such that have no rows follow the others.
    Edges may skip levels: every level has a point.
    """
    points, parent = Points.of(draw, group, n_groups), draw.parent
    n_points = points.left.size
    shape = np.array([points.base(j, line) for j in range(n_groups)])
    shape[:, : len(points.node)] += points.seated[points.node].T
    logs = _log_gammas(shape, rng)
    if line is not None:
        for p, member in enumerate(line.members.tolist()):
            if member < n_groups:
                logs[member] = points.of_parent(p)
        others = [p for p, member in enumerate(line.members) if member > group.max()]
        others.sort(key=lambda p: int(line.members[p]))
        logs = np.vstack([logs, *(points.of_parent(p) for p in others)])
    everyone = np.concatenate([points.point, np.arange(n_points)])
    order = np.argsort(everyone, kind="stable")
    starts = np.searchsorted(everyone[order], np.arange(n_points))
    total = np.logaddexp.reduceat(logs[:, order], starts, axis=1)
    share = np.exp(logs[:, : len(points.node)] - total[:, points.point])
    mass = np.ones((len(logs), parent.size))
    for entry, k in enumerate(points.node):  # parents come before their children
        if points.starts[entry]:
            mass[:, k] = mass[:, parent[k]]
        mass[:, k] *= share[:, entry]
    return mass


def group_partitions(
    draws: Sequence[Draw], group: IntArray, n_groups: int, rng: np.random.Generator
) -> IntArray:
    """Draw partitions of the groups, each part with the same sticks, shape (draws, groups).

    The prior is a Chinese restaurant with a small concentration, `APART`: where rows tell little,
    groups are alike. A group joins s with weight n_s Π (γβ_k + n_sk)_{n_jk}/(γ + n_s)_{n_j}, over
    all points, given γ and β of the draw; parents are left aside.
    """
    out = np.empty((len(draws), n_groups), dtype=np.int32)
    for k, draw in enumerate(draws):
        points = Points.of(draw, group, n_groups)
        n = points.seated[points.node].T  # (groups, entries)
        whole = points.seated[points.above].T  # (groups, points)
        base = points.gamma * points.beta
        part = np.arange(n_groups)
        for _ in range(SWEEPS):
            for j in range(n_groups):
                part[j] = NULL
                others, sizes = np.unique(part[part != NULL], return_counts=True)
                sums = np.array([n[part == s].sum(axis=0) for s in others] + [0.0 * base])
                totals = np.array([whole[part == s].sum(axis=0) for s in others] + [0.0 * whole[0]])
                logs = np.log(np.append(sizes, APART))
                logs += _log_rise(base + sums, n[j]).sum(axis=1)
                logs -= _log_rise(points.gamma + totals, whole[j]).sum(axis=1)
                chosen = int(np.argmax(logs + rng.gumbel(size=logs.size)))
                new = next(s for s in range(n_groups) if s not in part)
                part[j] = others[chosen] if chosen < others.size else new
        out[k] = part
    return out


def _log_rise(x: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray(gammaln(x + n) - gammaln(x))


def _log_gammas(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw logs of Gamma numbers, which themselves may be too small to write."""
    shape = np.maximum(shape, 1e-290)
    boost = np.log1p(-rng.random(shape.shape)) / shape
    return np.asarray(np.log(rng.standard_gamma(shape + 1.0)) + boost)
