"""The predictive distribution of the next row: densities, memberships, new rows, missing entries.

Every draw has a predictive distribution of its own; what is asked is answered by their mixture. A
draw whose distribution is not finite, since its parameters have left the range of floating-point
numbers, is left out of the answer, with a warning that names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from sticktree.blas import one_thread
from sticktree.checks import FloatArray, IntArray
from sticktree.data.factors import Factored
from sticktree.engine import engine_of
from sticktree.engine.chain import Predictive
from sticktree.engine.draw import Draw
from sticktree.errors import warn_caller
from sticktree.model import Model
from sticktree.posterior.clusterings import spread
from sticktree.posterior.factored import over_columns

MOST_NAMED = 5  # draws that a warning names
FAINTEST = -1e300  # stands for a log density that underflows


@dataclass(frozen=True, eq=False)
class NumberedDraw:
    """A draw with its chain and its number there, both from 0.

    One of a model that was compared, and not chosen, is known by the name of that model.
    """

    chain: int
    number: int
    draw: Draw
    candidate: str | None = None

    def __str__(self) -> str:
        """Return how to get at it."""
        if self.candidate is not None:
            return f"selection_.draws[{self.candidate!r}][{self.number}]"
        return f"posterior_.chains[{self.chain}][{self.number}]"


@dataclass(frozen=True, eq=False)
class PosteriorPredictive:
    """The mixture of the predictive distributions of draws, in standardised units.

    Attributes
    ----------
    draws : sequence of NumberedDraw
        The draws, all with the same weight.
    model : Model
        The model they are of.
    data : float array, shape (N, D)
        The data as the engine has them; draws that have kept the sums of their leaves need none.
    factored : Factored or None
        What makes all columns of a table of the data, where these are scores.
    group : int or None
        The group of the next row, if the data belong to groups; None is a new one.
    """

    draws: Sequence[NumberedDraw]
    model: Model
    data: FloatArray
    factored: Factored | None = None
    group: int | None = None

    def of_group(self, group: int | None) -> PosteriorPredictive:
        """Return the same of the next row of a group."""
        return replace(self, group=group)

    @property
    def n_columns(self) -> int:
        """The number of columns of the rows that it answers about."""
        return self.data.shape[1] if self.factored is None else self.factored.factors.n_columns

    @property
    def models(self) -> list[Model]:
        """The models that it mixes: one."""
        return [self.model]

    @property
    def labelled(self) -> PosteriorPredictive:
        """The mixture of those draws that have kept where each row sits."""
        kept = [numbered for numbered in self.draws if numbered.draw.labelled]
        return replace(self, draws=kept)

    def thinned(self, most: int) -> PosteriorPredictive:
        """Return the mixture of at most ``most`` draws, spread evenly."""
        return replace(self, draws=spread(self.draws, most))

    def each(self) -> Iterator[Predictive]:
        """Yield the predictive distribution of every draw; each is valid until the next."""
        draws = [numbered.draw for numbered in self.draws]
        each = engine_of(self.model).predictives(draws, self.data, self.model, self.group)
        yield from each if self.factored is None else over_columns(each, self.factored)

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return the log of the mean over draws of the predictive density of every row of ``x``.

        Of a row with missing entries that is the density of those observed, and of one that has
        none 0.
        """
        total, asked = np.full(x.shape[0], -np.inf), _Asked(self)
        with _quietly():
            for predictive in asked.each():
                density = asked.log_density(predictive, x)
                if density is not None:
                    total = np.logaddexp(total, density)
        count = asked.finished()
        return np.where(np.isnan(x).all(axis=1), 0.0, total - np.log(count))

    def memberships(self, x: FloatArray, clusters: Mapping[int, IntArray]) -> list[FloatArray]:
        """Return the probability of every row of ``x`` to be with each cluster, level by level.

        ``clusters`` has flat clusters of the data at one or more levels. In each draw a row joins a
        branch at the level; its probability is shared out as the data of that branch are labelled.
        A row on a new branch above the level is with all data of the node it leaves, and so is one
        on a branch whose data have all left memory.
        """
        totals = [np.zeros((len(x), int(labels.max()) + 1)) for labels in clusters.values()]
        asked = _Asked(self)
        with _quietly():
            for predictive in asked.each():
                shares = asked.responsibilities(predictive, x)
                if shares is None:
                    continue
                for total, (level, labels) in zip(totals, clusters.items(), strict=True):
                    total += shares @ _shares_of_clusters(asked.draw, predictive, labels, level)
        count = asked.finished()
        return [total / count for total in totals]

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` rows, each from the predictive distribution of a draw chosen at random."""
        left, left_out, wanted = list(self.draws), list[NumberedDraw](), n
        rows = [np.empty((0, self.n_columns))]
        while wanted:
            if not left:
                raise _no_sound_draw(len(self.draws))
            which = np.sort(rng.integers(len(left), size=wanted))
            chosen, counts = np.unique(which, return_counts=True)
            asked = _Asked(replace(self, draws=[left[k] for k in chosen]))
            wanted = 0
            with _quietly():
                for predictive, count in zip(asked.each(), counts.tolist(), strict=True):
                    if asked.leave_out_unless_sound(predictive):
                        rows.append(predictive.sample(count, rng))
                    else:
                        wanted += count
            left = [numbered for numbered in left if numbered not in asked.left_out]
            left_out += asked.left_out
        _warn_of(left_out, len(self.draws))
        return rng.permutation(np.concatenate(rows))

    def imputed(self, x: FloatArray) -> FloatArray:
        """Return ``x`` with the mean of what is missing in each row given what is observed.

        A draw counts as much as its density of what is observed.
        """
        return self.filled(x)[1]

    def filled(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log density of what is observed in rows with gaps, and `imputed`.

        The density of rows without gaps is not looked at: it is given as 0.
        """
        rows = np.flatnonzero(np.isnan(x).any(axis=1))
        part, out = x[rows], x.copy()
        mean, total, asked = np.zeros_like(part), np.full(rows.size, -np.inf), _Asked(self)
        with _quietly():
            for predictive in asked.each():
                density = asked.log_density(predictive, part)
                if density is None:
                    continue
                total, share = share_of(density, total)
                mean += share[:, None] * (_conditional_mean(predictive, part) - mean)
        log_density = np.zeros(len(x))
        log_density[rows] = total - np.log(asked.finished())
        out[rows] = np.where(np.isnan(part), mean, part)
        return log_density, out

    def sample_imputed(self, n: int, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return ``n`` copies of ``x`` with draws of what is missing, shape (n, rows, D).

        Each comes from a draw of the posterior, chosen by its density of what is observed in the
        row.
        """
        return self.sample_filled(n, x, rng)[1]

    def sample_filled(
        self, n: int, x: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the log density of what is observed, as `filled` does, and `sample_imputed`.

        A draw takes the place of those before with its share in the sum so far.
        """
        rows = np.flatnonzero(np.isnan(x).any(axis=1))
        part, out = x[rows], np.repeat(x[None], n, axis=0)
        total, asked = np.full(rows.size, -np.inf), _Asked(self)
        with _quietly():
            for predictive in asked.each():
                density = asked.log_density(predictive, part)
                if density is None:
                    continue
                total, share = share_of(density, total)
                copy, row = np.nonzero(rng.random((n, rows.size)) < share)
                out[copy, rows[row]] = predictive.conditional_sample(part[row], rng)
        log_density = np.zeros(len(x))
        log_density[rows] = total - np.log(asked.finished())
        return log_density, out

    def leave_one_out(self) -> FloatArray:
        """Return log p(y_i | all other rows) at every draw, shape (draws, N)."""
        found, asked = [], _Asked(self)
        with _quietly():
            for predictive in asked.each():
                density = asked.usable(predictive, predictive.leave_one_out())
                if density is not None:
                    found.append(density)
        asked.finished()
        return np.array(found)


class _Asked:
    """A question to all draws, which notes those that have no answer."""

    def __init__(self, predictive: PosteriorPredictive) -> None:
        self.predictive = predictive
        self.left_out: list[NumberedDraw] = []

    def each(self) -> Iterator[Predictive]:
        for numbered, predictive in zip(self.predictive.draws, self.predictive.each(), strict=True):
            self.numbered = numbered
            yield predictive

    @property
    def draw(self) -> Draw:
        return self.numbered.draw

    def log_density(self, predictive: Predictive, x: FloatArray) -> FloatArray | None:
        return self.usable(predictive, predictive.log_density(x))

    def usable(self, predictive: Predictive, log_density: FloatArray) -> FloatArray | None:
        """Return log densities that are numbers or -inf, or None if the draw is left out."""
        wrong = ~(log_density < np.inf)
        if not wrong.any():
            return log_density
        if not self.leave_out_unless_sound(predictive):
            return None
        return np.where(wrong, -np.inf, log_density)  # of rows that are too far out for squares

    def responsibilities(self, predictive: Predictive, x: FloatArray) -> FloatArray | None:
        """Return finite responsibilities, or None if the draw is left out."""
        shares = predictive.responsibilities(x)
        wrong = ~np.isfinite(shares).all(axis=1)
        if not wrong.any():
            return shares
        if not self.leave_out_unless_sound(predictive):
            return None
        # Rows that are too far out for any component tell nothing: they count as if unobserved.
        shares[wrong] = predictive.responsibilities(np.full((1, x.shape[1]), np.nan))
        return shares

    def leave_out_unless_sound(self, predictive: Predictive) -> bool:
        """Return whether the present draw has a finite density; leave it out if not."""
        middle = np.zeros((1, self.predictive.n_columns))
        sound = bool(np.isfinite(predictive.log_density(middle)).all())
        if not sound:
            self.left_out.append(self.numbered)
        return sound

    def finished(self) -> int:
        """Return how many draws have answered; warn of those left out, or raise if none is left."""
        n_used = len(self.predictive.draws) - len(self.left_out)
        if not n_used:
            raise _no_sound_draw(len(self.predictive.draws))
        _warn_of(self.left_out, len(self.predictive.draws))
        return n_used


def _warn_of(left_out: Sequence[NumberedDraw], n_draws: int) -> None:
    """Warn of draws that are left out, if there are any."""
    if left_out:
        named = ", ".join(map(str, left_out[:MOST_NAMED]))
        more = ", …" if len(left_out) > MOST_NAMED else ""
        warn_caller(
            f"{len(left_out)} of {n_draws} draws are left out of the answer, as their predictive "
            f"density is not finite: {named}{more}",
            RuntimeWarning,
        )


def _no_sound_draw(n_draws: int) -> ValueError:
    return ValueError(
        f"none of the {n_draws} draws has a finite predictive density: their parameters have left "
        "the range of floating-point numbers; fit again, with narrower priors"
    )


@contextmanager
def _quietly() -> Iterator[None]:
    """Use one thread, and let numbers overflow: what comes of it is looked at afterwards."""
    with one_thread(), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        yield


def _shares_of_clusters(
    draw: Draw, predictive: Predictive, labels: IntArray, level: int
) -> FloatArray:
    """Return the share of each cluster in the data of the branch of every component."""
    parent, tree_level = draw.parent.tolist(), draw.level.tolist()
    # Numbers of each label below each node, from the leaves up.
    below = np.zeros((len(parent), int(labels.max()) + 1))
    np.add.at(below, (draw.leaf, labels), 1.0)
    for node in range(len(parent) - 1, 0, -1):
        below[parent[node]] += below[node]
    empty = (below.sum(axis=1) == 0).tolist()  # all rows below have left memory
    branch = predictive.node.tolist()
    starts = np.minimum(predictive.level, level).tolist()
    for k, start in enumerate(starts):
        while branch[k] and (empty[branch[k]] or tree_level[parent[branch[k]]] >= start):
            branch[k] = parent[branch[k]]
    return np.asarray(below[branch] / below[branch].sum(axis=1, keepdims=True))


def _conditional_mean(predictive: Predictive, x: FloatArray) -> FloatArray:
    """Return ``x`` with means given what is observed, or the mean of all where that underflows."""
    mean = predictive.conditional_mean(x)
    wrong = np.isnan(x) & ~np.isfinite(mean)
    if wrong.any():
        of_all = predictive.conditional_mean(np.full((1, x.shape[1]), np.nan))
        mean = np.where(wrong, of_all, mean)
    return mean


def share_of(log_density: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log sum with one more density, and the share of that one in it."""
    # Far out a density may underflow in every draw; all then count the same.
    log_density = np.maximum(log_density, FAINTEST)
    total = np.logaddexp(total, log_density)
    return total, np.exp(log_density - total)
