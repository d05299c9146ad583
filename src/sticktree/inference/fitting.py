"""From rows to draws: a model is chosen, chains are started or go on, are watched and saved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sticktree.blas import one_thread
from sticktree.checks import FloatArray
from sticktree.data.training import TrainingData, label_every
from sticktree.inference.candidates import Candidates
from sticktree.inference.parameters import check_level, checked
from sticktree.inference.runner import (
    Run,
    Schedule,
    Watch,
    Workers,
    choosing,
    sample,
    seed_sequence,
    watching,
)
from sticktree.inference.selection import Selection, select
from sticktree.model import Model

SECONDS_BETWEEN_SAVES = 30.0
PILOT_SHARE = 0.5  # of the sweeps of a fit, that choosing a model may take
PILOT_SWEEPS = 1200  # in all, however long the fit
PILOT_CHAINS = 2


@dataclass(frozen=True, eq=False)
class Plan:
    """What the parameters of an estimator ask for, checked."""

    candidates: Candidates
    schedule: Schedule
    workers: Workers
    resolution: FloatArray | None
    level: int | None
    random_state: Any
    progress: bool | None

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Plan:
        """Check the parameters of an estimator; raise an error that names the first wrong one."""
        known = checked(parameters)
        candidates = Candidates.of(known)
        check_level(known["level"], candidates.most_levels)
        return cls(
            candidates,
            Schedule(known["n_warmup"], known["n_draws"], known["thin"]),
            Workers.of(known["n_chains"], known["n_jobs"]),
            known["resolution"],
            known["level"],
            known["random_state"],
            known["progress"],
        )

    def schedule_for(self, training: TrainingData) -> Schedule:
        """Return the schedule, in which draws of many rows do not all keep labels."""
        if not training.parallel:
            return self.schedule
        every = label_every(training.n_data, self.schedule.n_draws, self.workers.n_chains)
        return replace(self.schedule, label_every=every)


class Saver(Protocol):
    """Where runs are saved while they go on; see `sticktree.io.checkpoint`."""

    def exists(self) -> bool:
        """Return whether this very run has been saved before."""

    def begin(self) -> None:
        """Make room for a new run."""

    def save(self, k: int, run: Run) -> None:
        """Save run k as it stands."""

    def load(self, k: int, model: Model) -> Run | None:
        """Return run k as it was saved, or None."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """What sampling leaves.

    Attributes
    ----------
    model : Model
        The model that was sampled.
    selection : Selection or None
        What it was chosen from.
    runs : list of Run
        The chains with their draws.
    schedule : Schedule
        How long they were to run.
    finished : bool
        Whether they did; False after Ctrl-C.
    """

    model: Model
    selection: Selection | None
    runs: list[Run]
    schedule: Schedule
    finished: bool


def sample_posterior(training: TrainingData, plan: Plan, saver: Saver | None) -> Sampled:
    """Choose a model and sample its posterior, or go on where ``saver`` has it."""
    schedule, seed = plan.schedule_for(training), seed_sequence(plan.random_state)
    some = training.some()
    columns = training.scaling.describe(some, plan.resolution)
    candidates = plan.candidates.models(columns, plan.level)
    model, selection = candidates[0][1], None
    with one_thread():
        if len(candidates) > 1:
            share = int(PILOT_SHARE * plan.workers.n_chains * schedule.n_sweeps)
            with choosing(plan.progress, len(candidates)):
                selection = select(
                    some,
                    candidates,
                    schedule,
                    seed,
                    plan.workers.n_jobs,
                    n_chains=PILOT_CHAINS,
                    budget=max(min(share, PILOT_SWEEPS), PILOT_CHAINS * len(candidates)),
                )
            model = selection.models[selection.best]
        seeds = seed.spawn(plan.workers.n_chains)
        saved: list[Run | None] = [None] * plan.workers.n_chains
        if saver is not None:
            if saver.exists():
                saved = [saver.load(k, model) for k in range(plan.workers.n_chains)]
            else:
                saver.begin()
        runs = [
            run or Run.start(training, model, child, plan.workers.threads_of_chain)
            for run, child in zip(saved, seeds, strict=True)
        ]
        finished = _run(runs, schedule, training, plan, saver)
    return Sampled(model, selection, runs, schedule, finished)


def continue_sampling(
    last: Sampled, training: TrainingData, plan: Plan, saver: Saver | None
) -> Sampled:
    """Add draws to those of the last fit, to the same rows.

    An interrupted fit has fewer draws than were planned: its plan is given up, and every chain gets
    ``n_draws`` more than the shortest has.
    """
    if saver is not None and not saver.exists():
        saver.begin()
    runs = [run.continued() for run in last.runs]
    shortest = min(len(run.draws) for run in runs)
    schedule = replace(last.schedule, n_draws=shortest + plan.schedule.n_draws)
    with one_thread():
        finished = _run(runs, schedule, training, plan, saver)
    return Sampled(last.model, last.selection, runs, schedule, finished)


def _run(
    runs: list[Run], schedule: Schedule, training: TrainingData, plan: Plan, saver: Saver | None
) -> bool:
    """Sweep all runs until they are done or interrupted; save them from time to time and then."""
    with watching(plan.progress, len(runs), schedule) as watch:
        watch = watch if saver is None else _also_save(watch, saver)
        finished = sample(runs, schedule, plan.workers.n_jobs, watch, training)
    if saver is not None:
        for k, run in enumerate(runs):
            saver.save(k, run)
    if not any(run.draws for run in runs):
        raise KeyboardInterrupt("interrupted during warm-up: there are no draws to keep")
    return finished


def _also_save(watch: Watch, saver: Saver) -> Watch:
    """Return a watcher that also saves each chain from time to time."""
    last: dict[int, float] = {}

    def both(k: int, run: Run) -> None:
        watch(k, run)
        now = time.monotonic()
        if now - last.setdefault(k, now) > SECONDS_BETWEEN_SAVES:
            saver.save(k, run)
            last[k] = now

    return both
