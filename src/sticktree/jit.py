"""The one switch for compilation: ``@jit`` on every kernel of the library."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["inlined", "jit", "linked"]

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` when it is first called, and keep the result on disk where possible.

    Numba refuses to decorate at all where no cache folder can be written; then the kernel is
    compiled anew in every process. The global interpreter lock is released.
    """
    try:
        compiled: Kernel = numba.njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:
        compiled = numba.njit(function, nogil=True, error_model="numpy")
    return compiled


def inlined(function: Kernel) -> Kernel:
    """Compile ``function`` into the kernels that call it; to Python it stays what it is.

    For what is called once a datum or more often: to pass a state of many arrays to a function
    takes longer than most of these functions do. (Numba's ``inline="always"`` makes kernels that
    count references in every loop, and run three times slower.)
    """
    return _without_wrapper(function, forceinline=True)


def linked(function: Kernel) -> Kernel:
    """Compile ``function`` for the kernels that call it; to Python it stays what it is.

    The wrapper by which Python would call it takes longer to compile than the function, if a state
    of many arrays is to be passed.
    """
    return _without_wrapper(function)


def _without_wrapper(function: Kernel, **options: Any) -> Kernel:
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(function, nogil=True, error_model="numpy", **options)
    if compiled is function:  # compilation is switched off
        return function
    return cast(Kernel, _Internal(function, compiled))


class _Internal:
    """A function that kernels see compiled and Python sees plain.

    Without a wrapper for Python, which takes long to compile, Python must not call the kernel.
    """

    def __init__(self, function: Callable[..., object], compiled: Any) -> None:
        self.function, self.compiled = function, compiled
        self._numba_type_ = compiled._numba_type_
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: object) -> object:
        return self.function(*arguments)
