"""Dendrogram purity: against its definition, on trees of every kind."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sticktree import Tree
from sticktree.metrics import dendrogram_purity
from tests.metrics.trees import SHAPES, data_below, meeting_node, random_tree, trees


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


def test_wrong_input_is_refused_in_plain_words():
    tree = Tree.from_paths([(1,), (2,), (3,)])
    with pytest.raises(ValueError, match="at least two data of one class, got 3 classes"):
        dendrogram_purity(tree, ["a", "b", "c"])
    with pytest.raises(ValueError, match="at least two data of one class, got 0 classes"):
        dendrogram_purity(tree, [None, None, None])
    with pytest.raises(ValueError, match="labels must have one entry for each of 3 data, got 2"):
        dendrogram_purity(tree, ["a", "a"])
    with pytest.raises(ValueError, match=r"labels\[1\] must be a text, a number or the like"):
        dendrogram_purity(tree, ["a", ["b"], "c"])
    with pytest.raises(ValueError, match="labels must be a sequence of labels"):
        dendrogram_purity(tree, "aab")
    with pytest.raises(ValueError, match="labels must be one-dimensional"):
        dendrogram_purity(tree, np.zeros((3, 1)))
    with pytest.raises(ValueError, match='weighting must be "pairs" or "leaves", got "points"'):
        dendrogram_purity(tree, ["a", "a", "b"], "points")
    with pytest.raises(ValueError, match=r"tree must be a sticktree\.Tree, got list"):
        dendrogram_purity([], ["a"])
