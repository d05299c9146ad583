"""Clusters of very many rows, and chains that start with the leaves they are asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.laws import Density
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.chain import Effort
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.predictive import rebuild
from sticktree.model import Model
from sticktree.tree import Tree

PIECE = 500_000  # rows made at a time, so that ten millions take no more memory than they are
STEP = 4.0  # between neighbouring clusters, whose noise is 1


class Clusters(NamedTuple):
    """Standardised rows, others that are held out, and the model that made both."""

    data: FloatArray
    test: FloatArray
    centres: FloatArray
    noise: FloatArray  # (D,) standard deviation in each column
    weights: FloatArray

    def log_density(self) -> float:
        """Return the mean log density of the rows held out."""
        x, centres = self.test / self.noise, self.centres / self.noise
        squares = ((x[:, None, :] - centres) ** 2).sum(axis=2)
        logs = logsumexp(np.log(self.weights) - 0.5 * squares, axis=1)
        return float(logs.mean() - np.log(np.sqrt(2.0 * np.pi) * self.noise).sum())


def clusters(
    n_rows: int,
    dimension: int,
    n_clusters: int,
    *,
    equal: bool = True,
    n_test: int = 0,
    step: float = STEP,
    seed: int = 0,
) -> Clusters:
    """Make clusters on a crooked grid in the plane, or anywhere in more columns.

    Neighbours overlap: about a twentieth of the rows are nearer to another centre.
    """
    rng = np.random.default_rng(seed)
    centres = _centres(n_clusters, dimension, step, rng)
    weights = np.full(n_clusters, 1.0 / n_clusters)
    if not equal:
        weights = rng.dirichlet(np.ones(n_clusters))
    rows = np.empty((n_rows + n_test, dimension))
    for start in range(0, len(rows), PIECE):
        piece = rows[start : start + PIECE]
        piece[:] = rng.standard_normal(piece.shape)
        piece += centres[rng.choice(n_clusters, len(piece), p=weights)]
    mean, spread = rows[:n_rows].mean(axis=0), rows[:n_rows].std(axis=0)
    rows -= mean
    rows /= spread
    return Clusters(rows[:n_rows], rows[n_rows:], (centres - mean) / spread, 1.0 / spread, weights)


def _centres(n: int, dimension: int, step: float, rng: np.random.Generator) -> FloatArray:
    if dimension != 2:
        return np.asarray(rng.normal(0.0, step / 4.0, (n, dimension)))
    side = int(np.ceil(np.sqrt(n)))
    grid = np.stack(np.divmod(rng.permutation(side * side)[:n], side), axis=1)
    return np.asarray(step * grid + rng.normal(0.0, step / 6.0, (n, 2)))


DEPTH = 3
ROWS_OF_LEAF = 20  # by which the first tree is made
SETTLING = 10  # moves of the scales before the first sweep


def scale_model() -> Model:
    return Model(np.ones(DEPTH), covariance_type="spherical", precision_prior=(1.0, 0.01))


class PlantedChain(SharedBulkChain):
    """A chain that starts with one leaf for each true cluster, so that sweeps can be compared."""

    def __init__(self, rows: Rows, made: Clusters, seed: int = 0) -> None:
        self.model, self.rng = scale_model(), np.random.default_rng(seed)
        self._begin(rows)
        wanted = min(ROWS_OF_LEAF * len(made.centres), rows.extent.n // 2)
        some = rows.sample(self._word(), int(2**64 * (wanted / rows.extent.n)))
        first = Chain(some.y, self.model, self.rng)
        scales = first.state.levels["scale"].copy()
        rebuild(first.state, _tree_of(some.y, made), first.concentration, 0.0, scales)
        for _ in range(SETTLING):
            first.move_scales()
        self._read_rows()
        self._take_over(first, some.number)
        self.effort = Effort(self.leaves.size)
        self.last: Components | None = None

    def _components(self, log_weight: FloatArray, density: Density) -> Components:
        self.last = super()._components(log_weight, density)
        return self.last

    def components(self) -> Components:
        """Return the leaves as rows see them in a pass over all of them."""
        self._assign()
        assert self.last is not None
        return self.last


def _tree_of(y: FloatArray, made: Clusters) -> Tree:
    """Return a tree whose leaves are the clusters nearest to rows, and its nodes their regions."""
    label = np.array([((row - made.centres) ** 2).sum(axis=1).argmin() for row in y])
    present, leaf = np.unique(label, return_inverse=True)
    # Regions: boxes with about as many clusters as there are regions.
    side = max(round(len(present) ** 0.25), 1)
    cell = np.zeros(len(present), dtype=np.int64)
    for d in range(2):
        rank = np.argsort(np.argsort(made.centres[present, d]))
        cell = cell * side + rank * side // len(present)
    regions, above = np.unique(cell, return_inverse=True)
    n_regions = len(regions)
    parent = np.concatenate([[-1], np.zeros(n_regions), 1 + above])
    level = np.repeat([0, DEPTH - 1, DEPTH], [1, n_regions, len(present)])
    return Tree(parent.astype(np.int64), 1 + n_regions + leaf, level=level)


def planted(made: Clusters, n_threads: int, n_sweeps: int = 10) -> PlantedChain:
    """Return a chain with as many leaves as there are clusters, about."""
    chain = PlantedChain(Rows(ThreadPlacement(partition(made.data, 0), n_threads)), made)
    for _ in range(n_sweeps):
        chain.sweep(tune=True)
    return chain
