"""Rows in files against rows in memory: time per sweep, time to prepare, peak memory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.data import crowd
from benchmarks.measure import (
    Row,
    Target,
    duration,
    in_fresh_process,
    median,
    peak_bytes,
    seconds_of,
    verdict,
)
from sticktree.chunks import open_table
from sticktree.data.sources.prepared import FilePlacement, PreparedTable, measure_table
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.rows import Rows
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.model import Model

DIMENSION, CLUSTERS, THREADS = 4, 100, 2
SWEEPS = Target(1.5)
MEMORY = Target(1.1)  # of what is stated; the rest is stacks of threads and what malloc keeps


def scale_chunks(quick: bool = False) -> Iterator[Row]:
    n_rows = 40_000 if quick else 4_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, crowd(n_rows, DIMENSION, CLUSTERS, np.random.default_rng(0)))
        yield from _times(path, n_rows, 3 if quick else 9)
        yield _memory(path, n_rows)


def _times(path: Path, n_rows: int, rounds: int) -> Iterator[Row]:
    size = f"{n_rows:,}×{DIMENSION}"
    table = open_table(path)
    start = time.perf_counter()
    scale = measure_table(table, THREADS)
    measured = time.perf_counter() - start
    whole = table.read(0, n_rows)
    start = time.perf_counter()
    memory = Rows(ThreadPlacement(partition((whole - scale.centre) / scale.spread, 0), THREADS))
    arranged = time.perf_counter() - start
    start = time.perf_counter()
    with PreparedTable(table, scale.centre, scale.spread, n_threads=THREADS) as prepared:
        taken = time.perf_counter() - start
        yield Row(
            f"rows in files: prepare {size} ({duration(measured)} to measure), against memory",
            duration(taken),
            duration(arranged),
            f"{taken / arranged:.2f}",
        )
        ours, peer = _chain(Rows(FilePlacement(prepared))), _chain(memory)
        for _ in range(5):
            ours.sweep(), peer.sweep()
        seconds: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for chain, list_ in zip((ours, peer), seconds, strict=True):
                list_.append(seconds_of(chain.sweep))
    both = median(seconds[0]), median(seconds[1])
    yield Row(
        f"rows in files: one sweep, {size}, {ours.leaves.size} leaves, {THREADS} threads, "
        f"{len(prepared.arranged()[0])} chunks, against memory",
        duration(both[0]),
        duration(both[1]),
        f"{both[0] / both[1]:.2f}",
        str(SWEEPS),
        verdict(SWEEPS.met(both[0] / both[1])),
    )


def _memory(path: Path, n_rows: int) -> Row:
    small = in_fresh_process("benchmarks.scale_chunks", "peak", str(path), 10_000)
    large = in_fresh_process("benchmarks.scale_chunks", "peak", str(path), n_rows)
    stated = in_fresh_process("benchmarks.scale_chunks", "stated", str(path))
    share = (large - small) / stated
    return Row(
        f"rows in files: peak memory over that of 10,000 rows, {n_rows:,}×{DIMENSION}, 2 sweeps "
        f"({large / 1e6:,.0f} MB in all), against what is stated",
        f"{(large - small) / 1e6:,.0f} MB",
        f"{stated / 1e6:,.0f} MB",
        f"{share:.2f}",
        str(MEMORY),
        verdict(MEMORY.met(share)),
    )


def peak(path: str, n_rows: int) -> float:
    """Sweep twice over the first rows of a file; return the peak memory of this process."""
    table = open_table(path)
    if n_rows < table.n_rows:
        table = open_table(table.read(0, n_rows))
    scale = measure_table(table, THREADS)
    with PreparedTable(table, scale.centre, scale.spread, n_threads=THREADS) as prepared:
        chain = _chain(Rows(FilePlacement(prepared)))
        for _ in range(2):
            chain.sweep()
    return peak_bytes()


def stated(path: str) -> float:
    """Return how much memory the rows of a file need, as it is stated."""
    table = open_table(path)
    with PreparedTable(table, np.zeros(DIMENSION), np.ones(DIMENSION), n_threads=THREADS) as made:
        return made.peak_bytes


def _chain(rows: Rows) -> SharedBulkChain:
    model = Model(np.ones(4), covariance_type="spherical", precision_prior=(1.0, 0.01))
    return SharedBulkChain(rows, model, np.random.default_rng(0))
