"""Cells of a column of text as what they are: numbers, truth values, dates or words."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sticktree.data.sources.dates import formats_of, in_days
from sticktree.data.sources.numerals import (
    PLAIN,
    Evidence,
    MixedError,
    Numerals,
    is_number,
    looks_numeric,
)
from sticktree.engine.own.kinds import KINDS

MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"}
    | {"None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)
"""What is written where there is no value; pandas takes the same as missing."""
LIKELY = frozenset(
    {"-", "--", "---", "–", "—", "?", "??", "*", ".", "..", "na", "n.a.", "nd", "n.d.", "n/d"}
    | {"none", "nil", "missing", "unknown", "not available", "not determined", "not measured"}
    | {"#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "n/a", "null", "nan", "<na>"}
)
"""What among numbers stands for a missing one, in small letters."""
TRUTH = {"true": True, "false": False}
DAYS = {"days": "", "days-dmy": "%d", "days-mdy": "%m"}
"""What dates are read as if numbers are asked for, and what comes first in them."""

Cells = npt.NDArray[Any]
Type = Literal["real", "integer", "bool", "text", "dates", "nothing"]


@dataclass(frozen=True, eq=False)
class Held:
    """What a column holds.

    Attributes
    ----------
    type : {"real", "integer", "bool", "text", "dates", "nothing"}
        What its cells are.
    values : array
        They, with NaN or None for what is missing; dates stay as they are written.
    notes : tuple of str
        What is unusual about how they are written.
    problem : str or None
        Why the column cannot be read, said of the column.
    remedies : tuple of (str, str)
        Options of reading, or a "kind" of the column, each of which would mend it.
    formats : tuple of str
        Ways of writing dates that fit all cells.
    """

    type: Type
    values: Cells
    notes: tuple[str, ...] = ()
    problem: str | None = None
    remedies: tuple[tuple[str, str], ...] = ()
    formats: tuple[str, ...] = ()


def is_mark(cells: Cells, marks: Collection[str]) -> npt.NDArray[np.bool_]:
    """Tell which cells are marks of missing values; -999 also stands for -999.0."""
    found = np.isin(cells.astype(object), list(marks))
    numbers = {float(mark) for mark in marks if is_number(mark)}
    if numbers:
        found |= np.array([is_number(cell) and float(cell) in numbers for cell in cells], bool)
    return found


def held(
    cells: Cells,
    missing: npt.NDArray[np.bool_],
    kind: str | None = None,
    given: Numerals | None = None,
    of_file: Collection[str] = (),
) -> Held:
    """Return what a column of text holds.

    Parameters
    ----------
    cells : array of str
        What stands in the file.
    missing : bool array
        Which cells are missing.
    kind : str or None
        The kind that was declared for it, or one of `DAYS`.
    given : Numerals or None, default=None
        How numbers are written, if that is known; None finds it out.
    of_file : collection of str
        Decimal marks that other columns show.
    """
    present = cells[~missing]
    if not present.size:
        return Held("nothing", filled(present, missing))
    if kind in DAYS:
        return _days(cells, missing, str(kind))
    declared = None if kind is None else KINDS[kind]
    if declared is not None and declared.in_words:
        return Held("text", filled(_codes(present), missing))
    if declared is not None and declared.pair is not None:  # cells such as 3/10
        return Held("text", filled(present, missing))
    # Among decimal commas, points may be between thousands.
    other = "," in of_file and any("." in cell for cell in present)
    if given == PLAIN or (given is None and not other):
        numbers = PLAIN.typed(present)
        if numbers is not None:
            return _number(numbers, missing)
    odd = ~missing & np.array([not looks_numeric(cell) for cell in cells])
    if declared is None and 2 * odd.sum() > present.size:
        truth = [TRUTH.get(cell.lower()) for cell in present]
        if None not in truth:
            return Held("bool", filled(np.array(truth), missing))
        formats = formats_of(present)
        if formats:
            return Held("dates", filled(present, missing), formats=tuple(formats))
        return Held("text", filled(present, missing))
    return _numbers_among(cells, missing, odd, kind, given, set(of_file))


def held_like(
    cells: Cells,
    missing: npt.NDArray[np.bool_],
    categories: tuple[Any, ...],
    given: Numerals | None = None,
    of_file: Collection[str] = (),
) -> Held:
    """Return a column in the form of one that was read before, whose categories are known."""
    present = cells[~missing]
    if not categories:
        return held(cells, missing, "gaussian", given, of_file)
    if all(isinstance(category, bool) for category in categories):
        truth = [TRUTH.get(cell.lower(), cell) for cell in present]
        return Held("bool", filled(np.array(truth, dtype=object), missing))
    if all(isinstance(category, int | float) for category in categories):
        numbers = (given or PLAIN).typed(present)
        return Held("text", filled(present if numbers is None else numbers, missing))
    return Held("text", filled(present, missing))


def _numbers_among(
    cells: Cells,
    missing: npt.NDArray[np.bool_],
    odd: npt.NDArray[np.bool_],
    kind: str | None,
    given: Numerals | None,
    of_file: set[str],
) -> Held:
    """Return a column most of whose cells are numbers."""
    marks = np.array([cell.lower() in LIKELY for cell in cells]) & odd
    wrong = np.flatnonzero(odd & ~marks)
    if wrong.size:
        if kind is None:
            why = "among numbers: a mark of missing values, or a category?"
        else:
            why = f"not a number, as a {kind} column needs"
        return _unread(cells, wrong, why, kind)
    notes = []
    if marks.any():
        shown = [f"{mark!r}" for mark in dict.fromkeys(cells[marks].tolist())]
        notes = [f"{', '.join(shown[:4])}{', …' * (len(shown) > 4)} taken as missing"]
    there = cells[~missing & ~marks]
    if not there.size:
        return Held("nothing", filled(there, missing | marks), tuple(notes))
    try:
        how = Evidence.of(there).numerals(of_file) if given is None else _signed(given, there)
    except MixedError as error:
        text = filled(cells[~missing], missing)
        return Held("text", text, (), str(error), error.remedies)
    numbers = how.typed(there)
    if numbers is None:
        others = [row for row in np.flatnonzero(~missing & ~marks) if how.value(cells[row]) is None]
        means = f"not a number with {' and '.join(how.words()) or 'decimal points'}"
        return _unread(cells, np.array(others), means, kind)
    found = _number(numbers, missing | marks)
    return replace(found, notes=(*how.words(), *notes))


def _signed(given: Numerals, cells: Cells) -> Numerals:
    signs = Evidence.of(cells).signs
    return replace(given, sign=next(iter(signs))) if len(signs) == 1 else given


def _unread(cells: Cells, rows: npt.NDArray[Any], why: str, kind: str | None) -> Held:
    first = int(rows[0])
    others = f" and {rows.size - 1} more" if rows.size > 1 else ""
    problem = f"holds {cells[first]!r} (row {first}{others}): {why}"
    distinct = list(dict.fromkeys(cells[rows].tolist()))
    remedies = [("missing", ",".join(distinct))] if len(distinct) <= 3 else []
    if kind is None:
        remedies.append(("kind", "categorical"))
    return Held("text", cells, (), problem, (*remedies, ("kind", "drop")))


def _days(cells: Cells, missing: npt.NDArray[np.bool_], kind: str) -> Held:
    present = cells[~missing]
    formats = [form for form in formats_of(present) if form.startswith(DAYS[kind])]
    if not formats:
        first = "" if kind == "days" else f" with {kind[-3:]} as day, month and year"
        problem = f"holds {present[0]!r}: no dates{first} that can be read"
        return Held("text", filled(present, missing), (), problem, (("kind", "drop"),))
    if len(formats) > 1:
        problem = f"holds dates such as {present[0]!r}: does the day or the month come first?"
        remedies = (("kind", "days-dmy"), ("kind", "days-mdy"))
        return Held("dates", filled(present, missing), (), problem, remedies)
    days = filled(in_days(present, formats[0]), missing)
    return Held("real", days, ("dates, as days since 1970-01-01",), formats=tuple(formats))


def _number(numbers: Cells, missing: npt.NDArray[np.bool_]) -> Held:
    kind: Type = "integer" if numbers.dtype == np.int64 else "real"
    return Held(kind, filled(numbers, missing))


def _codes(present: Cells) -> Cells:
    """Return categories: integers where they are written as such, without leading zeros."""
    whole = PLAIN.typed(present)
    if whole is None or whole.dtype != np.int64:
        return present
    as_written = np.array([str(number) for number in whole.tolist()], dtype=object)
    return whole if np.array_equal(as_written, present) else present


def filled(present: Cells, missing: npt.NDArray[np.bool_]) -> Cells:
    """Return a whole column from the cells that are there."""
    if not missing.any():
        return present
    if present.dtype.kind in "if":
        column = np.full(missing.size, np.nan)
    else:
        column = np.full(missing.size, None, dtype=object)
    column[~missing] = present
    return column
