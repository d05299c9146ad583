"""What a fit is given if its rows are a Dask array or data frame."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from sticktree.cluster.lost import ClusterLostError
from sticktree.cluster.rows import DaskRows
from sticktree.cluster.source import DaskSource
from sticktree.cluster.store import DaskStore
from sticktree.given import Given
from sticktree.preparation import Preparation
from sticktree.store import MemoryStore
from sticktree.table import read_table

__all__ = ["given_rows"]


def given_rows(
    estimator: Any,
    X: Any,  # noqa: N803
    sample_weight: Any,
    algorithm: str,
    known: Preparation | None,
) -> Given:
    """Read and prepare a Dask collection; ``known`` is how the last fit did, if this one goes on.

    All its columns are gaussian.
    """
    if algorithm == "gibbs":
        raise ValueError(
            'algorithm must be "parallel" or "auto" for a dask array or DataFrame, got "gibbs"; '
            "it takes X.compute()"
        )
    if sample_weight is not None:
        raise ValueError(
            "sample_weight must be None for a dask array or DataFrame, got "
            f"{type(sample_weight).__name__}"
        )
    columns = estimator.columns
    kinds = set(columns.values() if isinstance(columns, dict) else columns or ())
    if kinds - {"gaussian"}:
        raise ValueError(
            "columns must all be gaussian for a dask array or DataFrame, got "
            f"{', '.join(sorted(map(repr, kinds - {'gaussian'})))}"
        )
    source = DaskSource.of(X)
    table: Any = np.zeros((1, source.n_columns))
    if source.names is not None:
        pandas: Any = sys.modules["pandas"]  # as data frames of Dask are made of its own
        table = pandas.DataFrame(table, columns=list(X.columns))
    validate_data(estimator, table, reset=known is None, skip_check_array=True)
    preparation = known
    if preparation is None:
        scale = source.measure()
        centre, spread = scale.centre, scale.spread
        if not estimator.standardize:
            centre, spread = np.zeros_like(centre), np.ones_like(spread)
        gaussian = read_table(table, ["gaussian"] * source.n_columns).columns
        preparation = Preparation(gaussian, centre, spread)
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
