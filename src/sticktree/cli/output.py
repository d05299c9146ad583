"""Where output goes, and the seed that made it."""

from __future__ import annotations

import argparse
import platform
import secrets
from pathlib import Path
from typing import Any

import numpy as np

from sticktree.version import __version__

__all__ = ["add_seed", "output_folder", "provenance", "seed_of"]


def output_folder(folder: Path, names: list[str], *, overwrite: bool) -> Path:
    """Make the folder; refuse to overwrite files in it unless asked to."""
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
    """Add ``--seed``; without a default a fresh one is drawn and told."""
    told = "a fresh one, which is printed" if default is None else str(default)
    parser.add_argument(
        "--seed", type=int, default=default, help=f"the same seed gives the same output [{told}]"
    )


def seed_of(options: argparse.Namespace) -> int:
    """Return the seed asked for, or a fresh one."""
    if options.seed is None:
        return secrets.randbits(32)
    if options.seed < 0:
        raise ValueError(f"--seed must be an integer of at least 0, got {options.seed}")
    return int(options.seed)


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
