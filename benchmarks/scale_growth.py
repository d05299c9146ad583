"""How the time of a sweep of the parallel sampler grows with the number of rows."""

from __future__ import annotations

from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from benchmarks.growth import slope
from benchmarks.load import load
from benchmarks.scale_chains import planted
from benchmarks.scale_data import clusters
from benchmarks.table import Row, Target, duration, verdict
from benchmarks.timing import median, processor_seconds

TARGET = Target(1.05)
LEAVES = 100


def rows(quick: bool = False) -> Iterator[Row]:
    """Fit the exponent of the whole sweep, of which the coordinator's share does not grow.

    It is that of processor time on one thread: what else the machine does matters little.
    """
    sizes = (10_000, 30_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    seconds, leaves = [], []
    with threadpool_limits(limits=1):
        for n_rows in sizes:
            chain = planted(clusters(n_rows, 2, LEAVES), 1, n_sweeps=0)
            # Few rows choose several times in a sweep; here they choose once, as many do.
            chain.n_rounds = 1
            chain.sweep()
            rounds = 5 if n_rows > 1_000_000 else 15
            seconds.append(median([processor_seconds(chain.sweep) for _ in range(rounds)]))
            leaves.append(chain.leaves.size)
    exponent, last = slope(sizes, seconds), slope(sizes[-2:], seconds[-2:])
    yield Row(
        "parallel sweep, 1 thread, exponent in the number of rows: "
        + ", ".join(f"{n:,} ({k} leaves)" for n, k in zip(sizes, leaves, strict=True)),
        ours=", ".join(duration(taken) for taken in seconds),
        figure=f"{exponent:.2f}, {last:.2f} over the last step ({load()})",
        target=str(TARGET),
        verdict=verdict(TARGET.met(exponent)),
    )
