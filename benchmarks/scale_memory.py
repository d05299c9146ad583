"""The peak memory of a fit of ten million rows: while it samples, and in the end."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.fresh import in_fresh_process
from benchmarks.table import Row, Target, skipped, verdict

TARGET = Target(1500, "MB")
SWEEPS = 6


def rows(quick: bool = False) -> Iterator[Row]:
    n_rows = 200_000 if quick else 10_000_000
    try:
        import resource  # noqa: F401
    except ImportError:
        yield skipped("peak memory", "this system does not tell")
        return
    for until, summaries in (("its end", False), ("a tree of all rows is asked for", True)):
        before = megabytes_of(1_000, summaries)
        peak = megabytes_of(n_rows, summaries)
        each = 1e6 * (peak - before) / n_rows
        yield Row(
            f"peak memory of a process that fits {n_rows:,}×2, its rows included, until {until}",
            f"{peak:,.0f} MB",
            "",
            f"{each:.0f} bytes a row above the {before:,.0f} MB of 1,000 rows",
            "" if summaries else str(TARGET),
            "" if summaries else verdict(TARGET.met(peak)),
        )


def megabytes_of(n_rows: int, summaries: bool) -> float:
    return in_fresh_process("benchmarks.scale_memory", "megabytes", n_rows, summaries)


def megabytes(n_rows: int, summaries: bool) -> float:
    """Fit and return the peak memory of this process."""
    import sticktree.estimators.clusters
    from benchmarks.memory import peak_bytes
    from benchmarks.scale_data import clusters
    from sticktree import DFPMixture

    sticktree.estimators.clusters.AT_ONCE = 0  # as it is where rows are very many
    mixture = DFPMixture(
        covariance_type="spherical",
        leaf_noise="shared",
        n_chains=1,
        n_warmup=SWEEPS // 2,
        n_draws=SWEEPS // 2,
        algorithm="parallel",
        random_state=0,
        progress=False,
    ).fit(clusters(n_rows, 2, 100).data)
    if summaries:
        _ = mixture.tree_
    return peak_bytes() / 1e6
