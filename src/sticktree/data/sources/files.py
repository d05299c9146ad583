"""Tables read whole: from text with delimiters, Parquet or npy, also compressed, and folders.

Their columns are named as people name them: by name, position, range or pattern.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

from sticktree.data.sources.file_table import (
    WHITESPACE,
    FileTable,
    find_delimiter,
    names_in_first_row,
)
from sticktree.data.sources.formats import ENDINGS, is_zarr, open_table
from sticktree.data.sources.unpacking import unpacked
from sticktree.errors import ParameterError
from sticktree.files import first_line
from sticktree.npy import read_array

FORMATS = ("csv", "tsv", "parquet", "npy")
SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".data": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
}
MOST_SHOWN = 10  # columns in the message that there is no such column


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
    ...     table = read_file(path, decimal=",")
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
    decimal: str = ".",
    header: bool | None = None,
    missing: Sequence[str] = (),
    encoding: str | None = None,
) -> FileTable:
    """Read a table from the bytes of a file.

    Parameters
    ----------
    content : bytes
        What is in the file.
    name : str
        Its name, whose ending says the format; it may end in .gz, .bz2, .xz or .zip as well.
    format : {"csv", "tsv", "parquet", "npy"} or None, default=None
        The format, if the name does not end in one.
    delimiter : str or None, default=None
        What separates cells; "whitespace" is any run of spaces. None finds it in the first lines.
    decimal : str, default="."
        What separates whole numbers from fractions.
    header : bool or None, default=None
        Whether the first row has the names of the columns. None takes it so unless that row has
        numbers only.
    missing : sequence of str
        Marks of missing values, besides empty cells, NA, NaN, null and their like.
    encoding : str or None, default=None
        How text is coded; None is UTF-8, or UTF-16 if the file begins with its mark.
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
    load_pandas()
    source["format"] = format
    if format == "parquet":
        table = FileTable(_parquet(content, name), False, source, tuple(missing))
    elif format == "npy":
        table = FileTable(_npy(content, name), False, source, tuple(missing))
    else:
        table = _text(
            _decoded(content, name, encoding),
            name,
            source,
            "\t" if format == "tsv" and delimiter is None else delimiter,
            decimal,
            header,
            tuple(missing),
        )
    if not len(table):
        raise ValueError(f"{name} has no rows")
    return table


def _decoded(content: bytes, name: str, encoding: str | None) -> str:
    if encoding is None:
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding)
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


