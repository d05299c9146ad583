"""Standardised rows on workers, which all chains of a fit share."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sticktree.checks import FloatArray
from sticktree.data.sources.dask.rows import DaskRows
from sticktree.data.sources.dask.session import Session
from sticktree.engine.bulk.partition import jittered

__all__ = ["DaskStore"]


class DaskStore:
    """Rows on the workers of a cluster.

    Parameters
    ----------
    parts : list of distributed.Future
        Partitions that are prepared.
    first : list of int
        Number of the first row of each.
    shape : (int, int)
        Numbers of rows and columns.
    session : Session
        The run that they belong to.
    """

    def __init__(
        self, parts: list[Any], first: list[int], shape: tuple[int, int], session: Session
    ) -> None:
        self.parts, self.first, self.shape, self.session = parts, first, shape, session
        self._spread_out: dict[bytes, list[Any]] = {}

    @cached_property
    def _rows(self) -> DaskRows:
        return DaskRows(self.parts, self.first, self.session)  # not self: no circle holds rows

    def rows(self, n_threads: int, jitter: FloatArray | None = None) -> DaskRows:
        """Return the rows for one chain; how many threads make a pass is up to the cluster."""
        session = self.session.another()
        if jitter is None:
            return DaskRows(self.parts, self.first, session, self, self._rows.extent)
        return DaskRows(self._spread(jitter), self.first, session, self)

    def _spread(self, jitter: FloatArray) -> list[Any]:
        """Return the partitions with values spread out; see `Model.jitter`."""
        key = jitter.tobytes()
        if key not in self._spread_out:
            parts = []
            for k, part in enumerate(self.parts):
                name = self.session.key("spread", len(self._spread_out), k)
                parts += self.session.submit({name: (jittered, part, jitter)}, [name], None)
            self._spread_out[key] = parts
        return self._spread_out[key]

    def digest(self) -> str:
        """Return a number that is the same for the same rows only, in any partitions."""
        return self._rows.digest()
