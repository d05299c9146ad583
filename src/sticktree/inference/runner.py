"""Running chains: in threads or in processes, watched, interrupted and gone on with.

What a chain draws depends on its seed alone. In the processes of a joblib backend chains are sent
there and back a few times, as what a checkpoint has of them, so that they go on to the same draws.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sticktree.blas import one_thread
from sticktree.checks import FloatArray, check_integer, is_integer
from sticktree.data.training import TrainingData
from sticktree.engine import engine_of, parallel_chain_of
from sticktree.engine.draw import Draw
from sticktree.inference.packing import Arrays, pack_chain, unpack_chain
from sticktree.model import Model

if TYPE_CHECKING:
    from sticktree.engine.chain import ChainLike, SweepInfo

T = TypeVar("T")
R = TypeVar("R")

LISTEN = 0.5  # seconds until an interrupt is heard that a sleeping thread does not hear
LEGS = 10  # how often chains are sent to processes and back


@dataclass(frozen=True)
class Schedule:
    """How long chains run: ``n_warmup`` sweeps, then ``n_draws`` draws ``thin`` sweeps apart.

    Of many rows only every ``label_every``-th draw keeps where each row sits. Numbers of moves are
    tuned in the first ``n_tuned`` sweeps; None is all of warm-up.
    """

    n_warmup: int
    n_draws: int
    thin: int = 1
    label_every: int = 1
    n_tuned: int | None = None

    @property
    def n_sweeps(self) -> int:
        """All sweeps of one chain."""
        return self.n_warmup + self.n_draws * self.thin

    def tunes(self, n_sweeps: int) -> bool:
        """Return whether the sweep after ``n_sweeps`` may change the numbers of moves."""
        return n_sweeps < (self.n_warmup if self.n_tuned is None else self.n_tuned)


class TimeLimit:
    """The time that sampling may take, from now on.

    What ends by the clock depends on the machine, so that it is kept whether that happened.

    Parameters
    ----------
    seconds : float or None, default=None
        None is no limit.

    Attributes
    ----------
    hit : bool
        Whether something has ended by it.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.hit = False
        self._end = math.inf if seconds is None else time.monotonic() + seconds

    def part(self, share: float) -> TimeLimit:
        """Return the limit of a first part of the time."""
        return TimeLimit(None if self.seconds is None else share * self.seconds)

    @property
    def left(self) -> float:
        """Seconds that are left; infinite without a limit."""
        return self._end - time.monotonic()

    def over(self) -> bool:
        """Return whether the time is over; who asks ends if so."""
        if self._end < math.inf and time.monotonic() >= self._end:
            self.hit = True
        return self.hit


