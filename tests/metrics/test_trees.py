"""Distances of trees: against their definitions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sticktree import Tree
from sticktree.metrics import meeting_distance, robinson_foulds
from tests.metrics.trees import SHAPES, data_below, meeting_node, random_tree, trees


def naive_robinson_foulds(a, b):
    sets = [
        {frozenset(data) for data in data_below(tree) if 1 < len(data) < tree.n_data}
        for tree in (a, b)
    ]
    apart = len(sets[0] ^ sets[1])
    total = len(sets[0]) + len(sets[1])
    return apart, apart / total if total else 0.0


def naive_meeting_distance(a, b):
    def scaled(tree, i, j):
        last = max(tree.time[tree.leaf]) - tree.time[0]
        return (tree.time[meeting_node(tree, i, j)] - tree.time[0]) / last if last else 0.0

    pairs = list(combinations(range(a.n_data), 2))
    squares = [(scaled(a, i, j) - scaled(b, i, j)) ** 2 for i, j in pairs]
    return np.sqrt(np.mean(squares)) if pairs else 0.0


@st.composite
def pairs_of_trees(draw):
    n_data = draw(st.integers(1, 9))
    return draw(trees(n_data, times=draw(st.booleans()))), draw(trees(n_data, times=True))


@given(pairs_of_trees())
@settings(max_examples=100, deadline=None)
def test_both_distances_are_what_they_are_defined_to_be(pair):
    a, b = pair
    count, share = naive_robinson_foulds(a, b)
    assert robinson_foulds(a, b, normalized=False) == count
    assert robinson_foulds(a, b) == pytest.approx(share)
    assert meeting_distance(a, b) == pytest.approx(naive_meeting_distance(a, b), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("distance", [robinson_foulds, meeting_distance])
def test_the_same_tree_in_other_numbers_has_no_distance(shape, distance):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 40, shape, times=True)
    other = random_tree(rng, 40, shape, times=True)
    assert distance(tree, tree.canonical()) == pytest.approx(0, abs=1e-12)
    assert distance(tree, other) == pytest.approx(distance(other, tree), abs=1e-12)
    assert 0 <= distance(tree, other) <= 1


def test_later_times_of_all_nodes_make_no_difference():
    tree = random_tree(np.random.default_rng(1), 20, "binary", times=True)
    assert meeting_distance(tree, tree.annotated(time=5 + 3 * tree.time)) == pytest.approx(0)


def test_a_resolution_without_length_costs_nothing_but_new_clusters():
    star = random_tree(np.random.default_rng(2), 10, "star")
    resolved = random_tree(np.random.default_rng(3), 10, "binary")
    time = np.isin(np.arange(resolved.n_nodes), resolved.leaves).astype(float)
    resolved = resolved.annotated(time=time)
    assert meeting_distance(star, resolved) == 0
    assert robinson_foulds(star, resolved, normalized=False) == 8


def test_a_sample_of_pairs_is_as_near_as_it_should_be(monkeypatch):
    # The bound on the standard error is 1/(2 √n) for n pairs; five of them are never passed.
    monkeypatch.setattr("sticktree.metrics.trees.N_PAIRS", 20_000)
    rng = np.random.default_rng(4)
    for shape in SHAPES:
        a = random_tree(rng, 200, "binary", times=True)
        b = random_tree(rng, 200, shape, times=True)
        exact = meeting_distance(a, b)
        with monkeypatch.context() as patch:
            patch.setattr("sticktree.metrics.trees.EXACT_DATA", 100)
            sampled = meeting_distance(a, b)
        assert sampled != exact
        assert sampled == pytest.approx(exact, abs=5 / (2 * np.sqrt(20_000)))


def test_wrong_input_is_refused_in_plain_words():
    one, two = Tree([-1], [0]), Tree([-1], [0, 0])
    for distance in (robinson_foulds, meeting_distance):
        assert distance(one, one) == distance(two, two) == 0
        with pytest.raises(ValueError, match="a and b must have the same data, got 1 and 2"):
            distance(one, two)
        with pytest.raises(ValueError, match=r"b must be a sticktree\.Tree, got int"):
            distance(one, 3)
