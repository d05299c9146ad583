"""The estimator: a DFP mixture as scikit-learn users expect it."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from sticktree.blas import one_thread
from sticktree.checkpoint import Checkpoint
from sticktree.checks import (
    FloatArray,
    IntArray,
    check_integer,
    check_not_infinite,
    check_observed,
    is_integer,
)
from sticktree.chunks.table import ChunkedTable
from sticktree.cluster import is_dask
from sticktree.clusters import check_level
from sticktree.drift import Stream
from sticktree.given import Given, check_algorithm, label_every
from sticktree.model import Model
from sticktree.notebook import FitDiagram
from sticktree.posterior.diagnostics import ConvergenceWarning, Diagnosis, diagnose
from sticktree.posterior.draws import Posterior
from sticktree.predictions import Predictions
from sticktree.preparation import Preparation, check_resolution
from sticktree.progress import choosing, watching
from sticktree.sampling import Run, Schedule, sample
from sticktree.seeds import seed_sequence
from sticktree.selection import Selection, select
from sticktree.specification import Specification
from sticktree.store import Store
from sticktree.streaming import Streaming, first_batch
from sticktree.table import Columns, Table, read_table
from sticktree.weights import expand

__all__ = ["ColumnsWarning", "DFPMixture"]

SECONDS_BETWEEN_SAVES = 30.0
PILOT_SHARE = 0.5  # of the sweeps of a fit, that choosing a model may take
PILOT_SWEEPS = 1200  # in all, however long the fit
PILOT_CHAINS = 2


class ColumnsWarning(UserWarning):
    """The kinds of columns were inferred; it says how."""


class DFPMixture(FitDiagram, Predictions, Streaming, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A hierarchical mixture with the Dirichlet fragmentation process as its prior.

    Learns a posterior over trees by Markov chain Monte Carlo: hierarchical clusters, a density, and
    the uncertainty of both. Entries may be missing (NaN), in fitting and in asking: they are taken
    as missing at random, and what is observed counts.

    Parameters
    ----------
    depth : int or None, default=None
        How often the stick breaks. With the log divergence the last break gives every datum a place
        of its own, so the tree has ``depth − 1`` levels. If ``covariance_type`` is "auto", the data
        may choose fewer. None leaves all of it to the data then, where noise that all leaves share
        may have deeper trees too, and is 4 else.
    divergence : {"log", "constant", "diffusion"}, array, callable or Divergence, default="log"
        How the concentration depends on the level; "log" is the paper's. "diffusion" is the same
        less the discount: in many steps, a diffusion tree; see
        :class:`~sticktree.processes.DiffusionDivergence`.
    concentration : float or None, default=None
        The factor c of the concentrations; None learns it.
    discount : float or None, default=0.0
        The Pitman–Yor discount in [0, 1); None learns it.
    covariance_type : {"auto", "full", "diag", "spherical"}, default="auto"
        The form of the covariance of the noise. "auto" lets the data choose it, together with
        ``leaf_noise`` and the depth: short chains of every candidate are compared by
        leave-one-out density. That takes at most half as many sweeps as the fit, and 1,200 in all;
        the evidence is in ``selection_``.
    leaf_noise : {"auto", "shared", "own"}, default="auto"
        Whether all leaves have the same noise, whose multiples are the steps down the tree, or each
        its own. "auto" is chosen by the data if ``covariance_type`` is, and else "shared" where all
        columns are gaussian.
    columns : dict, sequence or None, default=None
        Kinds of columns: "gaussian", "lognormal", "bernoulli", "categorical", "poisson" or
        "negative_binomial", by name or position, or one for each column. What is not given is
        gaussian in an array, and inferred from the types of a data frame, with a warning that says
        how.
    resolution : "auto", float or array, default="auto"
        How finely each column was measured, in the user's units. No leaf with noise of its own is
        narrower than that, or it would put a spike on every repeated value. "auto" is the smallest
        gap between distinct values where values repeat, else 0.
    scales : {"per_level", "shared"}, default="per_level"
        Whether each level's steps have a variance of their own, in units of Σ, or all have Σ, as in
        the paper.
    concentration_prior : (float, float), default=(1.0, 1.0)
        Shape and rate of the Gamma prior of c.
    precision_prior : (float, float), default=(1.0, 0.01)
        Shape and rate of the Gamma prior of the noise's precision, in standardised units. The
        paper's rate 1 says that clusters are about as wide as all the data; on R15, whose clusters
        are narrow, it costs 0.02 nats a row, and rates of 0.01 and 0.001 score the same.
    scale_prior : (float, float), default=(1.0, 10.0)
        Shape and rate of the Gamma prior of each level's inverse scale, in units of the noise. The
        rate says that steps between levels are wider than the noise. With a rate of 1, levels may
        shrink to the noise's own width: on six plain blobs chains then disagree (R-hat 1.6) and
        have thirty leaves on average; with 10 it is 1.01, and seven leaves. Test densities on R15
        and Aggregation are the same or slightly better.
    node_prior : (float, float), default=(2.0, 0.5)
        With own noise: shape and rate of the Gamma prior of the inverse variance of each step
        between nodes, for each level and column.
    discount_prior : (float, float), default=(1.0, 1.0)
        Parameters of the Beta prior of the discount.
    standardize : bool, default=True
        Centre and scale the columns inside. Densities are in the user's units all the same.
    n_chains : int, default=4
        Number of independent chains.
    n_warmup, n_draws, thin : int, default=1000, 1000, 1
        Sweeps that are thrown away, draws that are kept, and sweeps from one draw to the next.
        On Glass, chains need up to a thousand sweeps to meet. A draw takes a few bytes a row: about
        a kilobyte for 600 rows.
    level : int or None, default=None
        Level of the tree whose clusters are ``labels_`` and predicted; None is the one on whose
        clusters the draws agree best, by the expected adjusted Rand index.
    n_jobs : int or None, default=None
        Threads that run chains; None uses one for each chain and core. Draws do not depend on it.
        Inside ``joblib.parallel_config`` with another backend, chains run in its processes.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same draws.
    warm_start : bool, default=False
        Go on from the last fit: keep its draws and add ``n_draws`` more.
    progress : bool or None, default=None
        Show the progress of every chain; None does so on a terminal.
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
    posterior_ : Posterior
        All draws.
    tree_ : Tree
        The consensus of all draws: a tree of the rows, with the mean level at which those below
        each node meet as its time, and its posterior probability as its support.
    level_ : int
        The level of the flat clusters.
    labels_ : int array, shape (n_samples,)
        Flat clusters at ``level_`` that minimise the posterior expected variation of information,
        numbered in the order of the tree; see :meth:`cluster` for others.
    confidence_ : float array, shape (n_samples,)
        Posterior probability of each row to be with the others of its cluster.
        Of more than 2,000,000 rows, ``tree_``, ``level_``, ``labels_`` and ``confidence_`` are
        computed when one of them is first asked for.
    diagnosis_ : Diagnosis
        R-hat and effective sample sizes.
    depth_, covariance_type_, leaf_noise_ : int, str, str
        The model that was fitted.
    algorithm_ : str
        The sampler that was used.
    selection_ : Selection or None
        The models it was chosen from, with their leave-one-out densities: print it.
    columns_ : Columns
        Names and kinds of the columns: print it.
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
        covariance_type: str = "auto",
        leaf_noise: str = "auto",
        columns: Any = None,
        resolution: Any = "auto",
        scales: str = "per_level",
        concentration_prior: tuple[float, float] = (1.0, 1.0),
        precision_prior: tuple[float, float] = (1.0, 0.01),
        scale_prior: tuple[float, float] = (1.0, 10.0),
        node_prior: tuple[float, float] = (2.0, 0.5),
        discount_prior: tuple[float, float] = (1.0, 1.0),
        standardize: bool = True,
        n_chains: int = 4,
        n_warmup: int = 1000,
        n_draws: int = 1000,
        thin: int = 1,
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
        self.covariance_type = covariance_type
        self.leaf_noise = leaf_noise
        self.columns = columns
        self.resolution = resolution
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
        self.thin = thin
        self.level = level
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.progress = progress
        self.checkpoint = checkpoint
        self.algorithm = algorithm

    _preparation: Preparation
    _data: FloatArray  # standardised, rows repeated as their weights say
    _model_: Model
    _rows: npt.NDArray[np.int64]  # the row of X that each row of the data is
    _done: Schedule
    _fitted_with: dict[str, str]
    _runs: list[Run]
    _digest: str  # of the data
    selection_: Selection | None

    # ---- learning ----------------------------------------------------------------------------

    def fit(self, X: npt.ArrayLike, y: object = None, sample_weight: Any = None) -> Self:  # noqa: N803
        """Sample the posterior given the rows of ``X``; missing entries are drawn along.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            The rows; NaN is missing. A dask array or DataFrame stays on the workers of the current
            ``distributed.Client``; if there is none, it is read into this process.
        y : object
            Not used.
        sample_weight : int array, shape (n_samples,), or None, default=None
            How often each row occurs; the same as repeating it.
        """
        return self._fit(X, sample_weight, self.algorithm)

    def _fit_first(self, X: Any) -> Self:  # noqa: N803
        self._fit(X, None, "parallel")
        self.stream_ = Stream((first_batch(self.posterior_.draws),))
        return self

    def _fit(self, X: Any, sample_weight: Any, algorithm: str) -> Self:  # noqa: N803
        specification = Specification.of(self._parameters())
        schedule, n_jobs = self._schedule(), self._threads()
        resolution = check_resolution(self.resolution)
        algorithm = check_algorithm(algorithm)
        check_level(self.level, specification.most_levels)
        going_on = self.warm_start and hasattr(self, "_runs")
        if going_on:
            algorithm = self.algorithm_
        given = self._given(X, sample_weight, algorithm, going_on)
        if given.store is not None:
            every = label_every(given.store.shape[0], schedule.n_draws, self.n_chains)
            schedule = replace(schedule, label_every=every)
        known = self._known()
        seed = seed_sequence(self.random_state)
        selection: Selection | None = None
        checkpoint = self._checkpoint(given.work, known)
        if going_on:
            self._check_same(given, known)
            schedule = self._done.prolonged(schedule.n_draws)
            model, selection = self._model_, self.selection_
        else:
            some = given.some()
            columns = given.preparation.describe(some, resolution)
            candidates = specification.candidates(columns, self.level)
            with one_thread():
                model, selection = self._chosen(some, candidates, schedule, seed, n_jobs)
        with one_thread():
            if going_on:
                runs = self._go_on(checkpoint)
            else:
                runs = self._start(given.work, model, seed, checkpoint)
            with watching(self.progress, self.n_chains, schedule) as watch:
                saving = _also_save(watch, checkpoint)
                finished = sample(runs, schedule, n_jobs, saving, given.work)
        if checkpoint is not None:
            for k, run in enumerate(runs):
                checkpoint.save(k, run)
        if not any(run.draws for run in runs):
            raise KeyboardInterrupt("interrupted during warm-up: there are no draws to keep")
        # Only now, so that a fit that fails leaves the last one as it was.
        self._preparation, self._runs, self._fitted_with = given.preparation, runs, known
        self._model_, self._done = model, schedule
        self._data, self._rows, self._outside = given.data, given.rows, given.outside
        self._kept, self._digest = given.kept(), given.digest
        self.algorithm_ = "gibbs" if given.store is None else "parallel"
        self.columns_: Columns = given.preparation.columns
        self.selection_ = selection
        self.covariance_type_, self.leaf_noise_ = model.covariance_type, model.leaf_noise
        self.depth_ = model.depth + model.private_step
        self.posterior_ = Posterior([run.draws for run in runs], model.depth)
        if not going_on:
            self.__dict__.pop("stream_", None)
        if not finished:
            warnings.warn(
                f"interrupted: {len(self.posterior_)} draws are kept; fit with warm_start=True to "
                "go on",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._summarise_in_time(_names_of(X))
        self.diagnosis_: Diagnosis = diagnose(self.posterior_)
        self._warn_of_disagreement()
        return self

    def _given(self, X: Any, sample_weight: Any, algorithm: str, going_on: bool) -> Given:  # noqa: N803
        """Read the rows and bring them into the units of the engine."""
        known = self._preparation if going_on else None
        if is_dask(X):
            from sticktree.cluster.given import given_rows

            return given_rows(self, X, sample_weight, algorithm, known)
        if isinstance(X, ChunkedTable):
            from sticktree.chunks.given import given_rows as given_chunks

            return given_chunks(self, X, sample_weight, algorithm, known)
        table = self._read(X, reset=not going_on)
        rows = expand(1 if sample_weight is None else sample_weight, len(table.values))
        return Given.of_table(table, rows, self.standardize, algorithm, known)

    def _names_of(self, X: Any) -> tuple[str, ...] | None:  # noqa: N803
        return _names_of(X)

    def _chosen(
        self,
        data: FloatArray,
        candidates: list[tuple[str, Model]],
        schedule: Schedule,
        seed: np.random.SeedSequence,
        n_jobs: int,
    ) -> tuple[Model, Selection | None]:
        """Return the model to fit, and what it was chosen from."""
        if len(candidates) == 1:
            return candidates[0][1], None
        n_pilots = PILOT_CHAINS * len(candidates)
        share = int(PILOT_SHARE * self.n_chains * schedule.n_sweeps)
        budget = max(min(share, PILOT_SWEEPS), n_pilots)
        with choosing(self.progress, len(candidates)):
            selection = select(
                data, candidates, schedule, seed, n_jobs, n_chains=PILOT_CHAINS, budget=budget
            )
        return selection.models[selection.best], selection

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether there are draws."""
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that entries may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _known(self) -> dict[str, str]:
        """Return the parameters that must stay the same for a run to go on."""
        ignored = {"n_draws", "n_jobs", "warm_start", "progress", "checkpoint", "level"}
        return {k: repr(v) for k, v in self.get_params().items() if k not in ignored}

    def _checkpoint(self, data: FloatArray | Store, known: dict[str, str]) -> Checkpoint | None:
        """Return the checkpoint, if there is to be one; say before any work if it cannot serve."""
        if self.checkpoint is None:
            return None
        if not is_integer(self.random_state):
            raise ValueError(
                "checkpoint needs an integer as random_state, so that a run can go on, "
                f"got {self.random_state!r}"
            )
        checkpoint = Checkpoint(self.checkpoint, data, known)
        checkpoint.exists()
        return checkpoint

    def _go_on(self, checkpoint: Checkpoint | None) -> list[Run]:
        if checkpoint is not None and not checkpoint.exists():
            checkpoint.begin()
        return self._runs

    def _start(
        self,
        data: FloatArray | Store,
        model: Model,
        seed: np.random.SeedSequence,
        checkpoint: Checkpoint | None,
    ) -> list[Run]:
        """Start every chain, or go on where it was saved."""
        seeds = seed.spawn(self.n_chains)
        saved: list[Run | None] = [None] * self.n_chains
        if checkpoint is not None:
            if checkpoint.exists():
                saved = [checkpoint.load(k, model) for k in range(self.n_chains)]
            else:
                checkpoint.begin()
        return [
            Run.start(data, model, seed, self._threads_of_chain()) if run is None else run
            for run, seed in zip(saved, seeds, strict=True)
        ]

    def _warn_of_disagreement(self) -> None:
        advice = self.diagnosis_.advice(limit=1.2)
        if advice is not None:
            warnings.warn(advice, ConvergenceWarning, stacklevel=4)

    def fit_predict(self, X: npt.ArrayLike, y: object = None, **kwargs: Any) -> IntArray:  # noqa: N803
        """Fit, and return ``labels_``."""
        return self.fit(X, y).labels_

    # ---- parameters --------------------------------------------------------------------------

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters of the model; presets have them without naming them."""
        return {name: getattr(self, name) for name in DFPMixture._get_param_names()}

    def _schedule(self) -> Schedule:
        check_integer("n_chains", self.n_chains, minimum=1)
        return Schedule(
            check_integer("n_warmup", self.n_warmup, minimum=0),
            check_integer("n_draws", self.n_draws, minimum=1),
            check_integer("thin", self.thin, minimum=1),
        )

    def _threads(self) -> int:
        if self.n_jobs is None or self.n_jobs == -1:
            return min(self.n_chains, os.cpu_count() or 1)
        return check_integer("n_jobs", self.n_jobs, minimum=1)

    def _threads_of_chain(self) -> int:
        """Return how many threads a chain of the parallel sampler has for itself."""
        every = os.cpu_count() or 1 if self.n_jobs in (None, -1) else self._threads()
        return max(every // self.n_chains, 1)

    def _check_same(self, given: Given, known: dict[str, str]) -> None:
        changed = [name for name in known if known[name] != self._fitted_with[name]]
        if changed:
            raise ValueError(
                f"{changed[0]} must be that of the last fit, {self._fitted_with[changed[0]]}, when "
                f"warm_start=True goes on, got {known[changed[0]]}"
            )
        if given.digest != self._digest:
            raise ValueError("X must be the data of the last fit when warm_start=True goes on")

    def _read(self, X: Any, *, reset: bool) -> Table:  # noqa: N803
        """Read rows, like those of the fit unless ``reset``."""
        columns = self.columns
        if columns is None and not hasattr(X, "columns"):
            X = validate_data(  # noqa: N806
                self, X, dtype=np.float64, order="C", reset=reset, ensure_all_finite=False
            )
            check_not_infinite("X", X)
            if reset:
                check_observed("X", X)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
        if not reset:
            return read_table(X, table=self.columns_)
        table = read_table(X, columns)
        given = columns if isinstance(columns, dict) else dict(enumerate(columns or ()))
        if set(table.columns.kinds) != {"gaussian"} and len(given) < len(table.columns):
            warnings.warn(table.columns.describe(), ColumnsWarning, stacklevel=3)
        return table


def _also_save(
    watch: Callable[[int, Run], None], checkpoint: Checkpoint | None
) -> Callable[[int, Run], None]:
    """Return a watcher that also saves each chain from time to time."""
    if checkpoint is None:
        return watch
    last: dict[int, float] = {}

    def both(k: int, run: Run) -> None:
        watch(k, run)
        now = time.monotonic()
        if now - last.setdefault(k, now) > SECONDS_BETWEEN_SAVES:
            checkpoint.save(k, run)
            last[k] = now

    return both


def _names_of(X: Any) -> tuple[str, ...] | None:  # noqa: N803
    """Return the names of the rows of a data frame, unless they are only numbered."""
    index = None if is_dask(X) else getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return tuple(map(str, index))
