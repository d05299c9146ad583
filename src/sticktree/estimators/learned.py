"""What a fitted mixture has learned: attributes that are read from the result of its fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin, TransformerMixin

from sticktree.checks import FloatArray, IntArray
from sticktree.data import Columns
from sticktree.data.factors import Factors
from sticktree.data.loadings import Loadings
from sticktree.display import html
from sticktree.fit import Averaging, Fit
from sticktree.inference.course import Course
from sticktree.inference.drift import Stream
from sticktree.inference.parameters import PARAMETERS
from sticktree.inference.selection import Selection
from sticktree.posterior.composition import Composition
from sticktree.posterior.draws import Diagnosis, Posterior
from sticktree.posterior.number import NumberOfClusters
from sticktree.posterior.predictive import PosteriorPredictive
from sticktree.posterior.stacking import Stack
from sticktree.tree import Tree

MOST_NAMED = 100_000  # rows of a fit whose features are named in its diagram


class Learned(ClusterMixin, DensityMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The attributes of a mixture that has been fitted, all of them read from ``fit_``.

    Attributes
    ----------
    fit_ : Fit
        The result of the fit; there is none before.
    """

    fit_: Fit
    progress: bool | None
    averaging: str

    # ---- what was learned ------------------------------------------------------------------------

    @property
    def posterior_(self) -> Posterior:
        """All draws."""
        return self.fit_.posterior

    @property
    def tree_(self) -> Tree:
        """The consensus of all draws."""
        return self.fit_.tree

    @property
    def cluster_tree_(self) -> Tree:
        """The tree of the posterior walk, whose cuts are the clusters."""
        return self.fit_.cluster_tree

    @property
    def level_(self) -> int:
        """The level of the draws' trees that the walk steps in most often."""
        return self.fit_.level

    @property
    def labels_(self) -> IntArray:
        """The cluster of each row."""
        return self.fit_.labels

    @property
    def n_clusters_(self) -> int:
        """Number of clusters in ``labels_``."""
        return self.fit_.cut.n_clusters

    @property
    def number_of_clusters_(self) -> NumberOfClusters:
        """How many clusters parts of the draws have: P(k)."""
        return self.fit_.number_of_clusters

    @property
    def membership_(self) -> FloatArray:
        """Probability of each row to be in each cluster."""
        return self.fit_.membership

    @property
    def confidence_(self) -> FloatArray:
        """Probability of each row to be in its own cluster."""
        return self.fit_.confidence

    @property
    def diagnosis_(self) -> Diagnosis:
        """Whether the answer is settled; R-hat and effective sample sizes."""
        return self.fit_.diagnosis

    @property
    def course_(self) -> Course:
        """How sampling went."""
        return self.fit_.sampled.course

    @property
    def n_draws_(self) -> int:
        """Draws of each chain that are kept."""
        return self.fit_.posterior.n_draws

    @property
    def n_iter_(self) -> int:
        """Sweeps of the longest chain, warm-up included."""
        return max((run.n_sweeps for run in self.fit_.sampled.runs), default=0)

    @property
    def depth_(self) -> int:
        """The depth of the model that was fitted."""
        return self.fit_.depth

    @property
    def covariance_type_(self) -> str:
        """The form of the covariance of the model that was fitted."""
        return self.fit_.model.covariance_type

    @property
    def leaf_noise_(self) -> str:
        """Whether leaves share their noise in the model that was fitted."""
        return self.fit_.model.leaf_noise

    @property
    def algorithm_(self) -> str:
        """The sampler that was used."""
        return self.fit_.training.algorithm

    @property
    def selection_(self) -> Selection | None:
        """The models it was chosen from."""
        return self.fit_.selection

    @property
    def composition_(self) -> Composition:
        """The share of every cluster in each group, with intervals; only if there are groups."""
        return self.fit_.composition

    @property
    def group_similarity_(self) -> FloatArray:
        """Posterior mean of the overlap of the shares of each two groups."""
        return self.fit_.composition.similarity()

    @property
    def group_labels_(self) -> IntArray:
        """Clusters of groups whose shares are alike."""
        found = self.fit_.composition
        return found.labels()[: len(found.groups) - found.n_parents]

    @property
    def predictive_(self) -> PosteriorPredictive | Stack:
        """The predictive distribution of the next row, in standardised units."""
        return self.fit_.predictive(self._averaging)

    @property
    def columns_(self) -> Columns:
        """Names and kinds of the columns."""
        return self.fit_.columns

    @property
    def factors_(self) -> Factors | None:
        """What makes all columns of a few scores, if the fit has factors."""
        return self.fit_.training.factors

    @property
    def n_factors_(self) -> int:
        """Number of factors; 0 if the fit has none."""
        return 0 if self.factors_ is None else self.factors_.n_factors

    @property
    def loadings_(self) -> Loadings:
        """By how much each column grows with each factor, in the user's units."""
        return Loadings.of(self._factors("loadings_"), self.fit_.training.scaling)

    @property
    def factor_scores_(self) -> FloatArray:
        """The scores of the rows of the fit: what clusters were sought in."""
        self._factors("factor_scores_")
        return self.fit_.training.scores()

    def _factors(self, asker: str) -> Factors:
        if self.factors_ is None:
            raise AttributeError(
                f'{asker} is for fits with factors, got none: with factors="auto" there are some '
                "where rows are few for the columns, and a number asks for so many"
            )
        return self.factors_

    @property
    def stream_(self) -> Stream:
        """The batches that :meth:`partial_fit` has taken in."""
        if self.fit_.stream is None:
            raise AttributeError("stream_ is for mixtures that were fitted by partial_fit")
        return self.fit_.stream

    @property
    def data_(self) -> FloatArray:
        """The rows of the fit as numbers: categories are codes, lognormal columns logarithms."""
        if not self.fit_.training.in_memory:
            raise AttributeError(
                "data_ is for fits of rows in memory; the rows of this one are elsewhere, and "
                "rows_at_hand() has some of them"
            )
        return self.fit_.training.table()

    def rows_at_hand(self) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """Return numbers of rows of the fit, and these rows as in ``data_``.

        They are all rows, or a sample if the rows of the fit are not in memory.
        """
        return self.fit_.training.at_hand()

    @property
    def _averaging(self) -> Averaging:
        """What answers about densities, as it is set now."""
        checked: Averaging = PARAMETERS["averaging"].check(self.averaging)
        return checked

    # ---- scikit-learn ----------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are draws."""
        return hasattr(self, "fit_")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that entries may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram with a summary of the fit beneath."""
        with self._without_names_of_many():
            return str(super()._repr_html_inner() + html("fit", self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return the same as a front end prefers it; only text, if scikit-learn is set to that."""
        with self._without_names_of_many():
            bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += html("fit", self)
        return bundle

    @contextmanager
    def _without_names_of_many(self) -> Iterator[None]:
        """Let scikit-learn's diagram of very many rows do without the names of new features.

        To name them takes flat clusters at every level, some seconds each. The diagram takes an
        error as none to show.
        """
        slow = hasattr(self, "fit_") and self.fit_.training.n_data > MOST_NAMED
        if slow:
            self.__dict__["get_feature_names_out"] = None
        try:
            yield
        finally:
            if slow:
                del self.__dict__["get_feature_names_out"]
