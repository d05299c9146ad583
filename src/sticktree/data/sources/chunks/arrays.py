"""Tables in arrays of numpy: files, memory maps, or in memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.sources.chunks.table import ChunkedTable, check_table

__all__ = ["ArrayTable", "NpyTable"]


class ArrayTable(ChunkedTable):
    """The rows of an array; of a memory map, pages are given back once they were read."""

    def __init__(self, array: npt.NDArray[Any], name: str = "X") -> None:
        check_table(name, array.shape, array.dtype)
        self.array, self.name, self.names, self.path = array, name, None, None
        self.n_rows, self.columns = array.shape[0], tuple(range(array.shape[1]))

    def read(self, start: int, stop: int) -> FloatArray:
        """Return the rows from ``start`` up to ``stop``."""
        part = self.array[start:stop]
        if self.columns != tuple(range(self.array.shape[1])):
            part = part[:, list(self.columns)]
        rows = np.array(part, dtype=np.float64, order="C")
        self._give_back()
        return rows

    def _pieces(self, n_rows: int) -> Iterator[FloatArray]:
        for start in range(0, self.n_rows, n_rows):
            yield self.read(start, min(start + n_rows, self.n_rows))

    def _give_back(self) -> None:
        """Let go of the pages of a memory map, which else count as memory of this process."""
        if not isinstance(self.array, np.memmap) or self.array.mode not in ("r", "r+"):
            return  # pages of mode "c" hold changes that are nowhere else
        pages = getattr(self.array, "_mmap", None)
        if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)


class NpyTable(ChunkedTable):
    """The rows of a ``.npy`` file, by plain reads: a file that is cut short is an error."""

    def __init__(self, path: Path) -> None:
        self.name, self.names, self.path = str(path), None, path
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise ValueError(
                f"{path} is not a plain array of numpy, or cut short: {error}"
            ) from None
        if not isinstance(array, np.memmap):
            raise ValueError(f"{path} must hold one array, got several")
        check_table(self.name, array.shape, array.dtype)
        self.n_rows, self.columns = array.shape[0], tuple(range(array.shape[1]))
        self.width, self.dtype, self.offset = array.shape[1], array.dtype, int(array.offset)
        self.by_columns = not array.flags.c_contiguous

    def read(self, start: int, stop: int) -> FloatArray:
        """Return the rows from ``start`` up to ``stop``."""
        stop = min(stop, self.n_rows)
        rows = np.empty((max(stop - start, 0), self.n_columns))
        with Path(self.name).open("rb") as file:
            if self.by_columns:
                for k, column in enumerate(self.columns):
                    rows[:, k] = self._numbers(file, column * self.n_rows + start, len(rows))
            else:
                flat = self._numbers(file, start * self.width, len(rows) * self.width)
                table = flat.reshape(len(rows), self.width)
                whole = self.columns == tuple(range(self.width))
                rows[:] = table if whole else table[:, list(self.columns)]
        return rows

    def _numbers(self, file: Any, first: int, count: int) -> npt.NDArray[Any]:
        file.seek(self.offset + first * self.dtype.itemsize)
        numbers = np.fromfile(file, dtype=self.dtype, count=count)
        if numbers.size != count:
            raise ValueError(f"{self.name} was cut short since it was opened")
        return numbers

    def _pieces(self, n_rows: int) -> Iterator[FloatArray]:
        for start in range(0, self.n_rows, n_rows):
            yield self.read(start, start + n_rows)
