"""What commands share: the run they are about, where output goes, and the seed that made it."""

from __future__ import annotations

import argparse
import json
import platform
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.checks import check_integer
from sticktree.files import write_pieces
from sticktree.version import __version__

if TYPE_CHECKING:
    from sticktree.cli.run_folder import RunFolder

__all__ = [
    "add_output",
    "add_run",
    "add_seed",
    "check_file",
    "json_text",
    "open_run",
    "output_folder",
    "provenance",
    "seed_of",
    "write_text",
]


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a run."""
    parser.add_argument("folder", metavar="run", help="the folder that sticktree fit wrote")


def add_output(parser: argparse.ArgumentParser, default: str = "the screen") -> None:
    """Add ``-o`` and ``--overwrite``."""
    parser.add_argument("-o", "--output", metavar="FILE", help=f"the file to write [{default}]")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")


def open_run(options: argparse.Namespace) -> RunFolder:
    """Open the run that the command is about."""
    from sticktree.cli.run_folder import RunFolder

    return RunFolder.open(options.folder)


def check_file(output: str | None, *, overwrite: bool) -> Path | None:
    """Return the path to write to, or None for the screen; raise if it cannot be written."""
    if output is None or output == "-":
        return None
    path = Path(output)
    if path.is_dir():
        raise ValueError(f"--output {path} is a folder: give a file")
    if path.exists() and not overwrite:
        raise ValueError(f"--output {path} exists: choose another name or pass --overwrite")
    if not path.parent.is_dir():
        raise ValueError(f"--output {path}: there is no folder {path.parent}")
    return path


def write_text(text: str | Iterable[str], path: Path | None) -> None:
    """Print a text, whole or in pieces, or write it to a file and print its name."""
    pieces = [text] if isinstance(text, str) else text
    if path is None:
        sys.stdout.writelines(pieces)
        return
    write_pieces(path, pieces)
    print(f"wrote {path}")


def json_text(record: Any) -> str:
    """Return a record as JSON."""
    from sticktree.cli.run_folder import plain

    return json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n"


def output_folder(folder: Path, names: list[str], *, overwrite: bool) -> Path:
    """Make the folder; raise if it holds files that may not be overwritten."""
    present = [name for name in names if (folder / name).exists()]
    if present and not overwrite:
        raise ValueError(
            f"--output {folder} already holds {', '.join(present)}: choose another folder or "
            "pass --overwrite"
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output {folder} is a file: give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def add_seed(parser: argparse.ArgumentParser, default: int | None) -> None:
    """Add ``--seed``; without a default a fresh one is drawn and printed."""
    told = "a fresh one, which is printed" if default is None else str(default)
    parser.add_argument(
        "--seed", type=int, default=default, help=f"the same seed gives the same output [{told}]"
    )


def seed_of(options: argparse.Namespace) -> int:
    """Return the seed asked for, or a fresh one."""
    if options.seed is None:
        return secrets.randbits(32)
    return check_integer("--seed", options.seed, minimum=0)


def provenance(command: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what it takes to make the same output again."""
    return {
        "sticktree": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "command": command,
        "parameters": parameters,
    }
