"""Purity and distances of trees: against their definitions, on trees of every kind."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sticktree import Tree
from sticktree.metrics import dendrogram_purity, meeting_distance, robinson_foulds
from tests.support.trees import SHAPES, data_below, meeting_node, random_tree, trees


def naive_purity(tree, labels, weighting):
    """Go over all pairs; None and NaN are missing."""
    rows = [i for i, label in enumerate(labels) if label is not None and label == label]
    below = [{i for i in data if i in rows} for data in data_below(tree)]

    def share(i, j):
        data = below[meeting_node(tree, i, j)]
        return np.mean([labels[k] == labels[i] for k in data])

    if weighting == "pairs":
        return np.mean([share(i, j) for i, j in combinations(rows, 2) if labels[i] == labels[j]])
    by_leaf = []
    for i in rows:
        others = [j for j in rows if j != i and labels[j] == labels[i]]
        if others:
            by_leaf.append(np.mean([share(i, j) for j in others]))
    return np.mean(by_leaf)


@st.composite
def labelled_trees(draw):
    n_data = draw(st.integers(2, 14))
    labels = draw(
        st.lists(st.sampled_from(["å", "b", None, ("c",)]), min_size=n_data, max_size=n_data)
    )
    labels[:2] = ["b", "b"]
    return draw(trees(n_data)), labels


@given(labelled_trees(), st.sampled_from(["pairs", "leaves"]))
@settings(max_examples=100, deadline=None)
def test_purity_is_the_mean_share_where_pairs_meet(case, weighting):
    tree, labels = case
    assert dendrogram_purity(tree, labels, weighting) == pytest.approx(
        naive_purity(tree, labels, weighting), abs=1e-12
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_purity_of_a_larger_tree(shape):
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 60, shape)
    labels = rng.integers(7, size=60)
    for weighting in ("pairs", "leaves"):
        expected = naive_purity(tree, labels, weighting)
        assert dendrogram_purity(tree, labels, weighting) == pytest.approx(expected, abs=1e-12)


def test_the_two_weightings_differ_where_classes_differ_in_size():
    # The pair of a meets at a pure node; the three pairs of b meet at the root, three fifths b.
    tree = Tree.from_paths([(1,), (1,), (2,), (3,), (4,)])
    labels = ["a", "a", "b", "b", "b"]
    assert dendrogram_purity(tree, labels) == pytest.approx((1 + 3 * 0.6) / 4)
    assert dendrogram_purity(tree, labels, "leaves") == pytest.approx((2 * 1 + 3 * 0.6) / 5)


def test_data_alone_in_their_class_count_in_shares_only():
    tree = Tree.from_paths([(1,), (1,), (1,)])
    for weighting in ("pairs", "leaves"):
        assert dendrogram_purity(tree, ["a", "a", "b"], weighting) == pytest.approx(2 / 3)


def test_purity_depends_on_the_classes_and_not_on_their_names():
    rng = np.random.default_rng(2)
    tree = random_tree(rng, 30, "binary")
    codes = rng.integers(4, size=30)
    values = [
        codes,
        codes.astype(float) - 2.5,
        [("(a,b);", "'", "\n", "ü")[k] for k in codes],
        np.array(["2001-01-01", "2002-01-01", "2003-01-01", "2004-01-01"], "M8[ns]")[codes],
    ]
    found = [dendrogram_purity(tree, labels) for labels in values]
    assert found == pytest.approx([found[0]] * len(found), abs=1e-12)


def test_missing_labels_of_every_kind_are_left_out():
    pandas = pytest.importorskip("pandas")
    tree = Tree.from_paths([(1,), (1,), (1,), (2,)])
    date = np.datetime64("2001-01-01", "ns")
    for labels in (
        [1, 1, None, 2],
        [1.0, 1.0, float("nan"), 2.0],
        np.array([1.0, 1.0, np.nan, 2.0]),
        pandas.array([1, 1, pandas.NA, 2], dtype="Int64"),
        pandas.Series(["a", "a", None, "b"], dtype="category"),
        np.array([date, date, np.datetime64("NaT"), date + 1]),
    ):
        assert dendrogram_purity(tree, labels) == 1.0


@pytest.mark.parametrize("n_classes", [1, 3, 2_000])
def test_a_caterpillar_deeper_than_python_could_recurse(n_classes):
    # Datum k hangs at level k, so that a pair meets where the nearer to the root hangs, and the
    # data from it on are below.
    n = 4_000
    parent = (np.arange(2 * n - 1) - 1) // 2 * 2
    parent[0] = -1
    leaf = np.append(np.arange(1, 2 * n - 2, 2), 2 * n - 2)
    labels = np.random.default_rng(3).integers(n_classes, size=n)
    n_after, total, n_pairs = np.zeros(n_classes), 0.0, 0.0
    for k in range(n - 1, -1, -1):
        c = labels[k]
        total += n_after[c] * (n_after[c] + 1) / (n - k)
        n_pairs += n_after[c]
        n_after[c] += 1
    assert dendrogram_purity(Tree(parent, leaf), labels) == pytest.approx(total / n_pairs)


def test_purity_refuses_wrong_input_in_plain_words():
    tree = Tree.from_paths([(1,), (2,), (3,)])
    with pytest.raises(ValueError, match="at least two data of one class, got 3 classes"):
        dendrogram_purity(tree, ["a", "b", "c"])
    with pytest.raises(ValueError, match="at least two data of one class, got 0 classes"):
        dendrogram_purity(tree, [None, None, None])
    with pytest.raises(ValueError, match="labels must have one entry for each of 3 data, got 2"):
        dendrogram_purity(tree, ["a", "a"])
    with pytest.raises(ValueError, match=r"labels\[1\] must be a string, a number or the like"):
        dendrogram_purity(tree, ["a", ["b"], "c"])
    with pytest.raises(ValueError, match="labels must be a sequence of labels"):
        dendrogram_purity(tree, "aab")
    with pytest.raises(ValueError, match="labels must be one-dimensional"):
        dendrogram_purity(tree, np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"weighting must be .*, got 'points'"):
        dendrogram_purity(tree, ["a", "a", "b"], "points")
    with pytest.raises(ValueError, match=r"tree must be a sticktree\.Tree, got list"):
        dendrogram_purity([], ["a"])


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


def test_a_sample_of_pairs_is_as_near_as_it_should_be():
    # The bound on the standard error is 1/(2 √n) for n pairs; five of them are never passed.
    rng = np.random.default_rng(4)
    for shape in SHAPES:
        a = random_tree(rng, 200, "binary", times=True)
        b = random_tree(rng, 200, shape, times=True)
        exact = meeting_distance(a, b)
        sampled = meeting_distance(a, b, max_exact=100, n_pairs=20_000)
        assert sampled != exact
        assert sampled == pytest.approx(exact, abs=5 / (2 * np.sqrt(20_000)))


def test_distances_refuse_wrong_input_in_plain_words():
    one, two = Tree([-1], [0]), Tree([-1], [0, 0])
    for distance in (robinson_foulds, meeting_distance):
        assert distance(one, one) == distance(two, two) == 0
        with pytest.raises(ValueError, match="a and b must have the same data, got 1 and 2"):
            distance(one, two)
        with pytest.raises(ValueError, match=r"b must be a sticktree\.Tree, got int"):
            distance(one, 3)
