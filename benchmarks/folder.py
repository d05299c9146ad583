"""The data sets of the benchmarks, which are those of :mod:`sticktree.datasets`.

Files are looked for in the data folder or, if none is chosen, in a folder ``data`` beside this one,
and in the cache; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.table import Row, skipped
from sticktree import datasets
from sticktree.checks import FloatArray
from sticktree.datasets import MissingDataError
from sticktree.datasets.catalogue import ENTRIES

__all__ = [
    "ROOT",
    "TITLES",
    "MissingDataError",
    "data_folder",
    "load",
    "on_data",
    "standardised",
]

ROOT = Path(__file__).resolve().parent.parent
TITLES = {entry.name: entry.title for entry in ENTRIES}  # also of those that are not here


def data_folder() -> Path | None:
    chosen, beside = datasets.data_folder(), ROOT / "data"
    return beside if chosen is None and beside.is_dir() else chosen


def load(name: str) -> FloatArray:
    """Return the features of a data set, one row a datum, NaN where a value is missing."""
    folder = data_folder()
    there = folder if folder is not None and folder.is_dir() else None
    try:
        return datasets.load(name, folder=there, download=False).data
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
