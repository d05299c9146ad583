"""Tables that commands are given: how a file is read, and what each of its columns is for."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.data.sources.file_table import is_number
from sticktree.data.sources.files import pick_column, pick_columns, split_list
from sticktree.errors import ParameterError
from sticktree.inference.parameters import PARAMETERS

if TYPE_CHECKING:
    from sticktree.data import Columns, Table
    from sticktree.data.sources.file_table import CellError, FileTable
    from sticktree.data.sources.tables import ChunkedTable

ROLES = ("label", "id", "weights", "group", "condition")  # of columns that are not fitted
READING = ("format", "delimiter", "decimal", "header", "missing", "encoding")
SPOKEN = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " ", "\\t": "\t"}
LARGE_BYTES = 256_000_000
"""Tables that would take more memory than that are read in chunks."""
MANY_ROWS = 200_000  # below, a table is wide, and not one for the sampler for many rows
WHOLE = "--algorithm gibbs reads it whole"
LOOKED_AT = 1000  # rows, to tell what the columns are
NAMES = {parameter.name: parameter.flag for parameter in PARAMETERS.values()}
NAMES |= {"sample_weight": "--weights", "scheduler": "--scheduler", "groups": "--group"}
"""What the terminal calls a parameter."""


@contextmanager
def naming_options() -> Iterator[None]:
    """Have errors call a parameter of the estimator by its option."""
    try:
        yield
    except ParameterError as error:
        name, bracket, part = error.name.partition("[")
        raise error.renamed(f"{NAMES.get(name) or name}{bracket}{part}") from None


# ---- reading a file ----------------------------------------------------------------------------


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options; none has a default, so that those given can be told apart."""
    group = parser.add_argument_group("the file")
    group.add_argument(
        "--format",
        choices=["csv", "tsv", "parquet", "npy"],
        help="format of the file [by its ending, such as .csv, .tsv.gz or .parquet]",
    )
    group.add_argument(
        "--delimiter",
        metavar="MARK",
        help="what separates cells: a character, tab, comma, semicolon or whitespace [detected]",
    )
    group.add_argument(
        "--decimal", metavar="MARK", help="what separates whole numbers from fractions [.]"
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
        "--encoding", metavar="NAME", help="character encoding, such as latin-1 [utf-8]"
    )


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of reading that were given."""
    given = {name: getattr(options, name) for name in READING}
    if given["delimiter"] in SPOKEN:
        given["delimiter"] = SPOKEN[given["delimiter"]]
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
    try:
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir()], 1)
    except OSError:
        near = []
    guess = f"; did you mean {path.parent / near[0]}?" if near else ""
    raise ValueError(f"there is no file {path}{guess}")


@contextmanager
def telling_options(*, fitting: bool = False) -> Iterator[None]:
    """Have errors about a cell, or about reading, name the option that would mend it."""
    from sticktree.data.sources.file_table import CellError

    try:
        yield
    except CellError as error:
        raise ValueError(f"{error} ({_remedies(error, fitting)})") from None
    except ParameterError as error:
        if error.name in READING:
            raise error.renamed(f"--{error.name}") from None
        raise


def _remedies(error: CellError, fitting: bool) -> str:
    if error.decimal_comma:
        return "--decimal ,"
    # A mark that begins with a dash would be taken as an option.
    mark = shlex.quote(f"--missing={error.cell}")
    if not fitting:
        return mark
    kind = shlex.quote(f"{error.column}=categorical")
    drop = shlex.quote(error.column)
    return f"{mark} or --kinds {kind} or --drop {drop}"


# ---- the columns in their roles ----------------------------------------------------------------


def given_table(
    name: str, chosen: dict[str, Any], *, shared: bool = False
) -> FileTable | LargeFile:
    """Read a file, or open it if it is large or ``shared`` by the workers of a cluster."""
    if shared:
        check_shared(name, chosen)
    if shared or is_large(name, chosen):
        return open_large(name)
    return read_rows(name, {k: chosen[k] for k in READING if k in chosen})


def in_roles(table: FileTable | LargeFile, chosen: dict[str, Any]) -> Rows:
    """Give every column its role; errors come before any work."""
    if isinstance(table, LargeFile):
        return large_rows(table, chosen)
    return rows_of(table, chosen)


@dataclass(frozen=True)
class Rows:
    """The rows of a file, each column in its role."""

    table: Any  # a Table, or one that is read in chunks
    columns: Columns
    roles: dict[str, Any]
    ids: list[str] | None = None
    labels: list[str | None] | None = None
    weights: list[float] | None = None
    groups: list[str | None] | None = None
    conditions: dict[str, str] | None = None  # of each group
    missing_cells: int | None = None  # if all were read


def fitted_columns(
    names: list[str], chosen: dict[str, Any]
) -> tuple[list[str], dict[str, str], dict[str, Any]]:
    """Return which columns are fitted, kinds that were declared, and the roles of the others."""
    from sticktree.data.columns import split_pair
    from sticktree.engine.own.kinds import KINDS

    def named(option: str, pick: Any, wanted: Any) -> Any:
        try:
            return pick(names, wanted)
        except ValueError as error:
            raise ValueError(f"--{option}: {error}") from None

    roles: dict[str, Any] = {
        role: named(role, pick_column, chosen[role]) if role in chosen else None for role in ROLES
    }
    taken = {name: role for role, name in roles.items() if name is not None}
    if len(taken) < sum(name is not None for name in roles.values()):
        twice = Counter(filter(None, roles.values())).most_common(1)[0][0]
        listed = ", ".join(f"--{role}" for role in ROLES[:-1])
        raise ValueError(f"column {twice!r} can be one of {listed} and --{ROLES[-1]} only")
    if roles["condition"] is not None and roles["group"] is None:
        raise ValueError("--condition is of groups: give these with --group")
    fitted = [name for name in names if name not in taken]
    if "columns" in chosen:
        fitted = named("columns", pick_columns, chosen["columns"])
    dropped = named("drop", pick_columns, chosen.get("drop", []))
    for name in fitted:
        if name in taken and "columns" in chosen:
            raise ValueError(f"column {name!r} is in --columns and --{taken[name]}: choose one")
    fitted = [name for name in fitted if name not in dropped]
    if not fitted:
        raise ValueError(
            f"no column is left to fit: the file has {', '.join(map(repr, names[:10]))}"
        )
    kinds = {}
    for key, kind in chosen.get("kinds", {}).items():
        both = split_pair(key, names) if KINDS[kind].pair is not None else None
        picked = [named("kinds", pick_column, part) for part in both or (key,)]
        for name in picked:
            if name not in fitted:
                raise ValueError(f"--kinds: column {name!r} is not fitted")
        kinds["/".join(picked)] = kind
    roles["kinds"] = kinds
    roles["ignored"] = [name for name in names if name not in fitted and name not in taken]
    return fitted, kinds, roles


def rows_of(table: FileTable, chosen: dict[str, Any]) -> Rows:
    """Give every column its role."""
    fitted, kinds, roles = fitted_columns(table.names, chosen)
    with telling_options(fitting=True):
        frame = table.typed(fitted, kinds)
    weights = None if roles["weights"] is None else _weights(table, roles["weights"])
    ids = None
    if roles["id"] is not None:
        ids = [f"row {k}" if w is None else w for k, w in enumerate(table.words(roles["id"]))]
        name, often = Counter(ids).most_common(1)[0]
        if often > 1:
            print(
                f"warning: --id {roles['id']}: names are not all different, such as {name!r}, "
                f"which {often} rows have",
                file=sys.stderr,
            )
    labels = None if roles["label"] is None else table.words(roles["label"])
    read = _read(frame, kinds, weights, chosen)
    missing = int(np.isnan(read.values).sum())
    read = replace(read, names=None if ids is None else tuple(ids))
    groups = None if roles["group"] is None else table.words(roles["group"])
    conditions = None if groups is None else _conditions(table, groups, roles)
    return Rows(read, read.columns, roles, ids, labels, weights, groups, conditions, missing)


def _conditions(
    table: FileTable, groups: list[str | None], roles: dict[str, Any]
) -> dict[str, str] | None:
    """Return the condition of each group; all rows of a group have the same."""
    if roles["condition"] is None:
        return None
    found: dict[str, str] = {}
    for group, condition in zip(groups, table.words(roles["condition"]), strict=True):
        if group is None or condition is None:
            continue
        if found.setdefault(group, condition) != condition:
            raise ValueError(
                f"--condition: group {group!r} has rows of {found[group]!r} and of {condition!r}; "
                "a condition is one of whole groups: make groups of both columns together"
            )
    sizes = sorted(Counter(found.values()).values())
    if len(sizes) < 2 or sum(sizes[:2]) < 3:
        got = ", ".join(f"{name!r} with {n}" for name, n in Counter(found.values()).items())
        raise ValueError(
            "--condition: there must be two conditions at least, and three groups in any two, to "
            f"tell how much groups vary; got {got or 'none'}"
        )
    return found


def _weights(table: FileTable, name: str) -> list[float]:
    words = table.words(name)
    for row, word in enumerate(words):
        if word is None or not is_number(word):
            got = "nothing" if word is None else repr(word)
            raise ValueError(
                f"--weights: column {name!r} must hold numbers, got {got} in row {row}"
            )
    return [float(word) for word in words if word is not None]


def _read(
    frame: Any, kinds: dict[str, str], weights: list[float] | None, chosen: dict[str, Any]
) -> Table:
    """Return the table as the estimator takes it; all that may be wrong with it is raised here."""
    from sticktree.data import ColumnError, read_table
    from sticktree.data.training import expand
    from sticktree.inference.candidates import check_noise

    empty = [name for name in frame if frame[name].isna().all()]
    if empty:
        names = shlex.quote(",".join(map(str, empty)))
        raise ValueError(f"these columns have no values at all: --drop {names}")
    with naming_options():
        try:
            table = read_table(frame, kinds or None)
        except ColumnError as error:
            options = "--id or --drop" if error.names_rows else "--drop"
            raise ValueError(f"{error.problem}; give it to {options}") from None
        if weights is not None:
            expand(np.array(weights), len(frame))
        check_noise(chosen.get("noise", "auto"), table.columns.kinds)
    return table


def described(columns: Columns) -> str:
    """Return in words what the columns are, and how to make whole numbers something else."""
    text = columns.describe(advice=False)
    whole = [name for name, flag in zip(columns.names, columns.whole, strict=True) if flag]
    if whole:
        shown = ", ".join(map(str, whole[:6])) + ", …" * (len(whole) > 6)
        hint = shlex.quote(f"{whole[0]}=poisson")
        text += f"\nwhole numbers are taken as gaussian: {shown} (for counts: --kinds {hint})"
    return text


# ---- files that are not read whole --------------------------------------------------------------


@dataclass(frozen=True)
class LargeFile:
    """A table that is read when it is needed."""

    table: ChunkedTable
    source: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.names or ())

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.table.n_rows


def is_large(name: str, chosen: dict[str, Any]) -> bool:
    """Return whether a file is to be read in chunks: if it is large, and can be."""
    from sticktree.data.sources.files import is_table

    path = Path(name)
    if chosen.get("algorithm") == "gibbs" or name == "-" or not path.exists():
        return False
    if path.is_dir() and not is_table(path):
        return False
    binary = (".npy", ".parquet", ".pq")
    if path.is_file() and (
        chosen.get("format") in ("csv", "tsv") or path.suffix.lower() not in binary
    ):
        return False
    if path.suffix.lower() == ".npy" and path.stat().st_size < LARGE_BYTES // 8:
        return False  # of single bytes each
    from sticktree.data.sources.formats import open_unchecked

    try:
        n_rows, n_columns = open_unchecked(path).shape
    except ValueError:
        if path.is_dir():
            raise
        return False  # reading it whole will raise what is wrong with it
    many = n_rows >= MANY_ROWS or chosen.get("algorithm") == "parallel"
    return many and 8 * n_rows * n_columns >= LARGE_BYTES


def check_shared(name: str, chosen: dict[str, Any]) -> None:
    """Raise before any work if workers of a cluster cannot read a file in parts."""
    if chosen.get("algorithm") == "gibbs":
        raise ValueError("--scheduler is not for --algorithm gibbs, which needs all rows in memory")
    path = Path(name)
    if name == "-" or (path.is_file() and path.suffix.lower() not in (".npy", ".parquet", ".pq")):
        raise ValueError(
            f"--scheduler is for Parquet, npy and zarr, which can be read in parts, got {name}"
        )


def open_large(name: str) -> LargeFile:
    """Open a large file; its content is hashed, which reads it once."""
    from sticktree.data.sources.files import content_hash, format_of
    from sticktree.data.sources.formats import open_unchecked

    path = Path(name)
    table = open_unchecked(path)
    if table.names is None:
        table = table.named([f"x{k}" for k in range(table.n_columns)])
    source = {"name": path.name, "sha256": content_hash(path), "format": format_of(path)}
    return LargeFile(table, source)


def large_rows(file: LargeFile, chosen: dict[str, Any]) -> Rows:
    """Give every column its role; errors come before any work."""
    for option in (*ROLES, "missing"):
        if option in chosen:
            raise ValueError(
                f"--{option} is not for tables that are read in chunks, such as {file.table.name}: "
                f"leave it out, or {WHOLE}"
            )
    fitted, kinds, roles = fitted_columns(file.names, chosen)
    for column, kind in kinds.items():
        if kind != "gaussian":
            raise ValueError(
                f"--kinds: column {column!r} cannot be {kind} in a table that is read in chunks, "
                f"such as {file.table.name}: gaussian ones can, and {WHOLE}"
            )
    table = file.table.select([file.names.index(name) for name in fitted])
    try:
        table.check_numbers()
    except ValueError as error:
        raise ValueError(f"{error}: --drop it, or {WHOLE}") from None
    return Rows(table, _columns(table), roles)


def _columns(table: ChunkedTable) -> Columns:
    """Tell what the columns are, by the first rows."""
    from sticktree.data import read_table
    from sticktree.data.sources.files import load_pandas

    some = table.read(0, LOOKED_AT)
    some[:, np.isnan(some).all(axis=0)] = 0.5  # there may be values further down
    frame = load_pandas().DataFrame(some, columns=list(table.names or ()))
    return read_table(frame, None).columns
