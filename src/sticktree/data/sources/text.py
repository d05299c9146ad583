"""From the bytes of a text file to rows of cells: characters, delimiters, headings and titles.

Files come with titles above the table, a second row of units, a last delimiter too many. What is
left out of the table, and how characters were read, is told in notes.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sticktree.data.sources.naming import distinct
from sticktree.data.sources.numerals import is_number, looks_numeric
from sticktree.errors import ParameterError
from sticktree.optional import load_pandas

WHITESPACE = "whitespace"
"""Any run of spaces and tabs."""
# Commas come last: where cells are separated by something else, commas may be inside numbers.
DELIMITERS = ("\t", ";", "|", ",")
LINES_SEEN = 50
OLDER = "cp1252"  # what most files are in that are not UTF-8
FEW_COLUMNS = 3  # from which on a row with one cell is no row of the table
BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class Layout:
    """Rows of a table as they stand in a file, all cells as text.

    Attributes
    ----------
    frame : pandas.DataFrame
        The cells, under the names of the columns.
    header : bool
        Whether the names come from the file.
    units : tuple of str or None
        A second row of headings, if there was one.
    notes : tuple of str
        What a person should know about how it was read.
    """

    frame: Any
    header: bool
    units: tuple[str, ...] | None
    notes: tuple[str, ...]


# ---- characters ---------------------------------------------------------------------------------


def decoded(content: bytes, name: str, encoding: str | None) -> tuple[str, str, list[str]]:
    """Return the text, its encoding, and notes about lines that are in another one.

    Without an encoding, lines that are not UTF-8 are read as cp1252, in which older programs write,
    and that is said.
    """
    if encoding is not None:
        try:
            return content.decode(encoding), encoding, []
        except UnicodeDecodeError as error:
            raise ParameterError(
                "encoding",
                encoding,
                f"that of {name}",
                "older files are often in latin-1 or cp1252",
                shown=f"{error.encoding}, by which byte {error.start} cannot be read",
            ) from None
        except LookupError:
            raise ParameterError("encoding", encoding, "one that Python knows") from None
    wide = BOMS.get(content[:2]) or _wide(content)
    if wide is not None:
        try:
            return content.decode(wide), wide, []
        except UnicodeDecodeError:
            raise ValueError(f"{name} begins like text in {wide}, but is not") from None
    if b"\0" in content:
        raise ValueError(f"{name} is not text: it has zero bytes")
    try:
        return content.decode("utf-8-sig"), "utf-8", []
    except UnicodeDecodeError:
        return _by_lines(content)


def _by_lines(content: bytes) -> tuple[str, str, list[str]]:
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    texts, other, plain = [], [], 0
    for number, line in enumerate(lines, start=1):
        try:
            texts.append(line.decode("utf-8"))
            plain += not line.isascii()
        except UnicodeDecodeError:
            other.append(number)
            try:
                texts.append(line.decode(OLDER))
            except UnicodeDecodeError:  # a few bytes have no meaning there
                texts.append(line.decode("latin-1"))
    if plain:
        more = f" and {len(other) - 1} other lines are" if other[1:] else " is"
        note = f"the file is in UTF-8, but line {other[0]}{more} not: read as {OLDER}"
        return "\n".join(texts), f"utf-8 and {OLDER}", [note]
    note = f"the file is not in UTF-8: read as {OLDER} (if names look wrong, give --encoding)"
    return "\n".join(texts), OLDER, [note]


def _wide(content: bytes) -> str | None:
    """Return the encoding of text with two bytes a character and no mark of it, or None."""
    head = content[:200]
    if len(head) < 8:
        return None
    even, odd = head[::2].count(0) / len(head[::2]), head[1::2].count(0) / len(head[1::2])
    if odd > 0.7 and even < 0.1:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 and odd < 0.1 else None


# ---- delimiters ---------------------------------------------------------------------------------


def find_delimiter(text: str) -> str:
    r"""Return what separates the cells: the first that cuts all of the first lines alike.

    Examples
    --------
    >>> from sticktree.data.sources.text import find_delimiter
    >>> find_delimiter("length;width\n1,5;2,5\n")
    ';'
    """
    lines = _first_lines(text)
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


def _first_lines(text: str) -> list[str]:
    return [line for line in itertools.islice(io.StringIO(text), LINES_SEEN) if line.strip()]


def names_in_first_row(cells: Sequence[str]) -> bool:
    """Tell whether a first row has names: not if all that is in it are numbers."""
    present = [cell for cell in cells if cell.strip()]
    return not present or not all(map(looks_numeric, present))


# ---- rows ---------------------------------------------------------------------------------------


def rows_of_text(text: str, name: str, delimiter: str) -> tuple[list[list[str]], Any, list[str]]:
    """Return the first row, all others as a frame of text, and notes about lines left out."""
    pandas = load_pandas()
    skipped, first, notes = _above(text, delimiter)
    try:
        frame = pandas.read_csv(
            io.StringIO(text),
            sep=r"\s+" if delimiter == WHITESPACE else delimiter,
            header=None,
            names=None if first is None else range(len(first)),
            skiprows=skipped,
            dtype=object,
            keep_default_na=False,
            na_filter=False,
            index_col=False,
        )
    except ValueError as error:  # pandas' ParserError is one
        words = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise ValueError(
            f"{name} cannot be read as a table with {_spoken(delimiter)}: {words}"
        ) from None
    frame = frame.fillna("")
    return ([] if first is None else [first]), frame, notes


def _above(text: str, delimiter: str) -> tuple[int, list[str] | None, list[str]]:
    """Look at the lines above the table.

    Returns how many lines to skip, the first row if it has to be mended (one name less than the
    other rows have cells), and notes.
    """
    if delimiter == WHITESPACE:
        return 0, None, []
    try:
        source = csv.reader(io.StringIO(text), delimiter=delimiter)
        rows = [(row, source.line_num) for row in itertools.islice(source, LINES_SEEN)]
    except csv.Error:
        return 0, None, []
    filled = [row for row, _ in rows if row]
    if len(filled) < 2:
        return 0, None, []
    width = Counter(map(len, filled)).most_common(1)[0][0]
    skipped, titles, before = 0, [], 0
    for row, line in rows:
        present = [cell for cell in row if cell.strip()]
        is_title = len(present) <= 1 and (len(row) == 1 < width or width >= FEW_COLUMNS)
        if not is_title:
            break
        skipped = line
        titles += present
        before += 1
    if before == len(rows):
        return 0, None, []
    notes = []
    if titles:
        shown = titles[0] if len(titles[0]) <= 40 else titles[0][:39] + "…"
        above = "the line" if len(titles) == 1 else f"{len(titles)} lines"
        notes.append(f"{above} above the table left out: {shown!r}" + ", …" * (len(titles) > 1))
    head, line = rows[before]
    below = [row for row, _ in rows[before + 1 :] if row]
    if not below or any(len(row) != len(head) + 1 for row in below) or not names_in_first_row(head):
        return skipped, None, notes
    # As R writes a table: names of rows have no heading. Or each row ends in a delimiter.
    at_end = all(not row[-1].strip() for row in below)
    return line, [*head, ""] if at_end else ["", *head], notes


def laid_out(
    first: list[list[str]], frame: Any, header: bool | None, notes: Sequence[str] = ()
) -> Layout:
    """Find the headings of rows of cells; ``first`` has a row that was taken off already."""
    pandas = load_pandas()
    notes = list(notes)
    top = first[0] if first else [str(cell) for cell in frame.iloc[0]]
    named = bool(first) or (names_in_first_row(top) if header is None else header)
    units = None
    if named:
        top = [cell.strip() for cell in top]
        frame = (frame if first else frame.iloc[1:]).reset_index(drop=True)
        units = _second_headings(frame) if header is None else None
        if units is not None:
            frame = frame.iloc[1:].reset_index(drop=True)
            top, note = _with_units(top, units)
            notes.append(note)
        names = distinct(top)
        renamed = [new for new, old in zip(names, top, strict=True) if new != old]
        if renamed:
            shown = ", ".join(map(repr, renamed))
            notes.append(f"columns without a name of their own are called {shown}")
    else:
        names = [f"x{k}" for k in range(frame.shape[1])]
        if header is None:
            notes.append(
                "the first row has numbers only and is taken as data; the columns are called "
                f"{names[0]} to {names[-1]}"
            )
    frame.columns = pandas.Index(names)
    frame, below = _without_end(frame)
    return Layout(frame, named, units, tuple(notes + below))


def _second_headings(frame: Any) -> tuple[str, ...] | None:
    """Return the first row below the names if it is one of units or more names, else None.

    It is if in two columns or more it has words above nothing but numbers, and nowhere a number.
    """
    if len(frame) < 3:
        return None
    row = [str(cell).strip() for cell in frame.iloc[0]]
    if any(map(looks_numeric, row)):
        return None
    above = 0
    for k, cell in enumerate(row):
        below = [str(other).strip() for other in frame.iloc[1 : LINES_SEEN + 1, k]]
        present = [other for other in below if other]
        above += bool(cell and present and all(map(looks_numeric, present)))
    return tuple(row) if above >= 2 else None


def _with_units(top: list[str], units: tuple[str, ...]) -> tuple[list[str], str]:
    """Return names from two rows of headings, and a note."""
    shown = ", ".join(repr(cell) for cell in units if cell)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    if all(top) and len(set(top)) == len(top):
        return top, f"the second row has no numbers and is taken as units: {shown}"
    if all(units) and len(set(units)) == len(units):
        return list(units), f"there are two rows of names: the second one is used, {shown}"
    # A heading above several columns stands in the first of them.
    groups: list[str] = []
    for cell in top:
        groups.append(cell or (groups[-1] if groups else ""))
    names = [f"{group} {unit}".strip() for group, unit in zip(groups, units, strict=True)]
    return names, "there are two rows of names: both are used"


def _without_end(frame: Any) -> tuple[Any, list[str]]:
    """Leave out empty rows, and rows with one cell, below the table."""
    if frame.shape[1] < FEW_COLUMNS or len(frame) < 3:
        return frame, []
    tail = frame.iloc[-LINES_SEEN:]
    filled = np.array([[bool(str(cell).strip()) for cell in row] for row in tail.to_numpy()])
    number = filled.sum(axis=1)
    full = np.flatnonzero(number > 1)
    if not full.size or full[-1] == len(tail) - 1:
        return frame, []
    extra = len(tail) - 1 - int(full[-1])
    words = [str(c).strip() for c in tail.iloc[-extra:].to_numpy().ravel() if str(c).strip()]
    kept = frame.iloc[: len(frame) - extra]
    if not words:
        return kept, []  # a spreadsheet's empty rows are nothing to tell of
    rows = "the row" if extra == 1 else f"{extra} rows"
    return kept, [f"{rows} below the table left out: {words[0][:40]!r}"]


def _spoken(delimiter: str) -> str:
    names = {"\t": "tabs", ",": "commas", ";": "semicolons", " ": "spaces"}
    return f"{names.get(delimiter, delimiter)} between its cells"
