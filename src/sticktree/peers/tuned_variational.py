"""scikit-learn's variational mixture with its settings chosen by rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from sklearn.model_selection import train_test_split

from sticktree.checks import FloatArray, check_positive
from sticktree.peers.density import DensityPeer, check_forms, integer_seed, largest_number
from sticktree.peers.mixture_held_out import HELD_OUT
from sticktree.peers.variational import log_density_of_variational, variational_mixture

__all__ = ["TunedVariationalMixture"]


class TunedVariationalMixture(DensityPeer):
    """The variational mixture that does best on a fifth held out; then all rows are fitted.

    Parameters
    ----------
    max_components : int or None, default=None
        The larger of the two sizes to try; the other is a fifth of it. None is 40 with two columns
        and else 15.
    covariance_types : sequence of {"full", "tied", "diag", "spherical"}
        The forms to try; by default all but the last.
    widths : sequence of float, default=(1.0, 0.1, 0.01)
        The priors of the covariances to try, in units of the covariance of all rows.
    normalised : bool, default=True
        As in :class:`VariationalMixture`; settings are chosen by the same densities.
    random_state : int, RandomState, Generator or None, default=None
        For the rows held out, and the starts.

    Attributes
    ----------
    mixture_ : sklearn.mixture.BayesianGaussianMixture
        The mixture chosen, fitted to all rows.
    n_components_, covariance_type_, width_ : int, str, float
        Its settings.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.peers import TunedVariationalMixture
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> mixture = TunedVariationalMixture(max_components=5, widths=(1.0, 0.1), random_state=0)
    >>> mixture.fit(X).n_components_ in (1, 5)
    True
    """

    min_rows = 4

    def __init__(
        self,
        *,
        max_components: int | None = None,
        covariance_types: Sequence[str] = ("full", "tied", "diag"),
        widths: Sequence[float] = (1.0, 0.1, 0.01),
        normalised: bool = True,
        random_state: Any = None,
    ) -> None:
        self.max_components = max_components
        self.covariance_types = covariance_types
        self.widths = widths
        self.normalised = normalised
        self.random_state = random_state

    def _fitted(self, rows: FloatArray) -> Any:
        forms = check_forms("covariance_types", self.covariance_types)
        widths = [check_positive("widths", width) for width in self.widths]
        if not widths:
            raise ValueError(f"widths must have at least one number, got {self.widths!r}")
        seed = integer_seed(self.random_state)
        learn, check = train_test_split(rows, test_size=HELD_OUT, random_state=seed)
        largest = largest_number("max_components", self.max_components, learn)
        sizes = sorted({max(largest // 5, 1), largest})

        def score(setting: tuple[int, str, float]) -> float:
            mixture = variational_mixture(*setting, rows=learn, seed=seed)
            densities = log_density_of_variational(mixture, check, normalised=self.normalised)
            return float(densities.mean())

        best = max(product(sizes, forms, widths), key=score)
        self.n_components_, self.covariance_type_, self.width_ = best
        self.mixture_ = variational_mixture(*best, rows=rows, seed=seed)
        return self.mixture_

    def _log_density(self, rows: FloatArray) -> FloatArray:
        return log_density_of_variational(self.mixture_, rows, normalised=self.normalised)
