"""What a fit is given if its rows are a Dask array or data frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.data.given import Given
from sticktree.data.preparation import Preparation
from sticktree.data.sources.dask.placement import DaskRows, DaskStore
from sticktree.data.sources.dask.session import ClusterLostError
from sticktree.data.sources.dask.source import DaskSource
from sticktree.data.store import MemoryStore
from sticktree.estimators.outside_memory import prepared_outside

__all__ = ["given_rows"]


def given_rows(estimator: Any, X: Any, known: Preparation | None) -> Given:  # noqa: N803
    """Read and prepare a Dask collection; ``known`` is how the last fit did, if this one goes on.

    All its columns are gaussian.
    """
    source = DaskSource.of(X)
    names = None if source.names is None else X.columns
    preparation = prepared_outside(estimator, source.n_columns, names, known, source.measure)
    store = source.store(preparation.centre, preparation.spread)
    if known is not None and isinstance(store, DaskStore):
        last = estimator._runs[0].chain.rows
        of_last = last.store if isinstance(last, DaskRows) else None
        if isinstance(last, DaskRows) and of_last is None:
            raise ClusterLostError(
                "the rows of the last fit stayed on the cluster it was copied from"
            )
        if of_last is None or of_last.digest() != store.digest():
            raise ValueError("X must be the data of the last fit when warm_start=True goes on")
    none = np.empty((0, source.n_columns))
    data = store.data if isinstance(store, MemoryStore) else none
    return Given(preparation, data, np.arange(source.n_rows), none, store)
