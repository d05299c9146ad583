"""A table from a file, its cells as they stand there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.data.sources.reading.cells import MISSING, Cells, convert, convert_like, is_mark
from sticktree.data.sources.reading.dialect import is_number

if TYPE_CHECKING:
    from sticktree.data import Columns

__all__ = ["FileTable"]


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
        What a person should be told about how it was read.
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
            None if gone else _word(cell)
            for cell, gone in zip(cells.tolist(), missing.tolist(), strict=True)
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

        def series(name: str) -> Any:
            cells, missing = self._cells(name)
            if self.text:
                return convert_like(name, cells, missing, categories[name], self.decimal)
            found = self._without_marks(name, missing)
            if categories[name] and all(isinstance(value, str) for value in categories[name]):
                words = [None if gone else _word(v) for v, gone in zip(found, missing, strict=True)]
                return np.array(words, dtype=object)
            return found

        return self._built(list(columns.names), series)

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
