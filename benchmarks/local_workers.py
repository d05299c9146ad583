"""A Dask cluster of processes on this machine, and its end without noise."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def local_workers(n_workers: int) -> Iterator[Any]:
    """Start processes of one thread each, and yield their client.

    The client closes first, then the cluster. A heartbeat of a worker that is on its way meanwhile
    finds nobody, and Dask prints an error and its traceback for it. That says nothing if all went
    well until then, so then the workers are told to keep it to themselves.
    """
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
        client.run(_hush)


def _hush() -> None:
    logging.getLogger("distributed.worker").setLevel(logging.CRITICAL)
