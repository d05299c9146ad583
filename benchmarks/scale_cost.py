"""The cost of a sweep on many machines, and the measured parts that it is reckoned from."""

from __future__ import annotations

from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from benchmarks.load import load
from benchmarks.scale_model import Machines, predicted
from benchmarks.scale_parts import Parts, parts_of
from benchmarks.scale_tasks import cost_row, measured_cost
from benchmarks.table import Row, duration, skipped

SHAPES = ((2, 100), (2, 1000), (4, 100), (16, 50), (16, 500))
PREDICTED = SHAPES[0], SHAPES[2]
SWEEPS = 20


def rows(quick: bool = False) -> Iterator[Row]:
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
                f"{parts.picked / 1e3:.0f} kB ({load()})",
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
