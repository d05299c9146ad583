"""The one switch for compilation: ``@jit`` on every kernel of the library."""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., object])
IMPORT = re.compile(r"^[ \t]*from ([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def jit(function: Kernel) -> Kernel:
    """Compile ``function`` when it is first called, and keep the result on disk where possible.

    Numba refuses to decorate at all where no cache folder can be written; then the kernel is
    compiled anew in every process. The global interpreter lock is released.
    """
    import numba

    try:
        compiled: Kernel = numba.njit(function, cache=True, nogil=True, error_model="numpy")
        _stamp(compiled, function.__module__, function.__code__.co_filename)
    except (RuntimeError, OSError):
        compiled = numba.njit(function, nogil=True, error_model="numpy")
    return compiled


def _stamp(compiled: Any, module: str, file: str) -> None:
    """Have the cached kernel forgotten when a file changes that its module imports.

    Numba looks at the kernel's own file alone, and would go on with what it made of a kernel in
    another file, or of a constant, before that was edited. In a folder that the user names, each
    state of the sources has a folder of its own, so that several checkouts can share it.
    """
    cache: Any = getattr(compiled, "_cache", None)
    kept = getattr(cache, "_cache_file", None)
    if kept is None or not Path(file).is_file():
        return  # compilation is switched off, or the kernel is written by a program
    if module.startswith(__package__ + "."):
        digest = source_digest(module, Path(file).parents[module.count(".") - 1])
    else:
        digest = _digest_outside(file)
    from numba import config

    path, named = cache.cache_path, getattr(config, "CACHE_DIR", "")
    if named:
        path = os.path.join(named, f"{__package__}-{digest[:16]}")
        os.makedirs(path, exist_ok=True)
    cache._cache_file = type(kept)(
        cache_path=path, filename_base=cache._impl.filename_base, source_stamp=digest
    )


@functools.cache
def source_digest(module: str, package: Path) -> str:
    """Return a digest of a module's name and source, and of all it imports from its package."""
    found = {module}
    waiting = [module]
    digest = hashlib.sha256(module.encode())
    while waiting:
        for other in _imports(waiting.pop(), package):
            if other not in found:
                found.add(other)
                waiting.append(other)
    for name in sorted(found):
        digest.update(_source(name, package))
    return digest.hexdigest()


@functools.cache
def _digest_outside(file: str) -> str:
    """Return a digest of a file outside the library, such as a test, and of all it imports."""
    package = Path(__file__).parent
    text = Path(file).read_bytes()
    digest = hashlib.sha256(file.encode() + text)
    for module in _named(text.decode(), package):
        digest.update(source_digest(module, package).encode())
    return digest.hexdigest()


@functools.cache
def _imports(module: str, package: Path) -> tuple[str, ...]:
    """Return the modules of the package that a module imports, wherever in it."""
    return _named(_source(module, package).decode(), package)


def _named(text: str, package: Path) -> tuple[str, ...]:
    """Return the modules of the package that a source names in its imports."""

    def names() -> Iterator[str]:
        for source, items in IMPORT.findall(text):
            if source.split(".")[0] == package.name:
                yield source
                yield from (f"{source}.{item}" for item in re.findall(r"\w+", items))

    return tuple(name for name in names() if _source(name, package))


@functools.cache
def _source(module: str, package: Path) -> bytes:
    """Return the source of a module, or nothing if there is no such module."""
    place = package.joinpath(*module.split(".")[1:])
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path.read_bytes()
    return b""


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
