"""A data set by its name."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np

from sticktree.datasets.dataset import Dataset
from sticktree.datasets.missing import MissingDataError
from sticktree.datasets.places import DATA_VARIABLE, data_folder

__all__ = ["load", "names"]

FILES = {
    "r15": ("R15", "r15.csv"),
    "d31": ("D31", "d31.csv"),
    "aggregation": ("Aggregation", "aggregation.csv"),
    "glass": ("Glass", "glass.csv"),
    "ccle": ("CCLE", "ccle_pydt.csv"),
    "ccle_activity": ("CCLE activity", "ccle.csv"),
    "macaque": ("Macaque", "macaque.csv"),
}
SHIPPED = {"iris": "Iris", "wine": "Wine", "breast_cancer": "Breast cancer", "digits": "Digits"}


def names() -> tuple[str, ...]:
    """Return the names that :func:`load` knows."""
    return (*FILES, *SHIPPED)


def load(
    name: str, *, folder: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Return a data set."""
    if name in SHIPPED:
        return _shipped(name)
    if name not in FILES:
        raise ValueError(f"name must be one of {', '.join(names())}, got {name!r}")
    title, file = FILES[name]
    place = data_folder() if folder is None else Path(folder)
    if place is None or not (place / file).is_file():
        raise MissingDataError(f"set {DATA_VARIABLE} to a folder with {file}")
    with (place / file).open(newline="", encoding="utf-8") as stream:
        header, *lines = csv.reader(stream)
    features = [k for k, column in enumerate(header) if column not in ("label", "cell_line")]
    return Dataset(
        name=name,
        title=title,
        data=np.array([[float(line[k] or "nan") for k in features] for line in lines]),
        columns=tuple(header[k] for k in features),
        labels=tuple(line[-1] for line in lines) if header[-1] == "label" else None,
        rows=tuple(line[0] for line in lines) if header[0] == "cell_line" else None,
        description="",
        citation="",
        terms="",
        source="",
    )


def _shipped(name: str) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return Dataset(
        name=name,
        title=SHIPPED[name],
        data=np.array(bunch.data, dtype=np.float64),
        columns=tuple(map(str, bunch.feature_names)),
        labels=tuple(str(bunch.target_names[k]) for k in bunch.target),
        description="",
        citation="",
        terms="",
        source="",
    )
