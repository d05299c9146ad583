"""What rows are told in tests: leaves here and there, without a chain that would find them."""

import numpy as np
import pytest

from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.halves import Units
from sticktree.engine.bulk.sums import SUMS, Grid

SEED = 1


def clouds(n, dimension, gaps=0.0, seed=0):
    """Return rows around a few centres, in units of their own, some entries missing."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0.0, 5.0, (6, dimension))
    x = centres[rng.integers(6, size=n)] + rng.normal(size=(n, dimension))
    x *= 10.0 ** np.arange(dimension)
    x[rng.random(x.shape) < gaps] = np.nan
    return x


def told(extent, n_leaves=9, sweep=1, impute=None):
    """Return leaves with weights; none has an anchor among the rows."""
    rng = np.random.default_rng(sweep)
    dimension = extent.dimension
    steps = Grid.of(extent.n, 64.0 * extent.largest), Grid.of(extent.n, (64 * extent.largest) ** 2)
    return Components(
        log_weight=rng.normal(size=n_leaves),
        centre=rng.normal(size=(n_leaves, dimension)),
        precision=rng.gamma(5.0, 1.0, (n_leaves, dimension)),
        transform=np.eye(dimension),
        root=np.empty((n_leaves, 0, 0))[:0],
        limit=np.zeros(n_leaves, dtype=np.uint64),
        anchor=np.full(n_leaves, 2**63, dtype=np.uint64),
        words=np.array(
            [7, sweep, 3, 4, 5, int(2**64 * min(500 / extent.n, 0.99))], dtype=np.uint64
        ),
        kind=SUMS,
        impute=extent.gaps if impute is None else impute,
        grid=np.array([step for grid in steps for step in (grid.coarse, grid.fine)]),
    )


def units(extent, pins, n_leaves=9):
    """Return two units: a leaf that may split, and two that may merge."""
    of_leaf = np.full(n_leaves, -1, dtype=np.int64)
    of_leaf[0], of_leaf[1:3] = 0, 1
    return Units(of_leaf, np.array(pins, dtype=np.uint64).reshape(2, 2), told(extent, 6, sweep=2))


def same(first, second):
    """Say whether two nested tuples of arrays are equal to the last bit."""
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return np.array_equal(first, second, equal_nan=np.asarray(first).dtype.kind == "f")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Make scratch folders below the folder of the test, where they can be counted."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
