"""What a fitted mixture says of new rows: density, clusters, draws, what is missing."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import DensityMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.data import Columns
from sticktree.data.sources.dask import is_dask
from sticktree.engine import engine_of
from sticktree.engine.draw import Draw
from sticktree.estimators.chunkwise import chunkwise
from sticktree.estimators.clusters import Clusters
from sticktree.estimators.input import Input
from sticktree.inference.blas import one_thread
from sticktree.inference.seeds import seed_sequence
from sticktree.inference.selection import Selection
from sticktree.posterior.draws import Posterior
from sticktree.posterior.loo import LeaveOneOut, leave_one_out
from sticktree.posterior.prediction import (
    imputed,
    log_predictive,
    sample_imputed,
    sample_predictive,
)
from sticktree.posterior.stack import Stack

__all__ = ["Predictions"]

LOO_DRAWS = 100  # of each chain, that leave-one-out densities are computed from


class Predictions(Clusters, Input, DensityMixin, TransformerMixin):  # type: ignore[misc]
    """The part of a mixture that answers about rows it is shown."""

    covariance_type: str
    columns_: Columns
    selection_: Selection | None

    @chunkwise
    def score_samples(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the log predictive density of every row, in the user's units.

        Of a row with missing entries that is the density of those observed, and 0 if there are
        none. Of a dask array or DataFrame the answer is a dask array, computed when it is asked
        for; so it is with :meth:`predict_proba`, :meth:`predict` and :meth:`transform`.
        """
        if is_dask(X):
            return self._lazily("score_samples", X, np.float64)
        x = self._asked(X)
        with one_thread():
            log_density = log_predictive(x, self.posterior_.draws, self._data, self._model_)
        return np.asarray(log_density + self._preparation.log_units(x))

    def score(self, X: npt.ArrayLike, y: object = None) -> float:  # noqa: N803
        """Return the mean log predictive density of the rows."""
        return float(self.score_samples(X).mean())

    def loo(self) -> LeaveOneOut:
        """Return the leave-one-out predictive density of the data, in the user's units.

        Of every draw it takes the density of each row given all others; Pareto-smoothed importance
        weights turn those into what a fit without the row would have foreseen. Its k-hat says for
        which rows that is not to be trusted.
        """
        check_is_fitted(self)
        units = self._preparation.log_units(self._data)
        chains = []
        with one_thread():
            for chain in self.posterior_.chains:
                size = min(self.posterior_.n_draws, LOO_DRAWS)
                places = np.linspace(0, len(chain) - 1, size).astype(int)
                draws = [chain[k] for k in places]
                predictives = engine_of(self._model_).predictives(draws, self._data, self._model_)
                chains.append([predictive.leave_one_out() + units for predictive in predictives])
        return leave_one_out(np.array(chains))

    def stack(self) -> Stack:
        """Return the models of ``selection_`` as one density, weighted by how well they foresee.

        The weights maximise the leave-one-out density of the mixture. The draws are those of the
        short chains that the choice was made by, so nothing is fitted again.
        """
        check_is_fitted(self)
        if self.selection_ is None:
            raise ValueError(
                'stack needs several models: fit with covariance_type="auto", '
                f"got {self.covariance_type!r}"
            )
        weights = {name: w for name, w in self.selection_.weights.items() if w > 1e-3}
        total = sum(weights.values())
        weights = {name: w / total for name, w in weights.items()}
        return Stack(weights, self.selection_, self._preparation, self._data)

    @chunkwise
    def predict_proba(self, X: npt.ArrayLike, level: int | None = None) -> FloatArray:  # noqa: N803
        """Return the probability of every row to be with each cluster at a level."""
        if is_dask(X):
            width = self._n_clusters(level)
            return self._lazily("predict_proba", X, np.float64, width, level=level)
        x, level = self._asked(X), self._level(level)
        return self._memberships(x, self._labels_at(level), level)

    @chunkwise
    def predict(self, X: npt.ArrayLike, level: int | None = None) -> IntArray:  # noqa: N803
        """Return the most probable cluster of every row at a level."""
        if is_dask(X):
            self._n_clusters(level)
            return self._lazily("predict", X, np.int32, level=level)
        return np.asarray(self.predict_proba(X, level).argmax(axis=1), dtype=np.int32)

    @chunkwise
    def transform(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the soft membership of every row in every cluster, level by level."""
        check_is_fitted(self)
        levels = range(1, self._model_.depth + 1)
        if is_dask(X):
            return self._lazily("transform", X, np.float64, sum(map(self._n_clusters, levels)))
        return np.hstack([self.predict_proba(X, level) for level in levels])

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return a name for every column of ``transform``: level and number of the cluster."""
        check_is_fitted(self)
        names = [
            f"level{level}_{k}"
            for level in range(1, self._model_.depth + 1)
            for k in range(int(self._labels_at(level).max()) + 1)
        ]
        return np.array(names, dtype=object)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw rows from the predictive distribution, in the user's units."""
        check_is_fitted(self)
        n_samples = check_integer("n_samples", n_samples, minimum=1)
        rng = np.random.default_rng(seed_sequence(random_state))
        draws = self.posterior_.draws
        with one_thread():
            rows = sample_predictive(n_samples, rng, draws, self._data, self._model_)
        return self.columns_.decode(self._preparation.restored(rows))

    def impute(
        self,
        X: npt.ArrayLike,  # noqa: N803
        n_draws: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Fill in what is missing (NaN) in every row, given what is observed of it.

        Rows are taken as new ones, also if the mixture was fitted to them.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Rows in the user's units.
        n_draws : int or None, default=None
            None fills in posterior means; k returns k draws of all that is missing, whose spread
            says how uncertain it is.
        random_state : int, RandomState, Generator or None, default=None
            The same seed gives the same draws; means have no need of it.

        Returns
        -------
        array or data frame, shape (n_samples, n_features)
            ``X`` without gaps; counts get their means, categories the likeliest one. Draws are an
            array of shape (n_draws, n_samples, n_features), or a list of data frames.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DFPMixture
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(8, 1, (30, 2))])
        >>> X[:5, 0] = np.nan
        >>> mixture = DFPMixture(n_warmup=200, n_draws=200, random_state=0).fit(X)
        >>> filled = mixture.impute([[np.nan, 0], [np.nan, 8]])
        >>> bool(abs(filled[0, 0]) < 2 and abs(filled[1, 0] - 8) < 2)
        True
        >>> mixture.impute([[np.nan, 0], [np.nan, 8]], n_draws=50, random_state=0).shape
        (50, 2, 2)
        """
        x = self._asked(X)
        draws = self.posterior_.draws
        with one_thread():
            if n_draws is None:
                full = imputed(x, draws, self._data, self._model_)[None]
                full = self._with_categories(x, full)
            else:
                n_draws = check_integer("n_draws", n_draws, minimum=1)
                rng = np.random.default_rng(seed_sequence(random_state))
                full = sample_imputed(n_draws, x, rng, draws, self._data, self._model_)
        # What is observed stays as it came, without rounding.
        given = self.columns_.encode(X)
        tables = [np.where(np.isnan(given), self._preparation.restored(f), given) for f in full]
        index = getattr(X, "index", None)
        decoded = [self.columns_.decode(table, index) for table in tables]
        if n_draws is None:
            return decoded[0]
        return np.array(decoded) if isinstance(decoded[0], np.ndarray) else decoded

    def _with_categories(self, x: FloatArray, full: FloatArray) -> FloatArray:
        """Replace means of missing categories by the likeliest one, by a vote of many draws."""
        codes = [k for k, kind in enumerate(self.columns_.kinds) if kind == "categorical"]
        if not np.isnan(x[:, codes]).any():
            return full
        rng = np.random.default_rng(0)
        votes = sample_imputed(101, x, rng, self.posterior_.draws, self._data, self._model_)
        for k in codes:
            counts = [
                (votes[:, :, k] == c).sum(axis=0) for c in range(self.columns_.n_categories[k])
            ]
            full[0, :, k] = np.argmax(counts, axis=0)
        return full

    def _n_clusters(self, level: int | None) -> int:
        """Return the number of clusters at a level, which are known from then on."""
        check_is_fitted(self)
        return int(self._labels_at(self._level(level)).max()) + 1

    def _lazily(
        self,
        method: str,
        X: Any,  # noqa: N803
        dtype: npt.DTypeLike,
        width: int | None = None,
        **options: Any,
    ) -> npt.NDArray[Any]:
        """Return what a method says of each partition of a Dask collection, as a dask array."""
        from sticktree.data.sources.dask.lazy import map_rows

        check_is_fitted(self)
        answer = partial(getattr(self._travelling(method != "score_samples"), method), **options)
        lazy: npt.NDArray[Any] = map_rows(X, answer, dtype, width)  # as good as one
        return lazy

    def _travelling(self, with_labels: bool) -> Self:
        """Return a copy with no more than answers need, to be sent to workers."""
        light = copy(self)
        for name in ("_runs", "tree_", "confidence_"):
            light.__dict__.pop(name, None)
        light.selection_ = None
        draws = self.posterior_.draws
        if not with_labels and draws and "sums_n" in draws[0].parameters:
            chains = [[_without_labels(d) for d in chain] for chain in self.posterior_.chains]
            light.posterior_ = Posterior(chains, self._model_.depth)
            light._data = self._data[:0]
        return light

    def _asked(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return rows that are asked about, in the units of the engine."""
        check_is_fitted(self)
        return self._preparation.standardised(self._read(X, reset=False).values)


def _without_labels(draw: Draw) -> Draw:
    return replace(draw, leaf=draw.leaf[:0]) if draw.counts is not None else draw
