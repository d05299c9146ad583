"""How long people wait for an answer, beside what they would run instead.

Times are of the processor, of all threads together, with kernels compiled unless a row says
otherwise. An older checkout that the variable STICKTREE_BEFORE names is measured in turn with this
one where only a ratio tells something.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks import data as measured
from benchmarks.data import TITLES
from benchmarks.measure import (
    Row,
    Target,
    duration,
    from_fresh_process,
    ratio_row,
    skipped,
    verdict,
)
from benchmarks.mixing import ACTIVITY_OFFSET, Trace, rate
from sticktree import DFPMixture
from sticktree.checks import FloatArray
from sticktree.datasets import MissingDataError

MOST_COMPONENTS, N_STARTS = 20, 5
FORMS = ("spherical", "diag", "tied", "full")
HELD_OUT = 10  # every tenth row
CCLE = Target(120, "s")
COLD = Target(40, "s")
FIRST_LINE, SILENCE = Target(1.5, "s"), Target(2, "s")
FASTER = Target(3, at_least=True)
BEFORE = "STICKTREE_BEFORE"


@dataclass(frozen=True)
class Rows:
    """Rows to fit, rows held out, and the classes of the former where there are any."""

    name: str
    seen: FloatArray
    unseen: FloatArray
    classes: npt.NDArray[Any] | None

    @classmethod
    def of(cls, name: str, data: FloatArray, classes: npt.NDArray[Any] | None) -> Rows:
        order = np.random.default_rng(0).permutation(len(data))
        unseen, seen = order[::HELD_OUT], np.delete(order, np.s_[::HELD_OUT])
        size = f"{seen.size:,}×{data.shape[1]}"
        known = None if classes is None else classes[seen]
        return cls(f"{name}, {size}", data[seen], data[unseen], known)


def blobs(n_rows: int, dimension: int = 10, n_clusters: int = 10) -> tuple[FloatArray, Any]:
    """Return round clusters that are far apart, with their numbers."""
    data, classes = make_blobs(n_rows, dimension, centers=n_clusters, random_state=0)
    return np.asarray(data), classes


Loader = Callable[[], tuple[FloatArray, Any]]


def known_sets(quick: bool) -> Iterator[tuple[str, Loader, float | None]]:
    """Yield names, loaders and how many times as long as the search a fit may take."""

    def stored(name: str) -> Loader:
        return lambda: measured.load_with_classes(name)

    yield "iris", lambda: load_iris(return_X_y=True), 1.0
    if quick:
        return
    yield "wine", lambda: load_wine(return_X_y=True), 1.5
    yield TITLES["glass"], stored("glass"), 2.0
    yield "blobs", lambda: blobs(1_000), 1.0
    yield "blobs", lambda: blobs(5_000), 1.0
    for name in ("r15", "aggregation"):
        yield TITLES[name], stored(name), None


def time_to_answer(quick: bool = False) -> Iterator[Row]:
    shorter: dict[str, Any] = {"n_chains": 2, "n_warmup": 10, "n_draws": 10} if quick else {}
    for name, load, target in known_sets(quick):
        try:
            rows = Rows.of(name, *load())
        except MissingDataError as reason:
            yield skipped(f"a fit, its labels and a prediction, {name}", reason)
            continue
        yield from beside_peers(rows, target, shorter, 3 if quick else MOST_COMPONENTS)
    if not quick:
        yield from with_gaps()
    yield from effective_draws(quick)
    yield from on_a_terminal(quick)
    if not quick:
        yield nothing_compiled()


# ---- fits ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a method says, and what that costs."""

    seconds: float
    labels: npt.NDArray[Any]
    density: float = np.nan  # mean log density of rows held out

    def agreement(self, classes: npt.NDArray[Any]) -> str:
        return f"{adjusted_rand_score(classes, self.labels):.2f}"


def beside_peers(
    rows: Rows, target: float | None, parameters: dict[str, Any], most: int
) -> Iterator[Row]:
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours(Rows(rows.name, rows.seen[:60], rows.unseen, None), parameters)  # compiles
        fit, search, by_density = ours(rows, parameters), by_bic(rows, most), hdbscan(rows)
    what = f"a fit, its labels and a prediction, {rows.name}"
    bic = f"mixtures by BIC, K ≤ {most}, {len(FORMS)} forms, {N_STARTS} starts"
    row = ratio_row(f"{what}, vs {bic}", fit.seconds, search.seconds, target or np.inf)
    yield row if target is not None else replace(row, target="", verdict="")
    taken = (fit.seconds, by_density.seconds)
    times = f"{taken[0] / taken[1]:.0f}"
    yield Row(f"{what}, vs HDBSCAN", duration(taken[0]), duration(taken[1]), times)
    if rows.classes is not None:
        found = [answer.agreement(rows.classes) for answer in (fit, search, by_density)]
        beside = f"{found[1]} by BIC, {found[2]} HDBSCAN"
        yield Row(f"… adjusted Rand index with the classes, {rows.name}", found[0], beside)
    yield Row(
        f"… log density of a row held out, {rows.name}",
        f"{fit.density:.3f}",
        f"{search.density:.3f} by BIC",
        f"{fit.density - search.density:+.3f}",
    )


def ours(rows: Rows, parameters: dict[str, Any]) -> Answer:
    start = time.process_time()
    mixture: Any = DFPMixture(random_state=0, progress=False, **parameters).fit(rows.seen)
    labels = mixture.labels_
    mixture.predict(rows.unseen)
    seconds = time.process_time() - start
    return Answer(seconds, labels, mixture.score(rows.unseen))


