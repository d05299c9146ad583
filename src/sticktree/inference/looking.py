"""Looking whether an answer is stable, by draws alone; see `sticktree.posterior.settled`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sticktree.checks import FloatArray
from sticktree.data.training import TrainingData
from sticktree.engine.draw import Draw
from sticktree.inference.course import Look
from sticktree.inference.runner import in_threads
from sticktree.inference.selection import clearly_worse
from sticktree.model import Model
from sticktree.posterior.clusterings import spread
from sticktree.posterior.loo import LeaveOneOut, densities_of, densities_without, leave_one_out
from sticktree.posterior.walk import Walk, agreement

LOOKED_AT = 25  # draws of a chain, before and now, whose densities are computed
FEW_ROWS = 2000  # up to which each row is left out in turn
SOME_ROWS = 1000  # of more, whose densities are computed
TOLERANCE = 0.02
AGREEMENT = 0.9


class Yardstick:
    """The rows whose densities under draws tell whether an answer is stable.

    Where rows are few, each is left out in turn. Where they are many, a draw hardly depends on one:
    then the density of some rows is taken as it is.

    Parameters
    ----------
    training : TrainingData
        The rows of the fit.
    model : Model
        The model of the draws.
    """

    def __init__(self, training: TrainingData, model: Model) -> None:
        self.model, self.data = model, training.data
        self.left_out = not training.parallel and training.n_data <= FEW_ROWS
        self.rows = training.data if self.left_out else training.some(SOME_ROWS)
        self._known: dict[int, tuple[Draw, FloatArray]] = {}

    def densities(self, draws: Sequence[Draw]) -> FloatArray:
        """Return the log densities of the rows at every draw, shape (draws, rows)."""
        new = [draw for draw in draws if id(draw) not in self._known]
        if new:
            for draw, found in zip(new, self._computed(new), strict=True):
                self._known[id(draw)] = draw, found
        return np.array([self._known[id(draw)][1] for draw in draws])

    def _computed(self, draws: Sequence[Draw]) -> FloatArray:
        if self.left_out:
            return densities_without(draws, self.model, self.data)
        return densities_of(self.rows, draws, self.model, self.data)

    def pooled(self, densities: Sequence[FloatArray]) -> LeaveOneOut:
        """Return how well draws of several chains predict the rows together."""
        values = np.concatenate(densities)
        if self.left_out:
            return leave_one_out(values[None], smooth=False)
        pointwise = logsumexp(values, axis=0) - np.log(len(values))
        return LeaveOneOut.of_rows(pointwise)

    def forget(self, kept: Sequence[Draw]) -> None:
        """Keep what is known of these draws only."""
        self._known = {id(d): self._known[id(d)] for d in kept if id(d) in self._known}


def look_at(
    pairs: Mapping[int, tuple[list[Draw], list[Draw]]],
    n_sweeps: int,
    model: Model,
    yardstick: Yardstick,
    n_jobs: int,
) -> Look:
    """Look at the draws of chains, by their numbers: those before, and those now."""
    used = [spread(part, LOOKED_AT) for pair in pairs.values() for part in pair]
    found = in_threads(n_jobs, yardstick.densities, used)
    yardstick.forget([draw for draws in used for draw in draws])
    before = dict(zip(pairs, found[::2], strict=True))
    now = dict(zip(pairs, found[1::2], strict=True))
    alone = {str(k): yardstick.pooled([densities]) for k, densities in now.items()}
    stuck = {int(k) for k in clearly_worse(alone)}
    left = [k for k in pairs if k not in stuck]
    whole = yardstick.pooled([now[k] for k in left])
    n_rows = whole.pointwise.size
    a, b = (yardstick.pooled(half).elpd / n_rows for half in _halves([now[k] for k in left]))
    earlier = yardstick.pooled([before[k] for k in left]).elpd / n_rows
    first, second = (
        Walk.of([draw for part in half for draw in part], model.depth)
        for half in _halves([pairs[k][1] for k in left])
    )
    tolerance = max(TOLERANCE, 0.1 * whole.se / n_rows)
    change, difference, r = whole.elpd / n_rows - earlier, a - b, agreement(first, second)
    agreed = abs(difference) < 2 * tolerance and r > AGREEMENT
    return Look(
        n_sweeps=n_sweeps,
        chains=tuple(pairs),
        stuck=tuple(sorted(stuck)),
        elpd=whole.elpd / n_rows,
        change=change,
        difference=difference,
        tolerance=tolerance,
        agreement=r,
        settled=bool(abs(change) < tolerance and agreed),
        agreed=bool(agreed),
    )


def _halves(chains: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return every other chain, and the rest; of a single one every other draw, and the rest."""
    if len(chains) > 1:
        return chains[::2], chains[1::2]
    (chain,) = chains
    return [chain[: len(chain) // 2]], [chain[len(chain) // 2 :]]
