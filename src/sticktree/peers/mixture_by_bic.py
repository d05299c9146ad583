"""A mixture of normals whose number and form are chosen by BIC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.mixture import GaussianMixture

from sticktree.checks import FloatArray
from sticktree.peers.density import FORMS, DensityPeer, check_forms, integer_seed, largest_number

__all__ = ["GaussianMixtureByBIC", "candidates"]


class GaussianMixtureByBIC(DensityPeer):
    """A mixture of normals: K and the form of the covariances have the lowest BIC.

    Parameters
    ----------
    max_components : int or None, default=None
        The largest K to try; None is 40 with two columns and else 15.
    covariance_types : sequence of {"full", "tied", "diag", "spherical"}
        The forms to try; all of them by default.
    random_state : int, RandomState, Generator or None, default=None
        For the starts; all candidates have the same seed.

    Attributes
    ----------
    mixture_ : sklearn.mixture.GaussianMixture
        The mixture chosen.
    n_components_, covariance_type_ : int, str
        Its K and form.
    bic_ : float
        Its BIC; lower is better.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.peers import GaussianMixtureByBIC
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(8, 1, (30, 2))])
    >>> GaussianMixtureByBIC(max_components=4, random_state=0).fit(X).n_components_
    2
    """

    def __init__(
        self,
        *,
        max_components: int | None = None,
        covariance_types: Sequence[str] = FORMS,
        random_state: Any = None,
    ) -> None:
        self.max_components = max_components
        self.covariance_types = covariance_types
        self.random_state = random_state

    def _fitted(self, rows: FloatArray) -> Any:
        largest = largest_number("max_components", self.max_components, rows)
        forms = check_forms("covariance_types", self.covariance_types)
        seed = integer_seed(self.random_state)
        tried = (mixture.fit(rows) for mixture in candidates(largest, forms, seed))
        self.bic_, self.mixture_ = min(
            ((float(mixture.bic(rows)), mixture) for mixture in tried), key=lambda pair: pair[0]
        )
        self.n_components_: int = self.mixture_.n_components
        self.covariance_type_: str = self.mixture_.covariance_type
        return self.mixture_


def candidates(largest: int, forms: Sequence[str], seed: int) -> Iterator[GaussianMixture]:
    """Yield mixtures of every form and size, not yet fitted."""
    for form in forms:
        for k in range(1, largest + 1):
            yield GaussianMixture(k, covariance_type=form, random_state=seed)
