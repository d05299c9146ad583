"""Dask collections made here: answers about rows, and files that every worker can read."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.errors import ParameterError


def map_rows(
    X: Any,  # noqa: N803
    function: Callable[[Any], npt.NDArray[Any]],
    dtype: npt.DTypeLike,
    width: int | None = None,
) -> Any:
    """Return a Dask array of the answers of a function for the rows of each partition.

    Nothing is computed yet. The function, and the estimator it may belong to, is one task of the
    graph, so that it goes to each worker once.

    Parameters
    ----------
    X : dask array or dask DataFrame, shape (n_samples, n_features)
        The rows.
    function : callable
        Takes the rows of a partition, an array or a data frame, and returns an array with one entry
        or one row for each.
    dtype : dtype
        Of what it returns.
    width : int or None, default=None
        Number of columns of what it returns; None is one entry for each row.

    Returns
    -------
    dask array, shape (n_samples,) or (n_samples, width)
        In the same partitions, whose sizes are known if those of ``X`` are.

    Examples
    --------
    >>> import dask.array as da
    >>> from sticktree.cluster import map_rows
    >>> X = da.ones((5, 2), chunks=(3, 1))
    >>> map_rows(X, lambda x: x.sum(axis=1), float).compute(scheduler="sync")
    array([2., 2., 2., 2., 2.])
    """
    import dask.array as da
    from dask.delayed import delayed

    from sticktree.data.sources.dask.source import blocks_of

    blocks, counts = blocks_of(X)
    token = uuid.uuid4().hex  # to compare estimators takes longer than to send one
    asked = delayed(_Asked(function, np.dtype(dtype), width), name=f"sticktree-estimator-{token}")
    answer = delayed(_answer, pure=False)
    tail = () if width is None else (width,)
    parts = [
        da.from_delayed(
            answer(asked, row, dask_key_name=f"sticktree-answer-{token}-{k}"),
            shape=(count, *tail),
            dtype=dtype,
        )
        for k, (row, count) in enumerate(zip(blocks, counts, strict=True))
    ]
    return da.concatenate(parts)


class _Asked:
    """A function, and what an answer without rows is like."""

    def __init__(
        self,
        function: Callable[[Any], npt.NDArray[Any]],
        dtype: np.dtype[Any],
        width: int | None,
    ) -> None:
        self.function, self.dtype, self.width = function, dtype, width


def _answer(asked: _Asked, blocks: list[Any]) -> npt.NDArray[Any]:
    rows = blocks[0] if len(blocks) == 1 else np.hstack(blocks)
    if len(rows):
        return np.asarray(asked.function(rows), dtype=asked.dtype)
    return np.empty((0,) if asked.width is None else (0, asked.width), dtype=asked.dtype)


# ---- Files that every worker can read, as Dask data frames --------------------------------------


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
    from sticktree.data.sources.formats import open_unchecked

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
        raise ImportError(
            "to use a Dask scheduler, install Dask: pip install 'sticktree[dask]'"
        ) from None
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        known = "the address of a Dask scheduler, such as tcp://host:8786"
        raise ParameterError("scheduler", address, known, shown=f"{address!r}: {error}") from None
    with client:
        yield
