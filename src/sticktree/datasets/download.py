"""Files from the web, into the cache, if their checksum is right."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from sticktree.datasets.catalogue import Original

__all__ = ["DownloadError", "fetch"]


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
    if isinstance(error, ValueError) and "hash" in str(error):
        return "its checksum is not the one that is known, so it was not kept"
    return str(error)
