"""The peak memory of one chain on a million rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.fresh import in_fresh_process
from benchmarks.table import Row, Target, skipped, verdict

TARGET = Target(1000, "MB")


def rows(quick: bool = False) -> Iterator[Row]:
    n_rows = 50_000 if quick else 1_000_000
    what = f"peak memory of a process with one chain, {n_rows:,}×2, 3 sweeps"
    try:
        import resource  # noqa: F401
    except ImportError:
        yield skipped(what, "this system does not tell")
        return
    megabytes = in_fresh_process("benchmarks.memory", "megabytes", n_rows)
    figure = f"{megabytes:,.0f} MB"
    yield Row(what, figure, "", "", str(TARGET), verdict(TARGET.met(megabytes)))


def megabytes(n_rows: int) -> float:
    """Sweep three times and return the peak memory of this process."""
    import numpy as np

    from benchmarks.chains import default_chain, warm
    from benchmarks.synthetic import grid

    warm(default_chain(grid(n_rows, 4, np.random.default_rng(0))), 3)
    return peak_bytes() / 1e6


def peak_bytes() -> float:
    """Return the most memory that this process ever held."""
    # On Linux a child's ru_maxrss starts at what its parent held; VmHWM is its own.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024.0 * int(line.split()[1])
    import resource
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
