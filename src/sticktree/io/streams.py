"""Text that is written piece by piece, for tables and trees of very many rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sticktree.io.atomic import atomically

__all__ = ["csv_pieces", "write_pieces"]

LINES = 10_000  # of a table in one piece
CHARACTERS = 1 << 16  # of small pieces that are written at once


def csv_pieces(columns: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    r"""Yield columns as CSV, some thousand lines at a time.

    Examples
    --------
    >>> from sticktree.io.streams import csv_pieces
    >>> "".join(csv_pieces({"row": range(2), "name": ["ape", "sea, cow"]}))
    'row,name\n0,ape\n1,"sea, cow"\n'
    """
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"columns must have the same length, got {sizes}")
    n_rows = next(iter(sizes.values()), 0)
    for first in range(0, max(n_rows, 1), LINES):
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if first == 0:
            writer.writerow(columns)
        parts = [column[first : first + LINES] for column in columns.values()]
        writer.writerows(zip(*parts, strict=True))
        yield text.getvalue()


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write text to a file as it comes; the file appears whole or not at all."""
    with (
        atomically(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="", buffering=CHARACTERS) as file,
    ):
        file.writelines(pieces)
