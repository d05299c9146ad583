"""The cost of a sweep on many machines, predicted from parts that were measured one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, duration, machine_load, skipped
from benchmarks.scale_dask import TaskCost, cost_row, measured_cost, n_tasks
from benchmarks.scale_data import clusters, planted
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.halves import Units
from sticktree.engine.bulk.rows import Assigned, Halved, Rows

SHAPES = ((2, 100), (2, 1000), (4, 100), (16, 50), (16, 500))
PREDICTED = SHAPES[0], SHAPES[2]
SWEEPS = 20


def scale_cost(quick: bool = False) -> Iterator[Row]:
    """Yield the parts for tables of several shapes, then what a hundred machines would take."""
    n_rows = 20_000 if quick else 400_000
    found: dict[tuple[int, int], Parts] = {}
    with threadpool_limits(limits=1):
        for shape in SHAPES[:1] if quick else SHAPES:
            dimension, n_leaves = shape
            parts, leaves = parts_of(n_rows, dimension, n_leaves, 3 if quick else SWEEPS)
            found[shape] = parts
            yield Row(
                f"parts of a sweep, {dimension} columns, {leaves} leaves: choosing and halving in "
                "ns a row, coordinator; kB told, returned, picked",
                f"{1e9 * parts.choose / n_rows:.0f} + {1e9 * parts.halve / n_rows:.0f} ns, "
                f"{duration(parts.coordinator)}",
                figure=f"{parts.told / 1e3:.0f}, {parts.returned / 1e3:.0f}, "
                f"{parts.picked / 1e3:.0f} kB ({machine_load()})",
            )
    try:
        cost = measured_cost(5) if quick else measured_cost()
    except ImportError as reason:
        yield skipped("a sweep on many machines", reason)
        return
    yield cost_row(cost)
    for shape in PREDICTED:
        if shape not in found:
            continue
        for threads in (1, 4):
            machines = Machines(threads=threads)
            sweep = predicted(found[shape], n_rows, cost, machines)
            yield Row(
                f"predicted, not measured: a sweep on {machines.workers} workers with "
                f"{machines.rows:,}×{shape[0]} rows each, {threads} threads: passes, coordinator, "
                "messages, tasks",
                duration(sweep.sweep),
                figure=", ".join(map(duration, sweep)),
            )


PASSES = 2  # of a sweep


class Machines(NamedTuple):
    """Workers, and the network between them, which is assumed."""

    workers: int = 100
    rows: int = 10_000_000  # of each worker
    threads: int = 1  # of each worker
    bytes_per_second: float = 125e6  # through the machine that coordinates


class Predicted(NamedTuple):
    """Seconds of a sweep."""

    passes: float
    coordinator: float
    messages: float
    tasks: float

    @property
    def sweep(self) -> float:
        """All of it."""
        return sum(self)


def predicted(parts: Parts, n_rows: int, cost: TaskCost, machines: Machines) -> Predicted:
    """Return what a sweep would take, from its parts for ``n_rows`` rows on one thread.

    Passes are proportional to the rows of a worker. Of tasks only the processor time of scheduler
    and client counts: what workers do for them is shared by more workers than it was measured on.
    """
    each = (parts.choose + parts.halve) / n_rows
    told = machines.workers * (parts.told + parts.returned) + parts.picked
    more = n_tasks(machines.workers * machines.threads) - n_tasks(1)
    return Predicted(
        passes=machines.rows * each / machines.threads,
        coordinator=parts.coordinator,
        messages=told / machines.bytes_per_second,
        tasks=PASSES * (cost.round_trip + more * cost.serial),
    )


class Parts(NamedTuple):
    """What a sweep takes on one thread."""

    choose: float  # seconds of processor time: all rows choose their leaves
    halve: float  # rows of units choose their halves
    coordinator: float  # all else
    told: int  # bytes to every worker
    returned: int  # bytes from every worker, but for the rows that are picked
    picked: int  # bytes of the rows that are picked, of all workers


class Meter(Rows):
    """Rows that note how long passes take, and how many bytes go to them and come back."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows.placement)
        self.choose = self.halving = 0.0
        self.told = self.returned = self.picked = 0

    def assign(self, leaves: Components) -> Assigned:
        start = time.thread_time()
        assigned = super().assign(leaves)
        self.choose += time.thread_time() - start
        self.told, self.returned = self.told + size(leaves), self.returned + size(assigned.tally)
        self.picked += size(assigned.picked)
        return assigned

    def halve(self, units: Units) -> Halved:
        start = time.thread_time()
        halved = super().halve(units)
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
