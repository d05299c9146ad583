"""Who compiles what: processes that share a cache do not compile the same kernel at once.

A claim is a lock on one byte of a file beside the cache. The system lets go of it when the process
ends, however that ends, so that no claim is ever stale. A claim saves work and is no more than
that: where locks cannot be had everything may be claimed, and code is written whole in any case.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

PAUSE = 0.1  # seconds between two looks at a claim of another process


@contextmanager
def claimed(file: Path, what: str, patience: float) -> Iterator[bool]:
    """Claim something for as long as the context lasts; say whether that could be done.

    Parameters
    ----------
    file : Path
        The file of the claims, which all who share a cache have in common.
    what : str
        What is claimed.
    patience : float
        Seconds to wait for another process that has claimed it.
    """
    handle = _opened(file)
    try:
        until = time.monotonic() + patience
        while handle is not None and _is_held(handle, what):
            if time.monotonic() >= until:
                yield False
                return
            time.sleep(PAUSE)
        yield True
    finally:
        if handle is not None:
            os.close(handle)


def _opened(file: Path) -> int | None:
    """Return a handle of a file that can be locked, or None."""
    if fcntl is not None:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    return None


def _is_held(handle: int, what: str) -> bool:
    """Claim something; return whether another process has."""
    byte = int.from_bytes(hashlib.sha256(what.encode()).digest()[:3], "big")
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:  # a file system without locks
        return False
    return False
