"""Tables in the project's own form: CSV with a header, features first, the label last."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from sticktree.datasets.catalogue import LABEL, Entry
from sticktree.datasets.contents import Contents

__all__ = ["read_table"]


def read_table(path: Path, entry: Entry) -> Contents:
    """Return the contents of ``path``, or say in which way it is not this data set."""
    with path.open(newline="", encoding="utf-8-sig") as stream:
        lines = [line for line in csv.reader(stream) if line]
    header, *body = lines or [[]]
    labelled = header[-1:] == [LABEL]
    first, last = int(entry.row_names is not None), len(header) - labelled
    columns = tuple(header[first:last])
    if not _is_header_of(entry, header[:first], columns, labelled):
        raise ValueError(
            f"{path} must have the header {entry.header}, got {','.join(header) or 'nothing'}"
        )
    for number, line in enumerate(body, start=2):
        if len(line) != len(header):
            raise ValueError(
                f"{path} must have {len(header)} fields in every row, got {len(line)} in row "
                f"{number}"
            )
    data = np.array(
        [
            [_number(path, number, text) for text in line[first:last]]
            for number, line in enumerate(body, start=2)
        ]
    )
    return Contents(
        data=data,
        columns=entry.columns or columns,
        labels=tuple(line[-1] for line in body) if labelled else None,
        rows=tuple(line[0] for line in body) if first else None,
    )


def _is_header_of(
    entry: Entry, row_names: list[str], columns: tuple[str, ...], labelled: bool
) -> bool:
    if row_names != [entry.row_names] * len(row_names):
        return False
    if entry.columns is None:  # any names will do, but a first row of numbers is no header
        return len(columns) == entry.shape[1] and not any(map(_is_number, columns))
    numbered = tuple(f"x{k}" for k in range(entry.shape[1]))
    return columns in (entry.columns, numbered) and labelled == entry.labelled


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(path: Path, row: int, text: str) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        raise ValueError(
            f"{path} must have numbers, or nothing where a value is missing, got {text!r} in row "
            f"{row}"
        ) from None
