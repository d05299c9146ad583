"""From parameters and rows to draws: a model is chosen, chains are started or go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from sticktree.blas import one_thread
from sticktree.checks import FloatArray, IntArray
from sticktree.data.training import TrainingData, label_every
from sticktree.inference.candidates import Candidates
from sticktree.inference.compiling import compile_for_fit
from sticktree.inference.course import MOST_CHAINS, USUAL_CHAINS, Course
from sticktree.inference.looking import look_at
from sticktree.inference.parameters import check_level, checked
from sticktree.inference.rounds import LOOKING, Lengths, Outcome, Rounds
from sticktree.inference.runner import (
    Run,
    Schedule,
    TimeLimit,
    Watch,
    Workers,
    sample,
    seed_sequence,
)
from sticktree.inference.selection import PILOT_CHAINS, PILOT_SWEEPS, Selection, select
from sticktree.inference.showing import Line, showing, watching
from sticktree.model import Groups, Model
from sticktree.posterior.settled import Yardstick

SECONDS_BETWEEN_SAVES = 30.0
PILOT_SHARE = 0.5  # of the sweeps of a fit, or of its time, that choosing a model may take


@dataclass(frozen=True, eq=False)
class Plan:
    """What the parameters of an estimator ask for, checked.

    Attributes
    ----------
    candidates : Candidates
        The models to choose from.
    n_chains, n_warmup, n_draws : int or None
        None leaves it to the rule that looks at the answer; a number of draws ends without it.
    thin : int
        Sweeps from one draw to the next.
    workers : Workers
        The threads that run chains.
    resolution, level, random_state, progress, max_time, group_concentration, kinship : object
        As the estimator has them.
    """

    candidates: Candidates
    n_chains: int | None
    n_warmup: int | None
    n_draws: int | None
    thin: int
    workers: Workers
    resolution: FloatArray | None
    level: int | None
    random_state: Any
    progress: bool | None
    max_time: float | None
    group_concentration: float | None = None
    kinship: float | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Plan:
        """Check the parameters of an estimator; raise an error that names the first wrong one."""
        known = checked(parameters)
        candidates = Candidates.of(known)
        check_level(known["level"], candidates.most_levels)
        return cls(
            candidates,
            workers=Workers.of(known["n_chains"] or USUAL_CHAINS, known["n_jobs"]),
            **{name: known[name] for name in ("n_chains", "n_warmup", "n_draws", "thin")},
            **{name: known[name] for name in ("resolution", "level", "random_state", "progress")},
            max_time=known["max_time"],
            group_concentration=known["group_concentration"],
            kinship=known["kinship"],
        )

    def groups(self, of_row: IntArray, parents: IntArray | None = None) -> Groups:
        """Return the groups of rows as a model has them."""
        kinship = None if parents is None else self.kinship
        return Groups(of_row, self.group_concentration, parents=parents, kinship=kinship)

    def schedule_for(self, training: TrainingData) -> Schedule | None:
        """Return the schedule, if numbers are fixed; draws of many rows do not all keep labels."""
        if self.n_draws is None:
            return None
        n_warmup = self.n_draws * self.thin if self.n_warmup is None else self.n_warmup
        every = 1
        if training.parallel:
            every = label_every(training.n_data, self.n_draws, self.workers.n_chains)
        return Schedule(n_warmup, self.n_draws, self.thin, every)

    def lengths_for(self, training: TrainingData) -> Lengths:
        """Return how lengths become schedules, where the answer decides on them."""
        return Lengths(self.n_warmup, self.thin, training.n_data if training.parallel else None)


class Saver(Protocol):
    """Where runs are saved while they go on; see `sticktree.io.checkpoint`."""

    def exists(self) -> bool:
        """Return whether this very run has been saved before."""

    def begin(self, chosen: str | None = None, *, in_haste: bool = False) -> None:
        """Make room for a new run of the model that was chosen, perhaps for want of time."""

    def chosen(self) -> str | None:
        """Return the name of the model that was chosen, if that was kept."""

    def in_haste(self) -> bool:
        """Return whether it was chosen before the comparison was over."""

    def save(self, k: int, run: Run) -> None:
        """Save run k as it stands."""

    def load(self, k: int, model: Model) -> Run | None:
        """Return run k as it was saved, or None."""

    def save_course(self, course: Course) -> None:
        """Save what is known of the answer."""

    def load_course(self) -> Course:
        """Return what was known of the answer."""


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
    course : Course
        How it went.
    """

    model: Model
    selection: Selection | None
    runs: list[Run]
    schedule: Schedule
    finished: bool
    course: Course = field(default_factory=Course)


