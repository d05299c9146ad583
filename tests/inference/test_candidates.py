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


def names_and_models(n_columns, n_rows, **parameters):
    asked = Candidates.of(checked(DFPMixture(**parameters).model_parameters()))
    return dict(asked.models((Column(),) * n_columns, None, n_rows))


def test_full_covariances_are_candidates_only_where_there_are_rows_for_them():
    wide = names_and_models(200, 100)
    assert {name.split(",")[0] for name in wide} == {"shared diag", "own diag"}
    for n_columns, n_rows in ((4, 20), (30, 300), (32, None)):
        forms = {name.split(",")[0] for name in names_and_models(n_columns, n_rows)}
        assert forms == {"shared full", "own diag", "own full"}
    many = {name.split(",")[0] for name in names_and_models(33, None)}
    assert many == {"shared full", "own diag"}  # a covariance for each leaf would cost minutes
    asked = names_and_models(200, 100, covariance_type="full")
    assert {model.covariance_type for model in asked.values()} == {"full"}


def test_rates_are_learned_of_many_columns_and_scales_are_small_where_rows_are_few_for_them():
    for n_columns, rate in ((20, 1.0), (40, 0.5)):
        for model in names_and_models(n_columns, 100).values():
            assert model.scale_prior == (1.0, rate)
            assert model.precision_prior == (1.0, None)
            assert model.learns_rates == (model.leaf_noise == "shared")
    for n_columns, n_rows in ((1, 10), (8, 20), (9, 90), (40, 400)):
        for model in names_and_models(n_columns, n_rows).values():
            assert model.scale_prior == (1.0, 10.0)
            assert model.precision_prior == (1.0, 0.01 if n_columns <= 8 else None)
            assert model.learns_rates == (n_columns > 8 and model.leaf_noise == "shared")
    fixed = {"precision_prior": (1.0, 1.0), "scale_prior": (2.0, 3.0)}
    for model in names_and_models(40, 500, **fixed).values():
        assert model.scale_prior == (2.0, 3.0)
        assert model.precision_prior == (1.0, 1.0)
        assert not model.learns_rates
