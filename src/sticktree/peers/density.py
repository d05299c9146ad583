"""What all densities of the peers have in common: how rows are read, and gaps integrated out."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.utils.validation import check_is_fitted, validate_data

from sticktree.blas import one_thread
from sticktree.checks import (
    FloatArray,
    check_integer,
    check_not_infinite,
    check_observed,
    is_integer,
)
from sticktree.errors import ParameterError
from sticktree.inference.runner import seed_sequence

FORMS = ("full", "tied", "diag", "spherical")


class DensityPeer(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A density of scikit-learn, with gaps in rows.

    For fitting, the mean of what is observed of a column stands in for its NaN; in asking, what a
    row lacks is integrated out.
    """

    min_rows = 2

    @abstractmethod
    def _fitted(self, rows: FloatArray) -> Any:
        """Return scikit-learn's density of rows without gaps."""

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: N803
        """Learn the density of the rows of ``X``.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            The rows; NaN is missing.
        y : object
            Not used.
        """
        rows = self._read(X, reset=True)
        check_observed("X", rows, getattr(self, "feature_names_in_", None))
        with one_thread(), warnings.catch_warnings():
            # Among many candidates some do not converge; ``converged_`` tells of the one chosen.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._density = self._fitted(with_means(rows))
        return self

    def score_samples(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the log density of every row, or of what is observed of it."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        with one_thread():
            return self._log_density(rows)

    def score(self, X: npt.ArrayLike, y: object = None) -> float:  # noqa: N803
        """Return the mean log density of the rows."""
        return float(self.score_samples(X).mean())

    def _log_density(self, rows: FloatArray) -> FloatArray:
        return log_density_of_observed(self._density, rows)

    def _read(self, X: npt.ArrayLike, *, reset: bool) -> FloatArray:  # noqa: N803
        least = self.min_rows if reset else 1
        rows = validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=least,
        )
        return check_not_infinite("X", rows)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is a density."""
        return hasattr(self, "_density")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that entries may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def integer_seed(random_state: Any) -> int:
    """Return one seed for all candidates, so that they start alike; an integer stays itself."""
    if is_integer(random_state):
        return check_integer("random_state", random_state, minimum=0)
    return int(seed_sequence(random_state).generate_state(1)[0])


def largest_number(name: str, value: Any, rows: FloatArray) -> int:
    """Return how many components to allow; by default 40 in the plane and else 15."""
    if value is None:
        value = 40 if rows.shape[1] == 2 else 15
    return min(check_integer(name, value, minimum=1), len(rows))


def check_forms(name: str, forms: Any) -> tuple[str, ...]:
    """Return forms of covariances as a tuple, or raise if one is not known."""
    known = ", ".join(f'"{form}"' for form in FORMS)
    if isinstance(forms, str) or not len(forms) or not set(forms) <= set(FORMS):
        raise ParameterError(name, forms, f"a sequence of {known}")
    return tuple(forms)


LOG_TWO_PI = float(np.log(2 * np.pi))


def with_means(rows: FloatArray) -> FloatArray:
    """Return the rows with the mean of what is observed of a column in place of its NaN."""
    return np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)


def log_density_of_observed(density: Any, rows: FloatArray) -> FloatArray:
    """Return the log density of each row's entries that are not NaN; 0 if there are none.

    ``density`` is one of scikit-learn's: normals, or Gaussian kernels. Those of its variational
    mixture are taken at its point estimate.
    """
    result = np.zeros(len(rows))
    # What the variational mixture itself returns is no density: it integrates to less than 1.
    is_density = not isinstance(density, BayesianGaussianMixture)
    for which, seen in _patterns(rows):
        if seen.all() and is_density:
            result[which] = density.score_samples(rows[which])
        elif seen.any():
            result[which] = _log_marginal(density, rows[np.ix_(which, seen)], seen)
    return result


def exact_kernels(bandwidth: float, rows: FloatArray) -> KernelDensity:
    """Return scikit-learn's density of Gaussian kernels, with a tree of a single leaf.

    Larger trees lose all digits far from the rows: with the default one, mean log densities on
    Glass and CCLE come out up to 30 nats too high for narrow kernels, which then look good.
    """
    return KernelDensity(bandwidth=bandwidth, leaf_size=len(rows) + 1).fit(rows)


def _patterns(
    rows: FloatArray,
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]]:
    """Yield the rows that lack the same entries, and which entries they have."""
    patterns, of_row = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
    for k, seen in enumerate(patterns):
        yield np.flatnonzero(of_row.reshape(-1) == k), seen


def _log_marginal(density: Any, rows: FloatArray, seen: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the log density of rows of some columns."""
    if isinstance(density, KernelDensity):
        # Round kernels: without a column, they are the kernels of the other columns.
        kernels = exact_kernels(density.bandwidth_, np.asarray(density.tree_.data)[:, seen])
        return np.asarray(kernels.score_samples(rows))
    covariances = _covariances(density)[:, seen][:, :, seen]
    factors = np.linalg.cholesky(covariances)
    log_volumes = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    log_joint = np.empty((len(rows), len(factors)))
    for k, (factor, mean) in enumerate(zip(factors, density.means_[:, seen], strict=True)):
        z = np.linalg.solve(factor, (rows - mean).T)
        log_joint[:, k] = -0.5 * (z**2).sum(axis=0) - log_volumes[k]
    with np.errstate(divide="ignore"):  # a component may have weight 0
        log_joint += np.log(density.weights_)
    return np.asarray(logsumexp(log_joint, axis=1) - 0.5 * seen.sum() * LOG_TWO_PI)


def _covariances(mixture: Any) -> FloatArray:
    """Return the full covariance of every component."""
    n, dimension = mixture.means_.shape
    found, identity = np.asarray(mixture.covariances_), np.eye(dimension)
    match mixture.covariance_type:
        case "full":
            return found
        case "tied":
            return np.broadcast_to(found, (n, dimension, dimension))
        case "diag":
            return found[:, :, None] * identity
        case _:
            return found[:, None, None] * identity
