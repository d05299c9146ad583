"""Can the paper's own figures be reached? What test and training densities there can be.

Two things bound a test density on the planar sets: normals fitted with the true classes given, and
the best of many splits. Training densities have no such bound: they grow with the number of
components.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sticktree.checks import FloatArray
from sticktree.reproduce.splits import make_split, split_rows

__all__ = ["COMPONENTS", "class_normals", "mixture_of"]

COMPONENTS = (5, 10, 20, 40, 80, 160, 320, 640)
N_SPLITS = 60


def class_normals(data: FloatArray, classes: npt.NDArray[Any]) -> dict[str, float]:
    """Return test densities when the class of every training row is told, over 60 splits.

    A mixture with one normal for each class: its share, mean and covariance among training rows.
    """
    found = []
    for split in range(N_SPLITS):
        rows = make_split(data, "standardised", split)
        known = classes[split_rows(len(data), split)[1]]
        found.append(_class_density(rows.train, known, rows.test).mean())
    return {
        "test": float(np.mean(found)),
        "sd": float(np.std(found, ddof=1)),
        "best": float(np.max(found)),
    }


def _class_density(train: FloatArray, classes: npt.NDArray[Any], test: FloatArray) -> FloatArray:
    from scipy.stats import multivariate_normal

    parts = []
    for one in np.unique(classes):
        rows = train[classes == one]
        normal = multivariate_normal(rows.mean(axis=0), np.cov(rows.T))
        parts.append(np.log(len(rows) / len(train)) + normal.logpdf(test))
    return np.asarray(logsumexp(parts, axis=0))


def mixture_of(n_components: int, train: FloatArray, test: FloatArray) -> dict[str, float]:
    """Return test and training density of a mixture of normals with so many components."""
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(n_components, random_state=0).fit(train)
    return {"test": float(mixture.score(test)), "train": float(mixture.score(train))}
