"""Checks of what a caller passes in.

Every message names the parameter, its value and what is allowed, so that it can be acted on without
reading the code.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.errors import ParameterError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]

SUM_TOLERANCE = 1e-9
"""How far from 1 the sum of a mass sequence may be: rounding, not a mistake."""

FARTHEST = 1e100
"""Of all numbers that are fitted, in the units of the engine: sums of squares stay numbers."""


def check_integer(name: str, value: Any, *, minimum: int) -> int:
    """Return ``value`` as an int, if it is an integer of at least ``minimum``."""
    if not is_integer(value) or value < minimum:
        raise ParameterError(name, value, f"an integer of at least {minimum}")
    return int(value)


def check_not_infinite(name: str, table: FloatArray) -> FloatArray:
    """Return the table; raise if a row has an infinite entry."""
    rows = np.flatnonzero(np.isinf(table).any(axis=1))
    if rows.size:
        raise infinite_entries(name, rows, rows.size)
    return table


def infinite_entries(name: str, rows: npt.NDArray[Any], count: int) -> ValueError:
    """Return the error for ``count`` rows with infinite entries, ``rows`` the first."""
    return ValueError(
        f"Input {name} contains infinity in row{'s' * (count > 1)} {_first_few(rows, count)}; "
        "remove such rows, or write NaN for what is missing"
    )


def check_observed(name: str, table: FloatArray, columns: npt.ArrayLike | None = None) -> None:
    """Raise if a column has no value at all; ``columns`` are the names for the message."""
    empty = np.flatnonzero(np.isnan(table).all(axis=0))
    if empty.size:
        labels = (
            empty if columns is None else np.array([repr(c) for c in np.asarray(columns)])[empty]
        )
        raise ParameterError(
            f"Input {name}",
            table,
            "a value in every column",
            "remove such columns",
            verb="have",
            shown=f"only NaN in column{'s' * (empty.size > 1)} {_first_few(labels)}",
        )


def check_reach(name: str, x: FloatArray, columns: npt.ArrayLike | None = None) -> None:
    """Raise if rows, in the units of the engine, have numbers whose squares are none."""
    if not x.size:
        return
    largest = np.fmax.reduce(np.abs(x), axis=0)
    over = np.flatnonzero(largest > FARTHEST)
    if over.size:
        k = int(over[0])
        column = k if columns is None else repr(np.asarray(columns)[k])
        raise ParameterError(
            f"Input {name}",
            x,
            f"entries within {FARTHEST:g} units of 0",
            "pass standardize=True, or give the column in a larger unit",
            verb="have",
            shown=f"{largest[k]:.3g} in column {column}",
        )


def _first_few(labels: npt.NDArray[Any], count: int | None = None) -> str:
    count = labels.size if count is None else count
    more = f" and {count - 5} more" if count > 5 else ""
    return ", ".join(map(str, labels[:5])) + more


def as_numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return ``values`` as a new float array."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, values, "a sequence of numbers") from None


def is_integer(value: Any) -> bool:
    """Tell whether ``value`` is an integer; truth values are not."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def is_real(value: Any) -> bool:
    """Tell whether ``value`` is a real number; truth values are not."""
    return not isinstance(value, bool) and isinstance(value, Real)


def check_positive(name: str, value: Any, *, zero: bool = False, infinite: bool = False) -> float:
    """Return ``value`` as a float above zero; ``zero`` and ``infinite`` widen what is valid."""
    valid = is_real(value) and (value > 0 or (zero and value == 0))
    if not valid or (math.isinf(value) and not infinite):
        bound = "at least 0" if zero else "greater than 0"
        kind = "a number" if infinite else "a finite number"
        raise ParameterError(name, value, f"{kind} {bound}")
    return float(value)


def check_fraction(name: str, value: Any) -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    if not is_real(value) or not 0 < value < 1:
        raise ParameterError(name, value, "a number strictly between 0 and 1")
    return float(value)


def check_discount(value: Any) -> float:
    """Return the Pitman–Yor discount as a float in [0, 1)."""
    if not is_real(value) or not 0 <= value < 1:
        raise ParameterError("discount", value, "a number in [0, 1)")
    return float(value)


def check_generator(rng: Any) -> np.random.Generator:
    """Return ``rng`` if it is a numpy Generator, the only source of randomness in the library."""
    if not isinstance(rng, np.random.Generator):
        raise ParameterError(
            "rng", rng, "a numpy.random.Generator, e.g. numpy.random.default_rng(0)"
        )
    return rng


def check_masses(name: str, values: npt.ArrayLike, *, total: float | None = 1.0) -> FloatArray:
    """Return ``values`` as a float array of masses: finite, non-negative and of the given sum.

    ``total=None`` only asks that they sum to at most 1.
    """
    masses = np.atleast_1d(as_numbers(name, values))
    if masses.ndim != 1:
        raise ParameterError(
            name, values, "one-dimensional", shown=f"an array of shape {masses.shape}"
        )
    wrong = np.flatnonzero(~(np.isfinite(masses) & (masses >= 0)))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(
            f"{name}[{i}] = {float(masses[i])!r}: masses must be finite and at least 0"
        )
    found = math.fsum(masses)
    if total is None:
        if found > 1 + SUM_TOLERANCE:
            raise ValueError(f"{name} sum to {found!r}: masses must sum to at most 1")
    elif abs(found - total) > SUM_TOLERANCE:
        raise ValueError(f"{name} sum to {found!r}: with the remainder, masses must sum to 1")
    return masses
