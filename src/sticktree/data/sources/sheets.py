"""Tables from spreadsheets: .xlsx, .xls and .ods, by the names of their sheets."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from sticktree.data.sources.naming import pick_column
from sticktree.data.sources.text import Layout, laid_out
from sticktree.errors import ParameterError
from sticktree.optional import load_pandas, optional

SHEET = "sheet"
"""The column that says from which of several sheets a row came."""


def read_sheets(
    content: bytes, name: str, sheets: Sequence[str], header: bool | None
) -> tuple[Layout, list[str], str | None]:
    """Return the cells of one or several sheets as text.

    Rows of several sheets come one below the other, with a column that names the sheet.

    Returns
    -------
    Layout
        The rows.
    list of str
        The names of the sheets that were read.
    str or None
        The name of the column that says from which sheet a row came.
    """
    book = _opened(content, name)
    wanted = _wanted(book, name, sheets)
    layouts = [_layout(book, name, sheet, header) for sheet in wanted]
    if len(layouts) == 1:
        return layouts[0], wanted, None
    first = layouts[0].frame.columns
    for sheet, layout in zip(wanted, layouts, strict=True):
        here, there = set(layout.frame.columns), set(first)
        if here != there:
            odd = sorted(here ^ there)
            raise ValueError(
                f"{name}: the sheets {wanted[0]!r} and {sheet!r} must have the same columns, got "
                f"{', '.join(map(repr, odd[:5]))} in one of them only"
            )
    by = SHEET if SHEET not in first else f"{SHEET} of {name}"
    parts = [
        layout.frame[list(first)].assign(**{by: sheet})
        for sheet, layout in zip(wanted, layouts, strict=True)
    ]
    frame = load_pandas().concat(parts, ignore_index=True)
    notes = [f"{sheet}: {note}" for s, sheet in enumerate(wanted) for note in layouts[s].notes]
    return Layout(frame, layouts[0].header, layouts[0].units, tuple(notes)), wanted, by


def _opened(content: bytes, name: str) -> Any:
    calamine = optional("python_calamine", extra="sheets", asker=f"to read {name}, sticktree")
    try:
        return calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # a panic of the reader is no Exception
        raise ValueError(f"{name} is not a spreadsheet that can be read: {error}") from None


def _wanted(book: Any, name: str, sheets: Sequence[str]) -> list[str]:
    """Return the sheets that are asked for, or the only one that has anything in it."""
    there = list(book.sheet_names)
    if sheets:
        try:
            return [pick_column(there, sheet) for sheet in sheets]
        except ValueError:
            shown = ", ".join(map(repr, there))
            raise ParameterError("sheet", ", ".join(sheets), f"one of {shown}") from None
    filled = [sheet for sheet in there if len(_rows(book, name, sheet)) > 1]
    if len(filled) > 1:
        shown = ", ".join(map(repr, filled))
        expected = f"given, as {name} has the sheets {shown}"
        raise ParameterError("sheet", None, expected, "choose one or more", shown="nothing")
    if not filled:
        raise ValueError(f"{name} has no sheet with rows")
    return filled


def _rows(book: Any, name: str, sheet: str) -> list[list[Any]]:
    try:
        rows: list[list[Any]] = book.get_sheet_by_name(sheet).to_python()
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        raise ValueError(f"{name}: the sheet {sheet!r} cannot be read: {error}") from None
    return rows


def _layout(book: Any, name: str, sheet: str, header: bool | None) -> Layout:
    rows = [[_text(cell) for cell in row] for row in _rows(book, name, sheet)]
    width = max(map(len, rows), default=0)
    rows = [row + [""] * (width - len(row)) for row in rows]
    titles = []
    while len(rows) > 1 and sum(map(bool, rows[0])) <= 1 and width > 2:
        titles += [cell for cell in rows.pop(0) if cell]
    if len(rows) < 2:
        raise ValueError(f"{name}: the sheet {sheet!r} has no rows")
    notes = [f"the line above the table left out: {title[:40]!r}" for title in titles]
    return laid_out([], load_pandas().DataFrame(rows, dtype=object), header, notes)


def _text(cell: Any) -> str:
    """Return a cell as a text file would have it."""
    if isinstance(cell, str):
        return cell.strip()
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        whole = cell.time() == time()
        return cell.date().isoformat() if whole else cell.isoformat(sep=" ", timespec="seconds")
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, time):
        return cell.isoformat(timespec="seconds")
    if isinstance(cell, timedelta):
        return repr(cell.total_seconds() / 86_400.0)
    return str(cell)
