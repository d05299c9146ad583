"""Errors carry what they say as attributes; warnings point at the line of the user."""

import pickle
import warnings

import numpy as np
import pytest

from sticktree import DFPMixture
from sticktree.checks import check_integer, check_observed
from sticktree.errors import ParameterError
from sticktree.posterior.draws import ConvergenceWarning

SHORT = {"covariance_type": "full", "leaf_noise": "shared", "n_chains": 2, "random_state": 0}


@pytest.mark.parametrize("how", ["fit", "fit_predict", "partial_fit"])
def test_chains_that_disagree_are_told_of_where_the_fit_was_asked_for(how):
    x = np.random.default_rng(0).normal(size=(60, 2))
    mixture = DFPMixture(**SHORT, n_warmup=0, n_draws=8)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(mixture, how)(x)
    assert [(w.category, w.filename) for w in caught] == [(ConvergenceWarning, __file__)]


def test_an_error_about_a_parameter_has_its_name_value_and_what_is_allowed():
    with pytest.raises(
        ValueError, match=r"^depth must be an integer of at least 1, got 0$"
    ) as told:
        check_integer("depth", 0, minimum=1)
    error = told.value
    assert (error.name, error.got, error.expected) == ("depth", 0, "an integer of at least 1")
    assert error.remedy is None


def test_an_error_may_be_told_under_another_name_and_keeps_the_rest():
    with pytest.raises(ParameterError) as told:
        check_observed("X", np.array([[1.0, np.nan]]))
    assert str(told.value.renamed("the table")) == (
        "the table must have a value in every column, got only NaN in column 1; remove such columns"
    )


def test_an_error_comes_back_whole_from_another_process():
    error = ParameterError("out", [1, 2], "shape (3,)", "leave it out", verb="have", shown="(2,)")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert str(error) == "out must have shape (3,), got (2,); leave it out"
