"""The one switch for compilation: ``@jit`` on every kernel of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["inlined", "jit"]

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` when it is first called, and keep the result on disk where possible.

    Numba refuses to decorate at all where no cache folder can be written; then the kernel is
    compiled anew in every process. The global interpreter lock is released.
    """
    return _compile(function, forceinline=False)


def inlined(function: Kernel) -> Kernel:
    """Compile ``function`` into the kernels that call it.

    For what is called once a datum or more often: to pass a state of many arrays to a function
    takes longer than most of these functions do.
    """
    return _compile(function, forceinline=True)


def _compile(function: Kernel, forceinline: bool) -> Kernel:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": forceinline}
    try:
        compiled: Kernel = numba.njit(function, cache=True, **options)
    except RuntimeError:
        compiled = numba.njit(function, **options)
    return compiled
