"""The model that an engine samples: every choice and every prior, resolved and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sticktree.checks import FloatArray

__all__ = ["CovarianceType", "Model", "Scales"]

CovarianceType = Literal["spherical", "diag", "full"]
Scales = Literal["shared", "per_level"]
Gamma = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Model:
    """A Gaussian DFP mixture.

    Attributes
    ----------
    shape : float array, shape (L,)
        b(l): the concentration of level l is c·b(l).
    private_step : bool
        Whether every datum makes one more step from its leaf by itself. Its variance merges with
        the noise.
    covariance_type : {"spherical", "diag", "full"}
        The form of Σ.
    scales : {"shared", "per_level"}
        Whether every step has variance Σ, as in the paper, or v_l Σ with v_l learned.
    concentration_prior : (float, float)
        c ~ Gamma(shape, rate).
    precision_prior : (float, float)
        τ ~ Gamma(shape, rate) for the precision of the noise, in standardised units; for a full
        covariance, the inverse Wishart that has these as its one-dimensional margins.
    scale_prior : (float, float)
        1/v_l ~ Gamma(shape, rate).
    discount_prior : (float, float)
        d ~ Beta(a, b).
    concentration, discount : float or None
        Fixed values; None learns them.
    """

    shape: FloatArray
    private_step: bool = False
    covariance_type: CovarianceType = "spherical"
    scales: Scales = "per_level"
    concentration_prior: Gamma = (1.0, 1.0)
    precision_prior: Gamma = (1.0, 1.0)
    scale_prior: Gamma = (1.0, 1.0)
    discount_prior: Gamma = (1.0, 1.0)
    concentration: float | None = None
    discount: float | None = 0.0

    @property
    def depth(self) -> int:
        """Number of levels below the root."""
        return self.shape.size

    @property
    def noise(self) -> float:
        """The variance of a datum around its leaf, in units of Σ.

        With shared scales a private step adds one unit. Per-level scales have no need of a scale
        for it: it cannot be told from the noise.
        """
        return 2.0 if self.private_step and self.scales == "shared" else 1.0

    def first_scales(self, variance: float) -> FloatArray:
        """Return v_l to start from, for noise of the given variance in standardised units."""
        if self.scales == "shared":
            return np.ones(self.depth + 1)
        return np.full(self.depth + 1, max(1.0 / (variance * (self.depth + 1)), 1e-3))
