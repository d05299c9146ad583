"""Where the files of data sets lie, how they come there, and the error if they do not."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from sticktree.datasets.catalogue import Entry, Original

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


class MissingDataError(FileNotFoundError):
    """A data set whose file is not there; the message says where to get it and where to put it.

    Attributes
    ----------
    hint : str
        What to do, in a few words.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint or message


def missing(entry: Entry, folder: Path | None, reason: str) -> MissingDataError:
    """Return the error; ``reason`` says why the file was not downloaded."""
    table = f"{entry.file}, a table of {entry.shape[0]} rows with the header {entry.header}"
    lines = [f"the data set {entry.name!r} is not on this machine, and {reason}"]
    if entry.originals:
        lines.append("get")
        lines += [f"  {original.name} from {original.urls[0]}" for original in entry.originals]
        lines.append(f"or write {table}, and put it into one of")
    else:
        lines.append(f"write {table}, and put it into one of")
    lines += [
        f"  a folder that you pass: load({entry.name!r}, folder=…){_now(folder)}",
        f"  the data folder: {DATA_VARIABLE} or datasets.set_data_folder(…){_now(data_folder())}",
        f"  the cache: {cache_folder()}; {CACHE_VARIABLE} names another",
    ]
    return MissingDataError(
        "\n".join(lines), hint=f"set {DATA_VARIABLE} to a folder with {entry.file}"
    )


def _now(folder: Path | None) -> str:
    if folder is None:
        return ""
    return f", now {folder}" if folder.is_dir() else f", now {folder}, where there is no folder"


class DownloadError(Exception):
    """A file that could not be had; the message says why."""


def fetch(original: Original, folder: Path) -> Path:
    """Return the path of a file in the folder, downloaded unless it is there already.

    pooch writes under another name first, and removes what has a wrong checksum.
    """
    try:
        pooch = import_module("pooch")
    except ImportError:
        raise DownloadError(
            "that needs pooch: install it with `pip install sticktree[data]`"
        ) from None

    reasons = []
    for url in original.urls:
        try:
            found = pooch.retrieve(
                url, known_hash=f"sha256:{original.sha256}", fname=original.name, path=folder
            )
        except (OSError, ValueError) as error:  # those of requests are OSErrors
            reasons.append(f"{urlsplit(url).hostname}: {_words(error)}")
        else:
            return Path(found)
    raise DownloadError("; ".join(reasons))


def _words(error: Exception) -> str:
    exceptions = import_module("requests.exceptions")
    if isinstance(error, exceptions.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, exceptions.Timeout):
        return "no answer in time"
    if isinstance(error, exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, exceptions.ConnectionError):
        return "no connection"
    if isinstance(error, ValueError) and not isinstance(error, OSError):
        return "its checksum is not the one that is known, so it was not kept"
    return str(error)
