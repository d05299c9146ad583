"""A fitted mixture: clusters of its rows, what makes them, and answers about new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from sticktree.checks import FloatArray, IntArray, check_integer
from sticktree.data.groups import take_column
from sticktree.errors import ParameterError
from sticktree.estimators.learned import Learned
from sticktree.estimators.reading import chunkwise, is_dask, lazily, read_rows
from sticktree.inference.compiling import compile_for_answers
from sticktree.inference.runner import seed_sequence
from sticktree.model import Model
from sticktree.posterior.composition import Composition, Contrasts
from sticktree.posterior.group_gain import GroupGain
from sticktree.posterior.loo import LeaveOneOut
from sticktree.posterior.markers import Markers
from sticktree.posterior.relevance import Relevance
from sticktree.posterior.stacking import Stack


class FittedMixture(Learned):
    """A mixture that has been fitted, to be asked about its rows and about new ones."""

    # ---- the rows of the fit ---------------------------------------------------------------------

    def cluster(
        self,
        n_clusters: int | None = None,
        *,
        method: Literal["walk", "loss"] = "walk",
        strays: Literal["join", "label"] = "join",
        level: int | None = None,
        loss: Literal["vi", "binder"] | None = None,
        nested: bool = False,
    ) -> IntArray:
        """Return flat clusters of the rows of the fit.

        Parameters
        ----------
        n_clusters : int or None, default=None
            How many; None is the number of ``labels_``, or with ``method="loss"`` that of least
            loss.
        method : {"walk", "loss"}, default="walk"
            "walk" cuts ``cluster_tree_``: rows are together if chains of co-clustering connect
            them, so a bent cluster that draws cover by many leaves is one. "loss" is the partition
            of least posterior expected loss, which is as fine as the draws' own.
        strays : {"join", "label"}, default="join"
            What becomes of small branches that are apart from all clusters: each joins the nearest
            one, or its rows are labelled −1.
        level : int or None, default=None
            Level of the draws' trees. None leaves it to the draws: the walk steps in the deepest
            that has at most about 4 √N nodes; with ``method="loss"`` it is the one on whose
            clusters the draws agree best, or whose number of branches is nearest to ``n_clusters``.
        loss : {"vi", "binder"} or None, default=None
            With ``method="loss"``: variation of information, the default, or Binder's loss, pairs
            on which two clusterings disagree.
        nested : bool, default=False
            With ``method="loss"``: only cuts of ``tree_``, so that each cluster is one of its
            branches.

        Returns
        -------
        int array, shape (n_samples,)
            Numbered from 0, in the order of the tree.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DFPMixture
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(8, 1, (30, 2))])
        >>> mixture = DFPMixture(n_warmup=200, n_draws=200, random_state=0).fit(X)
        >>> np.bincount(mixture.cluster(n_clusters=2))
        array([30, 30])
        """
        check_is_fitted(self)
        return self.fit_.cluster(n_clusters, method, strays, level, loss, nested)

    def membership(self, n_clusters: int | None = None) -> FloatArray:
        """Return the probability of each row of the fit to be in each cluster.

        It is where a step of the walk from that row leads: to a random row of its own branch in a
        random draw.

        Parameters
        ----------
        n_clusters : int or None, default=None
            For the clusters of :meth:`cluster`, so many; None is for ``labels_``, as
            ``membership_``.
        """
        check_is_fitted(self)
        return self.fit_.membership if n_clusters is None else self.fit_.membership_in(n_clusters)

    def coclustering(
        self, rows: npt.ArrayLike | None = None, level: int | None = None
    ) -> npt.NDArray[np.float32]:
        """Return the posterior probability of each pair of rows to be in one cluster at a level.

        Parameters
        ----------
        rows : array of int or None, default=None
            The rows of the fit to compare; None is all.
        level : int or None, default=None
            Level of the draws' trees; None is ``level_``.
        """
        check_is_fitted(self)
        return self.fit_.coclustering(rows, level)

    def meeting_times(self, rows: npt.ArrayLike | None = None) -> npt.NDArray[np.float32]:
        """Return the posterior mean of the level at which each pair of rows meets."""
        check_is_fitted(self)
        return self.fit_.meeting_times(rows)

    def markers(self, labels: npt.ArrayLike | None = None, n_top: int | None = None) -> Markers:
        """Return what makes each cluster: in which columns it differs from all other rows.

        Of numbers these are means and the difference in standard deviations within (Cohen's d), of
        categories shares and Cohen's h, each with a 94 % interval and the posterior probability of
        its direction. Clusters were made from these columns, so that the probabilities describe
        them and are no test of whether there are clusters.

        Parameters
        ----------
        labels : sequence, length n_samples, or None, default=None
            Clusters of the rows, of any kind; −1, None and NaN are strays, which are among the
            others of every cluster. None is the clusters of the fit.
        n_top : int or None, default=None
            Lines of each cluster, those with the most evidence first; None is one for each column.

        Returns
        -------
        Markers
            ``print`` it, or take ``to_frame()``, ``to_csv(path)``, ``top(n)``. Of rows that are not
            in memory it rests on the sample that the fit has kept of them.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DFPMixture
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(8, 1, (30, 2))])
        >>> mixture = DFPMixture(n_warmup=200, n_draws=200, random_state=0).fit(X)
        >>> first = mixture.markers(labels=["low"] * 30 + ["top"] * 30, n_top=1).table[0]
        >>> first["cluster"], first["direction"], first["evidence"] > 0.999
        ('low', 'lower', True)
        """
        check_is_fitted(self)
        return self.fit_.markers(labels, n_top)

    def relevance(
        self,
        labels: npt.ArrayLike | None = None,
        *,
        n_clusters: int | None = None,
        level: int | None = None,
        n_top: int | None = None,
        of: Literal["columns", "factors"] = "columns",
    ) -> Relevance:
        """Return which columns carry the clusters: how much of their variance is between these.

        Of every draw, each branch at the level of the walk is put into the cluster that most of its
        rows are in; then a column has a share of its variance between the clusters (of categories,
        of Gini's diversity). The table has the mean of that share and a 94 % interval over draws,
        and what a column that has nothing to do with the clusters would have on average: (clusters
        − 1) / (values − 1). Lines are sorted by (share − chance) / (1 − chance). Shares depend
        neither on units nor on the order of rows.

        Parameters
        ----------
        labels : sequence, length n_samples, or None, default=None
            Clusters of the rows, of any kind, in place of those of the fit; −1, None and NaN are
            left out. There is no interval then.
        n_clusters : int or None, default=None
            So many clusters, as those of :meth:`cluster`; None is for ``labels_``.
        level : int or None, default=None
            Whether to compare the branches of the draws' trees at a level, as they are, in place of
            clusters.
        n_top : int or None, default=None
            Lines; None is one for each column.
        of : {"columns", "factors"}, default="columns"
            Whether to ask it of the columns, or of the scores of factors; see ``loadings_`` for
            what these are made of.

        Returns
        -------
        Relevance
            ``print`` it, or take ``to_frame()``, ``to_csv(path)``, ``top(n)``. Of rows that are not
            in memory it rests on the sample that the fit has kept of them.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DFPMixture
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(60, 3))
        >>> X[30:, 1] += 9
        >>> mixture = DFPMixture(covariance_type="diag", leaf_noise="shared", n_warmup=200,
        ...                      n_draws=1000, random_state=0).fit(X)
        >>> first = mixture.relevance(n_clusters=2, n_top=1).table[0]
        >>> first["column"], first["share"] > 0.9, round(first["chance"], 3)
        ('column 1', True, 0.017)
        """
        check_is_fitted(self)
        return self.fit_.relevance(labels, n_clusters=n_clusters, level=level, n_top=n_top, of=of)

    def compare(
        self,
        a: Any = None,
        b: Any = None,
        *,
        conditions: Any = None,
        within: Literal["parent"] | None = None,
        n_clusters: int | None = None,
    ) -> Contrasts:
        """Return for every branch by how much its share differs between groups or conditions.

        Parameters
        ----------
        a, b : object
            Names of two groups, or of two parents of groups; without ``b`` it is the rows of all
            other groups together. With ``conditions`` names of two of these, which may be left out
            if there are no others.
        conditions : dict or None, default=None
            The condition of each group, ``{group: condition}``. Groups are then a sample of all
            that could have been in a condition: how much they vary counts, as the number of rows in
            them does not make them more. A group that is left out, or is None, does not count.
            Parents are compared in the same way, as conditions of the groups below them.
        within : {"parent"} or None, default=None
            "parent" compares the shares of a branch in the one above it: a branch that grows does
            not make its cousins shrink.
        n_clusters : int or None, default=None
            Into how many clusters the tree is cut, to compare smaller branches or larger ones; None
            is those of ``labels_``.

        Returns
        -------
        Contrasts
            For each branch the log ratio of shares, a over b, with its 94 % interval, P(> 0) and
            P(ratio beyond 1.2 either way): print it, or take ``to_frame()`` or ``to_csv(path)``.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DFPMixture
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(8, 1, (60, 2))])
        >>> patient = ["q"] * 15 + ["p"] * 45 + ["q"] * 40 + ["p"] * 20
        >>> mixture = DFPMixture(covariance_type="full", leaf_noise="shared", n_chains=2,
        ...                      n_warmup=100, n_draws=100, random_state=0)
        >>> contrasts = mixture.fit(X, groups=patient).compare("q", "p")
        >>> sorted({line["p_greater"] > 0.99 for line in contrasts.table})
        [False, True]
        """
        check_is_fitted(self)
        return self.composition(n_clusters).compare(a, b, conditions, within)

    def composition(self, n_clusters: int | None = None) -> Composition:
        """Return the share of every branch in each group, of a given number of clusters.

        Shares rest on the rows of the group itself: shares of all groups together count as half a
        row for each branch.

        Parameters
        ----------
        n_clusters : int or None, default=None
            For the clusters of :meth:`cluster`, so many; None is for ``labels_``, as
            ``composition_``.
        """
        check_is_fitted(self)
        if n_clusters is None:
            return self.fit_.composition
        return self.fit_.composition_of(n_clusters)

    def groups_matter(self) -> GroupGain:
        """Return whether groups matter: by how much the group of a row helps to predict it.

        The leave-one-out density of each row by the shares of its own group is compared with that
        by the shares of all rows, on the trees of the same draws. There is no second fit. If groups
        mean nothing, the gain is 0 or a little less.

        Returns
        -------
        GroupGain
            ``print`` it; ``matter`` is True, False, or None if rows do not tell, ``total`` and
            ``se`` are nats of all rows, ``table`` has a line for each group.

        Examples
        --------
        >>> from sticktree import DFPMixture, datasets
        >>> penguins = datasets.load("penguins")
        >>> mixture = DFPMixture(covariance_type="full", leaf_noise="shared", n_chains=2,
        ...                      n_warmup=80, n_draws=80, random_state=0)
        >>> mixture = mixture.fit(penguins.data, groups=penguins.annotations["island"])
        >>> found = mixture.groups_matter()
        >>> found.matter, found.total > 100
        (True, True)
        """
        check_is_fitted(self)
        return self.fit_.group_gain

    # ---- new rows --------------------------------------------------------------------------------

    @chunkwise
    def score_samples(self, X: npt.ArrayLike, groups: Any = None) -> FloatArray:  # noqa: N803
        """Return the log predictive density of every row, in the user's units.

        Of a row with missing entries that is the density of those observed, and 0 if there are
        none. Of a dask array or DataFrame the answer is a dask array, computed when it is asked
        for; so it is with :meth:`predict_proba`, :meth:`predict` and :meth:`transform`.

        If the model was chosen among several, the density is that of :meth:`stack`; with
        ``averaging="best"`` it is that of the chosen model alone.

        If the fit has groups, ``groups`` are those of the rows; a name that is not known, and None
        for all, is a new group. A column of the data frame that had them in the fit has them here.
        """
        check_is_fitted(self)
        if is_dask(X):
            _check_lazy_groups(groups)
            return lazily(self, "score_samples", X, np.float64)
        X, numbers = self._groups_of(X, groups)  # noqa: N806
        x = self._asked(X, self.predictive_.models)
        return self.fit_.log_density(x, self._averaging, numbers)

    def score(self, X: npt.ArrayLike, y: object = None, groups: Any = None) -> float:  # noqa: N803
        """Return the mean log predictive density of the rows."""
        return float(self.score_samples(X, groups).mean())

    def loo(self) -> LeaveOneOut:
        """Return the leave-one-out log density of the data, in nats, in the user's units.

        Of every draw it takes the density of each row given all others; Pareto-smoothed importance
        weights turn those into what a fit without the row would have predicted. Its k-hat says for
        which rows that is not to be trusted. As :meth:`score_samples`, it is of :meth:`stack`, or
        with ``averaging="best"`` of the chosen model; printed, it says so.
        """
        check_is_fitted(self)
        return self.fit_.loo(self._averaging)

    def stack(self) -> Stack:
        """Return the models of ``selection_`` as one density, weighted by how well they predict.

        It is what :meth:`score_samples`, :meth:`sample`, :meth:`impute` and :meth:`loo` answer from
        by default. The weights maximise the leave-one-out density of the mixture, after votes for
        the chosen model. That one answers from all its draws, the others from those of the short
        chains that the choice was made by, so nothing is fitted again. The chosen model is alone if
        no other has weight, and where a sample of the rows made the choice.
        """
        check_is_fitted(self)
        return self.fit_.stack()

    @chunkwise
    def predict_proba(
        self,
        X: npt.ArrayLike,  # noqa: N803
        level: int | None = None,
        n_clusters: int | None = None,
        groups: Any = None,
    ) -> FloatArray:
        """Return the probability of every row to be in each cluster.

        In each draw a row joins a branch, and is in the clusters that the rows of that branch are
        in. It is a mean over at most 400 draws, spread evenly; so are :meth:`predict` and
        :meth:`transform`.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            The rows.
        level : int or None, default=None
            None is for the clusters of ``labels_``; a level is for the clusters of least loss of
            that level, as :meth:`transform` has them.
        n_clusters : int or None, default=None
            For the clusters of :meth:`cluster`, so many.
        groups : sequence, length n_samples, or None, default=None
            The groups of the rows, as in :meth:`score_samples`.
        """
        check_is_fitted(self)
        fit = self.fit_.prepared_for(level, n_clusters)
        if is_dask(X):
            _check_lazy_groups(groups)
            width = fit.n_clusters(level, n_clusters)
            asked = {"level": level, "n_clusters": n_clusters}
            return lazily(self, "predict_proba", X, np.float64, width, **asked)
        X, numbers = self._groups_of(X, groups)  # noqa: N806
        return fit.shares(self._asked(X), level, n_clusters, numbers)

    @chunkwise
    def predict(
        self,
        X: npt.ArrayLike,  # noqa: N803
        level: int | None = None,
        n_clusters: int | None = None,
        groups: Any = None,
    ) -> IntArray:
        """Return the most probable cluster of every row; see :meth:`predict_proba`."""
        check_is_fitted(self)
        fit = self.fit_.prepared_for(level, n_clusters)  # here, and not once for each partition
        if is_dask(X):
            _check_lazy_groups(groups)
            asked = {"level": level, "n_clusters": n_clusters}
            return lazily(self, "predict", X, np.int32, **asked)
        X, numbers = self._groups_of(X, groups)  # noqa: N806
        shares = fit.shares(self._asked(X), level, n_clusters, numbers)
        return np.asarray(shares.argmax(axis=1), dtype=np.int32)

    @chunkwise
    def transform(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the soft membership of every row in every cluster, level by level."""
        check_is_fitted(self)
        levels = list(range(1, self.fit_.model.depth + 1))
        if is_dask(X):
            width = sum(map(self.fit_.n_clusters, levels))
            return lazily(self, "transform", X, np.float64, width)
        X, numbers = self._groups_of(X, None)  # noqa: N806
        return np.hstack(self.fit_.memberships(self._asked(X), levels, numbers))

    @chunkwise
    def factor_scores(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the scores of every row, shape (n_samples, n_factors), if the fit has factors.

        They are in standard deviations of those of new rows. A row of the fit is known by its
        values and has the score of ``factor_scores_``. Of a row with gaps they are what is
        expected given what is observed, and 0 if that is nothing.
        """
        check_is_fitted(self)
        self._factors("factor_scores")
        return self.fit_.training.scores_of(
            self.fit_.training.scaling.standardised(read_rows(self, X).values)
        )

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return a name for every column of ``transform``: level and number of the cluster."""
        check_is_fitted(self)
        names = [
            f"level{level}_{k}"
            for level in range(1, self.fit_.model.depth + 1)
            for k in range(self.fit_.n_clusters(level))
        ]
        return np.array(names, dtype=object)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw rows from the predictive distribution, in the user's units.

        As :meth:`score_samples`, it is that of :meth:`stack`, or of the chosen model.
        """
        check_is_fitted(self)
        n_samples = check_integer("n_samples", n_samples, minimum=1)
        rng = np.random.default_rng(seed_sequence(random_state))
        rows = self.predictive_.sample(n_samples, rng)
        return self.columns_.decode(self.fit_.training.scaling.restored(rows))

    def impute(
        self,
        X: npt.ArrayLike,  # noqa: N803
        n_draws: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Fill in what is missing (NaN) in every row, given what is observed of it.

        Rows are taken as new ones, also if the mixture was fitted to them. As
        :meth:`score_samples`, it is by :meth:`stack`, or by the chosen model.

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
        >>> mixture = DFPMixture(n_warmup=100, n_draws=100, random_state=0).fit(X)
        >>> filled = mixture.impute([[np.nan, 0], [np.nan, 8]])
        >>> bool(abs(filled[0, 0]) < 2 and abs(filled[1, 0] - 8) < 2)
        True
        >>> mixture.impute([[np.nan, 0], [np.nan, 8]], n_draws=50, random_state=0).shape
        (50, 2, 2)
        """
        check_is_fitted(self)
        X, _ = self._groups_of(X, None)  # noqa: N806
        given, scaling = read_rows(self, X).values, self.fit_.training.scaling
        x = scaling.standardised(given)
        self._compile_for(x, self.predictive_.models)
        if n_draws is None:
            full = self.fit_.imputed(x, self._averaging)[None]
        else:
            n_draws = check_integer("n_draws", n_draws, minimum=1)
            rng = np.random.default_rng(seed_sequence(random_state))
            full = self.predictive_.sample_imputed(n_draws, x, rng)
        # What is observed stays as it came, without rounding.
        tables = [np.where(np.isnan(given), scaling.restored(f), given) for f in full]
        index = getattr(X, "index", None)
        decoded = [self.columns_.decode(table, index) for table in tables]
        if n_draws is None:
            return decoded[0]
        return np.array(decoded) if isinstance(decoded[0], np.ndarray) else decoded

    def _groups_of(self, X: Any, groups: Any) -> tuple[Any, IntArray | None]:  # noqa: N803
        """Return rows without a column of groups, and the numbers of their groups, if any."""
        known = self.fit_.training.groups
        if known is None:
            if groups is not None:
                raise ParameterError(
                    "groups", groups, "None: the fit has no groups", shown="groups"
                )
            return X, None
        column = known.column
        if column is not None and column in map(str, getattr(X, "columns", ())):
            X, taken, _ = take_column(X, column)  # noqa: N806
            groups = taken if groups is None else groups
        if known.parent_column in map(str, getattr(X, "columns", ())):
            X, _, _ = take_column(X, known.parent_column)  # noqa: N806
        if groups is None:
            return X, None
        return X, known.numbers_of(groups, len(X))

    def _asked(
        self,
        X: npt.ArrayLike,  # noqa: N803
        models: Sequence[Model] | None = None,
    ) -> FloatArray:
        """Return rows that ``models``, by default the chosen one, are asked about, standardised."""
        x = self.fit_.training.scaling.standardised(read_rows(self, X).values)
        self._compile_for(x, models or [self.fit_.model])
        return x

    def _compile_for(self, x: FloatArray, models: Sequence[Model]) -> None:
        if self.fit_.training.factors is not None:
            x = x[:0]  # the scores of rows have no gaps
        compile_for_answers(models, x, self.progress)


def _check_lazy_groups(groups: Any) -> None:
    """Raise if groups are given for rows that are read when they are asked for."""
    if groups is not None:
        raise ParameterError(
            "groups",
            groups,
            "None for a dask array or DataFrame",
            "give a DataFrame with the column that had the groups in the fit",
            shown=type(groups).__name__,
        )
