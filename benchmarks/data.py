"""What is measured on: the library's data sets, clusters of any number of rows, chains on them.

Files of :mod:`sticktree.datasets` are looked for in the data folder or, if none is chosen, in a
folder ``data`` beside this one, and in the cache; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.measure import ROOT, Row, skipped
from sticktree import DFPMixture, datasets
from sticktree.checks import FloatArray
from sticktree.datasets import MissingDataError
from sticktree.datasets.catalogue import ENTRIES
from sticktree.engine.chain import ChainLike, Move
from sticktree.engine.shared.chain import Chain
from sticktree.inference.candidates import Candidates
from sticktree.inference.parameters import checked
from sticktree.model import Column, Model

AnyChain = TypeVar("AnyChain", bound=ChainLike)
TITLES = {entry.name: entry.title for entry in ENTRIES}  # also of those that are not here


def data_folder() -> Path | None:
    chosen, beside = datasets.data_folder(), ROOT / "data"
    return beside if chosen is None and beside.is_dir() else chosen


def load(name: str) -> FloatArray:
    """Return the features of a data set, a row for each datum, NaN where a value is missing."""
    return load_with_classes(name)[0]


def load_with_classes(name: str) -> tuple[FloatArray, npt.NDArray[np.str_] | None]:
    """Return the features of a data set, and the class of each row where there are classes."""
    folder = data_folder()
    there = folder if folder is not None and folder.is_dir() else None
    try:
        found = datasets.load(name, folder=there, download=False)
    except MissingDataError as error:
        raise MissingDataError(error.hint) from None  # short enough for a table
    return found.data, None if found.labels is None else np.array(found.labels)


def on_data(name: str, what: str, measure: Callable[[FloatArray], Iterable[Row]]) -> Iterator[Row]:
    """Yield the rows measured on a data set, or one row that says why there are none."""
    try:
        data = load(name)
    except MissingDataError as reason:
        yield skipped(what, reason)
        return
    yield from measure(data)


def standardised(data: FloatArray) -> FloatArray:
    return np.asarray((data - data.mean(axis=0)) / data.std(axis=0))


def crowd(n_rows: int, dimension: int, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return round clusters anywhere, some of them close together."""
    centres = rng.normal(0, 10, (n_clusters, dimension))
    return around(centres, n_rows, rng)


def grid(n_rows: int, side: int, rng: np.random.Generator) -> FloatArray:
    """Return ``side``² round clusters in the plane, far from each other."""
    places = 20.0 * np.arange(side)
    return around(np.array([(x, y) for x in places for y in places]), n_rows, rng)


def around(centres: FloatArray, n_rows: int, rng: np.random.Generator) -> FloatArray:
    data = centres[rng.integers(len(centres), size=n_rows)]
    return standardised(data + rng.normal(size=data.shape))


def default_model(n_steps: int = 4, n_columns: int = 2) -> Model:
    """Return the model of ``DFPMixture(n_steps, covariance_type="full")``.

    It has a tree of one level less, and a private step.
    """
    estimator = DFPMixture(n_steps, covariance_type="full", leaf_noise="shared")
    asked = Candidates.of(checked(estimator.model_parameters()))
    ((_, model),) = asked.models((Column(),) * n_columns, None)
    return model


def warm(chain: AnyChain, n_sweeps: int) -> AnyChain:
    for _ in range(n_sweeps):
        chain.sweep(tune=True)
    return chain


def default_chain(data: FloatArray, n_steps: int = 4, seed: int = 0) -> Chain:
    return Chain(data, default_model(n_steps, data.shape[1]), np.random.default_rng(seed))


def n_leaves(chain: ChainLike) -> int:
    return int(np.unique(chain.tree().leaf).size)


class DatumOnly(Chain):
    """A chain that moves data one by one and hyper-parameters, but no subtrees and no clusters."""

    def moves(self) -> list[Move]:
        kept = ("datum", "missing", "concentration", "scales")
        return [move for move in super().moves() if move.name in kept]
