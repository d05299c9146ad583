"""The command line: ``sticktree`` and its commands.

A command's module is imported when the command is used. Other packages add commands by entry points
of the group ``sticktree.commands``, each the name of a :class:`Command`.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from sticktree.version import __version__

__all__ = ["COMMANDS", "Command", "StoppedError", "build_parser", "main"]

GROUP = "sticktree.commands"
"""The group of entry points that add commands."""
COMMANDS = {
    "fit": ("sticktree.cli.fit:FIT", "learn a tree of clusters from a file"),
    "summary": ("sticktree.cli.show:SUMMARY", "what was found, in words"),
    "predict": ("sticktree.cli.predict:PREDICT", "clusters and densities of new rows"),
    "plot": ("sticktree.cli.show:PLOT", "pictures of the tree, the rows and the chains"),
    "export": ("sticktree.cli.show:EXPORT", "the tree for other programs"),
    "evaluate": ("sticktree.cli.evaluate:EVALUATE", "how good a run is: labels, test rows"),
    "cluster": ("sticktree.cli.clusters:CLUSTER", "other clusters from the same fit"),
    "markers": ("sticktree.cli.clusters:MARKERS", "what makes each cluster, as a table"),
    "relevance": ("sticktree.cli.relevance:RELEVANCE", "which columns carry the clusters"),
    "report": ("sticktree.cli.show:REPORT", "a page to explore in a browser"),
    "demo": (
        "sticktree.cli.simulate:DEMO",
        "look at random trees, and at one learned from a table",
    ),
    "simulate": ("sticktree.cli.simulate:SIMULATE", "draw data from a random tree"),
}
"""Where each command is, and what it does in a few words."""
APART = {"reproduce": "the paper's tables and figures, with every peer beside them"}
"""Commands of packages that are developed together with this one."""

WIDTH = 100  # of the words at the head of a help text
INTERRUPTED = "interrupted; files that were finished are kept"

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
  sticktree fit --help                    all options for the data and the model

without data:
  sticktree demo                          look at random trees, in the terminal and as figures
  sticktree simulate -n 500 -o my-data    draw data, with the tree that made them
  sticktree reproduce                     the paper's tables and figures, beside every peer

exit codes: 0 done, 1 could not be done (disk, package, cluster), 2 wrong options, 130 interrupted
"""


@dataclass(frozen=True)
class Command:
    """A command: the words of its help, its options, and what it does with them."""

    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    epilog: str | None = None


class StoppedError(RuntimeError):
    """Work that was stopped and can go on later: the text says how, ``code`` is the exit code."""

    def __init__(self, text: str, code: int = 130) -> None:
        super().__init__(text)
        self.code = code


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line that can be acted on."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, where help is, and leave with code 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


class CommandParser(Parser):
    """The parser of a command, which imports the command when it has something to parse."""

    def __init__(self, load: Callable[[], Command], **kwargs: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs)
        self.load: Callable[[], Command] | None = load

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse words after the name of the command."""
        if self.load is not None:
            command = self.load()
            self.load = None
            self.description = textwrap.fill(command.description, WIDTH)
            self.epilog = command.epilog
            command.add_arguments(self)
            self.set_defaults(run=command.run, command=self.prog.split()[-1], parser=self)
        return super().parse_known_args(args, namespace)


class TopFormatter(argparse.RawDescriptionHelpFormatter):
    """Help with room for the name of every command; argparse itself forgets their indent."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        longest = max(map(len, [*COMMANDS, *APART]))
        self._action_max_length = 2 * self._indent_increment + longest


