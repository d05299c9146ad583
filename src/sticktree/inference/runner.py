"""Running chains: in threads or in processes, shown on a terminal, interrupted and gone on with.

What a chain draws depends on its seed alone. In the processes of a joblib backend chains are sent
there and back a few times, as what a checkpoint has of them, so that they go on to the same draws.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from sticktree.blas import one_thread
from sticktree.checks import check_integer, is_integer
from sticktree.data.training import TrainingData
from sticktree.engine import engine_of, parallel_chain_of
from sticktree.engine.draw import Draw
from sticktree.inference.packing import Arrays, pack_chain, unpack_chain
from sticktree.model import Model

if TYPE_CHECKING:
    from sticktree.engine.chain import ChainLike, SweepInfo

LEGS = 10  # how often chains are sent to processes and back


@dataclass(frozen=True)
class Schedule:
    """How long chains run: ``n_warmup`` sweeps, then ``n_draws`` draws ``thin`` sweeps apart.

    Of many rows only every ``label_every``-th draw keeps where each row sits.
    """

    n_warmup: int
    n_draws: int
    thin: int = 1
    label_every: int = 1

    @property
    def n_sweeps(self) -> int:
        """All sweeps of one chain."""
        return self.n_warmup + self.n_draws * self.thin


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
        rng = np.random.default_rng(seed)
        if not training.parallel:
            return cls(engine_of(model).chain(training.data, model, rng))
        assert training.store is not None
        rows = training.store.rows(n_threads, model.jitter(training.store.shape[1]))
        return cls(parallel_chain_of(model)(rows, model, rng))

    def continued(self) -> Run:
        """Return a run that goes on with the chain and leaves the draws of this one as they are."""
        return Run(self.chain, list(self.draws), self.n_sweeps)

    def sweeps(self, schedule: Schedule) -> Iterator[SweepInfo]:
        """Sweep until the schedule is done, and yield after every sweep."""
        while self.n_sweeps < schedule.n_sweeps:
            info = self.chain.sweep(tune=self.n_sweeps < schedule.n_warmup)
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
) -> bool:
    """Sweep all runs until they are done; return False if interrupted.

    ``watch(k, run)`` is called after every sweep of run k, from its thread. On Ctrl-C each run
    finishes its sweep, and all draws made so far are kept. What a run draws does not depend on
    the others, nor on ``n_jobs``.

    If joblib is configured to use processes, and ``training`` is what the chains were started on,
    in memory, runs are swept there, and watched after each leg.
    """
    if processes_wanted() and training is not None and training.in_memory:
        return sample_in_processes(runs, schedule, training, watch)
    stop = threading.Event()

    def work(k: int) -> None:
        for _ in runs[k].sweeps(schedule):
            watch(k, runs[k])
            if stop.is_set():
                return

    with ThreadPoolExecutor(max_workers=n_jobs) as pool:
        futures = [pool.submit(work, k) for k in range(len(runs))]
        try:
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            stop.set()
            for future in futures:
                future.cancel()
            return False
        except BaseException:
            stop.set()
            raise
    return True


def processes_wanted() -> bool:
    """Return whether the caller is in ``joblib.parallel_config`` with a backend of processes."""
    from joblib.parallel import get_active_backend

    # Without a configuration, what is preferred is returned.
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "uses_threads", False)


def sample_in_processes(
    runs: list[Run], schedule: Schedule, training: TrainingData, watch: Watch
) -> bool:
    """Sweep all runs with joblib until they are done; return False if interrupted.

    On Ctrl-C the leg is lost, and all draws before it are kept.
    """
    from joblib import Parallel, delayed

    sent = replace(training, store=None, names=None)
    length = -(-schedule.n_sweeps // LEGS)
    going = [k for k, run in enumerate(runs) if run.n_sweeps < schedule.n_sweeps]
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


# ---- what a terminal shows -----------------------------------------------------------------------


def _shown(show: bool | None) -> bool:
    """Return whether to show anything; None asks the terminal."""
    return sys.stderr.isatty() if show is None else show


@contextmanager
def choosing(show: bool | None, n_models: int) -> Iterator[None]:
    """Show, while it lasts, that the data choose among models."""
    if not _shown(show):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"choosing among {n_models} models by short chains"):
        yield


@contextmanager
def watching(show: bool | None, n_chains: int, schedule: Schedule) -> Iterator[Watch]:
    """Yield a function that shows the progress of each chain; ``show=None`` asks the terminal."""
    if not _shown(show):
        yield lambda k, run: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    lock = threading.Lock()
    with Progress(
        TextColumn("chain {task.fields[chain]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[seen]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as display:
        tasks = [
            display.add_task("", total=schedule.n_sweeps, chain=k + 1, seen="")
            for k in range(n_chains)
        ]

        def watch(k: int, run: Run) -> None:
            seen = None
            if run.draws and run.n_sweeps % 10 == 0:
                draw = run.draws[-1]
                nodes = "·".join(map(str, draw.nodes_per_level(run.chain.model.depth)))
                seen = f"log joint {draw.log_joint:.1f}  nodes per level {nodes}"
            elif not run.draws:
                seen = "warming up"
            with lock:
                display.update(tasks[k], completed=run.n_sweeps)
                if seen is not None:
                    display.update(tasks[k], seen=seen)

        yield watch
