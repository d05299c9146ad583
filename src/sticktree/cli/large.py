"""Files that are not read whole: large tables of numbers, and those that workers share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sticktree.data.sources.tables import ChunkedTable

LARGE_BYTES = 256_000_000
"""Tables that would take more memory than that are read in chunks."""
MANY_ROWS = 200_000  # below, a table is wide, and not one for the sampler for many rows
LOOKED_AT = 1000  # rows, to tell what the columns are


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
        return False  # reading it whole will raise what is wrong with it
    many = n_rows >= MANY_ROWS or chosen.get("algorithm") == "parallel"
    return many and 8 * n_rows * n_columns >= LARGE_BYTES


def check_shared(name: str, chosen: dict[str, Any]) -> None:
    """Raise before any work if workers of a cluster cannot read a file in parts."""
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
