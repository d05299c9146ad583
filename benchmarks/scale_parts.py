"""The parts of which a sweep is made, each measured by itself."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.scale_chains import planted
from benchmarks.scale_data import clusters
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.halves import Units
from sticktree.engine.bulk.passes import Halved, Seated
from sticktree.engine.bulk.rows import Rows


class Parts(NamedTuple):
    """What a sweep takes on one thread."""

    choose: float  # seconds of processor time: all rows choose their leaves
    halve: float  # rows of units choose their halves
    coordinator: float  # all else
    told: int  # bytes to every worker
    returned: int  # bytes from every worker, but for the rows that are picked
    picked: int  # bytes of the rows that are picked, of all workers


class Meter:
    """Rows that note how long passes take, and how many bytes go to them and come back."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.extent = rows, rows.extent
        self.choose = self.halving = 0.0
        self.told = self.returned = self.picked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rows, name)

    def assign(self, told: Components) -> Seated:
        start = time.thread_time()
        seated = self.rows.assign(told)
        self.choose += time.thread_time() - start
        self.told, self.returned = self.told + size(told), self.returned + size(seated.tally)
        self.picked += size(seated.picked)
        return seated

    def halve(self, units: Units) -> Halved:
        start = time.thread_time()
        halved = self.rows.halve(units)
        self.halving += time.thread_time() - start
        self.told, self.returned = self.told + size(units), self.returned + size(halved)
        return halved


def size(thing: object) -> int:
    """Return the bytes of all arrays in nested tuples."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    return sum(map(size, thing)) if isinstance(thing, tuple) else 8


def parts_of(n_rows: int, dimension: int, n_leaves: int, n_sweeps: int) -> tuple[Parts, int]:
    """Return the parts of a sweep in the mean over some, and how many leaves there are."""
    chain = planted(clusters(n_rows, dimension, n_leaves), 1)
    chain.n_rounds = 1
    meter = Meter(chain.rows)
    chain.rows = meter
    start = time.thread_time()
    for _ in range(n_sweeps):
        chain.sweep()
    every = time.thread_time() - start
    whole = (
        meter.choose,
        meter.halving,
        every - meter.choose - meter.halving,
        meter.told,
        meter.returned,
        meter.picked,
    )
    choose, halving, rest, told, returned, picked = (x / n_sweeps for x in whole)
    return Parts(choose, halving, rest, int(told), int(returned), int(picked)), chain.leaves.size
