"""Sampling in rounds until the answer is stable, by a rule that looks at draws alone.

A round lets all chains go on to a length L: 100 sweeps, 200, 400, …; draws of the first half are
given up. Then the draws of sweeps L/2 to L are compared with those of L/4 to L/2, and those of half
of the chains with the others', by leave-one-out densities and by the walk's tree of clusters. See
`sticktree.posterior.settled` for the rule, `Course` for what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sticktree.data.training import TrainingData, label_every
from sticktree.engine.draw import Draw
from sticktree.inference.course import FIRST_LENGTH, MOST_CHAINS, Aim, Course, Look, most_left
from sticktree.inference.looking import look_at
from sticktree.inference.runner import Run, Schedule, TimeLimit, Watch, sample
from sticktree.inference.showing import Line
from sticktree.model import Model
from sticktree.posterior.settled import Yardstick

FROZEN = 25  # sweeps in which numbers of moves are tuned; no draw before is used
LOOKING = "looking whether the answer is stable"


@dataclass(frozen=True)
class Lengths:
    """How lengths of chains become schedules.

    Attributes
    ----------
    n_warmup : int or None
        Sweeps that are discarded; None is the first half, however long the chains.
    thin : int
        Sweeps from one draw to the next.
    n_data : int or None
        Number of data of the parallel sampler, whose draws do not all keep labels.
    """

    n_warmup: int | None
    thin: int = 1
    n_data: int | None = None

    def schedule(self, length: int) -> Schedule:
        """Return how chains run to a length, with all draws that a look may need."""
        every = 1 if self.n_data is None else label_every(self.n_data, length // 2, MOST_CHAINS)
        if self.n_warmup is not None:
            return Schedule(self.n_warmup, length // 2, self.thin, every)
        return Schedule(FROZEN * self.thin, length - FROZEN, self.thin, every)

    def after(self, length: int) -> Schedule:
        """Return how chains have run when they end at a length, with the draws that are kept."""
        if self.n_warmup is not None:
            return self.schedule(length)
        half = length // 2
        return replace(
            self.schedule(length), n_warmup=(length - half) * self.thin, n_draws=half, n_tuned=None
        )

    def looked_at(self, draws: Sequence[Draw], length: int) -> tuple[list[Draw], list[Draw]]:
        """Return the draws of a chain of this length to compare: those before, and those now."""
        now = length // 4 if self.n_warmup is not None else length // 2
        before = length // 4
        return list(draws[-now - before : -now]), list(draws[-now:])

    def kept(self, run: Run, length: int | None = None) -> Run:
        """Return a run with the draws after warm-up; without a length it ended before its time."""
        if self.n_warmup is not None:
            return run
        n_draws = run.n_sweeps // (2 * self.thin) if length is None else length // 2
        return run.with_last(max(n_draws, 1))


class Outcome(NamedTuple):
    """What rounds leave: chains as they stand, and with the draws that are kept."""

    runs: dict[int, Run]
    kept: dict[int, Run]
    course: Course
    schedule: Schedule
    finished: bool


@dataclass(frozen=True, eq=False)
class Rounds:
    """Chains that go on in rounds.

    Attributes
    ----------
    training : TrainingData
        The rows.
    model : Model
        What is sampled.
    lengths : Lengths
        How lengths of chains become schedules.
    n_chains : int or None
        The number of chains; None lets the rule decide.
    n_jobs : int
        Chains that run at once.
    start : callable
        Returns chain k, as it begins or as it was saved.
    watch : callable
        Called after every sweep with the number of the chain.
    keep : callable
        Called after every look with the course so far.
    """

    training: TrainingData
    model: Model
    lengths: Lengths
    n_chains: int | None
    n_jobs: int
    start: Callable[[int], Run]
    watch: Watch
    keep: Callable[[Course], None]
    limit: TimeLimit
    line: Line

    def sample(self, course: Course) -> Outcome:
        """Go on from a course until the answer is stable, or until all is done that may be."""
        yardstick = Yardstick(self.training, self.model)
        runs: dict[int, Run] = {}
        *past, aim = course.aims(self.n_chains)
        last = past[-1] if past else None
        while aim is not None:
            last = aim
            self._bring_up(runs, aim.n_chains, course)
            schedule = self.lengths.schedule(aim.length)
            try:
                if not self._swept(runs, schedule, len(course.looks) + 1, aim):
                    return self._ended_early(runs, course, finished=False)
                if self.limit.hit:
                    return self._ended_early(runs, course, finished=True)
                look = self._look(runs, aim.length, yardstick)
            except KeyboardInterrupt:
                return self._ended_early(runs, course, finished=False)
            course = course.plus(look)
            self.keep(course)
            for k in look.stuck:
                del runs[k]
            aim = course.aims(self.n_chains)[-1]
        assert last is not None
        self._bring_up(runs, last.n_chains, course)  # of a course that had ended before
        kept = {k: self.lengths.kept(run, last.length) for k, run in runs.items()}
        return Outcome(runs, kept, course, self.lengths.after(last.length), True)

    def _bring_up(self, runs: dict[int, Run], n_chains: int, course: Course) -> None:
        """Start the chains that are not there yet, and are not known to be stuck."""
        for k in range(n_chains):
            if k not in runs and k not in course.stuck:
                runs[k] = self.start(k).from_warmup(self.lengths.schedule(FIRST_LENGTH))

    def _swept(self, runs: dict[int, Run], schedule: Schedule, number: int, aim: Aim) -> bool:
        """Let all chains go on to the end of a schedule; return False if interrupted."""
        numbers = list(runs)
        to_do = sum(max(schedule.n_sweeps - run.n_sweeps, 0) for run in runs.values())
        text = f"round {number}: {len(runs)} chains to {schedule.n_sweeps} sweeps"
        after = self.lengths.thin * most_left(aim, more=self.n_chains is None)
        self.line.say(text, to_do, after, self.limit.left)

        def watch(place: int, run: Run) -> None:
            self.line.step()
            self.watch(numbers[place], run)

        going = list(runs.values())
        return sample(going, schedule, self.n_jobs, watch, self.training, self.limit)

    def _look(self, runs: dict[int, Run], length: int, yardstick: Yardstick) -> Look:
        """Look whether the answer is stable."""
        self.line.say(LOOKING)
        pairs = {k: self.lengths.looked_at(run.draws, length) for k, run in runs.items()}
        n_sweeps = max(run.n_sweeps for run in runs.values())
        return look_at(pairs, n_sweeps, self.model, yardstick, self.n_jobs)

    def _ended_early(self, runs: dict[int, Run], course: Course, *, finished: bool) -> Outcome:
        """Return what there is when chains end before their time."""
        kept = {k: self.lengths.kept(run) for k, run in runs.items()}
        schedule = self.lengths.after(
            max(run.n_sweeps for run in runs.values()) // self.lengths.thin
        )
        return Outcome(runs, kept, course, schedule, finished)
