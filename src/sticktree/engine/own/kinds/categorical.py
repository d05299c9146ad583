"""Categories, and truth values as two of them.

    θ ~ Dirichlet(κ softmax(u)),   y ~ θ

A column has a coordinate of φ for each category. TOTAL of a leaf is how often each occurs; PRIOR of
a node is κ softmax(φ).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.own.kinds.kind import (
    TINY,
    Cells,
    ColumnError,
    ColumnKind,
    Here,
    Kernels,
    LeafColumn,
    Likelihood,
    is_missing,
)
from sticktree.engine.own.state import COUNT, KAPPA, PHI, PRIOR, TOTAL, State
from sticktree.jit import inlined

MOST_CATEGORIES = 1000
FEW = 10
"""Up to this many categories that each occur once are believed; more look like names of rows."""


# ---- kernels -------------------------------------------------------------------------------------


@inlined
def _expect(here: Here, coordinates: FloatArray, node: int) -> None:
    largest = -math.inf
    for p in range(here.at, here.at + here.width):
        largest = max(largest, coordinates[node, p, PHI])
    total = 0.0
    for p in range(here.at, here.at + here.width):
        coordinates[node, p, PRIOR] = math.exp(coordinates[node, p, PHI] - largest)
        total += coordinates[node, p, PRIOR]
    for p in range(here.at, here.at + here.width):
        coordinates[node, p, PRIOR] = max(here.kappa * coordinates[node, p, PRIOR] / total, TINY)


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
    coordinates[leaf, at + int(y), TOTAL] += sign


@inlined
def _evidence(here: Here, coordinates: FloatArray, leaf: int, node: int) -> float:
    value = math.lgamma(here.kappa) - math.lgamma(here.kappa + here.n)
    for p in range(here.at, here.at + here.width):
        if coordinates[leaf, p, TOTAL] > 0.0:
            pseudo = coordinates[node, p, PRIOR]
            value += math.lgamma(pseudo + coordinates[leaf, p, TOTAL]) - math.lgamma(pseudo)
    return value


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
    p = here.at + int(y)
    return math.log(
        (coordinates[leaf, p, TOTAL] - inside + coordinates[node, p, PRIOR]) / (here.n + here.kappa)
    )


@inlined
def _constants(state: State, d: int) -> float:
    return 0.0


@inlined
def _approximate(state: State, d: int, leaf: int, p: int) -> tuple[float, float]:
    n, total, kappa = (
        state.entries[leaf, d, COUNT],
        state.coordinates[leaf, p, TOTAL],
        state.hyper[KAPPA, d],
    )
    share = (total + 0.5) / (n + 0.5 * state.columns[d].width)
    return math.log(share), kappa * n / (kappa + n) * share * (1.0 - share)


# ---- means and draws -----------------------------------------------------------------------------


def _probabilities(leaves: LeafColumn) -> FloatArray:
    size = leaves.hyper[KAPPA] + leaves.entries[COUNT]
    return np.asarray((leaves.prior + leaves.total) / size[:, None])


def _likeliest(leaves: LeafColumn, shares: FloatArray, trials: FloatArray) -> FloatArray:
    return np.asarray((shares @ _probabilities(leaves)).argmax(axis=1), dtype=np.float64)


def _sample(leaves: LeafColumn, trials: FloatArray, rng: np.random.Generator) -> FloatArray:
    shares = np.cumsum(_probabilities(leaves), axis=1)
    points = rng.uniform(size=(len(shares), 1)) * shares[:, -1:]
    return np.argmax(shares > points, axis=1).astype(np.float64)


# ---- cells ---------------------------------------------------------------------------------------


def _encoded(cells: Cells, categories: tuple[Any, ...]) -> FloatArray:
    number = {category: float(k) for k, category in enumerate(categories)}
    result = np.full(len(cells), np.nan)
    for row, value in enumerate(cells.objects()):
        if is_missing(value):
            continue
        try:
            result[row] = number[value]
        except (KeyError, TypeError):
            raise ValueError(
                f"{cells.label}, row {row}: {value!r} is not one of the categories that it has "
                f"had, {_listed(categories)}"
            ) from None
    return result


def _decoded(values: FloatArray, categories: tuple[Any, ...]) -> npt.NDArray[Any]:
    found = np.empty(len(categories) + 1, dtype=object)
    found[:-1], found[-1] = categories, None
    return found[np.where(np.isnan(values), len(categories), values).astype(np.int64)]


def _learned(cells: Cells) -> tuple[Any, ...]:
    """Return the categories of a column, sorted."""
    present, seen, found = _seen(cells)
    if len(found) == 1:
        raise ColumnError(f"{cells.label} is categorical but has one value only, {found[0]!r}")
    if len(seen) == len(present) > FEW:
        raise ColumnError(
            f"{cells.label} is categorical but has another value in every row, such as "
            f"{present[0]!r}: names of rows tell nothing of groups",
            names_rows=True,
        )
    if len(found) > MOST_CATEGORIES:
        raise ColumnError(
            f"{cells.label} is categorical but has {len(found)} categories, more than "
            f"{MOST_CATEGORIES}: merge rare ones"
        )
    return found


def _learned_two(cells: Cells) -> tuple[Any, ...]:
    """Return both values of a column, no and yes if these can be told."""
    found = _seen(cells)[2]
    if set(found) <= {0, 1}:  # False and True are equal to these
        truth = cells.type == "bool" or any(isinstance(value, bool) for value in found)
        return (False, True) if truth else (0, 1)
    if len(found) != 2:
        raise ValueError(
            f"{cells.label} is bernoulli and needs two values, but has {len(found)}: "
            f"{_listed(found)}" + "; declare it as categorical" * (len(found) > 2)
        )
    return found


def _seen(cells: Cells) -> tuple[list[Any], set[Any], tuple[Any, ...]]:
    """Return all cells that are there, the distinct ones, and these or the type's own, sorted."""
    present = [value for value in cells.objects() if not is_missing(value)]
    try:
        seen = set(present)
    except TypeError:
        row, value = next((k, v) for k, v in enumerate(cells.objects()) if not _hashable(v))
        raise TypeError(
            f"{cells.label}, row {row}: {value!r} cannot be a category; the argument must be a "
            "string or a number"
        ) from None
    return present, seen, _sorted(seen if cells.levels is None else cells.levels)


