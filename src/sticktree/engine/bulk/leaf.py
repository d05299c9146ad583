"""What a leaf is given the sums of its rows: a normal density whose parameters have a posterior.

Here for many leaves side by side: all arrays have one row for each.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.engine.bulk.components import PRODUCTS, SQUARES
from sticktree.engine.bulk.sums import Grid
from sticktree.engine.bulk.tally import Tally

Flags = npt.NDArray[np.bool_]

__all__ = ["Density", "Leaf", "LeafLaw", "SharedLaw", "Sums"]


class Sums(NamedTuple):
    """Sums over the rows of each leaf; rows may count in part."""

    n: FloatArray  # (K,) rows
    seen: FloatArray  # (K, D) entries that are not missing
    total: FloatArray  # (K, D) of y
    second: FloatArray  # (K, D) of y², or (K, D, D) of y yᵀ, or (K, 0)

    @classmethod
    def of(cls, tally: Tally, kind: int, first: Grid, second: Grid) -> Sums:
        """Return the sums of a pass as floats."""
        n, dimension = tally.count.astype(np.float64), tally.lacking.shape[1]
        total = first.value(tally.sums[:, :dimension])
        values = second.value(tally.sums[:, dimension:])
        return cls(n, n[:, None] - tally.lacking, total, _second(values, kind, dimension))

    @classmethod
    def over(cls, y: FloatArray, of: npt.NDArray[Any], size: int, kind: int) -> Sums:
        """Return sums over rows ``y``, the i-th of which belongs to leaf ``of[i]``."""
        there = ~np.isnan(y)
        y = np.where(there, y, 0.0)
        n, seen, total = np.zeros(size), np.zeros((size, y.shape[1])), np.zeros((size, y.shape[1]))
        np.add.at(n, of, 1.0)
        np.add.at(seen, of, there.astype(np.float64))
        np.add.at(total, of, y)
        each = y**2 if kind == SQUARES else y[:, :, None] * y[:, None, :]
        second = np.zeros((size, *each.shape[1:]) if kind in (SQUARES, PRODUCTS) else (size, 0))
        if second.size:
            np.add.at(second, of, each)
        return cls(n, seen, total, second)

    def at(self, which: npt.NDArray[Any]) -> Sums:
        """Return the sums of some leaves."""
        return Sums(*(array[which] for array in self))

    def times(self, factor: FloatArray) -> Sums:
        """Return sums in which rows count so much."""
        return Sums(*(array * _wide(factor, array) for array in self))

    def plus(self, other: Sums) -> Sums:
        """Return the sums over the rows of both."""
        return Sums(*(mine + its for mine, its in zip(self, other, strict=True)))

    def where(self, condition: Flags, other: Sums) -> Sums:
        """Return these sums where a condition holds, and others elsewhere."""
        return Sums(
            *(
                np.where(_wide(condition, mine), mine, its)
                for mine, its in zip(self, other, strict=True)
            )
        )


def _wide(factor: npt.NDArray[Any], array: FloatArray) -> npt.NDArray[Any]:
    return factor.reshape(-1, *[1] * (array.ndim - 1))


def _second(values: FloatArray, kind: int, dimension: int) -> FloatArray:
    if kind != PRODUCTS:
        return values
    out = np.empty((len(values), dimension, dimension))
    rows, columns = np.tril_indices(dimension)
    out[:, rows, columns] = values
    out[:, columns, rows] = values
    return out


class Leaf(NamedTuple):
    """Parameters of leaves; what ``spread`` is depends on the law."""

    mean: FloatArray  # (K, D)
    spread: FloatArray  # (K, …)

    def at(self, which: npt.NDArray[Any]) -> Leaf:
        """Return some of them."""
        return Leaf(self.mean[which], self.spread[which])

    def where(self, condition: Flags, other: Leaf) -> Leaf:
        """Return these where a condition holds, and others elsewhere."""
        return Leaf(
            *(
                np.where(_wide(condition, mine), mine, its)
                for mine, its in zip(self, other, strict=True)
            )
        )


class Density(NamedTuple):
    """Normal densities in the form that rows are told; see `Components`."""

    log_peak: FloatArray  # (K,) but for a constant
    centre: FloatArray  # (K, D)
    precision: FloatArray  # (K, D)
    root: FloatArray  # (K, D, D) or (0, D, D)


class LeafLaw(Protocol):
    """The law of leaves below given nodes.

    ``above`` is φ of the nodes they hang on, (K, D). With sums of no rows, a posterior is the
    prior. ``noise`` is the usual deviation of rows from their leaf, in each coordinate.
    """

    noise: FloatArray

    def draw(self, sums: Sums, above: FloatArray, rng: np.random.Generator) -> Leaf:
        """Draw parameters of leaves from their posteriors."""

    def log_density(self, leaf: Leaf, sums: Sums, above: FloatArray) -> FloatArray:
        """Return the log densities of parameters in their posteriors."""

    def density(self, leaf: Leaf) -> Density:
        """Return the densities of rows in leaves."""

    def rest(self, sums: Sums, leaf: Leaf, share: FloatArray) -> Sums:
        """Return what sums are left, about, for others if leaves have shares of the rows."""

    def coordinates(self, y: FloatArray, sums: Sums) -> FloatArray:
        """Return rows in coordinates in which a leaf with these sums is round, and of width 1."""


class SharedLaw:
    """Leaves N(φ, r) with φ ~ N(above, v), in coordinates whitened by the shared Σ.

    Parameters
    ----------
    v, r : float
        Variances of the step to the leaves and of the noise.
    """

    def __init__(self, v: float, r: float) -> None:
        self.v, self.r = v, r
        self.noise = np.array([math.sqrt(r)])

    def _posterior(self, sums: Sums, above: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and precisions."""
        precision = 1.0 / self.v + sums.n / self.r
        mean = (above / self.v + sums.total / self.r) / precision[:, None]
        return mean, precision

    def draw(self, sums: Sums, above: FloatArray, rng: np.random.Generator) -> Leaf:
        """Draw parameters of leaves from their posteriors."""
        mean, precision = self._posterior(sums, above)
        noise = rng.standard_normal(mean.shape) / np.sqrt(precision)[:, None]
        return Leaf(mean + noise, np.empty((len(mean), 0)))

    def log_density(self, leaf: Leaf, sums: Sums, above: FloatArray) -> FloatArray:
        """Return the log densities of parameters in their posteriors."""
        mean, precision = self._posterior(sums, above)
        square = ((leaf.mean - mean) ** 2).sum(axis=1) * precision
        dimension = mean.shape[1]
        return np.asarray(
            0.5 * (dimension * (np.log(precision) - math.log(2.0 * math.pi)) - square)
        )

    def density(self, leaf: Leaf) -> Density:
        """Return the densities of rows in leaves."""
        size, dimension = leaf.mean.shape
        precision = np.full((size, dimension), 1.0 / self.r)
        peak = np.full(size, -0.5 * dimension * math.log(self.r))
        return Density(peak, leaf.mean, precision, np.empty((0, dimension, dimension)))

    def rest(self, sums: Sums, leaf: Leaf, share: FloatArray) -> Sums:
        """Return what sums are left, about, for others if leaves have shares of the rows."""
        taken = (share * sums.n)[:, None]
        n = (1.0 - share) * sums.n
        total = sums.total - taken * leaf.mean
        return Sums(n, n[:, None] * np.ones_like(total), total, sums.second)

    def coordinates(self, y: FloatArray, sums: Sums) -> FloatArray:
        """Return rows in coordinates in which a leaf is round, and of width 1."""
        return np.asarray(y / self.noise)
