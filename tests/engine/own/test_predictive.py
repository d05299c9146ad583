"""The predictive mixture of a draw: a density, draws from it, and all its margins agree."""

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.common.sampler import tree_of
from sticktree.engine.own.chain import ColumnsChain
from sticktree.engine.own.predictive import predictives
from tests.engine.own.test_chain import data_of, engine_model
from tests.engine.own.test_twin import model_of
from tests.support.own import engine, placements, twin
from tests.support.statistics import GridLaw, assert_frequencies, assert_law, assert_mean

NAN = np.nan
KINDS = ("gaussian", "categorical", "poisson", "gaussian", "negative_binomial")


def fitted(kinds, form, depth, floor=0.0, gaps=0.1):
    """Return chain and predictive distribution after a few sweeps, and the twin's priors."""
    rng = np.random.default_rng([len(kinds), depth])
    # Large κ and a: tails of predictive densities are powers, and are to be summed up.
    means = np.array([[2.0], [1.2], [-0.3]]) + np.zeros(len(kinds))
    priors = model_of(
        kinds, form, depth, floor=np.full(len(kinds), floor), hyper_mean=means, node_prior=(9, 1.5)
    )
    data, model = data_of(priors, 10, gaps, rng), engine_model(priors)
    chain = ColumnsChain(data, model, rng)
    for _ in range(10):
        chain.sweep()
    (predictive,) = predictives([chain.draw()], data, model)
    return chain, predictive, priors


def steps(size, end):
    """Return points, far out at both ends, and their weights in an integral."""
    x, step = np.linspace(-end, end, size, retstep=True)
    return np.sinh(x), np.cosh(x) * step


@pytest.mark.parametrize("floor", [0.0, 3.0])
@pytest.mark.parametrize("depth", [1, 2])
def test_gaussian_density_integrates_to_one_and_has_its_draws(depth, floor):
    _, predictive, _ = fitted(("gaussian",), "diag", depth, floor)
    x, weight = steps(2_001, 12.0)
    logs = predictive.log_density(x[:, None])
    assert (np.exp(logs) * weight).sum() == pytest.approx(1, abs=1e-6)
    draws = predictive.sample(3_000, np.random.default_rng(3))
    assert_law(np.arcsinh(draws[:, 0]), GridLaw(np.arcsinh(x), logs + np.log(weight)))


@pytest.mark.parametrize("trials", [0, 1, 7])
def test_probabilities_of_successes_given_trials_sum_to_one(trials):
    _, predictive, _ = fitted(("binomial", "trials"), "diag", 2)
    values = np.column_stack([np.arange(trials + 1.0), np.full(trials + 1, trials)])
    probabilities = np.exp(predictive.log_density(values))
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    rows = np.tile([NAN, trials], (3_000, 1))
    draws = predictive.conditional_sample(rows, np.random.default_rng(4))
    assert (draws[:, 1] == trials).all()
    counts = np.bincount(draws[:, 0].astype(int), minlength=trials + 1)
    if trials:
        assert_frequencies(counts, probabilities)
    mean = predictive.conditional_mean(rows[:1])[0, 0]
    assert mean == pytest.approx(probabilities @ values[:, 0], abs=1e-9)


def test_trials_of_draws_are_those_of_the_data():
    _, predictive, _ = fitted(("binomial", "trials"), "diag", 2, gaps=0.0)
    seen, counts = np.unique(predictive.raw[:, 1], return_counts=True)
    draws = predictive.sample(3_000, np.random.default_rng(4))
    assert (draws[:, 0] <= draws[:, 1]).all()
    assert set(draws[:, 1]) <= set(seen)
    assert_frequencies([(draws[:, 1] == m).sum() for m in seen], counts / counts.sum())
    mean = predictive.conditional_mean(np.array([[NAN, NAN]]))[0, 1]
    assert mean == pytest.approx(predictive.raw[:, 1].mean())


@pytest.mark.parametrize("kind", ["categorical", "poisson", "negative_binomial"])
def test_probabilities_sum_to_one_and_have_their_draws(kind):
    _, predictive, _ = fitted((kind,), "diag", 2)
    values = np.arange(3 if kind == "categorical" else 30_000, dtype=float)
    probabilities = np.exp(predictive.log_density(values[:, None]))
    assert probabilities.sum() == pytest.approx(1, abs=1e-4)
    draws = predictive.sample(3_000, np.random.default_rng(4))[:, 0].astype(int)
    draws = np.minimum(draws, values.size - 1)
    counts = np.bincount(draws, minlength=values.size)
    assert_frequencies(counts, probabilities / probabilities.sum())
    if kind != "categorical":
        mean = predictive.conditional_mean(np.array([[NAN]])).item()
        assert mean == pytest.approx(probabilities @ values, rel=1e-3)


