"""The cache of kernels on disk: one file for each kernel and signature.

Numba's own cache has an index for each kernel, which two processes that compile the same kernel at
once can leave pointing at the wrong code, and it looks at the kernel's own file alone, so that it
goes on with what it made of a kernel in another file before that was edited. Here a file is named
by what it is the code of, and starts with a digest of that, of all sources the kernel depends on
and of the code: a file that is stale, cut off or damaged is compiled anew.

Numba writes and reads its code by pickle. A cache folder is as trusted as the program itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba import config
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from sticktree.jit.shipped import shipped
from sticktree.jit.sources import PACKAGE, digest_of

DIGEST = hashlib.sha256().digest_size
Key = tuple[Any, ...]


class Nowhere(_CacheLocator):
    """The place of last resort, where no folder can be written: nothing is kept there."""

    def __init__(self, function: Callable[..., object], file: str) -> None:
        self._py_file, self._line = file, function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> Nowhere:
        """Return the place, which serves any function."""
        return cls(py_func, py_file)

    def ensure_cache_path(self) -> None:
        """Raise an error, as nothing can be written."""
        raise OSError("there is no folder for a cache of kernels that can be written")

    def get_cache_path(self) -> str:
        """Return a folder that no file can be in."""
        return os.devnull

    def get_source_stamp(self) -> str:
        """Return nothing: the sources are stamped by their content."""
        return ""

    def get_disambiguator(self) -> str:
        """Return what tells functions of one name apart."""
        return str(self._line)


class Impl(CompileResultCacheImpl):
    """How numba reads and writes code, with one more place for it."""

    _locator_classes: ClassVar = [*CompileResultCacheImpl._locator_classes, Nowhere]


class KernelCache(FunctionCache):
    """The cache of one kernel.

    In a folder that the user names by ``NUMBA_CACHE_DIR``, each state of the sources has a folder
    of its own, so that several checkouts can share it. Where nothing can be written, ``kept`` is
    False.
    """

    _impl_class = Impl

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self.kept = not isinstance(self._impl.locator, Nowhere)
        file = function.__code__.co_filename
        stamp = self._impl.locator.get_source_stamp()
        if Path(file).is_file():  # not if the kernel is written by a program
            stamp = digest_of(function.__module__, file)
            named = getattr(config, "CACHE_DIR", "")
            if named and self.kept:
                self._cache_path = os.path.join(named, f"{PACKAGE.name}-{stamp[:16]}")
        self._cache_file: Any = KernelFiles(self._cache_path, self._impl.filename_base, str(stamp))
        self._module = function.__module__

    def code(self, sig: Any, target_context: Any) -> bytes | None:
        """Return the code for a signature, as numba has written it, or None."""
        return next(
            filter(None, (files.code(key) for files, key in self._places(sig, target_context))),
            None,
        )

    def path(self, sig: Any, target_context: Any) -> Path:
        """Return the file that the code for a signature is written to."""
        key = self._index_key(sig, target_context.codegen())
        path: Path = self._cache_file.path(key)
        return path

    def _places(self, sig: Any, target_context: Any) -> Iterator[tuple[KernelFiles, Key]]:
        """Yield the files that may have a signature: those made here, those that were shipped."""
        key = self._index_key(sig, target_context.codegen())
        yield self._cache_file, key
        came = shipped()
        if came is not None:
            own = self._cache_file
            yield (
                KernelFiles(came.place(self._module), own.name, own.stamp),
                (key[0], came.processor, key[2]),
            )

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        for files, key in self._places(sig, target_context):
            with contextlib.suppress(Exception):  # whatever is wrong with a file: it is made anew
                data = files.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk does not stop a fit
            super()._save_overload(sig, data)


class KernelFiles:
    """The files of one kernel.

    A file is a digest and then the code. The digest is over the release of numba, the stamp of
    the sources, the signature, the processor, and the code.
    """

    def __init__(self, folder: str, name: str, stamp: str) -> None:
        self.folder, self.name, self.stamp = Path(folder), name, stamp

    def save(self, key: Key, data: Any) -> None:
        """Write the code for a signature; whoever reads meanwhile sees all of it or nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        code = dumps(data)
        handle, path = tempfile.mkstemp(prefix=f"{self.name}.", suffix=".tmp", dir=self.folder)
        try:
            with open(handle, "wb") as file:
                file.write(self._digest(key, code) + code)
            os.replace(path, self.path(key))
        except BaseException:
            os.unlink(path)
            raise

    def load(self, key: Key) -> Any:
        """Return what was saved for a signature, or None."""
        code = self.code(key)
        return None if code is None else pickle.loads(code)

    def code(self, key: Key) -> bytes | None:
        """Return the code for a signature, or None if it is not there, stale or damaged."""
        try:
            content = self.path(key).read_bytes()
        except OSError:
            return None
        code = content[DIGEST:]
        return code if content[:DIGEST] == self._digest(key, code) else None

    def flush(self) -> None:
        """Forget everything about the kernel."""
        for path in self.folder.glob(f"{self.name}.*.nbc"):
            path.unlink(missing_ok=True)

    def path(self, key: Key) -> Path:
        """Return the file for a signature, a processor and the kernel's own instructions."""
        short = hashlib.sha256(_text(key).encode()).hexdigest()[:16]
        return self.folder / f"{self.name}.{short}.nbc"

    def _digest(self, key: Key, code: bytes) -> bytes:
        what = "\n".join((numba.__version__, self.stamp, _text(key)))
        return hashlib.sha256(what.encode() + b"\n" + code).digest()


def _text(key: Key) -> str:
    signature, processor, instructions = key
    return repr((tuple(map(_name, signature)), processor, instructions))


def _name(kind: Any) -> str:
    """Return the name of a type; numba's name of a function has its address in memory."""
    if isinstance(kind, types.Dispatcher):
        return f"{kind.dispatcher.__module__}.{kind.dispatcher.__qualname__}"
    return str(kind)
