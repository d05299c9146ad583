"""The sampler for many rows on a Dask cluster against threads, and what Dask takes for itself.

Bytes are those through this process, where the scheduler and the client of a local cluster are. A
pass over rows on workers has two tasks for each part of the rows, what stays at its worker and what
goes on, and tasks that join the latter eight at a time. All go through one scheduler, which is in
this process.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import crowd, default_model, warm
from benchmarks.measure import (
    Row,
    Target,
    duration,
    machine_load,
    median,
    race,
    ratio_row,
    seconds_of,
    skipped,
    verdict,
)
from sticktree.checks import FloatArray
from sticktree.engine.bulk.partition import Partition, Share, partition
from sticktree.engine.bulk.placement import LEAVES, Choices, Extent, Pass, ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.shared import SharedBulkChain

WORKERS = 2
PARTITIONS = 8
SWEEPS = 7
LIMIT = 1.5  # of the time of threads
GROWTH = 1.2  # of bytes, for five times the rows: heartbeats come and go


@dataclass
class Traffic:
    """Bytes that this process sent and received."""

    sent: int = 0
    received: int = 0


@contextmanager
def counted() -> Iterator[Traffic]:
    """Count the bytes of all TCP connections of Dask in this process."""
    from distributed.comm import tcp

    traffic = Traffic()
    write, read = tcp.TCP.write, tcp.from_frames

    async def counting_write(self: Any, *args: Any, **kwargs: Any) -> Any:
        size = await write(self, *args, **kwargs)
        traffic.sent += size
        return size

    async def counting_read(frames: Any, *args: Any, **kwargs: Any) -> Any:
        traffic.received += sum(memoryview(frame).nbytes for frame in frames)
        return await read(frames, *args, **kwargs)

    patched: Any = tcp
    patched.TCP.write, patched.from_frames = counting_write, counting_read
    try:
        yield traffic
    finally:
        patched.TCP.write, patched.from_frames = write, read


def chain_on(rows: Rows) -> SharedBulkChain:
    return SharedBulkChain(rows, default_model(), np.random.default_rng(0))


def rows_on_workers(x: FloatArray) -> Rows:
    """Return rows that are on the workers of the current client, as a Dask array would be."""
    import dask
    import dask.array as da

    from sticktree.cluster import DaskSource

    # Rows come from this process, which is what the warning is about.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
        source = DaskSource.of(da.from_array(x, chunks=(-(-len(x) // PARTITIONS), x.shape[1])))
    return source.store(np.zeros(x.shape[1]), np.ones(x.shape[1])).rows(1)


def scale_dask(quick: bool) -> Iterator[Row]:
    """Yield the time per sweep against threads, and bytes per sweep for two numbers of rows."""
    try:
        import distributed  # noqa: F401
    except ImportError as reason:
        yield skipped("Dask", reason)
        return
    size = 50_000 if quick else 5_000_000
    rng = np.random.default_rng(0)
    x = crowd(size, 4, 100, rng)
    warm_up = 3 if quick else 10
    here = warm(chain_on(Rows(ThreadPlacement(partition(x, 0), WORKERS))), warm_up)
    with local_workers(WORKERS):
        chain = warm(chain_on(rows_on_workers(x)), warm_up)
        # Both have the same seed, so they have the same leaves.
        yield ratio_row(
            f"sweep on {WORKERS} Dask workers, {size:,}×4, against {WORKERS} threads",
            *race(chain.sweep, here.sweep, SWEEPS),
            LIMIT,
        )
        few = warm(chain_on(rows_on_workers(x[: size // 5])), warm_up)
        traffic = [bytes_per_sweep(each) for each in (few, chain)]
    bound = Target(GROWTH)
    yield Row(
        f"bytes through scheduler and client per sweep, {size:,} rows against {size // 5:,}",
        f"{traffic[1] / 1e3:.0f} kB",
        f"{traffic[0] / 1e3:.0f} kB",
        f"{traffic[1] / traffic[0]:.2f}",
        str(bound),
        verdict(bound.met(traffic[1] / traffic[0])),
    )


def bytes_per_sweep(chain: SharedBulkChain) -> float:
    chain.n_rounds = 1  # few rows have several passes in a sweep
    with counted() as traffic:
        warm(chain, SWEEPS)
    return (traffic.sent + traffic.received) / SWEEPS


PARTS = 100  # as a hundred workers would have
ROUNDS = 30


class TaskCost(NamedTuple):
    """Seconds."""

    round_trip: float  # a pass with one part: from the client to a worker and back
    task: float  # each further task
    serial: float  # of processor time of scheduler and client, which more workers do not share
    shared: float  # of processor time of workers, which they do


def n_tasks(parts: int) -> int:
    """Return how many tasks a pass over this number of parts has."""
    from sticktree.data.sources.dask.placement import FAN_IN

    tasks = 2 * parts
    while parts > FAN_IN:
        parts = -(-parts // FAN_IN)
        tasks += parts
    return tasks


def task_cost(client: Any, rounds: int = ROUNDS) -> TaskCost:
    """Measure passes that do nothing: those with one part, and those with many."""
    one, many = (_passes(client, parts, rounds) for parts in (1, PARTS))
    more = n_tasks(PARTS) - n_tasks(1)
    return TaskCost(one[0], *((b - a) / more for a, b in zip(one, many, strict=True)))


def measured_cost(rounds: int = ROUNDS) -> TaskCost:
    """Measure on a cluster that is started for it."""
    with local_workers(WORKERS) as client:
        return task_cost(client, rounds)


def _passes(client: Any, parts: int, rounds: int) -> tuple[float, float, float]:
    """Return seconds of a pass, and processor time of this process and of all workers."""
    from sticktree.data.sources.dask.placement import DaskPlacement
    from sticktree.data.sources.dask.session import Session

    session = Session(client)
    keys = [session.key("row", 0, k) for k in range(parts)]
    futures = session.submit(dict.fromkeys(keys, (partition, np.zeros((1, 1)), 0)), keys)
    placement = DaskPlacement(futures, session, Extent(parts, 0.0, (0,)))

    def once() -> None:
        placement.map_reduce(NOTHING, 0, sum)

    once()  # is not counted
    there, here = sum(client.run(time.process_time).values()), time.process_time()
    taken = [seconds_of(once) for _ in range(rounds)]
    here = time.process_time() - here
    there = sum(client.run(time.process_time).values()) - there
    return median(taken), here / rounds, there / rounds


def nothing(message: int, part: Partition, choices: Choices, share: Share) -> int:
    """Do no work; a choice for each row stays, as in passes."""
    return message


NOTHING = Pass("nothing", nothing, makes=LEAVES)


def cost_row(cost: TaskCost) -> Row:
    return Row(
        f"Dask alone, {WORKERS} workers: a task of a pass over {PARTS} parts, processor time in "
        "scheduler with client and in workers; a pass with one part, there and back",
        f"{duration(cost.task)}, {duration(cost.serial)} + {duration(cost.shared)}",
        figure=f"{duration(cost.round_trip)} ({machine_load()})",
    )


def scale_tasks(quick: bool) -> Iterator[Row]:
    """Yield the cost of a task and of a round trip."""
    try:
        import distributed  # noqa: F401
    except ImportError as reason:
        yield skipped("Dask", reason)
        return
    yield cost_row(measured_cost(5 if quick else ROUNDS))


@contextmanager
def local_workers(n_workers: int) -> Iterator[Any]:
    """Start processes of one thread each, and yield their client.

    The client closes first, then the cluster. A heartbeat of a worker that is on its way meanwhile
    finds nobody, and Dask prints an error and its traceback for it. That says nothing if all went
    well until then, so the workers then log nothing.
    """
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
        client.run(_hush)


def _hush() -> None:
    logging.getLogger("distributed.worker").setLevel(logging.CRITICAL)
