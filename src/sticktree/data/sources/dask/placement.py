"""Rows on the workers of a cluster, which all chains of a fit share, and passes over them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree.data.sources.dask.session import ClusterLostError, Graph, Key, Session
from sticktree.data.training import BY_WORKERS
from sticktree.engine.bulk.partition import ALL, Labelled, Partition, Sided, jittered, partition
from sticktree.engine.bulk.placement import HALVES, LEAVES, Choices, Extent, Pass
from sticktree.engine.bulk.rows import EXTENT, Rows

FAN_IN = 8
MOST_COPIES = 1_000_000

Message = TypeVar("Message")
Result = TypeVar("Result")


def prepare(
    pieces: list[FloatArray],
    first: int,
    centre: FloatArray,
    spread: FloatArray,
    group: IntArray | None = None,
) -> Partition:
    """Standardise and arrange rows, the first of which has number ``first``."""
    return partition(np.concatenate([(x - centre) / spread for x in pieces]), first, None, group)


class DaskPlacement:
    """Rows on workers, as a chain has them: partitions, and the choices their rows made last.

    It is a :class:`~sticktree.engine.bulk.placement.Placement`. Each partition is one task of a
    pass. Results are joined on the workers, and a few come back. The choices of rows stay where
    they are. The message goes along with each task; if it is large, it goes to one worker and from
    there to the others.

    Parameters
    ----------
    parts : list of distributed.Future
        Partitions that are prepared, in the order of their rows; several chains may use the same.
    session : Session
        The run that they belong to.
    extent : Extent or None, default=None
        That of all rows, if it is known.
    fan_in : int, default=8
        Results that one task of a reduction joins, and that come back at most.
    most_copies : int, default=1_000_000
        Bytes of copies of a message that go through the scheduler in a pass.
    """

    def __init__(
        self,
        parts: list[Any],
        session: Session,
        extent: Extent | None = None,
        *,
        fan_in: int = FAN_IN,
        most_copies: int = MOST_COPIES,
    ) -> None:
        self.parts, self.fan_in, self.most_copies = parts, fan_in, most_copies
        self._session: Session | None = session
        self.n_passes = 0
        self.made: dict[str, list[Any]] = {}  # futures of the choices of the last passes
        self.extent: Extent = Extent.joined(self.map(EXTENT, None)) if extent is None else extent

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
        return self.__dict__ | {"parts": [], "_session": None, "made": {}}

    def map(self, step: Pass[Message, Result], message: Message) -> list[Result]:
        """Return the results of a pass for each partition, in the order of the rows."""
        graph, made, keys = self._tasks(step, message)
        return self._results(step, graph, made, keys)

    def map_reduce(
        self, step: Pass[Message, Result], message: Message, join: Callable[[list[Result]], Result]
    ) -> Result:
        """Return the results of a pass for all partitions, joined on the workers."""
        graph, made, keys = self._tasks(step, message)
        return join(self._results(step, graph, made, self._reduce(graph, keys, join)))

    def _tasks(
        self, step: Pass[Message, Result], message: Message
    ) -> tuple[Graph, list[Key], list[Key]]:
        """Return the tasks of a pass, the keys of choices that stay, and those of results."""
        if LEAVES in step.needs and LEAVES not in self.made:
            raise RuntimeError("rows have no leaves yet")
        self.n_passes += 1
        graph: Graph = {}
        task: tuple[Any, ...] = (partial(_run, step, message),)
        if size_of(message) * len(self.parts) > self.most_copies:
            # As a task of its own it is sent once, and is not lost with a worker.
            sent = self.session.key("message", self.n_passes)
            graph[sent] = (partial(_itself, message),)
            task = partial(_run, step), sent
        keys = [self.session.key(step.name, self.n_passes, k) for k in range(len(self.parts))]
        for k, key in enumerate(keys):
            known = (
                self.made[what][k] if what in step.needs and what in self.made else None
                for what in (LEAVES, HALVES)
            )
            graph[key] = (*task, self.parts[k], *known)
        if step.makes is None:
            return graph, [], keys
        results = [self.session.key("result", self.n_passes, k) for k in range(len(keys))]
        graph |= {result: (_second, key) for result, key in zip(results, keys, strict=True)}
        return graph, keys, results

    def _reduce(self, graph: Graph, keys: list[Key], join: Callable[[list[Any]], Any]) -> list[Key]:
        """Add tasks that join results, a few at a time; return the keys of the last few."""
        count = 0
        while len(keys) > self.fan_in:
            groups = [keys[i : i + self.fan_in] for i in range(0, len(keys), self.fan_in)]
            keys = [self.session.key("merge", self.n_passes, count + j) for j in range(len(groups))]
            count += len(groups)
            for key, group in zip(keys, groups, strict=True):
                graph[key] = join, group
        return keys

    def _results(
        self, step: Pass[Any, Any], graph: Graph, made: list[Key], keys: list[Key]
    ) -> list[Any]:
        """Run a graph; keep futures of the choices that were made, and return results."""
        futures = self.session.submit(graph, [*made, *keys])
        results = self.session.results(futures[len(made) :])
        if step.makes is not None:
            if step.makes == LEAVES:
                self.made.clear()
            self.made[step.makes] = futures[: len(made)]
        return results


class DaskRows(Rows):
    """Rows on the workers of a cluster, as a chain has them.

    Parameters
    ----------
    parts : list of distributed.Future
        Partitions that are prepared, in the order of their rows.
    session : Session
        The run that they belong to.
    store : DaskStore or None, default=None
        Where they come from.
    extent : Extent or None, default=None
        That of all rows, if it is known.
    """

    def __init__(
        self,
        parts: list[Any],
        session: Session,
        store: DaskStore | None = None,
        extent: Extent | None = None,
    ) -> None:
        super().__init__(DaskPlacement(parts, session, extent))
        self.store = store

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has: the rows stay where they are."""
        return self.__dict__ | {"store": None}


