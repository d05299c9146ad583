import inspect

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from sklearn.cluster import HDBSCAN

from sticktree.metrics import variation_of_information
from sticktree.peers import HDBSCANTree

RNG = np.random.default_rng(0)
X = np.concatenate(
    [RNG.normal(0, 1, (30, 2)), RNG.normal(6, 0.5, (30, 2)), RNG.uniform(-9, 9, (9, 2))]
)


def scikit_learn(rows, min_samples):
    # Newer ones ask that copying be settled; older ones do not know it for other than matrices.
    settings = {"copy": True} if "copy" in inspect.signature(HDBSCAN).parameters else {}
    return HDBSCAN(min_samples=min_samples, algorithm="kd_tree", **settings).fit(rows)


@pytest.mark.parametrize("min_samples", [1, 2, 5, 20])
def test_distances_are_those_of_the_definition(min_samples):
    ours = HDBSCANTree(min_samples=min_samples).fit(X)
    distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    core = np.sort(distance, axis=1)[:, min_samples - 1]
    np.testing.assert_allclose(ours.core_distances_, core)
    reach = np.maximum(distance, np.maximum(core[:, None], core[None]))
    # Single linkage: the longest step of the best path between two rows.
    for k in range(len(X)):
        reach = np.minimum(reach, np.maximum(reach[:, k, None], reach[None, k]))
    i, j = np.triu_indices(len(X), 1)
    found = ours.tree_.time.max() - ours.tree_.meeting_time(i, j)
    np.testing.assert_allclose(found, reach[i, j], rtol=1e-9)


def test_cuts_are_those_of_scikit_learn():
    ours, other = HDBSCANTree().fit(X), scikit_learn(X, 5)
    last = ours.tree_.time.max()
    for distance in (0.5, 0.8, 1.5, 3.0):
        # Clusters of any size, so that none is noise.
        theirs = other.dbscan_clustering(distance + 1e-9, min_cluster_size=1)
        mine = ours.tree_.cut(last - distance)
        assert variation_of_information(mine, theirs) == 0.0


def test_the_hierarchy_is_that_of_scikit_learn():
    other = scikit_learn(X, 5)
    if not hasattr(other, "_single_linkage_tree_"):
        pytest.skip("this release of scikit-learn keeps its hierarchy elsewhere")
    joins = other._single_linkage_tree_
    theirs = np.column_stack([joins[name] for name in joins.dtype.names]).astype(float)
    np.testing.assert_allclose(cophenet(HDBSCANTree().fit(X).linkage_), cophenet(theirs))


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(len(X))
    one, two = HDBSCANTree().fit(X).tree_, HDBSCANTree().fit(X[order]).tree_
    i, j = np.triu_indices(len(X), 1)
    place = np.argsort(order)
    assert one.n_nodes == two.n_nodes < 2 * len(X) - 1
    np.testing.assert_allclose(one.meeting_time(i, j), two.meeting_time(place[i], place[j]))


def test_repeated_rows_and_wrong_sizes():
    tree = HDBSCANTree(min_samples=2).fit(np.ones((4, 2))).tree_
    assert tree.n_nodes == 5
    with pytest.raises(
        ValueError, match="min_samples must be at most the number of rows, 4, got 5"
    ):
        HDBSCANTree().fit(np.ones((4, 2)))
    with pytest.raises(ValueError, match="min_samples must be an integer of at least 1"):
        HDBSCANTree(min_samples=0).fit(X)
