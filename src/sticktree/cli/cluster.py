"""``sticktree cluster``: another flat clustering from the same fit."""

from __future__ import annotations

import argparse
from typing import Any

from sticktree.checks import check_integer
from sticktree.cli.predict import check_level
from sticktree.cli.run_argument import (
    add_output,
    add_run,
    check_file,
    open_run,
    write_text,
)
from sticktree.files import csv_pieces

__all__ = ["add_to"]

EPILOG = """\
Of all ways to cut the posterior into flat clusters, the one is sought that is least far from the
draws on average, by variation of information or by Binder's loss.

examples:
    sticktree cluster run --n-clusters 3
    sticktree cluster run --level 1 --loss binder -o coarse.csv
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "cluster",
        help="other flat clusters from the same fit",
        description="Cut the tree of a run into flat clusters: so many, or at a level.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, command="cluster", parser=parser)
    add_run(parser)
    add_output(parser)
    parser.add_argument("--n-clusters", type=int, metavar="K", help="how many clusters")
    parser.add_argument(
        "--level", type=int, metavar="L", help="level of the tree [that of the fit]"
    )
    parser.add_argument(
        "--loss", choices=["vi", "binder"], default="vi", help="what is made least [vi]"
    )


def run(options: argparse.Namespace) -> None:
    """Cluster and write."""
    path = check_file(options.output, overwrite=options.overwrite)
    folder = open_run(options)
    level = check_level(folder, options.level)
    n_rows = folder.record["data"]["rows"]
    if options.n_clusters is not None:
        check_integer("--n-clusters", options.n_clusters, minimum=1)
        if options.n_clusters > n_rows:
            raise ValueError(
                f"--n-clusters must be at most {n_rows}, the number of rows, got "
                f"{options.n_clusters}"
            )
    labels = folder.estimator.cluster(level=level, n_clusters=options.n_clusters, loss=options.loss)
    columns: dict[str, Any] = {"row": range(n_rows)}
    for name, words in (("id", folder.ids), ("label", folder.labels)):
        if words is not None:
            columns[name] = ["" if word is None else word for word in words]
    columns["cluster"] = labels.tolist()
    write_text(csv_pieces(columns), path)
