"""``sticktree predict``: clusters and densities of new rows, or what is missing in them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from sticktree.cli import Command
from sticktree.cli.asking import (
    add_which_clusters,
    check_level,
    check_n_clusters,
    named_as_options,
    new_rows,
)
from sticktree.cli.groups import groups_of
from sticktree.cli.options import add_output, add_run, add_safe_csv, is_safe
from sticktree.cli.output import check_file, write_text
from sticktree.cli.reading import add_reading
from sticktree.cli.runs import RunFolder
from sticktree.files import csv_pieces
from sticktree.inference.showing import saying

if TYPE_CHECKING:
    from sticktree.estimators.mixture import DFPMixture

PREDICT_EPILOG = """\
The table has a line for each row: its number from 0, its name if the file has the column that
named the rows of the fit, the most probable cluster, the probability of that cluster, and the log
density of the row in its own units. Columns are matched by name; others are ignored. Values may be
missing. Clusters are those of the fit, unless --n-clusters or --level asks for others.

examples:
    sticktree predict run new.csv -o predicted.csv
    sticktree predict run new.csv --n-clusters 3
    sticktree predict run new.csv --proba -o -
    sticktree predict run gaps.csv --impute -o filled.csv
"""


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    parser.add_argument("data", help="a file of rows like those of the fit; - is standard input")
    add_output(parser)
    add_safe_csv(parser)
    add_which_clusters(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--proba", action="store_true", help="add the probability of every cluster")
    what.add_argument(
        "--impute", action="store_true", help="write the rows with missing values filled in instead"
    )
    add_reading(parser)


def run_predict(options: argparse.Namespace) -> None:
    """Predict and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    folder = RunFolder.open(options.folder)
    level = check_level(folder, options.level)
    check_n_clusters(options.n_clusters, folder.record["data"]["rows"])
    table, frame = new_rows(folder, options.data, options)
    columns: dict[str, Any] = {"row": range(len(frame))}
    name = folder.record["columns"]["id"]
    if name in table.names:
        columns["id"] = ["" if word is None else word for word in table.words(name)]
    with saying(f"predicting {len(frame):,} rows"):
        groups = groups_of(folder, table)
        columns |= _answers(folder.estimator, frame, groups, level, options)
    write_text(csv_pieces(columns, is_safe(options, path)), path)


def _answers(
    estimator: DFPMixture,
    frame: Any,
    groups: list[Any] | None,
    level: int | None,
    options: argparse.Namespace,
) -> dict[str, list[Any]]:
    """Return what is asked of the rows, column by column."""
    if options.impute:
        filled: Any = estimator.impute(frame)
        return {column: filled[column].tolist() for column in filled}
    with named_as_options():
        probability = estimator.predict_proba(frame, level, options.n_clusters, groups)
    columns = {
        "cluster": probability.argmax(axis=1).tolist(),
        "probability": _digits(probability.max(axis=1)),
        "log_density": _digits(estimator.score_samples(frame, groups)),
    }
    if options.proba:
        columns |= {f"p_{k}": _digits(probability[:, k]) for k in range(probability.shape[1])}
    return columns


def _digits(values: Any) -> list[str]:
    return [f"{value:.6g}" for value in values]


PREDICT = Command(
    "Assign new rows to the clusters of a run, compute how probable each row is, or "
    "fill in what is missing.",
    add_predict,
    run_predict,
    PREDICT_EPILOG,
)
