"""Wide tables that are made up, each the same for a seed, and what peers say of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from sticktree.checks import FloatArray

Labels = npt.NDArray[np.integer]
MOST_AXES = 20
MOST_COMPONENTS = 20
N_STARTS = 3
MIN_CLUSTER_SIZE = 5


@dataclass(frozen=True, eq=False)
class Wide:
    """A table and the classes of its rows."""

    data: FloatArray
    classes: Labels

    @property
    def n_classes(self) -> int:
        return int(np.unique(self.classes).size)

    @property
    def size(self) -> str:
        return f"{self.data.shape[0]:,}×{self.data.shape[1]:,}"


def plain_classes(
    n_rows: int = 100, n_columns: int = 200, n_telling: int = 20, n_classes: int = 3, seed: int = 0
) -> Wide:
    """Return classes that are two standard deviations apart in some columns, the others noise."""
    rng = np.random.default_rng([1, seed])
    classes = np.arange(n_rows) % n_classes
    centres = np.zeros((n_classes, n_columns))
    centres[:, :n_telling] = rng.normal(0.0, 2.0, (n_classes, n_telling))
    return Wide(centres[classes] + rng.normal(size=(n_rows, n_columns)), classes)


def among_factors(
    n_rows: int = 300,
    n_columns: int = 2_000,
    n_telling: int = 40,
    n_factors: int = 5,
    n_classes: int = 5,
    seed: int = 0,
) -> Wide:
    """Return classes in a few columns, below factors that all columns share and unequal noise.

    The factors have nothing to do with the classes, and far more variance: distances between rows
    say next to nothing of classes. With one class there is nothing but factors and noise.
    """
    rng = np.random.default_rng([2, seed])
    classes = rng.integers(n_classes, size=n_rows)
    centres = np.zeros((n_classes, n_columns))
    if n_classes > 1:
        centres[:, :n_telling] = rng.normal(0.0, 1.5, (n_classes, n_telling))
    shared = rng.normal(size=(n_rows, n_factors)) @ rng.normal(size=(n_factors, n_columns))
    noise = rng.normal(size=(n_rows, n_columns)) * np.exp(rng.normal(0.0, 0.6, n_columns))
    data = centres[classes] + shared + noise
    return Wide(data[:, rng.permutation(n_columns)], classes)


def standardised(data: FloatArray) -> FloatArray:
    """Return columns in standard deviations; one that never changes is 0."""
    spread = data.std(axis=0)
    return np.asarray((data - data.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def on_axes(data: FloatArray) -> FloatArray:
    """Return rows on their first principal axes, as people reduce a table before they cluster."""
    n_axes = min(MOST_AXES, len(data) // 4, data.shape[1])
    return np.asarray(PCA(n_axes, random_state=0).fit_transform(standardised(data)))


@dataclass(frozen=True, eq=False)
class Answer:
    """Labels of a method, and how long they took by the clock."""

    labels: Labels
    seconds: float

    def agreement(self, classes: Labels) -> float:
        return float(adjusted_rand_score(classes, self.labels))

    @property
    def n_clusters(self) -> int:
        return int(np.unique(self.labels[self.labels >= 0]).size)


def timed(run: Callable[[], Labels]) -> Answer:
    start = time.perf_counter()
    labels = run()
    return Answer(np.asarray(labels), time.perf_counter() - start)


def peers(wide: Wide) -> Iterator[tuple[str, bool, Answer]]:
    """Yield peers by name, whether they find the number of clusters themselves, and what they say.

    Ward and k-means are given the number of classes, and are run on the columns as they are and on
    standardised ones: the better, by the classes, stands for both. Noise of HDBSCAN is a cluster of
    its own, as it has to be somewhere.
    """
    k, forms = wide.n_classes, (wide.data, standardised(wide.data))
    ward = AgglomerativeClustering(k, linkage="ward")
    yield "Ward", False, better(wide, [timed(partial(ward.fit_predict, x)) for x in forms])
    means = KMeans(k, n_init=10, random_state=0)
    yield "k-means", False, better(wide, [timed(partial(means.fit_predict, x)) for x in forms])
    axes = on_axes(wide.data)
    for form in ("tied", "diag"):
        yield f"GMM {form} by BIC on PCA", True, timed(partial(by_bic, axes, form))
    density = HDBSCAN(min_cluster_size=MIN_CLUSTER_SIZE, copy=True)
    yield "HDBSCAN on PCA", True, timed(lambda: density.fit_predict(axes))


def better(wide: Wide, answers: list[Answer]) -> Answer:
    return max(answers, key=lambda answer: answer.agreement(wide.classes))


def by_bic(rows: FloatArray, form: str) -> Labels:
    """Return the labels of the Gaussian mixture with the best BIC."""
    most = min(MOST_COMPONENTS, len(rows) // 5)
    found = [
        GaussianMixture(k, covariance_type=form, n_init=N_STARTS, random_state=0).fit(rows)
        for k in range(1, most + 1)
    ]
    best = min(found, key=lambda mixture: float(mixture.bic(rows)))
    return np.asarray(best.predict(rows))
