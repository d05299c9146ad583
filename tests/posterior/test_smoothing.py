"""Pareto smoothing of many rows at once, against ArviZ's row by row."""

import math

import numpy as np
import pytest
from arviz_stats.base import array_stats

from sticktree.posterior import smoothing
from sticktree.posterior.smoothing import smooth_largest


def smoothed_by_arviz(log_weights):
    with np.errstate(all="ignore"):
        return array_stats.psislw(-log_weights)


@pytest.mark.parametrize("n_draws", [25, 100, 225, 226, 400])
def test_rows_are_smoothed_as_one_by_one(n_draws, monkeypatch):
    rng = np.random.default_rng(n_draws)
    spread = np.repeat([1e-8, 0.01, 0.3, 1.0, 3.0, 30.0, 300.0], 5)
    given = rng.normal(size=(35, n_draws)) * spread[:, None]
    given[::4] = np.round(2 * given[::4]) / 2  # several draws with the same density
    given[1] -= 700.0
    at_once = given.copy()
    k_hat = smooth_largest(at_once)
    for row, found, k in zip(given, at_once, k_hat, strict=True):
        if math.isinf(k):
            np.testing.assert_array_equal(found, row)
            continue
        expected, expected_k = smoothed_by_arviz(row)
        np.testing.assert_allclose(k, expected_k, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert np.isfinite(k_hat).sum() >= 20
    monkeypatch.setattr(smoothing, "CELLS", 1)
    one_by_one = given.copy()
    np.testing.assert_allclose(smooth_largest(one_by_one), k_hat, rtol=1e-12)
    np.testing.assert_allclose(one_by_one, at_once, rtol=1e-12)


def test_weights_whose_largest_are_equal_are_bounded():
    weights = np.zeros((2, 100))
    weights[1, ::3] = -2.0
    before = weights.copy()
    assert (smooth_largest(weights) == -math.inf).all()
    np.testing.assert_array_equal(weights, before)


def test_few_draws_tell_nothing_unless_they_are_equal():
    weights = np.zeros((2, 24))
    weights[1, 3] = 1.0
    same, different = smooth_largest(weights)
    assert same == -math.inf
    assert math.isnan(different)
