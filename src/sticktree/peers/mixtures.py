"""Mixtures of normals by scikit-learn: given, chosen by BIC or by rows held out, variational."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import train_test_split

from sticktree.checks import FloatArray, check_integer, check_positive
from sticktree.errors import ParameterError
from sticktree.peers.density import (
    FORMS,
    DensityPeer,
    check_forms,
    integer_seed,
    largest_number,
    log_density_of_observed,
)

HELD_OUT = 0.2
MAX_ITERATIONS = 500
LARGEST_CONDITION = 1e12
RIDGE = 1e-6  # scikit-learn's own for covariances


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


class ChosenMixture(DensityPeer):
    """A mixture of normals whose number and form are chosen among many."""

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
        seed = integer_seed(self.random_state)
        forms = check_forms("covariance_types", self.covariance_types)
        self.mixture_ = self._best(rows, forms, seed)
        self.n_components_: int = self.mixture_.n_components
        self.covariance_type_: str = self.mixture_.covariance_type
        return self.mixture_

    @abstractmethod
    def _best(self, rows: FloatArray, forms: Sequence[str], seed: int) -> GaussianMixture:
        """Return the best candidate, fitted to all rows."""

    def _candidates(
        self, rows: FloatArray, forms: Sequence[str], seed: int
    ) -> Iterator[GaussianMixture]:
        """Yield mixtures of every form and size, not yet fitted."""
        largest = largest_number("max_components", self.max_components, rows)
        for form in forms:
            for k in range(1, largest + 1):
                yield GaussianMixture(k, covariance_type=form, random_state=seed)


class GaussianMixtureByBIC(ChosenMixture):
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

    def _best(self, rows: FloatArray, forms: Sequence[str], seed: int) -> GaussianMixture:
        tried = (mixture.fit(rows) for mixture in self._candidates(rows, forms, seed))
        self.bic_, best = min(
            ((float(mixture.bic(rows)), mixture) for mixture in tried), key=lambda pair: pair[0]
        )
        return best


class GaussianMixtureHeldOut(ChosenMixture):
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

    def _best(self, rows: FloatArray, forms: Sequence[str], seed: int) -> GaussianMixture:
        learn, check = train_test_split(rows, test_size=HELD_OUT, random_state=seed)
        return max(
            self._candidates(learn, forms, seed),
            key=lambda mixture: mixture.fit(learn).score(check),
        ).fit(rows)


class VariationalDensity(DensityPeer):
    """A variational mixture, and how its density is taken."""

    normalised: bool

    def _log_density(self, rows: FloatArray) -> FloatArray:
        return log_density_of_variational(self._density, rows, normalised=self.normalised)


class VariationalMixture(VariationalDensity):
    """scikit-learn's variational Dirichlet process mixture of normals.

    Parameters
    ----------
    n_components : int or None, default=None
        Where the process is cut off; None is 40 with two columns and else 15.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Form of the covariances.
    width : float, default=1.0
        Prior of the covariances, in units of the covariance of all rows.
    normalised : bool, default=True
        Whether densities are those of the point estimate, a plain mixture of normals. Else they
        are what scikit-learn's ``score_samples`` returns, for rows without gaps: expected logs
        under the variational posterior, which integrate to less than 1. That costs the mixture
        0.04 nats a row on Aggregation, 0.08 on R15 and 1.3 on Glass.
    random_state : int, RandomState, Generator or None, default=None
        For the start.

    Attributes
    ----------
    mixture_ : sklearn.mixture.BayesianGaussianMixture
        The mixture.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree.peers import VariationalMixture
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> VariationalMixture(n_components=3, random_state=0).fit(X).score_samples(X).shape
    (50,)
    """

    def __init__(
        self,
        *,
        n_components: int | None = None,
        covariance_type: str = "full",
        width: float = 1.0,
        normalised: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.width = width
        self.normalised = normalised
        self.random_state = random_state

    def _fitted(self, rows: FloatArray) -> Any:
        size = largest_number("n_components", self.n_components, rows)
        check_forms("covariance_type", (self.covariance_type,))
        width = check_positive("width", self.width)
        seed = integer_seed(self.random_state)
        self.mixture_ = variational_mixture(size, self.covariance_type, width, rows, seed)
        return self.mixture_


def log_density_of_variational(mixture: Any, rows: FloatArray, *, normalised: bool) -> FloatArray:
    """Return log densities at the point estimate, or those that scikit-learn returns."""
    result = log_density_of_observed(mixture, rows)
    whole = ~np.isnan(rows).any(axis=1)
    if not normalised and whole.any():
        result[whole] = mixture.score_samples(rows[whole])
    return result


def variational_mixture(size: int, form: str, width: float, rows: FloatArray, seed: int) -> Any:
    """Return scikit-learn's mixture, fitted; its own default prior is that of width 1."""
    covariance = width * np.atleast_2d(np.cov(rows.T))
    if np.linalg.cond(covariance) > LARGEST_CONDITION:
        covariance += RIDGE * np.eye(len(covariance))
    if form == "diag":
        prior = np.diag(covariance)
    elif form == "spherical":
        prior = np.diag(covariance).mean()
    else:
        prior = covariance
    return BayesianGaussianMixture(
        n_components=size,
        covariance_type=form,
        covariance_prior=prior,
        max_iter=MAX_ITERATIONS,
        random_state=seed,
    ).fit(rows)


class TunedVariationalMixture(VariationalDensity):
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
            raise ParameterError("widths", self.widths, "at least one number", verb="have")
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
