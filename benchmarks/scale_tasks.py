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
from benchmarks.timing import median

WORKERS = 2
PARTS = 100  # as a hundred workers would have
ROUNDS = 30


class TaskCost(NamedTuple):
    """Seconds."""

    round_trip: float  # a pass with one part: from the client to a worker and back
    task: float  # each further task
    serial: float  # of it, processor time of scheduler and client, which more workers do not share


def n_tasks(parts: int) -> int:
    """Return how many tasks a pass over so many parts has."""
    from sticktree.cluster.rows import FAN_IN

    tasks = 2 * parts
    while parts > FAN_IN:
        parts = -(-parts // FAN_IN)
        tasks += parts
    return tasks


def task_cost(client: Any, rounds: int = ROUNDS) -> TaskCost:
    """Measure passes that do nothing: those with one part, and those with many."""
    taken = [_passes(client, parts, rounds) for parts in (1, PARTS)]
    (one, its_processor), (many, processor) = taken
    more = n_tasks(PARTS) - n_tasks(1)
    return TaskCost(one, (many - one) / more, (processor - its_processor) / more)


def measured_cost(rounds: int = ROUNDS) -> TaskCost:
    """Measure on a cluster that is started for it."""
    with local_workers(WORKERS) as client:
        return task_cost(client, rounds)


def _passes(client: Any, parts: int, rounds: int) -> tuple[float, float]:
    """Return the medians of seconds, and of processor time of this process."""
    from sticktree.cluster import DaskRows
    from sticktree.cluster.session import Session
    from sticktree.engine.parallel.rows import Extent

    session = Session(client)
    keys = [session.key("empty", 0, k) for k in range(parts)]
    futures = session.submit(dict.fromkeys(keys, (int,)), keys)
    rows = DaskRows(futures, list(range(parts)), session, extent=Extent(parts, 0.0, 1, False))
    seconds, processor = [], []
    for k in range(rounds + 1):
        start, worked = time.perf_counter(), time.process_time()
        rows.seated, _ = rows._pass("nothing", nothing, 0, lambda k: (rows.parts[k],), sum)
        if k:  # the first is not counted
            seconds.append(time.perf_counter() - start)
            processor.append(time.process_time() - worked)
    return median(seconds), median(processor)


def nothing(told: int, part: int) -> tuple[int, int]:
    """Return what stays and what goes, as all work of passes does."""
    return told, part


def cost_row(cost: TaskCost) -> Row:
    return Row(
        f"Dask alone, {WORKERS} workers: a task of a pass over {PARTS} parts, in all and in "
        "scheduler and client; a pass with one part, there and back",
        f"{duration(cost.task)}, {duration(cost.serial)}",
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
