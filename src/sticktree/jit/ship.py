"""Filling the folder of compiled kernels that a wheel carries: ``python -m sticktree.jit.ship``.

It is done in a copy of the library that is to become a wheel, with ``NUMBA_CPU_NAME`` and
``NUMBA_CPU_FEATURES`` set to the generic processor and ``NUMBA_CACHE_DIR`` to an empty folder; see
``packaging/wheel.py``.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Collection
from pathlib import Path

from numba import config
from numba.core.registry import cpu_target

from sticktree.jit.ahead import compile_ahead, missing
from sticktree.jit.cache import KernelCache
from sticktree.jit.entries import entries
from sticktree.jit.shipped import FOLDER, GENERIC, MANIFEST, circumstances, machine


def generic() -> dict[str, str]:
    """Return the environment in which numba compiles for the generic processor."""
    name, features = GENERIC[machine()]
    signs = ",".join(f"+{feature}" for feature in features.split())
    return {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": signs}


def fill(tasks: Collection[str] = (), folder: Path = FOLDER) -> int:
    """Compile the kernels of tasks, by default all, into the folder; return how many there are."""
    shutil.rmtree(folder, ignore_errors=True)
    tasks = tasks or entries().tasks

    compile_ahead(tasks, lambda done, total: print(f"compiled {done} of {total} kernels"))
    failed = missing(tasks)
    if failed:
        raise RuntimeError(f"could not compile {', '.join(entry.name for entry in failed)}")
    known = entries()
    n_kernels = 0
    for entry in known.needed(tasks):
        try:
            kernel, signature = entry.kernel, entry.signature(known.records)
        except Exception as error:  # see `is_cached`
            print(f"{entry.module}.{entry.name} is not as in the list: {error}", file=sys.stderr)
            continue
        assert isinstance(kernel._cache, KernelCache)
        file = kernel._cache.path(signature, kernel.targetctx)
        (folder / entry.module).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / entry.module)
        n_kernels += 1
    manifest = {
        **circumstances(),
        "processor": cpu_target.target_context.codegen().magic_tuple(),
        "features": GENERIC[machine()][1].split(),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return n_kernels


if __name__ == "__main__":
    if config.CPU_NAME is None:
        sys.exit("set the variables of numba to the generic processor: see packaging/wheel.py")
    print(f"{fill(sys.argv[1:])} kernels in {FOLDER}")
