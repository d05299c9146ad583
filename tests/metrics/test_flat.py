from itertools import combinations

import numpy as np
import pytest

from sticktree.metrics import flat_scores, variation_of_information


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
