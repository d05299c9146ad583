"""Densities of rows given all others, against ratios of the twin's joint density."""

import numpy as np
import pytest

from sticktree.engine.common.sampler import tree_of
from sticktree.engine.own.chain import ColumnsChain
from tests.engine.own.test_chain import data_of, engine_model, priors_of
from tests.engine.own.test_twin import model_of
from tests.support.own import engine, placements, twin
from tests.support.statistics import assert_mean


def expected_of(chain, data, setting):
    """Return the density of every row of ``data`` given the others in the chain's state."""
    state = chain.state
    tree, phi = tree_of(state), engine.phi_of(state)
    return np.array(
        [
            placements.density(
                data[i],
                *placements.without(tree, phi, i),
                np.delete(state.data, i, axis=0),
                engine.setting_in(state, setting),
            )
            for i in range(len(data))
        ]
    )


@pytest.mark.parametrize(
    ("form", "floor"), [("diag", 0.2), ("spherical", 0.2), ("full", 0.0), ("full", 0.2)]
)
def test_flat_trees(form, floor):
    rng = np.random.default_rng(2)
    priors = priors_of(form, 1, floor)
    data = data_of(priors, 8, 0.2, rng)
    chain = ColumnsChain(data, engine_model(priors), rng)
    setting = twin.sample_setting(priors, rng)
    for _ in range(3):
        for _ in range(5):
            chain.sweep()
        expected = np.log(expected_of(chain, data, setting))
        tree, joint, words = chain.tree(), chain.log_joint(), chain.words.copy()
        np.testing.assert_allclose(chain.leave_one_out(), expected, atol=1e-8)
        assert chain.tree() == tree
        assert chain.log_joint() == pytest.approx(joint, abs=1e-9)
        assert (chain.words == words).all()


def test_branches_with_nodes_of_their_own_are_right_in_the_mean():
    rng = np.random.default_rng(3)
    priors = model_of(("gaussian",), "diag", 2, floor=np.array([0.2]))
    data = data_of(priors, 6, 0.0, rng)
    data[3] = np.nan
    chain = ColumnsChain(data, engine_model(priors), rng)
    for _ in range(10):
        chain.sweep()
    expected = expected_of(chain, data, twin.sample_setting(priors, rng))
    tree, joint = chain.tree(), chain.log_joint()
    found = np.exp([chain.leave_one_out() for _ in range(2_000)])
    assert chain.tree() == tree
    assert chain.log_joint() == pytest.approx(joint, abs=1e-9)
    np.testing.assert_allclose(found[:, 3], 1.0)
    assert_mean(found / expected, 1.0)
