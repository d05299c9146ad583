"""Choosing among models by leave-one-out density, with short chains and as few as need be.

All candidates run for a while; those that are clearly worse are dropped, and what they would have
cost goes to the others, whose chains go on. See `select`.
"""

from __future__ import annotations

import html
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_integer
from sticktree.engine import engine_of
from sticktree.engine.draw import Draw
from sticktree.inference.runner import Schedule
from sticktree.model import Model
from sticktree.posterior.loo import LeaveOneOut, compare, leave_one_out, stacking_weights

if TYPE_CHECKING:
    from sticktree.engine.chain import ChainLike

N_ROUNDS = 3
MOST_RECORDS = 100  # draws of a chain whose leave-one-out densities are used
MOST_ROWS = 1000  # rows whose densities decide; of more data, these are drawn at random
# A candidate is dropped if it is worse than the best by more than both:
CLEARLY_WORSE = 4.0  # standard errors of the paired difference
WORSE_BY_ROW = 0.1  # nats a row

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
        What was found of every candidate, by name. For those dropped it comes from short chains.
    weights : dict of float
        Stacking weights: those of the mixture of models that predicts best. Candidates that were
        dropped have none.
    dropped_after : dict of int
        For candidates that were dropped, sweeps of each of their chains.
    n_sweeps : int
        All sweeps of all chains.
    models : dict of Model
        The candidates.
    draws : dict of list of Draw
        Draws of the candidates that were not dropped.
    """

    results: dict[str, LeaveOneOut]
    weights: dict[str, float]
    dropped_after: dict[str, int]
    n_sweeps: int
    models: dict[str, Model]
    draws: dict[str, list[Draw]]

    @property
    def best(self) -> str:
        """Name of the candidate with the largest elpd."""
        return str(self.table[0]["name"])

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row a candidate, the best first and those dropped last.

        ``name``, ``elpd`` and its standard error ``se``, ``difference`` from the best and its
        paired standard error ``se_difference``, ``n_bad_k`` (rows whose density is not to be
        trusted), ``weight`` (stacking), ``dropped_after`` (sweeps of a chain, or None).
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
                form.get(key, "{:.1f}").format(value) for key, value in row.items() if key != "name"
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
        return "\n".join([f"Leave-one-out log density of {n_rows} rows; best: {self.best}", *lines])

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
    schedule: Schedule,
    seed: np.random.SeedSequence,
    n_jobs: int,
    *,
    n_chains: int = 2,
    budget: int | None = None,
) -> Selection:
    """Run short chains of every candidate and compare their leave-one-out densities.

    There are three rounds, with a third of the budget each, shared alike by the candidates that are
    left. After the first and the second, those go whose elpd is less than the best by more than 4
    standard errors of the paired difference and 0.1 nats a row. If one is left, it is the best, and
    does not go on. No chain runs longer than the schedule; where it is shorter, its warm-up is
    the same share of its sweeps.

    Parameters
    ----------
    data : float array, shape (N, D)
        Standardised data, the same for all candidates.
    candidates : sequence of (str, Model)
        Models with their names.
    schedule : Schedule
        The most sweeps that a chain runs, and how many of them are warm-up. At most 100 of the
        draws of each chain are used.
    seed : numpy.random.SeedSequence
        Every chain has its own child of it.
    n_jobs : int
        Number of threads; the result does not depend on it.
    n_chains : int
        Chains of each candidate.
    budget : int, optional
        The most sweeps in all, summed over chains and candidates; at least one for each chain. By
        default as many as all chains would take if none were dropped.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after each chain has finished the sweep it is at.
    """
    names = _check_candidates(candidates)
    check_integer("n_jobs", n_jobs, minimum=1)
    check_integer("n_chains", n_chains, minimum=1)
    check_integer("n_draws", schedule.n_draws, minimum=1)
    n_all = len(names) * n_chains
    if budget is None:
        budget = n_all * schedule.n_sweeps
    check_integer("budget", budget, minimum=n_all)
    warm_up = schedule.n_warmup / schedule.n_sweeps
    # Whoever is left at the end has made this many sweeps or more.
    shortest = min(budget // n_all, schedule.n_sweeps)
    spacing = max(1, int((1.0 - warm_up) * shortest) // MOST_RECORDS)
    *seeds, last = seed.spawn(len(names) + 1)
    rows = np.arange(len(data))
    if rows.size > MOST_ROWS:
        rows = np.sort(np.random.default_rng(last).choice(rows, MOST_ROWS, replace=False))
    pilots = {
        name: [
            _Pilot(data, model, child, spacing, int(warm_up * shortest), rows)
            for child in seeds[k].spawn(n_chains)
        ]
        for k, (name, model) in enumerate(candidates)
    }
    results: dict[str, LeaveOneOut] = {}
    recorded: dict[str, list[list[FloatArray]]] = {}
    dropped_after: dict[str, int] = {}
    length, spent = 0, 0
    for round_ in range(1, N_ROUNDS + 1):
        n_running = len(pilots) * n_chains
        more = (budget * round_ // N_ROUNDS - spent) // n_running
        more = min(more, schedule.n_sweeps - length)
        if more == 0 or len(pilots) == 1 < len(names):  # nothing is left to do, or to decide
            continue
        length += more
        spent += more * n_running
        _run([pilot for group in pilots.values() for pilot in group], length, n_jobs)
        first = int(warm_up * length)
        for name, group in pilots.items():
            used = [[record.densities for record in pilot.used(first)] for pilot in group]
            results[name] = leave_one_out(np.array(used), smooth=False)
            recorded[name] = used
        if round_ < N_ROUNDS and length < schedule.n_sweeps:
            for name in _clearly_worse({name: results[name] for name in pilots}):
                dropped_after[name] = length
                del pilots[name]
    for name in pilots:
        results[name] = leave_one_out(np.array(recorded[name]))
    stacked = stacking_weights(np.column_stack([results[name].pointwise for name in pilots]))
    found = dict(zip(pilots, stacked.tolist(), strict=True))
    weights = {name: found.get(name, 0.0) for name in names}
    draws = {
        name: [record.draw for pilot in group for record in pilot.used(int(warm_up * length))]
        for name, group in pilots.items()
    }
    return Selection(results, weights, dropped_after, spent, dict(candidates), draws)


def _check_candidates(candidates: Sequence[tuple[str, Model]]) -> list[str]:
    """Return the names of the candidates, or raise if they are wrong."""
    names = [name for name, _ in candidates]
    if not names:
        raise ValueError("candidates must be one or more pairs of a name and a Model, got none")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"candidates must have different names, got {twice[0]!r} more than once")
    return names


def _clearly_worse(results: Mapping[str, LeaveOneOut]) -> list[str]:
    """Return the names of candidates not worth going on with."""
    return [
        row.name
        for row in compare(results)
        if -row.difference > WORSE_BY_ROW * results[row.name].pointwise.size
        and -row.difference > CLEARLY_WORSE * row.se_difference
    ]


class _Record(NamedTuple):
    """A draw with its leave-one-out densities, and the number of sweeps before it."""

    n_sweeps: int
    densities: FloatArray
    draw: Draw


@dataclass
class _Pilot:
    """A chain that keeps leave-one-out densities with its draws."""

    data: FloatArray
    model: Model
    seed: np.random.SeedSequence
    spacing: int
    n_warmup: int
    rows: npt.NDArray[np.int64]
    chain: ChainLike | None = None
    n_sweeps: int = 0
    records: list[_Record] = field(default_factory=list)

    def go_on(self, length: int, stop: threading.Event) -> None:
        """Sweep until there have been ``length`` sweeps, or until told to stop."""
        if self.chain is None:
            rng = np.random.default_rng(self.seed)
            self.chain = engine_of(self.model).chain(self.data, self.model, rng)
        chain = self.chain
        while self.n_sweeps < length and not stop.is_set():
            chain.sweep(tune=self.n_sweeps < self.n_warmup)
            self.n_sweeps += 1
            if self.n_sweeps % self.spacing == 0 or self.n_sweeps == length:
                densities = chain.leave_one_out()[self.rows]
                # A chain that has left the range of numbers predicts nothing.
                densities = np.where(densities < np.inf, densities, -np.inf)
                self.records.append(_Record(self.n_sweeps, densities, chain.draw()))

    def used(self, first: int) -> list[_Record]:
        """Return at most 100 records, evenly spaced, made after the first sweeps."""
        self.records = [record for record in self.records if record.n_sweeps > first]
        size = len(self.records)
        count = min(size, MOST_RECORDS)
        places = [size - 1 - k * size // count for k in range(count)]
        return [self.records[k] for k in reversed(places)]


def _run(pilots: list[_Pilot], length: int, n_jobs: int) -> None:
    """Let pilots go on in threads; on Ctrl-C or an error all finish their sweep and end."""
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=n_jobs) as pool:
        futures = [pool.submit(pilot.go_on, length, stop) for pilot in pilots]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
