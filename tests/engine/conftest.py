"""What the tests of the engine share: its plain twin, and statistical checks.

Every statistical check raises a false alarm with probability ``FALSE_ALARM`` under a fresh seed;
checks of several numbers at once share that probability (Bonferroni). Seeds are fixed, so a test
that passes keeps passing.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import CubicSpline

HERE = Path(__file__).parent


def load(path):
    spec = importlib.util.spec_from_file_location(f"_engine_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_twin = load(HERE / "twin.py")
_processes = load(HERE.parent / "processes" / "conftest.py")

FALSE_ALARM = _processes.FALSE_ALARM
assert_frequencies = _processes.assert_frequencies
assert_law = _processes.assert_law
assert_mean = _processes.assert_mean
assert_same_law = _processes.assert_same_law


@pytest.fixture(scope="session")
def twin():
    """Return the plain twin of the engine."""
    return _twin


@pytest.fixture(scope="session")
def assert_independent():
    """Return a check that draws are far enough apart to be taken as independent.

    Their autocorrelation must be below 0.05, or not be told from 0.
    """

    def check(values):
        values = np.asarray(values, dtype=float)
        values = values - values.mean(axis=0)
        correlation = (values[1:] * values[:-1]).mean(axis=0) / (values**2).mean(axis=0)
        assert (np.abs(correlation) < 0.05 + 4 / np.sqrt(len(values))).all(), correlation

    return check


@pytest.fixture(scope="session")
def assert_same_mean():
    """Return a test that draws of a chain have the means of independent draws, one row a draw.

    The error of the chain's mean comes from 40 batches, so that autocorrelation counts. The
    false-alarm rate is 1e-4 over all columns.
    """

    def check(chained, independent, n_batches=40):
        length = len(chained) // n_batches
        batches = chained[: length * n_batches].reshape(n_batches, length, -1).mean(axis=1)
        variances = [sample.var(axis=0, ddof=1) / len(sample) for sample in (batches, independent)]
        total = variances[0] + variances[1]
        t = np.abs(batches.mean(axis=0) - independent.mean(axis=0)) / np.sqrt(total)
        degrees = total**2 / (
            variances[0] ** 2 / (n_batches - 1) + variances[1] ** 2 / (len(independent) - 1)
        )
        assert (2 * stats.t.sf(t, degrees) > FALSE_ALARM / t.size).all(), t.round(2)

    return check


@pytest.fixture(scope="session")
def grid_law():
    """Return a function that makes a law from log densities at the points of a grid."""

    class GridLaw:
        def __init__(self, points, log_density):
            density = np.exp(log_density - log_density.max())
            assert max(density[0], density[-1]) < 1e-7, "the grid is too short"
            self._points = points
            self._integral = CubicSpline(points, density).antiderivative()

        def cdf(self, x):
            assert np.min(x) > self._points[0]
            assert np.max(x) < self._points[-1]
            return self._integral(x) / self._integral(self._points[-1])

    return GridLaw
