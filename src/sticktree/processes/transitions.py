"""Transition operators: how parameters change from parent to child, and data arise at leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from sticktree.checks import FloatArray, as_numbers, check_integer, check_positive
from sticktree.errors import ParameterError


class TransitionOperator(ABC):
    """The law of a child's parameter given its parent's, T(φ_child ← φ_parent).

    Locations are arrays of shape (m, D), a row per node or datum; every method works on all
    rows at once. ``level`` is the level of the child.
    """

    dimension: int

    @abstractmethod
    def sample_root(self, rng: np.random.Generator) -> FloatArray:
        """Draw the root's location, shape (1, D)."""

    @abstractmethod
    def sample_step(self, parents: FloatArray, level: int, rng: np.random.Generator) -> FloatArray:
        """Draw one child of each parent."""

    @abstractmethod
    def sample_data(self, locations: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw one datum at each leaf location."""

    @abstractmethod
    def log_density_root(self, root: FloatArray) -> FloatArray:
        """Return the log density of root locations."""

    @abstractmethod
    def log_density_step(self, children: FloatArray, parents: FloatArray, level: int) -> FloatArray:
        """Return the log density of children given their parents."""

    @abstractmethod
    def log_density_data(self, data: FloatArray, locations: FloatArray) -> FloatArray:
        """Return the log density of data given their leaf locations."""


class GaussianTransition(TransitionOperator):
    """Gaussian steps: root N(m₀, v₀Σ), child N(φ_parent, v_l Σ), datum N(φ_leaf, r Σ).

    Parameters
    ----------
    covariance : float, array of shape (D,) or (D, D), default=1
        Σ: a number is spherical, a vector diagonal, a matrix full.
    dimension : int, optional
        D; needed only where ``covariance`` is a number and D is not 1.
    level_scales : array or callable, optional
        v_l for l = 0, 1, …, the root first; by default 1 everywhere, as in the paper.
    noise : float, default=1
        r; 1 is the paper's model, 0 puts data at the locations themselves.
    mean : float or array of shape (D,), default=0
        m₀.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.processes import GaussianTransition
    >>> step = GaussianTransition([[1.0, 0.5], [0.5, 1.0]], level_scales=lambda level: 0.5**level)
    >>> step.covariance_type, step.dimension, step.scale(3)
    ('full', 2, 0.125)
    """

    def __init__(
        self,
        covariance: float | npt.ArrayLike = 1.0,
        *,
        dimension: int | None = None,
        level_scales: npt.ArrayLike | Callable[[int], float] | None = None,
        noise: float = 1.0,
        mean: float | npt.ArrayLike = 0.0,
    ) -> None:
        sigma = _covariance(covariance)
        if dimension is None:
            dimension = 1 if sigma.ndim == 0 else sigma.shape[0]
        self.dimension = check_integer("dimension", dimension, minimum=1)
        if sigma.ndim and sigma.shape[0] != self.dimension:
            raise ValueError(
                f"dimension is {self.dimension}, but covariance has shape {sigma.shape}"
            )
        self.covariance = sigma
        self._factor = np.linalg.cholesky(sigma) if sigma.ndim == 2 else np.sqrt(sigma)
        self.level_scales = level_scales
        if level_scales is not None and not callable(level_scales):
            self.level_scales = as_numbers("level_scales", level_scales)
            if self.level_scales.ndim != 1:
                raise ParameterError(
                    "level_scales", level_scales, "one number per level", verb="have"
                )
            for level in range(self.level_scales.size):
                self.scale(level)
        self.noise = check_positive("noise", noise, zero=True)
        centre = as_numbers("mean", mean)
        if centre.shape not in ((), (self.dimension,)) or not np.isfinite(centre).all():
            raise ParameterError("mean", mean, f"finite, one number or {self.dimension} of them")
        self.mean = np.broadcast_to(centre, (self.dimension,))

    @property
    def covariance_type(self) -> Literal["spherical", "diag", "full"]:
        """Which form Σ has."""
        if self.covariance.ndim == 0:
            return "spherical"
        return "diag" if self.covariance.ndim == 1 else "full"

    def scale(self, level: int) -> float:
        """Return v_l, the scale of the step into a level; level 0 is the root's own."""
        if self.level_scales is None:
            return 1.0
        if callable(self.level_scales):
            return check_positive(f"level_scales({level})", self.level_scales(level))
        scales = np.asarray(self.level_scales)
        if level >= scales.size:
            raise ParameterError(
                "level_scales",
                scales.size,
                f"{level + 1} entries, for levels 0 to {level}",
                verb="have",
                shown=f"{scales.size}",
            )
        return check_positive(f"level_scales[{level}]", float(scales[level]))

    def sample_root(self, rng: np.random.Generator) -> FloatArray:
        """Draw the root's location, shape (1, D)."""
        return self._jump(self.mean[None, :], self.scale(0), rng)

    def sample_step(self, parents: FloatArray, level: int, rng: np.random.Generator) -> FloatArray:
        """Draw one child of each parent."""
        return self._jump(parents, self.scale(level), rng)

    def sample_data(self, locations: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw one datum at each leaf location."""
        return self._jump(locations, self.noise, rng) if self.noise else locations.copy()

    def log_density_root(self, root: FloatArray) -> FloatArray:
        """Return the log density of root locations."""
        return self._log_density(root - self.mean, self.scale(0))

    def log_density_step(self, children: FloatArray, parents: FloatArray, level: int) -> FloatArray:
        """Return the log density of children given their parents."""
        return self._log_density(children - parents, self.scale(level))

    def log_density_data(self, data: FloatArray, locations: FloatArray) -> FloatArray:
        """Return the log density of data given their leaf locations."""
        if not self.noise:
            raise ValueError("noise is 0: data coincide with their locations and have no density")
        return self._log_density(data - locations, self.noise)

    def _jump(self, start: FloatArray, scale: float, rng: np.random.Generator) -> FloatArray:
        white = rng.standard_normal(start.shape)
        colour = white @ self._factor.T if self._factor.ndim == 2 else white * self._factor
        jumped: FloatArray = start + np.sqrt(scale) * colour
        return jumped

    def _log_density(self, jump: FloatArray, scale: float) -> FloatArray:
        jump = np.atleast_2d(jump)
        if self._factor.ndim == 2:
            white = solve_triangular(self._factor, jump.T, lower=True).T
            log_root = np.log(np.diag(self._factor)).sum()
        else:
            white = jump / self._factor
            log_root = np.log(np.broadcast_to(self._factor, self.dimension)).sum()
        square = (white**2).sum(axis=1) / scale
        log_density: FloatArray = (
            -0.5 * (square + self.dimension * np.log(2 * np.pi * scale)) - log_root
        )
        return log_density


def _covariance(covariance: float | npt.ArrayLike) -> FloatArray:
    valid = "a positive number, a vector of them, or a symmetric positive definite matrix"
    problem = ParameterError("covariance", covariance, valid)
    try:
        sigma = as_numbers("covariance", covariance)
    except ValueError:
        raise problem from None
    if sigma.ndim > 2 or sigma.size == 0 or not np.isfinite(sigma).all():
        raise problem
    if sigma.ndim == 2:
        square = sigma.shape[0] == sigma.shape[1]
        if not square or np.abs(sigma - sigma.T).max() > 1e-9 * np.abs(sigma).max():
            raise problem
        if np.linalg.eigvalsh(sigma)[0] <= 0:
            raise problem
    elif not (sigma > 0).all():
        raise problem
    return sigma
