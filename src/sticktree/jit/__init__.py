"""The one switch for compilation: ``@jit`` on every kernel of the library."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` when it is first called, and keep the result on disk where possible.

    Where no cache folder can be written, the kernel is compiled anew in every process. The global
    interpreter lock is released.
    """
    import numba

    from sticktree.jit.cache import KernelCache

    compiled: Any = numba.njit(function, nogil=True, error_model="numpy")
    if hasattr(compiled, "enable_caching"):  # not so where compilation is switched off
        with contextlib.suppress(RuntimeError, OSError):
            compiled._cache = KernelCache(function)
    return cast(Kernel, compiled)


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
    return cast(Kernel, _Internal(function, options))


class _Internal:
    """A function that kernels see compiled and Python sees plain.

    Without a wrapper for Python, which takes long to compile, Python must not call the kernel.
    Numba is loaded by the first kernel that calls it: until then a module costs next to nothing.
    """

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        self.function, self.options = function, options
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: object) -> object:
        return self.function(*arguments)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        import numba

        options = self.options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self.compiled = numba.njit(self.function, nogil=True, error_model="numpy", **options)
        return self.compiled._numba_type_
