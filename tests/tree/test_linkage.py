"""scipy's linkage matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from sticktree import Tree
from tests.support.trees import annotated_trees, sample_consensus

law = settings(deadline=None, derandomize=True, max_examples=100)


@law
@given(tree=annotated_trees(min_data=2))
def test_the_matrix_is_valid_and_its_cophenetic_distances_are_those_of_the_tree(tree):
    matrix = tree.to_linkage()
    assert hierarchy.is_valid_linkage(matrix, throw=True)
    assert hierarchy.is_monotonic(matrix)
    assert (np.diff(matrix[:, 2]) >= 0).all()
    every = np.arange(tree.n_data)
    expected = tree.time.max() - tree.meeting_time(every[:, None], every[None, :])
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_array_equal(squareform(hierarchy.cophenet(matrix)), expected)


@pytest.mark.parametrize("seed", range(3))
def test_a_consensus_is_read_back_equal(seed):
    tree = sample_consensus(40, seed).annotated(support=None)
    bare = Tree(tree.parent, tree.leaf, time=tree.time, names=tree.names)
    assert Tree.from_linkage(bare.to_linkage(), bare.names) == bare
    later = Tree(tree.parent, tree.leaf, time=tree.time + 1)
    assert Tree.from_linkage(later.to_linkage(), last_time=later.time.max()) == later


@law
@given(tree=annotated_trees(min_data=1, exact=True))
def test_what_data_meet_where_is_kept(tree):
    again = Tree.from_linkage(tree.to_linkage(), last_time=tree.time.max())
    i, j = np.triu_indices(tree.n_data, 1)
    np.testing.assert_array_equal(again.meeting_time(i, j), tree.meeting_time(i, j))


def test_scipy_cuts_and_draws_it():
    tree = sample_consensus(40)
    matrix = tree.to_linkage()
    for time in (0.2, 0.9, 1.6):
        flat = hierarchy.fcluster(matrix, tree.time.max() - time, "distance")
        pairs = {tuple(pair) for pair in zip(flat, tree.cut(np.nextafter(time, 9)), strict=True)}
        assert len(pairs) == np.unique(flat).size == np.unique(tree.cut(time)).size
    drawn = hierarchy.dendrogram(matrix, no_plot=True)["leaves"]
    assert drawn == np.argsort(tree.preorder[tree.leaf]).tolist()


def test_wide_nodes_are_resolved_flat_enough_for_scipy():
    tree = Tree([-1] + [0] * 5000, np.arange(1, 5001))
    drawn = hierarchy.dendrogram(tree.to_linkage(), no_plot=True)["leaves"]
    assert drawn == list(range(5000))
    assert Tree.from_linkage(tree.to_linkage()) == tree.annotated(time=tree.time)


def test_linkages_of_scipy_are_read():
    rows = np.random.default_rng(0).normal(size=(25, 3))
    for method in ("single", "complete", "average", "ward"):
        matrix = hierarchy.linkage(rows, method)
        tree = Tree.from_linkage(matrix, merge_ties=False)
        assert tree.n_nodes == 49
        drawn = hierarchy.dendrogram(matrix, no_plot=True)["leaves"]
        assert np.argsort(tree.preorder[tree.leaf]).tolist() == drawn
        every = np.arange(25)
        found = tree.time.max() - tree.meeting_time(every[:, None], every[None, :])
        np.testing.assert_allclose(
            squareform(found, checks=False), hierarchy.cophenet(matrix), atol=1e-12
        )


def test_ties_become_one_node():
    ties = [[0, 1, 1, 2], [3, 4, 1, 3], [2, 5, 2, 4]]
    assert Tree.from_linkage(ties).n_nodes == 6
    assert Tree.from_linkage(ties, merge_ties=False).n_nodes == 7
    level = Tree.from_linkage([[0, 1, 0, 2], [2, 3, 0, 3]])  # at the height of the leaves
    assert level.parent.tolist() == [-1, 0, 0, 0]


def test_one_datum_and_none():
    assert Tree([-1, 0], [1]).to_linkage().shape == (0, 4)
    assert Tree.from_linkage(np.empty((0, 4))) == Tree([-1], [0], time=[0.0])
    with pytest.raises(ValueError, match="to_linkage needs a tree with data"):
        Tree([-1]).to_linkage()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1, 1]], r"Z must have four columns, got shape \(1, 3\)"),
        ([[0, 2, 1, 2]], r"Z\[0, 1\] = 2.0: row 0 joins clusters from 0 to 1"),
        ([[0, 0.5, 1, 2]], r"Z\[0, 1\] = 0.5"),
        ([[0, 1, 1, 2], [0, 2, 2, 3]], "Z joins cluster 0 more than once"),
        ([[0, 0, 1, 2]], "Z joins cluster 0 more than once"),
        ([[0, 1, 2, 2], [2, 3, 1, 3]], r"Z\[1, 2\] = 1.0: a height must be .* here 2.0"),
        ([[0, 1, np.nan, 2]], r"Z\[0, 2\] = nan"),
        ([[0, 1, -1, 2]], r"Z\[0, 2\] = -1.0"),
        ("Z", "Z must be a sequence of numbers"),
    ],
)
def test_a_wrong_matrix_is_refused_with_its_row(matrix, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_linkage(matrix)


def test_last_time_must_be_finite():
    with pytest.raises(ValueError, match="last_time must be a finite number, got inf"):
        Tree.from_linkage([[0, 1, 1, 2]], last_time=np.inf)
