"""Concentrations c·b(l) − d, which may be 0 or below: the posterior is exact, and no edge is rough.

Chi-square tests with false-alarm rate 1e-4, of draws so far apart that they count as independent.
"""

import numpy as np
import pytest
from scipy import stats

from sticktree import Tree
from sticktree.engine.common.links import DISCOUNT
from sticktree.engine.common.random import random_state
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.mixture import Observed, log_leave_one_out
from sticktree.engine.shared.predictive import predictives
from sticktree.engine.shared.seats import concentration_move
from sticktree.engine.shared.state import empty_state
from sticktree.inference.packing import pack_chain, unpack_chain
from sticktree.model import Model
from sticktree.processes import NestedRestaurant, enumerate_trees
from tests.engine.shared.test_leave_one_out import refitted
from tests.engine.shared.test_moves import DATA, NOISE, SCALE, every, excess_of_stays
from tests.support.statistics import assert_frequencies
from tests.support.training import training_of

SHAPE = np.array([0.25, 0.375, 0.75])
FACTOR = 2.0
N_DRAWS = 2_500


def law_of(c, d, shape=SHAPE):
    return NestedRestaurant(c * shape - d, discount=d)


@pytest.mark.parametrize("discount", [0.5, 0.8, None])
def test_sweeps_visit_all_trees_as_the_posterior_says(discount, twin):
    # With 0.5 the concentrations are 0, 0.25 and 1; with 0.8 two are negative.
    trees = list(enumerate_trees(4, 3))
    start = twin.Setting(FACTOR * SHAPE - 0.5, 0.5, SCALE[:4], NOISE)
    evidence = np.array([twin.log_normal(DATA, start.row_covariance(tree)) for tree in trees])
    prior = (2.0, 1.5)
    if discount is None:
        # The middle points of equal slices of d's prior stand for all of it.
        points = stats.beta(*prior).ppf((np.arange(40) + 0.5) / 40)
    else:
        points = np.array([discount])
    logs = np.array([[law_of(FACTOR, d).log_prob(tree) for tree in trees] for d in points])
    weights = np.exp(logs + evidence).mean(axis=0)
    state = empty_state(DATA, SHAPE, SCALE[:4], FACTOR, points[0], NOISE, True)
    np.testing.assert_array_equal(state.levels["alpha"][:3], FACTOR * SHAPE - points[0])
    words = random_state(np.random.default_rng(3))
    for i in range(len(DATA)):
        twin.move_datum(state, i, words)
    census = twin.Census(trees)
    for _ in range(N_DRAWS):
        every(state, words)
        if discount is None:
            for _ in range(2):
                concentration_move(state, words, False, (1.0, 1.0), True, prior, True)
        census.add(state)
    probabilities = weights / weights.sum()
    assert excess_of_stays(np.array(census.visits), probabilities) < 0.05
    assert_frequencies(census.counts, probabilities)


@pytest.mark.parametrize("seed", range(4))
def test_leaving_one_out_agrees_with_states_that_never_had_the_datum(seed, twin):
    rng = np.random.default_rng(seed)
    setting = twin.Setting(FACTOR * SHAPE - 0.6, 0.6, SCALE[:4], NOISE)
    tree, data = setting.law.sample(9, rng), rng.standard_normal((9, 2))
    found = log_leave_one_out(twin.state_of(tree, data, setting), Observed.complete(9, 2))
    np.testing.assert_allclose(found, refitted(twin, setting, tree, data), rtol=0, atol=1e-9)


@pytest.mark.parametrize("alpha", [-0.3, 0.0, 0.2])
def test_one_datum_has_its_density_under_the_prior(alpha, twin):
    setting = twin.Setting(np.array([alpha, -0.2]), 0.4, np.array([3.0, 2.0, 1.0]), 0.5)
    data = np.array([[1.0, -2.0]])
    state = twin.state_of(Tree.from_paths([(1, 1)]), data, setting)
    expected = -0.5 * 5.0 / 6.5 - np.log(2 * np.pi * 6.5)
    found = log_leave_one_out(state, Observed.complete(1, 2))[0]
    assert found == pytest.approx(expected, abs=1e-12)


def model_with(**choices):
    return Model(SHAPE, **{"less_discount": True, "scales": "shared"} | choices)


@pytest.mark.parametrize("n_data", [1, 2, 12])
@pytest.mark.parametrize("discount", [None, 0.5])
def test_chain_has_the_prior_of_the_restaurant_and_a_proper_predictive(discount, n_data, twin):
    rng = np.random.default_rng(n_data)
    data = twin.random_data(rng, n_data, 2)
    chain = Chain(data, model_with(discount=discount, concentration=FACTOR), rng)
    for _ in range(10):
        chain.sweep()
        c, d = chain.concentration, chain.discount
        np.testing.assert_allclose(chain.state.levels["alpha"][:-1], c * SHAPE - d, atol=1e-15)
    assert (chain.state.scalars[DISCOUNT] == 0.5) == (discount == 0.5)
    of_tree = chain.log_prior() - chain._log_prior_covariance()
    assert of_tree == pytest.approx(law_of(c, d).log_prob(chain.tree().expanded()), abs=1e-10)
    (predictive,) = predictives([chain.draw()], data, chain.model)
    assert predictive.mixture.weight.sum() == pytest.approx(1, abs=1e-12)
    assert (predictive.mixture.weight >= 0).all()
    np.testing.assert_allclose(predictive.leave_one_out(), chain.leave_one_out(), atol=1e-9)
    assert np.isfinite(chain.leave_one_out()).all()


def test_chain_goes_on_from_a_snapshot_to_the_identical_draws(twin):
    data = twin.random_data(np.random.default_rng(0), 12, 2)
    model = model_with(discount=None)
    chain = Chain(data, model, np.random.default_rng(1))
    for _ in range(5):
        chain.sweep()
    resumed = unpack_chain(pack_chain(chain), training_of(data), model)
    for _ in range(5):
        chain.sweep()
        resumed.sweep()
    assert resumed.tree() == chain.tree()
    assert (resumed.state.scalars == chain.state.scalars).all()
    assert (resumed.state.levels["alpha"] == chain.state.levels["alpha"]).all()
    assert resumed.log_joint() == chain.log_joint()


def test_without_a_discount_nothing_changes(twin):
    data = twin.random_data(np.random.default_rng(0), 15, 2)
    plain, less = (
        Chain(data, model_with(less_discount=flag), np.random.default_rng(1))
        for flag in (False, True)
    )
    for _ in range(10):
        plain.sweep()
        less.sweep()
    assert (plain.state.leaf == less.state.leaf).all()
    assert plain.log_joint() == less.log_joint()
