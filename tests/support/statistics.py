"""Statistical checks that all tests share.

Every check raises a false alarm with probability ``FALSE_ALARM`` under a fresh seed; checks of
several numbers at once share that probability (Bonferroni). Seeds are fixed, so a test that passes
keeps passing.
"""

from collections import Counter

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import CubicSpline

FALSE_ALARM = 1e-4


def pool_rare_cells(counts, expected, least=5.0):
    """Merge the cells whose expected count is below ``least``, so that none is left below it."""
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    rare = int((expected < least).sum())
    if rare and expected[:rare].sum() < least:
        rare = min(rare + 1, expected.size)
    if not rare:
        return counts, expected
    pooled = np.concatenate([[counts[:rare].sum()], counts[rare:]])
    return pooled, np.concatenate([[expected[:rare].sum()], expected[rare:]])


def assert_frequencies(counts, probabilities):
    """Compare counts with exact probabilities (chi-square); cells expected below 5 are pooled."""
    counts = np.asarray(counts, dtype=float)
    probabilities = np.asarray(probabilities, dtype=float)
    assert counts.shape == probabilities.shape
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    assert not counts[probabilities == 0].any()
    counts, expected = pool_rare_cells(counts, counts.sum() * probabilities)
    assert expected.size > 1, "too few counts to test anything"
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, expected.size - 1) > FALSE_ALARM


def assert_same_frequencies(first, second):
    """Compare the labels in two samples (two-sample chi-square)."""
    labels = sorted(set(first) | set(second))
    table = np.array([[Counter(sample)[label] for label in labels] for sample in (first, second)])
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert table.shape[1] > 1, "too few labels to test anything"
    assert stats.chi2_contingency(table, correction=False).pvalue > FALSE_ALARM


def assert_mean(values, expected):
    """Compare the mean of independent draws, one per row, with what is expected (z-test)."""
    values = np.asarray(values, dtype=float).reshape(len(values), -1)
    expected = np.broadcast_to(np.asarray(expected, dtype=float).ravel(), values.shape[1])
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    # Where nothing varies, only rounding may separate the mean from what is expected.
    z = np.abs(values.mean(axis=0) - expected) / np.maximum(error, 1e-12)
    assert (2 * stats.norm.sf(z) > FALSE_ALARM / expected.size).all(), z


def assert_law(values, law):
    """Compare independent draws with a scipy distribution (Kolmogorov–Smirnov)."""
    assert stats.kstest(np.asarray(values), law.cdf).pvalue > FALSE_ALARM


def assert_same_law(first, second):
    """Compare two samples of independent draws (two-sample Kolmogorov–Smirnov)."""
    assert stats.ks_2samp(first, second, method="asymp").pvalue > FALSE_ALARM


def assert_independent(values):
    """Check that draws are far enough apart to count as independent.

    Their autocorrelation must be below 0.05, or not be distinguishable from 0.
    """
    values = np.asarray(values, dtype=float)
    values = values - values.mean(axis=0)
    correlation = (values[1:] * values[:-1]).mean(axis=0) / (values**2).mean(axis=0)
    assert (np.abs(correlation) < 0.05 + 4 / np.sqrt(len(values))).all(), correlation


def assert_same_mean(chained, independent, n_batches=40):
    """Compare the means of a chain's draws with those of independent draws, one draw per row.

    The error of the chain's mean comes from batches, so that autocorrelation counts.
    """
    length = len(chained) // n_batches
    batches = chained[: length * n_batches].reshape(n_batches, length, -1).mean(axis=1)
    variances = [sample.var(axis=0, ddof=1) / len(sample) for sample in (batches, independent)]
    total = variances[0] + variances[1]
    t = np.abs(batches.mean(axis=0) - independent.mean(axis=0)) / np.sqrt(total)
    degrees = total**2 / (
        variances[0] ** 2 / (n_batches - 1) + variances[1] ** 2 / (len(independent) - 1)
    )
    assert (2 * stats.t.sf(t, degrees) > FALSE_ALARM / t.size).all(), t.round(2)


class GridLaw:
    """The distribution whose log density is given at the points of a grid."""

    def __init__(self, points, log_density):
        density = np.exp(log_density - log_density.max())
        assert max(density[0], density[-1]) < 1e-7, "the grid is too short"
        self._points = points
        self._integral = CubicSpline(points, density).antiderivative()

    def cdf(self, x):
        assert np.min(x) > self._points[0]
        assert np.max(x) < self._points[-1]
        return self._integral(x) / self._integral(self._points[-1])
