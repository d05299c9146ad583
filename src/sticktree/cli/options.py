"""Options that several commands have: the run they are about, the seed, where output goes."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path

from sticktree.checks import check_integer


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a run."""
    parser.add_argument("folder", metavar="run", help="the folder that sticktree fit wrote")


def add_output(parser: argparse.ArgumentParser, default: str = "the screen") -> None:
    """Add ``-o`` and ``--overwrite``."""
    parser.add_argument("-o", "--output", metavar="FILE", help=f"the file to write [{default}]")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")


def add_safe_csv(parser: argparse.ArgumentParser, usual: str = "files, not the screen") -> None:
    """Add ``--safe-csv``."""
    parser.add_argument(
        "--safe-csv",
        action=argparse.BooleanOptionalAction,
        help="put an apostrophe before text that a spreadsheet would compute, such as =1+1; "
        f"numbers stay as they are [{usual}]",
    )


def is_safe(options: argparse.Namespace, path: Path | None) -> bool:
    """Return whether a table is written for spreadsheets: as asked for, or if it is a file."""
    return path is not None if options.safe_csv is None else bool(options.safe_csv)


def add_tree(parser: argparse.ArgumentParser) -> None:
    """Add ``--tree``."""
    parser.add_argument(
        "--tree",
        choices=("consensus", "clusters"),
        default="consensus",
        help="the consensus of the draws' trees, or the tree whose cuts are clusters [consensus]",
    )


def add_seed(parser: argparse.ArgumentParser, default: int | None) -> None:
    """Add ``--seed``; without a default a fresh one is drawn and printed."""
    usual = "a fresh one, which is printed" if default is None else str(default)
    parser.add_argument(
        "--seed", type=int, default=default, help=f"the same seed gives the same output [{usual}]"
    )


def seed_of(options: argparse.Namespace) -> int:
    """Return the seed asked for, or a fresh one."""
    if options.seed is None:
        return secrets.randbits(32)
    return check_integer("--seed", options.seed, minimum=0)