def _sorted(values: Iterable[Any]) -> tuple[Any, ...]:
    values = list(values)
    try:
        return tuple(sorted(values))
    except TypeError:  # numbers beside text
        return tuple(sorted(values, key=lambda value: (type(value).__name__, str(value))))


def _listed(values: Iterable[Any]) -> str:
    shown = list(values)
    return ", ".join(repr(v) for v in shown[:10]) + f" and {len(shown) - 10} more" * (
        len(shown) > 10
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


CATEGORICAL = ColumnKind(
    "categorical",
    Likelihood(
        "categorical",
        medians=(1.0, 1.0, 1.0),
        deviations=(1.5, 0.0, 0.0),
        kernels=Kernels(_expect, _add, _evidence, _predict, _constants, _approximate),
        mean=_likeliest,
        sample=_sample,
        width=None,
        has_codes=True,
    ),
    encode=_encoded,
    decode=_decoded,
    learn=_learned,
    describe=lambda name, categories: f"{name}: {len(categories)} categories",
    in_words=True,
    inferred_from=("text",),
)
BERNOULLI = ColumnKind(
    "bernoulli",
    CATEGORICAL.likelihood,
    encode=_encoded,
    decode=_decoded,
    learn=_learned_two,
    describe=lambda name, categories: f"{name}: {categories[0]} or {categories[1]}",
    in_words=True,
    inferred_from=("bool",),
)
