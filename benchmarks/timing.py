"""Timing two things side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    ours: float
    peer: float
    target: float

    def __str__(self) -> str:
        ratio = self.ours / self.peer
        verdict = "ok" if ratio <= self.target else "MISSED"
        return (
            f"| {self.what} | {1e3 * self.ours:.1f} ms | {1e3 * self.peer:.1f} ms "
            f"| {ratio:.2f} | ≤ {self.target:g} | {verdict} |"
        )


def race(
    ours: Callable[[], object], peer: Callable[[], object], rounds: int = 15
) -> tuple[float, float]:
    """Time both in turn, after one round each that is not counted; return the medians."""
    ours()
    peer()
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, taken in zip((ours, peer), seconds, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    first, second = (sorted(taken)[rounds // 2] for taken in seconds)
    return first, second
