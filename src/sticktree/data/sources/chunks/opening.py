"""From a path to a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.data.sources.chunks.arrays import ArrayTable, NpyTable
from sticktree.data.sources.chunks.parquet import ENDINGS, ParquetTable
from sticktree.data.sources.chunks.table import ChunkedTable
from sticktree.data.sources.chunks.zarr_array import ZarrTable, is_zarr

__all__ = ["open_table", "open_unchecked"]


def open_table(
    source: str | os.PathLike[str] | npt.NDArray[Any] | ChunkedTable,
    columns: Sequence[str | int] | None = None,
) -> ChunkedTable:
    """Open a table of numbers without reading it.

    Parameters
    ----------
    source : path or array
        A ``.npy`` file with a table of any type of number; a ``.parquet`` file or a folder of such
        files, whose columns are all numbers, with nulls for what is missing; the folder of an array
        of zarr; or an array, such as one from ``numpy.load(path, mmap_mode="r")``.
    columns : sequence of str or int, optional
        Names or positions of the columns to read, all by default.

    Returns
    -------
    ChunkedTable
        Which is read some rows at a time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sticktree.chunks import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.npy"
    ...     np.save(path, np.arange(10).reshape(5, 2))
    ...     table = open_table(path)
    ...     [(first, len(rows)) for first, rows in table.chunks(2)]
    [(0, 2), (2, 2), (4, 1)]
    """
    table = open_unchecked(source)
    if columns is not None:
        table = table.select([_position(table, column) for column in columns])
    table.check_numbers()
    return table


def open_unchecked(
    source: str | os.PathLike[str] | npt.NDArray[Any] | ChunkedTable,
) -> ChunkedTable:
    """Open a table some of whose columns may not hold numbers, to select others."""
    if isinstance(source, ChunkedTable):
        return source
    if isinstance(source, np.ndarray):
        return ArrayTable(source)
    path = Path(source)
    if not path.exists():
        raise ValueError(f"there is no file or folder {path}")
    suffix = path.suffix.lower()
    if is_zarr(path):
        return ZarrTable(path)
    if suffix in ENDINGS or path.is_dir():
        return ParquetTable(path)
    if suffix == ".npy":
        return NpyTable(path)
    raise ValueError(
        f"{path} must be a .npy or .parquet file, a folder of .parquet files or an array of zarr"
    )


def _position(table: ChunkedTable, column: str | int) -> int:
    if not isinstance(column, str):
        return column
    if column not in (table.names or ()):
        some = ", ".join(map(repr, (table.names or ())[:10])) or "no names of columns"
        raise ValueError(f"columns: {table.name} has no column {column!r}; it has {some}")
    return (table.names or ()).index(column)