class DaskStore:
    """Standardised rows on the workers of a cluster, which all chains of a fit share.

    Parameters
    ----------
    parts : list of distributed.Future
        Partitions that are prepared, in the order of their rows.
    shape : (int, int)
        Numbers of rows and columns.
    session : Session
        The run that they belong to.
    """

    def __init__(self, parts: list[Any], shape: tuple[int, int], session: Session) -> None:
        self.parts, self.shape, self.session = parts, shape, session
        self._spread_out: dict[bytes, list[Any]] = {}

    @cached_property
    def _rows(self) -> DaskRows:
        return DaskRows(self.parts, self.session)  # not self: no circle holds rows

    def rows(self, n_threads: int, jitter: FloatArray | None = None) -> DaskRows:
        """Return the rows for one chain; how many threads make a pass is up to the cluster."""
        session = self.session.another()
        if jitter is None:
            return DaskRows(self.parts, session, self, self._rows.extent)
        return DaskRows(self._spread(jitter), session, self)

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
        first, second = self._rows.digest()
        return f"{BY_WORKERS}{self.shape[0]}-{first:016x}{second:016x}"


# ---- What workers do, by functions of their arguments alone, so that it can be done again -------


def _run(
    step: Pass[Any, Any],
    message: Any,
    part: Partition,
    leaves: tuple[Labelled, Any] | None,
    halves: tuple[Sided, Any] | None,
) -> Any:
    """Make a pass over a partition; what it makes comes before its result."""
    choices = Choices(
        Labelled.empty(part) if leaves is None else leaves[0],
        Sided.empty(part) if halves is None else halves[0],
    )
    result = step.work(message, part, choices, ALL)
    return result if step.makes is None else (getattr(choices, step.makes), result)


def _second(both: tuple[Any, Any]) -> Any:
    """Return what goes on from a task; what comes first stays on its worker."""
    return both[1]


def _itself(message: Any) -> Any:
    return message


def size_of(message: Any) -> int:
    """Return the bytes of all arrays in a message."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    return sum(map(size_of, message)) if isinstance(message, tuple) else 8
