"""One run on one Dask client: keys of its own, and waits that all have a bound."""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any, NamedTuple, TypeVar

GLANCE = 0.2  # seconds from one look at the client to the next


class Patience(NamedTuple):
    """Seconds after which a cluster is given up."""

    one_pass: float = 3600.0  # that a pass may take
    no_workers: float = 300.0  # that there may be no worker: clusters that adapt take a while
    recount: float = 10.0  # from one count of the workers to the next


Key = tuple[str, int, int]
Graph = dict[Key, tuple[Any, ...]]
Result = TypeVar("Result")


def current_client() -> Any:
    """Return the ``distributed.Client`` that is current, or None."""
    if "distributed" not in sys.modules:  # then nobody made a client
        return None
    try:
        client = sys.modules["distributed"].get_client()
    except ValueError:
        return None
    return client if client.status == "running" else None


class Session:
    """A client, and a token in all keys, so that runs on one client do not meet.

    Parameters
    ----------
    client : distributed.Client
        The client, synchronous.
    patience : Patience
        When the cluster is given up.
    """

    def __init__(self, client: Any, patience: Patience = Patience()) -> None:  # noqa: B008
        if client.asynchronous:
            raise ValueError(
                "the current Dask client must be a synchronous one, got one with asynchronous=True"
            )
        self.client, self.patience = client, patience
        self.token = uuid.uuid4().hex

    def another(self) -> Session:
        """Return a session on the same client with keys of its own."""
        return Session(self.client, self.patience)

    def key(self, what: str, first: int, second: int = 0) -> Key:
        """Return a key; the dashboard shows its tasks as "sticktree-<what>"."""
        return f"sticktree-{what}-{self.token}", first, second

    def submit(self, graph: Graph, keys: list[Key], worker: str | None = None) -> list[Any]:
        """Start the tasks of a graph, at one worker if it is there; return futures of some."""
        place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        futures: list[Any] = self._bounded(
            lambda: self.client.get(graph, keys, sync=False, **place)
        )
        return futures

    def places(self) -> list[str]:
        """Return the address of its worker for every thread of the cluster."""
        threads: dict[str, int] = self._bounded(self.client.nthreads)
        return [address for address, count in sorted(threads.items()) for _ in range(count)]

    def compute(self, delayed: list[Any]) -> list[Any]:
        """Start what is delayed; return futures."""
        futures: list[Any] = self._bounded(lambda: self.client.compute(delayed))
        return futures

    def results(self, futures: list[Any]) -> list[Any]:
        """Wait for futures, and return their results."""
        results: list[Any] = self._bounded(lambda: self.client.gather(futures))
        return results

    def _bounded(self, work: Callable[[], Result]) -> Result:
        """Return the result of work with the client, or raise if the cluster is lost.

        A call of a client that closes meanwhile may never return. So it is made in a thread that
        can be left behind.
        """
        done = threading.Event()
        outcome: list[Result] = []
        trouble: list[BaseException] = []

        def call() -> None:
            try:
                outcome.append(work())
            except BaseException as error:
                trouble.append(error)
            finally:
                done.set()

        threading.Thread(target=call, name="sticktree-wait", daemon=True).start()
        self._watch(done)
        if outcome:
            return outcome[0]
        error = trouble[0]
        raise self._explained(error) from error

    def _watch(self, done: threading.Event) -> None:
        start = counted = seen = time.monotonic()
        while not done.wait(GLANCE):
            if self.client.status != "running":
                # An error of the call itself comes soon, if at all.
                done.wait(GLANCE)
                raise ClusterLostError(f"the Dask client is {self.client.status} in mid-fit")
            now = time.monotonic()
            if now - start > self.patience.one_pass:
                seconds = self.patience.one_pass
                raise ClusterLostError(
                    f"the Dask cluster did not finish a pass in {seconds:.0f} seconds"
                )
            if now - counted > self.patience.recount:
                counted = now
                if self._has_workers():
                    seen = now
                elif now - seen > self.patience.no_workers:
                    seconds = self.patience.no_workers
                    raise ClusterLostError(
                        f"the Dask cluster had no workers for {seconds:.0f} seconds"
                    )

    def _has_workers(self) -> bool:
        """Tell whether there is any worker; True if that cannot be found out now."""
        count: list[int] = []
        asking = threading.Thread(
            target=lambda: count.append(len(self.client.nthreads())), daemon=True
        )
        asking.start()
        asking.join(self.patience.recount)
        return not count or count[0] > 0

    def _explained(self, error: BaseException) -> BaseException:
        """Return the error to raise for one that a call of the client raised."""
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        if isinstance(error, KilledWorker):
            return ClusterLostError(
                f"one task after another lost its worker, perhaps for want of memory ({error})"
            )
        if isinstance(error, CancelledError):
            return ClusterLostError("the Dask scheduler or its client gave up the run's tasks")
        if isinstance(error, CommClosedError) or self.client.status != "running":
            return ClusterLostError("the connection to the Dask scheduler broke")
        return error


class ClusterLostError(RuntimeError):
    """The cluster that a fit ran on is lost, or no longer answers.

    Single workers may come and go. This is raised if the scheduler is lost, the client closes,
    there are no workers for long, or a pass takes too long.

    Attributes
    ----------
    what : str
        What happened, without what can be done.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        """Return what happened, and what can be done."""
        return (
            f"{self.what}; a fit with a checkpoint goes on from there if it is called again with a "
            "new client, one without must start anew"
        )
