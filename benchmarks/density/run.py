"""Fit every method on every split, several at a time, and keep what comes out."""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.density.gaps import log_density_of_observed
from benchmarks.density.methods import Method, methods
from benchmarks.density.results import Key, Result, keep, read
from benchmarks.density.splits import PREPROCESSING, Split, filled, make_split, prepared
from sticktree.checks import FloatArray


def run(
    names: Sequence[str], n_splits: int, draws: int | None, n_jobs: int, fresh: bool
) -> list[Result]:
    """Return the results of all methods on the splits of some data sets, old and new ones.

    With ``fresh``, no results of earlier runs are used. If interrupted, return what there is.
    """
    wanted = [
        key for split in range(n_splits) for name in names for key in keys(name, split, draws)
    ]
    known = {} if fresh else read()
    missing = [key for key in wanted if key not in known]
    context = multiprocessing.get_context("spawn")  # threads of numba and BLAS survive no fork
    pool = ProcessPoolExecutor(n_jobs, mp_context=context, initializer=die_when_interrupted)
    try:
        futures = {pool.submit(evaluate, key, draws): key for key in missing}
        for count, future in enumerate(as_completed(futures), 1):
            error = future.exception()
            if error is None:
                known[futures[future]] = future.result()
                keep(future.result())
            report(futures[future], error or future.result(), f"{count}/{len(missing)}")
    except KeyboardInterrupt:
        text = "interrupted: results so far are kept; run again, without --fresh, to go on"
        print(text, file=sys.stderr)
    finally:
        pool.shutdown(cancel_futures=True)
    return [known[key] for key in wanted if key in known]


def keys(name: str, split: int, draws: int | None) -> list[Key]:
    data = prepared(name)
    digest = hashlib.sha256(data.tobytes()).hexdigest()[:12]
    train = make_split(data, PREPROCESSING[name], split).train
    return [
        Key(name, PREPROCESSING[name], digest, split, method.name, method.settings)
        for method in methods_for(train, draws).values()
    ]


def evaluate(key: Key, draws: int | None) -> Result:
    """Fit one method on one split; return the mean log density of its test rows."""
    split = make_split(prepared(key.name), PREPROCESSING[key.name], key.split)
    method = methods_for(split.train, draws)[key.method]
    start = time.perf_counter()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = score(method, split, key.split)
    return Result(key, value, time.perf_counter() - start)


def score(method: Method, split: Split, seed: int) -> float:
    """Return the mean log density of a split's test rows, or of what is observed of them."""
    if method.takes_gaps or not np.isnan(split.train).any():
        return float(method.fit(split.train, seed).score_samples(split.test).mean())
    train = filled(split.train, np.nanmean(split.train, axis=0))
    return float(log_density_of_observed(method.fit(train, seed), split.test).mean())


def methods_for(train: FloatArray, draws: int | None) -> dict[str, Method]:
    return methods(train.shape[1], draws, gaps=bool(np.isnan(train).any()))


def die_when_interrupted() -> None:
    """Let Ctrl-C end a worker at once; a fit would keep its draws and score with these few."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def report(key: Key, outcome: Result | BaseException, place: str) -> None:
    if isinstance(outcome, Result):
        text = f"{outcome.log_density:.3f} in {outcome.seconds:.1f} s"
    else:
        text = f"failed: {outcome!r}"
    what = f"{place}: {key.name}, split {key.split}, {key.method}"
    print(f"{what}: {text}", file=sys.stderr, flush=True)
