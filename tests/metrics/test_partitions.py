"""Distances of clusterings: against their definitions, and as metrics."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score, rand_score

from sticktree.metrics import binder_loss, flat_scores, variation_of_information


def conditional_entropy(a, b):
    """Return H(a | b) by its definition."""
    total = 0.0
    for value, given in product(np.unique(a), np.unique(b)):
        both = np.mean((a == value) & (b == given))
        if both > 0:
            total -= both * np.log(both / np.mean(b == given))
    return total


def random_labels(rng, n_rows=15):
    return rng.integers(rng.integers(1, 6), size=n_rows).astype(np.int32)


@pytest.fixture
def pairs():
    rng = np.random.default_rng(0)
    return [(random_labels(rng), random_labels(rng)) for _ in range(50)]


def test_variation_of_information_is_what_each_labelling_leaves_open_of_the_other(pairs):
    for a, b in pairs:
        naive = conditional_entropy(a, b) + conditional_entropy(b, a)
        assert variation_of_information(a, b) == pytest.approx(naive, abs=1e-12)


def test_variation_of_information_agrees_with_mutual_information(pairs):
    for a, b in pairs:
        entropies = mutual_info_score(a, a) + mutual_info_score(b, b)
        expected = entropies - 2 * mutual_info_score(a, b)
        assert variation_of_information(a, b) == pytest.approx(expected, abs=1e-12)


def test_variation_of_information_is_a_metric_on_clusterings(pairs):
    for (a, b), (c, _) in pairwise(pairs):
        forth, back = variation_of_information(a, b), variation_of_information(b, a)
        assert forth == pytest.approx(back, abs=1e-12)
        detour = variation_of_information(a, c) + variation_of_information(c, b)
        assert 0 <= forth <= detour + 1e-12
        assert variation_of_information(a, 7 - a) == pytest.approx(0, abs=1e-12)


def test_binder_loss_is_the_share_of_pairs_on_which_they_disagree(pairs):
    for a, b in pairs:
        wrong = [(a[i] == a[j]) != (b[i] == b[j]) for i, j in combinations(range(a.size), 2)]
        assert binder_loss(a, b) == pytest.approx(np.mean(wrong), abs=1e-12)
        assert binder_loss(a, b) == pytest.approx(1 - rand_score(a, b), abs=1e-12)


@pytest.mark.parametrize("distance", [variation_of_information, binder_loss])
def test_labels_of_any_kind_and_one_datum(distance):
    assert distance(["(", "(", "\n"], [2.5, 2.5, None]) == 0.0
    assert distance(["å"], [7]) == 0.0
    with pytest.raises(ValueError, match="a and b must label the same data, got 2 and 1 labels"):
        distance([1, 2], [1])
    with pytest.raises(ValueError, match="at least one datum that both label"):
        distance([1, None], [None, 1])


def adjusted_rand(a, b):
    """Count pairs, as the definition does."""
    pairs = list(combinations(range(len(a)), 2))
    in_a = sum(a[i] == a[j] for i, j in pairs)
    in_b = sum(b[i] == b[j] for i, j in pairs)
    in_both = sum(a[i] == a[j] and b[i] == b[j] for i, j in pairs)
    chance = in_a * in_b / len(pairs)
    return (in_both - chance) / ((in_a + in_b) / 2 - chance)


def normalised_information(a, b):
    def entropy(labels):
        share = np.unique(labels, axis=0, return_counts=True)[1] / len(labels)
        return -(share * np.log(share)).sum()

    of_a, of_b, both = entropy(a), entropy(b), entropy(np.column_stack([a, b]))
    return (of_a + of_b - both) / ((of_a + of_b) / 2)


def test_scores_are_those_of_their_definitions():
    rng = np.random.default_rng(0)
    a, b = rng.integers(3, size=30), rng.integers(4, size=30)
    found = flat_scores(a, b)
    assert found.ari == pytest.approx(adjusted_rand(a, b))
    assert found.nmi == pytest.approx(normalised_information(a, b))
    assert found.vi == variation_of_information(a, b)


def test_missing_labels_are_left_out():
    assert flat_scores(["x", None, "y", "y"], [0, 0, 1, float("nan")]) == flat_scores(
        ["x", "y"], [0, 1]
    )


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0, 1], [0], "labels_pred must have one entry for each of 2 data, got 1"),
        ([None, 1], [0, None], "at least one datum"),
        ("ab", [0, 1], "labels_true must be a sequence of labels"),
    ],
)
def test_wrong_labels_are_named(a, b, message):
    with pytest.raises(ValueError, match=message):
        flat_scores(a, b)
