"""Going on with new rows, batch by batch: old rows are kept as sums, and drift is noticed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from sticktree.blas import one_thread
from sticktree.checks import (
    FloatArray,
    IntArray,
    check_integer,
    check_not_infinite,
    check_reach,
    is_real,
)
from sticktree.data.groups import RowGroups, take_column
from sticktree.data.parents import Kin, join_kin
from sticktree.data.sources.tables import ChunkedTable
from sticktree.data.training import MemoryStore, TrainingData, check_few_groups, label_every
from sticktree.engine import parallel_chain_of
from sticktree.engine.draw import Draw
from sticktree.engine.online.groups import StreamedGroups
from sticktree.errors import ParameterError, warn_caller
from sticktree.estimators.reading import is_dask, read_rows, row_names
from sticktree.fit import Fit
from sticktree.inference.compiling import compile_for_stream
from sticktree.inference.drift import Batch, DriftWarning, Stream, score_batch
from sticktree.inference.packing import pack_chain, unpack_chain
from sticktree.inference.parameters import PARAMETERS, check_level, draws_depend_on
from sticktree.inference.runner import Run, Schedule, Workers, sample
from sticktree.inference.showing import watching
from sticktree.model import Model
from sticktree.posterior.predictive import PosteriorPredictive
from sticktree.tree import NULL

if TYPE_CHECKING:
    from sticktree.engine.bulk.chain import BulkChain
    from sticktree.engine.online.rows import Between

FREE = frozenset({"n_warmup", "thin", "algorithm"})  # parameters that may change between batches


def as_first_batch(fit: Fit) -> Fit:
    """Return a fit that has a record of its rows as the first batch."""
    stream = Stream((first_batch(fit.posterior.draws),))
    return replace(fit, stream=stream).with_summaries(fit.summaries())


def with_batch(
    estimator: Any,
    X: Any,  # noqa: N803
    n_warmup: int,
    n_draws: int,
    groups: Any = None,
    forget: float = 0.0,
    drift: float = 0.0,
) -> Fit:
    """Return the fit after a further batch; see :meth:`sticktree.DFPMixture.partial_fit`."""
    from sticktree.engine.online.rows import Between

    last: Fit = estimator.fit_
    schedule = Schedule(
        check_integer("n_warmup", n_warmup, minimum=0),
        check_integer("n_draws", n_draws, minimum=1),
        check_integer("thin", estimator.thin, minimum=1),
    )
    n_jobs = PARAMETERS["n_jobs"].check(estimator.n_jobs)
    workers = Workers.of(len(last.sampled.runs), n_jobs)
    _check_stream(estimator, last)
    if drift and last.model.leaf_noise == "own":
        raise ParameterError(
            "drift",
            drift,
            "0 where leaves have their own noise",
            'take leaf_noise="shared" from the first batch on, or forget=',
        )
    check_level(estimator.level, last.model.depth)
    scaling = last.training.scaling
    X, groups, parents = _take_groups(X, groups, last)  # noqa: N806
    x = scaling.standardised(_read_batch(estimator, X))
    check_reach("X", x, scaling.columns.spoken)
    found, place = None, np.empty(0, dtype=np.int64)
    if last.training.groups is not None:
        found, place = join_kin(last.training.groups, _rows_left(last), groups, parents, len(x))
        check_few_groups(found)
    training = TrainingData.of_data(scaling, x, parallel=True, names=row_names(X), groups=found)
    model = _model_with(last.model, found)
    between = Between(forget, drift, model.groups, place)
    every = label_every(len(x), n_draws, workers.n_chains)
    schedule = replace(schedule, label_every=every)
    compile_for_stream(last.model, x, estimator.progress)
    with one_thread():
        predictive, known_groups = _foreseen(last, found, place, drift)
        scored = score_batch(x, predictive, scaling, known_groups)
        runs = _followed(last, training, workers, between)
        with watching(estimator.progress, runs, schedule) as watch:
            finished = sample(runs, schedule, workers.n_jobs, watch)
    if not finished:
        raise KeyboardInterrupt("interrupted: the batch was not taken in")
    before, after = last.posterior.draws, [draw for run in runs for draw in run.draws]
    known = last.stream or Stream((first_batch(before),))
    batch = Batch(
        batch=len(known),
        rows=len(x),
        log_density=scored.log_density,
        expected=scored.expected,
        error=scored.error,
        z=scored.z,
        leaves_before=_n_leaves(before),
        leaves_after=_n_leaves(after),
        new_share=_new_share(after),
    )
    selection = last.sampled.selection
    if selection is not None and found is not None:
        models = {
            name: model if one is last.model else _model_with(one, found)
            for name, one in selection.models.items()
        }
        selection = replace(selection, models=models)
    sampled = replace(
        last.sampled,
        model=model,
        selection=selection,
        runs=runs,
        schedule=schedule,
        finished=True,
    )
    fit = replace(
        last,
        training=training.without_store(),
        sampled=sampled,
        asked_level=estimator.level,
        stream=known.plus(batch),
    ).summarised(progress=estimator.progress)
    if batch.drifted:
        warn_caller(batch.warning(), DriftWarning)
    return fit


def first_batch(draws: Sequence[Draw]) -> Batch:
    """Return the record of the batch that a mixture was fitted to."""
    nan = math.nan
    return Batch(0, draws[0].n_data, nan, nan, nan, nan, nan, _n_leaves(draws), 1.0)


def _check_stream(estimator: Any, last: Fit) -> None:
    """Raise an error if something is in the way of a further batch."""
    others = last.columns.discrete
    if others:
        raise ValueError(
            f"partial_fit is for gaussian and lognormal columns only, got {', '.join(others)}"
        )
    if last.training.factors is not None:
        raise ValueError(
            f"partial_fit must follow a fit without factors, got {last.training.factors.n_factors} "
            "of them: they were estimated from the rows of the fit; fit with factors=None"
        )
    if not last.training.in_memory:
        raise ValueError(
            "partial_fit must follow a fit to rows in memory, got one to rows that are "
            "elsewhere; call partial_fit from the first batch on"
        )
    for name, text in draws_depend_on(estimator.get_params()).items():
        if name not in FREE and text != last.parameters[name]:
            first = f"that of the first batch, {last.parameters[name]}, when partial_fit goes on"
            raise ParameterError(name, getattr(estimator, name), first, shown=text)


def _read_batch(estimator: Any, X: Any) -> FloatArray:  # noqa: N803
    if is_dask(X) or isinstance(X, ChunkedTable):
        raise TypeError(
            f"X must be rows in memory, got {type(X).__name__}; give its pieces one by one"
        )
    values = read_rows(estimator, X).values
    if not len(values):
        raise ParameterError("X", X, "at least one row", verb="have", shown="none")
    return check_not_infinite("X", values)


def check_forget(forget: Any) -> float:
    """Return the share of the rows before that is forgotten."""
    if not is_real(forget) or not 0.0 <= forget < 1.0:
        remedy = "to forget all, fit the batch alone"
        raise ParameterError("forget", forget, "a number from 0 to below 1", remedy)
    return float(forget)


def check_drift(drift: Any) -> float:
    """Return the variance of the step that places of clusters take between two batches."""
    if not is_real(drift) or not 0.0 <= drift < np.inf:
        raise ParameterError("drift", drift, "a number from 0 on, in units of the noise's variance")
    return float(drift)


# ---- groups --------------------------------------------------------------------------------------


def _take_groups(X: Any, given: Any, last: Fit) -> tuple[Any, Any, Any]:  # noqa: N803
    """Return a batch without columns of groups and parents, and these.

    Raise an error unless they go on as those before did.
    """
    known, parameter, groups, parents = last.training.groups, "groups", given, None
    if isinstance(given, Kin):
        parameter, groups, parents = given.parameter, given.groups, given.parents
    if known is None:
        if given is not None:
            _refuse(parameter, parameter, "none")
        return X, None, None
    if given is not None and parameter != known.parameter:
        _refuse(parameter, parameter, known.parameter)
    if parents is not None and known.parents is None:
        _refuse("parents", "parents", "groups without parents")
    columns = {str(name) for name in getattr(X, "columns", ())}
    if groups is None and known.column in columns:
        groups = known.column
    if parents is None and known.parent_column in columns:
        parents = known.parent_column
    X, groups, _ = take_column(X, groups, known.parameter)  # noqa: N806
    X, parents, _ = take_column(X, parents, "parents")  # noqa: N806
    if groups is None:
        one = known.parameter.removesuffix("s")
        expected = f"the {one} of each row of the batch: those before had {known.parameter}"
        raise ParameterError(known.parameter, groups, expected, "rows without one are None")
    return X, groups, parents


def _refuse(parameter: str, what: str, before: str) -> None:
    """Raise an error: there is something that the batches before did not have."""
    expected = f"given from the first batch on, or left out: those before had {before}"
    raise ParameterError(parameter, None, expected, shown=what)


def _rows_left(last: Fit) -> npt.NDArray[np.int64]:
    """Return how many rows of each group there are still, in the chain that has most."""
    known = last.training.groups
    assert known is not None
    counts = [np.bincount(known.of_data, minlength=known.number)]
    for run in last.sampled.runs:
        kept = [draw.parameters.get("sums_seated") for draw in run.draws[-1:]]
        counts += [seated.sum(axis=0) for seated in kept if seated is not None]
    return np.asarray(np.max(counts, axis=0), dtype=np.int64)


def _model_with(model: Model, found: RowGroups | None) -> Model:
    """Return a model of rows in these groups."""
    if found is None or model.groups is None:
        return model
    known = model.groups
    groups = StreamedGroups(
        found.of_data,
        known.concentration,
        known.scale,
        found.parents,
        known.kinship,
        total=found.number,
    )
    return replace(model, groups=groups)


def _foreseen(
    last: Fit, found: RowGroups | None, place: npt.NDArray[np.int64], drift: float
) -> tuple[PosteriorPredictive, IntArray | None]:
    """Return what is expected of a batch, and which of the groups known before its rows are of.

    Those that are new have numbers below NULL, by the nearest of their parents that was one before
    (`Groups.asked`), or by none.
    """
    from sticktree.engine.online.drifting import moved_sums

    predictive = last.posterior.predictive
    if drift and last.training.parallel:
        draws = []
        for one in predictive.draws:
            parameters = moved_sums(one.draw.parameters, drift)
            draws.append(replace(one, draw=replace(one.draw, parameters=parameters)))
        predictive = replace(predictive, draws=draws)
    if found is None:
        return predictive, None
    assert last.training.groups is not None
    kept = np.flatnonzero(place >= 0)
    n_before, was = last.training.groups.number, dict(zip(place[kept].tolist(), kept, strict=True))
    number = np.empty(found.number, dtype=np.int32)
    for j in np.unique(found.of_data).tolist():
        elder = j
        while elder != NULL and elder not in was:
            elder = NULL if found.parents is None else int(found.parents[elder])
        known = was.get(elder, place.size + j)
        number[j] = known if elder == j and known < n_before else NULL - 1 - known
    return predictive, number[found.of_data]


def _followed(last: Fit, training: TrainingData, workers: Workers, between: Between) -> list[Run]:
    """Return copies of all chains that go on with new rows."""
    from sticktree.engine.online.rows import follow

    model, old = last.model, last.training
    assert training.store is not None
    jitter = model.jitter(training.data.shape[1])
    old = replace(old, store=old.stored())  # one for all chains
    runs = []
    for run in last.sampled.runs:
        chain = unpack_chain(pack_chain(run.chain), old, model)
        if not old.parallel:
            rows = cast("MemoryStore", old.store).rows(1, jitter)
            chain = parallel_chain_of(model).following(chain, rows)
        new = training.store.rows(workers.threads_of_chain, jitter)
        follow(cast("BulkChain", chain), new, between)
        runs.append(Run(chain))
    return runs


def _n_leaves(draws: Sequence[Draw]) -> float:
    """Return the mean number of leaves: nodes that are no parents."""
    return float(np.mean([draw.parent.size - np.unique(draw.parent).size for draw in draws]))


def _new_share(draws: Sequence[Draw]) -> float:
    """Return the mean share of rows in leaves that hold rows of the newest batch only."""
    shares = []
    for draw in draws:
        if draw.labelled:
            here = np.bincount(draw.leaf, minlength=draw.parent.size)
            shares.append(here[(here > 0) & (here == draw.rows_below())].sum() / draw.n_data)
    return float(np.mean(shares))
