"""Independent draws per second: all moves against moves of data alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.chains import default_model, n_leaves
from benchmarks.datum_only import DatumOnly
from benchmarks.folder import TITLES, on_data, standardised
from benchmarks.table import Row, Target, verdict
from sticktree.checks import FloatArray
from sticktree.engine.shared.chain import Chain

TARGET = Target(5, at_least=True)
SCALARS = ("log joint", "number of leaves")
N_CHAINS = 2
# Above this R-hat, effective draws are overestimated: a few are counted even where chains never
# meet. Those of the peer then make the ratio too small; our own make it worthless.
DISAGREE = 1.05


@dataclass(frozen=True)
class Trace:
    """The scalars of successive sweeps, shape (n_sweeps, 2), and the seconds of sweeping."""

    values: FloatArray
    seconds: float


def rows(quick: bool = False) -> Iterator[Row]:
    n_warmup, n_draws = (20, 50) if quick else (1000, 4000)
    for name in ("r15", "aggregation", "glass"):
        what = f"effective draws per second, all moves vs data's alone, {TITLES[name]}"

        def measure(data: FloatArray, what: str = what) -> Iterator[Row]:
            yield from compare(what, standardised(data), n_warmup, n_draws)

        yield from on_data(name, what, measure)


def compare(what: str, data: FloatArray, n_warmup: int, n_draws: int) -> Iterator[Row]:
    """Yield a row for each scalar; chains that only move data get the same time, not sweeps."""
    ours, peer = [], []
    with threadpool_limits(limits=1):
        for seed in range(N_CHAINS):
            chains = [
                kind(data, default_model(), np.random.default_rng(seed))
                for kind in (Chain, DatumOnly)
            ]
            for chain in chains:
                chain.sweep()  # compiles
            warmup = record(chains[0], lambda n, _: n >= n_warmup, tune=True)
            ours.append(record(chains[0], lambda n, _: n >= n_draws))
            record(chains[1], at_time(warmup.seconds), tune=True)
            peer.append(record(chains[1], at_time(ours[-1].seconds)))
    for k, scalar in enumerate(SCALARS):
        yield rate_row(f"{what}: {scalar}", rate(ours, k), rate(peer, k))


def at_time(seconds: float) -> Callable[[int, float], bool]:
    return lambda n, taken: n >= 8 and taken >= seconds


def record(chain: Chain, enough: Callable[[int, float], bool], tune: bool = False) -> Trace:
    """Sweep until there are enough sweeps or seconds; looking at the chain is not timed."""
    values: list[tuple[float, float]] = []
    seconds = 0.0
    while not enough(len(values), seconds):
        start = time.perf_counter()
        chain.sweep(tune)
        seconds += time.perf_counter() - start
        values.append((chain.log_joint(), n_leaves(chain)))
    return Trace(np.array(values), seconds)


@dataclass(frozen=True)
class Rate:
    """Effective draws per second; not a number where the scalar never changed."""

    per_second: float
    r_hat: float

    def __str__(self) -> str:
        if np.isnan(self.per_second):
            return "never changed"
        return f"{self.per_second:.3g}/s, R-hat {self.r_hat:.2f}"


def rate(traces: list[Trace], k: int) -> Rate:
    """Return the effective draws of all chains per second of all chains."""
    from arviz_stats.base import array_stats  # type: ignore[attr-defined]

    statistics: Any = array_stats
    kept = min(len(trace.values) for trace in traces)
    column = np.array([trace.values[:kept, k] for trace in traces])
    if np.ptp(column) == 0:
        return Rate(np.nan, np.nan)
    seconds = sum(trace.seconds * kept / len(trace.values) for trace in traces)
    with np.errstate(divide="ignore", invalid="ignore"):
        ess = float(statistics.ess(column, chain_axis=0, draw_axis=1))
        r_hat = float(statistics.rhat(column, chain_axis=0, draw_axis=1))
    return Rate(ess / seconds, r_hat)


def rate_row(what: str, ours: Rate, peer: Rate) -> Row:
    ratio = ours.per_second / peer.per_second
    if np.isnan(ratio):
        return Row(what, str(ours), str(peer), "", str(TARGET), "no ratio")
    judged = verdict(TARGET.met(ratio))
    if ours.r_hat > DISAGREE:
        judged += "; our chains disagree"
    return Row(what, str(ours), str(peer), f"{ratio:.1f}", str(TARGET), judged)
