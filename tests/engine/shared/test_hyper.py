"""The moves of c, d, v and Σ given a fixed tree, against their exact conditional laws.

Kolmogorov–Smirnov tests with false-alarm rate 1e-4 a test. Draws of slice samplers are so far apart
that they count as independent, which is checked.
"""

import numpy as np
import pytest
from scipy import stats

from sticktree.engine.common.links import DISCOUNT, FACTOR
from sticktree.engine.common.random import random_state
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.common.slice import slice_sampler
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.factor import coloured
from sticktree.engine.shared.scales import draw_covariance, scale_sweep
from sticktree.engine.shared.seats import concentration_move, settle
from sticktree.jit import jit
from sticktree.model import SCALE_LIMIT, Model
from tests.support.statistics import GridLaw, assert_independent, assert_law, assert_mean

FORMS = ["spherical", "diag", "full"]
THIN = 4


@jit
def _log_two_peaks(x, parameters):
    """Return a density with a wide and a narrow peak, and a gap of most of a step between them."""
    left = np.exp(-0.5 * (x + 1.0) ** 2)
    right = parameters * np.exp(-0.5 * ((x - 3.0) / 0.2) ** 2)
    return np.log(left + right)


_draw_two_peaks = slice_sampler(_log_two_peaks)


@jit
def _draws_of_two_peaks(n_draws, thin, words):
    x, draws = 0.0, np.empty(n_draws)
    for k in range(n_draws):
        for _ in range(thin):
            x = _draw_two_peaks(x, 1.0, 2.0, words)
        draws[k] = x
    return draws


def test_slice_sampler_keeps_its_density():
    draws = _draws_of_two_peaks(3000, 40, random_state(np.random.default_rng(0)))
    assert_independent(draws)
    grid = np.linspace(-9, 9, 2001)
    assert_law(draws, GridLaw(grid, np.array([_log_two_peaks(x, 1.0) for x in grid])))


@pytest.fixture
def fixed_tree(twin):
    """Return a function that makes a state with a random tree and its law given c and d."""

    def make(depth, discount, n_data=12):
        rng = np.random.default_rng([1, depth])
        setting = twin.random_setting(rng, depth, discount)
        tree = setting.law.sample(n_data, rng)
        state = twin.state_of(tree, rng.standard_normal((n_data, 1)), setting)

        def log_prob(c, d, less_discount=False):
            alpha = c * setting.alpha - d * less_discount
            return setting._replace(alpha=alpha, discount=d).law.log_prob(tree)

        return state, random_state(rng), log_prob

    return make


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize("depth", [1, 3])
def test_c_follows_its_conditional_law(depth, discount, fixed_tree):
    state, words, log_prob = fixed_tree(depth, discount)
    prior = (1.5, 0.8)
    draws = []
    for _ in range(1500):
        for _ in range(THIN):
            concentration_move(state, words, True, prior, False, (1.0, 1.0), False)
        draws.append(np.log(state.scalars[FACTOR]))
    assert state.scalars[DISCOUNT] == discount
    assert_independent(draws)
    grid = np.linspace(-20, 5, 1001)
    law = stats.gamma(prior[0], scale=1 / prior[1])
    density = [log_prob(np.exp(x), discount) + law.logpdf(np.exp(x)) + x for x in grid]
    assert_law(draws, GridLaw(grid, np.array(density)))


@pytest.mark.parametrize("less_discount", [False, True])
def test_c_and_d_follow_their_joint_law(less_discount, fixed_tree):
    state, words, log_prob = fixed_tree(2, 0.3)
    c_prior, d_prior = (2.0, 1.0), (2.0, 1.5)
    draws = []
    for _ in range(1500):
        for _ in range(2 * THIN):
            concentration_move(state, words, True, c_prior, True, d_prior, less_discount)
        c, d = state.scalars[FACTOR], state.scalars[DISCOUNT]
        draws.append((np.log(c), np.log(d / (1 - d))))
        alpha = c * state.levels["shape"] - d * less_discount
        np.testing.assert_allclose(state.levels["alpha"], alpha, rtol=1e-12)
    draws = np.array(draws)
    assert_independent(draws)
    xs, ys = np.linspace(-14, 4, 61), np.linspace(-12, 10, 59)
    density = np.empty((xs.size, ys.size))
    for k, x in enumerate(xs):
        for j, y in enumerate(ys):
            c, d = np.exp(x), 1 / (1 + np.exp(-y))
            prior = stats.gamma.logpdf(c, c_prior[0], scale=1 / c_prior[1]) + x
            prior += stats.beta.logpdf(d, *d_prior) + np.log(d * (1 - d))
            density[k, j] = log_prob(c, d, less_discount) + prior
    assert_law(draws[:, 0], GridLaw(xs, np.logaddexp.reduce(density, axis=1)))
    assert_law(draws[:, 1], GridLaw(ys, np.logaddexp.reduce(density, axis=0)))


