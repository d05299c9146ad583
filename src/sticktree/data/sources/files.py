"""Tables read whole: text with delimiters, spreadsheets, Parquet, Feather or npy, and folders."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sticktree.data.sources.file_table import FileTable
from sticktree.data.sources.formats import ENDINGS, is_zarr, open_table
from sticktree.data.sources.naming import distinct
from sticktree.data.sources.numerals import THOUSANDS, Numerals
from sticktree.data.sources.text import decoded, find_delimiter, laid_out, rows_of_text
from sticktree.data.sources.unpacking import unpacked
from sticktree.errors import ParameterError
from sticktree.files import first_line
from sticktree.npy import read_array
from sticktree.optional import load_pandas

SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".data": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xls": "xls",
    ".ods": "ods",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".npy": "npy",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
SHEETS = ("xlsx", "xls", "ods")
OF_TEXT = ("delimiter", "decimal", "thousands", "header", "encoding")  # options of reading


def read_file(path: str | os.PathLike[str], **options: Any) -> FileTable:
    r"""Read a table from a file; the options are those of :func:`read_bytes`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sticktree.data.sources.files import read_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("name;length\n007;1,5\n008;NA\n")
    ...     table = read_file(path)
    >>> table.words("name")
    ['007', '008']
    >>> table.typed(["length"])["length"].tolist()
    [1.5, nan]
    """
    path = Path(path)
    return read_bytes(path.read_bytes(), path.name, **options)


def read_bytes(
    content: bytes,
    name: str,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    header: bool | None = None,
    missing: Sequence[str] = (),
    encoding: str | None = None,
    sheet: Sequence[str] = (),
) -> FileTable:
    """Read a table from the bytes of a file.

    Parameters
    ----------
    content : bytes
        What is in the file.
    name : str
        Its name, whose ending says the format; it may end in .gz, .bz2, .xz or .zip as well.
    format : {"csv", "tsv", "xlsx", "xls", "ods", "parquet", "feather", "npy"} or None, default=None
        The format, if the name does not end in one.
    delimiter : str or None, default=None
        What separates cells; "whitespace" is any run of spaces. None finds it in the first lines.
    decimal, thousands : str or None, default=None
        What separates whole numbers from fractions, and thousands from each other. None finds both
        out from the cells of every column.
    header : bool or None, default=None
        Whether the first row has the names of the columns. None takes it so unless that row has
        numbers only, and looks for a second row of units as well.
    missing : sequence of str
        Marks of missing values, besides empty cells, NA, NaN, null and their like.
    encoding : str or None, default=None
        How text is coded; None is UTF-8 or what the file begins with, and cp1252 for lines that
        are not.
    sheet : sequence of str
        Names of sheets of a spreadsheet, or their positions; the rows of several are stacked. None
        is needed if only one has rows.
    """
    source: dict[str, Any] = {"name": name, "sha256": hashlib.sha256(content).hexdigest()}
    content, inner = unpacked(content, name)
    if format is None:
        format = SUFFIXES.get(Path(inner).suffix.lower())
        if format is None:
            raise ParameterError(
                "format",
                None,
                f"given, as {name} does not tell it by its ending",
                f"choose from {', '.join(FORMATS)}",
                shown="nothing",
            )
    elif format not in FORMATS:
        raise ParameterError("format", format, f"one of {', '.join(FORMATS)}")
    if sheet and format not in SHEETS:
        expected = f"left out for {name}, which is no spreadsheet"
        raise ParameterError("sheet", sheet, expected, shown=", ".join(sheet))
    load_pandas()
    source["format"] = format
    marks = tuple(missing)
    if format in ("parquet", "feather"):
        table = FileTable(_arrow(content, name, format), False, source, marks)
    elif format == "npy":
        table = FileTable(_npy(content, name), False, source, marks)
    elif format in SHEETS:
        table = _sheets(content, name, source, sheet, header, marks)
    else:
        delimiter = "\t" if format == "tsv" and delimiter is None else delimiter
        table = _text(content, name, source, delimiter, header, encoding, marks)
        numerals = _numerals(decimal, thousands, table.source["delimiter"])
        source |= {"decimal": decimal, "thousands": thousands}
        table = replace(table, numerals=numerals)
    if not len(table):
        raise ValueError(f"{name} has no rows")
    return table


def _numerals(decimal: str | None, thousands: str | None, delimiter: str) -> Numerals | None:
    """Return how numbers are written, as far as that is given."""
    if decimal is not None and (len(decimal) != 1 or decimal == delimiter):
        expected = f"one character other than the delimiter {delimiter!r}"
        raise ParameterError("decimal", decimal, expected)
    if thousands is not None and thousands not in THOUSANDS:
        raise ParameterError("thousands", thousands, "a comma, a point, a space or an apostrophe")
    if decimal is None and thousands is None:
        return None
    if decimal is None:
        decimal = "," if thousands == "." else "."
    if decimal == thousands:
        raise ParameterError("thousands", thousands, f"other than the decimal mark {decimal!r}")
    return Numerals(decimal, thousands or "")


def _text(
    content: bytes,
    name: str,
    source: dict[str, Any],
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    missing: tuple[str, ...],
) -> FileTable:
    text, encoding, notes = decoded(content, name, encoding)
    if not text.strip():
        raise ValueError(f"{name} is empty")
    if delimiter is None:
        delimiter = find_delimiter(text)
    first, frame, above = rows_of_text(text, name, delimiter)
    found = laid_out(first, frame, header, [*notes, *above])
    source |= {"delimiter": delimiter, "header": found.header, "encoding": encoding}
    if found.units is not None:
        source["units"] = list(found.units)
    return FileTable(found.frame, True, source, missing, notes=found.notes)


def _sheets(
    content: bytes,
    name: str,
    source: dict[str, Any],
    sheets: Sequence[str],
    header: bool | None,
    missing: tuple[str, ...],
) -> FileTable:
    from sticktree.data.sources.sheets import read_sheets

    found, read, by = read_sheets(content, name, sheets, header)
    source |= {"sheets": read, "header": found.header}
    labels = () if by is None else (by,)
    return FileTable(found.frame, True, source, missing, notes=found.notes, labels=labels)


def _arrow(content: bytes, name: str, format: str) -> Any:
    pandas = load_pandas()
    spoken = format.capitalize()
    try:
        import_module(f"pyarrow.{format}")
    except ImportError:
        raise ImportError(
            f"to read {spoken} files, install pyarrow: pip install 'sticktree[frames,parquet]'"
        ) from None
    try:
        if format == "feather":
            frame = pandas.read_feather(io.BytesIO(content))
        else:
            frame = pandas.read_parquet(io.BytesIO(content), engine="pyarrow")
    except MemoryError:
        raise
    except Exception as error:  # metadata of pandas are read as they come
        raise ValueError(f"{name} is not a {spoken} file: {first_line(error)}") from None
    frame = frame.reset_index(drop=frame.index.name is None)
    frame.columns = pandas.Index(distinct([str(column) for column in frame.columns]))
    return frame


def _npy(content: bytes, name: str) -> Any:
    pandas = load_pandas()
    if content.startswith(b"PK"):
        raise ValueError(f"{name} must hold one array with rows and columns, got several arrays")
    try:
        array = read_array(content)
    except ValueError as error:
        raise ValueError(f"{name} is not a plain array of numpy: {error}") from None
    if array.ndim not in (1, 2):
        raise ValueError(
            f"{name} must hold one array with rows and columns, got shape {array.shape}"
        )
    if array.size == 0:
        raise ValueError(f"{name} has no rows, or no columns")
    if array.dtype.names:
        return pandas.DataFrame({field: array[field] for field in array.dtype.names})
    if array.ndim == 1:
        array = array[:, None]
    return pandas.DataFrame(array, columns=[f"x{k}" for k in range(array.shape[1])])


# ---- Tables in folders: arrays of zarr, and Parquet files side by side --------------------------


PIECE = 1 << 20  # bytes that are hashed at a time


def read_folder(path: Path, *, missing: Sequence[str] = (), **options: Any) -> FileTable:
    """Read the table in a folder whole; options of text files have no meaning here."""
    for name, value in options.items():
        if name not in ("format", "encoding") and value is not None:
            raise ParameterError(
                name, value, f"left out for a folder such as {path}, where it has no meaning"
            )
    table = open_table(path)
    names = table.names or [f"x{k}" for k in range(table.n_columns)]
    frame = load_pandas().DataFrame(table.read(0, table.n_rows), columns=list(names))
    source = {"name": path.name, "sha256": content_hash(path), "format": format_of(path)}
    return FileTable(frame, False, source, tuple(missing))


def is_table(path: Path) -> bool:
    """Return whether a folder holds a table."""
    return is_zarr(path) or any(inside.suffix.lower() in ENDINGS for inside in path.iterdir())


def format_of(path: Path) -> str:
    """Return the format of a table that is not text."""
    if is_zarr(path):
        return "zarr"
    return "npy" if path.suffix.lower() == ".npy" else "parquet"


def content_hash(path: Path) -> str:
    """Return the sha256 of a file, or of all files below a folder and their names."""
    found = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        if path.is_dir():
            found.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            while piece := content.read(PIECE):
                found.update(piece)
    return found.hexdigest()
