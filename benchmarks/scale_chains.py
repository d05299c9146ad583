"""Chains of the parallel sampler that start with the leaves they are asked for."""

from __future__ import annotations

import numpy as np

from benchmarks.scale_data import Clusters
from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.leaf import Density
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.rows import Rows, ThreadedRows
from sticktree.engine.bulk.shared_chain import SharedParallelChain
from sticktree.engine.chain import Effort
from sticktree.engine.shared.chain import Chain, rebuild
from sticktree.model import Model
from sticktree.tree import Tree

DEPTH = 3
ROWS_OF_LEAF = 20  # by which the first tree is made
SETTLING = 10  # moves of the scales before the first sweep


def scale_model() -> Model:
    return Model(np.ones(DEPTH), covariance_type="spherical", precision_prior=(1.0, 0.01))


class PlantedChain(SharedParallelChain):
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
        self.told: Components | None = None

    def _told(self, log_weight: FloatArray, density: Density) -> Components:
        self.told = super()._told(log_weight, density)
        return self.told

    def components(self) -> Components:
        """Return what rows are told in a pass over all of them."""
        self._assign()
        assert self.told is not None
        return self.told


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
    chain = PlantedChain(ThreadedRows(partition(made.data, 0), n_threads), made)
    for _ in range(n_sweeps):
        chain.sweep(tune=True)
    return chain
