"""Standardised rows on workers, which all chains of a fit share."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sticktree.checks import FloatArray
from sticktree.cluster.passes import spread_rows
from sticktree.cluster.rows import DaskRows
from sticktree.cluster.session import Graph, Session

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
        self._spread: tuple[bytes, list[Any]] | None = None

    @cached_property
    def _rows(self) -> DaskRows:
        return DaskRows(self.parts, self.first, self.session, self)

    def rows(self, n_threads: int, jitter: FloatArray | None = None) -> DaskRows:
        """Return the rows for one chain; how many threads make a pass is up to the cluster.

        With ``jitter`` values are spread over that width; see `Model.jitter`.
        """
        session = self.session.another()
        if jitter is None:
            return DaskRows(self.parts, self.first, session, self, self._rows.extent)
        key = jitter.tobytes()
        if self._spread is None or self._spread[0] != key:
            keys = [session.key("spread", 0, k) for k in range(len(self.parts))]
            graph: Graph = {
                name: (spread_rows, part, first, jitter)
                for name, part, first in zip(keys, self.parts, self.first, strict=True)
            }
            self._spread = key, session.submit(graph, keys)
        return DaskRows(self._spread[1], self.first, session, self)

    def digest(self) -> str:
        """Return a number that is the same for the same rows only, in any partitions."""
        return self._rows.digest()
