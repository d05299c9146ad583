"""Files that every worker can read, as Dask data frames."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sticktree.checks import FloatArray

__all__ = ["connected", "dask_table"]

PART_BYTES = 64_000_000  # of one partition in memory
PATIENCE = 30.0  # seconds that a scheduler has to answer


def dask_table(path: str | os.PathLike[str], names: Sequence[str]) -> Any:
    """Return columns of an npy file, Parquet files or a zarr array as a Dask data frame.

    Each worker reads its rows by itself, so the path must lead to the same file everywhere.

    Parameters
    ----------
    path : path
        The file or folder.
    names : sequence of str
        The columns to read, by name; x0, x1, … where the file has no names.
    """
    import dask
    import dask.array as da
    import dask.dataframe as dd

    table = _opened(os.fspath(path), names)
    rows = max(PART_BYTES // (8 * len(names)), 1)
    read = dask.delayed(_read, pure=True)
    parts = [
        da.from_delayed(
            read(os.fspath(path), list(names), start, min(start + rows, table.n_rows)),
            (min(rows, table.n_rows - start), len(names)),
            dtype=float,
        )
        for start in range(0, table.n_rows, rows)
    ]
    return dd.from_dask_array(da.concatenate(parts), columns=list(names))


def _opened(path: str, names: Sequence[str]) -> Any:
    from sticktree.data.sources.chunks.opening import open_unchecked

    table = open_unchecked(path)
    known = table.names or [f"x{k}" for k in range(table.n_columns)]
    return table.select([list(known).index(name) for name in names])


def _read(path: str, names: list[str], start: int, stop: int) -> FloatArray:
    rows: FloatArray = _opened(path, names).read(start, stop)
    return rows


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Have a client of a scheduler, while it lasts."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError(
            '--scheduler needs Dask: install it with `pip install "sticktree[dask]"`'
        ) from None
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(
            f"--scheduler must be the address of a Dask scheduler, such as tcp://host:8786, got "
            f"{address!r}: {error}"
        ) from None
    with client:
        yield
