"""Cells of one column as numbers, and errors that name the row of one that is none."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.own.kinds.kind import Cells


class ColumnError(ValueError):
    """A column that cannot be fitted; it may hold the names of the rows."""

    def __init__(self, problem: str, *, names_rows: bool = False) -> None:
        super().__init__(problem)
        self.problem, self.names_rows = problem, names_rows

    def __str__(self) -> str:
        """Return what is wrong, and what to do about it."""
        return f"{self.problem}; remove the column"


def is_missing(value: Any) -> bool:
    """Tell whether a cell is empty: None, NaN, NaT, pandas' NA, or nothing but spaces."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, str):
        return not value.strip()
    try:
        return bool(value != value)  # NaN and NaT are not even equal to themselves
    except (TypeError, ValueError):
        return False


def numbers(cells: Cells) -> FloatArray:
    """Return cells as finite numbers; NaN is what is missing."""
    values = cells.floats()
    if values is None:
        values = _converted(cells)
    refuse(cells, values, np.isinf(values), "is infinite; leave it empty if it is missing")
    return values


def counts(cells: Cells, kind: str) -> FloatArray:
    """Return cells as whole numbers of at least 0."""
    values = numbers(cells)
    wrong = (values < 0) | (values != np.floor(values)) & ~np.isnan(values)
    needs = f"is not a count: a {kind} column needs the whole numbers 0, 1, 2, …"
    refuse(cells, values, wrong, needs)
    return values


def whole(values: FloatArray) -> npt.NDArray[Any]:
    """Return counts as integers, unless one is missing or a mean between two."""
    return values.astype(np.int64) if (values == np.floor(values)).all() else values.copy()


def refuse(cells: Cells, values: FloatArray, wrong: npt.NDArray[np.bool], words: str) -> None:
    """Raise an error for the first of the rows that are wrong, if there is one."""
    rows = np.flatnonzero(wrong)
    if rows.size:
        more = f" (and {rows.size - 1} more rows)" if rows.size > 1 else ""
        raise ValueError(f"{cells.label}, row {rows[0]}: {values[rows[0]]:g} {words}{more}")


def _converted(cells: Cells) -> FloatArray:
    if cells.type == "dates":
        raise ValueError(f"{cells.label} holds dates or times; turn them into numbers")
    result = np.full(len(cells), np.nan)
    for row, value in enumerate(cells.objects()):
        if is_missing(value):
            continue
        if not isinstance(value, Real | Decimal | str):
            raise TypeError(
                f"{cells.label}, row {row}: {value!r} is not a number; the argument must be a "
                "string or a number"
            )
        try:
            result[row] = float(value)
        except (ValueError, OverflowError):
            raise ValueError(
                f"{cells.label}, row {row}: {value!r} is not a number (could not convert string to "
                f"float); declare the column as categorical, columns={{{cells.name!r}: "
                '"categorical"}, or leave the cell empty if it is missing'
            ) from None
    return result
