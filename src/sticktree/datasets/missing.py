"""The error for a data set that is nowhere, and what it says."""

from __future__ import annotations

from pathlib import Path

from sticktree.datasets.catalogue import Entry
from sticktree.datasets.places import CACHE_VARIABLE, DATA_VARIABLE, cache_folder, data_folder

__all__ = ["MissingDataError", "missing"]


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
