"""Wide tables: clusters beside peers, the time to an answer, and densities of rows held out.

An older checkout that the variable STICKTREE_BEFORE names is measured beside this one where only a
difference tells something. Fits have their defaults; one that takes several times as long as it may
is ended, so that the table comes to an end.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from benchmarks.data import data_folder
from benchmarks.measure import (
    Row,
    Target,
    duration,
    from_fresh_process,
    machine_load,
    peak_bytes,
    skipped,
    verdict,
)
from benchmarks.wide_data import Answer, Wide, among_factors, peers, plain_classes, timed
from sticktree import DFPMixture
from sticktree.checks import FloatArray
from sticktree.datasets import MissingDataError

BEFORE = "STICKTREE_BEFORE"
PATIENCE = 3.0  # times the limit, after which a fit is ended
SEEDS = range(6)
N_SPLITS = 10
SHORT: dict[str, Any] = {"n_chains": 2, "n_warmup": 10, "n_draws": 10}


class Held(NamedTuple):
    """A set whose rows are held out in turn."""

    dataset: str
    preparation: Literal["raw", "standardised"]
    dequantised: bool  # repeated values are spread over their last digit: they would be spikes
    ahead: bool  # of the older checkout, not only as good


SETS = {
    "CCLE": Held("ccle", "raw", True, True),
    "CCLE with gaps": Held("ccle_activity", "raw", True, True),
    "Glass": Held("glass", "standardised", True, True),
    "digits": Held("digits", "raw", False, False),
    "R15": Held("r15", "standardised", False, False),
    "Aggregation": Held("aggregation", "standardised", False, False),
}


# ---- clusters ------------------------------------------------------------------------------------


def wide_classes(quick: bool = False) -> Iterator[Row]:
    """Yield adjusted Rand indices on made-up tables with classes, and clusters where none are."""
    warm_up()
    small = plain_classes(40, 60, 10) if quick else plain_classes()
    yield from beside_peers(
        "3 classes in some columns", [small], Target(0.98, at_least=True), quick
    )
    seeds = SEEDS[:1] if quick else SEEDS
    size = (60, 80, 20, 2, 3) if quick else (300, 2_000, 40, 5, 5)
    several = [among_factors(*size, seed=seed) for seed in seeds]
    yield from beside_peers("classes among factors", several, Target(0.97, at_least=True), quick)
    noise = among_factors(*((60, 80) if quick else (200, 500)), n_classes=1)
    found = ours(noise.data, 60.0, quick)
    yield Row(
        f"clusters of factors and noise alone, {noise.size}",
        f"k = {found.n_clusters} ({duration(found.seconds)})",
        target="k = 1",
        verdict=verdict(found.n_clusters == 1),
    )


def beside_peers(
    what: str, tables: list[Wide], target: Target, quick: bool, limit: Target | None = None
) -> Iterator[Row]:
    """Yield the mean index of ours with its own number of clusters, then that of every peer.

    With a limit, there is a row for the time that a fit takes.
    """
    answers: dict[tuple[str, bool], list[tuple[float, Answer]]] = {}
    patience = 60.0 if limit is None else limit.limit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for wide in tables:
            found = [("ours", True, ours(wide.data, patience, quick)), *peers(wide)]
            for name, own, answer in found:
                place = answers.setdefault((name, own), [])
                place.append((answer.agreement(wide.classes), answer))
    label = f"adjusted Rand index, {what}, {tables[0].size}"
    label += f", mean of {len(tables)} seeds" if len(tables) > 1 else ""
    (_, own), *others = answers
    mine = answers["ours", own]
    score = float(np.mean([index for index, _ in mine]))
    counts = ", ".join(str(answer.n_clusters) for _, answer in mine)
    seconds = float(np.mean([answer.seconds for _, answer in mine]))
    truth = tables[0].n_classes
    yield Row(
        f"{label}, k by itself",
        f"{score:.3f}, k = {counts} of {truth} ({duration(seconds)})",
        target=str(target),
        verdict=verdict(target.met(score)),
    )
    if limit is not None:
        said = f"seconds to clusters, {what}, {tables[0].size} ({machine_load()})"
        yield Row(said, duration(seconds), "", "", str(limit), verdict(limit.met(seconds)))
    for name, own in others:
        theirs = float(np.mean([index for index, _ in answers[name, own]]))
        taken = float(np.mean([answer.seconds for _, answer in answers[name, own]]))
        given = "k by itself" if own else "k given"
        # Ours finds the number itself: only peers that do so too are to be beaten.
        yield Row(
            f"… beside {name}, {given}",
            f"{score:.3f}",
            f"{theirs:.3f} ({duration(taken)})",
            f"{score - theirs:+.3f}",
            "≥ 0" if own else "",
            verdict(score >= theirs) if own else "",
        )


def ours(data: FloatArray, limit: float, quick: bool, **parameters: Any) -> Answer:
    """Return the clusters of a fit with its defaults, ended some time after the limit."""
    mixture: Any = DFPMixture(
        random_state=0,
        progress=False,
        max_time=PATIENCE * limit,
        **(SHORT if quick else {}),
        **parameters,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timed(lambda: mixture.fit(data).labels_)


def warm_up() -> None:
    """Have all compiled that a fit needs, before anything is timed."""
    rng = np.random.default_rng(0)
    ours(rng.normal(size=(40, 3)), 60.0, quick=False)


def wide_digits(quick: bool = False) -> Iterator[Row]:
    """Yield how well clusters of handwritten digits agree with these, k given and by itself."""
    digits = load_digits()
    some = slice(0, 150 if quick else None)
    wide = Wide(np.asarray(digits.data[some]), digits.target[some])
    warm_up()
    parameters = SHORT if quick else {}
    mixture: Any = DFPMixture(random_state=0, progress=False, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = timed(lambda: mixture.fit(wide.data).labels_)
        given = timed(lambda: mixture.cluster(wide.n_classes))
        found = {name: answer.agreement(wide.classes) for name, _, answer in peers(wide)}
    gmm = max(value for name, value in found.items() if name.startswith("GMM"))
    for what, answer, peer, best in (
        ("k given", given, "Ward", found["Ward"]),
        ("k by itself", own, "the better GMM by BIC on PCA", gmm),
    ):
        score = answer.agreement(wide.classes)
        yield Row(
            f"adjusted Rand index, digits {wide.size}, {what}, beside {peer}",
            f"{score:.3f}, k = {answer.n_clusters}",
            f"{best:.3f}",
            f"{score - best:+.3f}",
            "≥ 0",
            verdict(score >= best),
        )


# ---- time and memory -----------------------------------------------------------------------------

SIZES = {
    "1,000×2,000": ((1_000, 2_000, 40, 5, 8), Target(60, "s"), None),
    "10,000×50": ((10_000, 50, 20, 2, 8), Target(90, "s"), None),
    "100×20,000": ((100, 20_000, 100, 5, 4), Target(120, "s"), Target(2_000, "MB")),
}
"""Arguments of `among_factors`, and what a fit may take."""
SMALL = {"60×150": ((60, 150, 20, 2, 3), Target(60, "s"), Target(2_000, "MB"))}


def wide_time(quick: bool = False) -> Iterator[Row]:
    """Yield seconds by the clock, and memory, of fits with their defaults, in a process each."""
    for size, (arguments, limit, memory) in (SMALL if quick else SIZES).items():
        asked = (list(arguments), limit.limit, quick)
        seconds, megabytes, agreement, k = from_fresh_process("benchmarks.wide", "fitted", *asked)
        yield Row(
            f"a finished fit of {size} by the clock ({machine_load()})",
            f"{duration(seconds)}, k = {k} of {arguments[-1]}, adjusted Rand index {agreement:.2f}",
            target=str(limit),
            verdict=verdict(limit.met(seconds)),
        )
        if memory is not None:
            yield Row(
                f"memory of a fit of {size}",
                f"{megabytes:,.0f} MB",
                target=str(memory),
                verdict=verdict(memory.met(megabytes)),
            )


def fitted(arguments: list[int], limit: float, quick: bool) -> tuple[float, float, float, int]:
    """Return seconds, megabytes, how right the clusters are, and how many, of one fit."""
    warm_up()
    wide = among_factors(*arguments)
    answer = ours(wide.data, limit, quick)
    index = answer.agreement(wide.classes)
    return answer.seconds, peak_bytes() / 1e6, index, answer.n_clusters


# ---- densities -----------------------------------------------------------------------------------


def wide_density(quick: bool = False) -> Iterator[Row]:
    """Yield log densities of rows held out, over splits, beside those of an older checkout."""
    what = "log density of a row held out"
    try:
        from sticktree_paper.splits import make_split
    except ImportError:
        yield skipped(what, "it needs the package in paper/: pip install -e paper")
        return
    earlier = os.environ.get(BEFORE)
    n_splits = 1 if quick else N_SPLITS
    for name, held in SETS.items():
        if quick and name != "Glass":
            continue
        try:
            data = _rows(held)
        except MissingDataError as reason:
            yield skipped(f"{what}, {name}", reason.hint)
            continue
        splits = [make_split(data, held.preparation, split) for split in range(n_splits)]
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "splits.npz"))
            arrays: dict[str, Any] = {f"train{k}": one.train for k, one in enumerate(splits)}
            np.savez(path, **arrays | {f"test{k}": one.test for k, one in enumerate(splits)})
            start = time.perf_counter()
            mine = np.array(densities_of(path, n_splits, quick))
            seconds = time.perf_counter() - start
            theirs = None if earlier is None else densities_of(path, n_splits, quick, earlier)
        yield _density_row(
            f"{what}, {name}, {n_splits} splits", mine, theirs, seconds, ahead=held.ahead
        )


def _density_row(
    what: str, mine: FloatArray, theirs: list[float] | None, seconds: float, *, ahead: bool
) -> Row:
    ours = f"{mine.mean():.3f} ({duration(seconds)})"
    if theirs is None:
        return Row(what, ours, verdict=f"{BEFORE} names no checkout to compare with")
    gain = mine - np.array(theirs)
    # Splits are paired: a mean that is behind by less than its error is as good.
    error = gain.std(ddof=1) / np.sqrt(gain.size) if gain.size > 1 else np.inf
    met = gain.mean() > 0 if ahead else gain.mean() >= -error
    figure = f"{gain.mean():+.3f} ± {error:.3f}"
    target = "> 0" if ahead else "≥ 0 within its error"
    return Row(what, ours, f"before: {np.mean(theirs):.3f}", figure, target, verdict(bool(met)))


def _rows(held: Held) -> FloatArray:
    """Return the rows of a set, as they are before they are split."""
    from sticktree import datasets
    from sticktree_paper.splits import Prepared, rows_of

    folder = data_folder()
    there = folder if folder is not None and folder.is_dir() else None
    found = datasets.load(held.dataset, folder=there, download=False)
    return rows_of(found, Prepared(held.dataset, dequantised=held.dequantised))


def densities_of(path: str, n_splits: int, quick: bool, checkout: str | None = None) -> list[float]:
    """Return mean log densities of test rows, of a checkout or of what is imported here."""
    environment = {}
    if checkout is not None:
        environment["PYTHONPATH"] = str(Path(checkout, "src"))
        kept = Path(tempfile.gettempdir(), "sticktree-kernels-before")
        environment["NUMBA_CACHE_DIR"] = str(kept)
    found = from_fresh_process("benchmarks.wide", "densities", path, n_splits, quick, **environment)
    return [float(value) for value in found]


def densities(path: str, n_splits: int, quick: bool) -> list[float]:
    """Return the mean log density of the test rows of each split, of fits with their defaults."""
    found = []
    with np.load(path) as kept, threadpool_limits(limits=1):
        for k in range(n_splits):
            mixture: Any = DFPMixture(random_state=k, progress=False, **(SHORT if quick else {}))
            found.append(float(mixture.fit(kept[f"train{k}"]).score(kept[f"test{k}"])))
    return found
