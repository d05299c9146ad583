r"""The rows of a cluster against all others, column by column: how far apart, and how sure that is.

Row :math:`i` occurs :math:`w_i` times and is in the cluster with probability :math:`q_i`. In a
replicate of the Bayesian bootstrap (Rubin 1981) every row has a weight :math:`g_i` from an
exponential distribution, and its cluster is drawn: :math:`z_i` is 1 with probability :math:`q_i`.
The difference of the two weighted means is, to first order, a sum over independent rows,

.. math:: \delta = \sum_i g_i (z_i a_i - (1 - z_i) b_i),
          \quad a_i = (x_i - m) / n, \quad b_i = (x_i - m') / n',

with means :math:`m, m'` and sums of weights :math:`n, n'` inside and outside, so its variance over
replicates is that of the two means and what the uncertain clusters add:

.. math:: \sum_i w_i (q_i a_i^2 + (1 - q_i) b_i^2) + \sum_i w_i q_i (1 - q_i) (a_i + b_i)^2.

All of it is sums over rows of 1, x and x² times q and q², so there is nothing to draw, and a pass
over the rows is enough. The bootstrap is too sure of few rows: of five, its 94 % interval covers
80 %. So variances have :math:`n - 1` below, as of Student's t with Welch's degrees of freedom, the
posterior of a difference of normal means with unknown variances, which tends to the same for many.

Shares of categories are compared on the scale of 2 arcsin √p, where their variance is about
1/n whatever they are; the difference there is Cohen's h.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import chdtri, ndtr, ndtri, stdtr, stdtrit

from sticktree.blas import one_thread
from sticktree.checks import FloatArray

MASS = 0.94  # of intervals
BLOCK = 32_768  # rows that sums are made of at a time
ROUNDING = 1e-11  # of a sum of squares, below which what is left of it is rounding
NOTHING = 1e-9  # of a row: no row at all
MOST_FREEDOM = 1e8  # degrees of freedom, from which Student's t is normal


class Reason(IntEnum):
    """Why an answer is missing, or what to know of it."""

    NONE = 0
    NONE_INSIDE = 1
    NONE_OUTSIDE = 2
    CONSTANT = 3
    ONE_INSIDE = 4
    ONE_OUTSIDE = 5
    EQUAL_INSIDE = 6

    def words(self) -> str:
        """Return it in words."""
        return WORDS[self]


WORDS = {
    Reason.NONE: "",
    Reason.NONE_INSIDE: "no values inside",
    Reason.NONE_OUTSIDE: "no values outside",
    Reason.CONSTANT: "all values are equal",
    Reason.ONE_INSIDE: "only one value inside",
    Reason.ONE_OUTSIDE: "only one value outside",
    Reason.EQUAL_INSIDE: "all values inside are equal",
}


@dataclass(frozen=True, eq=False)
class Contrast:
    """Every cluster against all other rows, in some columns.

    Attributes
    ----------
    n_inside, n_outside : float arrays, shape (K, D)
        How many values there are, rows as often as they occur.
    inside, outside : float arrays, shape (K, D)
        Means, or shares of a category; NaN where there are no values.
    effect, low, high : float arrays, shape (K, D)
        Cohen's d, or h of shares, and its 94 % interval.
    probability : float array, shape (K, D)
        That the mean or share inside is larger than that outside.
    reason : int array, shape (K, D)
        See `Reason`.
    """

    n_inside: FloatArray
    n_outside: FloatArray
    inside: FloatArray
    outside: FloatArray
    effect: FloatArray
    low: FloatArray
    high: FloatArray
    probability: FloatArray
    reason: npt.NDArray[np.int8]

    def at(self, which: npt.NDArray[np.int64]) -> Contrast:
        """Return some of the columns, others for each cluster."""
        arrays = vars(self).values()
        return Contrast(*(np.take_along_axis(array, which, axis=1) for array in arrays))

    @classmethod
    def together(cls, parts: list[tuple[list[int], Contrast]], shape: tuple[int, int]) -> Contrast:
        """Put columns, each part with their places, together."""
        arrays = {
            field.name: np.zeros(shape, dtype=np.int8 if field.name == "reason" else np.float64)
            for field in fields(cls)
        }
        for places, part in parts:
            for name, array in arrays.items():
                array[:, places] = getattr(part, name)
        return cls(**arrays)


class Membership:
    """Which row is in which cluster, for sums over rows.

    Parameters
    ----------
    given : int array, shape (N,), or float array, shape (N, K)
        The cluster of each row, −1 for none; or the probability of each row to be in each cluster.
    n_clusters : int
        K.
    weights : float array, shape (N,)
        How often each row occurs.
    """

    def __init__(self, given: npt.NDArray[Any], n_clusters: int, weights: FloatArray) -> None:
        self.certain = given.ndim == 1
        self.given = given
        self.n_clusters = n_clusters
        self.weights = weights

    def sums(self, rows: slice, cells: FloatArray) -> FloatArray:
        """Return sums of w q times the cells of some rows, shape (K, columns)."""
        return self._times(self._shares(rows), self.weights[rows, None] * cells)

    def squared_sums(self, rows: slice, cells: FloatArray) -> FloatArray:
        """Return sums of w q² times the cells of some rows."""
        return self._times(self._shares(rows) ** 2, self.weights[rows, None] * cells)

    def counts(self, codes: npt.NDArray[Any], n_codes: int) -> tuple[FloatArray, FloatArray]:
        """Return sums of w q and of w q² over the rows of each code, both of shape (K, codes)."""
        once = np.zeros((self.n_clusters, n_codes))
        twice = once if self.certain else np.zeros_like(once)
        for first in range(0, len(codes), BLOCK):
            rows = slice(first, first + BLOCK)
            seen = np.flatnonzero(codes[rows] >= 0)
            weight = self.weights[rows][seen]
            place = codes[rows][seen].astype(np.int64), seen
            shape = (n_codes, len(codes[rows]))
            of_code = sparse.csr_array((weight, place), shape=shape)
            shares = self._shares(rows)
            once += _dense(of_code @ shares).T
            if not self.certain:
                twice += _dense(of_code @ shares**2).T
        return once, twice

    def _shares(self, rows: slice) -> Any:
        """Return q of some rows: sparse where every row has one cluster."""
        given = self.given[rows]
        if not self.certain:
            return np.asarray(given, dtype=np.float64)
        of_row = np.flatnonzero(given >= 0)
        place = of_row, given[of_row].astype(np.int64)
        return sparse.csr_array((np.ones(of_row.size), place), shape=(len(given), self.n_clusters))

    @staticmethod
    def _times(shares: Any, cells: FloatArray) -> FloatArray:
        with one_thread():
            return np.asarray(shares.T @ cells)


def _dense(array: Any) -> FloatArray:
    return np.asarray(array.toarray() if hasattr(array, "toarray") else array)


# ---- numbers -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of w q v yᵏ, k = 0, 1 and 2 along the first axis; further ones have v² and q²."""

    n: FloatArray  # values, (K, D)
    v: FloatArray  # (3, K, D)
    v2: FloatArray
    v2_q2: FloatArray
    total_n: FloatArray  # the same over all rows, (D,)
    total_v: FloatArray  # (3, D)
    total_v2: FloatArray


