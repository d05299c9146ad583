"""What commands that ask a run have in common: which clusters are meant, and new rows."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sticktree.checks import check_integer
from sticktree.cli.reading import READING, read_rows, reading_of, telling_options
from sticktree.cli.runs import RunFolder
from sticktree.errors import ParameterError

if TYPE_CHECKING:
    from sticktree.data.sources.file_table import FileTable


def add_which_clusters(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for other clusters than those of the fit."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--n-clusters",
        type=int,
        metavar="K",
        help="number of clusters that the cluster tree is cut into [that of the fit]",
    )
    which.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="the clusters of least loss at this level of the draws' trees instead, which "
        "clusters.csv has as level_L",
    )


def check_level(folder: RunFolder, level: int | None) -> int | None:
    """Return a level that the tree of the run has."""
    last = folder.record["result"]["levels"]
    if level is not None and not 0 <= level <= last:
        raise ParameterError("--level", level, f"an integer from 0 to {last}")
    return level


def check_n_clusters(n_clusters: int | None, n_rows: int) -> None:
    """Raise if there cannot be so many clusters."""
    if n_clusters is None:
        return
    check_integer("--n-clusters", n_clusters, minimum=1)
    if n_clusters > n_rows:
        expected = f"at most {n_rows}, the number of rows"
        raise ParameterError("--n-clusters", n_clusters, expected)


@contextmanager
def named_as_options() -> Iterator[None]:
    """Let errors about numbers of clusters name the option."""
    try:
        yield
    except ParameterError as error:
        if error.name != "n_clusters":
            raise
        raise error.renamed("--n-clusters") from None


def new_rows(folder: RunFolder, name: str, options: argparse.Namespace) -> tuple[FileTable, Any]:
    """Read new rows with the columns of a run, in the form that they had then."""
    # Options for the first file most likely hold for another one; its format may differ.
    before = {k: v for k, v in folder.record["options"].items() if k in READING and k != "format"}
    table = read_rows(name, before | reading_of(options))
    table = replace(table, decimals_before=tuple(folder.record["data"].get("decimals", ())))
    wanted = folder.record["columns"]["fitted"]
    absent = [column for column in wanted if column not in table.names]
    if absent:
        near = difflib.get_close_matches(absent[0], table.names, 1)
        guess = f" (is {near[0]!r} the column {absent[0]!r}?)" if near else ""
        shown = ", ".join(map(repr, absent[:10])) + ", …" * (len(absent) > 10)
        raise ValueError(f"{name} lacks column{'s' * (len(absent) > 1)} {shown}{guess}")
    with telling_options():
        days = folder.record["columns"].get("days")
        frame = table.typed_like(folder.estimator.columns_, days)
    return table, frame
