"""How commands read a file: their options, and errors that name the option to mend them."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.data.sources.naming import split_list
from sticktree.errors import ParameterError
from sticktree.inference.parameters import PARAMETERS

if TYPE_CHECKING:
    from sticktree.data.sources.file_table import FileTable

READING = ("format", "sheet", "delimiter", "decimal", "thousands", "header", "missing", "encoding")
FORMATS = ("csv", "tsv", "xlsx", "xls", "ods", "parquet", "feather", "npy")
SPOKEN = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "\\t": "\t", "point": "."}
NAMES = {parameter.name: parameter.flag for parameter in PARAMETERS.values()}
NAMES |= {"sample_weight": "--weights", "scheduler": "--scheduler", "groups": "--group"}
NAMES |= {"parents": "--parent", "times": "--time"}
"""What the terminal calls a parameter."""


@contextmanager
def naming_options() -> Iterator[None]:
    """Have errors call a parameter of the estimator by its option."""
    try:
        yield
    except ParameterError as error:
        name, bracket, part = error.name.partition("[")
        raise error.renamed(f"{NAMES.get(name) or name}{bracket}{part}") from None


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options; none has a default, so that those given can be told apart."""
    group = parser.add_argument_group("the file")
    group.add_argument(
        "--format",
        choices=FORMATS,
        help="format of the file [by its ending, such as .csv, .tsv.gz, .xlsx or .parquet]",
    )
    group.add_argument(
        "--sheet",
        action="append",
        metavar="NAME",
        help="sheet of a spreadsheet, by name or position; given more than once, their rows are "
        "stacked [the only one]",
    )
    group.add_argument(
        "--delimiter",
        metavar="MARK",
        help="what separates cells: a character, tab, comma, semicolon or whitespace [detected]",
    )
    group.add_argument(
        "--decimal", metavar="MARK", help="what separates whole numbers from fractions [detected]"
    )
    group.add_argument(
        "--thousands", metavar="MARK", help="what stands between thousands [detected]"
    )
    names = group.add_mutually_exclusive_group()
    names.add_argument(
        "--header",
        action="store_const",
        const=True,
        help="the first row holds names [unless it has numbers only]",
    )
    names.add_argument(
        "--no-header",
        dest="header",
        action="store_const",
        const=False,
        help="the first row holds data; columns are called x0, x1, …",
    )
    group.add_argument(
        "--missing",
        metavar="MARKS",
        type=split_list,
        help="marks of missing values, such as ?,-999, besides empty cells, NA, NaN, null, …",
    )
    group.add_argument(
        "--encoding", metavar="NAME", help="character encoding, such as latin-1 [detected]"
    )


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of reading that were given."""
    given = {name: getattr(options, name) for name in READING}
    for name in ("delimiter", "decimal", "thousands"):
        given[name] = SPOKEN.get(given[name], given[name])
    if given["delimiter"] == "":
        raise ParameterError("--delimiter", "", "a character, tab, comma, semicolon or whitespace")
    return {name: value for name, value in given.items() if value is not None}


def read_rows(name: str, reading: dict[str, Any]) -> FileTable:
    """Read a file, or standard input for ``-``, and print notes on how it was read."""
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
    if path.is_symlink() and not path.exists():
        raise ValueError(f"{path} is a link that leads to no file")
    if path.exists():  # a pipe, a device or a socket: it cannot be read twice, as --resume would
        raise ValueError(
            f"{path} is not a regular file: give - and its content on standard input, with "
            "--format unless it is CSV"
        )
    try:
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir()], 1)
    except OSError:
        near = []
    guess = f"; did you mean {path.parent / near[0]}?" if near else ""
    raise ValueError(f"there is no file {path}{guess}")


@contextmanager
def telling_options() -> Iterator[None]:
    """Have errors about columns, or about reading, name the option that would mend them."""
    from sticktree.data.sources.file_table import ReadingError

    try:
        yield
    except ReadingError as error:
        problems = [(name, held.problem, held.remedies) for name, held in error.problems.items()]
        raise ValueError("; ".join(sentences(problems, kinds=False))) from None
    except ParameterError as error:
        if error.name in READING:
            raise error.renamed(f"--{error.name}") from None
        raise


def sentences(problems: Iterable[tuple[Any, Any, Any]], *, kinds: bool = True) -> list[str]:
    """Return what is wrong with columns, each with the options that would mend it."""
    found = []
    for name, problem, remedies in problems:
        options = []
        for option, value in remedies:
            if option == "kind" and kinds:
                options.append(f"--kinds {shlex.quote(f'{name}={value}')}")
            elif option != "kind":
                # A mark that begins with a dash would be taken as an option.
                options.append(shlex.quote(f"--{option}={value}"))
        advice = f" ({' or '.join(options)})" if options else ""
        found.append(f"column {name!r} {problem}{advice}")
    return found