@pytest.mark.parametrize("less_discount", [False, True])
def test_moves_of_c_and_d_leave_no_stale_factor(less_discount, fixed_tree, twin):
    state, words, _ = fixed_tree(4, 0.2)
    concentration_move(state, words, True, (1.0, 1.0), True, (1.0, 1.0), less_discount)
    c, d = state.scalars[FACTOR], state.scalars[DISCOUNT]
    alpha = c * state.levels["shape"][:-1] - d * less_discount
    np.testing.assert_allclose(state.levels["alpha"][:-1], alpha, rtol=1e-12)
    fresh = twin.from_scratch(state)
    order = twin.in_use(state)
    inner = order[state.nodes["level"][order] < 4]
    for field, nodes in (
        ("inverse", inner),
        ("opening", inner),
        ("passing", order[1:]),
        ("opening_above", order[1:]),
    ):
        assert (state.nodes[field][nodes] == fresh.nodes[field][nodes]).all()


@pytest.mark.parametrize("form", FORMS)
def test_scales_follow_their_joint_law_with_the_covariance_integrated_out(form, twin):
    rng = np.random.default_rng(6)
    model = Model(
        np.array([1.0]), covariance_type=form, precision_prior=(2.0, 0.5), scale_prior=(3.0, 2.0)
    )
    data = twin.random_data(rng, 8, 2)
    chain = Chain(data, model, rng)
    chain.sweep()  # so that Σ is not the identity
    state, tree = chain.state, tree_of(chain.state)
    squares, rate = chain._squares(), chain._prior_rate()
    draws = []
    for _ in range(1500):
        for _ in range(THIN):
            scale_sweep(state, chain.words, squares, model.scale_prior, 2.0, rate)
        draws.append(np.log(state.levels["scale"]))
    draws = np.array(draws)
    assert_independent(draws)
    grid = np.linspace(-3.5, 9, 71)
    meeting = tree.meeting_level_matrix()
    density = np.empty((grid.size, grid.size))
    prior = stats.invgamma(3.0, scale=2.0).logpdf(np.exp(grid)) + grid
    for k, x in enumerate(grid):
        for j, y in enumerate(grid):
            rows = np.cumsum(np.exp([x, y]))[meeting] + np.eye(8)
            evidence = twin.log_evidence(data, rows, form, model.precision_prior)
            density[k, j] = evidence + prior[k] + prior[j]
    assert_law(draws[:, 0], GridLaw(grid, np.logaddexp.reduce(density, axis=1)))
    assert_law(draws[:, 1], GridLaw(grid, np.logaddexp.reduce(density, axis=0)))


def test_scales_keep_their_law_up_to_the_limit():
    # A single row that is far out wants v_0 + v_1 to be as large as can be, and the prior is nearly
    # flat on the log scale.
    prior, (a, b), data = (0.02, 0.02), (2.0, 0.5), np.array([[1e5, -1e5]])
    model = Model(np.array([1.0]), True, "full", precision_prior=(a, b), scale_prior=prior)
    chain = Chain(data, model, np.random.default_rng(7))
    squares, rate = chain._squares(), chain._prior_rate()
    draws = []
    for _ in range(600):
        for _ in range(15 * THIN):
            scale_sweep(chain.state, chain.words, squares, prior, a, rate)
        draws.append(np.log(chain.state.levels["scale"]))
    draws, largest = np.array(draws), np.log(SCALE_LIMIT)
    assert_independent(draws)
    assert (np.abs(draws) <= largest).all()
    assert draws.max() > 0.9 * largest
    x = np.linspace(-largest, largest, 2001)
    before = stats.invgamma(prior[0], scale=prior[1]).logpdf(np.exp(x)) + x
    # p(y) = |2bI + yyᵀ/V|^(−(D + 2a)/2) V^(−D/2) with D = 2, and |2bI + z zᵀ| ∝ 1 + |z|²/2b.
    variance = 1.0 + np.exp(x)[:, None] + np.exp(x)
    density = before[:, None] + before - np.log(variance)
    density -= (a + 1.0) * np.log1p((data**2).sum() / (2.0 * b * variance))
    for axis in range(2):
        log_density = np.logaddexp.reduce(density, axis=axis)
        cumulative = np.cumsum(np.exp(log_density - log_density.max()))
        uniform = np.interp(draws[:, 1 - axis], x, cumulative / cumulative[-1])
        assert_law(uniform, stats.uniform)


def test_scales_do_not_run_away_where_leaves_explain_columns_completely():
    # As in a table with two columns that are nearly constant: the noise all but vanishes there.
    rng = np.random.default_rng(0)
    data = rng.normal(size=(90, 5)) + rng.integers(4, size=(90, 1))
    data[:, 3], data[:, 4] = 0.48, 0.5
    data[:4, 3], data[7, 4] = 1.0, 1.0
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    shape = np.log(np.arange(16, 1, -1) / np.arange(15, 0, -1))
    priors = {"precision_prior": (1.0, 0.01), "scale_prior": (1.0, 10.0)}
    for seed in range(6):
        model = Model(shape, True, covariance_type="full", **priors)
        chain = Chain(data, model, np.random.default_rng(seed))
        for _ in range(5):
            chain.sweep()
            assert chain.state.levels["scale"].max() <= SCALE_LIMIT
            assert np.isfinite(chain.log_joint())
            assert np.isfinite(chain.leave_one_out()).all()


