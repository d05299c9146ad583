"""Rows of the one table that all speed benchmarks print."""

from __future__ import annotations

from dataclasses import astuple, dataclass

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
    """Return a row for a duration in seconds; the limit is in ``unit``, "s" or "ms"."""
    bound = Target(limit, unit)
    figure = {"s": seconds, "ms": 1e3 * seconds}[unit]
    return Row(what, duration(seconds), peer, "", str(bound), verdict(bound.met(figure)))


def skipped(what: str, reason: object) -> Row:
    return Row(what, verdict=f"skipped: {reason}")


def verdict(met: bool) -> str:
    return "ok" if met else "MISSED"


def duration(seconds: float) -> str:
    """Return seconds as people write them, with three digits."""
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:,.0f} s"
