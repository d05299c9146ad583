"""The command line: ``sticktree`` and its commands, one module each."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sticktree import __version__
from sticktree.cli import demo, simulate

__all__ = ["main"]

DESCRIPTION = """\
Bayesian trees by breaking sticks: the Dirichlet fragmentation process.

A unit stick breaks into sub-sticks, each of those breaks again, down to a chosen depth. The pieces
are a random tree; parameters diffuse along it from parent to child, and data arise at its leaves.
"""

EPILOG = """\
start here:
  sticktree demo                          look at random trees, in the terminal and as figures
  sticktree simulate -n 500 -o my-data    draw data, with the tree that made them
  sticktree simulate --help               all the knobs, explained

exit codes: 0 done, 1 could not be done (disk, missing package), 2 wrong options, 130 interrupted
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line that can be acted on."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, where help is, and leave with code 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = Parser(
        prog="sticktree",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"sticktree {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (demo, simulate):
        command.add_to(commands)
    _speak_utf8()
    options = parser.parse_args(argv)
    name = f"sticktree {options.command}"
    try:
        options.run(options)
    except ValueError as error:
        print(f"{name}: {error} (see {name} --help)", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"{name}: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted; files that were finished are kept", file=sys.stderr)
        return 130
    return 0


def _speak_utf8() -> None:
    """Let trees be drawn on consoles whose encoding lacks their characters."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
