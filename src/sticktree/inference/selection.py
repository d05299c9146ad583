"""Choosing among models by leave-one-out density, with short chains and as few as need be.

All candidates run for a while; those that are clearly worse are dropped, and the others' chains go
on. See `select`.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sticktree.checks import FloatArray, check_integer
from sticktree.engine.draw import Draw
from sticktree.inference.runner import Run, Schedule, TimeLimit, in_threads, sample
from sticktree.inference.showing import Line
from sticktree.model import Model
from sticktree.posterior.loo import (
    LeaveOneOut,
    compare,
    densities_without,
    leave_one_out,
)
from sticktree.posterior.stacking import cautious_weights

PILOT_SWEEPS = 50  # of a chain: below 20 Glass chooses wrongly, from 32 on little is lost
PILOT_CHAINS = 2  # of a candidate
DROP_AT = 24  # sweeps, after which those that are clearly worse go, and all but
MOST_LEFT = 3  # of the others: on 13 sets the best by elpd was always among them
# A candidate is dropped if it is worse than the best by more than both:
CLEARLY_WORSE = 4.0  # standard errors of the paired difference
WORSE_BY_ROW = 0.1  # nats a row
WORTH = 0.05  # but it stays if it has this weight in a stack

HEADINGS = {
    "name": "model",
    "elpd": "elpd",
    "se": "se",
    "difference": "difference",
    "se_difference": "its se",
    "n_bad_k": "bad k-hat",
    "weight": "weight",
    "dropped_after": "dropped after",
}


@dataclass(frozen=True, eq=False)
class Selection:
    """Models compared by leave-one-out density.

    Attributes
    ----------
    results : dict of LeaveOneOut
        What was found of every candidate, by name: log densities in nats, of a fit in the units of
        the user's table, as ``loo()`` has them. For those dropped it comes from short chains.
    weights : dict of float
        Weights of the stack that answers: those of the mixture of models that predicts best, held
        back towards the best of them. Candidates that were dropped have none.
    dropped_after : dict of int
        For candidates that were dropped, sweeps of each of their chains.
    n_sweeps : int
        All sweeps of all chains.
    models : dict of Model
        The candidates.
    draws : dict of list of Draw
        Draws of the candidates that have weight beside the best. There are none where a sample of
        the rows made the choice: these draws know the sample only.
    """

    results: dict[str, LeaveOneOut]
    weights: dict[str, float]
    dropped_after: dict[str, int]
    n_sweeps: int
    models: dict[str, Model]
    draws: dict[str, list[Draw]]

    def in_units(self, log_units: FloatArray) -> Selection:
        """Return the same with densities in other units, by what to add to those of each row."""
        results = {
            name: LeaveOneOut.of_rows(found.pointwise + log_units, found.k_hat)
            for name, found in self.results.items()
        }
        return replace(self, results=results)

    @property
    def best(self) -> str:
        """Name of the candidate with the largest elpd."""
        return str(self.table[0]["name"])

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row a candidate, the best first and those dropped last.

        ``name``, ``elpd`` (in nats, summed over rows) and its standard error ``se``, ``difference``
        from the best and its paired standard error ``se_difference``, ``n_bad_k`` (rows whose
        density is not to be trusted, None if that cannot be told), ``weight`` (stacking),
        ``dropped_after`` (sweeps of a chain, or None).
        """
        kept = {name: self.results[name] for name in self.weights if name not in self.dropped_after}
        first = compare(kept)
        best = {first[0].name: self.results[first[0].name]}
        dropped = {name: self.results[name] for name in self.dropped_after}
        last = [row for name in dropped for row in compare(best | {name: dropped[name]})]
        last = sorted((row for row in last if row.name in dropped), key=lambda row: -row.elpd)
        return [
            {
                **row._asdict(),
                "weight": self.weights[row.name],
                "dropped_after": self.dropped_after.get(row.name),
            }
            for row in first + last
        ]

    def _cells(self) -> list[list[str]]:
        """Return the table as text, with its headings."""
        form = {"n_bad_k": "{:d}", "weight": "{:.3f}"}
        cells = [list(HEADINGS.values())]
        for row in self.table:
            after = row.pop("dropped_after")
            numbers = [
                "?" if value is None else form.get(key, "{:.1f}").format(value)
                for key, value in row.items()
                if key != "name"
            ]
            cells.append([row["name"], *numbers, "" if after is None else f"{after} sweeps"])
        return cells if self.dropped_after else [line[:-1] for line in cells]

    def __str__(self) -> str:
        """Return the table, aligned."""
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = []
        for first, *rest in cells:
            numbers = (f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
            lines.append("  ".join([f"{first:<{widths[0]}}", *numbers]).rstrip())
        n_rows = next(iter(self.results.values())).pointwise.size
        head = f"Leave-one-out log density (elpd, in nats) of {n_rows} rows; best: {self.best}"
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        head, *body = self._cells()
        rows = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
        rows += [
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
            for line in body
        ]
        return "<table>" + "".join(rows) + "</table>"


def select(
    data: FloatArray,
    candidates: Sequence[tuple[str, Model]],
    seed: np.random.SeedSequence,
    n_jobs: int,
    *,
    n_sweeps: int = PILOT_SWEEPS,
    n_chains: int = PILOT_CHAINS,
    limit: TimeLimit | None = None,
    line: Line | None = None,
) -> tuple[Selection, list[Run]]:
    """Run short chains of every candidate and compare their leave-one-out densities.

    A candidate is judged by its better chain, as one that is stuck says little of its model. About
    halfway three go on: the best, those that have most weight in a stack, if it is 0.05 or more,
    and the next by elpd. What is less than the best by more than 4 standard errors of the paired
    difference and 0.1 nats a row goes on only if it has such weight: it may be the best for some
    of the rows. If one is left, it is the best, and does not go on.

    Parameters
    ----------
    data : float array, shape (N, D)
        Standardised data, the same for all candidates.
    candidates : sequence of (str, Model)
        Models with their names.
    seed : numpy.random.SeedSequence
        Every chain has its own child of it.
    n_jobs : int
        Number of threads; the result does not depend on it.
    n_sweeps : int, default=50
        The sweeps of a chain, the first half of which is warm-up.
    n_chains : int, default=2
        Chains of each candidate.
    limit : TimeLimit, optional
        When the time is over, what there is decides.
    line : Line, optional
        Where to say what is being done.

    Returns
    -------
    Selection
        What was found.
    list of Run
        The chains of the best candidate, with the draws that it was judged by.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after each chain has finished the sweep it is at.
    """
    names = _check_candidates(candidates)
    check_integer("n_jobs", n_jobs, minimum=1)
    check_integer("n_chains", n_chains, minimum=1)
    check_integer("n_sweeps", n_sweeps, minimum=2)
    limit, line = limit or TimeLimit(), line or Line()
    left = {
        name: _Pilots.start(model, data, own.spawn(n_chains))
        for (name, model), own in zip(candidates, seed.spawn(len(names)), strict=True)
    }
    results: dict[str, LeaveOneOut] = {}
    dropped_after: dict[str, int] = {}
    spent = length = 0
    for end in sorted({max(n_sweeps * DROP_AT // PILOT_SWEEPS, 1), n_sweeps}):
        if limit.hit or len(left) == 1 < len(names):  # nothing is left to decide
            break
        more, length = end - length, end
        text = f"comparing {len(names)} models: {len(names) - len(left)} done"
        line.say(text, len(left) * n_chains * more, most=limit.left)
        runs = [run for pilots in left.values() for run in pilots.runs]
        for run in runs:
            run.draws.clear()
        schedule = Schedule(end // 2, end - end // 2, n_tuned=n_sweeps // 2)
        before = sum(run.n_sweeps for run in runs)
        if not sample(runs, schedule, n_jobs, lambda k, run: line.step(), limit=limit):
            raise KeyboardInterrupt
        spent += sum(run.n_sweeps for run in runs) - before
        judged = in_threads(n_jobs, _Pilots.judged, list(left.values()))
        results |= dict(zip(left, judged, strict=True))
        if end < n_sweeps:
            kept = worth_going_on({name: results[name] for name in left})
            for name in [name for name in names if name in left and name not in kept]:
                dropped_after[name] = end
                del left[name]
    for name, pilots in left.items():
        results[name] = leave_one_out(pilots.better[None])
    weights = dict.fromkeys(names, 0.0) | _weights({name: results[name] for name in left})
    best = max(left, key=lambda name: results[name].elpd)
    draws = {
        name: [draw for run in pilots.runs for draw in run.draws]
        for name, pilots in left.items()
        if name != best and weights[name] > 0.0
    }
    selection = Selection(results, weights, dropped_after, spent, dict(candidates), draws)
    return selection, left[best].runs


def _weights(results: Mapping[str, LeaveOneOut]) -> dict[str, float]:
    """Return the weights of a stack of candidates, held back towards the best of them."""
    elpd = [result.elpd for result in results.values()]
    pointwise = np.column_stack([result.pointwise for result in results.values()])
    weights = cautious_weights(pointwise, int(np.argmax(elpd))).tolist()
    return dict(zip(results, weights, strict=True))


def _check_candidates(candidates: Sequence[tuple[str, Model]]) -> list[str]:
    """Return the names of the candidates, or raise if they are wrong."""
    names = [name for name, _ in candidates]
    if not names:
        raise ValueError("candidates must be one or more pairs of a name and a Model, got none")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"candidates must have different names, got {twice[0]!r} more than once")
    return names


def worth_going_on(results: Mapping[str, LeaveOneOut]) -> list[str]:
    """Return at most three: the best, those that add to it in a stack, and those near it."""
    worse, weights = set(clearly_worse(results)), _weights(results)
    adding = {name: weight for name, weight in weights.items() if weight >= WORTH}
    best = max(results, key=lambda name: results[name].elpd)

    def rank(name: str) -> tuple[bool, float, float]:
        return name != best, -adding.get(name, 0.0), -results[name].elpd

    kept = [name for name in results if name not in worse or name in adding]
    return sorted(kept, key=rank)[:MOST_LEFT]


def clearly_worse(results: Mapping[str, LeaveOneOut]) -> list[str]:
    """Return the names of models, or chains, that are not worth going on with."""
    return [
        row.name
        for row in compare(results)
        if -row.difference > WORSE_BY_ROW * results[row.name].pointwise.size
        and -row.difference > CLEARLY_WORSE * row.se_difference
    ]


@dataclass
class _Pilots:
    """The chains of a candidate, and the densities of rows that it is judged by."""

    model: Model
    data: FloatArray
    runs: list[Run]
    better: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def start(
        cls, model: Model, data: FloatArray, seeds: Sequence[np.random.SeedSequence]
    ) -> _Pilots:
        return cls(model, data, [Run.on(data, model, seed) for seed in seeds])

    def judged(self) -> LeaveOneOut:
        """Return how well the better chain predicts."""
        every = [densities_without(run.draws, self.model, self.data) for run in self.runs]
        found = [leave_one_out(densities[None], smooth=False) for densities in every]
        best = max(range(len(found)), key=lambda k: found[k].elpd)
        self.better = every[best]
        return found[best]
