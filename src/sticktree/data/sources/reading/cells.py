"""Cells of text as what they are: numbers, truth values or categories."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.data.sources.reading.dialect import is_number

__all__ = ["MISSING", "CellError", "convert", "convert_like", "is_mark"]

MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"}
    | {"None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)
"""What is written where there is no value; pandas takes the same as missing."""
TRUTH = {"true": True, "false": False}
NUMERIC = ("gaussian", "lognormal", "poisson", "negative_binomial")

Cells = npt.NDArray[Any]


class CellError(ValueError):
    """A cell is not what its column holds; perhaps its fractions come after a comma."""

    def __init__(
        self,
        column: str,
        cell: str,
        row: int,
        more: int,
        advice: str,
        *,
        decimal_comma: bool = False,
    ) -> None:
        self.column, self.cell, self.decimal_comma = column, cell, decimal_comma
        others = f" and {more} more" * bool(more)
        super().__init__(f"column {column!r} holds {cell!r} (row {row}{others}): {advice}")


def is_mark(cells: Cells, marks: Collection[str]) -> npt.NDArray[np.bool_]:
    """Tell which cells are marks of missing values; -999 also stands for -999.0."""
    found = np.isin(cells.astype(object), list(marks))
    numbers = {float(mark) for mark in marks if is_number(mark)}
    if numbers:
        found |= np.array([is_number(cell) and float(cell) in numbers for cell in cells], bool)
    return found


def convert(
    column: str, cells: Cells, missing: npt.NDArray[np.bool_], kind: str | None, decimal: str = "."
) -> Any:
    """Return a column as numbers, truth values or text, with None or NaN for what is missing.

    Parameters
    ----------
    column : str
        Its name, for messages.
    cells : array of str
        What stands in the file.
    missing : bool array
        Which cells are missing.
    kind : str or None
        The kind that was declared for it, if any.
    decimal : str
        What separates whole numbers from fractions.
    """
    present = cells[~missing]
    if kind in ("bernoulli", "categorical"):
        return _filled(_codes(present), missing)
    numbers = _numbers(present, decimal)
    if numbers is not None:
        return _filled(numbers, missing)
    wrong = np.array([not is_number(cell, decimal) for cell in cells]) & ~missing
    rows = np.flatnonzero(wrong)
    if decimal == "." and all(is_number(cell, ",") for cell in present):
        advice = "that looks like a number with a decimal comma"
        first = int(rows[0])
        raise CellError(column, cells[first], first, rows.size - 1, advice, decimal_comma=True)
    if kind in NUMERIC:
        advice = f"not a number, as a {kind} column needs"
        raise CellError(column, cells[rows[0]], int(rows[0]), rows.size - 1, advice)
    if 2 * rows.size <= present.size:
        advice = "its other cells are numbers; is that a mark of missing values, or a category?"
        raise CellError(column, cells[rows[0]], int(rows[0]), rows.size - 1, advice)
    truth = [TRUTH.get(cell.lower()) for cell in present]
    if None not in truth:
        return _filled(np.array(truth), missing)
    return _filled(present, missing)


def convert_like(
    column: str,
    cells: Cells,
    missing: npt.NDArray[np.bool_],
    categories: tuple[Any, ...],
    decimal: str = ".",
) -> Any:
    """Return a column in the form of one that was read before, whose categories are known."""
    present = cells[~missing]
    if not categories:
        return convert(column, cells, missing, "gaussian", decimal)
    if all(isinstance(category, bool) for category in categories):
        truth = [TRUTH.get(cell.lower(), cell) for cell in present]
        return _filled(np.array(truth, dtype=object), missing)
    if all(isinstance(category, int | float) for category in categories):
        numbers = _numbers(present, decimal)
        return _filled(present if numbers is None else numbers, missing)
    return _filled(present, missing)


def _numbers(present: Cells, decimal: str) -> Cells | None:
    """Return cells as numbers, as integers where all are written as such, or None."""
    if decimal != ".":
        present = np.array([cell.replace(decimal, ".") for cell in present], dtype=object)
    try:
        values = present.astype(np.float64)
    except ValueError:
        return None
    if any("_" in cell for cell in present):  # 1_000 is a number for Python alone
        return None
    if all(cell.lstrip("+-").isdecimal() for cell in present) and (np.abs(values) < 2**53).all():
        return values.astype(np.int64)
    return values


def _codes(present: Cells) -> Cells:
    """Return categories: integers where they are written as such, without leading zeros."""
    whole = _numbers(present, ".")
    if whole is None or whole.dtype != np.int64:
        return present
    as_written = np.array([str(number) for number in whole.tolist()], dtype=object)
    return whole if np.array_equal(as_written, present) else present


def _filled(present: Cells, missing: npt.NDArray[np.bool_]) -> Cells:
    """Return a whole column from the cells that are there."""
    if not missing.any():
        return present
    if present.dtype.kind in "if":
        column = np.full(missing.size, np.nan)
    else:
        column = np.full(missing.size, None, dtype=object)
    column[~missing] = present
    return column
