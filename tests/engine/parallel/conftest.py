"""What the tests of the parallel sampler share."""

import itertools

import numpy as np
import pytest

from sticktree.engine.bulk.partition import final_labels, join_picks, partition
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.sums import merge


class ManyParts:
    """Rows in several partitions, gone through one after the other in any order."""

    def __init__(self, x, cuts, n_threads=1, order=None, jitter=None):
        bounds = [0, *cuts, len(x)]
        self.firsts = bounds[:-1]
        self.parts = [
            Rows(ThreadPlacement(partition(x[a:b], a, jitter), n_threads))
            for a, b in itertools.pairwise(bounds)
        ]
        self.order = range(len(self.parts)) if order is None else order
        extents = [part.extent for part in self.parts]
        self.extent = Extent(
            sum(e.n for e in extents),
            max(e.largest for e in extents),
            extents[0].dimension,
            any(e.gaps for e in extents),
        )
        for part in self.parts:
            part.extent = part.extent._replace(n=self.extent.n)  # grids are those of all rows

    def sample(self, salt, limit):
        return join_picks([self.parts[k].sample(salt, limit) for k in self.order])

    def products(self, grid):
        return sum(self.parts[k].products(grid) for k in self.order)

    def assign(self, told):
        seated = [self.parts[k].assign(told) for k in self.order]
        tally = seated[0].tally
        for other in seated[1:]:
            tally = merge(tally, other.tally)
        return seated[0]._replace(tally=tally, picked=join_picks([s.picked for s in seated]))

    def halve(self, units):
        halved = [self.parts[k].halve(units) for k in self.order]
        tally, gain = halved[0].tally, halved[0].gain.copy()
        for other in halved[1:]:
            tally = merge(tally, other.tally)
            gain += other.gain
        return halved[0]._replace(tally=tally, gain=gain)

    def labels(self, of_leaf, of_half, numbers=None):
        out = np.empty(self.extent.n, dtype=np.int32)
        for rows in self.parts:
            final_labels(rows.part, rows.labelled, rows.sided, of_leaf, of_half, out, 0)
        return out if numbers is None else out[numbers]


@pytest.fixture(autouse=True)
def threads_for_few_rows(monkeypatch):
    """Start threads however few rows there are, where they are asked for."""
    monkeypatch.setattr("sticktree.engine.bulk.rows.ROWS_OF_THREAD", 1)


@pytest.fixture(scope="session")
def many_parts():
    """Return the class of rows in several partitions."""
    return ManyParts


@pytest.fixture(scope="session")
def rows_of():
    """Return a function that makes rows in memory."""
    return lambda x, n_threads=1: Rows(
        ThreadPlacement(partition(np.asarray(x, dtype=float), 0), n_threads)
    )
