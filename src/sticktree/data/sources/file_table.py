"""A table from a text file or another, first as it stands there, then in its types.

A file is read twice. First as it is, every cell of a text file as text; then, once it is known
which columns are wanted and of what kind they are, into numbers and categories
(:meth:`FileTable.typed`). So names of rows keep their zeros, and a stray mark among numbers is
reported.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.engine.own.kinds import KINDS

if TYPE_CHECKING:
    from sticktree.data import Columns


WHITESPACE = "whitespace"
"""Any run of spaces and tabs."""
# Commas come last: where cells are separated by something else, commas may be inside numbers.
DELIMITERS = ("\t", ";", "|", ",")
LINES_SEEN = 50


def find_delimiter(text: str) -> str:
    r"""Return what separates the cells: the first that cuts all of the first lines alike.

    Examples
    --------
    >>> from sticktree.data.sources.file_table import find_delimiter
    >>> find_delimiter("length;width\n1,5;2,5\n")
    ';'
    """
    lines = [line for line in itertools.islice(io.StringIO(text), LINES_SEEN) if line.strip()]
    shares = {}
    for delimiter in DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
        except csv.Error:  # a cell longer than any: the delimiter is another one
            continue
        width, often = max(widths.items(), key=lambda pair: (pair[1], pair[0]), default=(1, 0))
        if width > 1:
            shares[delimiter] = often / widths.total()
    if shares:
        # Rows of different lengths are an error, but of which file? Of the likeliest.
        return max(shares, key=lambda delimiter: shares[delimiter])
    cells = [line.split() for line in lines]
    flat = list(itertools.chain.from_iterable(cells))
    if len({len(row) for row in cells}) == 1 and len(cells[0]) > 1:
        numbers = sum(map(is_number, flat))
        if 2 * numbers > len(flat):
            return WHITESPACE
    return ","


def names_in_first_row(cells: list[str]) -> bool:
    """Tell whether a first row has names: not if all that is in it are numbers."""
    present = [cell for cell in cells if cell.strip()]
    return not present or not all(map(is_number, present))


def is_number(cell: str, decimal: str = ".") -> bool:
    """Tell whether a cell is a number."""
    try:
        float(cell if decimal == "." else cell.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in cell  # 1_000 is a number for Python alone


# ---- Cells of text as what they are: numbers, truth values or categories ------------------------


MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null"}
    | {"None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)
"""What is written where there is no value; pandas takes the same as missing."""
TRUTH = {"true": True, "false": False}

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
    declared = None if kind is None else KINDS[kind]
    if declared is not None and declared.in_words:
        return _filled(_codes(present), missing)
    if declared is not None and declared.pair is not None:  # cells such as 3/10
        return _filled(present, missing)
    numbers = _numbers(present, decimal)
    if numbers is not None:
        return _filled(numbers, missing)
    wrong = np.array([not is_number(cell, decimal) for cell in cells]) & ~missing
    rows = np.flatnonzero(wrong)
    if decimal == "." and all(is_number(cell, ",") for cell in present):
        advice = "that looks like a number with a decimal comma"
        first = int(rows[0])
        raise CellError(column, cells[first], first, rows.size - 1, advice, decimal_comma=True)
    if declared is not None:
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


# ---- A table from a file, its cells as they stand there -----------------------------------------


@dataclass(frozen=True, eq=False)
class FileTable:
    """What was read from a file.

    Attributes
    ----------
    frame : pandas.DataFrame
        All columns. Cells of a text file are text; those of other files have their types.
    text : bool
        Whether the file is a text file.
    source : dict
        Where it came from: name, format, sha256 of its bytes, and how it was read.
    missing : tuple of str
        Marks of missing values, besides the usual ones.
    decimal : str
        What separates whole numbers from fractions in a text file.
    notes : tuple of str
        What a person should know about how it was read.
    """

    frame: Any
    text: bool
    source: dict[str, Any]
    missing: tuple[str, ...] = ()
    decimal: str = "."
    notes: tuple[str, ...] = field(default=())

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [str(name) for name in self.frame.columns]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def words(self, column: str) -> list[str | None]:
        """Return a column as text, as it stands in the file; None is what is missing."""
        cells, missing = self._cells(column)
        return [
            None if empty else _word(cell)
            for cell, empty in zip(cells.tolist(), missing.tolist(), strict=True)
        ]

    def typed(
        self, columns: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None
    ) -> Any:
        """Return columns as an estimator takes them.

        Parameters
        ----------
        columns : sequence of str or None, default=None
            Which ones; None takes all.
        kinds : dict of str, optional
            Kinds of columns that were declared. Without one, a column of a text file holds numbers
            if all its cells are numbers, truth values if all are "true" or "false", else text.

        Raises
        ------
        CellError
            If some cells of a column are numbers and others are not, and no kind says why.
        """
        kinds = kinds or {}

        def series(name: str) -> Any:
            cells, missing = self._cells(name)
            if self.text:
                return convert(name, cells, missing, kinds.get(name), self.decimal)
            return self._without_marks(name, missing)

        return self._built(self.names if columns is None else columns, series)

    def typed_like(self, columns: Columns) -> Any:
        """Return the columns of a table that was fitted, in the form that they had then."""
        categories = dict(zip(columns.names, columns.categories, strict=True))
        joined = {columns.names[k]: columns.declared[k] for k in columns.joined}

        def series(name: str) -> Any:
            cells, missing = self._cells(name)
            if self.text and name in joined:
                return convert(name, cells, missing, joined[name])
            if self.text:
                return convert_like(name, cells, missing, categories[name], self.decimal)
            found = self._without_marks(name, missing)
            if categories[name] and all(isinstance(value, str) for value in categories[name]):
                words = [None if no else _word(v) for v, no in zip(found, missing, strict=True)]
                return np.array(words, dtype=object)
            return found

        return self._built(list(columns.given), series)

    def _built(self, columns: Iterable[str], series: Any) -> Any:
        return import_module("pandas").DataFrame({name: series(name) for name in columns})

    def _cells(self, column: str) -> tuple[Cells, npt.NDArray[np.bool_]]:
        """Return the cells of a column, and which of them are missing."""
        values = self.frame[column]
        if self.text:
            cells = np.array([cell.strip() for cell in values], dtype=object)
            return cells, is_mark(cells, MISSING | set(self.missing))
        missing = values.isna().to_numpy(bool)
        cells = values.to_numpy(dtype=object)
        if self.missing:
            marks = set(self.missing) | {float(m) for m in self.missing if is_number(m)}
            missing = missing | np.array([_in(cell, marks) for cell in cells], dtype=bool)
        return cells, missing

    def _without_marks(self, column: str, missing: npt.NDArray[np.bool_]) -> Any:
        """Return a column of a typed file, its marks of missing values removed."""
        values = self.frame[column].reset_index(drop=True)
        return values.mask(missing) if self.missing and missing.any() else values


def _in(cell: Any, marks: set[Any]) -> bool:
    return isinstance(cell, str | int | float) and cell in marks


def _word(cell: Any) -> str:
    """Return a cell as text; whole numbers that a gap made floats are written as whole numbers."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
