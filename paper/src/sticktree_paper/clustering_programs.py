"""The programs whose clusters are compared, each with all that its result depends on.

Peers are run on raw columns and on standardised ones (z), and the better on average stands in the
tables. Ours standardises by itself, and so does BHC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

import sticktree
from sticktree.checks import FloatArray
from sticktree.tree import Tree
from sticktree_paper.clustering_sets import standardised
from sticktree_paper.methods import OURS, QUICK, Length, code_digest

Labels = npt.NDArray[np.integer]
RAW, Z, ITSELF = "raw", "z", ""
LINKAGES = ("ward", "average", "complete", "single")
MIN_CLUSTER_SIZES = (5, 10, 20)
MOST_COMPONENTS = 20
N_STARTS = 10
GINI = 0.3  # Genie's recommended threshold
FILLED = ", filled in"
GENIE = "Genie"
NOISE = -1


@dataclass(frozen=True, eq=False)
class Clustering:
    """What a program says of some rows.

    Attributes
    ----------
    given : callable or None
        From a number of clusters to labels.
    free : int array or None
        Labels where the program finds the number of clusters itself; −1 marks noise.
    trees : mapping of str to Tree
        Its trees of the rows, by name.
    confidence : callable or None
        From a number of clusters to how sure it is of each row's label.
    """

    given: Callable[[int], Labels] | None = None
    free: Labels | None = None
    trees: Mapping[str, Tree] = field(default_factory=dict)
    confidence: Callable[[int], FloatArray] | None = None


@dataclass(frozen=True)
class Program:
    """A program by name; ``run(data, seed)`` gives what it says of the rows.

    Attributes
    ----------
    name : str
        As it stands in tables.
    settings : str
        With the rows, these determine its result.
    run : callable
        From rows and a seed to a :class:`Clustering`.
    random : bool
        Whether other seeds give other results.
    scaling : {"raw", "z", ""}
        What is done to the columns first; nothing if it is left to the program.
    """

    name: str
    settings: str
    run: Callable[[FloatArray, int], Clustering]
    random: bool = False
    scaling: str = ITSELF

    @property
    def key(self) -> str:
        """The name with the scaling."""
        return keyed(self.name, self.scaling)

    def __call__(self, data: FloatArray, seed: int) -> Clustering:
        """Scale and run."""
        return self.run(standardised(data) if self.scaling == Z else data, seed)


def keyed(name: str, scaling: str) -> str:
    """Return the name of a program with its scaling."""
    return f"{name} ({scaling})" if scaling else name


def programs(length: Length) -> dict[str, Program]:
    """Return all programs that are here, by their names with the scaling."""
    return {program.key: program for program in _all(length)}


def left_out() -> dict[str, str]:
    """Return the programs that are not here, and why."""
    if _has_genie():
        return {}
    return {GENIE: "it needs genieclust: `pip install genieclust`"}


def _all(length: Length) -> Iterator[Program]:
    lengths = length.parameters if length.name == QUICK.name else {}
    told = ", ".join(f"{name}={value}" for name, value in lengths.items()) or "as it comes"
    settings = f"sticktree {sticktree.__version__}, code {code_digest()}, {told}"

    def ours(data: FloatArray, seed: int) -> Clustering:
        return run_ours(data, seed, **lengths)

    yield Program(OURS, settings, ours, random=True)
    bhc = f"code {code_digest('peers')}"
    yield Program("BHC", bhc, run_bhc)
    for name, program, random in _peers():
        for scaling in (Z, RAW):
            yield Program(name, _versions(name), program, random, scaling)


def _peers() -> Iterator[tuple[str, Callable[[FloatArray, int], Clustering], bool]]:
    for method in LINKAGES:
        yield f"{method} linkage", partial(run_linkage, method=method), False
    yield "GMM", run_mixture, True
    yield "k-means", run_kmeans, True
    yield "spectral, rbf", partial(run_spectral, affinity="rbf"), True
    yield "spectral, neighbours", partial(run_spectral, affinity="nearest_neighbors"), True
    if _has_genie():
        yield GENIE, run_genie, False
    for size in MIN_CLUSTER_SIZES:
        yield f"HDBSCAN {size}", partial(run_hdbscan, size=size, filled=False), False
        yield f"HDBSCAN {size}{FILLED}", partial(run_hdbscan, size=size, filled=True), False
    yield "GMM by BIC", run_mixture_by_bic, True
    yield "Variational GMM", run_variational, True


def _has_genie() -> bool:
    return find_spec("genieclust") is not None


def _versions(name: str) -> str:
    packages = ("genieclust",) if name == GENIE else ("scikit-learn", "scipy")
    code = f"code {code_digest('peers')}"
    try:
        return ", ".join([*(f"{one} {version(one)}" for one in packages), code])
    except PackageNotFoundError:  # imported from a folder that says nothing of it
        return code


# ---- ours ---------------------------------------------------------------------------------------


def run_ours(data: FloatArray, seed: int, **lengths: int) -> Clustering:
    """Fit a mixture as it comes, once for all questions."""
    from sticktree import DFPMixture

    mixture = DFPMixture(n_jobs=1, progress=False, random_state=seed, **lengths)
    return of_mixture(mixture.fit(data))


def of_mixture(mixture: Any) -> Clustering:
    """Return what a fitted mixture says of its rows."""

    def confidence(k: int) -> FloatArray:
        labels = mixture.cluster(n_clusters=k)
        return np.asarray(mixture.membership(n_clusters=k)[np.arange(len(labels)), labels])

    return Clustering(
        given=lambda k: np.asarray(mixture.cluster(n_clusters=k)),
        free=np.asarray(mixture.labels_),
        trees={"tree": mixture.tree_, "cluster_tree": mixture.cluster_tree_},
        confidence=confidence,
    )


# ---- trees that are cut -------------------------------------------------------------------------


def cut(linkage: FloatArray, n_clusters: int) -> Labels:
    """Return exactly so many clusters, also where joins have the same height.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> cut(linkage([[0.0], [1.0], [2.0], [3.0]], "single"), 3).max()
    np.int32(3)
    """
    from scipy.cluster.hierarchy import fcluster

    ranked = linkage.copy()
    ranked[:, 2] = np.arange(1.0, len(linkage) + 1)
    return np.asarray(fcluster(ranked, n_clusters, criterion="maxclust"))


def run_linkage(data: FloatArray, seed: int, *, method: str) -> Clustering:
    """Join clusters, and cut the tree."""
    from sticktree.peers import LinkageTree

    fitted = LinkageTree(method=method).fit(data)
    return Clustering(given=partial(cut, fitted.linkage_), trees={"tree": fitted.tree_})


def run_bhc(data: FloatArray, seed: int) -> Clustering:
    """Cut the tree of Bayesian hierarchical clustering; it has a cut of its own too."""
    from sticktree.peers import BayesianHierarchicalClustering

    fitted = BayesianHierarchicalClustering().fit(data)
    return Clustering(
        given=partial(cut, fitted.linkage_),
        free=np.asarray(fitted.labels_),
        trees={"tree": fitted.tree_},
    )


# ---- programs that are told the number of clusters ----------------------------------------------


def run_mixture(data: FloatArray, seed: int) -> Clustering:
    """Fit mixtures of normals with full covariances, the best of ten starts."""
    from sklearn.mixture import GaussianMixture

    fitted: dict[int, Any] = {}

    def of(k: int) -> Any:
        if k not in fitted:
            mixture = GaussianMixture(k, n_init=N_STARTS, random_state=seed)
            fitted[k] = mixture.fit(data)
        return fitted[k]

    return Clustering(
        given=lambda k: np.asarray(of(k).predict(data)),
        confidence=lambda k: np.asarray(of(k).predict_proba(data).max(axis=1)),
    )


def run_kmeans(data: FloatArray, seed: int) -> Clustering:
    """Run k-means, the best of ten starts."""
    from sklearn.cluster import KMeans

    return Clustering(
        given=lambda k: np.asarray(KMeans(k, n_init=N_STARTS, random_state=seed).fit_predict(data))
    )


def run_spectral(data: FloatArray, seed: int, *, affinity: str) -> Clustering:
    """Cut a graph, of neighbours or by a kernel, as scikit-learn has them by default."""
    from sklearn.cluster import SpectralClustering

    def given(k: int) -> Labels:
        clustering = SpectralClustering(k, affinity=affinity, random_state=seed)
        return np.asarray(clustering.fit_predict(data))

    return Clustering(given=given)


def run_genie(data: FloatArray, seed: int) -> Clustering:
    """Run Genie with its recommended threshold."""
    from importlib import import_module

    genie = import_module("genieclust").Genie

    def given(k: int) -> Labels:
        clustering = genie(n_clusters=k, gini_threshold=GINI)
        return np.asarray(clustering.fit_predict(np.ascontiguousarray(data)))

    return Clustering(given=given)


# ---- programs that find the number of clusters --------------------------------------------------


def run_hdbscan(data: FloatArray, seed: int, *, size: int, filled: bool) -> Clustering:
    """Run HDBSCAN; noise stays noise, or joins the cluster of its nearest neighbour in one."""
    from sklearn.cluster import HDBSCAN

    labels = np.asarray(HDBSCAN(min_cluster_size=size, copy=True).fit_predict(data))
    return Clustering(free=filled_in(data, labels) if filled else labels)


def filled_in(data: FloatArray, labels: Labels) -> Labels:
    """Return labels in which noise has that of its nearest row in a cluster.

    Examples
    --------
    >>> filled_in(np.array([[0.0], [1.0], [9.0], [7.0]]), np.array([0, -1, 1, -1]))
    array([0, 0, 1, 1])
    """
    from scipy.spatial import KDTree

    noise = labels == NOISE
    if not noise.any() or noise.all():
        return np.where(noise, 0, labels)
    nearest = KDTree(data[~noise]).query(data[noise])[1]
    found = labels.copy()
    found[noise] = labels[~noise][nearest]
    return found


def run_mixture_by_bic(data: FloatArray, seed: int) -> Clustering:
    """Choose number and form of normals by BIC."""
    from sticktree.peers import GaussianMixtureByBIC

    most = min(MOST_COMPONENTS, len(data) // 2)
    fitted = GaussianMixtureByBIC(max_components=most, random_state=seed).fit(data)
    return Clustering(free=np.asarray(fitted.mixture_.predict(data)))


def run_variational(data: FloatArray, seed: int) -> Clustering:
    """Fit a variational mixture, which empties the components that it does not need."""
    from sklearn.mixture import BayesianGaussianMixture

    most = min(MOST_COMPONENTS, len(data) // 2)
    fitted = BayesianGaussianMixture(n_components=most, max_iter=500, random_state=seed)
    return Clustering(free=np.asarray(fitted.fit_predict(data)))
