"""Partitions of a Dask collection as workers read them: numbers, and what is to be known of them.

What is wrong with a partition is not raised there but told, so that of several errors the first is
always the one that is seen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

__all__ = ["Findings", "Piece", "read_piece"]

FEW = 5  # rows with infinite entries that are named
NUMBERS = "biuf"  # kinds of dtypes


class Findings(NamedTuple):
    """What a partition is like."""

    n: int
    width: int
    wrong: str | None  # what came in place of numbers
    names: tuple[str, ...] | None
    infinite: npt.NDArray[np.int64]  # the first few rows with infinite entries
    n_infinite: int


class Piece(NamedTuple):
    """The rows of a partition, and what they are like."""

    x: FloatArray
    findings: Findings

    @classmethod
    def refused(cls, wrong: str) -> Piece:
        """Return a piece that has no numbers."""
        none = np.empty(0, dtype=np.int64)
        return cls(np.empty((0, 0)), Findings(0, 0, wrong, None, none, 0))


def read_piece(blocks: list[Any]) -> Piece:
    """Read blocks that are side by side, or one data frame."""
    names = None
    if len(blocks) == 1 and hasattr(blocks[0], "columns"):
        names = tuple(map(str, blocks[0].columns))
        try:
            tables = [_frame_numbers(blocks[0])]
        except TypeError as error:
            return Piece.refused(str(error))
    else:
        tables = []
        for block in blocks:
            array = block if isinstance(block, np.ndarray) else np.asarray(block)
            if array.ndim != 2:
                return Piece.refused(f"an array of shape {array.shape}")
            if array.dtype.kind not in NUMBERS:
                return Piece.refused(f"dtype {array.dtype}")
            tables.append(_floats(array))
    heights = {len(table) for table in tables}
    if len(heights) > 1:
        return Piece.refused(f"blocks of {' and '.join(map(str, sorted(heights)))} rows abreast")
    x = np.ascontiguousarray(tables[0] if len(tables) == 1 else np.hstack(tables))
    infinite = np.flatnonzero(np.isinf(x).any(axis=1))
    found = Findings(len(x), x.shape[1], None, names, infinite[:FEW], infinite.size)
    return Piece(x, found)


def _floats(array: npt.NDArray[Any]) -> FloatArray:
    if isinstance(array, np.ma.MaskedArray):  # what is masked is missing
        return np.asarray(np.ma.filled(array.astype(np.float64), np.nan))
    return array.astype(np.float64, copy=False)


def _frame_numbers(frame: Any) -> FloatArray:
    """Return a pandas data frame as numbers, or say which column has none."""
    out = np.empty(frame.shape)
    for d, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if getattr(dtype, "kind", "O") not in NUMBERS or str(dtype) == "category":
            raise TypeError(f"dtype {dtype} in column {name!r}")
        out[:, d] = frame.iloc[:, d].to_numpy(dtype=np.float64, na_value=np.nan)
    return out
