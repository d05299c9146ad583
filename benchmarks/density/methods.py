"""The density estimators of the table, each with all that its result depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
import sklearn
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.neighbors import KernelDensity
from sklearn.utils import get_tags

import sticktree
from benchmarks.density.fingerprint import code_digest
from sticktree import DFPMixture, DPMixture
from sticktree.checks import FloatArray

OURS = "DFPMixture"
OUR_SETTINGS: tuple[tuple[str, type[DFPMixture], dict[str, Any]], ...] = (
    (OURS, DFPMixture, {}),
    ("DPMixture (depth 1)", DPMixture, {}),
    ("DFPMixture, shared noise", DFPMixture, {"leaf_noise": "shared"}),
)
"""Name, estimator and parameters. By default the data choose the noise; the last is for the plane,
where the default must be no worse than shared noise."""
COVARIANCES = ("full", "tied", "diag", "spherical")
# Fine: steps of a fifth cost kernels up to 0.03 nats on R15, and that would flatter us.
BANDWIDTHS = np.geomspace(0.02, 1.0, 60)
FORMS_TRIED = ("full", "tied", "diag")
WIDTHS_TRIED = (1.0, 0.1, 0.01)
NOT_IN_RESULTS = {"n_jobs", "progress", "random_state", "checkpoint", "warm_start", "level"}


class Density(Protocol):
    def score_samples(self, data: FloatArray, /) -> FloatArray: ...


@dataclass(frozen=True)
class Method:
    """``fit(train, seed)`` gives a density; ``settings`` and the data determine its result."""

    name: str
    settings: str
    fit: Callable[[FloatArray, int], Density]
    takes_gaps: bool = False


def methods(dimension: int, draws: int | None = None, *, gaps: bool = False) -> dict[str, Method]:
    """Return the methods for data of a dimension; ``draws`` is for warm-up sweeps and draws.

    With ``gaps`` in the data, ours must take them; others are scored with gaps integrated out.
    """
    largest = 40 if dimension == 2 else 15
    peers = f"scikit-learn {sklearn.__version__}"
    length: dict[str, Any] = {} if draws is None else {"n_warmup": draws, "n_draws": draws}
    known = [
        *ours(length, dimension, gaps=gaps),
        Method(
            "GMM by BIC",
            f"{peers}, K ≤ {largest}, {'/'.join(COVARIANCES)}",
            lambda train, seed: mixture_by_bic(train, largest, seed),
        ),
        Method(
            "GMM by a fifth held out",
            f"{peers}, K ≤ {largest}, {'/'.join(COVARIANCES)}",
            lambda train, seed: mixture_by_part(train, largest, seed),
        ),
        Method(
            "KDE cross-validated",
            f"{peers}, 5 folds, {len(BANDWIDTHS)} bandwidths "
            f"from {BANDWIDTHS[0]:.3g} to {BANDWIDTHS[-1]:.3g}",
            kernels_by_folds,
        ),
        Method(
            "BayesianGaussianMixture",
            f"{peers}, K = {largest}",
            lambda train, seed: variational(train, largest, seed),
        ),
        Method(
            "BayesianGaussianMixture tuned",
            f"{peers}, K = {largest // 5} or {largest}, {'/'.join(FORMS_TRIED)}, covariance prior "
            f"times {'/'.join(map(str, WIDTHS_TRIED))}, by a fifth held out",
            lambda train, seed: tuned_variational(train, largest, seed),
        ),
    ]
    return {method.name: method for method in known}


def ours(length: dict[str, Any], dimension: int, *, gaps: bool) -> Iterator[Method]:
    """Yield our settings for data of a dimension, and that take gaps where there are any."""
    for name, estimator, parameters in OUR_SETTINGS[: None if dimension == 2 else -1]:
        mixture = estimator(n_jobs=1, progress=False, **length)
        method = sampled(name, mixture.set_params(**parameters))
        if method.takes_gaps or not gaps:
            yield method


def sampled(name: str, estimator: DFPMixture) -> Method:
    parameters = {k: v for k, v in estimator.get_params().items() if k not in NOT_IN_RESULTS}

    def fit(train: FloatArray, seed: int) -> Density:
        fitted: Density = estimator.set_params(random_state=seed).fit(train)
        return fitted

    settings = f"sticktree {sticktree.__version__}, code {code_digest()}, {parameters}"
    return Method(name, settings, fit, get_tags(estimator).input_tags.allow_nan)


def mixture_by_bic(train: FloatArray, largest: int, seed: int) -> Density:
    """Return the mixture of normals with K and the form of its covariances chosen by BIC."""
    fitted = (
        GaussianMixture(k, covariance_type=form, random_state=seed).fit(train)
        for form in COVARIANCES
        for k in range(1, largest + 1)
    )
    best: Density = min(fitted, key=lambda mixture: mixture.bic(train))
    return best


def mixture_by_part(train: FloatArray, largest: int, seed: int) -> Density:
    """Return the mixture of normals that does best on a fifth held out, fitted to all rows.

    On small tables BIC takes so many components that they fit no other rows.
    """
    learn, check = train_test_split(train, test_size=0.2, random_state=seed)
    mixtures = [
        GaussianMixture(k, covariance_type=form, random_state=seed)
        for form in COVARIANCES
        for k in range(1, largest + 1)
    ]
    best = max(mixtures, key=lambda mixture: mixture.fit(learn).score(check))
    fitted: Density = best.fit(train)
    return fitted


def kernels_by_folds(train: FloatArray, seed: int) -> Density:
    """Return the Gaussian kernel density with its bandwidth chosen by five-fold likelihood."""
    folds = KFold(5, shuffle=True, random_state=seed)
    search = GridSearchCV(KernelDensity(), {"bandwidth": BANDWIDTHS}, cv=folds)
    best: Density = search.fit(train).best_estimator_
    return best


def variational(
    train: FloatArray, n_components: int, seed: int, form: str = "full", width: float = 1.0
) -> Density:
    """Return scikit-learn's variational mixture; its default prior has the covariance of all."""
    covariance = width * np.cov(train.T)
    fitted: Density = BayesianGaussianMixture(
        n_components=n_components,
        covariance_type=form,
        covariance_prior=np.diag(covariance) if form == "diag" else covariance,
        max_iter=500,
        random_state=seed,
    ).fit(train)
    return fitted


def tuned_variational(train: FloatArray, largest: int, seed: int) -> Density:
    """Return the variational mixture with the settings that do best on a fifth held out."""
    learn, check = train_test_split(train, test_size=0.2, random_state=seed)
    settings = product((largest // 5, largest), (seed,), FORMS_TRIED, WIDTHS_TRIED)
    best = max(
        settings, key=lambda setting: variational(learn, *setting).score_samples(check).mean()
    )
    return variational(train, *best)
