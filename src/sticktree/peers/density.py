"""What all densities of the peers have in common: how rows are read, and gaps."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from sticktree.checks import (
    FloatArray,
    check_integer,
    check_not_infinite,
    check_observed,
    is_integer,
)
from sticktree.inference.blas import one_thread
from sticktree.inference.seeds import seed_sequence
from sticktree.peers.observed import log_density_of_observed, with_means

__all__ = ["DensityPeer", "check_forms", "integer_seed", "largest_number"]

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
    """Return forms of covariances as a tuple, or say which of them is none."""
    known = ", ".join(f'"{form}"' for form in FORMS)
    if isinstance(forms, str) or not len(forms):
        raise ValueError(f"{name} must be a sequence of {known}, got {forms!r}")
    for form in forms:
        if form not in FORMS:
            raise ValueError(f"{name} must be a sequence of {known}, got {forms!r}")
    return tuple(forms)
