import numpy as np
import pytest

from sticktree.data.training import expand


@pytest.mark.parametrize("weights", [[2, 0, 1], np.array([2.0, 0.0, 1.0]), (2, 0, True)])
def test_rows_are_repeated(weights):
    rows = expand(weights, 3)
    assert rows.tolist() == [0, 0, 2]
    assert np.issubdtype(rows.dtype, np.integer)


def test_a_number_is_the_weight_of_every_row():
    assert expand(2, 2).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, -1, 1], r"sample_weight\[1\] must be at least 0, got -1"),
        (
            [1, 1, 0.5],
            r"sample_weight\[2\] must be a whole number: it counts how often a row occurs, got 0.5",
        ),
        ([1, np.nan, 1], r"sample_weight\[1\] must be finite, got nan"),
        ([np.inf, 1, 1], r"sample_weight\[0\] must be finite, got inf"),
        ([0, 0, 0], r"must be above 0 for some row, got only zeros"),
        ([1, 1], r"each of the 3 rows, got an array of shape \(2,\)"),
        ([[1], [1], [1]], r"shape \(3, 1\)"),
        (["a", "b", "c"], r"must be a number for each row"),
    ],
)
def test_wrong_weights_are_refused(weights, words):
    with pytest.raises(ValueError, match=words):
        expand(weights, 3)