def build_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of all commands; those of other packages only if ``words`` may mean one."""
    parser = Parser(
        prog="sticktree", description=DESCRIPTION, epilog=EPILOG, formatter_class=TopFormatter
    )
    parser.add_argument("--version", action="version", version=f"sticktree {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=CommandParser
    )
    for name, (place, help_) in COMMANDS.items():
        commands.add_parser(name, help=help_, load=partial(_load, place))
    if not words or words[0] not in COMMANDS:
        for name, (help_, load) in _added().items():
            commands.add_parser(name, help=help_, load=load)
    if words and words[0] not in commands.choices and not words[0].startswith("-"):
        parser.error(f"there is no command {words[0]}{_guess(words[0], commands.choices)}")
    return parser


def _load(place: str) -> Command:
    module, _, name = place.partition(":")
    command: Command = getattr(import_module(module), name)
    return command


def _added() -> dict[str, tuple[str, Callable[[], Command]]]:
    """Return the commands of other packages: their help, and how to load them."""
    from importlib.metadata import EntryPoint, entry_points

    def load(entry: EntryPoint) -> Command:
        try:
            command: Command = entry.load()
        except Exception as error:
            raise ImportError(f"cannot load {entry.value}: {error}") from error
        return command

    def missing(name: str) -> Command:
        raise ImportError(
            f"{name} is in a package of its own, which is not installed: in a checkout of "
            "sticktree, pip install ./paper"
        )

    found: dict[str, tuple[str, Callable[[], Command]]] = {
        name: (help_, partial(missing, name))
        for name, help_ in APART.items()
        if name not in COMMANDS
    }
    for entry in entry_points(group=GROUP):
        if entry.name not in COMMANDS:
            package = "another package" if entry.dist is None else entry.dist.name
            found[entry.name] = (APART.get(entry.name, f"from {package}"), partial(load, entry))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    _write_utf8()
    words = sys.argv[1:] if argv is None else list(argv)
    name = " ".join(["sticktree", *words[:1]])
    try:
        parser = build_parser(words)
        options, unknown = parser.parse_known_args(words)
        if unknown:
            known = [option for one in options.parser._actions for option in one.option_strings]
            guess = _guess(unknown[0].split("=")[0], known) if unknown[0][0] == "-" else ""
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}{guess}")
        options.argv = words
        with _plain_warnings():
            options.run(options)
    except ValueError as error:
        print(f"{name}: {error} (see {name} --help)", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"{name}: {_disk_problem(error)}", file=sys.stderr)
        return 1
    except MemoryError:
        print(f"{name}: there is not enough memory", file=sys.stderr)
        return 1
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except StoppedError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print(f"{name}: {INTERRUPTED}", file=sys.stderr)
        return 130
    return 0


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings without a place in the code, and with names of options."""

    def text_of(message: Warning | str, *_: object, **__: object) -> str:
        from sticktree.cli.reading import NAMES

        name, colon, rest = str(message).partition(": ")
        return f"warning: {NAMES.get(name) or name}{colon}{rest}\n"

    before = warnings.formatwarning
    warnings.formatwarning = text_of
    try:
        yield
    finally:
        warnings.formatwarning = before


class UnreadableError(OSError):
    """What kept a file from being read."""


@contextmanager
def to_be_read() -> Iterator[None]:
    """Have errors of the disk say that nothing was to be written."""
    try:
        yield
    except BrokenPipeError:  # of what is said meanwhile
        raise
    except OSError as error:
        raise UnreadableError(error.errno, error.strerror or str(error), error.filename) from None


def _disk_problem(error: OSError) -> str:
    """Return what went wrong with a file; not all errors name one, or have words."""
    words = error.strerror or str(error) or type(error).__name__
    if error.filename is None:
        return words
    if isinstance(error, UnreadableError):
        return f"cannot read {error.filename}: {words}"
    unclear = error.errno in (errno.ENOENT, errno.EISDIR, errno.EACCES, errno.EPERM)
    return f"cannot {'open' if unclear else 'write'} {error.filename}: {words}"


def _guess(word: str, known: Iterable[str]) -> str:
    """Return a question for what may have been meant by a word that is not known."""
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def _write_utf8() -> None:
    """Let trees be drawn on consoles whose encoding lacks their characters."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