def sample_posterior(training: TrainingData, plan: Plan, saver: Saver | None) -> Sampled:
    """Choose a model and sample its posterior, or go on where ``saver`` has it."""
    seed, schedule = seed_sequence(plan.random_state), plan.schedule_for(training)
    some = training.some()
    columns = training.describe(some, plan.resolution)
    candidates = plan.candidates.models(columns, plan.level, training.n_data)
    if training.groups is not None:
        groups = plan.groups(training.groups.of_data, training.groups.parents)
        candidates = [(name, replace(model, groups=groups)) for name, model in candidates]
    models = [model for _, model in candidates]
    compile_for_fit(models, some, training.parallel, plan.progress)
    limit = TimeLimit(plan.max_time)  # what is done once on a machine does not count
    to_choose = limit.part(PILOT_SHARE)
    with one_thread():
        with showing(plan.progress) as line:
            chosen = _choose(candidates, some, training, plan, seed, to_choose, line)
        known = saver is not None and saver.exists()
        if saver is not None and known and saver.in_haste() and not to_choose.hit:
            known = saver.chosen() == chosen.name  # with time enough, another may be better
        if saver is not None and known:
            chosen = chosen.as_before(saver.chosen())
        elif saver is not None:
            saver.begin(chosen.name, in_haste=to_choose.hit)
        model = chosen.model
        seeds = seed.spawn(max(plan.workers.n_chains, MOST_CHAINS))

        def start(k: int) -> Run:
            saved = saver.load(k, model) if saver is not None and known else None
            if saved is not None:
                return saved.from_warmup(schedule)
            if schedule is None and k < len(chosen.pilots):
                return chosen.pilots[k]
            return Run.start(training, model, seeds[k], plan.workers.threads_of_chain)

        if schedule is None:
            course = saver.load_course() if saver is not None and known else Course()
            with showing(plan.progress) as line:
                outcome = _rounds(training, model, plan, start, saver, limit, line).sample(course)
        else:
            runs = dict(enumerate(start(k) for k in range(plan.workers.n_chains)))
            finished = _run(runs, schedule, training, plan, saver, limit)
            outcome = Outcome(runs, runs, Course(), schedule, finished)
    limit.hit |= to_choose.hit
    return _sampled(outcome, model, chosen.selection, saver, limit)


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The model that is sampled, what it was chosen from, and chains that can go on."""

    name: str
    models: dict[str, Model]
    selection: Selection | None = None
    pilots: Sequence[Run] = ()

    @property
    def model(self) -> Model:
        return self.models[self.name]

    def as_before(self, name: str | None) -> _Chosen:
        """Return the choice that was made when the run began."""
        if name is None and len(self.models) > 1:
            raise ValueError(
                "checkpoint: the run was begun by an older sticktree, which chose among other "
                "models; choose another folder"
            )
        if name is None or name == self.name:
            return self
        if name not in self.models:
            raise ValueError(
                f"checkpoint: the run was begun with a model {name[:60]!r}, which is none of "
                f"{', '.join(map(repr, self.models))}; choose another folder"
            )
        return replace(self, name=name, pilots=())


def _choose(
    candidates: list[tuple[str, Model]],
    some: FloatArray,
    training: TrainingData,
    plan: Plan,
    seed: np.random.SeedSequence,
    limit: TimeLimit,
    line: Line,
) -> _Chosen:
    """Choose a model by some of the rows, if there are several."""
    if len(candidates) == 1:
        return _Chosen(candidates[0][0], dict(candidates))
    n_sweeps = PILOT_SWEEPS
    schedule = plan.schedule_for(training)
    if schedule is not None:
        share = int(PILOT_SHARE * plan.workers.n_chains * schedule.n_sweeps)
        n_sweeps = max(min(share // (PILOT_CHAINS * len(candidates)), PILOT_SWEEPS), 2)
    compared = candidates
    groups = training.some_groups()
    if groups is not None and some is not training.data:
        of_some = plan.groups(*groups)
        compared = [(name, replace(model, groups=of_some)) for name, model in candidates]
    selection, pilots = select(
        some, compared, seed, plan.workers.n_jobs, n_sweeps=n_sweeps, limit=limit, line=line
    )
    selection = replace(selection, models=dict(candidates))
    selection = selection.in_units(training.log_units_of(some))
    if some is not training.data:
        # What was compared on some of the rows does not go on with all. On D31 a stack of a model
        # that knows all rows and others that know a sample is worse than the first alone.
        selection, pilots = replace(selection, draws={}), []
    return _Chosen(selection.best, selection.models, selection, pilots)


def _rounds(
    training: TrainingData,
    model: Model,
    plan: Plan,
    start: Callable[[int], Run],
    saver: Saver | None,
    limit: TimeLimit,
    line: Line,
) -> Rounds:
    def watch(k: int, run: Run) -> None:
        """Nothing: the line says how far all chains are together."""

    numbers = range(max(plan.workers.n_chains, MOST_CHAINS))
    return Rounds(
        training,
        model,
        plan.lengths_for(training),
        plan.n_chains,
        plan.workers.n_jobs,
        start,
        watch if saver is None else _also_save(watch, saver, numbers),
        (lambda course: None) if saver is None else saver.save_course,
        limit,
        line,
    )


def _sampled(
    outcome: Outcome,
    model: Model,
    selection: Selection | None,
    saver: Saver | None,
    limit: TimeLimit,
) -> Sampled:
    """Save and return what sampling leaves; raise if that has no draws."""
    if saver is not None:
        for k, run in outcome.runs.items():
            saver.save(k, run)
    runs = list(outcome.kept.values())
    if not any(run.draws for run in runs):
        raise KeyboardInterrupt("interrupted during warm-up: there are no draws to keep")
    course = replace(outcome.course, max_time=limit.seconds, out_of_time=limit.hit)
    return Sampled(model, selection, runs, outcome.schedule, outcome.finished, course)


def continue_sampling(
    last: Sampled, training: TrainingData, plan: Plan, saver: Saver | None
) -> Sampled:
    """Add draws to those of the last fit, to the same rows.

    An interrupted fit has fewer draws than were planned: its plan is given up, and every chain gets
    ``n_draws`` more than the shortest has. Where the answer decides on that, they are as many as
    the longest chain has sweeps.
    """
    if saver is not None and not saver.exists():
        saver.begin(None if last.selection is None else last.selection.best)
    limit = TimeLimit(plan.max_time)
    numbers = last.course.numbers(len(last.runs))
    runs = {k: run.continued() for k, run in zip(numbers, last.runs, strict=True)}
    shortest = min(len(run.draws) for run in last.runs)
    more = plan.n_draws or max(run.n_sweeps for run in last.runs) // plan.thin
    schedule = replace(last.schedule, n_draws=shortest + more)
    course, kept = last.course, runs
    with one_thread():
        finished = _run(runs, schedule, training, plan, saver, limit)
        if plan.n_draws is None and finished and not limit.hit:
            with showing(plan.progress) as line:
                line.say(LOOKING)
                pairs = {k: (run.draws[:shortest], run.draws[-more:]) for k, run in runs.items()}
                yardstick = Yardstick(training, last.model)
                n_jobs = plan.workers.n_jobs
                look = look_at(pairs, schedule.n_sweeps, last.model, yardstick, n_jobs)
            course, kept = course.plus(look), {k: runs[k] for k in look.left}
    outcome = Outcome(runs, kept, course, schedule, finished)
    return _sampled(outcome, last.model, last.selection, saver, limit)


def _run(
    runs: Mapping[int, Run],
    schedule: Schedule,
    training: TrainingData,
    plan: Plan,
    saver: Saver | None,
    limit: TimeLimit,
) -> bool:
    """Sweep all runs until they are done or interrupted; save them from time to time."""
    going = list(runs.values())
    with watching(plan.progress, going, schedule) as watch:
        if saver is not None:
            watch = _also_save(watch, saver, list(runs))
        return sample(going, schedule, plan.workers.n_jobs, watch, training, limit)


def _also_save(watch: Watch, saver: Saver, numbers: Sequence[int]) -> Watch:
    """Return a watcher that also saves each chain from time to time."""
    last: dict[int, float] = {}

    def both(k: int, run: Run) -> None:
        watch(k, run)
        now = time.monotonic()
        if now - last.setdefault(k, now) > SECONDS_BETWEEN_SAVES:
            saver.save(numbers[k], run)
            last[k] = now

    return both
