"""What a sweep would take on many machines, reckoned from parts that were measured one by one."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.scale_parts import Parts
from benchmarks.scale_tasks import TaskCost, n_tasks

PASSES = 2  # of a sweep


class Machines(NamedTuple):
    """Workers, and the network between them, which is assumed."""

    workers: int = 100
    rows: int = 10_000_000  # of each worker
    threads: int = 1  # of each worker
    bytes_per_second: float = 125e6  # through the one place where all is told from


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
    """Return what a sweep would take, if its parts for so many rows on one thread are known.

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
