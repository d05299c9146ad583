"""``sticktree report``: a page to explore a run in a browser."""

from __future__ import annotations

import argparse
from typing import Any

from sticktree.cli.run_argument import add_run, check_file, open_run

__all__ = ["add_to"]

EPILOG = """\
The page is one file that needs no network: open it in any browser, or send it to a colleague.

examples:
    sticktree report run -o report.html
    sticktree report run -o iris.html --title 'Iris, 150 flowers'
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="a page to explore in a browser",
        description="Write a page on which the tree, its clusters and rows can be explored.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, command="report", parser=parser)
    add_run(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the page goes [report.html in the run]"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    parser.add_argument("--title", help="the title of the page [the name of the data file]")


def run(options: argparse.Namespace) -> None:
    """Write the page."""
    folder = open_run(options)
    output = options.output or str(folder.path / "report.html")
    path = check_file(output, overwrite=options.overwrite)
    if path is None:
        raise ValueError("--output must be a file, got -")
    from sticktree.report import write_report

    write_report(
        path,
        folder.estimator,
        names=folder.ids,
        classes=folder.labels,
        title=options.title or folder.record["data"]["name"],
        provenance=folder.record,
    )
    print(f"wrote {path}")
