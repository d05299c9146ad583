"""Clusters of real processes on this machine, and chains on rows that are held by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.data import default_model
from sticktree.checks import FloatArray
from sticktree.cluster import DaskSource
from sticktree.data.sources.dask.placement import DaskPlacement
from sticktree.data.training import MemoryStore, Store
from sticktree.engine import parallel_chain_of
from sticktree.engine.bulk.measure import measure
from sticktree.engine.bulk.rows import Rows
from sticktree.model import Model

N, SWEEPS = 3000, 3


@contextmanager
def started(n_workers: int = 2) -> Iterator[Client]:
    """A cluster with worker processes, and its client."""
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, timeout="60s", set_as_default=False) as client,
    ):
        yield client


def table(n: int = N, dimension: int = 3, gaps: bool = False) -> np.ndarray:
    rng = np.random.default_rng(5)
    centres = rng.normal(0, 10, (6, dimension))
    x = centres[rng.integers(6, size=n)] + rng.normal(size=(n, dimension))
    if gaps:
        x[rng.random(x.shape) < 0.05] = np.nan
    return x


def chunked(x: np.ndarray, n_parts: int) -> Any:
    return da.from_array(x, chunks=(-(-len(x) // n_parts), x.shape[1]))


def chain_of(X: Any, **options: Any) -> Any:  # noqa: N803
    """A chain on the rows of a dask collection, on the current client or in this process."""
    source = DaskSource.of(X)
    scale = source.measure()
    return chain_on(source.store(scale.centre, scale.spread), **options)


def chain_on_parts(X: Any, **options: Any) -> Any:  # noqa: N803
    """The same on a cluster with one part for every partition, results joined two at a time."""
    source = DaskSource.of(X)
    scale = source.measure()
    store = source.store(scale.centre, scale.spread, part_bytes=1)

    def rows(jitter: FloatArray | None) -> Rows:
        its = store.rows(1, jitter).placement
        few = {"fan_in": 2, "most_copies": 1000 * len(its.parts)}  # so messages go their own way
        return Rows(DaskPlacement(its.parts, its.session, its.extent, **few))

    return chain_on(store, rows=rows, **options)


def chain_on(store: Store, model: Model | None = None, chain: Any = None, rows: Any = None) -> Any:
    """A chain of a model, which by default has shared noise, on rows wherever they are."""
    model = default_model(3) if model is None else model
    jitter = model.jitter(store.shape[1])
    found = store.rows(2, jitter) if rows is None else rows(jitter)
    return (chain or parallel_chain_of(model))(found, model, np.random.default_rng(1))


def outcome(
    chain: Any,
    n_sweeps: int = SWEEPS,
    meanwhile: Callable[[int], None] = lambda k: None,
) -> list[np.ndarray]:
    """All that a chain has after some sweeps."""
    for k in range(n_sweeps):
        meanwhile(k)
        chain.sweep()
    tree, parameters = chain.tree(), chain.parameters()
    return [
        tree.leaf,
        tree.parent,
        tree.level,
        *(parameters[name] for name in sorted(parameters)),
        np.array([chain.concentration, chain.discount, chain.log_joint()]),
        chain.state.scalars.copy(),
        np.array(chain.state.levels.tolist()),
        np.array([chain.rng.random()]),
    ]


def assert_same(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    for mine, its in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, its)


def in_threads(x: np.ndarray, **options: Any) -> list[np.ndarray]:
    """What threads give, without Dask."""
    scale = measure(lambda f: [f(x)])
    return outcome(chain_on(MemoryStore((x - scale.centre) / scale.spread), **options))
