"""What compiling the kernels adds to a fit: with nothing cached, with a cache, without one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import sticktree
from benchmarks.fresh import in_fresh_process
from benchmarks.table import Row, duration_row
from benchmarks.timing import seconds_of


def rows(quick: bool = False) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        cache.mkdir()
        writable = {"NUMBA_CACHE_DIR": str(cache)}
        for what, environment, limit in (
            ("kernel cache empty", writable, 20.0),
            ("kernels cached", writable, 1.0),
            ("cache not writable", _nowhere_to_write(Path(folder)), 20.0),
        ):
            seconds = in_fresh_process("benchmarks.compiling", "overhead", **environment)
            what = f"first fit in a fresh process, {what}: seconds beyond the fit"
            yield duration_row(what, seconds, limit)


def _nowhere_to_write(folder: Path) -> dict[str, str]:
    """Return an environment in which numba finds no folder for its cache.

    It tries several: the one it is told, beside the source, the user's. Each is a file here, so
    that nobody can write there, not even root.
    """
    source = folder / "source"
    library = Path(sticktree.__file__).parent
    shutil.copytree(library, source / "sticktree", ignore=shutil.ignore_patterns("__pycache__"))
    for package in [path.parent for path in source.rglob("__init__.py")]:
        (package / "__pycache__").touch()
    blocked = folder / "blocked"
    blocked.touch()
    home = str(blocked / "home")
    variables = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"), home)
    return {**variables, "PYTHONPATH": str(source)}


def overhead() -> float:
    """Return the seconds of a first small fit less those of a second."""
    import numpy as np

    from sticktree import DFPMixture

    data = np.random.default_rng(0).normal(size=(50, 2))
    mixture = DFPMixture(n_chains=1, n_warmup=5, n_draws=5, random_state=0, progress=False)
    first, second = (seconds_of(lambda: mixture.fit(data)) for _ in range(2))
    return first - second
