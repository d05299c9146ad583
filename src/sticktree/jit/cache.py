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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from sticktree.jit.sources import PACKAGE, digest_of

DIGEST = hashlib.sha256().digest_size


class KernelCache(FunctionCache):
    """The cache of one kernel.

    In a folder that the user names by ``NUMBA_CACHE_DIR``, each state of the sources has a folder
    of its own, so that several checkouts can share it.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        file = function.__code__.co_filename
        stamp = self._impl.locator.get_source_stamp()
        if Path(file).is_file():  # not if the kernel is written by a program
            stamp = digest_of(function.__module__, file)
            named = getattr(config, "CACHE_DIR", "")
            if named:
                self._cache_path = os.path.join(named, f"{PACKAGE.name}-{stamp[:16]}")
        self._cache_file: Any = KernelFiles(self._cache_path, self._impl.filename_base, str(stamp))

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super()._load_overload(sig, target_context)
        except Exception:  # whatever is wrong with the file: it is made anew
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

    def save(self, key: tuple[Any, ...], data: Any) -> None:
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

    def load(self, key: tuple[Any, ...]) -> Any:
        """Return the code for a signature, or None."""
        try:
            content = self.path(key).read_bytes()
        except OSError:
            return None
        code = content[DIGEST:]
        if content[:DIGEST] != self._digest(key, code):
            return None
        return pickle.loads(code)

    def flush(self) -> None:
        """Forget everything about the kernel."""
        for path in self.folder.glob(f"{self.name}.*.nbc"):
            path.unlink(missing_ok=True)

    def path(self, key: tuple[Any, ...]) -> Path:
        """Return the file for a signature, a processor and the kernel's own instructions."""
        short = hashlib.sha256(_text(key).encode()).hexdigest()[:16]
        return self.folder / f"{self.name}.{short}.nbc"

    def _digest(self, key: tuple[Any, ...], code: bytes) -> bytes:
        what = "\n".join((numba.__version__, self.stamp, _text(key)))
        return hashlib.sha256(what.encode() + b"\n" + code).digest()


def _text(key: tuple[Any, ...]) -> str:
    signature, processor, instructions = key
    return repr((tuple(map(str, signature)), processor, instructions))
