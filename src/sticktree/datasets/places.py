"""Where the files of data sets lie."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = [
    "CACHE_VARIABLE",
    "DATA_VARIABLE",
    "cache_folder",
    "data_folder",
    "set_data_folder",
]

DATA_VARIABLE = "STICKTREE_DATA"
CACHE_VARIABLE = "STICKTREE_CACHE"

_chosen: Path | None = None


def set_data_folder(path: str | os.PathLike[str] | None) -> None:
    """Look for data sets in this folder from now on.

    It goes before the environment variable ``STICKTREE_DATA`` and lasts as long as the process.

    Parameters
    ----------
    path : path or None
        The folder; None goes back to the variable.

    Examples
    --------
    >>> from sticktree import datasets
    >>> datasets.set_data_folder("tables")
    >>> datasets.data_folder().name
    'tables'
    >>> datasets.set_data_folder(None)
    """
    global _chosen
    _chosen = None if path is None else Path(path).expanduser()


def data_folder() -> Path | None:
    """Return the folder chosen by :func:`set_data_folder` or else ``STICKTREE_DATA``, if any."""
    if _chosen is not None:
        return _chosen
    named = os.environ.get(DATA_VARIABLE)
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Return the folder that downloaded files are kept in.

    It is a folder ``sticktree`` where the system keeps caches, or else what the environment
    variable ``STICKTREE_CACHE`` names. It need not be there yet.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    # The same places as `pooch.os_cache("sticktree")`, which is not there without pooch.
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        base = Path(local) if local else Path.home() / "AppData" / "Local"
        return base / "sticktree" / "sticktree" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sticktree"
    caches = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(caches) if caches else Path.home() / ".cache") / "sticktree"
