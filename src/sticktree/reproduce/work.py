"""One piece of work: fit one method on one split, and measure it."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.datasets import load
from sticktree.reproduce.evidence import COMPONENTS, class_normals, mixture_of
from sticktree.reproduce.fingerprint import code_digest
from sticktree.reproduce.methods import Length, Method, density_methods, tree_methods
from sticktree.reproduce.results import Key, Result
from sticktree.reproduce.splits import SETS, make_split, prepared

__all__ = ["CLASS_NORMALS", "N_SPLITS", "density_keys", "evaluate", "evidence_keys", "purity_keys"]

N_SPLITS = 10
MOST_TRAINING_ROWS = 300  # of which the density is taken too; more would cost more than the fit
SEED_OF_ORDER = 0
MIN_MAX = "average linkage, min–max"
"""The scaling with which the paper's figure for average linkage comes out."""
CLASS_NORMALS = "a normal for each class"


def density_keys(name: str, splits: Sequence[int], length: Length) -> list[Key]:
    """Return what there is to do for the densities of a prepared set, split by split."""
    digest = _digest(prepared(name))
    return [
        Key("density", name, digest, split, method.name, method.settings)
        for split in splits
        for method in density_methods(name, length).values()
    ]


def purity_keys(name: str, length: Length) -> list[Key]:
    """Return what there is to do for the trees of a data set, seed by seed."""
    data, _ = _shuffled(name)
    digest, measure = _digest(data), f"measure {code_digest('metrics')}"
    return [
        Key("purity", name, digest, seed, method.name, f"{method.settings}, {measure}")
        for method in _tree_methods(length).values()
        for seed in range(length.n_seeds if method.random else 1)
    ]


def evidence_keys(name: str) -> list[Key]:
    """Return what there is to do to see which densities can be reached on a planar set."""
    import sklearn

    digest, settings = _digest(prepared(name)), f"scikit-learn {sklearn.__version__}"
    mixtures = [f"GMM, {k} components" for k in COMPONENTS if k < 0.9 * len(prepared(name)) / 4]
    return [
        Key("evidence", name, digest, 0, method, settings) for method in (CLASS_NORMALS, *mixtures)
    ]


def evaluate(key: Key, length: Length) -> Result:
    """Do one piece of work, in one thread."""
    from threadpoolctl import threadpool_limits

    start, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains may disagree; the spread is in the table
        values = MEASURES[key.part](key, length)
    return Result(key, values, time.perf_counter() - start, time.process_time() - cpu)


def _density(key: Key, length: Length) -> dict[str, float]:
    """Return the mean log densities of test and of training rows."""
    split = make_split(prepared(key.name), SETS[key.name].preparation, key.split)
    method = density_methods(key.name, length)[key.method]
    fitted = method.make(key.split).fit(split.train)
    return {
        "test": float(fitted.score_samples(split.test).mean()),
        "train": float(fitted.score_samples(split.train[:MOST_TRAINING_ROWS]).mean()),
    }


def _purity(key: Key, length: Length) -> dict[str, float]:
    """Return how well a tree, and flat clusters of it, keep to the classes."""
    from sticktree.metrics import dendrogram_purity, flat_scores

    data, classes = _shuffled(key.name)
    method = _tree_methods(length)[key.method]
    scaled = _to_unit_range(data) if key.method == MIN_MAX else _standardised(data)
    fitted = method.make(key.split).fit(scaled)
    values = {
        "pairs": dendrogram_purity(fitted.tree_, classes),
        "leaves": dendrogram_purity(fitted.tree_, classes, weighting="leaves"),
    }
    labels = flat_labels(fitted, len(set(classes)))
    scores = flat_scores(classes, labels)
    values |= {"clusters": float(len(set(labels.tolist()))), **scores._asdict()}
    posterior = getattr(fitted, "posterior_", None)
    if posterior is not None:
        draws = posterior.draws
        few = draws[:: max(1, len(draws) // 50)]
        found = [dendrogram_purity(draw.tree, classes) for draw in few]
        values |= {"draws": float(np.mean(found)), "draws_sd": float(np.std(found))}
    return values


def _evidence(key: Key, length: Length) -> dict[str, float]:
    """Return densities of what is fitted to one split, or told the classes on many."""
    data = prepared(key.name)
    if key.method == CLASS_NORMALS:
        return class_normals(data, np.array(load(key.name).labels))
    split = make_split(data, SETS[key.name].preparation, key.split)
    return mixture_of(int(key.method.split()[1]), split.train, split.test)


def flat_labels(fitted: Any, n_classes: int) -> Any:
    """Return an estimator's own flat clusters, or its tree cut into as many as there are classes.

    A linkage has none of its own. That tells it the number of classes, which others do not know.
    """
    if hasattr(fitted, "labels_"):
        return np.asarray(fitted.labels_)
    from scipy.cluster.hierarchy import fcluster

    return fcluster(fitted.tree_.to_linkage(), n_classes, criterion="maxclust")


def _tree_methods(length: Length) -> dict[str, Method]:
    methods = tree_methods(length)
    average = methods["average linkage"]
    scaled = Method(MIN_MAX, average.settings, average.make, random=False)
    return methods | {MIN_MAX: scaled}


@cache
def _shuffled(name: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Return rows and classes in a random order.

    Rows often come sorted by class; then ties that are broken in their order would be pure.
    """
    dataset = load(name)
    if dataset.labels is None:
        raise ValueError(f"{name} has no classes, so trees cannot be compared by them")
    order = np.random.default_rng(SEED_OF_ORDER).permutation(len(dataset.data))
    return dataset.data[order], tuple(dataset.labels[k] for k in order)


def _standardised(data: FloatArray) -> FloatArray:
    return np.asarray((data - data.mean(axis=0)) / data.std(axis=0))


def _to_unit_range(data: FloatArray) -> FloatArray:
    least = data.min(axis=0)
    return np.asarray((data - least) / (data.max(axis=0) - least))


def _digest(data: FloatArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()[:12]


MEASURES = {"density": _density, "purity": _purity, "evidence": _evidence}
