"""Cells of one column as numbers, with words that say where one is not what it should be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.containers import Raw, is_missing
from sticktree.data.kinds import Kind

__all__ = ["ColumnError", "encoded", "find_categories", "is_empty"]

MOST_CATEGORIES = 1000
FEW = 10
"""Categories that each occur once are believed up to this number; more look like names of rows."""


def encoded(raw: Raw, kind: Kind, categories: Sequence[Any]) -> FloatArray:
    """Return a column as the engine takes it; NaN is what is missing."""
    if kind in ("bernoulli", "categorical"):
        return _codes(raw, categories)
    values = _numbers(raw)
    _refuse(raw, values, np.isinf(values), "is infinite; leave it empty if it is missing")
    if kind == "lognormal":
        _refuse(raw, values, values <= 0, "is not above 0, as a lognormal column needs")
        return np.log(values)
    if kind in ("poisson", "negative_binomial"):
        wrong = (values < 0) | (values != np.floor(values)) & ~np.isnan(values)
        needs = f"is not a count: a {kind} column needs the whole numbers 0, 1, 2, …"
        _refuse(raw, values, wrong, needs)
    return values


class ColumnError(ValueError):
    """A column that cannot be fitted; it may hold the names of the rows."""

    def __init__(self, problem: str, *, names_rows: bool = False) -> None:
        super().__init__(problem)
        self.problem, self.names_rows = problem, names_rows

    def __str__(self) -> str:
        """Return what is wrong, and what to do about it."""
        return f"{self.problem}; remove the column"


def is_empty(raw: Raw) -> bool:
    """Tell whether all cells of a column are missing."""
    values = raw.floats()
    if values is None:
        return all(map(is_missing, raw.objects()))
    return bool(np.isnan(values).all())


def find_categories(raw: Raw, kind: Kind) -> tuple[Any, ...]:
    """Return the categories of a column, sorted; for other kinds of column there are none."""
    if kind not in ("bernoulli", "categorical"):
        return ()
    present = [value for value in raw.objects() if not is_missing(value)]
    try:
        seen = set(present)
    except TypeError:
        row, value = next((k, v) for k, v in enumerate(raw.objects()) if not _hashable(v))
        raise TypeError(
            f"{raw.label}, row {row}: {value!r} cannot be a category; the argument must be a "
            "string or a number"
        ) from None
    found = _sorted(seen if raw.levels is None else raw.levels)
    if kind == "bernoulli":
        return _two(raw, found)
    if len(found) == 1:
        raise ColumnError(f"{raw.label} is categorical but has one value only, {found[0]!r}")
    if len(seen) == len(present) > FEW:
        raise ColumnError(
            f"{raw.label} is categorical but has another value in every row, such as "
            f"{present[0]!r}: names of rows tell nothing of groups",
            names_rows=True,
        )
    if len(found) > MOST_CATEGORIES:
        raise ColumnError(
            f"{raw.label} is categorical but has {len(found)} categories, more than "
            f"{MOST_CATEGORIES}: merge rare ones"
        )
    return found


def _codes(raw: Raw, categories: Sequence[Any]) -> FloatArray:
    """Return the number of each cell's category; NaN is what is missing."""
    number = {category: float(k) for k, category in enumerate(categories)}
    result = np.full(len(raw), np.nan)
    for row, value in enumerate(raw.objects()):
        if is_missing(value):
            continue
        try:
            result[row] = number[value]
        except (KeyError, TypeError):
            raise ValueError(
                f"{raw.label}, row {row}: {value!r} is not one of the categories that it has had, "
                f"{_listed(categories)}"
            ) from None
    return result


def _two(raw: Raw, found: tuple[Any, ...]) -> tuple[Any, Any]:
    if set(found) <= {0, 1}:  # False and True are equal to these
        truth = raw.type == "bool" or any(isinstance(value, bool) for value in found)
        return (False, True) if truth else (0, 1)
    if len(found) != 2:
        raise ValueError(
            f"{raw.label} is bernoulli and needs two values, but has {len(found)}: "
            f"{_listed(found)}" + "; declare it as categorical" * (len(found) > 2)
        )
    return found[0], found[1]


def _numbers(raw: Raw) -> FloatArray:
    values = raw.floats()
    if values is not None:
        return values
    if raw.type == "dates":
        raise ValueError(f"{raw.label} holds dates or times; turn them into numbers")
    result = np.full(len(raw), np.nan)
    for row, value in enumerate(raw.objects()):
        if is_missing(value):
            continue
        if not isinstance(value, Real | Decimal | str):
            raise TypeError(
                f"{raw.label}, row {row}: {value!r} is not a number; the argument must be a string "
                "or a number"
            )
        try:
            result[row] = float(value)
        except (ValueError, OverflowError):
            raise ValueError(
                f"{raw.label}, row {row}: {value!r} is not a number (could not convert string to "
                f"float); declare the column as categorical, columns={{{raw.name!r}: "
                '"categorical"}, or leave the cell empty if it is missing'
            ) from None
    return result


def _refuse(raw: Raw, values: FloatArray, wrong: npt.NDArray[np.bool], words: str) -> None:
    rows = np.flatnonzero(wrong)
    if rows.size:
        more = f" (and {rows.size - 1} more rows)" if rows.size > 1 else ""
        raise ValueError(f"{raw.label}, row {rows[0]}: {values[rows[0]]:g} {words}{more}")


def _sorted(values: Iterable[Any]) -> tuple[Any, ...]:
    values = list(values)
    try:
        return tuple(sorted(values))
    except TypeError:  # numbers beside text
        return tuple(sorted(values, key=lambda value: (type(value).__name__, str(value))))


def _listed(values: Iterable[Any]) -> str:
    shown = list(values)
    return ", ".join(repr(v) for v in shown[:10]) + f" and {len(shown) - 10} more" * (
        len(shown) > 10
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
