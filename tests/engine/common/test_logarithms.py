"""Bounds on logarithms, and products in the place of Γ functions, against numpy and scipy."""

import numpy as np
import pytest
from scipy.special import gammaln

from sticktree.engine.common.logarithms import FEW, bound_log, log_ascent


def test_bound_is_below_the_logarithm_and_close_to_it():
    rng = np.random.default_rng(0)
    x = np.concatenate([1.0 + np.geomspace(1e-14, 1.0, 500), np.exp(rng.uniform(0, 700, 500))])
    found = np.array([bound_log(value) for value in x])
    exact = np.log(x)
    assert bound_log(1.0) == 0.0
    assert (found <= exact * (1.0 + 1e-15)).all()
    assert (found >= 0.88 * exact - 1e-14).all()
    assert (found >= exact - 0.014).all()


@pytest.mark.parametrize("x", [1e-300, 0.3, 1.0, 17.5, 1e6, 1e13])
@pytest.mark.parametrize("n", [0.0, 1.0, 2.0, 7.0, FEW, FEW + 1.0, 300.0])
def test_ascent_is_a_ratio_of_gamma_functions(x, n):
    exact = gammaln(x + n) - gammaln(x) if x < 1e10 else n * np.log(x)
    assert log_ascent(x, n) == pytest.approx(exact, rel=1e-9, abs=1e-9)