@dataclass(frozen=True)
class Workers:
    """How many chains there are, and the threads that run them.

    Attributes
    ----------
    n_chains, n_jobs : int
        Chains, and how many of them run at once.
    n_threads : int
        Threads for all of them together.
    """

    n_chains: int
    n_jobs: int
    n_threads: int

    @classmethod
    def of(cls, n_chains: int, n_jobs: int | None) -> Workers:
        """Return the threads for chains; None is one for each chain and core."""
        cores = os.cpu_count() or 1
        if n_jobs is None or n_jobs == -1:
            return cls(n_chains, min(n_chains, cores), cores)
        return cls(n_chains, n_jobs, n_jobs)

    @property
    def threads_of_chain(self) -> int:
        """How many threads a chain of the parallel sampler has for itself."""
        return max(self.n_threads // self.n_chains, 1)


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return a seed sequence for anything that scikit-learn or numpy take as a seed."""
    if random_state is None:
        return np.random.SeedSequence()
    if is_integer(random_state):
        check_integer("random_state", random_state, minimum=0)
        return np.random.SeedSequence(int(random_state))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    from sklearn.utils import check_random_state

    state = check_random_state(random_state)
    return np.random.SeedSequence(state.randint(2**31, size=4).tolist())


@dataclass
class Run:
    """A chain with the draws it has made."""

    chain: ChainLike
    draws: list[Draw] = field(default_factory=list)
    n_sweeps: int = 0

    @classmethod
    def start(
        cls,
        training: TrainingData,
        model: Model,
        seed: np.random.SeedSequence,
        n_threads: int = 1,
    ) -> Run:
        """Start a chain from its own seed; one for many rows makes its passes in threads."""
        if not training.parallel:
            return cls.on(training.data, model, seed)
        assert training.store is not None
        rows = training.store.rows(n_threads, model.jitter(training.store.shape[1]))
        return cls(parallel_chain_of(model)(rows, model, np.random.default_rng(seed)))

    @classmethod
    def on(cls, data: FloatArray, model: Model, seed: np.random.SeedSequence) -> Run:
        """Start a chain that moves rows one by one."""
        return cls(engine_of(model).chain(data, model, np.random.default_rng(seed)))

    def continued(self) -> Run:
        """Return a run that goes on with the chain and leaves the draws of this one as they are."""
        return Run(self.chain, list(self.draws), self.n_sweeps)

    def with_last(self, n_draws: int) -> Run:
        """Return the run with its last draws only."""
        return Run(self.chain, self.draws[max(len(self.draws) - n_draws, 0) :], self.n_sweeps)

    def from_warmup(self, schedule: Schedule | None) -> Run:
        """Return the run without the draw that it ended with in warm-up, so that it can go on."""
        in_warmup = schedule is not None and self.n_sweeps <= schedule.n_warmup
        return Run(self.chain, [], self.n_sweeps) if in_warmup else self

    def end_early(self) -> None:
        """See to it that there is a draw, if only of where the chain is in warm-up."""
        if not self.draws:
            self.draws.append(self.chain.draw())

    def sweeps(self, schedule: Schedule) -> Iterator[SweepInfo]:
        """Sweep until the schedule is done, and yield after every sweep."""
        while self.n_sweeps < schedule.n_sweeps:
            info = self.chain.sweep(tune=schedule.tunes(self.n_sweeps))
            self.n_sweeps += 1
            past = self.n_sweeps - schedule.n_warmup
            if past > 0 and past % schedule.thin == 0:
                labelled = (past // schedule.thin - 1) % schedule.label_every == 0
                self.draws.append(self.chain.draw(labelled))
            yield info


Watch = Callable[[int, Run], None]
"""Called with the number of a run and the run, after its sweeps, from the thread it runs in."""


def sample(
    runs: list[Run],
    schedule: Schedule,
    n_jobs: int,
    watch: Watch = lambda k, run: None,
    training: TrainingData | None = None,
    limit: TimeLimit | None = None,
) -> bool:
    """Sweep all runs until they are done; return False if interrupted.

    ``watch(k, run)`` is called after every sweep of run k, from its thread. On Ctrl-C each run
    finishes its sweep, and all draws made so far are kept. What a run draws does not depend on
    the others, nor on ``n_jobs``. When the time is over each run ends after a sweep, and has at
    least one draw.

    If joblib is configured to use processes, and ``training`` is what the chains were started on,
    in memory, runs are swept there, and watched after each leg.
    """
    limit = limit or TimeLimit()
    if processes_wanted() and training is not None and training.in_memory:
        return sample_in_processes(runs, schedule, training, watch, limit)
    stop = threading.Event()

    def work(k: int) -> None:
        for _ in runs[k].sweeps(schedule):
            watch(k, runs[k])
            if stop.is_set():
                return
            if limit.over():
                runs[k].end_early()
                return

    with ThreadPoolExecutor(max_workers=n_jobs) as pool:
        futures = [pool.submit(work, k) for k in range(len(runs))]
        try:
            _wait_for_all(futures)
        except KeyboardInterrupt:
            stop.set()
            for future in futures:
                future.cancel()
            return False
        except BaseException:
            stop.set()
            raise
    return True


def _wait_for_all(futures: Sequence[Future[None]]) -> None:
    """Wait until all chains are done; raise what one of them raises as soon as it does.

    An interrupt may come in a chain's thread, or in this one while it sleeps.
    """
    left: Iterable[Future[None]] = futures
    while left:
        done, left = wait(futures, LISTEN, FIRST_EXCEPTION)
        for future in done:
            future.result()


def in_threads(n_jobs: int, function: Callable[[T], R], items: list[T]) -> list[R]:
    """Return what a function makes of each item, in order."""
    with ThreadPoolExecutor(max_workers=n_jobs) as pool:
        return list(pool.map(function, items))


def processes_wanted() -> bool:
    """Return whether the caller is in ``joblib.parallel_config`` with a backend of processes."""
    from joblib.parallel import get_active_backend

    # Without a configuration, what is preferred is returned.
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "uses_threads", False)


def sample_in_processes(
    runs: list[Run],
    schedule: Schedule,
    training: TrainingData,
    watch: Watch,
    limit: TimeLimit | None = None,
) -> bool:
    """Sweep all runs with joblib until they are done; return False if interrupted.

    On Ctrl-C the leg is lost, and all draws before it are kept. Time is looked at between legs.
    """
    from joblib import Parallel, delayed

    sent = replace(training, store=None, names=None)
    going = [k for k, run in enumerate(runs) if run.n_sweeps < schedule.n_sweeps]
    if not going:
        return True
    length = -(-(schedule.n_sweeps - min(runs[k].n_sweeps for k in going)) // LEGS)
    try:
        for k in going:
            if not runs[k].n_sweeps:
                # A chain that was never swept has sums in the order in which it was made, and goes
                # on from a copy to the same but for rounding.
                next(runs[k].sweeps(schedule))
                watch(k, runs[k])
        going = [k for k in going if runs[k].n_sweeps < schedule.n_sweeps]
        while going:
            tasks = [
                delayed(leg)(
                    pack_chain(runs[k].chain),
                    sent,
                    runs[k].chain.model,
                    schedule,
                    runs[k].n_sweeps,
                    length,
                )
                for k in going
            ]
            for k, (arrays, draws, n_sweeps) in zip(going, Parallel()(tasks), strict=True):
                run = runs[k]
                run.chain = unpack_chain(arrays, training, run.chain.model)
                run.draws += draws
                run.n_sweeps = n_sweeps
                watch(k, run)
            going = [k for k in going if runs[k].n_sweeps < schedule.n_sweeps]
            if going and limit is not None and limit.over():
                for k in going:
                    runs[k].end_early()
                break
    except KeyboardInterrupt:
        return False
    return True


def leg(
    arrays: Arrays,
    training: TrainingData,
    model: Model,
    schedule: Schedule,
    n_sweeps: int,
    length: int,
) -> tuple[Arrays, list[Draw], int]:
    """Sweep a chain for a while; return it, the draws it made, and how many sweeps it has."""
    with one_thread():
        run = Run(unpack_chain(arrays, training, model), [], n_sweeps)
        for _ in islice(run.sweeps(schedule), length):
            pass
        return pack_chain(run.chain), run.draws, run.n_sweeps
