"""What a start costs: imports, compilation of the kernels, memory of a chain."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import sticktree
from benchmarks.measure import (
    Row,
    Target,
    duration_row,
    in_fresh_process,
    median,
    peak_bytes,
    seconds_of,
    skipped,
    verdict,
)

IMPORT_LIMIT = 500  # ms
PROGRAM = """
import time, numpy
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def imports(quick: bool = False) -> Iterator[Row]:
    for module in ("sticktree", "sticktree.processes"):
        yield duration_row(f"import {module}", import_seconds(module), IMPORT_LIMIT, "ms")


def import_seconds(module: str, rounds: int = 5) -> float:
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    return median(
        [
            float(subprocess.run(command, capture_output=True, check=True).stdout)
            for _ in range(rounds)
        ]
    )


def compiling(quick: bool = False) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        cache.mkdir()
        writable = {"NUMBA_CACHE_DIR": str(cache)}
        for what, environment, limit in (
            ("kernel cache empty", writable, 20.0),
            ("kernels cached", writable, 1.0),
            ("cache not writable", _nowhere_to_write(Path(folder)), 20.0),
        ):
            seconds = in_fresh_process("benchmarks.start", "overhead", **environment)
            what = f"first fit in a fresh process, {what}: seconds beyond the fit"
            yield duration_row(what, seconds, limit)


def _nowhere_to_write(folder: Path) -> dict[str, str]:
    """Return an environment in which numba finds no folder for its cache.

    It tries several: the one that is set, beside the source, the user's. Each is a file here, so
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


PEAK = Target(1000, "MB")


def memory(quick: bool = False) -> Iterator[Row]:
    n_rows = 50_000 if quick else 1_000_000
    what = f"peak memory of a process with one chain, {n_rows:,}×2, 3 sweeps"
    try:
        import resource  # noqa: F401
    except ImportError:
        yield skipped(what, "this system does not tell")
        return
    sweep_megabytes = in_fresh_process("benchmarks.start", "sweep_megabytes", n_rows)
    figure = f"{sweep_megabytes:,.0f} MB"
    yield Row(what, figure, "", "", str(PEAK), verdict(PEAK.met(sweep_megabytes)))


def sweep_megabytes(n_rows: int) -> float:
    """Sweep three times and return the peak memory of this process."""
    import numpy as np

    from benchmarks.data import default_chain, grid, warm

    warm(default_chain(grid(n_rows, 4, np.random.default_rng(0))), 3)
    return peak_bytes() / 1e6
