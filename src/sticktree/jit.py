"""The one switch for compilation: ``@jit`` on every kernel of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

__all__ = ["jit"]

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` when it is first called, and keep the result on disk where possible.

    Numba refuses to decorate at all where no cache folder can be written; then the kernel is
    compiled anew in every process. The global interpreter lock is released.
    """
    try:
        compiled: Kernel = numba.njit(function, cache=True, nogil=True)
    except RuntimeError:
        compiled = numba.njit(function, nogil=True)
    return compiled
