"""What is missing of rows."""

import numpy as np
import pytest

from tests.engine.parallel.told import told_of


def test_missing_entries_are_drawn_from_their_law_given_the_others(rows_of, assert_mean):
    rng = np.random.default_rng(4)
    n = 4000
    x = np.full((n, 2), np.nan)
    x[:, 0] = 0.7
    told, _ = told_of(rng, 1, 2, "shared", n, impute=True, spread=0.5)
    rows = rows_of(x)
    rows.assign(told)
    drawn = rows.labelled.completed[:, 1]
    whitener = told.transform / 0.5
    covariance = np.linalg.inv(whitener.T @ whitener)
    mean = np.linalg.solve(told.transform, told.centre[0])
    expected = mean[1] + covariance[1, 0] / covariance[0, 0] * (0.7 - mean[0])
    variance = covariance[1, 1] - covariance[0, 1] ** 2 / covariance[0, 0]
    assert drawn.mean() == pytest.approx(expected, abs=5 * np.sqrt(variance / n))
    assert drawn.var() == pytest.approx(variance, rel=0.12)
