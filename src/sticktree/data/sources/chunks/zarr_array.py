"""Tables in arrays of zarr."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.data.sources.chunks.table import ChunkedTable, check_table

__all__ = ["ZarrTable", "is_zarr"]


def is_zarr(path: Path) -> bool:
    """Return whether a folder holds an array or a group of zarr."""
    marks = ("zarr.json", ".zarray", ".zgroup")
    return path.is_dir() and (
        path.suffix == ".zarr" or any((path / mark).exists() for mark in marks)
    )


class ZarrTable(ChunkedTable):
    """The rows of a two-dimensional array of zarr; read in multiples of its own chunks."""

    def __init__(self, path: Path) -> None:
        self.name, self.names, self.path = str(path), None, path
        self.array = self._opened(path)
        check_table(self.name, self.array.shape, self.array.dtype)
        self.n_rows, self.columns = self.array.shape[0], tuple(range(self.array.shape[1]))

    def _opened(self, path: Path) -> Any:
        try:
            zarr = import_module("zarr")
        except ImportError:
            raise ImportError(
                "to read arrays of zarr, install it: pip install 'sticktree[zarr]'"
            ) from None
        try:
            found = zarr.open(str(path), mode="r")
        except Exception as error:  # stores and codecs raise errors of many kinds
            raise ValueError(f"{path} cannot be read as an array of zarr: {error}") from None
        if not isinstance(found, zarr.Array):
            inside = [name for name, _ in found.arrays()]
            more = f", such as {path / inside[0]}" if inside else ""
            raise ValueError(f"{path} is a group of zarr: give one array{more}")
        return found

    def read(self, start: int, stop: int) -> FloatArray:
        """Return the rows from ``start`` up to ``stop``."""
        try:
            rows = np.asarray(self.array[start:stop])
        except Exception as error:
            raise ValueError(f"{self.name} cannot be read: {error}") from None
        if self.columns != tuple(range(self.array.shape[1])):
            rows = rows[:, list(self.columns)]
        return np.array(rows, dtype=np.float64, order="C")

    def _pieces(self, n_rows: int) -> Iterator[FloatArray]:
        height = int(self.array.chunks[0])  # what is read in part is unpacked whole
        step = height * max(n_rows // height, 1)
        for start in range(0, self.n_rows, step):
            yield self.read(start, min(start + step, self.n_rows))
