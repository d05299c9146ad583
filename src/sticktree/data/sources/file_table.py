"""A table from a file, first as it stands there, then in its types.

A file is read twice. First as it is, every cell of a text file as text; then, once it is known
which columns are wanted and of what kind they are, into numbers and categories
(:meth:`FileTable.typed`). So names of rows keep their zeros, and a stray mark among numbers is
reported.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sticktree.data.sources.cells import DAYS, MISSING, Cells, Held, held, held_like, is_mark
from sticktree.data.sources.numerals import (
    PLAIN,
    Evidence,
    Numerals,
    is_number,
    shown_by,
    written_in,
)
from sticktree.optional import load_pandas

if TYPE_CHECKING:
    from sticktree.data import Columns


class ReadingError(ValueError):
    """Columns that cannot be read: all of them, each with what would mend it.

    Attributes
    ----------
    problems : dict of Held
        By the name of the column.
    """

    def __init__(self, problems: Mapping[str, Held]) -> None:
        self.problems = dict(problems)
        parts = (f"column {name!r} {found.problem}" for name, found in problems.items())
        super().__init__("; ".join(parts))


@dataclass(frozen=True, eq=False)
class FileTable:
    """What was read from a file.

    Attributes
    ----------
    frame : pandas.DataFrame
        All columns. Cells of a text file are text; those of other files have their types.
    text : bool
        Whether the file is a text file, or a sheet whose cells are taken as text.
    source : dict
        Where it came from: name, format, sha256 of its bytes, and how it was read.
    missing : tuple of str
        Marks of missing values, besides the usual ones.
    numerals : Numerals or None
        How numbers are written in a text file; None finds it out, column by column.
    notes : tuple of str
        What a person should know about how it was read.
    labels : tuple of str
        Columns that were added and say where rows came from.
    decimals_before : tuple of str
        Decimal marks of a file that was like this one, which hold where this one shows none.
    """

    frame: Any
    text: bool
    source: dict[str, Any]
    missing: tuple[str, ...] = ()
    numerals: Numerals | None = None
    notes: tuple[str, ...] = field(default=())
    labels: tuple[str, ...] = ()
    decimals_before: tuple[str, ...] = ()

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

    def held(self, column: str, kind: str | None = None) -> Held:
        """Return what a column holds, of a kind that may have been declared."""
        if (column, kind) not in self._held:
            self._held[column, kind] = self._looked_at(column, kind)
        return self._held[column, kind]

    def _looked_at(self, column: str, kind: str | None) -> Held:
        cells, missing = self._cells(column)
        if self.text:
            return held(cells, missing, kind, self.numerals, self.decimals)
        values = self._without_marks(column, missing)
        if kind in DAYS:
            return _days_of(values)
        if missing.all():
            return Held("nothing", values)
        return Held("text", values)  # its type is known by that of the values

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
        ReadingError
            If some cells of columns are numbers and others are not, and no kind says why.
        """
        kinds = kinds or {}
        wanted = self.names if columns is None else columns
        return _built({name: self.held(name, kinds.get(name)) for name in wanted})

    def typed_like(self, columns: Columns, days: Mapping[str, str] | None = None) -> Any:
        """Return the columns of a table that was fitted, in the form that they had then.

        ``days`` has those that were dates, and what they were read as.
        """
        categories = dict(zip(columns.names, columns.categories, strict=True))
        joined = {columns.names[k]: columns.declared[k] for k in columns.joined}
        days = days or {}

        def like(name: str) -> Held:
            if name in days or (self.text and name in joined):
                return self.held(name, days.get(name) or joined[name])
            cells, missing = self._cells(name)
            if self.text:
                return held_like(cells, missing, categories[name], self.numerals, self.decimals)
            found = self._without_marks(name, missing)
            if categories[name] and all(isinstance(value, str) for value in categories[name]):
                words = [None if no else _word(v) for v, no in zip(found, missing, strict=True)]
                return Held("text", np.array(words, dtype=object))
            return Held("text", found)

        return _built({name: like(name) for name in columns.given})

    @cached_property
    def decimals(self) -> set[str]:
        """The decimal marks that cells of any column show, or those of a file before."""
        if not self.text or self.numerals is not None:
            return set() if self.numerals is None else {self.numerals.decimal}

        def shown(name: str) -> Iterable[Evidence]:
            cells, missing = self._cells(name)
            present = cells[~missing]
            if PLAIN.values(present) is None:
                found = Evidence.of(present)
                if 2 * found.n_numbers >= present.size:  # words may hold marks of any kind
                    yield found
                return
            point = (cell for cell in present if "." in cell and shown_by(cell)[0] == "point")
            yield Evidence.of(itertools.islice(point, 1))

        found = written_in(evidence for name in self.names for evidence in shown(name))
        if found or any("." in cell for name in self.names for cell in self._cells(name)[0]):
            return found  # points without commas are decimal, whatever they were before
        return set(self.decimals_before)

    @cached_property
    def _held(self) -> dict[tuple[str, str | None], Held]:
        return {}

    @cached_property
    def _known(self) -> dict[str, tuple[Cells, npt.NDArray[np.bool_]]]:
        return {}

    def _cells(self, column: str) -> tuple[Cells, npt.NDArray[np.bool_]]:
        """Return the cells of a column, and which of them are missing."""
        if column not in self._known:
            self._known[column] = self._looked_up(column)
        return self._known[column]

    def _looked_up(self, column: str) -> tuple[Cells, npt.NDArray[np.bool_]]:
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


def _built(columns: Mapping[str, Held]) -> Any:
    """Return columns as a data frame; raise what is wrong with all of them together."""
    problems = {name: found for name, found in columns.items() if found.problem is not None}
    if problems:
        raise ReadingError(problems)
    return load_pandas().DataFrame({name: found.values for name, found in columns.items()})


def _days_of(values: Any) -> Held:
    """Return dates of a typed file as days since 1970."""
    types = load_pandas().api.types
    notes = ("dates, as days since 1970-01-01",)
    if types.is_timedelta64_dtype(values.dtype):
        return Held("real", values.dt.total_seconds().to_numpy() / 86_400.0, ("spans, as days",))
    if not types.is_datetime64_any_dtype(values.dtype):
        return Held("text", values, (), "holds no dates", (("kind", "drop"),))
    days = load_pandas().to_datetime(values, utc=True).dt.tz_localize(None)
    elapsed = days - load_pandas().Timestamp("1970-01-01")
    return Held("real", elapsed.dt.total_seconds().to_numpy() / 86_400.0, notes)


def _in(cell: Any, marks: set[Any]) -> bool:
    return isinstance(cell, str | int | float) and cell in marks


def _word(cell: Any) -> str:
    """Return a cell as text; whole numbers that a gap made floats are written as whole numbers."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
