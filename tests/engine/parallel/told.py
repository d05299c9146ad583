"""Leaves as they are told to rows."""

import numpy as np

from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.philox import mix
from sticktree.engine.bulk.sums import SUMS, Grid


def told_of(rng, n_leaves, dimension, form, n, kind=SUMS, impute=False, spread=0.1):
    """Return leaves somewhere, with anchors among the first rows."""
    grids = [Grid.of(n, 100.0), Grid.of(n, 1e4)]
    centre = rng.normal(size=(n_leaves, dimension))
    root = np.empty((0, dimension, dimension))
    transform = np.eye(dimension)
    precision = rng.uniform(0.5, 2.0, size=(n_leaves, dimension)) / spread**2
    if form == "shared":
        transform = np.tril(rng.normal(size=(dimension, dimension))) + 2.0 * np.eye(dimension)
        precision[:] = 1.0 / spread**2
        centre = centre @ transform.T
    elif form == "full":
        root = np.tril(rng.normal(size=(n_leaves, dimension, dimension))) / spread
        root[:, range(dimension), range(dimension)] = 1.0 / spread
    salt = 11
    before = np.concatenate([np.arange(n_leaves), rng.integers(n_leaves, size=n - n_leaves)])
    ranks = np.array([mix(np.uint64(row), np.uint64(salt)) for row in range(n)])
    anchor = np.array(
        [min(np.flatnonzero(before == k), key=ranks.__getitem__) for k in range(n_leaves)]
    )
    anchor = anchor.astype(np.uint64)
    return Components(
        log_weight=np.log(rng.dirichlet(np.full(n_leaves, 0.5)) + 1e-6),
        centre=centre,
        precision=precision,
        transform=transform,
        root=root,
        limit=np.array([mix(row, np.uint64(salt)) for row in anchor], dtype=np.uint64),
        anchor=anchor,
        words=np.array([5, 3, salt, 12, 13, 2**62], dtype=np.uint64),
        kind=kind,
        impute=impute,
        grid=np.array([step for grid in grids for step in (grid.coarse, grid.fine)]),
    ), grids
