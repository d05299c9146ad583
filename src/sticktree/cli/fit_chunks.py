"""Files that ``sticktree fit`` does not read whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.cli.fit_rows import Rows, fitted_columns

if TYPE_CHECKING:
    from sticktree.chunks import ChunkedTable
    from sticktree.data import Columns

__all__ = ["LARGE_BYTES", "LargeFile", "check_shared", "is_large", "large_rows", "open_large"]

LARGE_BYTES = 256_000_000
"""Tables that would take more memory than that are read in chunks."""
MANY_ROWS = 200_000  # below, a table is wide, and not one for the sampler for many rows
WHOLE = "--algorithm gibbs reads it whole"
LOOKED_AT = 1000  # rows, to say what the columns are


@dataclass(frozen=True)
class LargeFile:
    """A table that is read when it is needed."""

    table: ChunkedTable
    source: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.names or ())

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.table.n_rows


def is_large(name: str, chosen: dict[str, Any]) -> bool:
    """Return whether a file is to be read in chunks: if it is large, and can be."""
    from sticktree.data.sources.files import is_table

    path = Path(name)
    if chosen.get("algorithm") == "gibbs" or name == "-" or not path.exists():
        return False
    if path.is_dir() and not is_table(path):
        return False
    binary = (".npy", ".parquet", ".pq")
    if path.is_file() and (
        chosen.get("format") in ("csv", "tsv") or path.suffix.lower() not in binary
    ):
        return False
    if path.suffix.lower() == ".npy" and path.stat().st_size < LARGE_BYTES // 8:
        return False  # of single bytes each
    from sticktree.data.sources.formats import open_unchecked

    try:
        n_rows, n_columns = open_unchecked(path).shape
    except ValueError:
        if path.is_dir():
            raise
        return False  # what is wrong with it is told by who reads it whole
    many = n_rows >= MANY_ROWS or chosen.get("algorithm") == "parallel"
    return many and 8 * n_rows * n_columns >= LARGE_BYTES


def check_shared(name: str, chosen: dict[str, Any]) -> None:
    """Say before any work if a file is not one that workers of a cluster can read in parts."""
    if chosen.get("algorithm") == "gibbs":
        raise ValueError("--scheduler is not for --algorithm gibbs, which needs all rows in memory")
    path = Path(name)
    if name == "-" or (path.is_file() and path.suffix.lower() not in (".npy", ".parquet", ".pq")):
        raise ValueError(
            f"--scheduler is for Parquet, npy and zarr, which can be read in parts, got {name}"
        )


def open_large(name: str) -> LargeFile:
    """Open a large file; its content is hashed, which reads it once."""
    from sticktree.data.sources.files import content_hash, format_of
    from sticktree.data.sources.formats import open_unchecked

    path = Path(name)
    table = open_unchecked(path)
    if table.names is None:
        table = table.named([f"x{k}" for k in range(table.n_columns)])
    source = {"name": path.name, "sha256": content_hash(path), "format": format_of(path)}
    return LargeFile(table, source)


def large_rows(file: LargeFile, chosen: dict[str, Any]) -> tuple[Rows, Columns]:
    """Give every column its role, and say what is wrong before any work."""
    for option in ("label", "id", "weights", "missing"):
        if option in chosen:
            raise ValueError(
                f"--{option} is not for tables that are read in chunks, such as {file.table.name}: "
                f"leave it out, or {WHOLE}"
            )
    fitted, kinds, roles = fitted_columns(file.names, chosen)
    for column, kind in kinds.items():
        if kind != "gaussian":
            raise ValueError(
                f"--kinds: column {column!r} cannot be {kind} in a table that is read in chunks, "
                f"such as {file.table.name}: gaussian ones can, and {WHOLE}"
            )
    table = file.table.select([file.names.index(name) for name in fitted])
    try:
        table.check_numbers()
    except ValueError as error:
        raise ValueError(f"{error}: --drop it, or {WHOLE}") from None
    return Rows(table, None, None, None, roles), _columns(table)


def _columns(table: ChunkedTable) -> Columns:
    """Say what the columns are, by the first rows."""
    import numpy as np

    from sticktree.data import read_table
    from sticktree.data.sources.files import load_pandas

    some = table.read(0, LOOKED_AT)
    some[:, np.isnan(some).all(axis=0)] = 0.5  # there may be values further down
    frame = load_pandas().DataFrame(some, columns=list(table.names or ()))
    return read_table(frame, None).columns
