"""What Dask takes for itself: passes of this library over rows on workers, with no rows in them.

A pass has two tasks for each part of the rows, what stays at its worker and what goes on, and tasks
that join the latter eight at a time. All go through one scheduler, which is in this process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.load import load
from benchmarks.local_workers import local_workers
from benchmarks.table import Row, duration, skipped
from benchmarks.timing import median, seconds_of

WORKERS = 2
PARTS = 100  # as a hundred workers would have
ROUNDS = 30


class TaskCost(NamedTuple):
    """Seconds."""

    round_trip: float  # a pass with one part: from the client to a worker and back
    task: float  # each further task
    serial: float  # of processor time of scheduler and client, which more workers do not share
    shared: float  # of processor time of workers, which they do


def n_tasks(parts: int) -> int:
    """Return how many tasks a pass over so many parts has."""
    from sticktree.data.sources.dask.rows import FAN_IN

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
    from sticktree.cluster import DaskRows
    from sticktree.data.sources.dask.session import Session
    from sticktree.engine.bulk.rows import Extent

    session = Session(client)
    keys = [session.key("empty", 0, k) for k in range(parts)]
    futures = session.submit(dict.fromkeys(keys, (int,)), keys)
    rows = DaskRows(futures, list(range(parts)), session, extent=Extent(parts, 0.0, 1, False))

    def once() -> None:
        rows.seated, _ = rows._pass("nothing", nothing, 0, lambda k: (rows.parts[k],), sum)

    once()  # is not counted
    there, here = sum(client.run(time.process_time).values()), time.process_time()
    taken = [seconds_of(once) for _ in range(rounds)]
    here = time.process_time() - here
    there = sum(client.run(time.process_time).values()) - there
    return median(taken), here / rounds, there / rounds


def nothing(told: int, part: int) -> tuple[int, int]:
    """Return what stays and what goes, as all work of passes does."""
    return told, part


def cost_row(cost: TaskCost) -> Row:
    return Row(
        f"Dask alone, {WORKERS} workers: a task of a pass over {PARTS} parts, processor time in "
        "scheduler with client and in workers; a pass with one part, there and back",
        f"{duration(cost.task)}, {duration(cost.serial)} + {duration(cost.shared)}",
        figure=f"{duration(cost.round_trip)} ({load()})",
    )


def rows(quick: bool) -> Iterator[Row]:
    """Yield the cost of a task and of a round trip."""
    try:
        import distributed  # noqa: F401
    except ImportError as reason:
        yield skipped("Dask", reason)
        return
    yield cost_row(measured_cost(5 if quick else ROUNDS))
