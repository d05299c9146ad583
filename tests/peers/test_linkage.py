import numpy as np
import pandas as pd
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from sticktree.peers import LinkageTree
from sticktree.peers.trees import LINKAGES

X = np.random.default_rng(0).normal(size=(40, 3))


def clades(tree):
    """Return the sets of data below all nodes."""
    return {frozenset(tree.data_below(w).tolist()) for w in range(tree.n_nodes)}


def clades_of(linkage):
    below = [frozenset([i]) for i in range(len(linkage) + 1)]
    for a, b in linkage[:, :2].astype(int):
        below.append(below[a] | below[b])
    return set(below)


@pytest.mark.parametrize("method", LINKAGES)
def test_who_joins_whom_is_as_scipy_says(method):
    ours = LinkageTree(method=method).fit(X)
    np.testing.assert_array_equal(ours.linkage_, hierarchy.linkage(X, method))
    assert clades(ours.tree_) == clades_of(ours.linkage_)
    assert ours.tree_.time[0] == 0.0


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted", "ward"])
def test_heights_are_the_times_before_the_rows(method):
    ours = LinkageTree(method=method).fit(X)
    i, j = np.triu_indices(len(X), 1)
    met = squareform(hierarchy.cophenet(hierarchy.linkage(X, method)))[i, j]
    found = ours.tree_.time.max() - ours.tree_.meeting_time(i, j)
    np.testing.assert_allclose(found, met, rtol=1e-12)


def test_inverted_joins_keep_who_joins_whom():
    # An equilateral triangle but for a little: the third point is nearer to the centre of two.
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    ours = LinkageTree(method="centroid").fit(triangle)
    assert ours.linkage_[1, 2] < ours.linkage_[0, 2]
    assert clades(ours.tree_) == clades_of(ours.linkage_)


def test_joins_of_one_height_are_one_node():
    tree = LinkageTree(method="single").fit([[0.0], [1.0], [2.0], [9.0]]).tree_
    assert clades(tree) == {frozenset(c) for c in [(0,), (1,), (2,), (3,), (0, 1, 2), range(4)]}


def test_other_metrics_and_names_of_rows():
    frame = pd.DataFrame(X[:5], index=list("abcde"))
    ours = LinkageTree(metric="correlation").fit(frame)
    np.testing.assert_array_equal(ours.linkage_, hierarchy.linkage(X[:5], "average", "correlation"))
    assert ours.tree_.names == ("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "nearest"}, "method must be one of \"single\", .*got 'nearest'"),
        ({"method": "ward", "metric": "cosine"}, 'metric must be "euclidean" with ward'),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinkageTree(**parameters).fit(X)


def test_gaps_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        LinkageTree().fit(np.where(X > 1, np.nan, X))
