"""The sets that clusterings are compared on: a suite of small public ones, and labelled tables.

Rows come in a random order, the same for every program: files are often sorted by class, and ties
that are broken in their order would be right for no reason.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import svd

from sticktree.checks import FloatArray, IntArray
from sticktree.datasets import MissingDataError, load, load_suite, suite_folder, suite_names
from sticktree_paper.splits import title_of

SUITE, TABLES = "suite", "tables"
LABELLED_TABLES = ("iris", "wine", "breast_cancer", "digits", "glass")
QUICK_CLUSTERS = ("wut-x1", "graves-zigzag", "other-iris", "wine")
N_COMPONENTS = 10  # principal ones of the pixels of digits
SEED_OF_ORDER = 0
STORED = "peers.csv"


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows, and one or more ways in which people have clustered them.

    Attributes
    ----------
    name, title : str
        What it is known by, and as it stands in tables.
    collection : str
        Where it is from: a collection of the suite, or "tables".
    data : float array, shape (n, d)
        The rows, in their own units.
    references : tuple of int arrays, shape (n,)
        Labellings from 1; 0 marks noise, which no score counts.
    """

    name: str
    title: str
    collection: str
    data: FloatArray
    references: tuple[IntArray, ...]

    @property
    def n_clusters(self) -> tuple[int, ...]:
        """Of each reference, how many clusters it has."""
        return tuple(int(np.unique(one[one > 0]).size) for one in self.references)


def cluster_names() -> tuple[str, ...]:
    """Return the names of all sets: those of the suite that are here, and the labelled tables."""
    try:
        return (*suite_names(), *LABELLED_TABLES)
    except MissingDataError:
        return LABELLED_TABLES


def available_sets(names: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return those whose data are here, and why others are not; the suite is here or not."""
    found, absent = [], {}
    try:
        suite_folder()
    except MissingDataError as reason:
        absent[SUITE] = reason.hint
    for name in names:
        try:
            labelled(name)
            found.append(name)
        except MissingDataError as reason:
            absent[name] = reason.hint
    return found, absent


def labelled(name: str) -> Labelled:
    """Return a set by its name, rows in random order."""
    if name in LABELLED_TABLES:
        dataset = load(name)
        assert dataset.labels is not None
        data = principal(dataset.data, N_COMPONENTS) if name == "digits" else dataset.data
        codes = np.unique(dataset.labels, return_inverse=True)[1].reshape(-1)
        found = Labelled(name, title_of(name), TABLES, data, ((codes + 1).astype(np.int32),))
    else:
        (one,) = load_suite([name])
        found = Labelled(name, name, one.collection, one.data, one.references)
    order = np.random.default_rng(SEED_OF_ORDER).permutation(len(found.data))
    references = tuple(reference[order] for reference in found.references)
    return Labelled(found.name, found.title, found.collection, found.data[order], references)


def standardised(data: FloatArray) -> FloatArray:
    """Return columns of mean 0 and standard deviation 1; constant ones are all 0."""
    spread = data.std(axis=0)
    return np.asarray((data - data.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def principal(data: FloatArray, n_components: int) -> FloatArray:
    """Return the first principal components of rows, in the units of the columns."""
    left, values, right = svd(data - data.mean(axis=0), full_matrices=False)
    sign = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])
    return np.asarray(left[:, :n_components] * (values * sign)[:n_components])


def stored_scores(names: Iterable[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the scores of labels that the suite's author stored, k given.

    They are by program, by variant of its settings, and by set; none if the file is not here.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    try:
        path = suite_folder() / STORED
    except MissingDataError:
        return found
    if not path.is_file():
        return found
    wanted = set(names)
    with path.open(newline="", encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            if line["set"] in wanted:
                variants = found.setdefault(line["program"], {})
                variants.setdefault(line["variant"], {})[line["set"]] = float(line["ari"])
    return found
