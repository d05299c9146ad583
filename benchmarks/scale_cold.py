"""A fit of very many rows: from a cold start to the true density, and its peak memory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks.measure import (
    Row,
    Target,
    duration,
    in_fresh_process,
    machine_load,
    peak_bytes,
    skipped,
    verdict,
)
from benchmarks.scale_data import Clusters, clusters, scale_model
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.shared.predictive import predictives

NEAR = 0.01  # nats a row below the generating model
TARGET = Target(300, "s")
CAP = 180.0  # seconds after which the peer is stopped
N_TEST = 20_000
COMPONENTS = 1.5  # of the peer for each true cluster, whose number it does not know
EACH = 3  # iterations or sweeps from one look at the density to the next


class Reached(NamedTuple):
    """When a density was reached, or what was when time was up."""

    seconds: float
    gap: float  # nats a row below the generating model
    done: bool
    size: int  # leaves or components in use

    def __str__(self) -> str:
        found = "" if self.done else f", {self.gap:.3f} short"
        return f"{duration(self.seconds)}{found} ({self.size} in use)"


def scale_cold(quick: bool = False) -> Iterator[Row]:
    n_rows, n_clusters, cap = (50_000, 20, 10.0) if quick else (1_000_000, 100, CAP)
    for equal in (True, False):
        made = clusters(n_rows, 2, n_clusters, equal=equal, n_test=N_TEST)
        with threadpool_limits(limits=1):
            ours = our_time(made, TARGET.limit)
        # The peer's iterations are linear algebra, and have as many threads.
        with threadpool_limits(limits=2):
            its = peer_time(made, max(cap, 1.1 * ours.seconds))
        met = ours.done and TARGET.met(ours.seconds) and ours.seconds < its.seconds
        yield Row(
            f"cold start to {NEAR} nats of the true density, {n_rows:,}×2, {n_clusters} clusters "
            f"of {'equal' if equal else 'unequal'} weights, vs BayesianGaussianMixture",
            str(ours),
            str(its),
            f"{'' if its.done else '< '}{ours.seconds / its.seconds:.2f} ({machine_load()})",
            f"{TARGET}, and faster",
            verdict(met),
        )


def our_time(made: Clusters, cap: float, n_threads: int = 2) -> Reached:
    """Sweep until the predictive density of the last draw is near enough."""
    truth, model, none = made.log_density(), scale_model(), np.empty((0, made.data.shape[1]))
    start = time.perf_counter()
    looked = 0.0  # looking at the density is no part of sampling
    rows = Rows(ThreadPlacement(partition(made.data, 0), n_threads))
    chain = SharedBulkChain(rows, model, np.random.default_rng(0))
    while True:
        for _ in range(EACH):
            chain.sweep(tune=True)
        now = time.perf_counter()
        seconds = now - start - looked
        draw = chain.draw(False)
        mixture = next(predictives([draw], none, model))
        gap = truth - float(mixture.log_density(made.test).mean())
        looked += time.perf_counter() - now
        if gap <= NEAR or seconds > cap:
            return Reached(seconds, gap, gap <= NEAR, chain.leaves.size)


def peer_time(made: Clusters, cap: float) -> Reached:
    """Iterate until the density is near enough, or time is up."""
    truth, seconds = made.log_density(), 0.0
    peer = BayesianGaussianMixture(
        n_components=int(COMPONENTS * len(made.centres)),
        covariance_type="spherical",
        max_iter=EACH,
        warm_start=True,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            start = time.perf_counter()
            peer.fit(made.data)
            seconds += time.perf_counter() - start
            gap = truth - float(peer.score(made.test))
            if gap <= NEAR or seconds > cap:
                in_use = int((peer.weights_ * len(made.data) >= 1.0).sum())
                return Reached(seconds, gap, gap <= NEAR, in_use)


PEAK = Target(1500, "MB")
SWEEPS = 6


def scale_memory(quick: bool = False) -> Iterator[Row]:
    n_rows = 200_000 if quick else 10_000_000
    try:
        import resource  # noqa: F401
    except ImportError:
        yield skipped("peak memory", "this system does not tell")
        return
    for until, summaries in (("its end", False), ("a tree of all rows is asked for", True)):
        before = megabytes_of(1_000, summaries)
        peak = megabytes_of(n_rows, summaries)
        each = 1e6 * (peak - before) / n_rows
        yield Row(
            f"peak memory of a process that fits {n_rows:,}×2, its rows included, until {until}",
            f"{peak:,.0f} MB",
            "",
            f"{each:.0f} bytes a row above the {before:,.0f} MB of 1,000 rows",
            "" if summaries else str(PEAK),
            "" if summaries else verdict(PEAK.met(peak)),
        )


def megabytes_of(n_rows: int, summaries: bool) -> float:
    return in_fresh_process("benchmarks.scale_cold", "megabytes", n_rows, summaries)


def megabytes(n_rows: int, summaries: bool) -> float:
    """Fit and return the peak memory of this process."""
    import sticktree.fit.result
    from sticktree import DFPMixture

    sticktree.fit.result.AT_ONCE = 0  # as it is where rows are very many
    mixture = DFPMixture(
        covariance_type="spherical",
        leaf_noise="shared",
        n_chains=1,
        n_warmup=SWEEPS // 2,
        n_draws=SWEEPS // 2,
        algorithm="parallel",
        random_state=0,
        progress=False,
    ).fit(clusters(n_rows, 2, 100).data)
    if summaries:
        _ = mixture.tree_
    return peak_bytes() / 1e6
