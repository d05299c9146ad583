"""The estimator: a DFP mixture as scikit-learn users expect it."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any, Self

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from sticktree.checks import IntArray, check_integer, is_integer
from sticktree.data.groups import GroupsWarning
from sticktree.data.parents import check_kin
from sticktree.data.training import TrainingData
from sticktree.errors import ParameterError, warn_caller
from sticktree.estimators.answers import FittedMixture
from sticktree.estimators.going_on import check_same
from sticktree.estimators.online import (
    as_first_batch,
    check_drift,
    check_forget,
    with_batch,
)
from sticktree.estimators.reading import training_data
from sticktree.fit import Fit
from sticktree.inference.fitting import Plan, continue_sampling, sample_posterior
from sticktree.inference.interrupts import once
from sticktree.inference.parameters import AUTO, PARAMETERS, draws_depend_on
from sticktree.io.checkpoint import Checkpoint
from sticktree.posterior.draws import ConvergenceWarning

MOSTLY = 0.8  # of the rows in clusters of one group, from which a warning says so


class DFPMixture(FittedMixture):
    """A hierarchical mixture with the Dirichlet fragmentation process as its prior.

    Learns a posterior over trees by Markov chain Monte Carlo: hierarchical clusters, a density, and
    the uncertainty of both. Entries may be missing (NaN), in fitting and in asking: they are taken
    as missing at random, and what is observed counts.

    Parameters
    ----------
    depth : int or None, default=None
        How often the stick breaks. With the log divergence the last break gives every datum a place
        of its own, so the tree has ``depth − 1`` levels. ``depth=1`` is the Dirichlet process
        mixture with any divergence that has a name: one break with concentration c, one level. If
        ``covariance_type`` is "auto", the data may choose a tree of one level in its place. None
        leaves the depth to the data in that case: one level, or 4, or 16 where all leaves share
        their noise; else None is 4.
    divergence : {"log", "constant", "diffusion"}, array, callable or Divergence, default="log"
        How the concentration depends on the level. "log" is the paper's. "diffusion" is the same
        less the discount: in many steps, a diffusion tree; see
        :class:`~sticktree.processes.DiffusionDivergence`.
    concentration : float or None, default=None
        The factor c of the concentrations: larger means more branches. None learns it.
    discount : float or None, default=0.0
        The Pitman–Yor discount in [0, 1): larger means more small branches. None learns it.
    group_concentration : float or None, default=None
        How alike groups are: larger means more alike. It is γ of the sticks of a group around those
        of all, and counts if :meth:`fit` is told of groups. None learns it.
    kinship : float or None, default=None
        How much of a group comes by way of its parent, from 0 to 1. It is κ, and counts if
        :meth:`fit` is told of parents or times; near 0 parents do not matter. None learns it.
    covariance_type : {"auto", "full", "diag", "spherical"}, default="auto"
        The form of the covariance of the noise. "auto" lets the data choose it, together with
        ``leaf_noise`` and the depth: two chains of 50 sweeps of each of six candidates are compared
        by leave-one-out density, of which the best three at most go beyond 24 sweeps; above 2,000
        rows, a sample of 1,000 decides. The evidence is in ``selection_``.
    leaf_noise : {"auto", "shared", "own"}, default="auto"
        Whether all leaves have the same noise, or each its own. Steps down the tree are multiples
        of noise that is shared. "auto" is chosen by the data if ``covariance_type`` is "auto" too;
        else it is "shared" where all columns are gaussian, and "own" where not.
    columns : dict, sequence or None, default=None
        The kinds of the columns. They are "gaussian", "lognormal", "bernoulli", "categorical",
        "poisson", "negative_binomial" or "binomial", by name or position, or one for each column.
        Successes out of a given number of trials are two columns, ``{"hits/shots": "binomial"}``,
        or one of texts such as 3/10; trials are never modelled. What is not given is gaussian in
        an array, and inferred from the types of a data frame, with a warning that says how.
    resolution : "auto", float or array, default="auto"
        How finely each column was measured: no cluster is narrower. It is in the user's units.
        Without it noise would put a spike on repeated values: that of a leaf on every one of them,
        that of all leaves on a column that is nearly always the same. "auto" is the smallest gap
        between distinct values where values repeat, else 0.
    factors : "auto", int or None, default="auto"
        Scores that stand for many columns, the rest of which is noise. Where rows are few for the
        columns, clusters are sought among the scores of some factors, which are estimated first
        and then taken as known: x = μ + C (U s + U⊥ e), with U orthonormal, s of the mixture and
        noise e of variance 1. Densities are those of all columns. A number asks for so many.
        "auto" counts them where there are more than 32 columns and fewer than two rows for each,
        and takes none elsewhere: with more rows the mixture predicts better without. None or 0 is
        none. It is for columns that are gaussian or lognormal. See ``factors_``.
    scales : {"per_level", "shared"}, default="per_level"
        Whether the steps of each level have a variance of their own. It is in units of Σ;
        "shared" gives all steps Σ, as in the paper.
    concentration_prior : (float, float), default=(1.0, 1.0)
        Shape and rate of the Gamma prior of c.
    precision_prior : "auto" or (float, float or None), default="auto"
        Shape and rate of the Gamma prior of the noise's precision. It is in standardised units, and
        for shared noise. With None as the rate, each column has one of its own, which is learned:
        noise as wide as the data is then as likely as noise far narrower, and columns that tell
        nothing of the tree cost nothing. (Leaves with their own noise learn how wide it is in any
        case.) The paper's rate 1 says that clusters are about as wide as all the data. "auto" is
        (1.0, 0.01) for up to eight columns, and (1.0, None) for more.
    scale_prior : "auto" or (float, float), default="auto"
        Shape and rate of the Gamma prior of each level's inverse scale. It is in units of the
        noise. The rate says how much wider than the noise the steps between levels are. "auto" is
        (1.0, 10.0), or where rows are few for the columns, a rate of 20 over the number of columns:
        the more there are, the smaller the steps that are still seen. In two columns, with a rate
        of 1, levels may shrink to the noise's own width: on six plain blobs chains then disagree
        (R-hat 1.6) and have thirty leaves on average; with 10 it is 1.01, and seven leaves.
    node_prior : (float, float), default=(2.0, 0.5)
        With own noise: shape and rate of the Gamma prior of a step's inverse variance. There is
        such a variance for each level and column.
    discount_prior : (float, float), default=(1.0, 1.0)
        The two parameters of the Beta prior of the discount.
    standardize : bool, default=True
        Whether columns are centred and scaled inside. Densities are in the user's units either way.
    n_chains : "auto" or int, default="auto"
        The number of independent chains. "auto" is 4; if ``n_draws`` is "auto" too, and two halves
        of the chains do not agree after 200 sweeps each, it is 8: where a posterior has modes that
        chains do not leave, more chains say more than longer ones.
    n_warmup : "auto" or int, default="auto"
        The first sweeps of each chain, which are discarded. "auto" is the first half of all sweeps.
    n_draws : "auto" or int, default="auto"
        The number of draws that are kept of each chain. "auto" goes on to 100, 200, 400 and at most
        800 sweeps, until the answer is stable: until the density of rows that are left out, and the
        tree of clusters, hardly change with the length of the chains and between two halves of
        them. That looks at draws alone, so that the same seed gives the same result on any machine.
        A chain that predicts far worse than the best is dropped as stuck. ``course_`` says how it
        went. With a number nothing is looked at. A draw takes a few bytes per row: about a kilobyte
        for 600 rows.
    max_time : float or None, default=None
        Seconds after which sampling ends with what there is. It is looked at after every sweep. The
        result then depends on the speed of the machine; ``course_`` says whether that happened.
    thin : int, default=1
        Sweeps from one draw to the next.
    averaging : {"stack", "best"}, default="stack"
        Whether densities are of all models that predict well, or of the best one. If the data have
        chosen among models, ``score_samples``, ``sample``, ``impute`` and ``loo`` answer from a
        mixture of those that predict well, by weights that predict best; see :meth:`stack`. "best"
        answers from the chosen model alone, as ``tree_`` always does. It can be changed after the
        fit. Clusters are made from draws of all models of that mixture.
    level : int or None, default=None
        The level of the draws' trees that clusters are made from. It is where the walk steps, whose
        clusters are ``labels_`` and are predicted for other rows. None is the deepest level with at
        most 4 √N branches on average; where the next has less than twice as many, some steps are
        taken there.
    n_jobs : int or None, default=None
        Threads that run chains. None uses one for each chain, as far as there are cores. Draws do
        not depend on it.
        Inside ``joblib.parallel_config`` with another backend, chains run in its processes.
    random_state : int, RandomState, Generator or None, default=None
        The seed: the same seed gives the same draws.
    warm_start : bool, default=False
        Whether to go on from the last fit. Its draws are kept, and ``n_draws`` more are added; if
        that is "auto", as many as there were sweeps.
    progress : bool or None, default=None
        Whether to show the progress of every chain. None does so on a terminal.
    checkpoint : path or None, default=None
        A folder in which the run is saved every half minute and at its end. A fit with the same
        data, parameters and seed goes on from there, to the identical draws.
    algorithm : {"auto", "gibbs", "parallel"}, default="auto"
        How the posterior is sampled. "gibbs" moves rows one by one. "parallel" lets all rows choose
        their leaves at once, in threads or on a cluster, and moves trees given sums over their
        leaves; it is for gaussian columns. Both sample the same posterior: a sweep of "gibbs" goes
        further, one of "parallel" takes a small part of the time where rows are many. "auto" takes
        "parallel" above 100,000 rows.

    Attributes
    ----------
    fit_ : Fit
        The result of the fit, which all other attributes are read from.
    posterior_ : Posterior
        All draws.
    tree_ : Tree
        The consensus of all draws: a tree of the rows, with the mean level at which those below
        each node meet as its time, its posterior probability as its support, and its transfer
        support.
    cluster_tree_ : Tree
        The tree of the posterior walk, which steps from a row to a random one of its own branch in
        a random draw. What long walks keep apart is parted first. Its cuts are the clusters: cut
        after time log k / log m, it has k + 1 branches, m being how many groups of rows it joins.
    labels_ : int array, shape (n_samples,)
        The cut of ``cluster_tree_`` into the number of clusters that lasts longest as the walk goes
        on, numbered in the order of that tree; see :meth:`cluster` for others. After
        :meth:`partial_fit`, of the rows of the last batch.
    n_clusters_ : int
        How many clusters ``labels_`` has.
    number_of_clusters_ : NumberOfClusters
        The number of clusters found from parts of the draws, P(k): print it. It is computed when
        asked for.
    membership_ : float array, shape (n_samples, clusters)
        Probability of each row to be in each cluster after a step of the walk; rows sum to 1. See
        :meth:`membership` for other numbers of clusters.
    confidence_ : float array, shape (n_samples,)
        Probability of each row to be in its own cluster after a step of the walk.
        Of more than 2,000,000 rows, ``tree_``, ``cluster_tree_``, ``labels_`` and ``confidence_``
        are computed when one of them is first asked for.
    level_ : int
        The level of the draws' trees that the walk steps in most often.
    diagnosis_ : Diagnosis
        Whether chains agree on clusters, tree and density; R-hat and effective sample sizes.
    course_ : Course
        How sampling went: looks at the answer, chains that were dropped, whether time ran out.
    n_draws_, n_iter_ : int
        Draws of each chain that are kept, and sweeps of the longest chain.
    depth_, covariance_type_, leaf_noise_ : int, str, str
        The model that was fitted.
    algorithm_ : str
        The sampler that was used.
    composition_ : Composition
        If the rows belong to groups: the share of every cluster in each group, with intervals, and
        of what is not seen yet. Print it.
    group_similarity_ : float array, shape (groups, groups)
        Posterior mean of the overlap of the shares of each two groups.
    group_labels_ : int array, shape (groups,)
        Clusters of groups that have the same shares, as far as draws tell.
    selection_ : Selection or None
        The models it was chosen from, with their leave-one-out densities: print it.
    predictive_ : PosteriorPredictive or Stack
        What answers about densities, in standardised units.
    columns_ : Columns
        Names and kinds of the columns: print it.
    factors_ : Factors or None
        Axes and noise of the factors; None if the fit has none.
    n_factors_ : int
        How many there are; 0 if the fit has none.
    loadings_ : Loadings
        By how much each column grows with each factor, in the user's units, with the names of the
        columns: print it, or take ``to_frame()``.
    factor_scores_ : float array, shape (n_samples, n_factors)
        The scores that clusters were sought in; see :meth:`factor_scores` for other rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if the data had them.

    Notes
    -----
    The paper's exact model is ``DFPMixture(scales="shared", covariance_type="spherical",
    leaf_noise="shared", precision_prior=(1.0, 1.0))``.

    References
    ----------
    H. Ge, Y. Gal, Z. Ghahramani, "Dirichlet Fragmentation Processes", arXiv:1509.04781, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from sticktree import DFPMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (30, 2)), rng.normal(8, 1, (30, 2))])
    >>> mixture = DFPMixture(random_state=0).fit(X)
    >>> np.unique(mixture.predict([[0, 0], [8, 8]])).size
    2
    """

    def __init__(
        self,
        depth: int | None = None,
        *,
        divergence: Any = "log",
        concentration: float | None = None,
        discount: float | None = 0.0,
        group_concentration: float | None = None,
        kinship: float | None = None,
        covariance_type: str = "auto",
        leaf_noise: str = "auto",
        columns: Any = None,
        resolution: Any = "auto",
        factors: int | str | None = "auto",
        scales: str = "per_level",
        concentration_prior: tuple[float, float] = (1.0, 1.0),
        precision_prior: Any = "auto",
        scale_prior: Any = "auto",
        node_prior: tuple[float, float] = (2.0, 0.5),
        discount_prior: tuple[float, float] = (1.0, 1.0),
        standardize: bool = True,
        n_chains: int | str = "auto",
        n_warmup: int | str = "auto",
        n_draws: int | str = "auto",
        max_time: float | None = None,
        thin: int = 1,
        averaging: str = "stack",
        level: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        progress: bool | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        algorithm: str = "auto",
    ) -> None:
        self.depth = depth
        self.divergence = divergence
        self.concentration = concentration
        self.discount = discount
        self.group_concentration = group_concentration
        self.kinship = kinship
        self.covariance_type = covariance_type
        self.leaf_noise = leaf_noise
        self.columns = columns
        self.resolution = resolution
        self.factors = factors
        self.scales = scales
        self.concentration_prior = concentration_prior
        self.precision_prior = precision_prior
        self.scale_prior = scale_prior
        self.node_prior = node_prior
        self.discount_prior = discount_prior
        self.standardize = standardize
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.max_time = max_time
        self.thin = thin
        self.averaging = averaging
        self.level = level
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.progress = progress
        self.checkpoint = checkpoint
        self.algorithm = algorithm

    def fit(
        self,
        X: npt.ArrayLike,  # noqa: N803
        y: object = None,
        sample_weight: Any = None,
        groups: Any = None,
        parents: Any = None,
        times: Any = None,
    ) -> Self:
        """Sample the posterior given the rows of ``X``; missing entries are drawn along.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            The rows; NaN is missing. What :func:`~sticktree.data.read_table` returns is taken as
            it is. A dask array or DataFrame stays on the workers of the current
            ``distributed.Client``; if there is none, it is read into this process.
        y : object
            Not used.
        sample_weight : int array, shape (n_samples,), or None, default=None
            How often each row occurs; the same as repeating it.
        groups : sequence, length n_samples, str or None, default=None
            The group of each row, such as the patient of a cell: text or numbers, or the name of a
            column of a data frame, which then is no feature. All groups share one tree, and each
            has its own share of every branch: ``composition_`` and :meth:`compare`. A row whose
            group is missing is a group of its own.
        parents : sequence, length n_samples, dict, str or None, default=None
            The parent of the group of each row, such as the condition of a patient, or the name of
            a column, or ``{group: parent}`` for any forest of groups. Groups with the same parent
            are alike beyond what all groups have in common, by a part that is learned
            (``kinship``), and ``composition_`` and :meth:`compare` have the parents, too.
        times : sequence, length n_samples, str or None, default=None
            The time of each row, such as its day, in place of ``groups``: rows of one time are a
            group, and each time has the one before as its parent, in the order of numbers or text.
        """
        given = check_kin(groups, parents, times)
        self.fit_ = self._fitted(X, sample_weight, self.algorithm, self.factors, given)
        return self

    def fit_predict(
        self,
        X: npt.ArrayLike,  # noqa: N803
        y: object = None,
        sample_weight: Any = None,
        groups: Any = None,
        parents: Any = None,
        times: Any = None,
    ) -> IntArray:
        """Fit, and return ``labels_``; see :meth:`fit`."""
        return self.fit(X, y, sample_weight, groups, parents, times).labels_

    def partial_fit(
        self,
        X: npt.ArrayLike,  # noqa: N803
        y: object = None,
        *,
        groups: Any = None,
        parents: Any = None,
        times: Any = None,
        n_warmup: int = 20,
        n_draws: int = 50,
        forget: float = 0.0,
        drift: float = 0.0,
    ) -> Self:
        """Go on with new rows, which are not kept beyond the next batch.

        The first batch is fitted by the parallel sampler: it decides on units, columns and the
        model. Of a later batch, every row is seated by its predictive probabilities; then all is
        sampled for a bounded number of sweeps. The rows before are kept as blocks, the sums of
        rows that were in one leaf, a few for each leaf: blocks move as a whole. Given the blocks
        that is exact; that their rows never part again is what approximates.

        ``posterior_`` then has the draws after this batch, and densities and predictions reflect
        all rows that were ever seen. What there is for each row is for the rows of this batch, in
        their order, and no others, for they are gone: ``labels_``, ``confidence_``, ``membership_``
        and the leaves of ``tree_`` and ``cluster_tree_``. :meth:`predict` says of rows of earlier
        batches, given again, in which of these clusters they are.
        ``stream_`` has a line for every batch; one that is far from what was predicted is warned
        of. If a batch fails or is interrupted, the mixture is as before it.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            New rows; NaN is missing.
        y : object
            Not used.
        groups : sequence, length n_samples, str or None, default=None
            The group of each row, as in :meth:`fit`: from the first batch on, or never. A name that
            was in a batch before is the same group, any other a new one; a batch need not have rows
            of all. The rows of a group that have left memory are counted in every block, so that
            its shares are those of all its rows. A row whose group is missing is a group of its
            own. There may be 2,000 groups, such rows among them; a group that is forgotten to its
            last row goes with the batch after that.
        parents : sequence, length n_samples, dict, str or None, default=None
            The parent of the group of each row, as in :meth:`fit`: from the first batch on, or
            never. A group keeps its parent; those of new groups must be given. A dict may have
            groups that are to come.
        times : sequence, length n_samples, str or None, default=None
            The time of each row in place of ``groups``, from the first batch on or never. A new
            time has the one before as its parent, and may come late: then it is the parent of the
            one after it.
        n_warmup : int, default=20
            Sweeps of each chain after a later batch, before draws are kept.
        n_draws : int, default=50
            Draws of each chain that are kept then. Of the first batch both are those of the
            mixture.
        forget : float, default=0
            Probability with which each row of the batches before is forgotten, before this batch is
            taken in: for sources that change. With 0.1, about as many rows count as ten batches
            have. Leaves that lose all their rows go.
        drift : float, default=0
            How far clusters move from the batch before to this one: the variance of the step that
            the place of a leaf takes, in units of the variance of the noise. Rows before then tell
            no more of the place than 1/drift rows do. Rows count as before in shares, and in the
            noise. It is for leaves that share their noise.

        Warns
        -----
        DriftWarning
            If the mean log density of the batch is more than 3.89 standard errors from what was
            expected, which happens to 1 in 10,000 batches if the model is right.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DFPMixture
        >>> rng = np.random.default_rng(0)
        >>> mixture = DFPMixture(covariance_type="full", leaf_noise="shared", n_chains=2,
        ...                      n_warmup=50, n_draws=50, random_state=0)
        >>> for _ in range(3):
        ...     X = rng.choice([0.0, 8.0], size=(100, 1)) + rng.normal(size=(100, 2))
        ...     mixture = mixture.partial_fit(X)
        >>> mixture.stream_.n_rows, mixture.labels_.size
        (300, 100)
        """
        given = check_kin(groups, parents, times)
        if hasattr(self, "fit_"):
            forget, drift = check_forget(forget), check_drift(drift)
            self.fit_ = with_batch(self, X, n_warmup, n_draws, given, forget, drift)
        else:
            if PARAMETERS["factors"].check(self.factors) not in (None, AUTO):
                raise ParameterError("factors", self.factors, 'None or "auto" with partial_fit')
            check_forget(forget), check_drift(drift)  # there is nothing yet
            fit = self._fitted(X, None, "parallel", None, given, more_to_come=True)
            self.fit_ = as_first_batch(fit)
        return self

    def _fitted(
        self,
        X: Any,  # noqa: N803
        sample_weight: Any,
        algorithm: str,
        factors: Any,
        groups: Any = None,
        *,
        more_to_come: bool = False,
    ) -> Fit:
        """Return the fit of the rows of ``X``; go on with the last if ``warm_start`` says so."""
        plan = Plan.of(self.model_parameters() | {"algorithm": algorithm})
        last = self.fit_ if self.warm_start and hasattr(self, "fit_") else None
        if last is not None:
            algorithm = last.training.algorithm
        factors = PARAMETERS["factors"].check(factors)
        training = training_data(
            self, X, sample_weight, algorithm, last, factors, groups, more_to_come=more_to_come
        )
        parameters = draws_depend_on(self.get_params())
        checkpoint = _checkpoint(self, training, parameters)
        with once(), nullcontext() if checkpoint is None else checkpoint.held():
            if last is None:
                sampled = sample_posterior(training, plan, checkpoint)
            else:
                check_same(last, training, parameters)
                sampled = continue_sampling(last.sampled, training, plan, checkpoint)
        stream = None if last is None else last.stream
        fit = Fit(training.without_store(), sampled, plan.level, parameters, stream)
        if not sampled.finished:
            self.fit_ = fit  # Ctrl-C once more, while it is summarised, leaves it at that
        return _concluded(fit, plan)

    def more_draws(self, n_draws: int) -> Self:
        """Let the chains of the fit go on, and add their draws to those that there are.

        The draws are those that longer chains would have made. All answers are then from all of
        them.

        Parameters
        ----------
        n_draws : int
            How many draws to add to each chain.

        Examples
        --------
        >>> import numpy as np
        >>> from sticktree import DPMixture
        >>> X = np.random.default_rng(0).normal(np.repeat([[0.0], [9.0]], 20, axis=0), 1.0, (40, 2))
        >>> mixture = DPMixture(n_chains=4, n_warmup=200, n_draws=200, random_state=0).fit(X)
        >>> mixture.more_draws(100).n_draws_
        300
        """
        check_is_fitted(self)
        check_integer("n_draws", n_draws, minimum=1)
        last: Fit = self.fit_
        if not last.training.in_memory:
            raise ValueError(
                "more_draws is for rows in memory, got a fit to rows that are elsewhere: set "
                "warm_start=True and fit to them again"
            )
        algorithm = last.training.algorithm
        asked = {"algorithm": algorithm, "n_draws": n_draws}
        plan = Plan.of(self.model_parameters() | asked)
        with once():
            sampled = continue_sampling(last.sampled, last.training, plan, None)
        fit = Fit(last.training, sampled, last.asked_level, last.parameters, last.stream)
        self.fit_ = _concluded(fit, plan)
        return self

    def model_parameters(self) -> dict[str, Any]:
        """Return the parameters of a :class:`DFPMixture`; presets have them without naming them."""
        return {name: getattr(self, name) for name in DFPMixture._get_param_names()}


def _concluded(fit: Fit, plan: Plan) -> Fit:
    """Return a fit with its summaries, and warn of what is wrong with it."""
    if not fit.sampled.finished:
        warn_caller(
            f"interrupted: {len(fit.posterior)} draws are kept; fit with warm_start=True to go on",
            ConvergenceWarning,
        )
    fit = fit.summarised(progress=plan.progress)
    if fit.training.groups is not None and fit.groups_apart > MOSTLY:
        warn_caller(
            f"{fit.groups_apart:.0%} of the rows are in clusters that are of one group alone: "
            "groups that differ by a shift, such as batches, look like that. If they should "
            "have clusters in common, correct for the shift first",
            GroupsWarning,
        )
    if fit.diagnosis.verdict().agreement == "disagree":
        warn_caller(str(fit.diagnosis.advice()), ConvergenceWarning)
    return fit


def _checkpoint(
    estimator: DFPMixture, training: TrainingData, parameters: dict[str, str]
) -> Checkpoint | None:
    """Return the checkpoint, if there is to be one; raise before any work if it cannot serve."""
    if estimator.checkpoint is None:
        return None
    if not is_integer(estimator.random_state):
        raise ParameterError(
            "random_state",
            estimator.random_state,
            "an integer where there is a checkpoint, so that the run can go on",
        )
    if estimator.n_draws == AUTO:  # its chains go on from those that chose the model
        parameters = parameters | {"n_draws": repr(AUTO)}
    if training.factors is None:  # whether none were wanted or none found: as in older checkpoints
        parameters = {name: text for name, text in parameters.items() if name != "factors"}
    checkpoint = Checkpoint(estimator.checkpoint, training, parameters)
    checkpoint.exists()
    return checkpoint
