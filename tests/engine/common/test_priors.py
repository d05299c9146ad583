import numpy as np
import pytest
from scipy import stats

from sticktree.engine.common.priors import (
    log_beta,
    log_gamma,
    log_gammas,
    log_inverse_gamma,
    log_inverse_wishart,
)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 7.0), (5.0, 0.01)])
def test_densities_of_numbers_are_those_of_scipy(a, b):
    for x in (1e-3, 0.4, 0.99):
        assert log_gamma(x, a, b) == pytest.approx(stats.gamma.logpdf(x, a, scale=1 / b))
        assert log_beta(x, a, b) == pytest.approx(stats.beta.logpdf(x, a, b))
    x = np.array([0.2, 3.0, 1e4])
    assert log_gammas(x, a, b) == pytest.approx(stats.gamma.logpdf(x, a, scale=1 / b).sum())
    expected = stats.invgamma.logpdf(x, a, scale=b).sum()
    assert log_inverse_gamma(x, a, b) == pytest.approx(expected)


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_density_of_a_covariance_is_that_of_scipy(dimension):
    rng = np.random.default_rng(dimension)
    factor = rng.standard_normal((dimension, dimension))
    scale = rng.lognormal(size=dimension)
    law = stats.invwishart(dimension + 1.3, np.diag(scale))
    found = log_inverse_wishart(factor, dimension + 1.3, scale)
    assert found == pytest.approx(law.logpdf(factor @ factor.T))
