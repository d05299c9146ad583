"""From parameters and rows to draws: the models that are asked for, and chains that sample one.

A model is chosen, chains are started or go on, are watched and saved.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sticktree.blas import one_thread
from sticktree.checks import FloatArray
from sticktree.data.training import TrainingData, label_every
from sticktree.engine.own.kinds import KINDS
from sticktree.errors import ParameterError
from sticktree.inference.compiling import compile_for_fit
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
from sticktree.model import Column, CovarianceType, LeafNoise, Model
from sticktree.processes.divergence import (
    Concentration,
    ConstantDivergence,
    Divergence,
    LogDivergence,
    resolve_concentration,
)

SECONDS_BETWEEN_SAVES = 30.0
PILOT_SHARE = 0.5  # of the sweeps of a fit, that choosing a model may take
PILOT_SWEEPS = 1200  # in all, however long the fit
PILOT_CHAINS = 2
MOST_COLUMNS = 64  # Gaussian columns for which each leaf may have a full covariance of its own
FINEST = 1e-3  # resolution, in standardised units, of columns with a full covariance
DEPTH = 4  # if none is asked for, and the data do not choose
DEEPEST = 4  # the data choose among depths up to this, and the one that was asked for
# With shared noise deeper trees may pay: on 24 drugs, 16 steps are 0.6 nats a row ahead of 4. If no
# depth is asked for, these are candidates too. Leaves with their own noise gain nothing by them.
DEEPER = (8, 16)
OF_MODEL = (  # parameters that the model takes as they are
    "scales",
    "concentration",
    "discount",
    "concentration_prior",
    "precision_prior",
    "scale_prior",
    "discount_prior",
    "node_prior",
)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The models that parameters ask for.

    Attributes
    ----------
    base : Model
        Every choice but those that depend on the data.
    depth : int or None
        The depth that was asked for; None leaves it to the data, or to the divergence.
    divergence : object
        A divergence, array or function of the level.
    covariance_type, leaf_noise : str
        What was asked for, "auto" included.
    steps : dict of Concentration
        The concentrations of each depth to choose from.
    """

    base: Model
    depth: int | None
    divergence: Any
    covariance_type: str
    leaf_noise: str
    steps: dict[int | None, Concentration]

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Candidates:
        """Return what parameters ask for, each of which has been checked by itself."""
        depth, divergence = parameters["depth"], parameters["divergence"]
        if depth == 1 and isinstance(divergence, LogDivergence):
            # Of one step, b(0) = log(1/0) would give every datum a place of its own and leave no
            # level at all. A stick that breaks once is the Dirichlet process mixture.
            divergence = ConstantDivergence(divergence.c)
        usual = _or_usual(divergence, depth)
        resolved = resolve_concentration(divergence, usual, name="divergence")
        base = Model(
            shape=resolved.alpha,
            private_step=resolved.private_step,
            less_discount=isinstance(divergence, Divergence) and divergence.less_discount,
            **{name: parameters[name] for name in OF_MODEL},
        )
        forms = parameters["covariance_type"], parameters["leaf_noise"]
        asked = cls(base, depth, divergence, *forms, {usual: resolved})
        for other in asked._depths("shared"):  # they are more than with own noise
            asked.steps[other] = resolve_concentration(divergence, other, name="divergence")
        return asked

    def models(self, columns: tuple[Column, ...], level: int | None) -> list[tuple[str, Model]]:
        """Return the models for columns, with their names; all have nodes at ``level``."""
        n_gaussian = sum(column.kind == "gaussian" for column in columns)
        mixed = n_gaussian < len(columns)
        check_noise(self.leaf_noise, [column.kind for column in columns])
        forms: list[tuple[LeafNoise, CovarianceType]] = []
        if self.covariance_type != "auto":
            own = mixed or self.leaf_noise == "own"
            forms.append(("own" if own else "shared", self.covariance_type))  # type: ignore[arg-type]
        else:
            if not mixed and self.leaf_noise != "own":
                forms.append(("shared", "full"))
            if self.leaf_noise != "shared":
                forms.append(("own", "diag"))
                if 2 <= n_gaussian <= MOST_COLUMNS:
                    forms.append(("own", "full"))
        named = [
            (f"{noise} {form}, depth {depth}", self._model(noise, form, depth, columns))
            for noise, form in forms
            for depth in self._depths(noise)
        ]
        return [(name, model) for name, model in named if model.depth >= (level or 0)]

    @property
    def most_levels(self) -> int:
        """The most levels that a candidate may have."""
        if self.leaf_noise == "own":
            return self.base.depth
        return max(steps.alpha.size for steps in self.steps.values())

    def _depths(self, leaf_noise: LeafNoise) -> list[Any]:
        """Return the depths to choose from: smaller ones too, if the data choose."""
        known = isinstance(self.divergence, LogDivergence | ConstantDivergence)
        if self.covariance_type != "auto" or not known:
            return [_or_usual(self.divergence, self.depth)]
        # With the log divergence the last step is each datum's own: depth 2 has one level.
        least = 2 if isinstance(self.divergence, LogDivergence) else 1
        if self.depth is None:
            deeper = DEEPER if leaf_noise == "shared" else ()
            return [*range(least, DEEPEST + 1), *deeper]
        return sorted({*range(least, min(self.depth, DEEPEST) + 1), self.depth})

    def _model(
        self,
        leaf_noise: LeafNoise,
        covariance_type: CovarianceType,
        depth: int,
        columns: tuple[Column, ...],
    ) -> Model:
        steps = self.steps[depth]
        if covariance_type == "full":
            # Columns that add up to another one would make every leaf flat.
            columns = tuple(replace(c, floor=max(c.floor, FINEST**2 / 12.0)) for c in columns)
        return replace(
            self.base,
            shape=steps.alpha,
            private_step=steps.private_step,
            covariance_type=covariance_type,
            leaf_noise=leaf_noise,
            columns=columns if leaf_noise == "own" else None,
        )


def _or_usual(divergence: Any, depth: Any) -> Any:
    """Return the depth, or the usual one; an array has its own number of steps."""
    if depth is None and (isinstance(divergence, Divergence) or callable(divergence)):
        return DEPTH
    return depth


def check_noise(leaf_noise: str, kinds: Iterable[str]) -> None:
    """Raise if leaves are to share their noise and columns have none that can be shared."""
    others = sorted(kind for kind in set(kinds) if not KINDS[kind].likelihood.is_continuous)
    if others and leaf_noise == "shared":
        raise ParameterError(
            "leaf_noise",
            leaf_noise,
            "own or auto unless all columns are gaussian",
            shown=f"shared with {', '.join(others)} columns",
        )


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
    models = [model for _, model in candidates]
    compile_for_fit(models, some, training.parallel, plan.progress)
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
