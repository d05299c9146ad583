"""The density estimators of the table, each with all that its result depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import sklearn
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

import sticktree
from benchmarks.density.fingerprint import code_digest
from sticktree import DFPMixture, DPMixture
from sticktree.checks import FloatArray

OURS = "DFPMixture"
N_METHODS = 4
COVARIANCES = ("full", "tied", "diag", "spherical")
# Fine: steps of a fifth cost kernels up to 0.03 nats on R15, and that would flatter us.
BANDWIDTHS = np.geomspace(0.02, 1.0, 60)
NOT_IN_RESULTS = {"n_jobs", "progress", "random_state", "checkpoint", "warm_start", "level"}


class Density(Protocol):
    def score_samples(self, data: FloatArray, /) -> FloatArray: ...


@dataclass(frozen=True)
class Method:
    """``fit(train, seed)`` gives a density; ``settings`` and the data determine its result."""

    name: str
    settings: str
    fit: Callable[[FloatArray, int], Density]


def methods(dimension: int, draws: int | None = None) -> dict[str, Method]:
    """Return the methods for data of a dimension; ``draws`` is for warm-up sweeps and draws."""
    largest = 40 if dimension == 2 else 15
    peers = f"scikit-learn {sklearn.__version__}"
    length: dict[str, Any] = {} if draws is None else {"n_warmup": draws, "n_draws": draws}
    known = [
        sampled(OURS, DFPMixture(n_jobs=1, progress=False, **length)),
        sampled("DPMixture (depth 1)", DPMixture(n_jobs=1, progress=False, **length)),
        Method(
            "GMM by BIC",
            f"{peers}, K ≤ {largest}, {'/'.join(COVARIANCES)}",
            lambda train, seed: mixture_by_bic(train, largest, seed),
        ),
        Method(
            "KDE cross-validated",
            f"{peers}, 5 folds, {len(BANDWIDTHS)} bandwidths "
            f"from {BANDWIDTHS[0]:.3g} to {BANDWIDTHS[-1]:.3g}",
            kernels_by_folds,
        ),
    ]
    return {method.name: method for method in known}


def sampled(name: str, estimator: DFPMixture) -> Method:
    parameters = {k: v for k, v in estimator.get_params().items() if k not in NOT_IN_RESULTS}

    def fit(train: FloatArray, seed: int) -> Density:
        fitted: Density = estimator.set_params(random_state=seed).fit(train)
        return fitted

    settings = f"sticktree {sticktree.__version__}, code {code_digest()}, {parameters}"
    return Method(name, settings, fit)


def mixture_by_bic(train: FloatArray, largest: int, seed: int) -> Density:
    """Return the mixture of normals with K and the form of its covariances chosen by BIC."""
    fitted = (
        GaussianMixture(k, covariance_type=form, random_state=seed).fit(train)
        for form in COVARIANCES
        for k in range(1, largest + 1)
    )
    best: Density = min(fitted, key=lambda mixture: mixture.bic(train))
    return best


def kernels_by_folds(train: FloatArray, seed: int) -> Density:
    """Return the Gaussian kernel density with its bandwidth chosen by five-fold likelihood."""
    folds = KFold(5, shuffle=True, random_state=seed)
    search = GridSearchCV(KernelDensity(), {"bandwidth": BANDWIDTHS}, cv=folds)
    best: Density = search.fit(train).best_estimator_
    return best
