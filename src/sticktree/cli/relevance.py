"""``sticktree relevance``: which columns carry the clusters of a run."""

from __future__ import annotations

import argparse

from sticktree.checks import check_integer
from sticktree.cli import Command
from sticktree.cli.asking import check_level, check_n_clusters, named_as_options
from sticktree.cli.options import add_output, add_run, add_safe_csv, is_safe
from sticktree.cli.output import check_file, write_text
from sticktree.cli.runs import RunFolder
from sticktree.inference.showing import saying

EPILOG = """\
A line is a column: the share of its variance that is between clusters (of categories, of Gini's
diversity), as a mean and a 94 % interval over draws; the mean share of a column whose values are
dealt out to the rows at random, (clusters - 1) / (values - 1); and (share - chance) / (1 - chance),
by which lines are sorted. In a draw, a branch counts to the cluster that most of its rows are in.
To a file they are written as CSV, to the screen as a table.

The clusters were made from these columns: shares describe the clusters, and are no test.

examples:
    sticktree relevance run
    sticktree relevance run --top 100 -o relevance.csv
    sticktree relevance run --level 1 -o -
"""


def add_relevance(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_run(parser)
    add_output(parser, "a table on the screen; - is CSV there")
    add_safe_csv(parser)
    parser.add_argument("--top", type=int, metavar="N", help="lines [all; on the screen 20]")
    parser.add_argument(
        "--of", choices=("columns", "factors"), default="columns", help="of what [columns]"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--n-clusters", type=int, metavar="K", help="number of clusters [those of the fit]"
    )
    which.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="the branches of the draws' trees at this level, as they are, in place of clusters",
    )


def run_relevance(options: argparse.Namespace) -> None:
    """Compare and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    if options.top is not None:
        check_integer("--top", options.top, minimum=1)
    folder = RunFolder.open(options.folder)
    level = check_level(folder, options.level)
    check_n_clusters(options.n_clusters, folder.record["data"]["rows"])
    with saying("comparing variances between and within clusters"), named_as_options():
        found = folder.estimator.relevance(
            n_clusters=options.n_clusters, level=level, n_top=options.top, of=options.of
        )
    if options.output is None:
        print(found)
    else:
        write_text(found.csv(is_safe(options, path)), path)


RELEVANCE = Command(
    "Compute how much of each column's variance is between the clusters of a run: which columns "
    "carry them.",
    add_relevance,
    run_relevance,
    EPILOG,
)
