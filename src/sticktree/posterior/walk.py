"""The posterior walk: step to a random row of your own cluster in a random draw.

With partitions z_s, of share w_s each, and n_s(c) rows in cluster c, a step goes from row i to j
with probability

    P_ij = Σ_s w_s 1[z_s(i) = z_s(j)] / n_s(z_s(i)) = (B Bᵀ)_ij,
    B_{i,(s,c)} = 1[z_s(i) = c] √(w_s / n_s(c)).

P is doubly stochastic with eigenvalues in [0, 1]. Rows are near if chains of co-clustering connect
them: a bent cluster that draws cover by twenty leaves is one, and two leaves that never exchange a
row are two. With P = V Λ Vᵀ the coordinates of row i after t steps are V_i Λ^t, scaled to length 1:
cosines are those of the rows of P^t, and groups far apart differ by √2, whatever their size.

Rows that are together in all partitions are one row of larger weight, which changes nothing but the
cost. Many others are gathered into small groups, by where they are after a few steps. No matrix of
all pairs of many rows is made, nor one of all rows and eigenvectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sticktree.blas import one_thread
from sticktree.checks import FloatArray, IntArray
from sticktree.engine.draw import Draw
from sticktree.posterior.clusterings import labelled, labels_at, spread
from sticktree.posterior.parting import parted_joins
from sticktree.posterior.spectrum import Profiles, spectrum
from sticktree.posterior.ward import WardTree, joined, micro_centres, nearest_centre

STEPS = 32
"""Steps of the longest walk that the cluster tree is made by."""
SHORTEST = 4  # and of the shortest
MOST_DRAWS = 60  # more change next to nothing
FEWEST_DRAWS = 30  # of many rows
FEWEST_OF_MODEL = 15  # of a model beside others
MOST_LABELS = 200_000
N_NODES = 4.0  # times √N: nodes of a level, above which it says more of leaves than of clusters
EXACT = 600  # profiles up to which each is a group
N_GROUPS = 300  # groups of more
GROUP_STEPS = 8  # of the walk, that they are gathered by
N_SEEN = 6_000  # profiles that their centres are fitted to
AT_ONCE = 20_000  # profiles whose coordinates are held at a time
FAINT = 1e-6  # entries of coordinates that are left out
N_ROWS = 500  # whose pairs are compared between trees
EPS = 1e-9
FLAT = 0.05  # standard deviation of heights, of 1 at most, below which a tree has no clusters


@dataclass(frozen=True, eq=False)
class Part:
    """Draws of one model, and how often the walk steps in them.

    Attributes
    ----------
    draws : sequence of Draw
        The draws, of which those that have kept labels count.
    shares : dict of float
        The levels of their trees that are stepped in, and how often in each.
    weight : float
        How often they are stepped in, relative to draws of other models.
    """

    draws: Sequence[Draw]
    shares: dict[int, float]
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows that are near each other.

    Attributes
    ----------
    of_row : int array, shape (N,)
        The group of each row.
    size : int array
        How many rows each has.
    vectors : float array, shape (groups, eigenvalues)
        The mean of their entries in the eigenvectors.
    """

    of_row: IntArray
    size: npt.NDArray[np.int64]
    vectors: FloatArray


