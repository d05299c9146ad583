"""Digests of sources: what a compiled kernel was made of."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

IMPORT = re.compile(r"^[ \t]*from ([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
PACKAGE = Path(__file__).parents[1]
KEEPING = f"{PACKAGE.name}.jit."  # how code is kept, which does not change it


def digest_of(module: str, file: str) -> str:
    """Return a digest of a module's source, and of all that it imports from the library."""
    if module.startswith(f"{PACKAGE.name}."):
        return source_digest(module)
    return _digest_outside(file)


@functools.cache
def source_digest(module: str) -> str:
    """Return a digest of a module's name and source, and of all it imports from its package."""
    found = {module}
    waiting = [module]
    digest = hashlib.sha256(module.encode())
    while waiting:
        for other in _imports(waiting.pop()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    for name in sorted(found):
        digest.update(_source(name))
    return digest.hexdigest()


@functools.cache
def _digest_outside(file: str) -> str:
    """Return a digest of a file outside the library, such as a test, and of all it imports."""
    text = Path(file).read_bytes()
    digest = hashlib.sha256(file.encode() + text)
    for module in _named(text.decode()):
        digest.update(source_digest(module).encode())
    return digest.hexdigest()


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """Return the modules of the package that a module imports, wherever in it."""
    return _named(_source(module).decode())


def _named(text: str) -> tuple[str, ...]:
    """Return the modules of the package that a source names in its imports."""

    def names() -> Iterator[str]:
        for source, items in IMPORT.findall(text):
            if source.split(".")[0] == PACKAGE.name:
                yield source
                yield from (f"{source}.{item}" for item in re.findall(r"\w+", items))

    return tuple(name for name in names() if not name.startswith(KEEPING) and _source(name))


@functools.cache
def _source(module: str) -> bytes:
    """Return the source of a module, or nothing if there is no such module."""
    place = PACKAGE.joinpath(*module.split(".")[1:])
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path.read_bytes()
    return b""
