"""A mixture of normals whose number and form are chosen by rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.model_selection import train_test_split

from sticktree.checks import FloatArray
from sticktree.peers.density import FORMS, DensityPeer, check_forms, integer_seed, largest_number
from sticktree.peers.mixture_by_bic import candidates

__all__ = ["HELD_OUT", "GaussianMixtureHeldOut"]

HELD_OUT = 0.2


class GaussianMixtureHeldOut(DensityPeer):
    """A mixture of normals: K and form do best on a fifth held out; then all rows are fitted.

    On small tables BIC takes so many components that they fit no other rows.

    Parameters
    ----------
    max_components : int or None, default=None
        The largest K to try; None is 40 with two columns and else 15.
    covariance_types : sequence of {"full", "tied", "diag", "spherical"}
        The forms to try; all of them by default.
    random_state : int, RandomState, Generator or None, default=None
        For the rows held out, and the starts.

    Attributes
    ----------
    mixture_ : sklearn.mixture.GaussianMixture
        The mixture chosen, fitted to all rows.
    n_components_, covariance_type_ : int, str
        Its K and form.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.peers import GaussianMixtureHeldOut
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(8, 1, (30, 2))])
    >>> GaussianMixtureHeldOut(max_components=3, random_state=0).fit(X).n_components_
    2
    """

    min_rows = 3

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
        forms = check_forms("covariance_types", self.covariance_types)
        seed = integer_seed(self.random_state)
        learn, check = train_test_split(rows, test_size=HELD_OUT, random_state=seed)
        largest = largest_number("max_components", self.max_components, learn)
        best = max(
            candidates(largest, forms, seed),
            key=lambda mixture: mixture.fit(learn).score(check),
        )
        self.mixture_ = best.fit(rows)
        self.n_components_: int = best.n_components
        self.covariance_type_: str = best.covariance_type
        return self.mixture_
