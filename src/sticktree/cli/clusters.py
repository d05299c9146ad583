"""``sticktree cluster`` and ``markers``: other clusters of a run, and what makes each."""

from __future__ import annotations

import argparse
from typing import Any

from sticktree.checks import check_integer
from sticktree.cli import Command
from sticktree.cli.asking import check_level, check_n_clusters, named_as_options
from sticktree.cli.options import add_output, add_run, add_safe_csv, is_safe
from sticktree.cli.output import check_file, write_text
from sticktree.cli.runs import RunFolder
from sticktree.cli.spreadsheets import label_columns
from sticktree.errors import ParameterError
from sticktree.files import csv_pieces
from sticktree.inference.showing import saying

# ---- cluster -------------------------------------------------------------------------------------

CLUSTER_EPILOG = """\
walk  cuts the cluster tree: rows are together if chains of draws in which they share a branch
      connect them, so that a bent cluster is one though draws cover it by many branches. Small
      branches apart from all clusters are strays, which join the nearest cluster or get -1
loss  is the clustering whose mean distance to those of the draws is the least; it is as fine as
      they are

examples:
    sticktree cluster run --n-clusters 3
    sticktree cluster run --strays label -o with-strays.csv
    sticktree cluster run --method loss --level 1 --loss binder -o coarse.csv
"""


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_output(parser)
    add_safe_csv(parser)
    parser.add_argument(
        "--n-clusters",
        type=int,
        metavar="K",
        help="number of clusters [that of the fit; with --method loss, that of least loss]",
    )
    parser.add_argument(
        "--method",
        choices=["walk", "loss"],
        default="walk",
        help="how clusters are made from the draws, see below [walk]",
    )
    parser.add_argument(
        "--strays",
        choices=["join", "label"],
        default="join",
        help="whether strays join the nearest cluster, or are labelled -1 [join]",
    )
    parser.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="level of the draws' trees that the walk steps in [that of the fit]; with --method "
        "loss, the one whose clusters are meant [the one on which the draws agree best]",
    )
    parser.add_argument(
        "--loss",
        choices=["vi", "binder"],
        help="with --method loss: variation of information, or Binder's loss [vi]",
    )


def run_cluster(options: argparse.Namespace) -> None:
    """Cluster and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    folder = RunFolder.open(options.folder)
    level = check_level(folder, options.level)
    n_rows = folder.record["data"]["rows"]
    check_n_clusters(options.n_clusters, n_rows)
    _check_method(options)
    with saying("looking for clusters"), named_as_options():
        labels = folder.estimator.cluster(
            options.n_clusters,
            method=options.method,
            strays=options.strays,
            level=level,
            loss=options.loss,
        )
    columns: dict[str, Any] = {"row": range(n_rows)}
    columns |= {} if folder.ids is None else {"id": folder.ids}
    columns |= label_columns(folder.annotations)
    columns["cluster"] = labels.tolist()
    write_text(csv_pieces(columns, is_safe(options, path)), path)


def _check_method(options: argparse.Namespace) -> None:
    """Raise if an option is given that the method has no use for."""
    if options.method == "walk" and options.loss is not None:
        expected = "left out unless --method loss is given"
        raise ParameterError("--loss", options.loss, expected, shown=options.loss)
    if options.method == "loss" and options.strays == "label":
        expected = "join, or left out, where --method is loss, which knows no strays"
        raise ParameterError("--strays", options.strays, expected, shown=options.strays)


CLUSTER = Command(
    "Cut the cluster tree of a run into flat clusters: a given number, or as many as there are.",
    add_cluster,
    run_cluster,
    CLUSTER_EPILOG,
)


# ---- markers -------------------------------------------------------------------------------------

MARKERS_EPILOG = """\
A line is a cluster in a column, against all other rows: means inside and outside (geometric ones of
lognormal columns, rates of binomial ones, of categories the share of the one that is more frequent
by most), the difference in standard deviations (Cohen's d; h of shares) with its 94 % interval, the
posterior probability that inside is higher, and that of the direction found. Lines are sorted by
this evidence, then by effect. To a file they are written as CSV, to the screen as a table.

The clusters were made from these columns: probabilities describe the clusters, and are no test of
whether there are any.

examples:
    sticktree markers run
    sticktree markers run --top 3 -o markers.csv
    sticktree markers run --n-clusters 2 -o -
"""


def add_markers(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_output(parser, "a table on the screen; - is CSV there")
    add_safe_csv(parser)
    parser.add_argument(
        "--top", type=int, metavar="N", help="lines of each cluster [all; on the screen 5]"
    )
    parser.add_argument(
        "--n-clusters", type=int, metavar="K", help="number of clusters [those of the fit]"
    )


def run_markers(options: argparse.Namespace) -> None:
    """Compare and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    if options.top is not None:
        check_integer("--top", options.top, minimum=1)
    folder = RunFolder.open(options.folder)
    check_n_clusters(options.n_clusters, folder.record["data"]["rows"])
    with saying("comparing every cluster with the other rows"):
        labels = None
        if options.n_clusters is not None:
            labels = folder.estimator.cluster(n_clusters=options.n_clusters)
        found = folder.estimator.markers(labels, n_top=options.top)
    if options.output is None:
        print(found)
    else:
        write_text(found.csv(is_safe(options, path)), path)


MARKERS = Command(
    "Compare each cluster of a run with all other rows, column by column: what makes it.",
    add_markers,
    run_markers,
    MARKERS_EPILOG,
)
