"""Sample weights as what they mean here: how often a row occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["expand"]


def expand(weights: Any, n_rows: int) -> npt.NDArray[np.int64]:
    """Return the rows, each repeated as often as its weight says; weight 0 leaves a row out.

    Examples
    --------
    >>> from sticktree.data.weights import expand
    >>> expand([2, 0, 1], 3)
    array([0, 0, 2])
    """
    try:
        counts = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be a number for each row, got {weights!r}") from None
    if counts.ndim == 0:
        counts = np.full(n_rows, float(counts))
    if counts.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one number for each of the {n_rows} rows, got an array of "
            f"shape {counts.shape}"
        )
    _refuse(counts, ~np.isfinite(counts), "weights must be finite")
    _refuse(counts, counts < 0, "weights must be at least 0")
    _refuse(
        counts,
        counts != np.floor(counts),
        "weights count how often a row occurs, so they must be whole numbers; to use importance or "
        "sampling weights, round them after scaling, or draw rows in proportion to them",
    )
    if not counts.any():
        raise ValueError("sample_weight is zero for every row: no data are left")
    return np.repeat(np.arange(n_rows), counts.astype(np.int64))


def _refuse(counts: npt.NDArray[np.float64], wrong: npt.NDArray[np.bool], words: str) -> None:
    rows = np.flatnonzero(wrong)
    if rows.size:
        raise ValueError(f"sample_weight[{rows[0]}] = {counts[rows[0]]:g}: {words}")
