"""Running chains as a person does: in parallel, watched, interrupted, saved and resumed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sticktree.checks import FloatArray
from sticktree.data.store import Store
from sticktree.engine import engine_of, parallel_chain_of
from sticktree.engine.draw import Draw
from sticktree.model import Model

if TYPE_CHECKING:
    from sticktree.engine.chain import ChainLike, SweepInfo

__all__ = ["Run", "Schedule", "processes_wanted", "sample"]


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


@dataclass
class Run:
    """A chain with the draws it has made."""

    chain: ChainLike
    draws: list[Draw] = field(default_factory=list)
    n_sweeps: int = 0

    @classmethod
    def start(
        cls,
        data: FloatArray | Store,
        model: Model,
        seed: np.random.SeedSequence,
        n_threads: int = 1,
    ) -> Run:
        """Start a chain from its own seed; one on a store makes its passes in threads."""
        rng = np.random.default_rng(seed)
        if isinstance(data, np.ndarray):
            return cls(engine_of(model).chain(data, model, rng))
        return cls(
            parallel_chain_of(model)(data.rows(n_threads, model.jitter(data.shape[1])), model, rng)
        )

    def sweeps(self, schedule: Schedule) -> Iterator[SweepInfo]:
        """Sweep until the schedule is done, and yield after every sweep."""
        while self.n_sweeps < schedule.n_sweeps:
            info = self.chain.sweep(tune=self.n_sweeps < schedule.n_warmup)
            self.n_sweeps += 1
            past = self.n_sweeps - schedule.n_warmup
            if past > 0 and past % schedule.thin == 0:
                labelled = (past // schedule.thin - 1) % schedule.label_every == 0
                self.draws.append(Draw.of(self.chain, labelled))
            yield info


def processes_wanted() -> bool:
    """Tell whether the caller is in ``joblib.parallel_config`` with a backend of processes."""
    from joblib.parallel import get_active_backend

    # Without a configuration, what is preferred is returned.
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "uses_threads", False)


def sample(
    runs: list[Run],
    schedule: Schedule,
    n_jobs: int,
    watch: Callable[[int, Run], None] = lambda k, run: None,
    data: FloatArray | Store | None = None,
) -> bool:
    """Sweep all runs in threads until they are done; return False if interrupted.

    ``watch(k, run)`` is called after every sweep of run k, from its thread. On Ctrl-C each run
    finishes its sweep, and all draws made so far are kept. What a run draws does not depend on
    the others, nor on ``n_jobs``.

    If joblib was told to use processes, and ``data`` is what the chains were started on, runs are
    swept there, and watched after each leg.
    """
    if data is not None and processes_wanted():
        from sticktree.inference.legs import sample_in_legs, table_of

        table = table_of(data)
        if table is not None:
            return sample_in_legs(runs, schedule, table, watch)
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
