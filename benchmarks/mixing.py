"""How well chains do: independent draws per second, convergence by default, imputation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from threadpoolctl import threadpool_limits

from benchmarks.data import TITLES, DatumOnly, default_model, n_leaves, on_data, standardised
from benchmarks.measure import Row, Target, duration, seconds_of, verdict
from sticktree import DFPMixture
from sticktree.checks import FloatArray
from sticktree.engine.shared.chain import Chain

FASTER = Target(5, at_least=True)
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


def mixing(quick: bool = False) -> Iterator[Row]:
    n_warmup, n_draws = (20, 50) if quick else (1000, 4000)
    for name in ("r15", "aggregation", "glass"):
        what = f"effective draws per second, all moves vs data's alone, {TITLES[name]}"

        def measure(data: FloatArray, what: str = what) -> Iterator[Row]:
            yield from compare_moves(what, standardised(data), n_warmup, n_draws)

        yield from on_data(name, what, measure)


def compare_moves(what: str, data: FloatArray, n_warmup: int, n_draws: int) -> Iterator[Row]:
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
        return Row(what, str(ours), str(peer), "", str(FASTER), "no ratio")
    judged = verdict(FASTER.met(ratio))
    if ours.r_hat > DISAGREE:
        judged += "; our chains disagree"
    return Row(what, str(ours), str(peer), f"{ratio:.1f}", str(FASTER), judged)


R_HAT = Target(1.05)
SECONDS = Target(120, "s")


def convergence(quick: bool = False) -> Iterator[Row]:
    shorter = {"n_warmup": 20, "n_draws": 20} if quick else {}
    for name in ("r15", "aggregation", "glass"):
        what = f"four chains of DFPMixture(), largest R-hat, {TITLES[name]}"

        def measure(data: FloatArray, what: str = what) -> Iterator[Row]:
            yield converge(what, data, **shorter)

        yield from on_data(name, what, measure)


def converge(what: str, data: FloatArray, **parameters: Any) -> Row:
    mixture = DFPMixture(random_state=0, progress=False, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DFPMixture(n_chains=1, n_warmup=2, n_draws=4, progress=False).fit(data[:50])  # compiles
        seconds = seconds_of(lambda: mixture.fit(data))
    r_hat = mixture.diagnosis_.r_hat
    worst = max(r_hat, key=lambda scalar: r_hat[scalar])
    return Row(
        what,
        ours=duration(seconds),
        figure=f"{r_hat[worst]:.3f} ({worst})",
        target=f"{R_HAT}, {SECONDS}",
        verdict=verdict(R_HAT.met(r_hat[worst]) and SECONDS.met(seconds)),
    )


WHAT = "RMSE of a tenth of CCLE's entries, in standard deviations"
ACTIVITY_OFFSET = 0.01  # some activities are 0
NEIGHBOURS = (5, 10, 20)
N_SEEDS = 5
RATIO = Target(1)

Imputer = Callable[[FloatArray, int], FloatArray]


def imputation(quick: bool = False) -> Iterator[Row]:
    def measure(data: FloatArray) -> Iterator[Row]:
        yield from compare_imputers(np.log10(data + ACTIVITY_OFFSET), quick)

    yield from on_data("ccle_activity", WHAT, measure)


def compare_imputers(data: FloatArray, quick: bool = False) -> Iterator[Row]:
    """Yield our error beside that of each peer, over the same entries."""
    seeds = range(1 if quick else N_SEEDS)
    shorter: dict[str, Any] = {"n_chains": 1, "n_warmup": 20, "n_draws": 20} if quick else {}
    reason = why_not()
    mine = None if reason else mean_error(data, lambda gappy, k: ours(gappy, k, **shorter), seeds)
    for peer, error in peer_errors(data, seeds).items():
        what = f"{WHAT}, vs {peer}"
        if mine is None:
            yield Row(what, peer=f"{error:.3f}", verdict=f"skipped: {reason}")
            continue
        ratio = mine / error
        figures = (f"{mine:.3f}", f"{error:.3f}", f"{ratio:.3f}")
        yield Row(what, *figures, str(RATIO), verdict(RATIO.met(ratio)))


def why_not() -> str:
    """Return why our estimator cannot take part, or nothing."""
    return "" if hasattr(DFPMixture, "impute") else "DFPMixture has no impute"


def peer_errors(data: FloatArray, seeds: range) -> dict[str, float]:
    # The number of neighbours that does best on what was taken out flatters the peer.
    by_k = {k: mean_error(data, filling(KNNImputer(n_neighbors=k)), seeds) for k in NEIGHBOURS}
    best = min(by_k, key=lambda k: by_k[k])
    iterative = mean_error(data, filling(IterativeImputer(max_iter=10, random_state=0)), seeds)
    return {
        f"KNNImputer, best of {'/'.join(map(str, NEIGHBOURS))} neighbours ({best})": by_k[best],
        "IterativeImputer": iterative,
        "column means": mean_error(data, filling(SimpleImputer()), seeds),
    }


def mean_error(data: FloatArray, impute: Imputer, seeds: range) -> float:
    """Return the root of the mean square of errors, averaged over seeds."""
    errors = []
    for seed in seeds:
        gappy, taken = take_out(data, seed)
        centre, spread = np.nanmean(gappy, axis=0), np.nanstd(gappy, axis=0)
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            guess = impute((gappy - centre) / spread, seed)
        truth = (data - centre) / spread
        errors.append(np.sqrt(np.mean((guess - truth)[taken] ** 2)))
    return float(np.mean(errors))


def take_out(data: FloatArray, seed: int) -> tuple[FloatArray, np.ndarray[Any, Any]]:
    """Return data without a tenth of the entries that are observed, and which these are."""
    observed = np.flatnonzero(~np.isnan(data))
    chosen = np.random.default_rng(seed).choice(observed, round(0.1 * observed.size), replace=False)
    taken = np.zeros(data.shape, dtype=bool)
    taken.flat[chosen] = True
    return np.where(taken, np.nan, data), taken


def filling(imputer: Any) -> Imputer:
    return lambda gappy, seed: np.asarray(imputer.fit_transform(gappy))


def ours(gappy: FloatArray, seed: int, **parameters: Any) -> FloatArray:
    mixture: Any = DFPMixture(random_state=seed, progress=False, **parameters)
    return np.asarray(mixture.fit(gappy).impute(gappy))
