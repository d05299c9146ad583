"""What a file keeps of a fitted estimator: all its attributes, and its chains as they stand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError

from sticktree.estimators.mixture import DFPMixture
from sticktree.estimators.presets import DirichletDiffusionTree, DPMixture, PitmanYorDiffusionTree
from sticktree.inference.sampling import Run
from sticktree.io.archive import Archive, check_destination, open_archive, write_archive
from sticktree.io.objects import Decoder, Encoder, NotSavableError
from sticktree.io.packing import pack_chain, resting

__all__ = ["load", "save"]

FORMAT, VERSION = "sticktree.estimator", 1
ESTIMATORS: dict[str, type[DFPMixture]] = {
    kind.__name__: kind
    for kind in (DFPMixture, DPMixture, DirichletDiffusionTree, PitmanYorDiffusionTree)
}

# Every attribute of an estimator is kept, but:
RUNS = "_runs"  # apart, since chains need data and model
FITTED_WITH = "_fitted_with"  # apart: how numbers look depends on the version of numpy
MADE_ANEW = frozenset({"_flat"})  # caches, filled again when they are asked for


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
    >>> mixture = sticktree.DPMixture(n_warmup=50, n_draws=50, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sticktree.save(mixture, f"{folder}/mine.sticktree")
    ...     again = sticktree.load(f"{folder}/mine.sticktree")
    >>> bool((again.score_samples(X) == mixture.score_samples(X)).all())
    True
    """
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise ValueError(
            f"estimator must be a {', '.join(ESTIMATORS)}, of that very class, got {estimator!r}"
        )
    if not estimator.__sklearn_is_fitted__():
        raise NotFittedError(f"estimator must be fitted before it can be saved, got {estimator!r}")
    path = Path(path)
    check_destination(path)
    encoder = Encoder()
    # Sorted, so that an estimator that was loaded gives the same file.
    kept = sorted(vars(estimator).keys() - {RUNS, FITTED_WITH} - MADE_ANEW)
    document = {
        "class": name,
        "attributes": {key: _form(encoder, key, getattr(estimator, key)) for key in kept},
        "runs": [
            {
                "chain": encoder.encode(pack_chain(run.chain)),
                "draws": encoder.encode(run.draws),
                "n_sweeps": run.n_sweeps,
            }
            for run in estimator._runs
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
    document = archive.document()
    decoder = Decoder(archive.array)
    estimator = ESTIMATORS[document["class"]]()
    for key, form in document["attributes"].items():
        setattr(estimator, key, decoder.decode(form))
    estimator._runs = [
        Run(
            resting(decoder.decode(form["chain"]), estimator._data, estimator._model_),
            decoder.decode(form["draws"]),
            form["n_sweeps"],
        )
        for form in document["runs"]
    ]
    estimator._fitted_with = estimator._known() | document["changed"]
    return estimator


# A change of the format adds a reader; those of older versions stay.
READERS: dict[int, Callable[[Archive], DFPMixture]] = {1: _read_1}


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
    """Return those parameters, as text, that have been changed since the fit."""
    now = estimator._known()
    return {key: text for key, text in estimator._fitted_with.items() if now.get(key) != text}
