"""One piece of work: fit one method on one split, and measure it.

Some pieces show what test and training densities there can be. Two things bound a test density on
the planar sets: normals fitted with the true classes given, and the best of many splits. Training
densities have no such bound: they grow with the number of components.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sticktree.checks import FloatArray
from sticktree.datasets import load
from sticktree_paper.clustering_work import CLUSTERS, FREE, GIVEN, measure_clusters
from sticktree_paper.methods import Length, Method, code_digest, density_methods, tree_methods
from sticktree_paper.results import Key, Result, ResultsFile
from sticktree_paper.splits import SETS, make_split, prepared, split_rows

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
    """Return densities of a mixture fitted to one split, or of class normals over many."""
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


MEASURES = {
    "density": _density,
    "purity": _purity,
    "evidence": _evidence,
    CLUSTERS: measure_clusters,
}
SHOWN = {"purity": ("pairs",), CLUSTERS: (GIVEN, FREE)}
"""The values that are shown as soon as they are there; of densities, those of test rows."""
BY_SEED = ("purity", CLUSTERS)


COMPONENTS = (5, 10, 20, 40, 80, 160, 320, 640)
N_BOUND_SPLITS = 60


def class_normals(data: FloatArray, classes: npt.NDArray[Any]) -> dict[str, float]:
    """Return test densities when the class of every training row is known, over 60 splits.

    A mixture with one normal for each class: its share, mean and covariance among training rows.
    """
    found = []
    for split in range(N_BOUND_SPLITS):
        rows = make_split(data, "standardised", split)
        known = classes[split_rows(len(data), split)[1]]
        found.append(_class_density(rows.train, known, rows.test).mean())
    return {
        "test": float(np.mean(found)),
        "sd": float(np.std(found, ddof=1)),
        "best": float(np.max(found)),
    }


def _class_density(train: FloatArray, classes: npt.NDArray[Any], test: FloatArray) -> FloatArray:
    from scipy.stats import multivariate_normal

    parts = []
    for one in np.unique(classes):
        rows = train[classes == one]
        normal = multivariate_normal(rows.mean(axis=0), np.cov(rows.T))
        parts.append(np.log(len(rows) / len(train)) + normal.logpdf(test))
    return np.asarray(logsumexp(parts, axis=0))


def mixture_of(n_components: int, train: FloatArray, test: FloatArray) -> dict[str, float]:
    """Return test and training density of a mixture of ``n_components`` normals."""
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(n_components, random_state=0).fit(train)
    return {"test": float(mixture.score(test)), "train": float(mixture.score(train))}


Outcome = Result | BaseException
Watch = Callable[[Key, Outcome], None]


class FitError(RuntimeError):
    """Some pieces of work failed; those that did not are kept."""


def run(
    wanted: Sequence[Key],
    file: ResultsFile,
    length: Length,
    *,
    n_jobs: int = 1,
    fresh: bool = False,
    progress: bool | None = None,
) -> list[Result]:
    """Return the results of all that is wanted, old and new ones.

    What the file has is not done again unless ``fresh``. If interrupted, what is done is kept, and
    another call goes on from there.
    """
    known = {} if fresh else file.read()
    missing = [key for key in wanted if key not in known]
    failed: dict[Key, BaseException] = {}
    if missing:
        with _watching(progress, len(wanted), len(wanted) - len(missing)) as watch:
            for key, outcome in _outcomes(missing, length, n_jobs):
                if isinstance(outcome, Result):
                    known[key] = outcome
                    file.keep(outcome)
                else:
                    failed[key] = outcome
                watch(key, outcome)
    if failed:
        key, error = next(iter(failed.items()))
        raise FitError(
            f"{len(failed)} of {len(missing)} fits failed, the first being {key.method} on "
            f"{key.name}, split {key.split}: {error!r}. The others are kept; run again to go on"
        )
    return [known[key] for key in wanted]


def _outcomes(
    keys: Sequence[Key], length: Length, n_jobs: int
) -> Iterator[tuple[Key, Result | BaseException]]:
    context = multiprocessing.get_context("spawn")  # threads of numba and BLAS survive no fork
    pool = ProcessPoolExecutor(
        min(n_jobs, len(keys)), mp_context=context, initializer=_die_when_interrupted
    )
    try:
        futures: dict[Future[Result], Key] = {
            pool.submit(evaluate, key, length): key for key in keys
        }
        for future in as_completed(futures):
            error = future.exception()
            yield futures[future], future.result() if error is None else error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _die_when_interrupted() -> None:
    """Let Ctrl-C end a worker at once; a fit would keep its draws and score with these few."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _watching(show: bool | None, total: int, done: int) -> Iterator[Watch]:
    """Yield a function that shows each outcome: a bar on terminals, else a line each."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    if show is False:
        yield lambda key, outcome: None
        return
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    if not sys.stderr.isatty():
        count = done

        def line(key: Key, outcome: Outcome) -> None:
            nonlocal count
            count += 1
            console.print(f"{count}/{total}  {_words(key, outcome)}", markup=False)

        yield line
        return
    with Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
        console=console,
    ) as display:
        task = display.add_task("", total=total, completed=done, last="")

        def advance(key: Key, outcome: Outcome) -> None:
            display.update(task, advance=1, last=_words(key, outcome))

        yield advance


def _words(key: Key, outcome: Outcome) -> str:
    what = f"{key.name}, {'seed' if key.part in BY_SEED else 'split'} {key.split}, {key.method}"
    if not isinstance(outcome, Result):
        return f"{what}: failed: {outcome!r}"
    shown = [
        f"{outcome.values[one]:.3f}"
        for one in SHOWN.get(key.part, ("test",))
        if one in outcome.values
    ]
    return f"{what}: {', '.join(shown)} in {outcome.seconds:.1f} s"
