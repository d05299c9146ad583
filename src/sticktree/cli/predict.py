"""``sticktree predict`` and ``cluster``: clusters of new rows and of old ones."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any

from sticktree.checks import check_integer
from sticktree.cli import Command
from sticktree.cli.output import add_output, add_run, check_file, open_run, write_text
from sticktree.cli.table import READING, add_reading, read_rows, reading_of, telling_options
from sticktree.errors import ParameterError
from sticktree.files import csv_pieces

if TYPE_CHECKING:
    from sticktree.cli.run_folder import RunFolder
    from sticktree.data.sources.file_table import FileTable

__all__ = ["CLUSTER", "PREDICT", "check_level", "new_rows"]


# ---- predict -------------------------------------------------------------------------------------

PREDICT_EPILOG = """\
The table has a line for each row: its number from 0, its name if the file has the column that
named the rows of the fit, the most probable cluster, the probability of that cluster, and the log
density of the row in its own units. Columns are matched by name; others are ignored. Values may be
missing.

examples:
    sticktree predict run new.csv -o predicted.csv
    sticktree predict run new.csv --level 1
    sticktree predict run new.csv --proba -o -
    sticktree predict run gaps.csv --impute -o filled.csv
"""


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    parser.add_argument("data", help="a file of rows like those of the fit; - is standard input")
    add_output(parser)
    parser.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="level of the tree whose clusters are meant [that of the fit]",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--proba", action="store_true", help="add the probability of every cluster")
    what.add_argument(
        "--impute", action="store_true", help="write the rows with missing values filled in instead"
    )
    add_reading(parser)


def run_predict(options: argparse.Namespace) -> None:
    """Predict and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    folder = open_run(options)
    level = check_level(folder, options.level)
    table, frame = new_rows(folder, options.data, options)
    estimator = folder.estimator
    columns: dict[str, Any] = {"row": range(len(frame))}
    name = folder.record["columns"]["id"]
    if name in table.names:
        columns["id"] = ["" if word is None else word for word in table.words(name)]
    if options.impute:
        filled = estimator.impute(frame)
        columns |= {column: filled[column].tolist() for column in filled}
    else:
        probability = estimator.predict_proba(frame, level)
        columns["cluster"] = probability.argmax(axis=1).tolist()
        columns["probability"] = _digits(probability.max(axis=1))
        columns["log_density"] = _digits(estimator.score_samples(frame))
        if options.proba:
            columns |= {f"p_{k}": _digits(probability[:, k]) for k in range(probability.shape[1])}
    write_text(csv_pieces(columns), path)


def check_level(folder: RunFolder, level: int | None) -> int | None:
    """Return a level that the tree of the run has."""
    last = folder.record["result"]["levels"]
    if level is not None and not 0 <= level <= last:
        raise ParameterError("--level", level, f"an integer from 0 to {last}")
    return level


def new_rows(folder: RunFolder, name: str, options: argparse.Namespace) -> tuple[FileTable, Any]:
    """Read new rows with the columns of a run, in the form that they had then."""
    # Options for the first file most likely hold for another one; its format may differ.
    before = {k: v for k, v in folder.record["options"].items() if k in READING and k != "format"}
    table = read_rows(name, before | reading_of(options))
    wanted = folder.record["columns"]["fitted"]
    absent = [column for column in wanted if column not in table.names]
    if absent:
        near = difflib.get_close_matches(absent[0], table.names, 1)
        guess = f" (is {near[0]!r} the column {absent[0]!r}?)" if near else ""
        shown = ", ".join(map(repr, absent[:10])) + ", …" * (len(absent) > 10)
        raise ValueError(f"{name} lacks column{'s' * (len(absent) > 1)} {shown}{guess}")
    with telling_options():
        frame = table.typed_like(folder.estimator.columns_)
    return table, frame


def _digits(values: Any) -> list[str]:
    return [f"{value:.6g}" for value in values]


PREDICT = Command(
    "Assign new rows to the clusters of a run, compute how probable each row is, or "
    "fill in what is missing.",
    add_predict,
    run_predict,
    PREDICT_EPILOG,
)


# ---- cluster -------------------------------------------------------------------------------------

CLUSTER_EPILOG = """\
The result is the flat clustering of least expected loss: its mean distance to the clusterings of
the draws is the least.

examples:
    sticktree cluster run --n-clusters 3
    sticktree cluster run --level 1 --loss binder -o coarse.csv
"""


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_output(parser)
    parser.add_argument(
        "--n-clusters", type=int, metavar="K", help="number of clusters [the one of least loss]"
    )
    parser.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="level of the tree whose clusters are meant [that of the fit]",
    )
    parser.add_argument(
        "--loss",
        choices=["vi", "binder"],
        default="vi",
        help="the loss: variation of information, or Binder's [vi]",
    )


def run_cluster(options: argparse.Namespace) -> None:
    """Cluster and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    folder = open_run(options)
    level = check_level(folder, options.level)
    n_rows = folder.record["data"]["rows"]
    if options.n_clusters is not None:
        check_integer("--n-clusters", options.n_clusters, minimum=1)
        if options.n_clusters > n_rows:
            expected = f"at most {n_rows}, the number of rows"
            raise ParameterError("--n-clusters", options.n_clusters, expected)
    labels = folder.estimator.cluster(level=level, n_clusters=options.n_clusters, loss=options.loss)
    columns: dict[str, Any] = {"row": range(n_rows)}
    for name, words in (("id", folder.ids), ("label", folder.labels)):
        if words is not None:
            columns[name] = ["" if word is None else word for word in words]
    columns["cluster"] = labels.tolist()
    write_text(csv_pieces(columns), path)


CLUSTER = Command(
    "Cut the tree of a run into flat clusters: a given number of them, or those of a level.",
    add_cluster,
    run_cluster,
    CLUSTER_EPILOG,
)
