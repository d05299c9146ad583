"""What a leaf is given the sums of its rows: a normal density whose parameters have a posterior.

Here for many leaves side by side: all arrays have one row for each.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, multigammaln

from sticktree.checks import FloatArray
from sticktree.engine.bulk.sums import Flags, Sums, wide
from sticktree.engine.bulk.truncated import log_masses, truncated_gamma


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
                np.where(wide(condition, mine), mine, its)
                for mine, its in zip(self, other, strict=True)
            )
        )


class Density(NamedTuple):
    """Normal densities in the form that rows see; see `Components`."""

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

    The place of a leaf is known by as many rows as are seen: fewer than it has, if it has moved.

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
        precision = 1.0 / self.v + sums.seen[:, 0] / self.r
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
        left = sums.times(1.0 - share)
        total = sums.total - share[:, None] * sums.seen * leaf.mean
        return left._replace(total=total, second=sums.second)

    def coordinates(self, y: FloatArray, sums: Sums) -> FloatArray:
        """Return rows in coordinates in which a leaf is round, and of width 1."""
        return np.asarray(y / self.noise)


# ---- Leaves with noise of their own: posteriors of mean and precision given the sums of the rows
#
#     diag, spherical   1/s = τ ~ Gamma(a, ab) with s ≥ f,        μ ~ N(u, s/κ)
#     full              R⁻¹ = Bᵀ B ~ Wishart(G − 1 + 2a, Ψ⁻¹),    μ ~ N(u, R/κ)
#
# Spherical leaves have one s for all columns, diagonal ones one for each. B is lower triangular.


LEAST_SHARE = 0.01  # of the scatter that the rest would have by its number of rows, that it keeps
LOG_2PI = math.log(2.0 * math.pi)


class _Variances(NamedTuple):
    """Posterior of leaves with variances: one column of ``shape`` for each s."""

    mean: FloatArray  # (K, D)
    weight: FloatArray  # (K, D) κ + n
    shape: FloatArray  # (K, D) or (K, 1)
    rate: FloatArray


class VarianceLaw:
    """Leaves with a variance for each column, or with one for all.

    ``spread`` of a leaf is τ, (K, D) or (K, 1).

    Parameters
    ----------
    kappa, shape, scale, floor : float array, shape (D,) or (1,)
        κ, a, b and f of each column, or of all.
    together : bool
        Whether all columns have one variance.
    """

    def __init__(
        self,
        kappa: FloatArray,
        shape: FloatArray,
        scale: FloatArray,
        floor: FloatArray,
        together: bool,
    ) -> None:
        self.kappa, self.shape, self.rate = kappa, shape, shape * scale
        self.floor, self.together = floor, together
        self.noise = np.sqrt(np.maximum(scale, floor))

    def _gather(self, values: FloatArray) -> FloatArray:
        """Sum over the columns that have one variance."""
        return np.asarray(values.sum(axis=1, keepdims=True) if self.together else values)

    def _posterior(self, sums: Sums, above: FloatArray) -> _Variances:
        n = sums.seen
        weight = self.kappa + n
        off = _means(sums) - above
        square = _scatter(sums) + self.kappa * n / weight * off**2
        return _Variances(
            (self.kappa * above + sums.total) / weight,
            weight,
            self.shape + 0.5 * self._gather(n),
            self.rate + 0.5 * self._gather(square),
        )

    def draw(self, sums: Sums, above: FloatArray, rng: np.random.Generator) -> Leaf:
        """Draw parameters of leaves from their posteriors."""
        law = self._posterior(sums, above)
        precision = truncated_gamma(law.shape, law.rate, self.floor, rng)
        noise = rng.standard_normal(law.mean.shape) / np.sqrt(law.weight * precision)
        return Leaf(law.mean + noise, precision)

    def log_density(self, leaf: Leaf, sums: Sums, above: FloatArray) -> FloatArray:
        """Return the log densities of means and precisions in their posteriors."""
        law = self._posterior(sums, above)
        log_precision = np.log(leaf.spread)
        of_precision = (
            law.shape * np.log(law.rate)
            - gammaln(law.shape)
            + (law.shape - 1.0) * log_precision
            - law.rate * leaf.spread
            - log_masses(law.shape, law.rate, self.floor)
        )
        weight = law.weight * leaf.spread
        of_mean = 0.5 * (np.log(weight) - LOG_2PI - weight * (leaf.mean - law.mean) ** 2)
        return np.asarray(of_precision.sum(axis=1) + of_mean.sum(axis=1))

    def density(self, leaf: Leaf) -> Density:
        """Return the densities of rows in leaves."""
        dimension = leaf.mean.shape[1]
        # A copy: kernels are compiled once more for arrays that must not be written to.
        precision = np.broadcast_to(leaf.spread, leaf.mean.shape).copy()
        peak = 0.5 * np.log(precision).sum(axis=1)
        return Density(peak, leaf.mean, precision, np.empty((0, dimension, dimension)))

    def rest(self, sums: Sums, leaf: Leaf, share: FloatArray) -> Sums:
        """Return what sums are left, about, for others if leaves have shares of the rows."""
        left = sums.times(1.0 - share)
        taken = share[:, None] * sums.seen
        total = sums.total - taken * leaf.mean
        second = sums.second - taken * (leaf.mean**2 + 1.0 / leaf.spread)
        part = Sums(left.n, left.seen, total, second)
        most = np.maximum(_scatter(part), LEAST_SHARE * _scatter(left))
        return part._replace(second=most + total * _means(part))

    def coordinates(self, y: FloatArray, sums: Sums) -> FloatArray:
        """Return rows in units of the standard deviations of a leaf."""
        n, square = self._gather(sums.seen), self._gather(_scatter(sums))
        spread = (2.0 * self.rate + square) / (2.0 * self.shape + n)
        return np.asarray(y / np.sqrt(spread))


def _means(sums: Sums) -> FloatArray:
    """Return the mean of every column, 0 where nothing is seen."""
    none = sums.seen <= 0.0
    return np.asarray(np.where(none, 0.0, sums.total / np.where(none, 1.0, sums.seen)))


def _scatter(sums: Sums) -> FloatArray:
    """Return Σ (y − ȳ)² of every column."""
    return np.asarray(np.maximum(sums.second - sums.total * _means(sums), 0.0))


class _Covariances(NamedTuple):
    """Posterior of leaves with covariances."""

    mean: FloatArray  # (K, G)
    weight: FloatArray  # (K,) κ + n
    degrees: FloatArray  # (K,) ν + n
    factor: FloatArray  # (K, G, G) F, Ψ_n = F Fᵀ


class FullLaw:
    """Leaves with a covariance of their own.

    ``spread`` of a leaf is B, (K, G, G).

    Parameters
    ----------
    kappa, shape : float
        κ and a.
    psi : float array, shape (G, G)
        Ψ.
    """

    def __init__(self, kappa: float, shape: float, psi: FloatArray) -> None:
        self.kappa, self.psi = kappa, psi
        self.degrees = len(psi) - 1.0 + 2.0 * shape
        self.noise = np.sqrt(np.diag(psi) / max(2.0 * shape, 1.0))

    def _posterior(self, sums: Sums, above: FloatArray) -> _Covariances:
        n = sums.n
        weight = self.kappa + n
        off = _full_means(sums) - above
        scale = self.psi + _full_scatter(sums)
        scale += (self.kappa * n / weight)[:, None, None] * _outer(off, off)
        mean = (self.kappa * above + sums.total) / weight[:, None]
        return _Covariances(mean, weight, self.degrees + n, _cholesky(scale))

    def draw(self, sums: Sums, above: FloatArray, rng: np.random.Generator) -> Leaf:
        """Draw parameters of leaves from their posteriors."""
        law = self._posterior(sums, above)
        size, dimension = law.mean.shape
        # Bartlett's decomposition U Uᵀ with U upper triangular, so that B = Uᵀ F⁻¹ is lower.
        above_diagonal = _above_diagonal(dimension)
        upper = np.where(above_diagonal, rng.standard_normal((size, dimension, dimension)), 0.0)
        each = np.arange(dimension)
        half = 0.5 * (law.degrees[:, None] - (dimension - 1.0 - each))
        no_floor = np.zeros(1)
        upper[:, each, each] = np.sqrt(2.0 * truncated_gamma(half, np.ones(1), no_floor, rng))
        root = np.swapaxes(np.linalg.solve(np.swapaxes(law.factor, 1, 2), upper), 1, 2)
        noise = np.linalg.solve(root, rng.standard_normal((size, dimension, 1)))[:, :, 0]
        root = np.where(above_diagonal, 0.0, root)
        return Leaf(law.mean + noise / np.sqrt(law.weight)[:, None], root)

    def log_density(self, leaf: Leaf, sums: Sums, above: FloatArray) -> FloatArray:
        """Return the log densities of means and precision matrices in their posteriors."""
        law = self._posterior(sums, above)
        dimension = law.mean.shape[1]
        log_det = 2.0 * _log_diagonal(leaf.spread)
        trace = ((leaf.spread @ law.factor) ** 2).sum(axis=(1, 2))
        of_precision = (
            0.5 * (law.degrees - dimension - 1.0) * log_det
            - 0.5 * trace
            + law.degrees * (_log_diagonal(law.factor) - 0.5 * dimension * math.log(2.0))
            - multigammaln(0.5 * law.degrees, dimension)
        )
        off = (leaf.spread @ (leaf.mean - law.mean)[:, :, None])[:, :, 0]
        square = law.weight * (off**2).sum(axis=1)
        of_mean = 0.5 * (log_det + dimension * (np.log(law.weight) - LOG_2PI) - square)
        return np.asarray(of_precision + of_mean)

    def density(self, leaf: Leaf) -> Density:
        """Return the densities of rows in leaves."""
        return Density(_log_diagonal(leaf.spread), leaf.mean, np.zeros_like(leaf.mean), leaf.spread)

    def rest(self, sums: Sums, leaf: Leaf, share: FloatArray) -> Sums:
        """Return what sums are left, about, for others if leaves have shares of the rows."""
        left = sums.times(1.0 - share)
        taken = share * sums.n
        inverse = np.linalg.inv(leaf.spread)
        covariance = inverse @ np.swapaxes(inverse, 1, 2)
        total = sums.total - taken[:, None] * leaf.mean
        second = sums.second - taken[:, None, None] * (_outer(leaf.mean, leaf.mean) + covariance)
        part = Sums(left.n, left.seen, total, second)
        # In coordinates in which the scatter would be I by the number of rows, none may be small.
        factor = _cholesky(self.psi + _full_scatter(left))
        half = np.linalg.solve(factor, _full_scatter(part))
        white = np.linalg.solve(factor, np.swapaxes(half, 1, 2))
        values, vectors = np.linalg.eigh(0.5 * (white + np.swapaxes(white, 1, 2)))
        back = factor @ vectors
        scatter = (back * np.maximum(values, LEAST_SHARE)[:, None, :]) @ np.swapaxes(back, 1, 2)
        return part._replace(second=scatter + _outer(total, _full_means(part)))

    def coordinates(self, y: FloatArray, sums: Sums) -> FloatArray:
        """Return rows whitened by the covariance of a leaf."""
        scale = (self.psi + _full_scatter(sums)[0]) / (self.degrees + sums.n[0])
        return np.asarray(np.linalg.solve(_cholesky(scale[None])[0], y.T).T)


@functools.lru_cache(maxsize=16)
def _above_diagonal(dimension: int) -> Flags:
    """Return which entries of a matrix are above its diagonal; all who ask get the same array."""
    return np.asarray(np.triu(np.ones((dimension, dimension), dtype=bool), 1))


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(a[:, :, None] * b[:, None, :])


def _full_means(sums: Sums) -> FloatArray:
    """Return the mean of the rows, 0 where there are none."""
    none = sums.n <= 0.0
    return np.asarray(sums.total / np.where(none, 1.0, sums.n)[:, None])


def _full_scatter(sums: Sums) -> FloatArray:
    """Return Σ (y − ȳ)(y − ȳ)ᵀ."""
    return np.asarray(sums.second - _outer(sums.total, _full_means(sums)))


def _log_diagonal(factor: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1))


def _cholesky(matrix: FloatArray) -> FloatArray:
    """Return lower factors; what rounding has made indefinite is mended by as much."""
    try:
        return np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        least = np.maximum(1e-15 * values[:, -1:], 1e-300)
        mended = (vectors * np.maximum(values, least)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        size = np.einsum("kii->ki", mended).max(axis=1)
        each = np.arange(matrix.shape[1])
        mended[:, each, each] += (1e-14 * size)[:, None]
        return np.asarray(np.linalg.cholesky(mended))