@dataclass(frozen=True, eq=False)
class Walk:
    """The walk over rows that partitions define.

    Attributes
    ----------
    profiles : Profiles
        The rows; those that are together in all partitions are one.
    eigenvalues : float array
        The largest first; all of them, unless profiles and clusters are many.
    loadings : float array, shape (clusters, eigenvalues)
        What each cluster of each partition adds to the entries of its rows in the eigenvectors.
    """

    profiles: Profiles
    eigenvalues: FloatArray
    loadings: FloatArray
    _trees: dict[float, WardTree] = field(default_factory=dict, repr=False)
    _cluster_trees: dict[tuple[float, int | None], WardTree] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def of(
        cls,
        draws: Sequence[Draw],
        depth: int,
        most: int | None = None,
        shares: dict[int, float] | None = None,
    ) -> Walk:
        """Return the walk of draws.

        Parameters
        ----------
        draws : sequence of Draw
            Draws, of which those that have kept labels count.
        depth : int
            Levels of their trees below the root.
        most : int, optional
            Draws that are used, spread evenly; by default 60, of many rows 30.
        shares : dict of float, optional
            The levels that are stepped in, and how often; by default :func:`level_shares`.
        """
        used = used_draws(draws, most)
        shares = level_shares(used, depth) if shares is None else shares
        return cls.of_parts([Part(used, shares)], len(used))

    @classmethod
    def of_parts(cls, parts: Sequence[Part], most: int | None = None) -> Walk:
        """Return the walk over draws of several models: each step is in one of them.

        Parameters
        ----------
        parts : sequence of Part
            Draws of each model, of the same rows.
        most : int, optional
            As in :meth:`of`, shared out by weight; each model has at least 15, if there are.
        """
        labels, weights = [], []
        total = sum(part.weight for part in parts)
        for part in parts:
            weight = part.weight / total
            used = used_draws(part.draws, most)
            used = spread(used, max(round(weight * len(used)), FEWEST_OF_MODEL))
            for level, share in part.shares.items():
                labels.append(labels_at(used, level))
                weights.append(np.full(len(used), weight * share / len(used)))
        return cls.of_labels(np.concatenate(labels), np.concatenate(weights))

    @classmethod
    def of_labels(cls, labels: npt.ArrayLike, shares: npt.ArrayLike | None = None) -> Walk:
        """Return the walk of partitions.

        Parameters
        ----------
        labels : array of int, shape (S, N)
            A partition a row; clusters have any numbers from 0.
        shares : array of float, shape (S,), optional
            How often each partition is stepped in; by default equally often.

        Examples
        --------
        >>> from sticktree.posterior.walk import Walk
        >>> walk = Walk.of_labels([[0, 0, 1, 1], [0, 0, 0, 1]])
        >>> walk.eigenvalues.round(3)
        array([1.   , 0.789, 0.211])
        """
        partitions = np.atleast_2d(np.asarray(labels))
        share = np.full(len(partitions), 1.0) if shares is None else np.asarray(shares, dtype=float)
        profiles = Profiles.of(partitions, share / share.sum())
        with one_thread():
            return cls(profiles, *spectrum(profiles))

    @property
    def n_data(self) -> int:
        """Number of rows."""
        return self.profiles.of_row.size

    # ---- where rows are --------------------------------------------------------------------------

    def coordinates(self, t: float = STEPS) -> FloatArray:
        """Return the coordinates of rows after ``t`` steps, of length 1; up to a rotation."""
        with one_thread():
            parts = [coordinates for _, _, coordinates in self._each(t)]
        return np.concatenate(parts)[self.profiles.of_row]

    def _each(self, t: float) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield profiles, some at a time: their entries in eigenvectors, and coordinates."""
        for start in range(0, self.profiles.size.size, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            vectors = self.profiles.sums_over(self.loadings, part)
            yield part, vectors, self._after(vectors, t)

    def _after(self, vectors: FloatArray, t: float) -> FloatArray:
        """Return coordinates after ``t`` steps, given entries in the eigenvectors."""
        scaled = self.eigenvalues**t
        kept = scaled > FAINT
        u = vectors[:, kept] * scaled[kept]
        # A row whose every eigenvector is faint, or left out, is nowhere.
        length = np.sqrt(np.einsum("ij,ij->i", u, u))
        return np.asarray(u / np.where(length > 0, length, 1.0)[:, None])

    @cached_property
    def groups(self) -> Groups:
        """Groups of rows, of which the cluster tree is made: at most 600."""
        return self.gathered(N_GROUPS)

    def gathered(self, most: int) -> Groups:
        """Return the profiles themselves, or if they are many, about ``most`` groups of them."""
        profiles = self.profiles
        with one_thread():
            if profiles.size.size <= max(EXACT, most):
                vectors = profiles.sums_over(self.loadings)
                return Groups(profiles.of_row, profiles.size, vectors)
            return self._gathered(most)

    def _gathered(self, most: int) -> Groups:
        profiles = self.profiles
        heaviest = np.sort(np.argsort(-profiles.size, kind="stable")[: max(N_SEEN, 4 * most)])
        seen = np.concatenate(
            [
                self._after(
                    profiles.sums_over(self.loadings, heaviest[k : k + AT_ONCE]), GROUP_STEPS
                )
                for k in range(0, heaviest.size, AT_ONCE)
            ]
        )
        centres = micro_centres(seen, profiles.size[heaviest], most)
        nearest = np.empty(profiles.size.size, dtype=np.int64)
        sums = np.zeros((len(centres), self.eigenvalues.size))
        for part, vectors, coordinates in self._each(GROUP_STEPS):
            nearest[part] = nearest_centre(coordinates, centres)
            np.add.at(sums, nearest[part], vectors * profiles.size[part, None])
        count = np.bincount(nearest, profiles.size, len(centres)).astype(np.int64)
        there = count > 0
        number = (np.cumsum(there) - 1).astype(np.int32)
        vectors = sums[there] / count[there, None]
        return Groups(number[nearest][profiles.of_row], count[there], vectors)

    # ---- trees ---------------------------------------------------------------------------------

    def tree(self, t: float = STEPS) -> WardTree:
        """Return Ward's tree of the coordinates after ``t`` steps."""
        if t not in self._trees:
            groups, points = self.groups, self._after(self.groups.vectors, t)
            joins = joined(points, groups.size)
            self._trees[t] = WardTree(groups.of_row, joins, points, groups.size)
        return self._trees[t]

    def cluster_tree(self, t: float = STEPS, n_groups: int | None = None) -> WardTree:
        """Return the cluster tree, whose cuts are clusters: see `sticktree.posterior.parting`.

        Parameters
        ----------
        t : float, default=32
            Steps of the longest walk that parts rows; the shortest has 4.
        n_groups : int, optional
            Make it of about so many groups of rows; by default of at most 600.
        """
        key = t, n_groups
        if key not in self._cluster_trees:
            groups = self.groups if n_groups is None else self.gathered(n_groups)
            times = [t * 0.5 ** (k / 2) for k in range(1 + int(2 * math.log2(t / SHORTEST) + EPS))]
            points = [self._after(groups.vectors, time) for time in times]
            joins = parted_joins(points, groups.size)
            tree = WardTree(groups.of_row, joins, points[0], groups.size)
            self._cluster_trees[key] = tree
        return self._cluster_trees[key]

    # ---- a step ----------------------------------------------------------------------------------

    def memberships(self, labels: IntArray) -> FloatArray:
        """Return the probability to be in each cluster after one step from each row, P H.

        Parameters
        ----------
        labels : int array, shape (N,)
            The cluster of each row, from 0.

        Returns
        -------
        float array, shape (N, clusters)
            Rows sum to 1.
        """
        return np.asarray(self._shares(labels)[self.profiles.of_row])

    def confidence(self, labels: IntArray) -> FloatArray:
        """Return the probability to be in its own cluster after one step from each row."""
        return np.asarray(self._shares(labels)[self.profiles.of_row, labels])

    def _shares(self, labels: IntArray) -> FloatArray:
        """Return the memberships of profiles."""
        profiles, n_clusters = self.profiles, int(labels.max(initial=0)) + 1
        counts = np.zeros(profiles.rows_in.size * n_clusters)
        for column in profiles.column.T:
            place = column[profiles.of_row].astype(np.int64) * n_clusters + labels
            counts += np.bincount(place, minlength=counts.size)
        shares = counts.reshape(-1, n_clusters) * profiles.weight[:, None]
        return np.clip(profiles.sums_over(shares), 0.0, 1.0)


