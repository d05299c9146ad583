"""``sticktree summary``: what a run says."""

from __future__ import annotations

import argparse
from typing import Any

from sticktree.cli.run_argument import add_run, json_text, open_run

__all__ = ["add_to"]

EPILOG = """\
examples:
    sticktree summary run
    sticktree summary run --json
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "summary",
        help="say what was found",
        description="Say what a run has found: the tree, its clusters and what is typical of them, "
        "and whether the chains agree.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, command="summary", parser=parser)
    add_run(parser)
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def run(options: argparse.Namespace) -> None:
    """Print the summary."""
    folder = open_run(options)
    if not options.json:
        data = folder.record["data"]
        print(f"{folder.path}: fitted to {data['name']} on {folder.record['finished'][:10]}\n")
    from sticktree.present.summary import summarise

    summary = summarise(
        folder.estimator,
        labels=folder.labels,
        names=folder.tree.names,
        by_level=folder.by_level,
    )
    if options.json:
        print(json_text(summary.result()), end="")
    else:
        print(summary.text())
