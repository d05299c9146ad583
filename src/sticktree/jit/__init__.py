"""The one switch for compilation: ``@jit`` on every kernel of the library."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., object])

# What is not said here, a kernel would take over from the one that is first compiled to call it.
OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "forceinline": False,
    "no_cpython_wrapper": False,
    "no_cfunc_wrapper": True,
}


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` when it is first called, and keep the result on disk where possible.

    Where no cache folder can be written, the kernel is compiled anew in every process. The global
    interpreter lock is released.
    """
    import numba

    from sticktree.jit.cache import KernelCache

    compiled: Any = numba.njit(function, **OPTIONS)
    if hasattr(compiled, "enable_caching"):  # not so where compilation is switched off
        compiled._cache = KernelCache(function)
    return cast(Kernel, compiled)


def inlined(function: Kernel) -> Kernel:
    """Compile ``function`` into the kernels that call it; to Python it stays what it is.

    For what is called in the innermost loops, and is short: all its callers grow by it. (Numba's
    ``inline="always"`` makes kernels that count references in every loop, and run three times
    slower.)
    """
    return cast(Kernel, _Internal(function, forceinline=True))


def linked(function: Kernel) -> Kernel:
    """Compile ``function`` for the kernels that call it; to Python it stays what it is.

    No wrapper is made by which Python could call it, and it is optimised only where it is used.
    """
    return cast(Kernel, _Internal(function))


class _Internal:
    """A function that kernels see compiled and Python sees plain.

    Numba is loaded by the first kernel that calls it: until then a module costs next to nothing.
    """

    def __init__(self, function: Callable[..., object], **options: Any) -> None:
        self.function, self.options = function, options
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: object) -> object:
        return self.function(*arguments)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        import numba

        from sticktree.jit.inner import inner_pipeline

        options = OPTIONS | {"no_cpython_wrapper": True} | self.options
        if inner_pipeline() is not None:
            options["pipeline_class"] = inner_pipeline()
        self.compiled = numba.njit(self.function, **options)
        return self.compiled._numba_type_
