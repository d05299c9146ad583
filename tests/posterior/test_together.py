"""Confidence and matrices of pairs, against their definitions."""

import numpy as np
import pytest

from sticktree.posterior import coclustering, confidence, meeting_times


def naive_coclustering(draws):
    return np.mean([np.equal.outer(draw, draw) for draw in draws], axis=0)


def test_confidence_is_the_mean_probability_of_being_with_the_others():
    rng = np.random.default_rng(0)
    for n_data in (1, 2, 10, 25):
        draws = rng.integers(4, size=(9, n_data))
        labels = rng.integers(7, size=n_data)
        together = naive_coclustering(draws)
        alone = np.mean([[np.sum(draw == label) == 1 for label in draw] for draw in draws], axis=0)
        found = confidence(labels, draws)
        for i in range(n_data):
            others = np.flatnonzero((labels == labels[i]) & (np.arange(n_data) != i))
            expected = together[i, others].mean() if others.size else alone[i]
            assert found[i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_data", [1, 3, 64, 130])
def test_coclustering_is_the_share_of_draws_with_a_pair_together(n_data):
    rng = np.random.default_rng(1)
    draws = rng.integers(5, size=(11, n_data))
    expected = naive_coclustering(draws)
    np.testing.assert_allclose(coclustering(draws), expected, rtol=1e-6)
    rows = rng.integers(n_data, size=n_data // 2 + 1)
    np.testing.assert_allclose(coclustering(draws, rows), expected[np.ix_(rows, rows)], rtol=1e-6)


def test_meeting_times_are_mean_meeting_levels(make_draw):
    rng = np.random.default_rng(2)
    draws = [
        make_draw([tuple(map(int, row)) for row in rng.integers(1, 4, size=(15, 3))])
        for _ in range(6)
    ]
    expected = np.mean([draw.tree.meeting_level_matrix() for draw in draws], axis=0)
    np.testing.assert_allclose(meeting_times(draws), expected, rtol=1e-6)
    rows = [7, 3, 3, 0]
    np.testing.assert_allclose(meeting_times(draws, rows), expected[np.ix_(rows, rows)], rtol=1e-6)


def test_matrices_of_too_many_or_wrong_rows_are_refused(make_draw):
    draws = np.zeros((1, 20_001), dtype=np.int32)
    with pytest.raises(ValueError, match=r"rows must be at most 20,000, got 20,001: a matrix"):
        coclustering(draws)
    assert coclustering(draws, [20_000]).tolist() == [[1.0]]
    with pytest.raises(ValueError, match=r"rows\[1\] = 3 must lie between 0 and 2"):
        coclustering([[0, 0, 1]], [0, 3])
    with pytest.raises(ValueError, match=r"rows\[0\] = -1 must lie between 0 and 1"):
        meeting_times([make_draw([(1,), (2,)])], [-1])
    with pytest.raises(ValueError, match="draws must have at least one draw"):
        meeting_times([])
