"""The run that a command is about, and the tables that it prints or writes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sticktree.files import write_pieces

if TYPE_CHECKING:
    from sticktree.cli.run_folder import RunFolder

__all__ = ["add_output", "add_run", "check_file", "json_text", "open_run", "write_text"]


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a run."""
    parser.add_argument("folder", metavar="run", help="the folder that sticktree fit has written")


def add_output(parser: argparse.ArgumentParser, default: str = "the screen") -> None:
    """Add ``-o`` and ``--overwrite``."""
    parser.add_argument("-o", "--output", metavar="FILE", help=f"where it goes [{default}]")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is there")


def open_run(options: argparse.Namespace) -> RunFolder:
    """Open the run that the command is about."""
    from sticktree.cli.run_folder import RunFolder

    try:
        return RunFolder.open(options.folder)
    except ValueError as error:
        text = str(error)
        if "not finished" in text:
            text += f": go on with sticktree fit -o {options.folder} --resume"
        raise ValueError(text) from None


def check_file(output: str | None, *, overwrite: bool) -> Path | None:
    """Return where a file goes, or None for the screen; refuse before any work what cannot be."""
    if output is None or output == "-":
        return None
    path = Path(output)
    if path.is_dir():
        raise ValueError(f"--output {path} is a folder: give a file")
    if path.exists() and not overwrite:
        raise ValueError(f"--output {path} is there: choose another name or pass --overwrite")
    if not path.parent.is_dir():
        raise ValueError(f"--output {path}: there is no folder {path.parent}")
    return path


def write_text(text: str | Iterable[str], path: Path | None) -> None:
    """Print a text, in one piece or in many, or write it to a file and say so."""
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
