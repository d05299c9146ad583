"""How finely a column was measured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["smallest_gap"]

ROUNDING = 1e-9
"""Gaps below this part of a column's range come from arithmetic, not from the measurement."""


def smallest_gap(column: npt.ArrayLike) -> float:
    """Return the smallest gap between distinct values of a column, its resolution.

    It is 0 if no value occurs twice, for then the column is continuous, and if there are fewer than
    two distinct values. NaN is left out.

    Examples
    --------
    >>> from sticktree.data import smallest_gap
    >>> smallest_gap([2.0, 4.5, 4.0, 2.0])
    0.5
    >>> smallest_gap([2.0, 4.5, 4.0])
    0.0
    """
    values = np.asarray(column, dtype=np.float64)
    values = values[np.isfinite(values)]
    distinct = np.unique(values)
    if distinct.size == values.size or distinct.size < 2:
        return 0.0
    # Halves, for the range of huge numbers may be no number.
    gaps = np.diff(distinct / 2)
    width = distinct[-1] / 2 - distinct[0] / 2
    spacing = np.finfo(np.float64).eps * np.abs(distinct / 2).max()
    real = gaps[gaps > max(ROUNDING * width, 4 * spacing)]
    return float(2 * real.min()) if real.size else 0.0