def contrast_numbers(
    values: FloatArray, member: Membership, trials: dict[int, FloatArray]
) -> Contrast:
    """Compare the means of every cluster with those of all other rows.

    Parameters
    ----------
    values : float array, shape (N, D)
        NaN is missing.
    member : Membership
        Which row is in which cluster.
    trials : dict of int to float array, shape (N,)
        What the entries of some columns count within a mean: the trials that a rate is of.
    """
    unit, centre, spread = _measures(values, member.weights)
    sums = _sums(values, member, trials, (unit, centre, spread))
    with np.errstate(invalid="ignore", divide="ignore"):
        return _judged(sums, unit, centre, spread)


def _measures(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return unit, centre and spread of each column: (x / unit − centre) / spread is in [−1, 1].

    So squares of very large values stay finite, and little is lost where the mean is far from 0.
    """
    n_columns = values.shape[1]
    unit, centre, spread = np.ones(n_columns), np.zeros(n_columns), np.ones(n_columns)
    for d in range(n_columns):
        seen = values[np.isfinite(values[:, d]) & (weights > 0), d]
        if seen.size == 0:
            continue
        unit[d] = np.abs(seen).max() or 1.0
        seen = seen / unit[d]
        centre[d] = seen.mean()
        spread[d] = np.abs(seen - centre[d]).max() or 1.0
    return unit, centre, spread


def _sums(
    values: FloatArray,
    member: Membership,
    trials: dict[int, FloatArray],
    measures: tuple[FloatArray, FloatArray, FloatArray],
) -> _Sums:
    unit, centre, spread = measures
    shape = (member.n_clusters, values.shape[1])
    n, v, v2, v2_q2 = np.zeros(shape), *np.zeros((3, 3, *shape))
    total_n, total_v, total_v2 = np.zeros(shape[1]), *np.zeros((2, 3, shape[1]))
    for first in range(0, len(values), BLOCK):
        rows = slice(first, first + BLOCK)
        seen = np.isfinite(values[rows])
        y = np.where(seen, (values[rows] / unit - centre) / spread, 0.0)
        weight = seen.astype(np.float64)
        for d, of_rows in trials.items():
            weight[:, d] *= np.where(seen[:, d], of_rows[rows], 0.0)
        cells = np.concatenate([weight, weight * y, weight * y * y], axis=1)
        squares = cells * np.tile(weight, 3) if trials else cells
        found = member.sums(rows, cells)
        again = member.sums(rows, squares) if trials else found
        v += _apart(found)
        v2 += _apart(again)
        v2_q2 += _apart(again if member.certain else member.squared_sums(rows, squares))
        n += member.sums(rows, seen.astype(np.float64)) if trials else _apart(found)[0]
        w = member.weights[rows]
        total_v += (w @ cells).reshape(3, -1)
        total_v2 += (w @ squares).reshape(3, -1)
        total_n += w @ seen
    return _Sums(n, v, v2, v2_q2, total_n, total_v, total_v2)


def _apart(sums: FloatArray) -> FloatArray:
    """Return sums of 1, y and y² side by side as three arrays of shape (K, D)."""
    return np.asarray(sums.reshape(len(sums), 3, -1).transpose(1, 0, 2))


@dataclass(frozen=True, eq=False)
class _Side:
    """Means of one side, their variances, and what these rest on."""

    n: FloatArray  # values
    mean: FloatArray
    squares: FloatArray  # sums of v times the squared distance from the mean
    size: FloatArray  # sums of v
    variance: FloatArray  # of the mean
    freedom: FloatArray

    @classmethod
    def of(cls, n: FloatArray, v: FloatArray, v2: FloatArray) -> _Side:
        mean = v[1] / v[0]
        n_like = v[0] ** 2 / v2[0]  # rows of equal weight that would say as much (Kish)
        variance = _settled(v2[2] - 2 * mean * v2[1] + mean**2 * v2[0], v2[2]) / v[0] ** 2
        return cls(
            n,
            np.where(n > NOTHING, mean, np.nan),
            _settled(v[2] - v[1] * mean, v[2]),
            v[0],
            variance * n_like / (n_like - 1),
            n_like - 1,
        )


def _settled(left: FloatArray, size: FloatArray) -> FloatArray:
    """Return what a subtraction leaves of sums of squares; 0 if it is no more than rounding."""
    return np.where(left > ROUNDING * size, left, 0.0)


def _judged(sums: _Sums, unit: FloatArray, centre: FloatArray, spread: FloatArray) -> Contrast:
    inner = _Side.of(sums.n, sums.v, sums.v2)
    rest_n = sums.total_n - sums.n
    rest_n = np.where(rest_n > ROUNDING * sums.total_n, rest_n, 0.0)
    rest = _Side.of(rest_n, sums.total_v[:, None] - sums.v, sums.total_v2[:, None] - sums.v2)
    n_values = sums.total_n

    delta = inner.mean - rest.mean
    delta = np.where(np.abs(delta) > ROUNDING, delta, 0.0 * delta)
    pooled = (inner.squares + rest.squares) / (inner.size + rest.size)
    sd = np.sqrt(pooled * n_values / np.where(n_values > 2, n_values - 2, np.nan))
    effect = np.where(delta == 0, 0.0, delta / sd)

    error = inner.variance + rest.variance + _of_membership(sums, inner, rest)
    freedom = error**2 / (inner.variance**2 / inner.freedom + rest.variance**2 / rest.freedom)
    freedom = np.where(error > 0, np.minimum(freedom, MOST_FREEDOM), MOST_FREEDOM)
    probability = stdtr(freedom, delta / np.sqrt(error))
    half = stdtrit(freedom, 0.5 + MASS / 2) * np.sqrt(error) / sd
    low, high = _interval(effect, half, n_values - 2)
    reason = _reasons(inner, rest)
    unknown = (reason > 0) & (reason < Reason.EQUAL_INSIDE)
    absent = (reason == Reason.NONE_INSIDE) | (reason == Reason.NONE_OUTSIDE)
    return Contrast(
        sums.n,
        rest_n,
        (inner.mean * spread + centre) * unit,
        (rest.mean * spread + centre) * unit,
        np.where(absent, np.nan, effect),
        np.where(unknown, np.nan, low),
        np.where(unknown, np.nan, high),
        np.where(unknown, np.nan, probability),
        reason,
    )


def _interval(
    effect: FloatArray, half: FloatArray, freedom: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return an interval of Cohen's d: that of the difference, wider for an uncertain deviation.

    ``half`` is half of the width if the deviation were known. On the scale of logarithms squared
    distances of both limits are added up, so that the interval has 0 where that of the difference
    has it.
    """
    size = np.abs(effect)
    below, above = (np.sqrt(chdtri(freedom, 0.5 + p * MASS / 2) / freedom) for p in (1, -1))
    near = size - half
    low = size * np.exp(-np.hypot(np.log(size / near), np.log(below)))
    low = np.where(near > 0, low, near)
    high = size * np.exp(np.hypot(np.log((size + half) / size), np.log(above)))
    high = np.where(size > 0, high, half)
    return np.where(effect < 0, -high, low), np.where(effect < 0, -low, high)


def _of_membership(sums: _Sums, inner: _Side, rest: _Side) -> FloatArray:
    """Return what uncertain clusters add to the variance of a difference: Σ w q(1−q)(a + b)²."""
    u = sums.v2 - sums.v2_q2
    s = 1 / inner.size + 1 / rest.size
    t = inner.mean / inner.size + rest.mean / rest.size
    return np.asarray(np.maximum(s**2 * u[2] - 2 * s * t * u[1] + t**2 * u[0], 0.0))


def _reasons(inner: _Side, rest: _Side) -> npt.NDArray[np.int8]:
    flat = (inner.squares == 0) & (rest.squares == 0) & (np.abs(inner.mean - rest.mean) <= ROUNDING)
    return np.select(
        [
            ~(inner.n > NOTHING),
            ~(rest.n > NOTHING),
            flat,
            ~(inner.freedom > NOTHING),
            ~(rest.freedom > NOTHING),
            inner.squares == 0,
        ],
        [
            Reason.NONE_INSIDE,
            Reason.NONE_OUTSIDE,
            Reason.CONSTANT,
            Reason.ONE_INSIDE,
            Reason.ONE_OUTSIDE,
            Reason.EQUAL_INSIDE,
        ],
        Reason.NONE,
    ).astype(np.int8)


# ---- categories ----------------------------------------------------------------------------------


def contrast_shares(codes: npt.NDArray[Any], n_categories: int, member: Membership) -> Contrast:
    """Compare the share of each category in every cluster with that among all other rows.

    Parameters
    ----------
    codes : int array, shape (N,)
        The category of each row, −1 where it is missing.
    n_categories : int
        How many there are: the answer has a column for each.
    member : Membership
        Which row is in which cluster.
    """
    count, twice = member.counts(codes, n_categories)
    seen = codes >= 0
    total = np.bincount(codes[seen], member.weights[seen], minlength=n_categories)
    rest = np.maximum(total - count, 0.0)
    n_inside = count.sum(axis=1, keepdims=True)
    n_outside = total.sum() - n_inside
    n_outside = np.where(n_outside > ROUNDING * total.sum(), n_outside, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        inside, outside = count / n_inside, rest / n_outside
        effect = _angle(inside) - _angle(outside)
        # Anscombe's form of the angle has about the mean and the variance of a normal variate
        # also where a share is 0 or 1.
        centre = _angle((count + 0.375) / (n_inside + 0.75))
        centre -= _angle((rest + 0.375) / (n_outside + 0.75))
        variance = 1 / (n_inside + 0.5) + 1 / (n_outside + 0.5)
        binomial = inside * (1 - inside) / n_inside + outside * (1 - outside) / n_outside
        u = count - twice
        s = 1 / n_inside + 1 / n_outside
        t = inside / n_inside + outside / n_outside
        added = np.maximum((s**2 - 2 * s * t) * u + t**2 * u.sum(axis=1, keepdims=True), 0.0)
        error = np.sqrt(variance * (1 + np.where(binomial > 0, added / binomial, 0.0)))
        half = ndtri(0.5 + MASS / 2) * error
        probability = ndtr(centre / error)
    none = n_inside <= NOTHING, n_outside <= NOTHING, np.count_nonzero(total) <= 1
    which = [Reason.NONE_INSIDE, Reason.NONE_OUTSIDE, Reason.CONSTANT]
    reason = np.broadcast_to(np.select(none, which, Reason.NONE), count.shape).astype(np.int8)
    unknown = reason > 0
    return Contrast(
        np.broadcast_to(n_inside, count.shape),
        np.broadcast_to(n_outside, count.shape),
        inside,
        outside,
        effect,
        np.where(unknown, np.nan, np.clip(centre - half, -np.pi, np.pi)),
        np.where(unknown, np.nan, np.clip(centre + half, -np.pi, np.pi)),
        np.where(unknown, np.nan, probability),
        reason,
    )


def _angle(share: FloatArray) -> FloatArray:
    return np.asarray(2 * np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0))))
