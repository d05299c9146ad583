"""Successes out of a given number of trials.

    q ~ Beta(κ σ(u), κ σ(−u)),   y ~ Binomial(m, q)

The trials m are data and never modelled: every density is one of successes given trials. They are a
column of their own, of the kind `TRIALS`. TOTAL of a leaf is the sum of its successes, and SQUARES
that of its trials; PRIOR of a node is κ σ(φ).
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.common.logarithms import log_ascent
from sticktree.engine.own.kinds.kind import (
    Cells,
    ColumnKind,
    Here,
    Kernels,
    LeafColumn,
    Likelihood,
    Pair,
    counts,
    is_missing,
    refuse,
    whole,
)
from sticktree.engine.own.kinds.negative_binomial import expect_share
from sticktree.engine.own.state import COUNT, KAPPA, PRIOR, SQUARES, TOTAL, State
from sticktree.jit import inlined

CELL = re.compile(r"\s*(\d*)\s*/\s*(\d*)\s*")


# ---- kernels -------------------------------------------------------------------------------------


@inlined
def _add(
    coordinates: FloatArray,
    entries: FloatArray,
    at: int,
    d: int,
    leaf: int,
    y: float,
    trials: float,
    sign: float,
) -> None:
    entries[leaf, d, COUNT] += sign
    entries[leaf, d, SQUARES] += sign * trials
    coordinates[leaf, at, TOTAL] += sign * y


@inlined
def _evidence(here: Here, coordinates: FloatArray, leaf: int, node: int) -> float:
    first, total = coordinates[node, here.at, PRIOR], coordinates[leaf, here.at, TOTAL]
    second = here.kappa - first
    return (
        math.lgamma(first + total)
        - math.lgamma(first)
        + math.lgamma(second + here.squares - total)
        - math.lgamma(second)
        + math.lgamma(here.kappa)
        - math.lgamma(here.kappa + here.squares)
    )


@inlined
def _log_choices(y: float, trials: float) -> float:
    return log_ascent(1.0, trials) - log_ascent(1.0, y) - log_ascent(1.0, trials - y)


@inlined
def _predict(
    here: Here,
    coordinates: FloatArray,
    leaf: int,
    node: int,
    y: float,
    trials: float,
    inside: float,
) -> float:
    total = coordinates[leaf, here.at, TOTAL] - inside * y
    first = coordinates[node, here.at, PRIOR] + total
    second = here.kappa - coordinates[node, here.at, PRIOR] + here.squares - total
    return (
        log_ascent(first, y)
        + log_ascent(second, trials - y)
        - log_ascent(first + second, trials)
        + _log_choices(y, trials)
    )


@inlined
def _constants(state: State, d: int) -> float:
    value, column = 0.0, state.columns[d].trials
    for i in range(state.data.shape[0]):
        if not math.isnan(state.data[i, d]):
            value += _log_choices(state.data[i, d], state.data[i, column])
    return value


@inlined
def _approximate(state: State, d: int, leaf: int, p: int) -> tuple[float, float]:
    total, kappa = state.coordinates[leaf, p, TOTAL], state.hyper[KAPPA, d]
    trials = state.entries[leaf, d, SQUARES]
    share = (total + 0.5) / (trials + 1.0)
    precision = kappa * trials / (kappa + trials) * share * (1.0 - share)
    return math.log(share / (1.0 - share)), precision


# ---- means and draws -----------------------------------------------------------------------------


def _counts(leaves: LeafColumn) -> tuple[FloatArray, FloatArray]:
    """Return both parameters of the Beta posterior of q at each leaf."""
    prior, total = leaves.prior[:, 0], leaves.total[:, 0]
    return prior + total, leaves.hyper[KAPPA] - prior + leaves.entries[SQUARES] - total


def _mean(leaves: LeafColumn, shares: FloatArray, trials: FloatArray) -> FloatArray:
    first, second = _counts(leaves)
    return np.asarray(trials * (shares @ (first / (first + second))))


def _sample(leaves: LeafColumn, trials: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rng.binomial(trials.astype(np.int64), rng.beta(*_counts(leaves))).astype(np.float64)


# ---- cells ---------------------------------------------------------------------------------------


def _split(cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Return successes and trials of cells such as 3/10; of /10 the successes are missing."""
    found = np.full((2, len(cells)), np.nan)
    for row, value in enumerate(cells.objects()):
        if is_missing(value):
            continue
        match = CELL.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError(
                f"{cells.label}, row {row}: {value!r} is not a number of successes and one of "
                f'trials, such as 3/10; if these are two columns, give both: columns={{"a/b": '
                '"binomial"}'
            )
        found[:, row] = [float(part or "nan") for part in match.groups()]
    return found[0], found[1]


def _join(successes: FloatArray, trials: FloatArray) -> npt.NDArray[Any]:
    joined = np.full(len(trials), None, dtype=object)
    for row, (y, m) in enumerate(zip(successes, trials, strict=True)):
        if not math.isnan(m):
            joined[row] = f"{'' if math.isnan(y) else f'{y:g}'}/{m:g}"
    return joined


def _settled(cells: Cells, successes: FloatArray, trials: FloatArray) -> FloatArray:
    """Return successes, missing where the trials are."""
    refuse(cells, successes, successes > trials, "successes are more than the trials of the row")
    return np.where(np.isnan(trials), np.nan, successes)


BINOMIAL = ColumnKind(
    "binomial",
    Likelihood(
        "binomial",
        medians=(2.0, 1.0, 1.0),
        deviations=(1.5, 0.0, 0.0),
        kernels=Kernels(expect_share, _add, _evidence, _predict, _constants, _approximate),
        mean=_mean,
        sample=_sample,
    ),
    encode=lambda cells, _: counts(cells, "binomial"),
    decode=lambda values, _: whole(values),
    pair=Pair("trials", _split, _join, _settled),
)
TRIALS = ColumnKind(
    "trials",
    Likelihood("trials", width=0),
    encode=lambda cells, _: counts(cells, "trials"),
    decode=lambda values, _: whole(values),
    is_declared=False,
)
