"""Measuring: rows of the one table that is printed, times side by side, fresh processes, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parent.parent
HEADER = (
    "| what | ours | peer | ratio or figure | target | verdict |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True)
class Target:
    """A bound that a figure should keep."""

    limit: float
    unit: str = ""
    at_least: bool = False

    def met(self, figure: float) -> bool:
        return figure >= self.limit if self.at_least else figure <= self.limit

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.limit:g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Row:
    """One line of the table, as text."""

    what: str
    ours: str = ""
    peer: str = ""
    figure: str = ""
    target: str = ""
    verdict: str = ""

    def __str__(self) -> str:
        return f"| {' | '.join(astuple(self))} |"


def ratio_row(what: str, ours: float, peer: float, target: float) -> Row:
    """Return a row for two durations in seconds, whose ratio should be at most the target."""
    bound = Target(target)
    ratio = ours / peer
    return Row(
        what,
        duration(ours),
        duration(peer),
        f"{ratio:.2f}",
        str(bound),
        verdict(bound.met(ratio)),
    )


def duration_row(what: str, seconds: float, limit: float, unit: str = "s", peer: str = "") -> Row:
    """Return a row for a duration in seconds; the limit is in ``unit``: "s", "ms" or "µs"."""
    bound = Target(limit, unit)
    figure = seconds * {"s": 1.0, "ms": 1e3, "µs": 1e6}[unit]
    return Row(what, duration(seconds), peer, "", str(bound), verdict(bound.met(figure)))


def skipped(what: str, reason: object) -> Row:
    return Row(what, verdict=f"skipped: {reason}")


def verdict(met: bool) -> str:
    return "ok" if met else "MISSED"


def duration(seconds: float) -> str:
    """Return seconds as people write them, with three digits."""
    if seconds < 1e-5:
        return f"{1e6 * seconds:.3g} µs"
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:,.0f} s"


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


def slope(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Return the least-squares slope of log time on log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def peak_bytes() -> float:
    """Return the most memory that this process ever held."""
    # On Linux a child's ru_maxrss starts at what its parent held; VmHWM is its own.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024.0 * int(line.split()[1])
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def machine_load() -> str:
    """Return the mean number of processes that wanted a core in the last minute."""
    try:
        return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    except (AttributeError, OSError):  # not on every system
        return f"{os.cpu_count()} cores"


def busy() -> bool:
    """Tell whether others want the cores too, so that two threads do not have two."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1) + 1
    except (AttributeError, OSError):
        return False


def in_fresh_process(module: str, function: str, *arguments: object, **environment: str) -> float:
    """Return the number that a function of a module gives when a new process calls it."""
    return float(from_fresh_process(module, function, *arguments, **environment))


def from_fresh_process(module: str, function: str, *arguments: object, **environment: str) -> Any:
    """Return what a function of a module gives when a new process calls it, as JSON has it."""
    call = ", ".join(map(repr, arguments))
    program = f"import json; from {module} import {function}; print(json.dumps({function}({call})))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module}.{function} failed in a fresh process:\n{done.stderr}")
    return json.loads(done.stdout)