def by_bic(rows: Rows, most: int) -> Answer:
    start = time.process_time()
    candidates = [
        GaussianMixture(k, covariance_type=form, n_init=N_STARTS, random_state=0).fit(rows.seen)
        for k, form in product(range(1, most + 1), FORMS)
    ]
    best = min(candidates, key=lambda mixture: float(mixture.bic(rows.seen)))
    labels = best.predict(rows.seen)
    best.predict(rows.unseen)
    seconds = time.process_time() - start
    return Answer(seconds, labels, float(best.score(rows.unseen)))


def hdbscan(rows: Rows) -> Answer:
    start = time.process_time()
    labels = HDBSCAN(copy=True).fit_predict(rows.seen)
    return Answer(time.process_time() - start, labels)


def with_gaps() -> Iterator[Row]:
    what = "a fit, its labels and a prediction, CCLE with gaps"
    try:
        data = np.log10(measured.load("ccle_activity") + ACTIVITY_OFFSET)
    except MissingDataError as reason:
        yield skipped(what, reason)
        return
    rows = Rows.of(what, data, None)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours(Rows(rows.name, rows.seen[:60], rows.unseen, None), {})
        seconds = ours(rows, {}).seconds
    yield Row(rows.name, duration(seconds), "", "", str(CCLE), verdict(CCLE.met(seconds)))


# ---- independent draws ---------------------------------------------------------------------------


def effective_draws(quick: bool) -> Iterator[Row]:
    """Yield effective draws per second of the processor, of both kinds of noise."""
    n_warmup, n_draws = (5, 20) if quick else (500, 1000)
    earlier = os.environ.get(BEFORE)
    for name in ("iris",) if quick else ("iris", "wine", "glass", "r15", "aggregation"):
        title = TITLES.get(name, name)
        try:
            data = set_of(name)
        except MissingDataError as reason:
            yield skipped(f"effective draws per second, {title}", reason)
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.npy")
            np.save(path, measured.standardised(data))
            for noise in ("shared", "own"):
                asked = (str(path), noise, n_warmup, n_draws)
                mine = traces(*asked)
                theirs = None if earlier is None else traces(*asked, checkout=earlier)
                for k, scalar in enumerate(("log joint", "number of leaves")):
                    what = f"effective draws per second, {noise} noise, {title}: {scalar}"
                    yield effective_row(what, mine, theirs, k)


def set_of(name: str) -> FloatArray:
    built_in = {"iris": load_iris, "wine": load_wine}
    if name in built_in:
        return np.asarray(built_in[name]().data)
    return measured.load(name)


def traces(*asked: object, checkout: str | None = None) -> list[Trace]:
    """Return the traces of two chains, of a checkout or of what is imported here."""
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if checkout is not None:
        environment["PYTHONPATH"] = str(Path(checkout, "src"))
        # Kernels are known by their sources, but not by the types that a later release gives them.
        kept = Path(tempfile.gettempdir(), "sticktree-kernels-before")
        environment["NUMBA_CACHE_DIR"] = str(kept)
    found = from_fresh_process("benchmarks.sweeping", "sweeps", *asked, **environment)
    return [Trace(np.array(values), seconds) for values, seconds in found]


def effective_row(what: str, mine: list[Trace], theirs: list[Trace] | None, k: int) -> Row:
    ours = rate(mine, k)
    if theirs is None:
        return Row(what, str(ours), verdict=f"{BEFORE} names no checkout to compare with")
    before = rate(theirs, k)
    ratio = ours.per_second / before.per_second
    judged = "no ratio" if np.isnan(ratio) else verdict(FASTER.met(ratio))
    return Row(what, str(ours), f"before: {before}", f"{ratio:.1f}", str(FASTER), judged)


# ---- the first time ------------------------------------------------------------------------------


def nothing_compiled() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        seconds = from_fresh_process("benchmarks.sweeping", "first_fit", NUMBA_CACHE_DIR=folder)
    what = "first fit and prediction of iris, nothing compiled, by the clock"
    return Row(what, duration(seconds), "", "", str(COLD), verdict(COLD.met(seconds)))


def on_a_terminal(quick: bool) -> Iterator[Row]:
    what = "sticktree fit on a terminal, iris"
    try:
        import pty  # noqa: F401
    except ImportError:
        yield skipped(what, "this system has no terminals to imitate")
        return
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "iris.csv")
        np.savetxt(table, load_iris().data, delimiter=",", header="a,b,c,d", comments="")
        short = ["--draws", "20", "--warmup", "20"] if quick else []
        arguments = ["fit", str(table), "-o", str(Path(folder, "run")), "--seed", "0", *short]
        first, longest = silences([sys.executable, "-m", "sticktree", *arguments])
    for figure, target, is_ in (
        (first, FIRST_LINE, "first line"),
        (longest, SILENCE, "longest silence after it"),
    ):
        yield Row(
            f"{what}: {is_}", duration(figure), "", "", str(target), verdict(target.met(figure))
        )


def silences(command: list[str]) -> tuple[float, float]:
    """Return how long a command on a terminal takes to its first line, and is silent afterwards."""
    import pty
    import subprocess

    ours, theirs = pty.openpty()
    start = time.monotonic()
    running = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    heard = [start]
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux has this in place of an end
            break
        if not part:
            break
        heard.append(time.monotonic())
    os.close(ours)
    if running.wait() != 0:
        raise RuntimeError(f"{' '.join(command)} failed")
    pauses = np.diff([*heard, time.monotonic()])
    return float(pauses[0]), float(pauses[1:].max())
