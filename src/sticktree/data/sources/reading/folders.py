"""Tables in folders: arrays of zarr, and Parquet files side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sticktree.data.sources.reading.file_table import FileTable
from sticktree.data.sources.reading.formats import load_pandas
from sticktree.errors import ParameterError

__all__ = ["content_hash", "format_of", "is_table", "read_folder"]

PIECE = 1 << 20  # bytes that are hashed at a time


def read_folder(path: Path, *, missing: Sequence[str] = (), **options: Any) -> FileTable:
    """Read the table in a folder whole; options of text files have no meaning here."""
    from sticktree.chunks import open_table

    for name, value in options.items():
        if name not in ("format", "encoding") and value is not None:
            raise ParameterError(
                name, value, f"left out for a folder such as {path}, where it has no meaning"
            )
    table = open_table(path)
    names = table.names or [f"x{k}" for k in range(table.n_columns)]
    frame = load_pandas().DataFrame(table.read(0, table.n_rows), columns=list(names))
    source = {"name": path.name, "sha256": content_hash(path), "format": format_of(path)}
    return FileTable(frame, False, source, tuple(missing))


def is_table(path: Path) -> bool:
    """Return whether a folder holds a table."""
    from sticktree.data.sources.chunks.parquet import ENDINGS
    from sticktree.data.sources.chunks.zarr_array import is_zarr

    return is_zarr(path) or any(inside.suffix.lower() in ENDINGS for inside in path.iterdir())


def format_of(path: Path) -> str:
    """Return the format of a table that is not text."""
    from sticktree.data.sources.chunks.zarr_array import is_zarr

    if is_zarr(path):
        return "zarr"
    return "npy" if path.suffix.lower() == ".npy" else "parquet"


def content_hash(path: Path) -> str:
    """Return the sha256 of a file, or of all files below a folder and their names."""
    found = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        if path.is_dir():
            found.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            while piece := content.read(PIECE):
                found.update(piece)
    return found.hexdigest()
