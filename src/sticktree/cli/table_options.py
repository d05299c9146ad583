"""Options that say how a file of rows is read, for every command that reads one."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.data.sources.names import split_list

if TYPE_CHECKING:
    from sticktree.data.sources.file_table import CellError, FileTable

__all__ = ["READING", "add_reading", "read_rows", "reading_of", "telling_options"]

READING = ("format", "delimiter", "decimal", "header", "missing", "encoding")
SPOKEN = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "\\t": "\t"}


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options; none has a default, so that those given can be told apart."""
    group = parser.add_argument_group("the file")
    group.add_argument(
        "--format",
        choices=["csv", "tsv", "parquet", "npy"],
        help="[by the ending of the name, such as .csv, .tsv.gz or .parquet]",
    )
    group.add_argument(
        "--delimiter",
        metavar="MARK",
        help="what separates cells: a character, tab, comma, semicolon or whitespace [found]",
    )
    group.add_argument(
        "--decimal", metavar="MARK", help="what separates whole numbers from fractions [.]"
    )
    names = group.add_mutually_exclusive_group()
    names.add_argument(
        "--header",
        action="store_const",
        const=True,
        help="the first row has names [unless it has numbers only]",
    )
    names.add_argument(
        "--no-header",
        dest="header",
        action="store_const",
        const=False,
        help="the first row has data; columns are called x0, x1, …",
    )
    group.add_argument(
        "--missing",
        metavar="MARKS",
        type=split_list,
        help="marks of missing values, such as ?,-999, besides empty cells, NA, NaN, null, …",
    )
    group.add_argument("--encoding", metavar="NAME", help="such as latin-1 [utf-8]")


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of reading that were given."""
    given = {name: getattr(options, name) for name in READING}
    if given["delimiter"] in SPOKEN:
        given["delimiter"] = SPOKEN[given["delimiter"]]
    if given["delimiter"] == "":
        raise ValueError("--delimiter must be a character, got none")
    return {name: value for name, value in given.items() if value is not None}


def read_rows(name: str, reading: dict[str, Any]) -> FileTable:
    """Read a file, or standard input for ``-``, and tell what is to be told about it."""
    from sticktree.data.sources.files import read_bytes, read_file, read_folder

    with telling_options():
        if name == "-":
            content = sys.stdin.buffer.read()
            table = read_bytes(content, "-", **{"format": "csv", **reading})
        else:
            path = _existing(Path(name))
            table = (read_folder if path.is_dir() else read_file)(path, **reading)
    for note in table.notes:
        print(f"note: {note}", file=sys.stderr)
    return table


def _existing(path: Path) -> Path:
    from sticktree.data.sources.files import is_table

    if path.is_file():
        return path
    if path.is_dir():
        if is_table(path):
            return path
        raise ValueError(
            f"{path} is a folder: give a file, a folder of Parquet files or an array of zarr"
        )
    try:
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir()], 1)
    except OSError:
        near = []
    guess = f"; did you mean {path.parent / near[0]}?" if near else ""
    raise ValueError(f"there is no file {path}{guess}")


@contextmanager
def telling_options(*, fitting: bool = False) -> Iterator[None]:
    """Add to an error about a cell, or the reading, which option would mend it."""
    from sticktree.data.sources.file_table import CellError

    try:
        yield
    except CellError as error:
        raise ValueError(f"{error} ({_remedies(error, fitting)})") from None
    except ValueError as error:
        first, *rest = str(error).split(" ", 1)
        if first in READING and rest:
            raise ValueError(f"--{first} {rest[0]}") from None
        raise


def _remedies(error: CellError, fitting: bool) -> str:
    if "decimal comma" in str(error):
        return "--decimal ,"
    # A mark that begins with a dash would be taken as an option.
    mark = shlex.quote(f"--missing={error.cell}")
    if not fitting:
        return mark
    kind = shlex.quote(f"{error.column}=categorical")
    drop = shlex.quote(error.column)
    return f"{mark} or --kinds {kind} or --drop {drop}"
