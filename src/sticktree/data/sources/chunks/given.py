"""What a fit is given if its rows are a table that is read in chunks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from sticktree.data.given import Given
from sticktree.data.preparation import Preparation
from sticktree.data.sources.prepared import PreparedTable, measure_table
from sticktree.data.sources.tables import ChunkedTable
from sticktree.estimators.outside_memory import prepared_outside

__all__ = ["given_rows"]


def given_rows(estimator: Any, table: ChunkedTable, known: Preparation | None) -> Given:
    """Measure and prepare a table; ``known`` is how the last fit did, if this one goes on.

    All its columns are gaussian.
    """
    table.check_numbers()
    every = estimator.n_jobs in (None, -1)
    n_threads = (os.cpu_count() or 1) if every else estimator._threads()
    preparation = prepared_outside(
        estimator, table.n_columns, table.names, known, lambda: measure_table(table, n_threads)
    )
    store = PreparedTable(table, preparation.centre, preparation.spread, n_threads=n_threads)
    none = np.empty((0, table.n_columns))
    return Given(preparation, none, np.arange(table.n_rows), none, store)
