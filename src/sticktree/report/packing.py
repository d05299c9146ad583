"""Numbers as short text: the bytes of arrays, in base64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray

__all__ = ["packed", "packed_column"]

SINGLE_LARGEST, SINGLE_SMALLEST = 1e38, 1e-37
MOST_OFFSET = 100.0  # of a column, in units of its range, that single precision still serves


def packed(values: npt.ArrayLike, dtype: str) -> str:
    """Return the bytes of an array as base64, little-endian as browsers have them.

    Examples
    --------
    >>> from sticktree.report.packing import packed
    >>> packed([1, 2], "int32")
    'AQAAAAIAAAA='
    """
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")


def packed_column(column: FloatArray) -> dict[str, Any]:
    """Return a column in single precision, and how to have it back: ``centre + scale · value``.

    Most columns go as they are. One that single precision cannot hold to six digits of its spread,
    such as seconds since 1970, is centred and scaled.
    """
    seen = np.abs(column[~np.isnan(column)])
    centre, scale = 0.0, 1.0
    if seen.size:
        low, high = float(np.nanmin(column)), float(np.nanmax(column))
        smallest = seen[seen > 0].min(initial=1.0)
        largest = float(seen.max())
        half = high / 2 - low / 2
        offset = largest > MOST_OFFSET * 2 * half and not _is_single(column)
        if largest > SINGLE_LARGEST or smallest < SINGLE_SMALLEST or offset:
            centre, scale = low / 2 + high / 2, half if half > 0 else 1.0
    return {
        "values": packed((column - centre) / scale, "float32"),
        "centre": centre,
        "scale": scale,
    }


def _is_single(column: FloatArray) -> bool:
    """Tell whether single precision holds every value as it is."""
    if np.nanmax(np.abs(column)) > SINGLE_LARGEST:
        return False
    return bool(np.array_equal(column.astype(np.float32), column, equal_nan=True))