def test_a_scale_beyond_the_limit_is_brought_back():
    rng = np.random.default_rng(8)
    chain = Chain(rng.standard_normal((6, 2)), Model(np.array([1.0])), rng)
    chain.state.levels["scale"][1] = 1e17
    chain.move_scales()
    assert chain.state.levels["scale"][1] < SCALE_LIMIT


# ---- the covariance --------------------------------------------------------------------------

N_DATA, DIMENSION, SHAPE = 6, 3, 1.5
QUADRATIC = np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.7], [-0.5, 0.7, 2.0]])
RATE = np.array([[1.0, 0.3, 0.0], [0.3, 0.8, 0.1], [0.0, 0.1, 0.6]])


def draw_covariances(quadratic, rate, n_draws=4000):
    rng = np.random.default_rng(4)
    factors = [
        draw_covariance(quadratic, N_DATA, DIMENSION, SHAPE, rate, rng) for _ in range(n_draws)
    ]
    return np.array(factors)


def test_spherical_variance_is_inverse_gamma():
    factors = draw_covariances(np.array([[9.0]]), np.array([[0.7]]))
    assert factors.shape[1:] == (DIMENSION,)
    assert (factors == factors[:, :1]).all()
    law = stats.invgamma(SHAPE + N_DATA * DIMENSION / 2, scale=0.7 + 9.0 / 2)
    assert_law(factors[:, 0] ** 2, law)


def test_diagonal_variances_are_independent_inverse_gammas():
    quadratic, rate = np.array([[4.0, 3.0, 2.0]]), np.array([[1.0, 0.8, 0.6]])
    variances = draw_covariances(quadratic, rate) ** 2
    uniforms = np.empty_like(variances)
    for d in range(DIMENSION):
        law = stats.invgamma(SHAPE + N_DATA / 2, scale=rate[0, d] + quadratic[0, d] / 2)
        assert_law(variances[:, d], law)
        uniforms[:, d] = law.cdf(variances[:, d]) - 0.5
    assert_mean(uniforms * np.roll(uniforms, 1, axis=1), 0.0)


def test_full_covariance_is_inverse_wishart():
    factors = draw_covariances(QUADRATIC, RATE)
    sigma = factors @ factors.transpose(0, 2, 1)
    degrees, scale = DIMENSION - 1 + 2 * SHAPE + N_DATA, 2 * RATE + QUADRATIC
    law = stats.invwishart(degrees, scale)
    assert_mean(sigma, law.mean())
    assert_mean(np.linalg.inv(sigma), degrees * np.linalg.inv(scale))
    squares = sigma[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] ** 2
    moments = law.var() + law.mean() ** 2
    assert_mean(squares, moments[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
    for direction in np.array([[1.0, 0, 0], [0, 0, 1], [1, -1, 0], [1, 2, -1]]):
        along = np.einsum("i,nij,j->n", direction, sigma, direction)
        shape = (degrees - DIMENSION + 1) / 2
        assert_law(along, stats.invgamma(shape, scale=direction @ scale @ direction / 2))


@pytest.mark.parametrize("private_step", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_covariance_of_a_chain_with_shared_scales_follows_its_conditional_law(
    form, private_step, twin
):
    # The tree is fixed and all scales are 1, so successive draws are independent.
    rng = np.random.default_rng(5)
    model = Model(
        np.array([1.0, 0.8]),
        private_step=private_step,
        covariance_type=form,
        scales="shared",
        precision_prior=(1.6, 0.4),
    )
    data = twin.random_data(rng, 7, 2)
    chain = Chain(data, model, rng)
    settle(chain.state)
    rows = twin.setting_of(chain.state).row_covariance(tree_of(chain.state))
    assert (chain.state.levels["scale"] == 1).all()
    quadratic = data.T @ np.linalg.solve(rows, data)
    draws = []
    for _ in range(3000):
        chain.move_scales()
        draws.append(chain.covariance)
    sigma = np.array(draws)
    np.testing.assert_allclose(coloured(chain.state.data, chain.factor), data, atol=1e-9)
    a, b = model.precision_prior
    if form == "spherical":
        law = stats.invgamma(a + 7, scale=b + np.trace(quadratic) / 2)
        assert_law(sigma[:, 0, 0], law)
        assert (sigma[:, 0, 0] == sigma[:, 1, 1]).all()
        return
    # For both other forms every variance has the law of its own dimension alone.
    for d in range(2):
        assert_law(sigma[:, d, d], stats.invgamma(a + 3.5, scale=b + quadratic[d, d] / 2))
    if form == "diag":
        assert (sigma[:, 0, 1] == 0).all()
    else:
        across = sigma[:, 0, 0] + 2 * sigma[:, 0, 1] + sigma[:, 1, 1]
        assert_law(across, stats.invgamma(a + 3.5, scale=2 * b + quadratic.sum() / 2))
