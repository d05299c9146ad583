"""Where the data sets lie, and how to read them.

Those of the paper's experiments are not part of the project. ``STICKTREE_DATA`` names a folder that
has them; without it, a folder ``data`` beside this one is used, if there is one. Others come with
scikit-learn.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from benchmarks.table import Row, skipped
from sticktree.checks import FloatArray

ROOT = Path(__file__).resolve().parent.parent
VARIABLE = "STICKTREE_DATA"
FILES = {
    "r15": "r15.csv",
    "d31": "d31.csv",
    "aggregation": "aggregation.csv",
    "glass": "glass.csv",
    "ccle": "ccle_pydt.csv",
    "ccle_missing": "ccle.csv",
    "ccle_imputed": "ccle.csv",
}
SHIPPED: dict[str, Callable[[], Any]] = {  # with scikit-learn
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
NAMES = (*FILES, *SHIPPED)
TITLES = {
    "r15": "R15",
    "d31": "D31",
    "aggregation": "Aggregation",
    "glass": "Glass",
    "ccle": "CCLE",
    "ccle_missing": "CCLE with gaps",
    "ccle_imputed": "CCLE with gaps filled",
    "iris": "Iris",
    "wine": "Wine",
    "breast_cancer": "Breast cancer",
    "digits": "Digits",
}
NOT_FEATURES = ("label", "cell_line")


class MissingDataError(Exception):
    """A data set that is not there; the message says what to do."""


def data_folder() -> Path | None:
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    beside = ROOT / "data"
    return beside if beside.is_dir() else None


def load(name: str) -> FloatArray:
    """Return the features of a data set, one row a datum, without labels and names.

    Empty fields are NaN.
    """
    if name in SHIPPED:
        return np.array(SHIPPED[name]().data, dtype=np.float64)
    header, *lines = _read(name)
    features = [k for k, column in enumerate(header) if column not in NOT_FEATURES]
    return np.array([[float(line[k] or "nan") for k in features] for line in lines])


def classes(name: str) -> list[str]:
    """Return the true class of every row of a data set that has classes."""
    if name in SHIPPED:
        return [str(label) for label in SHIPPED[name]().target]
    header, *lines = _read(name)
    return [line[header.index("label")] for line in lines]


def _read(name: str) -> list[list[str]]:
    folder = data_folder()
    if folder is None or not (folder / FILES[name]).is_file():
        raise MissingDataError(f"set {VARIABLE} to a folder with {FILES[name]}")
    with (folder / FILES[name]).open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


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
