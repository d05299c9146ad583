"""What a fit is given if its rows are a table that is read in chunks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from sticktree.chunks.prepared import PreparedTable, measure_table
from sticktree.chunks.table import ChunkedTable
from sticktree.given import Given
from sticktree.preparation import Preparation
from sticktree.table import read_table

__all__ = ["given_rows"]


def given_rows(
    estimator: Any,
    table: ChunkedTable,
    sample_weight: Any,
    algorithm: str,
    known: Preparation | None,
) -> Given:
    """Measure and prepare a table; ``known`` is how the last fit did, if this one goes on.

    All its columns are gaussian.
    """
    if algorithm == "gibbs":
        raise ValueError(
            'algorithm must be "parallel" or "auto" for a table that is read in chunks, got '
            '"gibbs"; it takes an array in memory'
        )
    if sample_weight is not None:
        raise ValueError(
            "sample_weight must be None for a table that is read in chunks, got "
            f"{type(sample_weight).__name__}"
        )
    columns = estimator.columns
    kinds = set(columns.values() if isinstance(columns, dict) else columns or ())
    if kinds - {"gaussian"}:
        raise ValueError(
            "columns must all be gaussian for a table that is read in chunks, got "
            f"{', '.join(sorted(map(repr, kinds - {'gaussian'})))}"
        )
    table.check_numbers()
    alike: Any = np.zeros((1, table.n_columns))
    if table.names is not None:
        from sticktree.reading.formats import load_pandas

        alike = load_pandas().DataFrame(alike, columns=list(table.names))
    validate_data(estimator, alike, reset=known is None, skip_check_array=True)
    every = estimator.n_jobs in (None, -1)
    n_threads = (os.cpu_count() or 1) if every else estimator._threads()
    preparation = known
    if preparation is None:
        scale = measure_table(table, n_threads)
        centre, spread = scale.centre, scale.spread
        if not estimator.standardize:
            centre, spread = np.zeros_like(centre), np.ones_like(spread)
        gaussian = read_table(alike, ["gaussian"] * table.n_columns).columns
        preparation = Preparation(gaussian, centre, spread)
    store = PreparedTable(table, preparation.centre, preparation.spread, n_threads=n_threads)
    none = np.empty((0, table.n_columns))
    return Given(preparation, none, np.arange(table.n_rows), none, store)
