"""Round clusters of any number of rows, whose true density is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from sticktree.checks import FloatArray

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
