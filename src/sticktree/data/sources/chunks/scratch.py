"""A folder for files that are needed while a program runs, and never after."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Scratch", "removed_with"]

MOUNTS = Path("/proc/mounts")
PREFIX = "sticktree-rows-"


class Scratch:
    """A new folder, which is removed by `close`, with this object, or when the program ends.

    Parameters
    ----------
    within : path or None, default=None
        Where it is made. None is the system's place for temporary files; if that is in memory,
        which would defeat the purpose, ``/var/tmp``.
    """

    def __init__(self, within: str | os.PathLike[str] | None = None) -> None:
        parent = _usual() if within is None else Path(within)
        if not parent.is_dir():
            raise ValueError(f"scratch_folder must be a folder that is there, got {str(within)!r}")
        try:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        except OSError as error:
            raise OSError(
                error.errno, f"scratch_folder {parent} cannot be written to: {error.strerror}"
            ) from None
        self._remove = removed_with(self, self.path)

    def close(self) -> None:
        """Remove the folder."""
        self._remove()

    @property
    def closed(self) -> bool:
        """Whether the folder was removed."""
        return not self._remove.alive

    @contextmanager
    def filling(self, n_bytes: int) -> Iterator[None]:
        """Say so if the disk has less room than that, before or while files are written."""
        parent, free = self.path.parent, shutil.disk_usage(self.path).free
        if free < n_bytes:
            raise _too_small(parent, n_bytes, f"but it has {_spoken(free)} left")
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise _too_small(parent, n_bytes, "but it filled up on the way") from None


def _too_small(folder: Path, n_bytes: int, but: str) -> OSError:
    return OSError(
        errno.ENOSPC,
        f"scratch_folder {folder} needs room for {n_bytes:,} bytes ({_spoken(n_bytes)}), {but}: "
        "free some, or name a folder on a larger disk",
    )


def _spoken(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.1f} MB"


def removed_with(owner: object, path: Path) -> weakref.finalize[..., object]:
    """Have a folder removed when the result is called, with its owner, or when the program ends."""
    return weakref.finalize(owner, _remove, path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # a fork has a copy of the object, and no right to the folder
        shutil.rmtree(path, ignore_errors=True)


def _usual() -> Path:
    usual, lasting = Path(tempfile.gettempdir()), Path("/var/tmp")
    if _in_memory(usual) and os.access(lasting, os.W_OK) and not _in_memory(lasting):
        return lasting
    return usual


def _in_memory(folder: Path) -> bool:
    """Return whether files in a folder take up memory, as far as the system tells."""
    try:
        mounts = [line.split() for line in MOUNTS.read_text().splitlines()]
        inside = [words for words in mounts if folder.resolve().is_relative_to(words[1])]
        # Of those mounted at the same place the last one counts.
        return max(enumerate(inside), key=lambda at: (len(at[1][1]), at[0]))[1][2] == "tmpfs"
    except (OSError, ValueError, IndexError):
        return False
