"""The part of a mixture that is fitted: chains are started or go on, are watched and saved."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from sticktree.checks import FloatArray, check_integer, is_integer
from sticktree.data.given import Given, label_every
from sticktree.data.store import Store
from sticktree.errors import warn_caller
from sticktree.estimators.clusters import Clusters
from sticktree.estimators.input import Input, names_of
from sticktree.inference.blas import one_thread
from sticktree.inference.candidates import Candidates
from sticktree.inference.parameters import check_level, checked, draws_depend_on
from sticktree.inference.progress import choosing, watching
from sticktree.inference.sampling import Run, Schedule, sample
from sticktree.inference.seeds import seed_sequence
from sticktree.inference.selection import Selection, select
from sticktree.io.checkpoint import Checkpoint
from sticktree.model import Model
from sticktree.posterior.diagnostics import ConvergenceWarning, Diagnosis, diagnose
from sticktree.posterior.draws import Posterior

__all__ = ["Fitting"]

SECONDS_BETWEEN_SAVES = 30.0
PILOT_SHARE = 0.5  # of the sweeps of a fit, that choosing a model may take
PILOT_SWEEPS = 1200  # in all, however long the fit
PILOT_CHAINS = 2


class Fitting(Clusters, Input):
    """The part of a mixture that samples its posterior."""

    resolution: Any
    n_chains: int
    n_warmup: int
    n_draws: int
    thin: int
    n_jobs: int | None
    random_state: Any
    warm_start: bool
    progress: bool | None
    checkpoint: str | os.PathLike[str] | None
    algorithm_: str
    covariance_type_: str
    leaf_noise_: str
    selection_: Selection | None
    diagnosis_: Diagnosis
    get_params: Callable[..., dict[str, Any]]
    _runs: list[Run]
    _done: Schedule
    _fitted_with: dict[str, str]
    _digest: str  # of the data

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters of the model; presets have them without naming them."""
        raise NotImplementedError

    def _fit(self, X: Any, sample_weight: Any, algorithm: str) -> Self:  # noqa: N803
        parameters = checked(self._parameters() | {"algorithm": algorithm})
        asked = Candidates.of(parameters)
        schedule, n_jobs = self._schedule(), self._threads()
        resolution = parameters["resolution"]
        check_level(self.level, asked.most_levels)
        going_on = self.warm_start and hasattr(self, "_runs")
        if going_on:
            algorithm = self.algorithm_
        given = self._given(X, sample_weight, algorithm, going_on)
        if given.store is not None:
            every = label_every(given.store.shape[0], schedule.n_draws, self.n_chains)
            schedule = replace(schedule, label_every=every)
        known = self._known()
        seed = seed_sequence(self.random_state)
        selection: Selection | None = None
        checkpoint = self._checkpoint(given.work, known)
        if going_on:
            self._check_same(given, known)
            # An interrupted fit has fewer draws than were planned: its plan is given up.
            schedule = replace(self._done, n_draws=self.posterior_.n_draws + schedule.n_draws)
            model, selection = self._model_, self.selection_
        else:
            some = given.some()
            columns = given.preparation.describe(some, resolution)
            candidates = asked.models(columns, self.level)
            with one_thread():
                model, selection = self._chosen(some, candidates, schedule, seed, n_jobs)
        with one_thread():
            if going_on:
                runs = self._go_on(checkpoint)
            else:
                runs = self._start(given.work, model, seed, checkpoint)
            with watching(self.progress, self.n_chains, schedule) as watch:
                saving = _also_save(watch, checkpoint)
                finished = sample(runs, schedule, n_jobs, saving, given.work)
        if checkpoint is not None:
            for k, run in enumerate(runs):
                checkpoint.save(k, run)
        if not any(run.draws for run in runs):
            raise KeyboardInterrupt("interrupted during warm-up: there are no draws to keep")
        # Only now, so that a fit that fails leaves the last one as it was.
        self._preparation, self._runs, self._fitted_with = given.preparation, runs, known
        self._model_, self._done = model, schedule
        self._data, self._rows, self._outside = given.data, given.rows, given.outside
        self._kept, self._digest = given.kept(), given.digest
        self.algorithm_ = "gibbs" if given.store is None else "parallel"
        self.columns_ = given.preparation.columns
        self.selection_ = selection
        self.covariance_type_, self.leaf_noise_ = model.covariance_type, model.leaf_noise
        self.depth_ = model.depth + model.private_step
        self.posterior_ = Posterior([run.draws for run in runs], model.depth)
        if not going_on:
            self.__dict__.pop("stream_", None)
        if not finished:
            warn_caller(
                f"interrupted: {len(self.posterior_)} draws are kept; fit with warm_start=True to "
                "go on",
                ConvergenceWarning,
            )
        self._summarise_in_time(names_of(X))
        self.diagnosis_ = diagnose(self.posterior_)
        self._warn_of_disagreement()
        return self

    def _chosen(
        self,
        data: FloatArray,
        candidates: list[tuple[str, Model]],
        schedule: Schedule,
        seed: np.random.SeedSequence,
        n_jobs: int,
    ) -> tuple[Model, Selection | None]:
        """Return the model to fit, and what it was chosen from."""
        if len(candidates) == 1:
            return candidates[0][1], None
        n_pilots = PILOT_CHAINS * len(candidates)
        share = int(PILOT_SHARE * self.n_chains * schedule.n_sweeps)
        budget = max(min(share, PILOT_SWEEPS), n_pilots)
        with choosing(self.progress, len(candidates)):
            selection = select(
                data, candidates, schedule, seed, n_jobs, n_chains=PILOT_CHAINS, budget=budget
            )
        return selection.models[selection.best], selection

    def _go_on(self, checkpoint: Checkpoint | None) -> list[Run]:
        if checkpoint is not None and not checkpoint.exists():
            checkpoint.begin()
        return self._runs

    def _start(
        self,
        data: FloatArray | Store,
        model: Model,
        seed: np.random.SeedSequence,
        checkpoint: Checkpoint | None,
    ) -> list[Run]:
        """Start every chain, or go on where it was saved."""
        seeds = seed.spawn(self.n_chains)
        saved: list[Run | None] = [None] * self.n_chains
        if checkpoint is not None:
            if checkpoint.exists():
                saved = [checkpoint.load(k, model) for k in range(self.n_chains)]
            else:
                checkpoint.begin()
        return [
            Run.start(data, model, seed, self._threads_of_chain()) if run is None else run
            for run, seed in zip(saved, seeds, strict=True)
        ]

    def _known(self) -> dict[str, str]:
        """Return the parameters that must stay the same for a run to go on."""
        return draws_depend_on(self.get_params())

    def _check_same(self, given: Given, known: dict[str, str]) -> None:
        changed = [name for name in known if known[name] != self._fitted_with[name]]
        if changed:
            raise ValueError(
                f"{changed[0]} must be that of the last fit, {self._fitted_with[changed[0]]}, when "
                f"warm_start=True goes on, got {known[changed[0]]}"
            )
        if given.digest != self._digest:
            raise ValueError("X must be the data of the last fit when warm_start=True goes on")

    def _checkpoint(self, data: FloatArray | Store, known: dict[str, str]) -> Checkpoint | None:
        """Return the checkpoint, if there is to be one; say before any work if it cannot serve."""
        if self.checkpoint is None:
            return None
        if not is_integer(self.random_state):
            raise ValueError(
                "checkpoint needs an integer as random_state, so that a run can go on, "
                f"got {self.random_state!r}"
            )
        checkpoint = Checkpoint(self.checkpoint, data, known)
        checkpoint.exists()
        return checkpoint

    def _schedule(self) -> Schedule:
        check_integer("n_chains", self.n_chains, minimum=1)
        return Schedule(
            check_integer("n_warmup", self.n_warmup, minimum=0),
            check_integer("n_draws", self.n_draws, minimum=1),
            check_integer("thin", self.thin, minimum=1),
        )

    def _threads(self) -> int:
        if self.n_jobs is None or self.n_jobs == -1:
            return min(self.n_chains, os.cpu_count() or 1)
        return check_integer("n_jobs", self.n_jobs, minimum=1)

    def _threads_of_chain(self) -> int:
        """Return how many threads a chain of the parallel sampler has for itself."""
        every = os.cpu_count() or 1 if self.n_jobs in (None, -1) else self._threads()
        return max(every // self.n_chains, 1)

    def _warn_of_disagreement(self) -> None:
        if self.diagnosis_.verdict().agreement == "disagree":
            warn_caller(str(self.diagnosis_.advice()), ConvergenceWarning)


def _also_save(
    watch: Callable[[int, Run], None], checkpoint: Checkpoint | None
) -> Callable[[int, Run], None]:
    """Return a watcher that also saves each chain from time to time."""
    if checkpoint is None:
        return watch
    last: dict[int, float] = {}

    def both(k: int, run: Run) -> None:
        watch(k, run)
        now = time.monotonic()
        if now - last.setdefault(k, now) > SECONDS_BETWEEN_SAVES:
            checkpoint.save(k, run)
            last[k] = now

    return both
