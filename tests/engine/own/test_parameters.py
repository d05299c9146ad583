"""Moves of φ, v, κ, a, b, Ψ and of missing entries against their conditional laws.

Laws come from grids of the twin's joint density, draws from many moves with all else fixed;
Kolmogorov–Smirnov or z-tests with false-alarm rate 1e-4.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sticktree import Tree
from sticktree.engine.common.random import random_state
from sticktree.engine.own.covariances import covariance_sweep, impute
from sticktree.engine.own.densities import recount
from sticktree.engine.own.hyper import hyper_sweep
from sticktree.engine.own.nodes import node_sweep, variance_sweep
from sticktree.engine.own.scales import scale_sweep
from sticktree.engine.own.state import LOG_PSI, PHI
from tests.engine.own.test_exact import setting_of
from tests.support.own import engine, twin
from tests.support.statistics import GridLaw, assert_law, assert_mean

NAN = np.nan
TREE = Tree.from_paths([(1, 1), (1, 2), (2, 1), (1, 1), (2, 1)])
FLAT = Tree.from_paths([(1,), (2,), (2,), (1,), (1,)])
N_DRAWS = 800
KINDS = ("gaussian", "categorical", "poisson", "negative_binomial")
DATA = np.array(
    [[0.2, 0, 3, 0], [NAN, 1, 0, 5], [1.4, NAN, NAN, 1], [0.3, 1, 1, NAN], [-0.8, 1, 4, 2]]
)
PAIRS = np.array([[0.2, -0.4], [1.1, 0.9], [0.1, 0.3], [NAN, -1.2], [0.8, NAN]])


@pytest.fixture
def words():
    return random_state(np.random.default_rng(4))


def start(tree, data, setting):
    return engine.state_of(tree, np.zeros((tree.n_nodes, setting.n_coordinates)), data, setting)


@pytest.mark.parametrize("form", ["diag", "spherical"])
def test_phi_above_the_leaves_has_its_conditional_law(form, words):
    given = setting_of(KINDS, form, 1, (2,), floor=0.2)
    phi = np.zeros((FLAT.n_nodes, 5))
    x = np.linspace(-8, 8, 161)
    for p in range(5):
        # Coordinates of one leaf depend on each other: a narrow prior keeps all others at 0.
        setting = replace(given, v=np.where(np.arange(5) == p, given.v, 1e-14))
        logs = []
        for point in x:
            phi[0, p] = point
            logs.append(twin.log_joint(FLAT, phi, DATA, setting))
        phi[0, p] = 0.0
        law, state, draws = GridLaw(x, np.array(logs)), start(FLAT, DATA, setting), []
        for _ in range(4 * N_DRAWS):
            node_sweep(state, words)
            draws.append(state.coordinates[0, p, PHI])
        assert_law(draws[::4], law)


def test_phi_between_nodes_is_normal(words):
    setting = setting_of(("gaussian",), "diag", 2)
    state = start(TREE, DATA[:, :1], setting)
    inner, values = np.flatnonzero(TREE.level < 2), []
    for _ in range(N_DRAWS):
        node_sweep(state, words)
        values.append(state.coordinates[inner, 0, PHI])
    root, first, second = np.array(values).T
    v = setting.v[:, 0]
    precision = 1 / v[0] + 2 / v[1]
    # The root is drawn given the children of the sweep before.
    noise = (root[1:] - (first[:-1] + second[:-1]) / v[1] / precision) * np.sqrt(precision)
    assert stats.kstest(noise, "norm").pvalue > 1e-4
    assert_mean(noise[:, None] * np.column_stack([first, second])[:-1], 0.0)


def test_variance_is_inverse_gamma(words):
    setting = setting_of(("gaussian", "poisson"), "diag", 2)
    phi = np.random.default_rng(3).normal(size=(TREE.n_nodes, 2))
    state = engine.state_of(TREE, phi, DATA[:, [0, 2]], setting)
    draws = []
    for _ in range(N_DRAWS):
        variance_sweep(state, words, 2.0, 0.5)
        draws.append(state.variance.copy())
    squares = (phi[1] - phi[0]) ** 2 + (phi[2] - phi[0]) ** 2
    for level, n, square in ((0, 1, phi[0] ** 2), (1, 2, squares)):
        for p in range(2):
            law = stats.invgamma(2.0 + n / 2, scale=0.5 + square[p] / 2)
            assert_law(np.array(draws)[:, level, p], law)


@pytest.mark.parametrize(
    ("kinds", "form", "places"),
    [
        (KINDS, "diag", [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (0, 3), (1, 3)]),
        (("gaussian",) * 2, "spherical", [(0, 0), (1, 0), (2, 0)]),
        (("gaussian",) * 2, "full", [(0, 0), (1, 0)]),
    ],
)
def test_hyper_parameters_have_their_conditional_law(kinds, form, places, words):
    setting = setting_of(kinds, form, 1, (2,), floor=0.0 if form == "full" else 0.2)
    data = DATA if form == "diag" else np.where(np.isnan(PAIRS) & (form == "full"), 0.7, PAIRS)
    phi = np.random.default_rng(3).normal(size=(FLAT.n_nodes, setting.n_coordinates))
    mean, sd = np.log(setting.hyper) + 0.3, 0.8
    x = np.linspace(-5.0, 5.0, 161)
    for row, d in places:
        logs = []
        for point in x:
            hyper = setting.hyper.copy()
            hyper[row, d] = np.exp(mean[row, d] + point)
            value = twin.log_likelihood(FLAT, phi, data, replace(setting, hyper=hyper))
            logs.append(value - 0.5 * (point / sd) ** 2)
        deviation = np.zeros_like(mean)
        deviation[row, d] = sd
        state = engine.state_of(FLAT, phi, data, setting)
        draws = []
        for _ in range(4 * N_DRAWS):
            hyper_sweep(state, words, mean, deviation)
            draws.append(np.log(state.hyper[row, d]) - mean[row, d])
        assert_law(draws[::4], GridLaw(x, np.array(logs)))
        changed = np.zeros_like(mean, dtype=bool)
        changed[row, d] = True
        assert (state.hyper[~changed] == setting.hyper[~changed]).all()


def test_phi_with_full_covariances_has_its_conditional_law(words):
    setting = setting_of(("gaussian",) * 2, "full", 1)
    data = np.where(np.isnan(PAIRS), 0.7, PAIRS)
    state = start(FLAT, data, setting)
    x = np.linspace(-8, 8, 161)
    u = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)
    logs = -0.5 * (u**2 / setting.v[0]).sum(axis=-1)
    for leaf in (1, 2):
        logs += twin.log_leaf_evidence(data[FLAT.leaf == leaf], u, setting)
    none, draws = np.zeros_like(data, dtype=bool), []
    for _ in range(4 * N_DRAWS):
        engine.redraw_phi(state, words, none)
        draws.append(state.coordinates[0, :, PHI].copy())
    for p in range(2):
        law = GridLaw(x, np.logaddexp.reduce(logs, axis=1 - p))
        assert_law(np.array(draws)[::4, p], law)


@pytest.mark.parametrize(("shape", "rate"), [(2.5, 4.0), (2.5, 0.9), (2.5, 1e-3), (40.0, 19.9)])
def test_the_precision_of_a_leaf_is_a_gamma_that_keeps_the_floor(shape, rate, words):
    floor = 0.5
    draws = np.array([engine.draw_precision(shape, rate, floor, words) for _ in range(20_000)])
    whole = stats.gamma(shape, scale=1.0 / rate)
    assert draws.max() <= 1.0 / floor
    assert stats.kstest(draws, lambda x: whole.cdf(x) / whole.cdf(1.0 / floor)).pvalue > 1e-4


@pytest.fixture
def law_of_psi():
    """Return data of one column, where Ψ is a number, and the law of its logarithm with φ = 0."""
    setting = replace(setting_of(("gaussian",), "full", 1), psi=np.array([[0.5]]))
    data = np.array([[0.2], [1.1], [0.1], [-0.5], [0.8]])
    x = np.linspace(-9, 6, 301)
    phi = np.zeros((FLAT.n_nodes, 1))
    logs = []
    for point in x:
        new = replace(setting, psi=np.exp([[point]]))
        value = twin.log_likelihood(FLAT, phi, data, new) + point
        logs.append(value + stats.wishart.logpdf(np.exp(point), 2, 0.6 / 2))
    return data, setting, GridLaw(x, np.array(logs))


@pytest.mark.parametrize("sweep", [covariance_sweep, scale_sweep])
def test_psi_has_its_conditional_law(sweep, words, law_of_psi):
    data, setting, law = law_of_psi
    state, draws = start(FLAT, data, setting), []
    state.coordinates[0, 0, PHI] = 0.0
    engine.settle(state)
    for _ in range(6 * N_DRAWS):
        sweep(state, words, 0.6)
        state.coordinates[0, 0, PHI] = 0.0
        engine.settle(state)
        assert state.scalars[LOG_PSI] == pytest.approx(np.log(state.psi[0, 0]))
        draws.append(state.scalars[LOG_PSI])
    assert_law(draws[::6], law)


def test_the_scale_of_psi_has_its_law_in_two_columns(words):
    setting = setting_of(("gaussian",) * 2, "full", 1)
    data, phi = np.where(np.isnan(PAIRS), 0.3, PAIRS), np.full((FLAT.n_nodes, 2), 0.2)
    t = np.linspace(-8, 8, 401)
    logs = []
    for point in t:
        new = replace(setting, psi=np.exp(point) * setting.psi)
        value = twin.log_likelihood(FLAT, phi, data, new) + 3.0 * point  # of three entries
        logs.append(value + stats.wishart.logpdf(new.psi, 3, 0.6 / 3 * np.eye(2)))
    state, draws = engine.state_of(FLAT, phi, data, setting), []
    for _ in range(4 * N_DRAWS):
        scale_sweep(state, words, 0.6)
        engine.settle(state)
        assert state.scalars[LOG_PSI] == pytest.approx(np.linalg.slogdet(state.psi)[1])
        draws.append(np.log(state.psi[0, 0] / setting.psi[0, 0]))
    assert_law(draws[::4], GridLaw(t, np.array(logs)))


def test_missing_entries_have_their_conditional_law(words):
    setting = setting_of(("gaussian",) * 2, "full", 1)
    gaps = np.isnan(PAIRS)
    phi = np.full((FLAT.n_nodes, 2), 0.2)
    state = engine.state_of(FLAT, phi, np.where(gaps, 0.0, PAIRS), setting)
    draws = []
    for _ in range(4 * N_DRAWS):
        impute(state, words, gaps)
        recount(state)
        draws.append(state.data[gaps])
    draws = np.array(draws)[::4]
    x = np.sinh(np.linspace(-9, 9, 301))  # tails are powers
    # Both sit in one leaf; the twin integrates over the other entry.
    for k, (i, j) in enumerate(np.argwhere(gaps)):
        logs = []
        for point in x:
            filled = PAIRS.copy()
            filled[i, j] = point
            logs.append(twin.log_likelihood(FLAT, phi, filled, setting))
        logs = np.array(logs) + np.log(np.cosh(np.arcsinh(x)))
        assert_law(np.arcsinh(draws[:, k]), GridLaw(np.arcsinh(x), logs))
