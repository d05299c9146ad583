"""Where the answers of commands go: the screen, a file or a folder, as text or as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sticktree.files import write_pieces


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
    return json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n"


def plain(value: Any) -> Any:
    """Return a value as JSON has it; numbers that JSON lacks, such as infinity, become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
