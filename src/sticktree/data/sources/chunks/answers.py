"""Answers about the rows of a large table, a chunk at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer
from sticktree.data.sources.chunks.opening import open_table
from sticktree.data.sources.chunks.table import ChunkedTable
from sticktree.files import atomically

__all__ = ["map_chunks"]

CHUNK_ROWS = 1 << 16


def map_chunks(
    table: str | os.PathLike[str] | npt.NDArray[Any] | ChunkedTable,
    function: Callable[[FloatArray], npt.NDArray[Any]],
    out: str | os.PathLike[str] | npt.NDArray[Any] | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> npt.NDArray[Any]:
    """Return what a function says of the rows of a table, calling it with some rows at a time.

    Parameters
    ----------
    table : path, array or ChunkedTable
        The rows; see :func:`~sticktree.chunks.open_table`.
    function : callable
        Takes rows and returns an array with a row or a number for each, such as ``score_samples``,
        ``predict`` or ``transform`` of a fitted mixture.
    out : path, array or None, default=None
        Where the answers go: an array that is large enough, or a ``.npy`` file, which appears when
        all is done. None makes a new array in memory.
    chunk_rows : int, default=65536
        How many rows the function gets at a time.

    Returns
    -------
    array
        All answers; of a file, a memory map.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.chunks import map_chunks
    >>> map_chunks(np.arange(6).reshape(3, 2), lambda rows: rows.sum(axis=1), chunk_rows=2)
    array([1., 5., 9.])
    """
    table = open_table(table)
    chunk_rows = check_integer("chunk_rows", chunk_rows, minimum=1)
    if out is None or isinstance(out, np.ndarray):
        return _filled(table, function, chunk_rows, out, _new_array)
    path = Path(out)
    if path.suffix != ".npy":
        raise ValueError(f"out must be an array or a path that ends in .npy, got {str(path)!r}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"out: there is no folder {path.parent}")
    with atomically(path) as temporary:

        def new_file(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
            return np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)

        written = _filled(table, function, chunk_rows, None, new_file)
        assert isinstance(written, np.memmap)
        written.flush()
        del written
    return np.load(path, mmap_mode="r")  # type: ignore[no-any-return]


def _new_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.empty(shape, dtype=dtype)


def _filled(
    table: ChunkedTable,
    function: Callable[[FloatArray], npt.NDArray[Any]],
    chunk_rows: int,
    out: npt.NDArray[Any] | None,
    new: Callable[[tuple[int, ...], np.dtype[Any]], npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    for first, rows in table.chunks(chunk_rows):
        answer = np.asarray(function(rows))
        if answer.ndim == 0 or len(answer) != len(rows):
            raise ValueError(
                f"function must return one answer for each of {len(rows)} rows, got an array of "
                f"shape {answer.shape}"
            )
        shape = (table.n_rows, *answer.shape[1:])
        if out is None:
            out = new(shape, answer.dtype)
        if out.shape != shape:
            raise ValueError(f"out must have shape {shape}, got {out.shape}")
        out[first : first + len(rows)] = answer
    assert out is not None  # a table has rows
    return out
