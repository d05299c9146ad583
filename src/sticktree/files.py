"""Files that appear whole or not at all, and text that is written piece by piece."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LINES = 10_000  # of a table in one piece
CHARACTERS = 1 << 16  # of small pieces that are written at once


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; rename it when all is written, else remove it."""
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix, delete=False
    ) as file:
        temporary = Path(file.name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def csv_pieces(columns: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    r"""Yield columns as CSV, some thousand lines at a time.

    Examples
    --------
    >>> from sticktree.files import csv_pieces
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
