"""The estimator: a DFP mixture as scikit-learn users expect it."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sticktree.checkpoint import Checkpoint
from sticktree.checks import (
    FloatArray,
    IntArray,
    check_discount,
    check_integer,
    check_not_infinite,
    check_observed,
    check_positive,
    is_integer,
)
from sticktree.model import Model
from sticktree.posterior.diagnostics import ConvergenceWarning, Diagnosis, diagnose
from sticktree.posterior.draws import Posterior
from sticktree.posterior.point import best_draw
from sticktree.posterior.prediction import (
    imputed,
    log_predictive,
    memberships,
    sample_imputed,
    sample_predictive,
)
from sticktree.processes.divergence import (
    Concentration,
    ConstantDivergence,
    LogDivergence,
    resolve_concentration,
)
from sticktree.progress import watching
from sticktree.sampling import Run, Schedule, sample

__all__ = ["DFPMixture"]

SECONDS_BETWEEN_SAVES = 30.0


class DFPMixture(ClusterMixin, DensityMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A hierarchical mixture with the Dirichlet fragmentation process as its prior.

    Learns a posterior over trees by Markov chain Monte Carlo: hierarchical clusters, a density, and
    the uncertainty of both. Entries may be missing (NaN), in fitting and in asking: they are taken
    as missing at random, and what is observed counts.

    Parameters
    ----------
    depth : int, default=4
        How often the stick breaks. With the log divergence the last break gives every datum a place
        of its own, so the tree has ``depth − 1`` levels.
    divergence : {"log", "constant"}, array, callable or Divergence, default="log"
        How the concentration depends on the level; "log" is the paper's.
    concentration : float or None, default=None
        The factor c of the concentrations; None learns it.
    discount : float or None, default=0.0
        The Pitman–Yor discount in [0, 1); None learns it.
    covariance_type : {"full", "diag", "spherical"}, default="full"
        The form of Σ, the covariance of the noise; steps down the tree are multiples of it.
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
        Level of the tree at which ``labels_`` and predictions cut it; None is the last.
    n_jobs : int or None, default=None
        Threads that run chains; None uses one for each chain and core. Draws do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same draws.
    warm_start : bool, default=False
        Go on from the last fit: keep its draws and add ``n_draws`` more.
    progress : bool or None, default=None
        Show the progress of every chain; None does so on a terminal.
    checkpoint : path or None, default=None
        A folder in which the run is saved every half minute and at its end. A fit with the same
        data, parameters and seed goes on from there, to the identical draws.

    Attributes
    ----------
    posterior_ : Posterior
        All draws.
    tree_ : Tree
        The draw whose clusters are nearest to those of all draws.
    labels_ : int array, shape (n_samples,)
        Flat clusters of ``tree_`` at ``level``.
    diagnosis_ : Diagnosis
        R-hat and effective sample sizes.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if the data had them.

    Notes
    -----
    The paper's exact model is ``DFPMixture(scales="shared", covariance_type="spherical",
    precision_prior=(1.0, 1.0))``.

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
        depth: int = 4,
        *,
        divergence: Any = "log",
        concentration: float | None = None,
        discount: float | None = 0.0,
        covariance_type: str = "full",
        scales: str = "per_level",
        concentration_prior: tuple[float, float] = (1.0, 1.0),
        precision_prior: tuple[float, float] = (1.0, 0.01),
        scale_prior: tuple[float, float] = (1.0, 10.0),
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
    ) -> None:
        self.depth = depth
        self.divergence = divergence
        self.concentration = concentration
        self.discount = discount
        self.covariance_type = covariance_type
        self.scales = scales
        self.concentration_prior = concentration_prior
        self.precision_prior = precision_prior
        self.scale_prior = scale_prior
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

    _centre: FloatArray
    _spread: FloatArray
    _data: FloatArray  # standardised
    _done: Schedule
    _fitted_with: dict[str, str]
    _runs: list[Run]

    # ---- learning ----------------------------------------------------------------------------

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: N803
        """Sample the posterior given the rows of ``X``; missing entries are drawn along."""
        model, schedule, n_jobs = self._model(), self._schedule(), self._threads()
        _check_level(self.level, model.depth)
        going_on = self.warm_start and hasattr(self, "_runs")
        x = self._validated(X, reset=not going_on)
        check_observed("X", x, getattr(self, "feature_names_in_", None))
        if going_on:
            centre, spread = self._centre, self._spread
        else:
            centre, spread = _location_and_scale(x, self.standardize)
        data: FloatArray = (x - centre) / spread
        known = self._known()
        if going_on:
            self._check_same(data, known)
            schedule = self._done.prolonged(schedule.n_draws)
        checkpoint = None if self.checkpoint is None else Checkpoint(self.checkpoint, data, known)
        runs = self._go_on(checkpoint) if going_on else self._start(data, model, checkpoint)
        with watching(self.progress, self.n_chains, schedule) as watch:
            finished = sample(runs, schedule, n_jobs, _also_save(watch, checkpoint))
        if checkpoint is not None:
            for k, run in enumerate(runs):
                checkpoint.save(k, run)
        if not any(run.draws for run in runs):
            raise KeyboardInterrupt("interrupted during warm-up: there are no draws to keep")
        # Only now, so that a fit that fails leaves the last one as it was.
        self._centre, self._spread, self._runs, self._fitted_with = centre, spread, runs, known
        self._model_, self._data, self._done = model, data, schedule
        self.posterior_ = Posterior([run.draws for run in runs], model.depth)
        if not finished:
            warnings.warn(
                f"interrupted: {len(self.posterior_)} draws are kept; fit with warm_start=True to "
                "go on",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._summarise()
        return self

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

    def _go_on(self, checkpoint: Checkpoint | None) -> list[Run]:
        if checkpoint is not None and not checkpoint.exists():
            checkpoint.begin()
        return self._runs

    def _start(self, data: FloatArray, model: Model, checkpoint: Checkpoint | None) -> list[Run]:
        """Start every chain, or go on where it was saved."""
        seeds = _seed_sequence(self.random_state).spawn(self.n_chains)
        saved: list[Run | None] = [None] * self.n_chains
        if checkpoint is not None:
            if not is_integer(self.random_state):
                raise ValueError(
                    "checkpoint needs an integer as random_state, so that a run can go on, "
                    f"got {self.random_state!r}"
                )
            if checkpoint.exists():
                saved = [checkpoint.load(k, model) for k in range(self.n_chains)]
            else:
                checkpoint.begin()
        return [
            Run.start(data, model, seed) if run is None else run
            for run, seed in zip(saved, seeds, strict=True)
        ]

    def _summarise(self) -> None:
        self.tree_ = best_draw(self.posterior_.draws, self._level()).tree
        self.labels_ = self.tree_.cut(self._level())
        self.diagnosis_: Diagnosis = diagnose(self.posterior_)
        advice = self.diagnosis_.advice(limit=1.2)
        if advice is not None:
            warnings.warn(advice, ConvergenceWarning, stacklevel=3)

    # ---- asking ------------------------------------------------------------------------------

    def score_samples(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the log predictive density of every row, in the user's units.

        Of a row with missing entries that is the density of those observed, and 0 if there are
        none.
        """
        x = self._standardised(X)
        log_density = log_predictive(x, self.posterior_.draws, self._data, self._model_)
        units = np.where(np.isnan(x), 0.0, np.log(self._spread))
        return np.asarray(log_density - units.sum(axis=1))

    def score(self, X: npt.ArrayLike, y: object = None) -> float:  # noqa: N803
        """Return the mean log predictive density of the rows."""
        return float(self.score_samples(X).mean())

    def predict_proba(self, X: npt.ArrayLike, level: int | None = None) -> FloatArray:  # noqa: N803
        """Return the probability of every row to be with each cluster of ``tree_`` at a level."""
        x = self._standardised(X)
        at = self._level(level)
        labels = self.tree_.cut(at)
        return memberships(x, labels, at, self.posterior_.draws, self._data, self._model_)

    def predict(self, X: npt.ArrayLike, level: int | None = None) -> IntArray:  # noqa: N803
        """Return the most probable cluster of every row at a level."""
        return np.asarray(self.predict_proba(X, level).argmax(axis=1), dtype=np.int32)

    def fit_predict(self, X: npt.ArrayLike, y: object = None, **kwargs: Any) -> IntArray:  # noqa: N803
        """Fit, and return ``labels_``."""
        return self.fit(X, y).labels_

    def transform(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the soft membership of every row in every node of ``tree_``, level by level."""
        check_is_fitted(self)
        levels = range(1, self._model_.depth + 1)
        return np.hstack([self.predict_proba(X, level) for level in levels])

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Return a name for every column of ``transform``: level and number of the cluster."""
        check_is_fitted(self)
        names = [
            f"level{level}_{k}"
            for level in range(1, self._model_.depth + 1)
            for k in range(int(self.tree_.cut(level).max()) + 1)
        ]
        return np.array(names, dtype=object)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> FloatArray:
        """Draw rows from the predictive distribution, in the user's units."""
        check_is_fitted(self)
        n_samples = check_integer("n_samples", n_samples, minimum=1)
        rng = np.random.default_rng(_seed_sequence(random_state))
        draws = self.posterior_.draws
        rows = sample_predictive(n_samples, rng, draws, self._data, self._model_)
        return np.asarray(self._centre + self._spread * rows)

    def impute(
        self,
        X: npt.ArrayLike,  # noqa: N803
        n_draws: int | None = None,
        random_state: Any = None,
    ) -> FloatArray:
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
        float array, shape (n_samples, n_features) or (n_draws, n_samples, n_features)
            ``X`` without gaps.

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
        check_is_fitted(self)
        given = self._validated(X, reset=False)
        x = np.asarray((given - self._centre) / self._spread)
        draws = self.posterior_.draws
        if n_draws is None:
            full = imputed(x, draws, self._data, self._model_)
        else:
            n_draws = check_integer("n_draws", n_draws, minimum=1)
            rng = np.random.default_rng(_seed_sequence(random_state))
            full = sample_imputed(n_draws, x, rng, draws, self._data, self._model_)
        # What is observed stays as it came, without rounding.
        return np.where(np.isnan(given), self._centre + self._spread * full, given)

    # ---- parameters --------------------------------------------------------------------------

    def _model(self) -> Model:
        """Check every parameter of the model and resolve it."""
        families = {"log": LogDivergence(), "constant": ConstantDivergence()}
        divergence = self.divergence
        if isinstance(divergence, str):
            if divergence not in families:
                raise ValueError(
                    f'divergence must be "log", "constant", an array, a function or a Divergence, '
                    f"got {divergence!r}"
                )
            divergence = families[divergence]
        resolved = _resolve_divergence(divergence, self.depth)
        for name, allowed in (
            ("covariance_type", ("full", "diag", "spherical")),
            ("scales", ("per_level", "shared")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}")
        if self.concentration is not None:
            check_positive("concentration", self.concentration)
        if self.discount is not None:
            check_discount(self.discount)
        return Model(
            shape=resolved.alpha,
            private_step=resolved.private_step,
            covariance_type=self.covariance_type,  # type: ignore[arg-type]
            scales=self.scales,  # type: ignore[arg-type]
            concentration_prior=_pair("concentration_prior", self.concentration_prior),
            precision_prior=_pair("precision_prior", self.precision_prior),
            scale_prior=_pair("scale_prior", self.scale_prior),
            discount_prior=_pair("discount_prior", self.discount_prior),
            concentration=self.concentration,
            discount=self.discount,
        )

    def _schedule(self) -> Schedule:
        check_integer("n_chains", self.n_chains, minimum=1)
        return Schedule(
            check_integer("n_warmup", self.n_warmup, minimum=0),
            check_integer("n_draws", self.n_draws, minimum=1),
            check_integer("thin", self.thin, minimum=1),
        )

    def _level(self, level: int | None = None) -> int:
        last = self._model_.depth
        level = self.level if level is None else level
        if level is None:
            return last
        _check_level(level, last)
        return level

    def _threads(self) -> int:
        if self.n_jobs is None or self.n_jobs == -1:
            return min(self.n_chains, os.cpu_count() or 1)
        return check_integer("n_jobs", self.n_jobs, minimum=1)

    def _check_same(self, data: FloatArray, known: dict[str, str]) -> None:
        changed = [name for name in known if known[name] != self._fitted_with[name]]
        if changed:
            raise ValueError(
                f"{changed[0]} must be that of the last fit, {self._fitted_with[changed[0]]}, when "
                f"warm_start=True goes on, got {known[changed[0]]}"
            )
        if not np.array_equal(data, self._data, equal_nan=True):
            raise ValueError("X must be the data of the last fit when warm_start=True goes on")

    def _standardised(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        check_is_fitted(self)
        return np.asarray((self._validated(X, reset=False) - self._centre) / self._spread)

    def _validated(self, X: npt.ArrayLike, *, reset: bool) -> FloatArray:  # noqa: N803
        x: FloatArray = validate_data(
            self, X, dtype=np.float64, order="C", reset=reset, ensure_all_finite=False
        )
        return check_not_infinite("X", x)


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


def _check_level(level: Any, last: int) -> None:
    if level is not None and not (is_integer(level) and 0 <= level <= last):
        raise ValueError(f"level must be an integer between 0 and {last}, got {level!r}")


def _resolve_divergence(divergence: Any, depth: Any) -> Concentration:
    """Resolve b(l); it is checked as a concentration, but here its name is another."""
    try:
        return resolve_concentration(divergence, depth)
    except ValueError as error:
        text = str(error)
        if not text.startswith("depth must"):
            text = text.replace("concentration", "divergence", 1)
        raise ValueError(text) from None


def _pair(name: str, value: Any) -> tuple[float, float]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be two numbers greater than 0, got {value!r}") from None
    return check_positive(f"{name}[0]", first), check_positive(f"{name}[1]", second)


def _seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return a seed sequence for anything that scikit-learn or numpy take as a seed."""
    if random_state is None:
        return np.random.SeedSequence()
    if is_integer(random_state):
        check_integer("random_state", random_state, minimum=0)
        return np.random.SeedSequence(int(random_state))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    state = check_random_state(random_state)
    return np.random.SeedSequence(state.randint(2**31, size=4).tolist())


def _location_and_scale(x: FloatArray, standardize: bool) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations of what is observed, safe for very large values."""
    if not standardize:
        return np.zeros(x.shape[1]), np.ones(x.shape[1])
    size = np.nanmax(np.abs(x), axis=0)
    size[size == 0] = 1.0
    centre = np.nanmean(x / size, axis=0) * size
    largest = np.nanmax(np.abs(x - centre), axis=0)
    # A column that is constant up to rounding has no scale of its own.
    flat = largest <= 1e-12 * size
    largest[flat] = 1.0
    spread = np.nanstd((x - centre) / largest, axis=0) * largest
    spread[flat] = 1.0
    return centre, spread
