"""What compiling the kernels adds to a fit: with nothing cached, with a cache, without one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fresh import in_fresh_process
from benchmarks.table import Row, duration_row
from benchmarks.timing import seconds_of


def rows(quick: bool = False) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        cache.mkdir()
        # A file where the folder should be: nobody, not even root, can write there.
        blocked = Path(folder, "blocked")
        blocked.touch()
        for what, place, limit in (
            ("first fit in a fresh process, kernel cache empty", cache, 20.0),
            ("first fit in a fresh process, kernels cached", cache, 1.0),
            ("first fit in a fresh process, cache not writable", blocked / "cache", 20.0),
        ):
            seconds = in_fresh_process(
                "benchmarks.compiling", "overhead", NUMBA_CACHE_DIR=str(place)
            )
            yield duration_row(f"{what}: seconds beyond the fit", seconds, limit)


def overhead() -> float:
    """Return the seconds of a first small fit less those of a second."""
    import numpy as np

    from sticktree import DFPMixture

    data = np.random.default_rng(0).normal(size=(50, 2))
    mixture = DFPMixture(n_chains=1, n_warmup=5, n_draws=5, random_state=0, progress=False)
    first, second = (seconds_of(lambda: mixture.fit(data)) for _ in range(2))
    return first - second
