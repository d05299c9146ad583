"""How the time of a sweep grows with the number of rows, the number of leaves staying put."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.chains import n_leaves, warm
from benchmarks.synthetic import grid
from benchmarks.table import Row, Target, duration, verdict
from benchmarks.timing import median, seconds_of
from sticktree.engine.shared.chain import Chain
from sticktree.model import Model

TARGET = Target(1.1)
SIDE = 4
# So small that clusters far apart need no second leaf, however many rows there are.
CONCENTRATION = 0.01


def rows(quick: bool = False) -> Iterator[Row]:
    sizes = (300, 1_000, 3_000) if quick else (1_000, 10_000, 100_000)
    model = Model(
        np.ones(3),
        covariance_type="spherical",
        precision_prior=(1.0, 0.01),
        concentration=CONCENTRATION,
    )
    seconds, leaves = [], []
    with threadpool_limits(limits=1):
        for n_rows in sizes:
            rng = np.random.default_rng(0)
            chain = warm(Chain(grid(n_rows, SIDE, rng), model, rng), 20)
            seconds.append(median([seconds_of(chain.sweep) for _ in range(15)]))
            leaves.append(n_leaves(chain))
    exponent = slope(sizes, seconds)
    yield Row(
        "time per sweep, exponent in the number of rows: "
        + ", ".join(f"{n:,} ({k} leaves)" for n, k in zip(sizes, leaves, strict=True)),
        ours=", ".join(duration(taken) for taken in seconds),
        figure=f"{exponent:.2f}",
        target=str(TARGET),
        verdict=verdict(TARGET.met(exponent)),
    )


def slope(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Return the least-squares slope of log time on log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
