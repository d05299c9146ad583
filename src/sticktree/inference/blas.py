"""Linear algebra on one thread: matrices here are small, and chains have threads of their own."""

from __future__ import annotations

from typing import Any

__all__ = ["one_thread"]


def one_thread() -> Any:
    """Return a context in which BLAS uses one thread.

    With more, threads wait for each other: on 5 rows of 200 columns a fit takes three times longer.
    """
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")
