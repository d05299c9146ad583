"""Means and standard deviations of columns whose rows are in pieces, the same for any pieces."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, check_observed
from sticktree.engine.bulk.sums import Grid, add
from sticktree.jit import jit

Result = TypeVar("Result")
FLAT = 1e-12  # columns that vary less, relative to their size, are constant up to rounding


class Reach(NamedTuple):
    """How many rows and observed entries there are, and how large the entries may be."""

    n: int
    seen: npt.NDArray[np.int64]  # (D,)
    largest: FloatArray  # (D,) absolute entry
    least: FloatArray  # (D,)
    most: FloatArray  # (D,)

    @classmethod
    def of(cls, x: FloatArray) -> Reach:
        """Return the reach of some rows."""
        there = ~np.isnan(x)
        filled = np.where(there, x, 0.0)
        return cls(
            len(x),
            there.sum(axis=0),
            np.abs(filled).max(axis=0, initial=0.0),
            np.where(there, x, np.inf).min(axis=0, initial=np.inf),
            np.where(there, x, -np.inf).max(axis=0, initial=-np.inf),
        )

    def merged(self, other: Reach) -> Reach:
        """Return the reach of the rows of both."""
        return Reach(
            self.n + other.n,
            self.seen + other.seen,
            np.maximum(self.largest, other.largest),
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )

    def check_observed(self, name: str, columns: Sequence[str] | None) -> None:
        """Raise an error if a column has no value at all."""
        names = None if columns is None else np.array(columns, dtype=object)
        check_observed(name, np.where(self.seen == 0, np.nan, 0.0)[None, :], names)


class Scale(NamedTuple):
    """What is taken off each column, and what it is divided by; and the reach of the rows."""

    centre: FloatArray
    spread: FloatArray
    reach: Reach


@jit
def add_moments(
    x: FloatArray, centre: FloatArray, unit: FloatArray, power: int, steps: FloatArray
) -> npt.NDArray[np.int64]:
    """Return sums of ((x − centre)/unit)^power over rows, on a grid; (D, 2)."""
    out = np.zeros((x.shape[1], 2), dtype=np.int64)
    for i in range(x.shape[0]):
        for d in range(x.shape[1]):
            if not np.isnan(x[i, d]):
                value = (x[i, d] - centre[d]) / unit[d]
                add(out, d, value * value if power == 2 else value, steps[0], steps[1])
    return out


class ForEach(Protocol):
    """A function of every piece of the rows."""

    def __call__(self, function: Callable[[FloatArray], Result]) -> list[Result]:
        """Return what the function returns of each piece."""


def measure(each: ForEach, check: Callable[[Reach], None] = lambda reach: None) -> Scale:
    """Return means and standard deviations; ``each(f)`` returns f of every piece of the rows.

    It is called three times: for the reach, for sums, for squares. ``check`` may refuse the rows by
    their reach, before anything is divided by the number of values.
    """
    reach = functools.reduce(Reach.merged, each(Reach.of))
    check(reach)
    size = np.where(reach.largest == 0.0, 1.0, reach.largest)
    seen = np.maximum(reach.seen, 1)
    grid = Grid.of(reach.n, 1.0)
    steps = np.array([grid.coarse, grid.fine])
    zero = np.zeros_like(size)
    sums = sum(each(lambda x: add_moments(x, zero, size, 1, steps)))
    centre = np.asarray(grid.value(np.asarray(sums)) / seen * size)
    off = np.maximum(np.abs(reach.most - centre), np.abs(reach.least - centre))
    flat = ~(off > FLAT * size)
    unit = np.where(flat, 1.0, off)
    squares = sum(each(lambda x: add_moments(x, centre, unit, 2, steps)))
    spread = np.sqrt(grid.value(np.asarray(squares)) / seen) * unit
    return Scale(centre, np.where(flat, 1.0, spread), reach)
