"""The predictive distribution of a draw over all columns of a table that has factors.

The engine has a mixture of scores s; here it is one of rows x = μ + C (U s + U⊥ e), with the same
components. A row without gaps tells its scores, and has the density of these times that of its
noise. Of one with gaps t | s ~ N(R s, I − Λ) is known (`sticktree.data.factors`).

Components N(m, v Σ) of leaves that share their noise stay Gaussian:

    t ~ N(R m, v R Σ Rᵀ + I − Λ),

and one basis for all components makes both parts diagonal. Those of leaves with noise of their own
are no Gaussians: there ∫ p(s) N(t; R s, I − Λ) ds is a mean over some scores, drawn as if all
scores were N(0, variance), with weights p(s)/N(s; 0, variance).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sticktree.checks import FloatArray, IntArray
from sticktree.data.factors import LOG_2PI, Factored, Seen
from sticktree.engine.chain import Predictive

if TYPE_CHECKING:
    from sticktree.engine.shared.predictive import SharedPredictive

N_POINTS = 64  # scores that stand for those of a row with gaps, where leaves have their own noise
ROWS = 1_000  # with gaps, whose densities under all components are in memory at a time


def over_columns(each: Iterable[Predictive], factored: Factored) -> Iterator[FactoredPredictive]:
    """Yield the predictive distribution of every draw over all columns."""
    from sticktree.engine.shared.predictive import SharedPredictive

    view = _View(factored)
    for inner in each:
        if isinstance(inner, SharedPredictive):
            yield _OfSharedNoise(inner, factored, view)
        else:
            yield _OfOwnNoise(inner, factored, view)


class _View:
    """What rows tell of their scores; the last rows asked for are asked for in every draw."""

    def __init__(self, factored: Factored) -> None:
        self.factored = factored
        self._last: tuple[FloatArray, Seen] | None = None

    def of(self, x: FloatArray) -> Seen:
        if self._last is None or self._last[0] is not x:
            self._last = x, self.factored.see(x)
        return self._last[1]


class FactoredPredictive:
    """A mixture of scores, seen in the standardised units of all columns.

    Parameters
    ----------
    inner : Predictive
        The mixture of scores.
    factored : Factored
        The factors, and the rows of the fit.
    view : object
        Makes of rows what they tell of their scores.
    """

    def __init__(self, inner: Predictive, factored: Factored, view: _View) -> None:
        self.inner = inner
        self.factored = factored
        self.factors = factored.factors
        self.view = view

    @property
    def node(self) -> IntArray:
        """The node that each component hangs on or is."""
        return self.inner.node

    @property
    def level(self) -> IntArray:
        """Where each new branch starts."""
        return self.inner.level

    def leave_one_out(self) -> FloatArray:
        """Return the log density of what is observed of each row of the data given all others."""
        return np.asarray(self.inner.leave_one_out() + self.factored.log_rest)

    def log_density(self, x: FloatArray) -> FloatArray:
        """Return the log density of what is observed of every row; 0 if there is nothing."""
        seen = self.view.of(x)
        out = seen.log_rest.copy()
        whole = seen.whole
        if whole.size:
            scores = seen.told[whole] / self.factors.unit
            out[whole] += self.inner.log_density(scores) - np.log(self.factors.unit).sum()
        for part in _parts(seen):
            out[part.rows] += self._log_density(part)
        out[np.isnan(x).all(axis=1)] = 0.0
        return out

    def responsibilities(self, x: FloatArray) -> FloatArray:
        """Return the probability that each row comes from each component."""
        seen = self.view.of(x)
        out = np.empty((len(x), self.node.size))
        if seen.whole.size:
            scores = seen.told[seen.whole] / self.factors.unit
            out[seen.whole] = self.inner.responsibilities(scores)
        for part in _parts(seen):
            out[part.rows] = self._responsibilities(part)
        return out

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` rows."""
        scores = self.inner.sample(n, rng) * self.factors.unit
        return self.factors.restored(self._with_noise(scores, rng))

    def conditional_mean(self, x: FloatArray) -> FloatArray:
        """Return ``x`` with the mean of what is missing given what is observed."""
        seen = self.view.of(x)
        means = seen.told.copy()
        for part in _parts(seen):
            means[part.rows] = self._mean(part)
        return np.where(np.isnan(x), self.factors.restored(means @ self.factors.axes.T), x)

    def conditional_sample(self, x: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return ``x`` with a draw of what is missing given what is observed."""
        seen = self.factored.see(x)
        out = x.copy()
        for part in _parts(seen):
            z = self._draw(part, np.isnan(x[part.rows]), rng)
            out[part.rows] = np.where(
                np.isnan(x[part.rows]), self.factors.restored(z), x[part.rows]
            )
        return out

    def _with_noise(self, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return rows z with given scores and noise around them."""
        axes = self.factors.axes
        noise = rng.standard_normal((len(scores), len(axes)))
        return np.asarray(noise + (scores - noise @ axes) @ axes.T)

    def _log_density(self, part: _Part) -> FloatArray:
        """Return log densities of t of rows with gaps."""
        raise NotImplementedError

    def _responsibilities(self, part: _Part) -> FloatArray:
        """Return the probability that each row with gaps comes from each component."""
        raise NotImplementedError

    def _mean(self, part: _Part) -> FloatArray:
        """Return g of rows with gaps, so that the mean of z is U g where it is missing."""
        raise NotImplementedError

    def _draw(
        self, part: _Part, missing: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> FloatArray:
        """Return rows z whose missing entries are drawn given what is observed."""
        raise NotImplementedError


class _Part(NamedTuple):
    """Some rows with gaps."""

    seen: Seen
    rows: npt.NDArray[np.intp]  # among all
    pattern: npt.NDArray[np.intp]  # of gaps, of each
    told: FloatArray  # t of each

    def told_of(self, z: FloatArray, missing: npt.NDArray[np.bool_]) -> FloatArray:
        """Return t of other rows with the same gaps."""
        seen, pattern = self.seen, self.pattern
        moments = np.where(missing, 0.0, z) @ seen.factors.axes
        roots = np.sqrt(np.where(seen.eigenvalues > 0.0, seen.eigenvalues, np.inf))
        return np.asarray(np.einsum("gi,gij->gj", moments, seen.vectors[pattern]) / roots[pattern])


def _parts(seen: Seen) -> Iterator[_Part]:
    for start in range(0, seen.gaps.size, ROWS):
        rows = seen.gaps[start : start + ROWS]
        yield _Part(seen, rows, seen.pattern[start : start + ROWS], seen.told[rows])


def _shares(logs: FloatArray) -> FloatArray:
    """Return weights of each row that sum to 1."""
    return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))


