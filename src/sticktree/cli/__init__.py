"""The command line: ``sticktree`` and its commands, one module each."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sticktree.cli import (
    cluster,
    demo,
    evaluate,
    export,
    fit,
    plot,
    predict,
    report,
    reproduce,
    simulate,
    summary,
)
from sticktree.cli.interruption import Interrupted, LostError
from sticktree.version import __version__

__all__ = ["main"]

WHOLE_FILES = "interrupted; files that were finished are kept"

DESCRIPTION = """\
Bayesian trees by breaking sticks: the Dirichlet fragmentation process.

A unit stick breaks into sub-sticks, each of those breaks again, down to a chosen depth. The pieces
are a random tree; parameters diffuse along it from parent to child, and data arise at its leaves.
"""

EPILOG = """\
start here:
  sticktree fit data.csv -o run           learn a tree of clusters from a table
  sticktree summary run                   what was found, in words
  sticktree report run -o report.html     explore it in a browser
  sticktree fit --help                    all that can be said about the data and the model

without data:
  sticktree demo                          look at random trees, in the terminal and as figures
  sticktree simulate -n 500 -o my-data    draw data, with the tree that made them
  sticktree reproduce                     the paper's tables and figures, beside every peer

exit codes: 0 done, 1 could not be done (disk, package, cluster), 2 wrong options, 130 interrupted
"""
COMMANDS = (
    fit,
    summary,
    predict,
    plot,
    export,
    evaluate,
    cluster,
    report,
    demo,
    simulate,
    reproduce,
)


class Commands(argparse.RawDescriptionHelpFormatter):
    """Help with room for the name of every command; by itself it forgets their indent."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        names = [command.__name__.rpartition(".")[2] for command in COMMANDS]
        self._action_max_length = 2 * self._indent_increment + max(map(len, names))


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
        formatter_class=Commands,
    )
    parser.add_argument("--version", action="version", version=f"sticktree {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(commands)
    _speak_utf8()
    words = sys.argv[1:] if argv is None else list(argv)
    options, unknown = parser.parse_known_args(words)
    if unknown:
        _refuse(unknown, options.parser)
    options.argv = words
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
    except (ImportError, LostError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        told = str(error) if isinstance(error, Interrupted) else WHOLE_FILES
        print(f"{name}: {told}", file=sys.stderr)
        return 130
    return 0


def _refuse(unknown: list[str], parser: argparse.ArgumentParser) -> NoReturn:
    """Say which words are not understood, and what may have been meant."""
    known = [option for action in parser._actions for option in action.option_strings]
    word = unknown[0].split("=")[0]
    near = difflib.get_close_matches(word, known, 1) if word.startswith("-") else []
    guess = f"; did you mean {near[0]}?" if near else ""
    parser.error(f"unrecognized arguments: {' '.join(unknown)}{guess}")


def _speak_utf8() -> None:
    """Let trees be drawn on consoles whose encoding lacks their characters."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
