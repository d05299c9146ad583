"""Files in the form of their public sources."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from sticktree.datasets.contents import Contents

__all__ = ["read_activity", "read_arff", "read_sensitivity", "read_uci"]


def read_arff(path: Path) -> Contents:
    """Read a file of attributes and values whose last attribute is the class."""
    from scipy.io import arff

    values, about = arff.loadarff(path)
    *features, label = about.names()
    return Contents(
        data=np.column_stack([values[feature] for feature in features]).astype(np.float64),
        columns=tuple(features),
        labels=tuple(word.decode() for word in values[label].tolist()),
    )


def read_uci(path: Path) -> Contents:
    """Read a table without header: the row's number, the features, the class."""
    with path.open(newline="", encoding="utf-8") as stream:
        lines = [line for line in csv.reader(stream) if line]
    return Contents(
        data=np.array([line[1:-1] for line in lines], dtype=np.float64),
        columns=tuple(f"x{k}" for k in range(len(lines[0]) - 2)),
        labels=tuple(line[-1] for line in lines),
    )


def read_sensitivity(values: Path, cell_names: Path, drug_names: Path) -> Contents:
    """Read a matrix of numbers and the names of its rows and columns, each in a file."""
    return Contents(
        data=np.loadtxt(values, dtype=np.float64, ndmin=2),
        columns=_drugs(drug_names),
        rows=_cell_lines(cell_names),
    )


def read_activity(measurements: Path, cell_names: Path, drug_names: Path) -> Contents:
    """Turn a table of one measurement a row into one of a cell line a row, NaN where none is.

    Its rows are in no order of their own. Both files of names put them into that of the other
    matrix, so that the two can be laid side by side.
    """
    rows, columns = _cell_lines(cell_names), _drugs(drug_names)
    row_of = {row: k for k, row in enumerate(rows)}
    column_of = {column: k for k, column in enumerate(columns)}
    data = np.full((len(rows), len(columns)), np.nan)
    with measurements.open(newline="", encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            at = row_of[line["CCLE Cell Line Name"]], column_of[line["Compound"]]
            data[at] = float(line["ActArea"])
    return Contents(data=data, columns=columns, rows=rows)


def _cell_lines(path: Path) -> tuple[str, ...]:
    # Some program took the NA of URINARY for a missing value when the file was made.
    return tuple(path.read_text(encoding="utf-8").replace("NaN", "NA").split())


def _drugs(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8").replace("_", "-").split())
