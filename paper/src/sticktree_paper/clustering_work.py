"""One piece of work on clusters: run one program on one set, and score what it says."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

import numpy as np

from sticktree.checks import FloatArray, IntArray
from sticktree_paper.clustering_programs import NOISE, Clustering, Labels, programs
from sticktree_paper.clustering_sets import labelled
from sticktree_paper.methods import Length, code_digest
from sticktree_paper.results import Key

CLUSTERS = "clusters"
GIVEN, FREE = "given", "free"
"""What is asked: clusters of a number that is given, or of one that the program finds."""


def cluster_keys(name: str, length: Length) -> list[Key]:
    """Return what there is to do for the clusters of a set, seed by seed."""
    found = labelled(name)
    digest = hashlib.sha256(np.ascontiguousarray(found.data).tobytes())
    for reference in found.references:
        digest.update(reference.tobytes())
    rows, measure = digest.hexdigest()[:12], f"measure {code_digest('metrics')}"
    return [
        Key(CLUSTERS, name, rows, seed, program.key, f"{program.settings}, {measure}")
        for program in programs(length).values()
        for seed in range(length.n_seeds if program.random else 1)
    ]


def measure_clusters(key: Key, length: Length) -> dict[str, float]:
    """Run a program on a set, and return its scores; ``seconds`` are the processor's."""
    found = labelled(key.name)
    start = time.process_time()
    clustering = programs(length)[key.method](found.data, key.split)
    if clustering.given is not None:
        clustering.given(found.n_clusters[0])
    seconds = time.process_time() - start
    return {**scores(clustering, found.references), "seconds": seconds}


def scores(clustering: Clustering, references: Sequence[IntArray]) -> dict[str, float]:
    """Return how well clusters and trees agree with the references; the best one counts.

    Parameters
    ----------
    clustering : Clustering
        What a program says.
    references : sequence of int arrays
        Labellings from 1; rows of 0 are left out.

    Returns
    -------
    dict
        "given" and "free" are adjusted Rand indices, "clusters" is the number found, "auc" how well
        confidence tells rows clustered rightly, for the number given, from others, and "tree" and
        "cluster_tree" are dendrogram purities.
    """
    from sticktree.metrics import dendrogram_purity

    values: dict[str, float] = {}
    if clustering.given is not None:
        values |= _given(clustering.given, clustering.confidence, references)
    if clustering.free is not None:
        free = clustering.free
        values[FREE] = max(rand_index(one, free) for one in references)
        values["clusters"] = float(np.unique(free[free != NOISE]).size)
    for name, tree in clustering.trees.items():
        values[name] = max(
            dendrogram_purity(tree, [one if one > 0 else None for one in reference.tolist()])
            for reference in references
        )
    return values


def _given(
    given: Callable[[int], Labels],
    confidence: Callable[[int], FloatArray] | None,
    references: Sequence[IntArray],
) -> dict[str, float]:
    numbers = [int(np.unique(one[one > 0]).size) for one in references]
    labels = [given(k) for k in numbers]
    found = [rand_index(one, of_k) for one, of_k in zip(references, labels, strict=True)]
    best = int(np.argmax(found))
    values = {GIVEN: found[best]}
    if confidence is not None:
        auc = confidence_auc(references[best], labels[best], confidence(numbers[best]))
        if auc is not None:
            values["auc"] = auc
    return values


def rand_index(reference: IntArray, labels: Labels) -> float:
    """Return the adjusted Rand index of labels, without the rows that are noise in the reference.

    Noise in the labels is a cluster of its own.

    Examples
    --------
    >>> rand_index(np.array([1, 1, 2, 2, 0]), np.array([7, 7, 3, 3, 3]))
    1.0
    """
    from sklearn.metrics import adjusted_rand_score

    known = reference > 0
    return float(adjusted_rand_score(reference[known], labels[known]))


def rightly_clustered(reference: IntArray, labels: Labels) -> FloatArray:
    """Return 1 for rows in the cluster that stands for their class, 0 for others, NaN for noise.

    Clusters stand for classes so that most rows are right, one for each at most.

    Examples
    --------
    >>> rightly_clustered(np.array([1, 1, 1, 2, 2, 0]), np.array([5, 5, 4, 4, 4, 4]))
    array([ 1.,  1.,  0.,  1.,  1., nan])
    """
    from scipy.optimize import linear_sum_assignment

    known = reference > 0
    classes, of_class = np.unique(reference[known], return_inverse=True)
    clusters, of_cluster = np.unique(labels[known], return_inverse=True)
    shared = np.zeros((clusters.size, classes.size))
    np.add.at(shared, (of_cluster, of_class), 1.0)
    class_of = np.full(clusters.size, -1)
    matched = linear_sum_assignment(-shared)
    class_of[matched[0]] = matched[1]
    right = np.full(reference.size, np.nan)
    right[known] = class_of[of_cluster] == of_class
    return right


def confidence_auc(reference: IntArray, labels: Labels, confidence: FloatArray) -> float | None:
    """Return the probability that a right row has more confidence than a wrong one.

    Ties count one half; None if all rows are right, or none.
    """
    from sklearn.metrics import roc_auc_score

    right = rightly_clustered(reference, labels)
    known = ~np.isnan(right)
    if np.unique(right[known]).size < 2:
        return None
    return float(roc_auc_score(right[known], confidence[known]))