def agreement(first: Walk, second: Walk, t: int = STEPS) -> float:
    """Return how well two walks over the same rows agree on the cluster tree, 1 if fully.

    It is the cophenetic correlation of their trees over the pairs of at most 500 rows, which are
    spread evenly, but for trees without clusters: these agree with each other.

    Examples
    --------
    >>> from sticktree.posterior.walk import Walk, agreement
    >>> first = Walk.of_labels([[0, 0, 1, 1], [0, 0, 1, 1]])
    >>> second = Walk.of_labels([[1, 1, 0, 0], [0, 0, 1, 2]])
    >>> round(agreement(first, second), 2)
    1.0
    """
    rows = np.array(spread(range(first.n_data), N_ROWS), dtype=np.int64)
    pairs = np.tril_indices(rows.size, -1)
    if not pairs[0].size:
        return 1.0
    # Two halves of the rows at right angles meet at height √N.
    a, b = (walk.tree(t).heights(rows)[pairs] / math.sqrt(walk.n_data) for walk in (first, second))
    # As if both had a common part of small variance: where there is nothing else, they agree.
    ((aa, ab), (_, bb)) = np.cov(a, b, bias=True) + FLAT**2
    return float(ab / math.sqrt(aa * bb))


def used_draws(draws: Sequence[Draw], most: int | None = None) -> list[Draw]:
    """Return the draws that a walk steps in, spread evenly: 60, of many rows 30."""
    known = labelled(draws)
    if most is None:
        affordable = MOST_LABELS // max(known[0].n_data, 1)
        most = min(max(affordable, FEWEST_DRAWS), MOST_DRAWS)
    return spread(known, most)


def level_shares(draws: Sequence[Draw], depth: int) -> dict[int, float]:
    """Return the levels that the walk steps in, and how often in each.

    That is the deepest level with at most 4 √N nodes on average. As the one below goes from there
    to twice as many nodes, its share goes from 1 to 0, so that nothing jumps when chains grow some
    leaves more.
    """
    limit = N_NODES * math.sqrt(draws[0].n_data)
    nodes = np.mean([draw.nodes_per_level(depth) for draw in draws], axis=0)
    level = int((nodes <= limit).sum())
    if level == depth:
        return {depth: 1.0}
    if level == 0:
        return {1: 1.0}
    below = 1.0 - math.log2(nodes[level] / limit)
    return {level: 1.0} if below <= 0 else {level: 1.0 - below, level + 1: below}
