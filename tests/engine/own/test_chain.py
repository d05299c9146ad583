"""The chain of the columns model: its joint density is the twin's, and copies go on alike."""

import numpy as np
import pytest

from sticktree.engine.common.sampler import tree_of
from sticktree.engine.own.chain import ColumnsChain
from sticktree.model import Model
from tests.engine.own.test_twin import model_of
from tests.support.own import engine, twin

KINDS = ("gaussian", "categorical", "poisson", "gaussian", "negative_binomial")
NAN = np.nan


def priors_of(form, depth, floor):
    return model_of(KINDS, form, depth, floor=np.full(len(KINDS), floor))


def engine_model(priors):
    """Return the model of the engine with the twin's priors."""
    _, width = twin.coordinates_of(priors.kinds, priors.categories)
    return Model(
        priors.shape,
        leaf_noise="own",
        covariance_type=priors.form,
        columns=engine.columns_of(priors.kinds, width, priors.floor),
        node_prior=priors.node_prior,
        psi=priors.psi,
        concentration_prior=priors.concentration_prior,
        discount_prior=priors.discount_prior,
        concentration=priors.concentration,
        discount=priors.discount,
        hyper_prior=(priors.hyper_mean, priors.hyper_sd),
    )


def data_of(priors, n_data, gaps, rng):
    data = twin.sample_prior(priors, n_data, rng).data
    missing = rng.random(data.shape) < gaps
    missing[:, [kind == "trials" for kind in priors.kinds]] = False
    data[missing] = NAN
    return data


FORMS = [("diag", 1, 0.0), ("diag", 3, 0.2), ("spherical", 2, 0.2), ("full", 1, 0.0)]
FORMS += [("full", 2, 0.0)]


@pytest.mark.parametrize(("form", "depth", "floor"), FORMS)
def test_joint_density_is_that_of_the_twin(form, depth, floor):
    rng = np.random.default_rng(depth)
    priors = priors_of(form, depth, floor)
    data = data_of(priors, 12, 0.2, rng)
    chain = ColumnsChain(data, engine_model(priors), rng)
    draw = twin.sample_setting(priors, rng)
    seen = []
    for _ in range(4):
        for _ in range(5):
            chain.sweep()
        state = chain.state
        setting = engine.setting_in(state, draw)
        tree, phi = tree_of(state), engine.phi_of(state)
        # Under the full form the data of the state have what is imputed.
        expected = twin.log_joint(tree, phi, state.data, setting)
        expected += twin.log_hyper_prior(setting, priors)
        assert chain.log_joint() == pytest.approx(expected, abs=1e-8)
        seen.append((tree, chain.log_joint()))
    assert len(set(seen)) > 1
    there = ~np.isnan(data)
    assert (chain.state.data[there] == data[there]).all()


@pytest.mark.parametrize(("form", "depth", "floor"), FORMS)
def test_restored_chain_goes_on_with_the_identical_draws(form, depth, floor):
    rng = np.random.default_rng(depth)
    priors = priors_of(form, depth, floor)
    data, model = data_of(priors, 12, 0.2, rng), engine_model(priors)
    chain = ColumnsChain(data, model, rng)
    for _ in range(10):
        chain.sweep()
    saved = chain.snapshot()
    other = ColumnsChain.restored(data, model, np.random.default_rng(5), saved)
    assert other.log_joint() == chain.log_joint()
    for _ in range(10):
        chain.sweep()
        other.sweep()
    assert chain.tree() == other.tree()
    assert chain.log_joint() == other.log_joint()
    for name, value in chain.parameters().items():
        assert (value == other.parameters()[name]).all(), name
    assert (chain.leave_one_out() == other.leave_one_out()).all()


def test_equal_rows_are_spread_alike_in_any_order():
    rng = np.random.default_rng(0)
    x = np.repeat([[0.0, 1.0], [2.0, 1.0], [2.0, 3.0]], 4, axis=0)
    columns = engine.columns_of(("gaussian",) * 2, np.ones(2, int), np.full(2, 0.01))
    model = Model(np.ones(1), leaf_noise="own", covariance_type="full", columns=columns)
    order = rng.permutation(len(x))
    first, second = (ColumnsChain(y, model, rng).state.data for y in (x, x[order]))
    assert len(np.unique(first[:, 0])) == len(x)  # no value repeats
    assert not np.array_equal(second, first[order])  # which of equal rows is first may differ
    for column in range(2):
        np.testing.assert_array_equal(np.sort(first[:, column]), np.sort(second[:, column]))
