"""The data sets of the benchmarks, by the names that the tables have.

They are those of :mod:`sticktree.datasets`. Files are looked for in the data folder or, if none is
chosen, in a folder ``data`` beside this one, and in the cache; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.table import Row, skipped
from sticktree import datasets
from sticktree.checks import FloatArray
from sticktree.datasets import Dataset, MissingDataError

__all__ = [
    "NAMES",
    "ROOT",
    "SHIPPED",
    "TITLES",
    "MissingDataError",
    "classes",
    "data_folder",
    "load",
    "on_data",
    "standardised",
]

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("iris", "wine", "breast_cancer", "digits")
GAPPY = {  # the same set, with two ways of treating its gaps
    "ccle_missing": "CCLE with gaps",
    "ccle_imputed": "CCLE with gaps filled",
}
TITLES = {
    "r15": "R15",
    "d31": "D31",
    "aggregation": "Aggregation",
    "glass": "Glass",
    "ccle": "CCLE",
    **GAPPY,
    "iris": "Iris",
    "wine": "Wine",
    "breast_cancer": "Breast cancer",
    "digits": "Digits",
}
NAMES = tuple(TITLES)


def data_folder() -> Path | None:
    chosen, beside = datasets.data_folder(), ROOT / "data"
    return beside if chosen is None and beside.is_dir() else chosen


def load(name: str) -> FloatArray:
    """Return the features of a data set, one row a datum, NaN where a value is missing."""
    return _dataset(name).data


def classes(name: str) -> list[str]:
    """Return the true class of every row of a data set that has classes."""
    labels = _dataset(name).labels
    if labels is None:
        raise ValueError(f"name must be that of a data set with classes, got {name!r}")
    return list(labels)


def _dataset(name: str) -> Dataset:
    folder = data_folder()
    there = folder if folder is not None and folder.is_dir() else None
    wanted = "ccle_activity" if name in GAPPY else name
    try:
        return datasets.load(wanted, folder=there, download=False)
    except MissingDataError as error:
        raise MissingDataError(error.hint) from None  # short enough for a table


def on_data(name: str, what: str, measure: Callable[[FloatArray], Iterable[Row]]) -> Iterator[Row]:
    """Yield the rows measured on a data set, or one row that says why there are none."""
    try:
        data = load(name)
    except MissingDataError as reason:
        yield skipped(what, reason)
        return
    yield from measure(data)


def standardised(data: FloatArray) -> FloatArray:
    return np.asarray((data - data.mean(axis=0)) / data.std(axis=0))
