"""A mixture of a given number of normals."""

from __future__ import annotations

from typing import Any

from sklearn.mixture import GaussianMixture

from sticktree.checks import FloatArray, check_integer
from sticktree.peers.density import DensityPeer, check_forms, integer_seed

__all__ = ["FixedGaussianMixture"]


class FixedGaussianMixture(DensityPeer):
    """A mixture of a given number of normals, by maximum likelihood.

    With full covariances, five components give the figures of the paper's "GMM" on its data in
    the plane, and three that on CCLE.

    Parameters
    ----------
    n_components : int, default=5
        Number of normals.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Form of their covariances.
    random_state : int, RandomState, Generator or None, default=None
        For the start.

    Attributes
    ----------
    mixture_ : sklearn.mixture.GaussianMixture
        The mixture.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sticktree.peers import FixedGaussianMixture
    >>> mixture = FixedGaussianMixture(n_components=1).fit([[-1.0], [1.0]])
    >>> mixture.score_samples([[0.0]]).round(3)
    array([-0.919])
    """

    def __init__(
        self,
        *,
        n_components: int = 5,
        covariance_type: str = "full",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.random_state = random_state

    def _fitted(self, rows: FloatArray) -> Any:
        size = check_integer("n_components", self.n_components, minimum=1)
        check_forms("covariance_type", (self.covariance_type,))
        self.mixture_ = GaussianMixture(
            size,
            covariance_type=self.covariance_type,
            random_state=integer_seed(self.random_state),
        ).fit(rows)
        return self.mixture_
