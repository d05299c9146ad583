"""Files that appear whole or not at all, and text that is written piece by piece."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sticktree.errors import ParameterError

LINES = 10_000  # of a table in one piece
CHARACTERS = 1 << 16  # of small pieces that are written at once
UNFINISHED = ".sticktree-"  # begins the names of files that are being written


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; rename it when all is written, else remove it.

    After a power cut there is the former file or the new one: all bytes are on the disk before the
    file gets its name, and then the name is. An error of the disk names ``path``.
    """
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f"{UNFINISHED}{path.stem}-", suffix=path.suffix, delete=False
        ) as file:
            temporary = Path(file.name)
        yield temporary
        temporary.chmod(0o644)
        _flush(temporary)
        temporary.replace(path)
        _flush(path.parent)
    except OSError as error:
        if error.errno is not None and (
            temporary is None or error.filename in (None, str(temporary))
        ):
            error.filename = str(path)
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def together(folder: Path) -> Iterator[Path]:
    """Yield a folder to write files to, all of which move to ``folder`` when they are written.

    If one cannot be written, none moves: files that belong together stay those of one time.
    """
    stage = None
    try:
        stage = Path(tempfile.mkdtemp(dir=folder, prefix=UNFINISHED))
        yield stage
        for path in sorted(stage.iterdir()):
            path.replace(folder / path.name)
        _flush(folder)
    except OSError as error:
        if stage is None:
            error.filename = str(folder)  # nobody knows the one inside
        elif error.filename is not None and Path(os.fsdecode(error.filename)).parent == stage:
            error.filename = str(folder / Path(os.fsdecode(error.filename)).name)
        raise
    finally:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)


def _flush(path: Path) -> None:
    """Have the disk keep a file, or the names in a folder, if the system can be asked to."""
    if path.is_dir() and os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems cannot; that of a disk that fails or is full is another matter.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def first_line(error: BaseException) -> str:
    r"""Return what an error of another package says, in one line; its name if it says nothing.

    Examples
    --------
    >>> from sticktree.files import first_line
    >>> first_line(ValueError("wrong\nat byte 3")), first_line(KeyError())
    ('wrong', 'KeyError')
    """
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def sweep(folder: Path) -> None:
    """Remove what a process that was killed has left half-written; nobody else may be writing."""
    for path in folder.glob(f"{UNFINISHED}*"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()


# ---- how much may be unpacked --------------------------------------------------------------------

LIMIT = "STICKTREE_MAX_UNPACKED"
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SHARE = 0.5  # of the memory that is free
USUAL = 8 * 10**9  # bytes, where the system does not tell


def most_unpacked(given: str | int | None = None) -> int:
    """Return how many bytes a file may unpack to: as given, or half of the memory that is free.

    The variable ``STICKTREE_MAX_UNPACKED`` gives it for all files.

    Examples
    --------
    >>> from sticktree.files import most_unpacked
    >>> most_unpacked("1.5G")
    1500000000
    """
    given = os.environ.get(LIMIT) if given is None else given
    if given is None:
        return int(SHARE * _free_memory())
    text = str(given).strip().upper().removesuffix("B")
    number, unit = (text[:-1], text[-1:]) if text[-1:].isalpha() else (text, "")
    try:
        size = float(number) * UNITS[unit]
        if not 0 < size < 2**62:
            raise ValueError
    except (KeyError, ValueError):
        raise ParameterError(
            "max_unpacked", given, "a number of bytes, such as 2000000, 500M or 8G"
        ) from None
    return int(size)


def _free_memory() -> int:
    """Return how much memory this process could still have."""
    known = [_number_in("/sys/fs/cgroup/memory.max")]
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        known.append(next(1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable")))
    with contextlib.suppress(AttributeError, OSError, ValueError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min((size for size in known if size is not None), default=USUAL)


def _number_in(path: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(Path(path).read_text(encoding="ascii"))
    return None


def too_large(name: str, limit: int) -> ValueError:
    """Return the error for what would unpack to more than the limit."""
    return ValueError(
        f"{name} unpacks to more than {limit / 1e9:.3g} GB, the limit here; if that is meant, set "
        f"{LIMIT} to what it may be, such as 20G"
    )


# ---- tables as CSV -------------------------------------------------------------------------------

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that a spreadsheet computes, or takes the next cell for."""


def shown_as_text(cell: Any) -> Any:
    """Return a cell so that a spreadsheet shows text rather than computes it.

    Text that begins like a formula, and is no number, gets an apostrophe in front; so does text
    that is of this form already, so that :func:`as_it_was` returns every text.

    Examples
    --------
    >>> from sticktree.files import as_it_was, shown_as_text
    >>> shown_as_text("=cmd|' /C calc'!A0"), shown_as_text("-1.5"), shown_as_text("ape")
    ("'=cmd|' /C calc'!A0", '-1.5', 'ape')
    >>> as_it_was("'=cmd|' /C calc'!A0")
    "=cmd|' /C calc'!A0"
    """
    if isinstance(cell, str) and cell and _like_a_formula(cell):
        return f"'{cell}"
    return cell


def as_it_was(cell: str) -> str:
    """Return a cell as it was before :func:`shown_as_text`."""
    return cell[1:] if cell.startswith("'") and _like_a_formula(cell) else cell


def _like_a_formula(cell: str) -> bool:
    if cell[0] not in "=+-@\t\r'" or not cell.lstrip("'").startswith(FORMULA):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def csv_pieces(columns: Mapping[str, Sequence[Any]], safe: bool = True) -> Iterator[str]:
    r"""Yield columns as CSV, some thousand lines at a time.

    Unless ``safe`` is False, text that a spreadsheet would compute is written so that it does not;
    see :func:`shown_as_text`.

    Examples
    --------
    >>> from sticktree.files import csv_pieces
    >>> "".join(csv_pieces({"row": range(2), "name": ["ape", "sea, cow"]}))
    'row,name\n0,ape\n1,"sea, cow"\n'
    """
    if safe:
        columns = {shown_as_text(name): column for name, column in columns.items()}
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"columns must have the same length, got {sizes}")
    n_rows = next(iter(sizes.values()), 0)
    for first in range(0, max(n_rows, 1), LINES):
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if first == 0:
            writer.writerow(columns)
        parts = [column[first : first + LINES] for column in columns.values()]
        if safe:
            parts = [list(map(shown_as_text, part)) for part in parts]
        writer.writerows(zip(*parts, strict=True))
        yield text.getvalue()


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write text to a file as it comes; the file appears whole or not at all."""
    with (
        atomically(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="", buffering=CHARACTERS) as file,
    ):
        file.writelines(pieces)
