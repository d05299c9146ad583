"""Whether a fit from a file holds together: its model, its rows, its draws and its summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.data import Columns
from sticktree.data.factors import Factored
from sticktree.data.groups import RowGroups
from sticktree.data.training import MOST_GROUPS, TrainingData
from sticktree.engine.online.groups import StreamedGroups
from sticktree.engine.own.kinds import KINDS, LIKELIHOODS
from sticktree.fit import Fit
from sticktree.inference.drift import Batch, Stream
from sticktree.inference.fitting import Sampled
from sticktree.inference.packing import RestingChain
from sticktree.inference.selection import Selection
from sticktree.io.laws import Sizes, sizes_of
from sticktree.io.outlines import check_draws
from sticktree.io.sound_chains import check_chains
from sticktree.io.sound_draws import Outlines
from sticktree.model import Groups, Model
from sticktree.tree import NULL, Tree

PRIORS = (
    "concentration_prior",
    "precision_prior",
    "scale_prior",
    "discount_prior",
    "node_prior",
    "rate_prior",
)


def check_fit(fit: Fit, summaries: Mapping[str, Any], outlines: Outlines) -> None:
    """Raise unless a fit is one that could have been made.

    ``outlines`` are those of the draws, as far as they are known.
    """
    training, sampled = fit.training, fit.sampled
    check_rows(training)
    check_model(sampled.model, training)
    _check_sampled(sampled, training, outlines)
    if fit.selection is not None:
        _check_selection(fit.selection, sampled.model, training, outlines)
    level, depth = fit.asked_level, sampled.model.depth
    _needed(level is None or (type(level) is int and 0 <= level <= depth), f"level is {level!r}")
    _needed(fit.stream is None or isinstance(fit.stream, Stream), "the stream of batches is none")
    _needed(
        fit.stream is None or all(isinstance(batch, Batch) for batch in fit.stream.batches),
        "a batch of the stream is none",
    )
    _check_summaries(summaries, fit)


def _check_sampled(sampled: Sampled, training: TrainingData, outlines: Outlines) -> None:
    model, runs = sampled.model, sampled.runs
    _needed(any(run.draws for run in runs), "there are no draws")
    _needed(type(sampled.finished) is bool, "finished is no truth value")
    _needed(all(type(run.n_sweeps) is int for run in runs), "n_sweeps is no number")
    for name in ("n_warmup", "n_draws", "thin", "label_every"):
        _needed(getattr(sampled.schedule, name) >= 0, f"{name} is negative")
    _needed(sampled.schedule.thin > 0, "thin is 0")
    _needed(sampled.schedule.label_every > 0, "label_every is 0")
    planned, swept = sampled.schedule.n_sweeps, [run.n_sweeps for run in runs]
    if sampled.finished and not sampled.course.out_of_time:
        _needed(planned <= max(swept), f"{planned} sweeps were planned, and {max(swept)} are done")
    looks = sampled.course.looks
    if looks:
        begun = set(sampled.course.numbers(len(runs)))
        ended = sampled.finished and not sampled.course.out_of_time
        same = set(looks[-1].left) == begun if ended else set(looks[-1].left) <= begun
        _needed(same, "there are other chains than looked at")
    sizes = sizes_of(model, training.data, training.n_data, training.parallel)
    for run in runs:
        n_drawn = (len(run.draws) - 1) * sampled.schedule.thin
        _needed(run.n_sweeps >= n_drawn, "there are more draws than sweeps")
    check_draws([outlines.of(run.draws) for run in runs], model, sizes)
    chains = [run.chain for run in runs if isinstance(run.chain, RestingChain)]
    check_chains([chain.arrays for chain in chains if chain.arrays is not None], model, sizes)


# ---- models and rows -----------------------------------------------------------------------------


def check_model(model: Model, training: TrainingData) -> None:
    """Raise unless a model could be one of these rows."""
    n_columns = training.data.shape[1]
    shape = model.shape
    _needed(shape.ndim == 1 and shape.size >= 1, "a model has no levels")
    _needed(shape.dtype == np.float64, "the shape of levels is no number")
    _needed(np.isfinite(shape).all() and (shape > 0).all(), "the shape of a level is not positive")
    for name in PRIORS:
        known = [x for x in getattr(model, name) if x is not None]  # else it is learned
        _needed(all(0 < x < np.inf for x in known), f"{name} is not positive")
    _needed(0 < model.psi < np.inf, "psi is not positive")
    c, d = model.concentration, model.discount
    _needed(c is None or 0 < c < np.inf, f"the concentration is {c}")
    _needed(d is None or 0 <= d < 1, f"the discount is {d}")
    if model.hyper_prior is not None:
        _needed(all(part.shape == (3, n_columns) for part in model.hyper_prior), "hyper_prior")
        _needed(all(np.isfinite(part).all() for part in model.hyper_prior), "hyper_prior")
    _check_groups(model.groups, training)
    columns = training.scaling.columns
    if model.columns is None:
        _needed(columns.is_continuous.all(), "a model of other columns than there are")
        return
    _needed(len(model.columns) == n_columns, "a model has other columns")
    if training.factored is not None:
        kinds = {(column.kind, column.n_categories, column.trials) for column in model.columns}
        _needed(kinds == {("gaussian", 1, NULL)}, "scores are of another kind")
        _needed(all(0 <= column.floor < np.inf for column in model.columns), "floors of scores")
        return
    for k, (column, kind, n) in enumerate(
        zip(model.columns, columns.kinds, columns.n_categories, strict=True)
    ):
        _needed(column.kind == kind, f"column {k} is {column.kind}, and was {kind}")
        _needed(column.n_categories == max(n, 1), f"column {k} has other categories")
        _needed(0 <= column.floor < np.inf, f"the floor of column {k} is {column.floor}")
        _needed(column.trials == columns.trials[k], f"column {k} has other trials")
    if model.leaf_noise == "shared":
        _needed(columns.is_continuous.all(), "noise cannot be shared by columns of counts")


def _check_groups(groups: Groups | None, training: TrainingData) -> None:
    """Check that a model has the groups of the rows: kernels count by them."""
    _needed((groups is None) == (training.groups is None), "a model has other groups than rows")
    if groups is None or training.groups is None:
        return
    of_row, n_data = groups.of_row, training.n_data
    _needed(of_row.shape == (n_data,) and of_row.dtype.kind == "i", "groups of other rows")
    total = groups.total if isinstance(groups, StreamedGroups) else None
    _needed(total == training.groups.total, "a model has other groups than rows")
    if total is not None:
        _needed(training.parallel and 0 < total <= MOST_GROUPS, f"there are {total} groups")
    most = n_data if total is None else total
    _needed(of_row.min() >= 0 and of_row.max() < most, "a row is of a group that is not there")
    _needed(np.array_equal(of_row, training.groups.of_data), "a model has other groups than rows")
    names = training.groups.names
    _needed(0 < len(names) <= groups.number, "there are names of other groups")
    gamma = groups.concentration
    _needed(gamma is None or 0 < gamma < np.inf, f"the concentration of groups is {gamma}")
    _needed(0 < groups.scale < np.inf, f"the scale of groups is {groups.scale}")
    kappa = groups.kinship
    _needed(kappa is None or 0 < kappa < 1, f"the kinship of groups is {kappa}")
    _check_parents(groups, training.groups)


def _check_parents(groups: Groups, known: RowGroups) -> None:
    """Check that parents of groups are a forest: kernels go up by them."""
    parents = groups.parents
    _needed((parents is None) == (known.parents is None), "a model has other parents of groups")
    if parents is None or known.parents is None:
        return
    _needed(parents.ndim == 1 and parents.dtype.kind == "i", "parents of groups are no numbers")
    _needed(np.array_equal(parents, known.parents), "a model has other parents of groups")
    n_members, spare = parents.size, int(known.in_order)
    wanted = groups.number + len(known.parent_names) + spare
    _needed(n_members == wanted, "there are names of other parents")
    right = (parents >= NULL) & (parents < n_members)
    _needed(right.all(), "a parent of groups is not there")
    above, steps = np.arange(n_members), 0
    while (above != NULL).any():
        above, steps = np.where(above == NULL, NULL, parents[above]), steps + 1
        _needed(steps <= n_members, "parents of groups go in a circle")
    last = groups.number + len(known.parent_names)
    _needed(n_members == last or not (parents == last).any(), "a time to come is a parent")


def check_rows(training: TrainingData) -> None:
    """Raise unless rows are those of the columns that they say."""
    scaling = training.scaling
    _check_columns(scaling.columns)
    n_columns = len(scaling.columns)
    for name in ("centre", "spread"):
        array = getattr(scaling, name)
        _needed(array.shape == (n_columns,) and np.isfinite(array).all(), f"{name} of the columns")
    _needed((scaling.spread > 0).all(), "the spread of a column is not positive")
    codes = ~scaling.columns.is_continuous  # by which kernels count: they have no units
    plain = (scaling.centre[codes] == 0).all() and (scaling.spread[codes] == 1).all()
    _needed(plain, "a column of counts or categories has units")
    for name in ("standardised", "outside"):
        array = getattr(training, name)
        _needed(array.ndim == 2 and array.shape[1] == n_columns, f"{name} has other columns")
        _needed(array.dtype == np.float64, f"{name} holds no floats")
        _check_values(array, scaling.columns)
    if training.factored is not None:
        _check_factored(training.factored, training.data)
    rows, n_outside = training.rows, len(training.outside)
    _needed(rows.ndim == 1 and rows.size > 0 and rows.dtype == np.int64, "there are no rows")
    if training.sampled is None:
        _needed(len(training.data) == rows.size, "there are other rows than data")
    else:
        number, some = training.sampled
        _needed(training.parallel and not len(training.data), "rows are in memory and not")
        _needed(number.ndim == 1 and some.shape == (number.size, n_columns), "sampled rows")
        _needed(number.min(initial=0) >= 0, "a sampled row has no number")
        _needed(number.max(initial=0) < rows.size, "a sampled row is not there")
        _check_values(some, scaling.columns)
    _needed(rows.min() >= 0 and rows.max() < rows.size + n_outside, "a row is not in the table")
    n_distinct = int(np.count_nonzero(np.bincount(rows)))
    _needed(rows.max() < n_distinct + n_outside, "a row of the table is missing")
    n_rows = n_distinct + n_outside
    _needed(training.names is None or len(training.names) == n_rows, "there are names of others")


def _check_factored(factored: Factored, scores: npt.NDArray[Any]) -> None:
    """Check that scores and factors are of the same rows and columns."""
    factors, (n_rows, n_columns) = factored.factors, factored.rows.shape
    _needed(factors.axes.ndim == 2 and len(factors.axes) == n_columns, "factors of other columns")
    n_factors = factors.axes.shape[1]
    shapes = {"centre": n_columns, "noise": n_columns, "variance": n_factors}
    shapes["shrinkage"] = n_factors
    for name, size in shapes.items():
        array = getattr(factors, name)
        _needed(array.shape == (size,) and np.isfinite(array).all(), f"{name} of the factors")
    _needed(np.isfinite(factors.axes).all(), "axes of the factors")
    _needed((factors.noise > 0).all() and (factors.variance > 0).all(), "factors have no noise")
    _needed(scores.shape == (n_rows, n_factors), "scores of other rows")
    _needed(scores.dtype == np.float64 and not np.isinf(scores).any(), "a score is infinite")
    _needed(factored.log_rest.shape == factored.marks.shape == (n_rows,), "scores of other rows")
    _needed(not np.isnan(factored.log_rest).any(), "a density is no number")


def _check_columns(columns: Columns) -> None:
    n_columns = len(columns)
    _needed(n_columns > 0, "there are no columns")
    for name in ("declared", "categories", "dtypes", "whole", "trials"):
        _needed(len(getattr(columns, name)) == n_columns, f"{name} of other columns")
    _needed(all(kind in KINDS for kind in columns.declared), "a column of an unknown kind")
    _needed(all(type(k) is int and 0 <= k < n_columns - 1 for k in columns.joined), "joined")
    for k, (kind, trials) in enumerate(zip(columns.kinds, columns.trials, strict=True)):
        of_trials = trials != NULL
        _needed(of_trials == (kind == "binomial"), f"column {k} has trials, or lacks them")
        if of_trials:
            right = 0 <= trials < n_columns and columns.kinds[trials] == "trials"
            _needed(right, f"the trials of column {k} are not there")
        has_codes = LIKELIHOODS[kind].has_codes
        known = columns.categories[k]
        _needed(bool(known) == has_codes, f"categories of column {k}")
        _needed(_are_different(known), f"categories of column {k}")


def _are_different(values: tuple[Any, ...]) -> bool:
    """Return whether values may be categories: none is twice there, a list, or missing."""
    try:
        return None not in values and len(set(values)) == len(values)
    except TypeError:
        return False


def _check_values(x: npt.NDArray[np.float64], columns: Columns) -> None:
    """Check that entries are those of their columns, or missing: kernels count by them."""
    if not x.size:
        return
    _needed(not np.isinf(x).any(), "an entry is infinite")
    for k, kind in enumerate(columns.kinds):
        if LIKELIHOODS[kind].is_continuous:
            continue
        seen = x[~np.isnan(x[:, k]), k]
        _needed((seen >= 0).all() and (seen == np.floor(seen)).all(), f"counts of column {k}")
        if columns.categories[k]:
            _needed((seen < len(columns.categories[k])).all(), f"a category of column {k}")
        trials = columns.trials[k]
        if trials != NULL:
            _needed(not (x[:, k] > x[:, trials]).any(), f"more successes than trials, column {k}")


# ---- what was chosen from, and what is known already ---------------------------------------------


def _check_selection(
    selection: Selection, model: Model, training: TrainingData, outlines: Outlines
) -> None:
    models = selection.models
    _needed(any(one is model for one in models.values()), "the model was not chosen from those")
    for name in ("results", "weights"):
        _needed(getattr(selection, name).keys() == models.keys(), f"{name} of other models")
    _needed(selection.dropped_after.keys() < models.keys(), "all models were dropped")
    _needed(selection.draws.keys() <= models.keys(), "draws of other models")
    weights = list(selection.weights.values())
    _needed(all(0 <= w <= 1 for w in weights) and sum(weights) > 0, "weights of the models")
    n_rows = {result.pointwise.size for result in selection.results.values()}
    _needed(len(n_rows) == 1, "models were compared by different rows")
    for result in selection.results.values():
        same = result.pointwise.shape == result.k_hat.shape == (next(iter(n_rows)),)
        _needed(same, "models were compared by different rows")
    for name, draws in selection.draws.items():
        if not draws or training.parallel or draws[0].n_data != training.n_data:
            continue  # these never answer
        check_model(models[name], training)
        check_draws([outlines.of(draws)], models[name], _sizes(models[name], training))


def _sizes(model: Model, training: TrainingData) -> Sizes:
    return sizes_of(model, training.data, training.n_data, training.parallel)


def _check_summaries(found: Mapping[str, Any], fit: Fit) -> None:
    training, n_data = fit.training, fit.training.n_data
    if "cut" in found:
        labels, stray = found["cut"].labels, found["cut"].stray
        _needed(labels.shape == stray.shape == (n_data,), "clusters of other rows")
        _check_labels(labels)
    if "labels" in found:
        _needed(found["labels"].shape == (training.n_rows,), "labels of other rows")
        _needed(found["labels"].dtype.kind == "i", "labels are no numbers")
        if "cut" in found:
            _check_labels(found["labels"], found["cut"].n_clusters)
    if "confidence" in found:
        confidence = found["confidence"]
        _needed(confidence.shape == (training.n_rows,), "confidences of other rows")
        right = confidence.dtype.kind == "f" and (confidence >= 0).all() and confidence.max() < 1.1
        _needed(right, "a confidence is no probability")
    if "lasting" in found:
        _needed(1 <= found["lasting"].n_clusters <= n_data, "a number of clusters")
    sizes = {"whole_tree": n_data, "tree": len(training.fitted_rows)}
    sizes["cluster_tree"] = sizes["tree"]
    for name, size in sizes.items():
        tree = found.get(name)
        if tree is None:
            continue
        _needed(isinstance(tree, Tree) and tree.n_data == size, f"{name} is of other rows")
        # Some forms of a tree have a node for every level of a branch.
        _needed(tree.has_times or tree.depth <= fit.depth, f"{name} is too deep")


def _check_labels(labels: npt.NDArray[Any], most: int | None = None) -> None:
    most = labels.size if most is None else most
    _needed(labels.dtype == np.int32, "labels are no numbers")
    _needed(labels.min() >= 0 and labels.max() < most, "there are more clusters than rows")


def _needed(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)
