"""A folder for files that are needed while a program runs, and never after."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.engine.bulk.partition import BLOCK, Labelled, Partition, Sided
from sticktree.engine.bulk.placement import Choices
from sticktree.errors import ParameterError

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
            raise ParameterError("scratch_folder", str(within), "a folder that is there")
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
        """Raise an error if the disk has less room than that, before or while files are written."""
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


# ---- Where the rows of a partition, and what a chain knows of them, lie in files and in buffers -


Buffer = npt.NDArray[np.uint8]


class Slot(NamedTuple):
    """One partition of a prepared table.

    Its file holds the numbers of rows, then the rows, then their groups if they have any; that of a
    chain holds completed rows and labels, then halves. Each has the form of the arrays in memory,
    so that it is read in one go.
    """

    path: Path
    first: int  # number of its first row
    n_whole: int  # rows without gaps
    n_gaps: int
    dimension: int
    grouped: bool = False

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_whole // BLOCK)

    @property
    def number_bytes(self) -> int:
        """Size of the numbers of all rows."""
        return 8 * (self.n_blocks * BLOCK + self.n_gaps)

    @property
    def row_bytes(self) -> int:
        """Size of the file of the rows."""
        return self.number_bytes * (1 + self.dimension) + self.group_bytes

    @property
    def group_bytes(self) -> int:
        """Size of the groups of all rows, a multiple of 8."""
        return self.number_bytes // 2 + 4 * (self.n_gaps % 2) if self.grouped else 0

    @property
    def label_bytes(self) -> int:
        """Size of completed rows and labels."""
        return 8 * self.n_gaps * self.dimension + 4 * (self.n_blocks * BLOCK + self.n_gaps)

    @property
    def side_bytes(self) -> int:
        """Size of halves."""
        return self.n_blocks * BLOCK + self.n_gaps

    @property
    def state_bytes(self) -> int:
        """Size of the file of a chain."""
        return self.label_bytes + self.side_bytes

    def part(self, buffer: Buffer) -> Partition:
        """Return the rows in a buffer, as arrays on it."""
        blocks, gaps, dimension = self.n_blocks, self.n_gaps, self.dimension
        whole = (blocks, BLOCK) if self.grouped else (0, 0)
        row, gap_row, y, gap_y, group, gap_group = _cut(
            buffer,
            (np.uint64, (blocks, BLOCK)),
            (np.uint64, (gaps,)),
            (np.float64, (blocks, dimension, BLOCK)),
            (np.float64, (gaps, dimension)),
            (np.int32, whole),
            (np.int32, (gaps if self.grouped else 0,)),
        )
        filled = np.full(blocks, BLOCK, dtype=np.int64)
        if blocks:
            filled[-1] = self.n_whole - BLOCK * (blocks - 1)
        return Partition(y, row, filled, gap_y, gap_row, group, gap_group)

    def choices(self, buffer: Buffer) -> Choices:
        """Return what a chain knows of the rows, as arrays on a buffer."""
        blocks, gaps = self.n_blocks, self.n_gaps
        completed, labels, gap_labels, sides, gap_sides = _cut(
            buffer,
            (np.float64, (gaps, self.dimension)),
            (np.int32, (blocks, BLOCK)),
            (np.int32, (gaps,)),
            (np.int8, (blocks, BLOCK)),
            (np.int8, (gaps,)),
        )
        return Choices(Labelled(labels, gap_labels, completed), Sided(sides, gap_sides))


def _cut(buffer: Buffer, *forms: tuple[Any, tuple[int, ...]]) -> list[npt.NDArray[Any]]:
    """Return arrays that lie one after the other in a buffer."""
    out, at = [], 0
    for dtype, shape in forms:
        size = np.dtype(dtype).itemsize * int(np.prod(shape))
        out.append(buffer[at : at + size].view(dtype).reshape(shape))
        at += size
    return out


def read_into(path: Path, buffer: Buffer) -> None:
    """Fill a buffer from the beginning of a file."""
    try:
        with path.open("rb", buffering=0) as file:
            view, done = buffer.data, 0
            while done < len(view):
                size = file.readinto(view[done:])
                if not size:
                    raise OSError(f"the scratch file {path} was cut short while it was needed")
                done += size
    except FileNotFoundError:
        raise OSError(f"the scratch file {path} was removed while it was needed") from None


def write(path: Path, arrays: Iterable[npt.NDArray[Any]], offset: int | None = None) -> None:
    """Write arrays one after the other: a new file, or from an offset on into one that is there."""
    with path.open("wb" if offset is None else "r+b", buffering=0) as file:
        if offset:
            file.seek(offset)
        for array in arrays:
            view, done = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, 0
            while done < len(view):
                done += file.write(view[done:])
