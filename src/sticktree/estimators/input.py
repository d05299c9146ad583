"""The part of a mixture that reads the rows it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from sticktree.checks import check_not_infinite, check_observed
from sticktree.data import Columns, Table, read_table
from sticktree.data.given import Given
from sticktree.data.preparation import Preparation
from sticktree.data.sources.dask import is_dask
from sticktree.data.sources.tables import ChunkedTable
from sticktree.data.weights import expand
from sticktree.errors import warn_caller
from sticktree.estimators.outside_memory import check_asked

__all__ = ["ColumnsWarning", "Input", "names_of"]


class ColumnsWarning(UserWarning):
    """The kinds of columns were inferred; it says how."""


class Input:
    """The part of a mixture that reads rows, in memory or elsewhere."""

    columns: Any
    standardize: bool
    columns_: Columns
    _preparation: Preparation

    def _given(self, X: Any, sample_weight: Any, algorithm: str, going_on: bool) -> Given:  # noqa: N803
        """Read the rows and bring them into the units of the engine."""
        known = self._preparation if going_on else None
        if is_dask(X):
            from sticktree.data.sources.dask.given import given_rows

            check_asked(self, sample_weight, algorithm, "a dask array or DataFrame", "X.compute()")
            return given_rows(self, X, known)
        if isinstance(X, ChunkedTable):
            from sticktree.data.sources.chunks.given import given_rows as given_chunks

            chunks, array = "a table that is read in chunks", "an array in memory"
            check_asked(self, sample_weight, algorithm, chunks, array)
            return given_chunks(self, X, known)
        table = self._read(X, reset=not going_on)
        rows = expand(1 if sample_weight is None else sample_weight, len(table.values))
        return Given.of_table(table, rows, self.standardize, algorithm, known)

    def _read(self, X: Any, *, reset: bool) -> Table:  # noqa: N803
        """Read rows, like those of the fit unless ``reset``."""
        columns = self.columns
        if columns is None and not hasattr(X, "columns"):
            X = validate_data(  # noqa: N806
                self, X, dtype=np.float64, order="C", reset=reset, ensure_all_finite=False
            )
            check_not_infinite("X", X)
            if reset:
                check_observed("X", X)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
        if not reset:
            return read_table(X, table=self.columns_)
        table = read_table(X, columns)
        given = columns if isinstance(columns, dict) else dict(enumerate(columns or ()))
        if set(table.columns.kinds) != {"gaussian"} and len(given) < len(table.columns):
            warn_caller(table.columns.describe(), ColumnsWarning)
        return table


def names_of(X: Any) -> tuple[str, ...] | None:  # noqa: N803
    """Return the names of the rows of a data frame, unless they are only numbered."""
    index = None if is_dask(X) else getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return tuple(map(str, index))
