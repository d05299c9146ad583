"""Wide tables, made up, each the same for a seed, and real; what peers say of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

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


def gene_tables() -> dict[str, Wide]:
    """Return tumours × genes of the package ISLP, which need not be imported; none if it is not.

    Of NCI60 types of cancer with five cell lines or more.
    """
    there = find_spec("ISLP")
    if there is None or there.origin is None:
        return {}
    folder = Path(there.origin).parent / "data"
    lines = np.load(folder / "NCI60data.npy")
    kinds = np.loadtxt(folder / "NCI60labs.csv", dtype=str, skiprows=1)
    _, number, count = np.unique(kinds, return_inverse=True, return_counts=True)
    enough = count[number] >= 5
    parts = "train", "test"
    genes = [_numbers(folder / f"Khan_x{part}.csv") for part in parts]
    tumours = [_numbers(folder / f"Khan_y{part}.csv") for part in parts]
    return {
        "NCI60": Wide(np.asarray(lines[enough], dtype=np.float64), number[enough]),
        "Khan": Wide(np.vstack(genes), np.concatenate(tumours).astype(int).ravel()),
    }


def _numbers(path: Path) -> FloatArray:
    return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


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


def peers(wide: Wide, scores: FloatArray | None = None) -> Iterator[tuple[str, bool, Answer]]:
    """Yield peers by name, whether they find the number of clusters themselves, and what they say.

    Ward and k-means are given the number of classes, and are run on the columns as they are and on
    standardised ones: the better, by the classes, stands for both. Noise of HDBSCAN is a cluster of
    its own, as it has to be somewhere. Scores of our factors, if there are any, are given to all as
    well: what is gained there is gained by the factors, not by the tree.
    """
    k, forms = wide.n_classes, (wide.data, standardised(wide.data))
    ward = AgglomerativeClustering(k, linkage="ward")
    yield "Ward", False, better(wide, [timed(partial(ward.fit_predict, x)) for x in forms])
    means = KMeans(k, n_init=10, random_state=0)
    yield "k-means", False, better(wide, [timed(partial(means.fit_predict, x)) for x in forms])
    density = HDBSCAN(min_cluster_size=MIN_CLUSTER_SIZE, copy=True)
    places = {"PCA": on_axes(wide.data)} | ({} if scores is None else {"our scores": scores})
    for place, rows in places.items():
        for form in ("tied", "diag"):
            yield f"GMM {form} by BIC on {place}", True, timed(partial(by_bic, rows, form))
        yield f"HDBSCAN on {place}", True, timed(partial(density.fit_predict, rows))
    if scores is not None:
        yield "Ward on our scores", False, timed(partial(ward.fit_predict, scores))
        yield "k-means on our scores", False, timed(partial(means.fit_predict, scores))


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
