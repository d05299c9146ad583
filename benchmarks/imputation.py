"""How well are values guessed that were taken out of CCLE?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from threadpoolctl import threadpool_limits

from benchmarks.folder import on_data
from benchmarks.table import Row, Target, verdict
from sticktree import DFPMixture
from sticktree.checks import FloatArray

WHAT = "RMSE of a tenth of CCLE's entries, in standard deviations"
ACTIVITY_OFFSET = 0.01  # some activities are 0
NEIGHBOURS = (5, 10, 20)
N_SEEDS = 5
RATIO = Target(1)

Imputer = Callable[[FloatArray, int], FloatArray]


def rows(quick: bool = False) -> Iterator[Row]:
    def measure(data: FloatArray) -> Iterator[Row]:
        yield from compare(np.log10(data + ACTIVITY_OFFSET), quick)

    yield from on_data("ccle_activity", WHAT, measure)


def compare(data: FloatArray, quick: bool = False) -> Iterator[Row]:
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
