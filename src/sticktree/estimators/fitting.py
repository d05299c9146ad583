"""From the parameters of an estimator and a table to a fit."""

from __future__ import annotations

from typing import Any

from sticktree.checks import is_integer
from sticktree.data.training import TrainingData
from sticktree.errors import warn_caller
from sticktree.estimators.reading import training_data
from sticktree.fit import Fit
from sticktree.inference.fitting import Plan, continue_sampling, sample_posterior
from sticktree.inference.parameters import draws_depend_on
from sticktree.io.checkpoint import Checkpoint
from sticktree.posterior.diagnostics import ConvergenceWarning

__all__ = ["fit_rows"]


def fit_rows(estimator: Any, X: Any, sample_weight: Any, algorithm: str) -> Fit:  # noqa: N803
    """Fit the rows of ``X``, or go on with the last fit if ``warm_start`` says so."""
    plan = Plan.of(estimator.model_parameters() | {"algorithm": algorithm})
    last = estimator.fit_ if estimator.warm_start and hasattr(estimator, "fit_") else None
    if last is not None:
        algorithm = last.training.algorithm
    training = training_data(estimator, X, sample_weight, algorithm, last)
    parameters = draws_depend_on(estimator.get_params())
    checkpoint = _checkpoint(estimator, training, parameters)
    if last is None:
        sampled = sample_posterior(training, plan, checkpoint)
    else:
        _check_same(last, training, parameters)
        sampled = continue_sampling(last.sampled, training, plan, checkpoint)
    stream = None if last is None else last.stream
    fit = Fit(training.without_store(), sampled, plan.level, parameters, stream)
    fit = fit.summarised()
    if not sampled.finished:
        warn_caller(
            f"interrupted: {len(fit.posterior)} draws are kept; fit with warm_start=True to go on",
            ConvergenceWarning,
        )
    if fit.diagnosis.verdict().agreement == "disagree":
        warn_caller(str(fit.diagnosis.advice()), ConvergenceWarning)
    return fit


def _check_same(last: Fit, training: TrainingData, parameters: dict[str, str]) -> None:
    for name, text in parameters.items():
        if text != last.parameters[name]:
            raise ValueError(
                f"{name} must be that of the last fit, {last.parameters[name]}, when "
                f"warm_start=True goes on, got {text}"
            )
    if training.digest != last.training.digest:
        raise ValueError("X must be the data of the last fit when warm_start=True goes on")


def _checkpoint(
    estimator: Any, training: TrainingData, parameters: dict[str, str]
) -> Checkpoint | None:
    """Return the checkpoint, if there is to be one; raise before any work if it cannot serve."""
    if estimator.checkpoint is None:
        return None
    if not is_integer(estimator.random_state):
        raise ValueError(
            "checkpoint needs an integer as random_state, so that a run can go on, "
            f"got {estimator.random_state!r}"
        )
    checkpoint = Checkpoint(estimator.checkpoint, training, parameters)
    checkpoint.exists()
    return checkpoint
