"""Warnings point at the line of the user."""

import warnings

import numpy as np
import pytest

from sticktree import DFPMixture
from sticktree.posterior.diagnostics import ConvergenceWarning

SHORT = {"covariance_type": "full", "leaf_noise": "shared", "n_chains": 2, "random_state": 0}


@pytest.mark.parametrize("how", ["fit", "fit_predict", "partial_fit"])
def test_chains_that_disagree_are_told_of_where_the_fit_was_asked_for(how):
    x = np.random.default_rng(0).normal(size=(60, 2))
    mixture = DFPMixture(**SHORT, n_warmup=0, n_draws=8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(mixture, how)(x)
    assert [(w.category, w.filename) for w in caught] == [(ConvergenceWarning, __file__)]
