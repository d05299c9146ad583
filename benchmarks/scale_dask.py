"""The sampler for many rows on a Dask cluster of two processes against two threads here.

Bytes are those through this process, where the scheduler and the client of a local cluster are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.chains import default_model, warm
from benchmarks.local_workers import local_workers
from benchmarks.synthetic import crowd
from benchmarks.table import Row, Target, ratio_row, skipped, verdict
from benchmarks.timing import race
from sticktree.checks import FloatArray
from sticktree.engine.bulk.partition import partition
from sticktree.engine.bulk.rows import Rows, ThreadedRows
from sticktree.engine.bulk.shared_chain import SharedParallelChain

WORKERS = 2
PARTITIONS = 8
SWEEPS = 7
LIMIT = 1.5  # of the time of threads
GROWTH = 1.2  # of bytes, for five times the rows: heartbeats come and go


@dataclass
class Traffic:
    """Bytes that this process sent and received."""

    sent: int = 0
    received: int = 0


@contextmanager
def counted() -> Iterator[Traffic]:
    """Count the bytes of all TCP connections of Dask in this process."""
    from distributed.comm import tcp

    traffic = Traffic()
    write, read = tcp.TCP.write, tcp.from_frames

    async def counting_write(self: Any, *args: Any, **kwargs: Any) -> Any:
        size = await write(self, *args, **kwargs)
        traffic.sent += size
        return size

    async def counting_read(frames: Any, *args: Any, **kwargs: Any) -> Any:
        traffic.received += sum(memoryview(frame).nbytes for frame in frames)
        return await read(frames, *args, **kwargs)

    patched: Any = tcp
    patched.TCP.write, patched.from_frames = counting_write, counting_read
    try:
        yield traffic
    finally:
        patched.TCP.write, patched.from_frames = write, read


def chain_on(rows: Rows) -> SharedParallelChain:
    return SharedParallelChain(rows, default_model(), np.random.default_rng(0))


def rows_on_workers(x: FloatArray) -> Rows:
    """Return rows that are on the workers of the current client, as a Dask array would be."""
    import dask
    import dask.array as da

    from sticktree.cluster import DaskSource

    # Rows come from this process, which is what the warning is about.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
        source = DaskSource.of(da.from_array(x, chunks=(-(-len(x) // PARTITIONS), x.shape[1])))
    return source.store(np.zeros(x.shape[1]), np.ones(x.shape[1])).rows(1)


def rows(quick: bool) -> Iterator[Row]:
    """Yield the time per sweep against threads, and bytes per sweep for two numbers of rows."""
    try:
        import distributed  # noqa: F401
    except ImportError as reason:
        yield skipped("Dask", reason)
        return
    size = 50_000 if quick else 5_000_000
    rng = np.random.default_rng(0)
    x = crowd(size, 4, 100, rng)
    warm_up = 3 if quick else 10
    here = warm(chain_on(ThreadedRows(partition(x, 0), WORKERS)), warm_up)
    with local_workers(WORKERS):
        chain = warm(chain_on(rows_on_workers(x)), warm_up)
        # Both have the same seed, so they have the same leaves.
        yield ratio_row(
            f"sweep on {WORKERS} Dask workers, {size:,}×4, against {WORKERS} threads",
            *race(chain.sweep, here.sweep, SWEEPS),
            LIMIT,
        )
        few = warm(chain_on(rows_on_workers(x[: size // 5])), warm_up)
        traffic = [bytes_per_sweep(each) for each in (few, chain)]
    bound = Target(GROWTH)
    yield Row(
        f"bytes through scheduler and client per sweep, {size:,} rows against {size // 5:,}",
        f"{traffic[1] / 1e3:.0f} kB",
        f"{traffic[0] / 1e3:.0f} kB",
        f"{traffic[1] / traffic[0]:.2f}",
        str(bound),
        verdict(bound.met(traffic[1] / traffic[0])),
    )


def bytes_per_sweep(chain: SharedParallelChain) -> float:
    chain.n_rounds = 1  # few rows have several passes in a sweep
    with counted() as traffic:
        warm(chain, SWEEPS)
    return (traffic.sent + traffic.received) / SWEEPS
