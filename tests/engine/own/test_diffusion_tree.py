"""Concentrations c·b(l) − d with noise of the leaves' own: exact posteriors, and rough edges.

Chi-square tests with false-alarm rate 1e-4, of draws so far apart that they count as independent.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.predictive import predictives
from sticktree.processes import enumerate_trees
from tests.engine.own.test_moves import case_of, excess_of_stays
from tests.support.own import engine, exact
from tests.support.statistics import assert_frequencies

PRIOR = (2.0, 1.5)


def less(name, depth):
    """Return a setting whose first concentration is 0 if d is a half, and data."""
    setting, data = case_of(name, depth)
    shape, v = np.array([0.25, 0.75, 0.4])[:depth], np.full((depth, 1), 0.8)
    return replace(setting, shape=shape, c=2.0, v=v, less_discount=True), data


@pytest.mark.parametrize("discount", [0.5, 0.8, None])
def test_sweeps_find_the_exact_posterior(discount):
    setting, data = less("gaussian", 2)
    trees = list(enumerate_trees(len(data), 2))
    (columns,) = setting.blocks
    block = exact.BlockIntegrals(data, setting, columns)
    evidence = np.log([block.evidence(tree) for tree in trees])
    # The middle points of equal slices of d's prior stand for all of it.
    points = stats.beta(*PRIOR).ppf((np.arange(40) + 0.5) / 40) if discount is None else [discount]
    laws = [replace(setting, discount=d).law for d in points]
    logs = np.array([[law.log_prob(tree) for tree in trees] for law in laws])
    joint = logsumexp(logs, axis=0) + evidence
    probabilities = np.exp(joint - logsumexp(joint))
    model = engine.model_of(
        setting, node_prior=(1e10, 0.8e10), discount=discount, discount_prior=PRIOR
    )
    chain = ColumnsChain(data, model, np.random.default_rng(2))
    census = engine.Census(trees)
    for sweep in range(1_000 * 3 + 50):
        chain.sweep()
        if sweep >= 50 and sweep % 3 == 0:
            census.add(chain.state)
    assert excess_of_stays(np.array(census.visits), probabilities) < 0.05
    assert_frequencies(census.counts, probabilities)


@pytest.mark.parametrize("n_data", [1, 4])
@pytest.mark.parametrize("discount", [0.5, None])
@pytest.mark.parametrize("depth", [1, 3])
def test_chain_has_the_prior_of_the_restaurant_and_a_proper_predictive(depth, discount, n_data):
    setting, data = less("gaussian", depth)
    data = data[:n_data]
    model = engine.model_of(setting, discount=discount, discount_prior=PRIOR)
    chain = ColumnsChain(data, model, np.random.default_rng(1))
    state = chain.state
    for _ in range(5):
        chain.sweep()
        c, d = chain.concentration, chain.discount
        np.testing.assert_allclose(state.levels["alpha"][:-1], c * setting.shape - d, atol=1e-15)
    plain = ColumnsChain(data, replace(model, less_discount=False), np.random.default_rng(1))
    plain.state = state
    tree = chain.tree()
    now = engine.setting_in(state, setting)
    difference = now.law.log_prob(tree) - replace(now, less_discount=False).law.log_prob(tree)
    assert chain.log_prior() - plain.log_prior() == pytest.approx(difference, abs=1e-9)
    (predictive,) = predictives([chain.draw()], data, model)
    assert predictive.weight.sum() == pytest.approx(1, abs=1e-12)
    leaves = predictive.level == depth
    reach = now.law.next_datum(tree).reach[predictive.node[leaves]]
    np.testing.assert_allclose(predictive.weight[leaves], reach, rtol=1e-12)
    assert np.isfinite(predictive.leave_one_out()).all()
    assert np.isfinite(chain.leave_one_out()).all()
    restored = ColumnsChain.restored(data, model, np.random.default_rng(0), chain.snapshot())
    for _ in range(3):
        chain.sweep()
        restored.sweep()
    assert restored.log_joint() == chain.log_joint()
