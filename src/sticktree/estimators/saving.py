"""Fitted estimators in files: one ``.sticktree`` file holds all that a fit has learned.

The file is a zip of JSON and of arrays in numpy's own format. Nothing is pickled, so that reading
a file from somebody else runs none of their code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError

from sticktree.data.training import TrainingData
from sticktree.errors import ParameterError
from sticktree.estimators.mixture import DFPMixture
from sticktree.estimators.presets import DirichletDiffusionTree, DPMixture, PitmanYorDiffusionTree
from sticktree.fit import Fit
from sticktree.inference.course import Course
from sticktree.inference.fitting import Sampled
from sticktree.inference.packing import pack_chain, resting
from sticktree.inference.parameters import draws_depend_on
from sticktree.inference.runner import Run
from sticktree.io.archive import Archive, check_destination, open_archive, write_archive
from sticktree.io.objects import Decoder, Encoder, NotSavableError
from sticktree.io.sound_fits import check_fit
from sticktree.model import Model

FORMAT, VERSION = "sticktree.estimator", 2
ESTIMATORS: dict[str, type[DFPMixture]] = {
    kind.__name__: kind
    for kind in (DFPMixture, DPMixture, DirichletDiffusionTree, PitmanYorDiffusionTree)
}

FITTED = ("n_features_in_", "feature_names_in_")
"""Attributes of estimators beside their parameters and the fit."""


def save(estimator: DFPMixture, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file.

    What :func:`load` reads from it answers everything as the estimator does, to the last bit, and a
    fit with ``warm_start=True`` goes on to the identical draws. The same fit gives the same bytes.
    The file appears whole or not at all.

    Parameters
    ----------
    estimator : DFPMixture, DPMixture, DirichletDiffusionTree or PitmanYorDiffusionTree
        A fitted estimator. A parameter that is a function cannot be saved; a generator of random
        numbers is saved as it stands.
    path : path
        Where to write, best with the suffix ``.sticktree``. A file that is there is replaced.

    Examples
    --------
    >>> import numpy as np, sticktree, tempfile
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> mixture = sticktree.DPMixture(n_warmup=200, n_draws=200, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sticktree.save(mixture, f"{folder}/mine.sticktree")
    ...     again = sticktree.load(f"{folder}/mine.sticktree")
    >>> bool((again.score_samples(X) == mixture.score_samples(X)).all())
    True
    """
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise ParameterError(
            "estimator", estimator, f"a {', '.join(ESTIMATORS)}, of that very class"
        )
    if not estimator.__sklearn_is_fitted__():
        raise NotFittedError(f"estimator must be fitted before it can be saved, got {estimator!r}")
    path = Path(path)
    check_destination(path)
    fit, encoder = estimator.fit_, Encoder()
    # Sorted, so that an estimator that was loaded gives the same file.
    attributes = sorted(vars(estimator).keys() - {"fit_"})
    sampled = fit.sampled
    document = {
        "class": name,
        "attributes": {key: _form(encoder, key, getattr(estimator, key)) for key in attributes},
        "selection": encoder.encode(sampled.selection),
        "model": encoder.encode(sampled.model),
        "schedule": encoder.encode(sampled.schedule),
        "finished": sampled.finished,
        "course": encoder.encode(sampled.course),
        "training": encoder.encode(fit.training),
        "level": _form(encoder, "level", fit.asked_level),
        "stream": encoder.encode(fit.stream),
        "summaries": {key: encoder.encode(value) for key, value in fit.summaries().items()},
        "runs": [
            {
                "chain": encoder.encode(pack_chain(run.chain)),
                "draws": encoder.encode(run.draws),
                "n_sweeps": run.n_sweeps,
            }
            for run in sampled.runs
        ],
        "changed": _changed(estimator),
    }
    write_archive(path, FORMAT, VERSION, document, encoder.arrays)


def load(path: str | os.PathLike[str]) -> DFPMixture:
    """Read an estimator that :func:`save` has written.

    Files from anybody can be read: nothing in them is run. What the file was written by does not
    matter; a version of the format that is newer than this sticktree is refused.

    Parameters
    ----------
    path : path
        The file.

    Raises
    ------
    ValueError
        If it is damaged, or something else, or of a version that is not known.
    """
    with open_archive(Path(path), {FORMAT: list(READERS)}) as archive:
        return READERS[archive.version](archive)


