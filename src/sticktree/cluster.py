"""Rows on a cluster: the sampler for many rows on Dask arrays and data frames.

Rows stay on the workers. In every pass all leaves are sent to them, and sums come back whose size
does not depend on the number of rows. The result of a pass is a function of the rows and of what is
sent, so a worker that is lost costs time, and changes no result.

Without a ``distributed.Client`` rows are read into the memory of this process, partition by
partition with any of Dask's schedulers, and the sampler runs in threads; results are the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sticktree.data.sources.dask.lazy import map_rows
    from sticktree.data.sources.dask.placement import DaskRows, DaskStore
    from sticktree.data.sources.dask.session import ClusterLostError
    from sticktree.data.sources.dask.source import DaskSource
    from sticktree.estimators.reading import is_dask

__all__ = ["ClusterLostError", "DaskRows", "DaskSource", "DaskStore", "is_dask", "map_rows"]

PLACES = {
    "ClusterLostError": "data.sources.dask.session",
    "DaskRows": "data.sources.dask.placement",
    "DaskSource": "data.sources.dask.source",
    "DaskStore": "data.sources.dask.placement",
    "is_dask": "estimators.reading",
    "map_rows": "data.sources.dask.lazy",
}


def __getattr__(name: str) -> Any:
    """Load what needs Dask when it is first asked for."""
    if name not in PLACES:
        raise AttributeError(f"module 'sticktree.cluster' has no attribute {name!r}")
    return getattr(import_module(f"sticktree.{PLACES[name]}"), name)
