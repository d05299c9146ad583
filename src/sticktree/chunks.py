"""Tables that are larger than memory, read a chunk at a time.

:func:`open_table` opens a file without reading it; :func:`map_chunks` asks a fitted mixture about
the rows of a table.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer
from sticktree.data.sources.formats import open_table
from sticktree.data.sources.tables import CHUNK_ROWS, ChunkedTable, map_table
from sticktree.errors import ParameterError
from sticktree.files import atomically

__all__ = ["ChunkedTable", "map_chunks", "open_table"]


def map_chunks(
    table: str | os.PathLike[str] | npt.NDArray[Any] | ChunkedTable,
    function: Callable[[FloatArray], npt.NDArray[Any]],
    out: str | os.PathLike[str] | npt.NDArray[Any] | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> npt.NDArray[Any]:
    """Return the answers of a function for all rows of a table; it gets some rows at a time.

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
        return map_table(table, function, chunk_rows, out)
    path = Path(out)
    if path.suffix != ".npy":
        raise ParameterError("out", str(path), "an array or a path that ends in .npy")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"out: there is no folder {path.parent}")
    with atomically(path) as temporary:

        def new_file(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
            return np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)

        written = map_table(table, function, chunk_rows, None, new_file)
        assert isinstance(written, np.memmap)
        written.flush()
        del written
    return np.load(path, mmap_mode="r")  # type: ignore[no-any-return]
