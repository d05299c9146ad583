"""Clusters of any number of rows."""

from __future__ import annotations

import numpy as np

from benchmarks.folder import standardised
from sticktree.checks import FloatArray


def crowd(n_rows: int, dimension: int, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return round clusters anywhere, some of them close together."""
    centres = rng.normal(0, 10, (n_clusters, dimension))
    return around(centres, n_rows, rng)


def grid(n_rows: int, side: int, rng: np.random.Generator) -> FloatArray:
    """Return ``side``² round clusters in the plane, far from each other."""
    places = 20.0 * np.arange(side)
    return around(np.array([(x, y) for x in places for y in places]), n_rows, rng)


def around(centres: FloatArray, n_rows: int, rng: np.random.Generator) -> FloatArray:
    data = centres[rng.integers(len(centres), size=n_rows)]
    return standardised(data + rng.normal(size=data.shape))