def _read_1(archive: Archive) -> DFPMixture:
    """Read a file of version 1, which has all attributes of the estimator side by side."""
    document, decoder = archive.document(), _decoder(archive)
    found = {key: decoder.decode(form) for key, form in document["attributes"].items()}
    summaries = {
        "diagnosis": found.pop("diagnosis_"),
        **{
            name: found.pop(f"{name}_")
            for name in ("tree", "level", "labels", "confidence")
            if f"{name}_" in found
        },
    }
    if "_whole_tree" in found:
        summaries["whole_tree"] = found.pop("_whole_tree")
    training = TrainingData(
        found.pop("_preparation"),
        found.pop("_data"),
        found.pop("_rows"),
        found.pop("_outside"),
        found.pop("_digest"),
        found.pop("algorithm_") == "parallel",
        names=found.pop("_awaiting", None),
        sampled=found.pop("_kept", None),
    )
    model, selection = found.pop("_model_"), found.pop("selection_")
    schedule, stream = found.pop("_done"), found.pop("stream_", None)
    for name in ("posterior_", "columns_", "covariance_type_", "leaf_noise_", "depth_"):
        del found[name]  # these follow from the others
    estimator = _estimator(document["class"], found)
    runs = _runs(document, decoder, training, model)
    finished = all(len(run.draws) == schedule.n_draws for run in runs)
    sampled = Sampled(model, selection, runs, schedule, finished)
    parameters = draws_depend_on(estimator.get_params()) | document["changed"]
    fit = Fit(training, sampled, estimator.level, parameters, stream)
    return _with_fit(estimator, fit, summaries, decoder)


def _read_2(archive: Archive) -> DFPMixture:
    document, decoder = archive.document(), _decoder(archive)
    decoder.look_at_draws(_forms_of_draws(document))
    # In the order in which they were written: what is met again is found by its number.
    attributes = {key: decoder.decode(form) for key, form in document["attributes"].items()}
    selection, model, schedule = (
        decoder.decode(document[name]) for name in ("selection", "model", "schedule")
    )
    # Files that were written before there was one have numbers that were fixed.
    course = decoder.decode(document["course"]) if "course" in document else Course()
    training, level, stream = (
        decoder.decode(document[name]) for name in ("training", "level", "stream")
    )
    summaries = {key: decoder.decode(form) for key, form in document["summaries"].items()}
    estimator = _estimator(document["class"], attributes)
    runs = _runs(document, decoder, training, model)
    sampled = Sampled(model, selection, runs, schedule, document["finished"], course)
    parameters = draws_depend_on(estimator.get_params()) | document["changed"]
    fit = Fit(training, sampled, level, parameters, stream)
    return _with_fit(estimator, fit, summaries, decoder)


def _forms_of_draws(document: dict[str, Any]) -> list[Any]:
    """Return the forms of all lists of draws that are not empty."""
    forms = [run["draws"] for run in document["runs"]]
    if document["selection"] is not None:
        forms += [form for _, form in document["selection"]["Selection"]["draws"]["dict"]]
    return [form for form in forms if form]


def _decoder(archive: Archive) -> Decoder:
    return Decoder(archive.array, archive.members.take)


def _with_fit(
    estimator: DFPMixture, fit: Fit, summaries: dict[str, Any], decoder: Decoder
) -> DFPMixture:
    """Return the estimator with its fit, once that is known to hold together."""
    check_fit(fit, summaries, decoder.outlines)
    if estimator.n_features_in_ != len(fit.columns.given):
        raise ValueError("the estimator has other columns than its fit")
    estimator.fit_ = fit.with_summaries(summaries)
    return estimator


def _estimator(name: str, attributes: dict[str, Any]) -> DFPMixture:
    # Files that were written before models were averaged, and before there were factors, answer as
    # they did then.
    estimator = ESTIMATORS[name](averaging="best")
    estimator.factors = None
    for key, value in attributes.items():
        if key not in vars(estimator) and key not in FITTED:
            raise ValueError(f"an estimator has no attribute {key!r}")
        setattr(estimator, key, value)
    return estimator


def _runs(
    document: dict[str, Any], decoder: Decoder, training: TrainingData, model: Model
) -> list[Run]:
    return [
        Run(
            resting(decoder.decode(form["chain"]), training, model),
            decoder.decode(form["draws"]),
            form["n_sweeps"],
        )
        for form in document["runs"]
    ]


# A change of the format adds a reader; those of older versions stay.
READERS: dict[int, Callable[[Archive], DFPMixture]] = {1: _read_1, 2: _read_2}


def _form(encoder: Encoder, name: str, value: Any) -> Any:
    try:
        return encoder.encode(value)
    except NotSavableError as reason:
        raise ValueError(f"{name} cannot be saved: {reason}{_advice(name, value)}") from None


def _advice(name: str, value: Any) -> str:
    if name == "divergence" and callable(value):
        return "; fit with an array of its values, one for each level"
    return ""


def _changed(estimator: DFPMixture) -> dict[str, str]:
    """Return those parameters, as text, that have been changed since the fit.

    The others are not written: how numbers look as text depends on the version of numpy.
    """
    now = draws_depend_on(estimator.get_params())
    return {key: text for key, text in estimator.fit_.parameters.items() if now.get(key) != text}
