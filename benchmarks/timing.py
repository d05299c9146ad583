"""Timing two things side by side."""

from __future__ import annotations

import time
from collections.abc import Callable

from threadpoolctl import threadpool_limits


def race(
    ours: Callable[[], object], peer: Callable[[], object], rounds: int = 15
) -> tuple[float, float]:
    """Time both in turn on one thread, after one round each that is not counted; return medians."""
    seconds: tuple[list[float], list[float]] = ([], [])
    with threadpool_limits(limits=1):
        ours()
        peer()
        for _ in range(rounds):
            for run, taken in zip((ours, peer), seconds, strict=True):
                taken.append(seconds_of(run))
    return median(seconds[0]), median(seconds[1])


def seconds_of(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def processor_seconds(run: Callable[[], object]) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def in_turn(*runs: Callable[[], object], rounds: int) -> list[list[float]]:
    """Time several things in turn, after one round that is not counted; return all seconds.

    What else the machine does then falls upon all of them alike.
    """
    for run in runs:
        run()
    taken: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, seconds in zip(runs, taken, strict=True):
            seconds.append(seconds_of(run))
    return taken
