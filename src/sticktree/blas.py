"""Linear algebra on one thread: matrices here are small, and chains have threads of their own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_open: list[Any] = []  # a limit for each context that is open in any thread; the first one counts
_found: tuple[int, Any] = -1, None  # how many modules there were, and the libraries found then


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread while the context is open.

    With more, threads wait for each other: on 5 rows of 200 columns a fit takes three times longer.
    The limit holds for the whole process. Contexts of several threads may overlap in any order:
    the first to open sets the limit, and the last to close restores what was there before.
    """
    with _lock:
        _open.append(_open[0] if _open else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _open.pop()
            if not _open:
                limit.restore_original_limits()


def _libraries() -> Any:
    """Return what can limit the threads of all libraries that are loaded.

    To look for them takes several milliseconds, as much as all else that a short answer needs:
    that is done again only when modules were imported since, as libraries come with them.
    """
    global _found
    from threadpoolctl import ThreadpoolController

    n_modules = len(sys.modules)
    if _found[0] != n_modules:
        _found = n_modules, ThreadpoolController()
    return _found[1]
