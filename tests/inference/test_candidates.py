"""One break is the Dirichlet process mixture, whatever the divergence."""

import numpy as np
import pytest

from sticktree import DFPMixture, DPMixture
from sticktree.inference.candidates import Candidates
from sticktree.inference.parameters import checked
from sticktree.model import Column
from sticktree.processes import LogDivergence

COLUMNS = (Column(), Column())


def models(estimator):
    return Candidates.of(checked(estimator.model_parameters())).models(COLUMNS, None)


@pytest.mark.parametrize("divergence", ["log", "constant", "diffusion", LogDivergence()])
def test_depth_one_is_the_dirichlet_process_mixture(divergence):
    forms = {"covariance_type": "full", "discount": 0.3}
    ((_, model),) = models(DFPMixture(depth=1, divergence=divergence, **forms))
    ((_, expected),) = models(DPMixture(**forms))
    np.testing.assert_array_equal(model.shape, [1.0])
    fields = [name for name in vars(expected) if name != "shape"]
    assert [getattr(model, name) for name in fields] == [getattr(expected, n) for n in fields]


def test_depth_one_leaves_the_choice_of_the_noise_to_the_data():
    found = models(DFPMixture(depth=1))
    assert [name for name, _ in found] == [
        f"{form}, depth 1" for form in ("shared full", "own diag", "own full")
    ]
    assert {model.depth for _, model in found} == {1}


def test_the_factor_of_a_divergence_is_kept_at_depth_one():
    estimator = DFPMixture(depth=1, divergence=LogDivergence(c=2), covariance_type="full")
    ((_, model),) = models(estimator)
    np.testing.assert_array_equal(model.shape, [2.0])
