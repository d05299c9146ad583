"""Linear algebra on one thread: matrices here are small, and chains have threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_open: list[Any] = []  # a limit for each context that is open in any thread; the first one counts


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread while the context is open.

    With more, threads wait for each other: on 5 rows of 200 columns a fit takes three times longer.
    The limit holds for the whole process. Contexts of several threads may overlap in any order:
    the first to open sets the limit, and the last to close restores what was there before.
    """
    from threadpoolctl import threadpool_limits

    with _lock:
        _open.append(_open[0] if _open else threadpool_limits(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _open.pop()
            if not _open:
                limit.restore_original_limits()