def _pick(logs: FloatArray, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return one entry of each row, at random by its weight."""
    below = np.cumsum(_shares(logs), axis=1)
    return np.asarray((below <= below[:, -1:] * rng.random((len(below), 1))).sum(axis=1))


# ---- leaves that share their noise ---------------------------------------------------------------


class _Basis(NamedTuple):
    """For each pattern of gaps, coordinates in which R Σ Rᵀ is I and I − Λ diagonal."""

    white: FloatArray  # (P, q, q)
    diagonal: FloatArray  # (P, q)
    log_det: FloatArray  # (P,) of the root of R Σ Rᵀ


class _OfSharedNoise(FactoredPredictive):
    """Components N(m, v Σ)."""

    inner: SharedPredictive
    _known: tuple[Seen, _Basis] | None = None

    @property
    def _root(self) -> FloatArray:
        """A root of Σ."""
        factor = self.inner.factor
        square = factor if factor.ndim == 2 else np.diag(factor)
        return np.asarray(self.factors.unit[:, None] * square)

    def _basis(self, seen: Seen) -> _Basis:
        if self._known is None or self._known[0] is not seen:
            unseen = (seen.eigenvalues == 0.0)[:, :, None] * np.eye(seen.eigenvalues.shape[1])
            half = seen.maps @ self._root
            root = np.linalg.cholesky(half @ half.transpose(0, 2, 1) + unseen)
            inverse = np.linalg.inv(root)
            noise = np.where(seen.eigenvalues > 0.0, seen.noise, 0.0)
            inner = (inverse * noise[:, None, :]) @ inverse.transpose(0, 2, 1)
            values, vectors = np.linalg.eigh(inner)
            white = vectors.transpose(0, 2, 1) @ inverse
            log_det = np.log(np.einsum("pii->pi", root)).sum(axis=1)
            self._known = seen, _Basis(white, np.maximum(values, 0.0), log_det)
        return self._known[1]

    def _weigh(self, part: _Part) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log weights × densities (G, K), and what residuals and variances make them."""
        basis, mixture = self._basis(part.seen), self.inner.mixture
        means = mixture.mean @ self._root.T
        placed = np.einsum("pij,pjk,ck->pci", basis.white, part.seen.maps, means, optimize=True)
        own = np.einsum("gij,gj->gi", basis.white[part.pattern], part.told)
        variance = mixture.variance[None, :, None] + basis.diagonal[:, None, :]
        # Directions that are not observed have a residual of 0 and the variance of the component:
        # taken out, they count for nothing.
        lost = (part.seen.eigenvalues == 0.0).sum(axis=1)[:, None]
        constant = np.log(variance).sum(axis=2) - lost * np.log(mixture.variance)
        constant += 2.0 * basis.log_det[:, None] + (means.shape[1] - lost) * LOG_2PI
        residual = own[:, None, :] - placed[part.pattern]
        variance = variance[part.pattern]
        squares = (residual**2 / variance).sum(axis=2)
        logs = np.log(mixture.weight) - 0.5 * (squares + constant[part.pattern])
        return logs, residual, variance

    def _log_density(self, part: _Part) -> FloatArray:
        return np.asarray(logsumexp(self._weigh(part)[0], axis=1))

    def _responsibilities(self, part: _Part) -> FloatArray:
        return _shares(self._weigh(part)[0])

    def _mean(self, part: _Part) -> FloatArray:
        logs, residual, variance = self._weigh(part)
        shares = _shares(logs)
        white = self._basis(part.seen).white[part.pattern]
        v = self.inner.mixture.variance
        # T⁻¹ (t − R m), summed over components by their shares, and by their shares × v.
        solved = residual / variance
        plain = np.einsum("gk,gki,gij->gj", shares, solved, white, optimize=True)
        scaled = np.einsum("gk,k,gki,gij->gj", shares, v, solved, white, optimize=True)
        means = shares @ (self.inner.mixture.mean @ self._root.T)
        return self._corrected(part, means, scaled, plain)

    def _corrected(
        self, part: _Part, start: FloatArray, scaled: FloatArray, plain: FloatArray
    ) -> FloatArray:
        """Return start + (v Σ − I) Rᵀ T⁻¹ (t − R m), given T⁻¹ (t − R m) with v and without."""
        maps = part.seen.maps[part.pattern]
        toward = np.einsum("gij,gi->gj", maps, scaled) @ self._root @ self._root.T
        return np.asarray(start + toward - np.einsum("gij,gi->gj", maps, plain))

    def _draw(
        self, part: _Part, missing: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> FloatArray:
        logs = self._weigh(part)[0]
        which = _pick(logs, rng)
        mixture, basis = self.inner.mixture, self._basis(part.seen)
        noise = rng.standard_normal((which.size, self.factors.n_factors))
        spread = np.sqrt(mixture.variance[which])[:, None]
        # A row of the component, moved by what the mean given the observed differs from it.
        z = self._with_noise((mixture.mean[which] + spread * noise) @ self._root.T, rng)
        white, diagonal = basis.white[part.pattern], basis.diagonal[part.pattern]
        gap = np.einsum("gij,gj->gi", white, part.told - part.told_of(z, missing))
        v = mixture.variance[which][:, None]
        plain = np.einsum("gi,gij->gj", gap / (v + diagonal), white)
        zero = np.zeros_like(part.told)
        return z + self._corrected(part, zero, v * plain, plain) @ self.factors.axes.T


# ---- leaves with noise of their own --------------------------------------------------------------


class _OfOwnNoise(FactoredPredictive):
    """Components of any form, through scores that stand for those of a row with gaps."""

    def _points(self, part: _Part) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return scores (G, J, q), their log weights (G, J), and the log density of t under N."""
        seen = part.seen
        gaussian = seen.of_gaussian
        at = np.searchsorted(seen.gaps, part.rows)
        half = np.random.default_rng(0).standard_normal((N_POINTS // 2, self.factors.n_factors))
        steps = np.concatenate([half, -half])  # the same for all rows and draws
        scores = gaussian.mean[at][:, None] + np.einsum(
            "gij,kj->gki", gaussian.root[part.pattern], steps
        )
        flat = (scores / self.factors.unit).reshape(-1, scores.shape[2])
        logs = self.inner.log_density(flat).reshape(scores.shape[:2])
        logs -= np.log(self.factors.unit).sum() + seen.log_of_gaussian(scores)
        return scores, logs, gaussian.log_told[at]

    def _log_density(self, part: _Part) -> FloatArray:
        _, logs, log_told = self._points(part)
        return np.asarray(log_told + logsumexp(logs, axis=1) - np.log(N_POINTS))

    def _responsibilities(self, part: _Part) -> FloatArray:
        scores, logs, _ = self._points(part)
        flat = (scores / self.factors.unit).reshape(-1, scores.shape[2])
        each = self.inner.responsibilities(flat).reshape(*scores.shape[:2], -1)
        return np.asarray(np.einsum("gj,gjk->gk", _shares(logs), each))

    def _mean(self, part: _Part) -> FloatArray:
        scores, logs, _ = self._points(part)
        means = np.einsum("gj,gji->gi", _shares(logs), scores)
        told = np.einsum("gij,gj->gi", part.seen.maps[part.pattern], means)
        return np.asarray(means - self._noise_of(part, part.told - told))

    def _noise_of(self, part: _Part, residual: FloatArray) -> FloatArray:
        """Return Rᵀ (I − Λ)⁻¹ of what t differs by: U times that is in the missing noise."""
        noise = part.seen.noise[part.pattern]
        known = (noise > 1e-12) & (part.seen.eigenvalues[part.pattern] > 0.0)
        solved = np.where(known, residual, 0.0) / np.where(known, noise, 1.0)
        return np.asarray(np.einsum("gij,gi->gj", part.seen.maps[part.pattern], solved))

    def _draw(
        self, part: _Part, missing: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> FloatArray:
        scores, logs, _ = self._points(part)
        which = _pick(logs, rng)
        z = self._with_noise(scores[np.arange(which.size), which], rng)
        residual = part.told - part.told_of(z, missing)
        return np.asarray(z - self._noise_of(part, residual) @ self.factors.axes.T)