def _text(
    text: str,
    name: str,
    source: dict[str, Any],
    delimiter: str | None,
    decimal: str,
    header: bool | None,
    missing: tuple[str, ...],
) -> FileTable:
    pandas = load_pandas()
    if not text.strip():
        raise ValueError(f"{name} is empty")
    if delimiter is None:
        delimiter = find_delimiter(text)
    if len(decimal) != 1 or decimal == delimiter:
        expected = f"one character other than the delimiter {delimiter!r}"
        raise ParameterError("decimal", decimal, expected)
    try:
        frame = pandas.read_csv(
            io.StringIO(text),
            sep=r"\s+" if delimiter == WHITESPACE else delimiter,
            header=None,
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
    notes = []
    first = [str(cell) for cell in frame.iloc[0]]
    named = names_in_first_row(first) if header is None else header
    if named:
        names = distinct([cell.strip() for cell in first])
        renamed = [new for new, old in zip(names, first, strict=True) if new != old.strip()]
        frame = frame.iloc[1:].reset_index(drop=True)
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
    source |= {"delimiter": delimiter, "decimal": decimal, "header": named}
    return FileTable(frame, True, source, missing, decimal, tuple(notes))


def _parquet(content: bytes, name: str) -> Any:
    pandas = load_pandas()
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(
            "to read Parquet files, install pyarrow: pip install 'sticktree[frames,parquet]'"
        ) from None
    try:
        frame = pandas.read_parquet(io.BytesIO(content), engine="pyarrow")
    except MemoryError:
        raise
    except Exception as error:  # metadata of pandas are read as they come
        raise ValueError(f"{name} is not a Parquet file: {first_line(error)}") from None
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


def load_pandas() -> Any:
    """Return pandas; raise an error that says how to install it if it is missing."""
    try:
        return import_module("pandas")
    except ImportError:
        raise ImportError(
            "to read tables from files, install pandas: pip install 'sticktree[frames]'"
        ) from None


def _spoken(delimiter: str) -> str:
    names = {"\t": "tabs", ",": "commas", ";": "semicolons", " ": "spaces"}
    return f"{names.get(delimiter, delimiter)} between its cells"


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


def split_list(text: str) -> list[str]:
    """Split a list at its commas; quotes keep a comma inside a name.

    Examples
    --------
    >>> from sticktree.data.sources.files import split_list
    >>> split_list('a,"b,c",2-4')
    ['a', 'b,c', '2-4']
    """
    rows = list(csv.reader([text], skipinitialspace=True))
    return [part for row in rows for part in row if part.strip()]


def pick_columns(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the columns that are asked for, in the order of the table.

    Parameters
    ----------
    names : sequence of str
        The columns of the table.
    wanted : sequence of str
        Each a name, a position from 0, a range of positions such as "2-5" or "2-", or a pattern
        such as "gene*". Names come first: a column called "3" is not the fourth.

    Examples
    --------
    >>> from sticktree.data.sources.files import pick_columns
    >>> pick_columns(["id", "x0", "x1", "y"], ["x*", "3"])
    ['x0', 'x1', 'y']
    """
    found: set[int] = set()
    for word in wanted:
        found.update(_positions(names, word))
    return [names[k] for k in sorted(found)]


def pick_column(names: Sequence[str], wanted: str) -> str:
    """Return one column, given by its name or position."""
    if wanted in names:
        return wanted
    if wanted.isdecimal() and int(wanted) < len(names):
        return names[int(wanted)]
    raise ValueError(_unknown(names, wanted))


def distinct(names: Sequence[str]) -> list[str]:
    """Return names that are all different: a, a.1, a.2, as pandas has them; none stays empty.

    Examples
    --------
    >>> from sticktree.data.sources.files import distinct
    >>> distinct(["a", "a", "", "a.1"])
    ['a', 'a.2', 'Unnamed: 2', 'a.1']
    """
    names = [name if name.strip() else f"Unnamed: {k}" for k, name in enumerate(names)]
    taken, seen = set(names), Counter[str]()
    result = []
    for name in names:
        new = name
        while seen[name] and new in taken:
            new = f"{name}.{seen[name]}"
            seen[name] += new in taken
        seen[name] += 1
        taken.add(new)
        result.append(new)
    return result


def _positions(names: Sequence[str], word: str) -> list[int]:
    if word in names:
        return [names.index(word)]
    if word.isdecimal() and int(word) < len(names):
        return [int(word)]
    span = re.fullmatch(r"(\d+)\s*-\s*(\d*)", word)
    if span:
        first, last = int(span[1]), int(span[2] or len(names) - 1)
        if first <= last < len(names):
            return list(range(first, last + 1))
    matching = [k for k, name in enumerate(names) if fnmatchcase(name, word)]
    if matching:
        return matching
    raise ValueError(_unknown(names, word))


def _unknown(names: Sequence[str], word: str) -> str:
    near = difflib.get_close_matches(word, names, 1, 0.6)
    lower = {name.lower(): name for name in names}
    guess = near[0] if near else lower.get(word.lower())
    if guess is not None:
        return f"there is no column {word!r}; did you mean {guess!r}?"
    if re.fullmatch(r"\d+(\s*-\s*\d*)?", word):
        return f"there is no column {word!r}: positions are 0 to {len(names) - 1}"
    shown = ", ".join(map(repr, names[:MOST_SHOWN])) + ", …" * (len(names) > MOST_SHOWN)
    return f"there is no column {word!r}; the columns are {shown}"
