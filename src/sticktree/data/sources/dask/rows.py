"""Rows on the workers of a cluster, and passes over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import IntArray
from sticktree.data.sources.dask import passes
from sticktree.data.sources.dask.session import ClusterLostError, Graph, Key, Session
from sticktree.data.store import BY_WORKERS, Store
from sticktree.engine.bulk.components import Components
from sticktree.engine.bulk.halves import Units, gain_grid
from sticktree.engine.bulk.labels import Labels, Nodes
from sticktree.engine.bulk.passes import Halved, Seated
from sticktree.engine.bulk.picks import Picked
from sticktree.engine.bulk.rows import Extent
from sticktree.engine.bulk.sums import Grid

__all__ = ["DaskRows"]

FAN_IN = 8  # results that one task of a reduction joins, and that come back at most
MOST_COPIES = 1_000_000  # bytes of copies of what is told that go through the scheduler in a pass


class DaskRows:
    """Rows on workers, as a chain has them: partitions, and the leaves their rows chose last.

    Each partition is one task of a pass. Their sums are joined on the workers, and a few results
    come back. The leaves that rows chose stay where they are. What rows are told goes along with
    each task; if that is large, it goes to one worker and from there to the others.

    Parameters
    ----------
    parts : list of distributed.Future
        Partitions that are prepared; several chains may use the same.
    first : list of int
        Number of the first row of each.
    session : Session
        The run that they belong to.
    store : Store or None, default=None
        Where they come from.
    extent : Extent or None, default=None
        That of all rows, if it is known.
    """

    def __init__(
        self,
        parts: list[Any],
        first: list[int],
        session: Session,
        store: Store | None = None,
        extent: Extent | None = None,
    ) -> None:
        self.parts, self.first, self.store = parts, first, store
        self._session: Session | None = session
        self.n_passes = 0
        self.seated: list[Any] | None = None  # futures of the last passes
        self.halved: list[Any] | None = None
        self.extent: Extent = (
            self._reduced("extent", lambda part: (Extent.of, part), passes.join_extents)
            if extent is None
            else extent
        )

    @property
    def session(self) -> Session:
        """The run that the rows belong to."""
        if self._session is None:
            raise ClusterLostError(
                "the rows of this chain stayed on the cluster it was copied from"
            )
        return self._session

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has: the rows stay where they are."""
        gone: dict[str, Any] = {
            "parts": [],
            "_session": None,
            "store": None,
            "seated": None,
            "halved": None,
        }
        return self.__dict__ | gone

    def sample(self, salt: int, limit: int) -> Picked:
        """Return the rows whose rank by the salt is below the limit."""
        picked: Picked = self._reduced(
            "sample", lambda part: (passes.sample_rows, part, salt, limit), passes.join_samples
        )
        return picked

    def products(self, grid: Grid) -> npt.NDArray[np.int64]:
        """Return Σ y yᵀ of the rows without gaps, on the grid."""
        sums: npt.NDArray[np.int64] = self._reduced(
            "products", lambda part: (passes.multiply_rows, part, grid), passes.add_up
        )
        return sums

    def assign(self, told: Components) -> Seated:
        """Let every row choose its leaf."""
        self.halved = None
        seated: Seated
        self.seated, seated = self._pass(
            "assign", passes.assign_rows, told, lambda k: (self.parts[k],), passes.join_seated
        )
        return seated

    def halve(self, units: Units) -> Halved:
        """Let every row of a unit choose its half."""
        if self.seated is None:
            raise RuntimeError("rows choose halves of leaves, and have no leaves yet")
        seated, grid = self.seated, gain_grid(self.extent.n)
        halved: Halved
        self.halved, halved = self._pass(
            "halve",
            passes.halve_rows,
            units,
            lambda k: (self.parts[k], seated[k], grid),
            passes.join_halved,
        )
        return halved

    def labels(self, of_leaf: Nodes, of_half: Nodes, numbers: IntArray | None = None) -> Labels:
        """Return the leaves of rows after the last passes: of all in order, or of some."""
        if self.seated is None:
            raise RuntimeError("rows have no leaves yet")
        self.n_passes += 1
        told = [self.session.key("tell", self.n_passes, j) for j in range(2)]
        graph: Graph = {
            key: (partial(_given, of),) for key, of in zip(told, (of_leaf, of_half), strict=True)
        }
        wanted = None if numbers is None else np.asarray(numbers, dtype=np.int64)
        part_of = None if wanted is None else np.searchsorted(self.first, wanted, side="right") - 1
        keys, places = [], []
        for k, part in enumerate(self.parts):
            asked = None
            if wanted is not None:
                here = np.flatnonzero(part_of == k)
                if not here.size:
                    continue
                asked = wanted[here]
                places.append(here)
            halved = None if self.halved is None else self.halved[k]
            keys.append(self.session.key("labels", self.n_passes, k))
            task = passes.label_rows, part, self.first[k], asked, self.seated[k], halved
            graph[keys[-1]] = (*task, *told)
        labels = np.concatenate(self.session.results(self.session.submit(graph, keys)))
        if wanted is None:
            return labels
        out = np.empty_like(labels)
        out[np.concatenate(places)] = labels
        return out

    def digest(self) -> str:
        """Return a number that is the same for the same rows only, in any partitions."""
        words = self._reduced("digest", lambda part: (passes.digest_rows, part), passes.add_up)
        return f"{BY_WORKERS}{self.extent.n}-{int(words[0]):016x}{int(words[1]):016x}"

    # ---- graphs ------------------------------------------------------------------------------

    def _pass(
        self,
        what: str,
        work: Callable[..., Any],
        told: Any,
        arguments: Callable[[int], tuple[Any, ...]],
        join: Callable[[list[Any]], Any],
    ) -> tuple[list[Any], Any]:
        """Tell all rows something; return futures of what stays there, and what comes back."""
        self.n_passes += 1
        graph: Graph = {}
        task: tuple[Any, ...] = (partial(work, told),)
        if size_of(told) * len(self.parts) > MOST_COPIES:
            # As a task of its own it is sent once, and is not lost with a worker.
            telling = self.session.key("tell", self.n_passes)
            graph[telling] = (partial(_given, told),)
            task = work, telling
        staying = [self.session.key(what, self.n_passes, k) for k in range(len(self.parts))]
        going = [self.session.key("tally", self.n_passes, k) for k in range(len(self.parts))]
        for k, (stays, goes) in enumerate(zip(staying, going, strict=True)):
            graph[stays] = (*task, *arguments(k))
            graph[goes] = passes.second, stays
        ends = self._reduce(graph, going, join)
        futures = self.session.submit(graph, [*staying, *ends])
        return futures[: len(staying)], join(self.session.results(futures[len(staying) :]))

    def _reduced(
        self,
        what: str,
        task: Callable[[Any], tuple[Any, ...]],
        join: Callable[[list[Any]], Any],
    ) -> Any:
        """Return the results of a task for each partition, joined."""
        self.n_passes += 1
        keys = [self.session.key(what, self.n_passes, k) for k in range(len(self.parts))]
        graph: Graph = {key: task(part) for key, part in zip(keys, self.parts, strict=True)}
        ends = self._reduce(graph, keys, join)
        return join(self.session.results(self.session.submit(graph, ends)))

    def _reduce(self, graph: Graph, keys: list[Key], join: Callable[[list[Any]], Any]) -> list[Key]:
        """Add tasks that join results, a few at a time; return the keys of the last few."""
        count = 0
        while len(keys) > FAN_IN:
            groups = [keys[i : i + FAN_IN] for i in range(0, len(keys), FAN_IN)]
            keys = [self.session.key("merge", self.n_passes, count + j) for j in range(len(groups))]
            count += len(groups)
            for key, group in zip(keys, groups, strict=True):
                graph[key] = join, group
        return keys


def size_of(told: Any) -> int:
    """Return the bytes of all arrays in what is told."""
    if isinstance(told, np.ndarray):
        return told.nbytes
    return sum(map(size_of, told)) if isinstance(told, tuple) else 8


def _given(told: Any) -> Any:
    return told
