"""Where the files of data sets lie."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DATA_VARIABLE", "data_folder", "set_data_folder"]

DATA_VARIABLE = "STICKTREE_DATA"
_chosen: Path | None = None


def set_data_folder(path: str | os.PathLike[str] | None) -> None:
    """Look for data sets in this folder from now on; None goes back to the environment variable.

    It goes before ``STICKTREE_DATA`` and lasts as long as the process does.
    """
    global _chosen
    _chosen = None if path is None else Path(path).expanduser()


def data_folder() -> Path | None:
    """Return the folder chosen by :func:`set_data_folder` or by ``STICKTREE_DATA``, if any."""
    if _chosen is not None:
        return _chosen
    named = os.environ.get(DATA_VARIABLE)
    return Path(named).expanduser() if named else None
