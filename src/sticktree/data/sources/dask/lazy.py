"""Answers about the rows of a Dask collection, computed when they are asked for."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["map_rows"]


def map_rows(
    X: Any,  # noqa: N803
    function: Callable[[Any], npt.NDArray[Any]],
    dtype: npt.DTypeLike,
    width: int | None = None,
) -> Any:
    """Return a Dask array of what a function says of the rows of each partition.

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
