"""Factors: many columns as a few scores and noise.

    x = μ + C (U s + U⊥ e),    C = diag(c),  UᵀU = I,  e ~ N(0, I)

The scores s have the density of the mixture; all else is noise, c_j that of column j. With
z = (x − μ)/c, s = Uᵀz and r the part of z that U does not reach,

    log p(x) = log p(s) + log N(r; 0, I) − Σ log c_j.

*Gaps.* What is observed of z is o; U_o has these rows of U, and A = U_oᵀU_o = E Λ Eᵀ. All that o
tells of s is t = Λ^{-1/2} Eᵀ U_oᵀ z_o, for which

    t | s ~ N(R s, I − R Rᵀ),    R = Λ^{1/2} Eᵀ,    R Rᵀ = Λ,

and what is left of z_o is noise. So every row, however wide, is q numbers and a q × q matrix.

How U, c and q are found is in `factoring.py`.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.model import Column

LOST = 1e-9  # of an eigenvalue of A, which is at most 1: the direction is not observed
LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class Factors:
    """How rows with many columns are made of a few scores.

    Rows are standardised as the table's `Scaling` says.

    Attributes
    ----------
    centre, noise : float array, shape (p,)
        μ and c.
    axes : float array, shape (p, q)
        U. The largest entry of each column is positive.
    variance : float array, shape (q,)
        Of the scores s of new rows, in units of the noise.
    shrinkage : float array, shape (q,)
        What the scores of the rows that U was found from are multiplied by. Where columns are many,
        U follows the noise of these rows, and their scores are wider than those of new rows.
    """

    centre: FloatArray
    noise: FloatArray
    axes: FloatArray
    variance: FloatArray
    shrinkage: FloatArray

    @property
    def n_columns(self) -> int:
        """The number of columns p."""
        return int(self.axes.shape[0])

    @property
    def n_factors(self) -> int:
        """The number of scores q."""
        return int(self.axes.shape[1])

    @property
    def unit(self) -> FloatArray:
        """The standard deviations of scores: divided by them, they are what the engine takes."""
        return np.sqrt(self.variance)

    @property
    def loadings(self) -> FloatArray:
        """By how much each column grows with each score by a standard deviation of that."""
        return np.asarray(self.noise[:, None] * self.axes * self.unit)

    def __repr__(self) -> str:
        """Return how many there are of how many columns."""
        return f"Factors(n_factors={self.n_factors}, n_columns={self.n_columns})"

    def whitened(self, x: FloatArray) -> FloatArray:
        """Return z."""
        return np.asarray((x - self.centre) / self.noise)

    def restored(self, z: FloatArray) -> FloatArray:
        """Return standardised rows from z."""
        return np.asarray(self.centre + self.noise * z)

    def see(self, x: FloatArray) -> Seen:
        """Return what standardised rows, which may have gaps, tell of their scores."""
        z = self.whitened(x)
        missing = np.isnan(z)
        z[missing] = 0.0
        gaps = np.flatnonzero(missing.any(axis=1))
        # Rows that miss the same columns share all but their values.
        numbers: dict[bytes, int] = {}
        packed = np.packbits(missing[gaps], axis=1)
        found = [numbers.setdefault(mask.tobytes(), len(numbers)) for mask in packed]
        pattern = np.array(found, dtype=np.intp)
        first = np.unique(pattern, return_index=True)[1]
        inner = np.array([self._seen_axes(missing[row]) for row in gaps[first]])
        values, vectors = np.linalg.eigh(inner.reshape(-1, self.n_factors, self.n_factors))
        values = np.where(values > LOST, np.minimum(values, 1.0), 0.0)
        told = z @ self.axes
        roots = np.sqrt(np.where(values > 0.0, values, np.inf))
        told[gaps] = np.einsum("gi,gij->gj", told[gaps], vectors[pattern]) / roots[pattern]
        counts = self.n_columns - missing.sum(axis=1)
        counts -= self.n_factors
        counts[gaps] += (values == 0.0).sum(axis=1)[pattern]
        squares = np.maximum((z**2).sum(axis=1) - (told**2).sum(axis=1), 0.0)
        logs = missing @ np.log(self.noise) - np.log(self.noise).sum()
        log_rest = logs - 0.5 * (squares + counts * LOG_2PI)
        return Seen(self, told, log_rest, gaps, pattern, values, vectors)

    def _seen_axes(self, missing: npt.NDArray[np.bool_]) -> FloatArray:
        """Return A, by the fewer of the columns that are missing and those that are not."""
        lost = self.axes[missing]
        if 2 * len(lost) > self.n_columns:
            seen = self.axes[~missing]
            return np.asarray(seen.T @ seen)
        return np.asarray(np.eye(self.n_factors) - lost.T @ lost)

    def columns(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """Return the scores as columns of a model, from those of the table.

        What rounding adds to the variance of a column, it adds to every score by its weight there.
        """
        floors = np.array([column.floor for column in columns]) / self.noise**2
        shares = (self.axes**2).T @ floors / self.variance
        return tuple(Column(floor=float(floor)) for floor in shares)


class GaussianScores(NamedTuple):
    """Scores of rows with gaps, as if all scores were Gaussian."""

    mean: FloatArray  # (G, q) given what is observed
    root: FloatArray  # (P, q, q) of their covariance
    log_told: FloatArray  # (G,) log density of t


@dataclass(frozen=True, eq=False)
class Seen:
    """What rows tell of their scores, and the density of all else.

    Attributes
    ----------
    factors : Factors
        Of which it is.
    told : float array, shape (N, q)
        t of each row; its scores where there are no gaps. It is 0 in directions not observed.
    log_rest : float array, shape (N,)
        The log density of what is left of each row, in standardised units.
    gaps : int array, shape (G,)
        The rows with gaps.
    pattern : int array, shape (G,)
        Which of the patterns of gaps each of these has.
    eigenvalues : float array, shape (P, q)
        Λ of each pattern: 0 in directions that are not observed.
    vectors : float array, shape (P, q, q)
        E of each pattern.
    """

    factors: Factors
    told: FloatArray
    log_rest: FloatArray
    gaps: npt.NDArray[np.intp]
    pattern: npt.NDArray[np.intp]
    eigenvalues: FloatArray
    vectors: FloatArray

    @cached_property
    def whole(self) -> npt.NDArray[np.intp]:
        """The rows without gaps."""
        return np.setdiff1d(np.arange(len(self.told)), self.gaps)

    @cached_property
    def maps(self) -> FloatArray:
        """R of each pattern, shape (P, q, q); rows of 0 for what is not observed."""
        return np.asarray(np.sqrt(self.eigenvalues)[:, :, None] * self.vectors.transpose(0, 2, 1))

    @cached_property
    def noise(self) -> FloatArray:
        """The diagonal of I − Λ of each pattern, shape (P, q); 1 for what is not observed."""
        return 1.0 - self.eigenvalues

    def narrowed(self, rows: npt.NDArray[np.bool_]) -> Seen:
        """Return what rows tell if some are of those that the factors were found from.

        The scores of these are narrowed to what those of new rows would be; what that takes from
        them is left to the noise, so that the density of a row is what it would be for a new one.
        """
        if not rows.any():
            return self
        taken = rows[:, None] * self.expected() * (1.0 - self.factors.shrinkage)
        if self.gaps.size:
            taken[self.gaps] = np.einsum("gij,gj->gi", self.maps[self.pattern], taken[self.gaps])
        told = self.told - taken
        log_rest = self.log_rest - 0.5 * (self.told**2 - told**2).sum(axis=1)
        return replace(self, told=told, log_rest=log_rest)

    def expected(self) -> FloatArray:
        """Return the mean of the scores given what is observed, as if they were Gaussian."""
        out = self.told.copy()
        if self.gaps.size:
            out[self.gaps] = self.of_gaussian.mean
        return out

    @cached_property
    def of_gaussian(self) -> GaussianScores:
        """What a Gaussian law of the scores, N(0, variance), makes of rows with gaps."""
        variance, told = self.factors.variance, self.told[self.gaps]
        inner = np.einsum("pij,j,pkj->pik", self.maps, variance, self.maps)
        inner += self.noise[:, :, None] * np.eye(variance.size)
        gain = np.linalg.solve(inner, self.maps * variance)  # T⁻¹ R G
        left = np.diag(variance) - np.einsum("pki,pkj->pij", self.maps * variance, gain)
        values, vectors = np.linalg.eigh((left + left.transpose(0, 2, 1)) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        solved = np.linalg.solve(inner[self.pattern], told[:, :, None])[:, :, 0]
        # Directions that are not observed stand there with variance 1, and tell nothing.
        known = (self.eigenvalues > 0.0).sum(axis=1)
        constant = np.linalg.slogdet(inner)[1] + known * LOG_2PI
        return GaussianScores(
            np.einsum("gj,gji->gi", told, gain[self.pattern]),
            root,
            -0.5 * ((told * solved).sum(axis=1) + constant[self.pattern]),
        )

    def log_of_gaussian(self, scores: FloatArray) -> FloatArray:
        """Return the log density of scores, shape (…, q), under N(0, variance)."""
        variance = self.factors.variance
        squares = (scores**2 / variance).sum(axis=-1)
        return np.asarray(-0.5 * (squares + np.log(variance).sum() + variance.size * LOG_2PI))


@dataclass(frozen=True, eq=False)
class Factored:
    """The rows of a fit of which the engine sees the scores.

    Attributes
    ----------
    factors : Factors
        What makes the scores.
    rows : float array, shape (N, p)
        Standardised rows; NaN is missing.
    log_rest : float array, shape (N,)
        What is added to the log density of the scores of each row, as the engine has them, to have
        that of the row.
    marks : uint64 array, shape (N,)
        By which the rows are known when they are asked about: their scores are too wide for those
        of new rows.
    """

    factors: Factors
    rows: FloatArray
    log_rest: FloatArray
    marks: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, factors: Factors, rows: FloatArray) -> tuple[Factored, FloatArray]:
        """Return rows that the factors were found from, and their scores for the engine.

        A row with gaps has the scores that are expected given what it has; nothing but gaps has
        none.
        """
        seen = factors.see(rows).narrowed(np.ones(len(rows), dtype=bool))
        scores = seen.expected()
        log_rest = seen.log_rest - np.log(factors.unit).sum()
        if seen.gaps.size:
            # The density of the observed, ∫ p(s) N(t; R s, I − Λ) ds, with p(s)/N(s; 0, variance)
            # taken as constant where t leaves s.
            told = seen.of_gaussian.log_told
            log_rest[seen.gaps] += told - seen.log_of_gaussian(scores[seen.gaps])
        nothing = np.isnan(rows).all(axis=1)
        scores[nothing], log_rest[nothing] = np.nan, 0.0
        return cls(factors, rows, log_rest, _marks(rows)), scores / factors.unit

    def see(self, x: FloatArray) -> Seen:
        """Return what rows tell of their scores, whether they are new or of the fit."""
        return self.factors.see(x).narrowed(np.isin(_marks(x), self.marks))


def _marks(rows: FloatArray) -> npt.NDArray[np.uint64]:
    """Return a number for each row, the same for the same values only."""
    plain = np.where(np.isnan(rows), np.nan, rows + 0.0)  # NaN and 0 have several forms
    found = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in plain]
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)
