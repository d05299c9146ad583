"""The best cut of a tree: against all cuts."""

from itertools import product

import numpy as np
import pytest

from sticktree import Tree
from sticktree.posterior import expected_loss, flat_clustering
from sticktree.posterior.flat import cut_of_least_loss
from tests.support.trees import SHAPES, random_tree


def all_cuts(tree, node=0):
    """Return all cuts at or below a node, each as a list of lists of data."""
    data = tree.data_below(node).tolist()
    if not data:
        return [[]]
    own = np.flatnonzero(tree.leaf == node).tolist()
    parts = [all_cuts(tree, int(child)) for child in tree.children(node)]
    if not parts:
        return [[data]]
    below = [
        [own] * bool(own) + [block for part in choice for block in part]
        for choice in product(*parts)
    ]
    return [[data], *below]


def as_labels(blocks, n_data):
    labels = np.full(n_data, -1)
    for k, block in enumerate(blocks):
        labels[block] = k
    assert (labels >= 0).all()
    return labels


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_no_cut_is_better_with_any_number_of_clusters(shape, loss):
    rng = np.random.default_rng(5)
    for _ in range(12):
        n_data = int(rng.integers(1, 8))
        tree = random_tree(rng, n_data, shape)
        draws = rng.integers(rng.integers(1, n_data + 1), size=(7, n_data))
        cuts = [as_labels(blocks, n_data) for blocks in all_cuts(tree)]
        losses = np.array([expected_loss(labels, draws, loss) for labels in cuts])
        sizes = np.array([np.unique(labels).size for labels in cuts])
        found = flat_clustering(draws, tree=tree, nested=True, loss=loss)
        assert expected_loss(found, draws, loss) == pytest.approx(losses.min(), abs=1e-12)
        for n_clusters in range(1, n_data + 1):
            best = losses[sizes == n_clusters].min(initial=np.inf)
            cut = cut_of_least_loss(tree, draws.astype(np.int32), loss, n_clusters)
            if np.isinf(best):
                assert cut is None
                with pytest.raises(ValueError, match=f"n_clusters={n_clusters}: no cut of this"):
                    flat_clustering(draws, tree=tree, nested=True, n_clusters=n_clusters)
            else:
                assert np.unique(cut).size == n_clusters
                assert expected_loss(cut, draws, loss) == pytest.approx(best, abs=1e-12)
                assert any(np.array_equal(as_numbers(cut), as_numbers(other)) for other in cuts)


def as_numbers(labels):
    """Number clusters by their first datum."""
    number = {}
    return [number.setdefault(int(label), len(number)) for label in labels]


def test_of_cuts_that_cost_the_same_the_one_with_fewer_clusters():
    # Two draws, one with all together and one with two halves: to Binder both are as good.
    tree = Tree.from_paths([(1,), (1,), (2,), (2,)])
    found = flat_clustering([[0, 0, 0, 0], [0, 0, 1, 1]], tree=tree, nested=True, loss="binder")
    assert found.tolist() == [0, 0, 0, 0]


def test_a_deep_tree_is_cut_into_many():
    # Clusters of five neighbours on a caterpillar, as the draws have them, from 600 levels.
    n = 600
    parent = (np.arange(2 * n - 1) - 1) // 2 * 2
    parent[0] = -1
    tree = Tree(parent, np.append(np.arange(1, 2 * n - 2, 2), 2 * n - 2))
    rng = np.random.default_rng(0)
    draws = rng.integers(3, size=(5, n))
    # A caterpillar's cut into k clusters has k − 1 single data and one cluster of the rest.
    for n_clusters in (1, 2, 300, n):
        found = flat_clustering(draws, tree=tree, nested=True, n_clusters=n_clusters)
        assert found.tolist() == np.minimum(np.arange(n), n_clusters - 1).tolist()