@pytest.mark.parametrize("form", ["diag", "spherical", "full"])
def test_margin_is_the_integral_over_what_is_missing(form):
    floor = 0.0 if form == "full" else 0.5
    _, predictive, _ = fitted(("gaussian", "gaussian"), form, 2, floor)
    x, weight = steps(801, 9.0)
    for seen in (-0.7, 2.5):
        pairs = np.column_stack([np.full_like(x, seen), x])
        for order in ([0, 1], [1, 0]):
            total = (np.exp(predictive.log_density(pairs[:, order])) * weight).sum()
            margin = np.exp(predictive.log_density(np.array([[seen, NAN]])[:, order]))
            assert total == pytest.approx(margin.item(), rel=1e-5)
    assert predictive.log_density(np.full((1, 2), NAN)) == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("form", ["diag", "spherical", "full"])
def test_density_is_that_of_all_places_together(form):
    chain, predictive, priors = fitted(KINDS, form, 1, 0.0 if form == "full" else 0.5)
    state = chain.state
    setting = engine.setting_in(state, twin.sample_setting(priors, np.random.default_rng(1)))
    rows = data_of(priors, 5, 0.3, np.random.default_rng(2))
    tree, phi = tree_of(state), engine.phi_of(state)
    expected = [placements.density(row, tree, phi, state.data, setting) for row in rows]
    np.testing.assert_allclose(predictive.log_density(rows), np.log(expected), atol=1e-8)


@pytest.mark.parametrize("form", ["diag", "spherical", "full"])
def test_conditional_draws_have_the_conditional_density(form):
    # The mean of q/p over draws from p is 1 for every density q; this q has lighter tails than p.
    _, predictive, _ = fitted(KINDS, form, 2, 0.0 if form == "full" else 0.5)
    rng = np.random.default_rng(5)
    q = [
        stats.norm(0.2, 0.6),
        stats.rv_discrete(values=([0, 1, 2], [0.5, 0.2, 0.3])),
        stats.poisson(1.0),
        stats.norm(-0.1, 0.5),
        stats.geom(0.6, loc=-1),
    ]
    for row in (
        [NAN, NAN, NAN, NAN, NAN],
        [0.3, NAN, 1, NAN, NAN],
        [NAN, 2, NAN, -0.4, 0],
        [NAN, NAN, 1, NAN, 2],
    ):
        rows = np.tile(row, (4_000, 1))
        drawn = predictive.conditional_sample(rows, rng)
        there = ~np.isnan(rows)
        assert (drawn[there] == rows[there]).all()
        log_p = predictive.log_density(drawn) - predictive.log_density(rows[:1])
        log_q = np.zeros(len(rows))
        for d in np.flatnonzero(~there[0]):
            log_q += (q[d].logpdf if KINDS[d] == "gaussian" else q[d].logpmf)(drawn[:, d])
        assert_mean(np.exp(log_q - log_p), 1.0)


@pytest.mark.parametrize("form", ["diag", "spherical", "full"])
def test_conditional_mean_is_that_of_conditional_draws(form):
    _, predictive, _ = fitted(KINDS, form, 2, 0.0 if form == "full" else 0.5)
    rng = np.random.default_rng(6)
    for row in ([0.3, 1, NAN, NAN, 3], [NAN, 2, 0, 1.4, 1], [NAN, 0, NAN, NAN, NAN]):
        rows = np.tile(row, (4_000, 1))
        # Draws of the last column may have no variance.
        counted = [0, 1, 2, 3]
        drawn = predictive.conditional_sample(rows, rng)[:, counted]
        mean = predictive.conditional_mean(rows[:1])[0, counted]
        assert_mean(drawn, mean)
    # Of categories it is the likeliest.
    rows = np.tile([0.3, NAN, 2, NAN, 3], (3, 1))
    found = predictive.conditional_mean(rows)[0, 1]
    rows[:, 1] = np.arange(3)
    assert found == predictive.log_density(rows).argmax()


def test_shares_of_components_sum_to_one():
    chain, predictive, priors = fitted(KINDS, "diag", 2)
    rows = data_of(priors, 5, 0.3, np.random.default_rng(2))
    np.testing.assert_allclose(predictive.responsibilities(rows).sum(axis=1), 1.0)
    assert predictive.weight.sum() == pytest.approx(1)
    assert predictive.node.max() < chain.tree().n_nodes
