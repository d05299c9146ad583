"""The peak memory of a whole fit of ten million rows."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.fresh import in_fresh_process
from benchmarks.table import Row, Target, skipped, verdict

TARGET = Target(1500, "MB")
SWEEPS = 6


def rows(quick: bool = False) -> Iterator[Row]:
    n_rows = 200_000 if quick else 10_000_000
    what = f"peak memory of a process that fits {n_rows:,}×2, its rows and summaries included"
    try:
        import resource  # noqa: F401
    except ImportError:
        yield skipped(what, "this system does not tell")
        return
    before = in_fresh_process("benchmarks.scale_memory", "megabytes", 1_000)
    peak = in_fresh_process("benchmarks.scale_memory", "megabytes", n_rows)
    each = 1e6 * (peak - before) / n_rows
    figure = f"{each:.0f} bytes a row above {before:,.0f} MB for 1,000 rows"
    yield Row(what, f"{peak:,.0f} MB", "", figure, str(TARGET), verdict(TARGET.met(peak)))


def megabytes(n_rows: int) -> float:
    """Fit and return the peak memory of this process."""
    from benchmarks.memory import peak_bytes
    from benchmarks.scale_data import clusters
    from sticktree import DFPMixture

    DFPMixture(
        covariance_type="spherical",
        leaf_noise="shared",
        n_chains=1,
        n_warmup=SWEEPS // 2,
        n_draws=SWEEPS // 2,
        algorithm="parallel",
        random_state=0,
        progress=False,
    ).fit(clusters(n_rows, 2, 100).data)
    return peak_bytes() / 1e6
