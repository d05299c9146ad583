"""Rows in memory for the bulk engine, and leaves as rows see them, without a chain."""

import itertools

import numpy as np

from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.halves import Units
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.philox import mix
from sticktree.engine.bulk.placement import Extent, ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.sums import SUMS, Grid


class ManyThreads(ThreadPlacement):
    """Threads are started however few rows there are."""

    rows_of_thread = 1


def rows_of(x, n_threads=1, jitter=None, first=0, group=None):
    """Return rows in memory."""
    part = partition(np.asarray(x, dtype=float), first, jitter, group)
    return Rows(ManyThreads(part, n_threads))


def many_parts(x, cuts, n_threads=1, order=None, jitter=None, group=None):
    """Return rows in several partitions, which are gone through in any order."""
    return Rows(ManyParts(x, cuts, n_threads, order, jitter, group))


class ManyParts:
    """A placement of several partitions in memory."""

    def __init__(self, x, cuts, n_threads, order, jitter, group=None):
        bounds = itertools.pairwise([0, *cuts, len(x)])
        of = [None] * len(x) if group is None else group
        parts = [
            rows_of(x[a:b], n_threads, jitter, a, None if group is None else of[a:b])
            for a, b in bounds
        ]
        self.parts = [rows.placement for rows in parts]
        self.order = range(len(parts)) if order is None else order
        self.extent = Extent.joined([part.extent for part in self.parts])

    def map(self, step, message):
        results = {k: self.parts[k].map(step, message)[0] for k in self.order}
        return [results[k] for k in range(len(self.parts))]

    def map_reduce(self, step, message, join):
        return join([self.parts[k].map_reduce(step, message, join) for k in self.order])


def clouds(n, dimension, gaps=0.0, seed=0):
    """Return rows around a few centres, in units of their own, some entries missing."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0.0, 5.0, (6, dimension))
    x = centres[rng.integers(6, size=n)] + rng.normal(size=(n, dimension))
    x *= 10.0 ** np.arange(dimension)
    x[rng.random(x.shape) < gaps] = np.nan
    return x


def some_leaves(extent, n_leaves=9, sweep=1, impute=None):
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


def two_units(extent, pins, n_leaves=9):
    """Return two units: a leaf that may split, and two that may merge."""
    of_leaf = np.full(n_leaves, -1, dtype=np.int64)
    of_leaf[0], of_leaf[1:3] = 0, 1
    return Units(of_leaf, np.array(pins, dtype=np.uint64).reshape(2, 2), some_leaves(extent, 6, 2))


def same(first, second):
    """Return whether two nested tuples of arrays are equal to the last bit."""
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return np.array_equal(first, second, equal_nan=np.asarray(first).dtype.kind == "f")


def leaves_with_anchors(rng, n_leaves, dimension, form, n, kind=SUMS, impute=False, spread=0.1):
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


OF_LEAF = np.array([-1, -2, -2, 13, 14, 15, 16, 17, 18])
OF_HALF = np.array([20, 21, 22, 23])


def all_passes(rows):
    """Return the results of every pass; they are the same wherever the rows are."""
    extent = rows.extent
    seated = rows.assign(some_leaves(extent))
    label = seated.picked.leaf
    pins = [seated.picked.number[label == k][:2] for k in (0, 1)]
    halved = rows.halve(two_units(extent, pins))
    grid = Grid.of(extent.n, extent.largest**2)
    return (
        tuple(extent),
        rows.sample(3, 2**62),
        rows.products(grid),
        seated,
        halved,
        rows.labels(OF_LEAF, OF_HALF),
        rows.labels(OF_LEAF, OF_HALF, np.array([extent.n - 1, 0, 5, 5])),
        rows.digest(),
    )
