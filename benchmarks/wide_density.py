"""Densities of rows held out: of fits as they come, and of fixed against learned noise rates.

STICKTREE_SPLITS names splits, as in 0:3, where ten would take too long; an older checkout that
STICKTREE_BEFORE names is measured on the same ones.
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
from threadpoolctl import threadpool_limits

from benchmarks.data import data_folder
from benchmarks.measure import Row, duration, from_fresh_process, skipped, verdict
from sticktree import DFPMixture
from sticktree.checks import FloatArray
from sticktree.datasets import MissingDataError

BEFORE = "STICKTREE_BEFORE"
SPLITS = "STICKTREE_SPLITS"
N_SPLITS = 10
SHORT: dict[str, Any] = {"n_chains": 2, "n_warmup": 10, "n_draws": 10}
SHARED: dict[str, Any] = {
    "covariance_type": "full",
    "leaf_noise": "shared",
    "depth": 16,
    "factors": None,
    "n_chains": 2,
    "n_warmup": 150,
    "n_draws": 150,
}
"""The model whose noise has rates that may be learned: with own noise they always are."""
RATES = {"fixed": 0.01, "learned": None}


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
    "digits": Held("digits", "raw", True, False),
    "R15": Held("r15", "standardised", False, False),
    "Aggregation": Held("aggregation", "standardised", False, False),
}


def splits_asked_for(quick: bool) -> list[int]:
    """Return the splits that are measured: ten, or those that the variable names."""
    named = os.environ.get(SPLITS)
    if named is None:
        return list(range(1 if quick else N_SPLITS))
    first, _, end = named.partition(":")
    try:
        return list(range(int(first), int(end))) if end else [int(first)]
    except ValueError:
        raise ValueError(
            f"{SPLITS} must be a split or a range such as 0:3, got {named!r}"
        ) from None


def splits_of(name: str, quick: bool) -> list[tuple[int, FloatArray, FloatArray]] | str:
    """Return splits of a set: number, rows to fit, rows held out; or why there are none."""
    held = SETS[name]
    try:
        from sticktree_paper.splits import make_split

        data = _rows(held)
    except ImportError:
        return "it needs the package in paper/: pip install -e paper"
    except MissingDataError as reason:
        return reason.hint
    made = [(split, make_split(data, held.preparation, split)) for split in splits_asked_for(quick)]
    return [(split, one.train, one.test) for split, one in made]


def held_out(name: str, quick: bool = False) -> Iterator[Row]:
    """Yield the log density of rows held out of a set, beside that of an older checkout."""
    what = f"log density of a row held out, {name}"
    splits = splits_of(name, quick)
    if isinstance(splits, str):
        yield skipped(what, splits)
        return
    earlier = os.environ.get(BEFORE)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "splits.npz"))
        arrays: dict[str, Any] = {f"train{k}": train for k, train, _ in splits}
        np.savez(path, **arrays | {f"test{k}": test for k, _, test in splits})
        numbers = [k for k, _, _ in splits]
        start = time.perf_counter()
        mine = np.array(densities_of(path, numbers, quick))
        seconds = time.perf_counter() - start
        theirs = None if earlier is None else densities_of(path, numbers, quick, earlier)
    label = f"{what}, {_count(numbers)}"
    yield _density_row(label, mine, theirs, seconds, ahead=SETS[name].ahead)


def rates(name: str, quick: bool = False) -> Iterator[Row]:
    """Yield what learned rates of shared noise gain on rows held out of a set."""
    what = f"learned against fixed rates of shared noise, {name}"
    splits = splits_of(name, quick)
    if isinstance(splits, str):
        yield skipped(what, splits)
        return
    found = {how: np.empty(len(splits)) for how in RATES}
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        for i, (split, train, test) in enumerate(splits):
            for how, rate in RATES.items():
                chosen = SHARED | (SHORT if quick else {}) | {"precision_prior": (1.0, rate)}
                mixture: Any = DFPMixture(random_state=split, progress=False, **chosen)
                found[how][i] = mixture.fit(train).score(test)
    gain = found["learned"] - found["fixed"]
    yield Row(
        f"{what}, {_count([k for k, _, _ in splits])}",
        f"learned: {found['learned'].mean():.3f}",
        f"fixed: {found['fixed'].mean():.3f}",
        f"{gain.mean():+.3f} ± {_error(gain):.3f}",
    )


def _count(splits: list[int]) -> str:
    return f"{len(splits)} splits" if len(splits) != 1 else f"split {splits[0]}"


def _error(gain: FloatArray) -> float:
    """Return the standard error of a mean of paired differences."""
    return float(gain.std(ddof=1) / np.sqrt(gain.size)) if gain.size > 1 else float("inf")


def _density_row(
    what: str, mine: FloatArray, theirs: list[float] | None, seconds: float, *, ahead: bool
) -> Row:
    ours = f"{mine.mean():.3f} ({duration(seconds)})"
    if theirs is None:
        return Row(what, ours, verdict=f"{BEFORE} names no checkout to compare with")
    gain = mine - np.array(theirs)
    # Splits are paired: a mean that is behind by less than its error is as good.
    error = _error(gain)
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


def densities_of(
    path: str, splits: list[int], quick: bool, checkout: str | None = None
) -> list[float]:
    """Return mean log densities of test rows, of a checkout or of what is imported here."""
    environment = {}
    if checkout is not None:
        environment["PYTHONPATH"] = str(Path(checkout, "src"))
        kept = Path(tempfile.gettempdir(), "sticktree-kernels-before")
        environment["NUMBA_CACHE_DIR"] = str(kept)
    asked = path, splits, quick
    found = from_fresh_process("benchmarks.wide_density", "densities", *asked, **environment)
    return [float(value) for value in found]


def densities(path: str, splits: list[int], quick: bool) -> list[float]:
    """Return the mean log density of the test rows of each split, of fits with their defaults."""
    found = []
    with np.load(path) as kept, threadpool_limits(limits=1):
        for k in splits:
            mixture: Any = DFPMixture(random_state=k, progress=False, **(SHORT if quick else {}))
            found.append(float(mixture.fit(kept[f"train{k}"]).score(kept[f"test{k}"])))
    return found
