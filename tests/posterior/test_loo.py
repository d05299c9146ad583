"""Leave-one-out density from draws against closed forms, enumeration, and refits."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from sticktree.engine.common.random import random_state
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.datum import datum_sweep
from sticktree.engine.shared.mixture import (
    Observed,
    log_density,
    log_leave_one_out,
    predictive_mixture,
)
from sticktree.engine.shared.state import empty_state
from sticktree.model import Model
from sticktree.posterior.loo import LeaveOneOut, compare, leave_one_out
from sticktree.processes import (
    DiffusionModel,
    GaussianTransition,
    NestedRestaurant,
    enumerate_trees,
)
from tests.support.statistics import FALSE_ALARM


def complete(state):
    """Return the densities of data of which nothing is missing."""
    return log_leave_one_out(state, Observed.complete(*state.data.shape))


def error_of(values, n_batches=40):
    """Return the standard error of the log of a chain's mean, from batches.

    ``values`` are (n_draws, N) logs of what is averaged.
    """
    scaled = np.exp(values - values.max(axis=0))
    batches = scaled[: len(scaled) // n_batches * n_batches].reshape(n_batches, -1, values.shape[1])
    means = batches.mean(axis=1)
    return means.std(axis=0, ddof=1) / np.sqrt(n_batches) / means.mean(axis=0)


def assert_near(found, exact, error, level=FALSE_ALARM, degrees=39):
    limit = stats.t.isf(level / 2 / len(exact), degrees)
    assert (np.abs(found - exact) < limit * error + 1e-3).all(), (found - exact) / error


def test_conjugate_normal_model():
    # y ~ N(μ, 1), μ ~ N(0, 4); draws of μ are independent.
    rng = np.random.default_rng(0)
    y = rng.normal(1.0, 1.0, size=30)
    precision = 1 / 4 + y.size
    mu = rng.normal(y.sum() / precision, precision**-0.5, size=(4, 1000))
    log_densities = stats.norm.logpdf(y, mu[:, :, None])
    found = leave_one_out(log_densities)
    rest = precision - 1
    exact = stats.norm.logpdf(y, (y.sum() - y) / rest, np.sqrt(1 + 1 / rest))
    error = error_of(-log_densities.reshape(-1, y.size))
    assert_near(found.pointwise, exact, error)
    assert error.max() < 0.02
    assert found.elpd == pytest.approx(found.pointwise.sum())
    assert found.se == pytest.approx(np.sqrt(30) * found.pointwise.std(ddof=1))
    assert (found.k_hat < 0.7).all()
    assert found.n_bad_k == 0


def test_sum_over_all_trees():
    # Only the tree varies. p(y_i | the others) is a ratio of sums over all trees.
    rng = np.random.default_rng(3)
    data = 1.2 * rng.standard_normal((6, 2))
    alpha, scale, noise = np.array([1.0]), np.array([1.0, 1.5]), 0.5
    law = NestedRestaurant(alpha, discount=0.2)
    model = DiffusionModel(law, GaussianTransition(level_scales=scale, noise=noise))

    def log_evidence(rows):
        logs = []
        for tree in enumerate_trees(len(rows), 1):
            covariance = model.row_covariance(tree)
            density = stats.multivariate_normal(np.zeros(len(rows)), covariance).logpdf(rows.T)
            logs.append(law.log_prob(tree) + density.sum())
        return logsumexp(logs)

    whole = log_evidence(data)
    exact = np.array([whole - log_evidence(np.delete(data, i, axis=0)) for i in range(6)])
    state = empty_state(data, alpha, scale, 1.0, 0.2, noise)
    words = random_state(rng)
    draws = []
    for _ in range(20_000):
        datum_sweep(state, words)
        draws.append(complete(state))
    draws = np.array(draws)
    error = error_of(-draws)
    assert_near(leave_one_out(draws[None]).pointwise, exact, error)
    assert error.max() < 0.02


def test_refits_without_each_row():
    rng = np.random.default_rng(5)
    data = rng.standard_normal((8, 1)) + np.repeat([0.0, 2.0], 4)[:, None]
    model = Model(np.ones(1), concentration=1.0, precision_prior=(4.0, 4.0), scale_prior=(4.0, 4.0))

    def run(rows, seed, n_draws, see):
        chain = Chain(rows, model, np.random.default_rng(seed))
        seen = []
        for k in range(n_draws + 100):
            chain.sweep()
            if k >= 100:
                seen.append(see(chain))
        return np.array(seen)

    log_densities = run(data, 0, 6000, lambda chain: chain.leave_one_out())
    found = leave_one_out(log_densities[None])
    assert found.n_bad_k == 0
    for i in (0, 3, 6):

        def see(chain, y=data[i]):
            white = (y / chain.factor)[None]
            value = log_density(predictive_mixture(chain.state), white)
            return value - np.log(chain.factor).sum()

        refit = run(np.delete(data, i, axis=0), i + 1, 3000, see)
        exact = logsumexp(refit) - np.log(len(refit))
        error = np.hypot(error_of(-log_densities[:, [i]]), error_of(refit))
        assert error < 0.03
        assert_near(found.pointwise[[i]], np.array([exact]), error, FALSE_ALARM / 3)


def test_heavy_weights_are_told():
    # Weights 1/p follow a Pareto law of shape 1.2.
    rng = np.random.default_rng(0)
    draws = -1.2 * rng.exponential(size=(2, 1000, 3))
    found = leave_one_out(draws)
    assert found.n_bad_k == 3
    assert "above 0.7 for 3 rows" in str(found)


def test_weights_that_cannot_be_smoothed():
    few = np.random.default_rng(0).standard_normal((2, 10, 3))
    found = leave_one_out(few)
    np.testing.assert_allclose(found.pointwise, np.log(20) - logsumexp(-few, axis=(0, 1)))
    assert np.isnan(found.k_hat).all()
    assert found.n_bad_k is None
    assert "cannot be told from so few draws" in str(found)
    same = leave_one_out(np.full((2, 50, 3), -4.0))
    assert same.pointwise.tolist() == [-4.0] * 3
    assert same.n_bad_k == 0
    # The tree alone varies: half of the draws have one density, half another.
    two = leave_one_out(np.tile([-1.0, -2.0], 30)[None, :, None])
    assert two.pointwise[0] == pytest.approx(-np.log((np.e + np.e**2) / 2))
    assert two.n_bad_k == 0


def test_density_of_zero_is_minus_infinity():
    values = np.random.default_rng(0).standard_normal((2, 50, 2))
    values[0, 3, 1] = -np.inf
    found = leave_one_out(values)
    assert found.elpd == found.pointwise[1] == -np.inf
    assert found.n_bad_k == 1
    assert np.isfinite(found.pointwise[0])


def made(pointwise):
    pointwise = np.array(pointwise)
    return LeaveOneOut(pointwise.sum(), 6.0, pointwise, np.zeros(pointwise.size))


def test_comparison_is_paired_and_sorted():
    rows = np.array([-10.0, 0.0, 5.0, 3.0])
    table = compare({"worse": made(rows - [0.5, 1.0, 1.0, 1.5]), "better": made(rows)})
    assert [row.name for row in table] == ["better", "worse"]
    assert table[0].difference == table[0].se_difference == 0
    assert table[1].difference == pytest.approx(-4)
    assert table[1].se_difference == pytest.approx(2 * np.std([0.5, 1, 1, 1.5], ddof=1))
    assert table[1].se_difference < table[1].se


def test_comparison_with_densities_of_zero():
    table = compare({"zero": made([-np.inf, 0.0]), "one": made([-2.0, 0.0])})
    assert table[0].name == "one"
    assert table[1].difference == -np.inf
    assert table[1].se_difference == np.inf
    both = compare({"a": made([-np.inf, 1.0]), "b": made([-np.inf, 0.0])})
    assert both[1].difference == -1
    with pytest.raises(ValueError, match=r"the same rows.*'a': 2, 'b': 3"):
        compare({"a": made([0.0, 0.0]), "b": made([0.0, 0.0, 0.0])})


def test_text_says_it_in_plain_words():
    text = str(leave_one_out(np.random.default_rng(0).normal(-2, 0.1, size=(2, 100, 20))))
    assert "20 rows" in text
    assert "per row       -2.0" in text
    assert "can be trusted" in text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 3)), r"shape \(n_chains, n_draws, N\).*got shape \(2, 3\)"),
        (np.zeros((2, 0, 3)), r"got shape \(2, 0, 3\)"),
        (np.full((1, 30, 1), np.nan), "got NaN"),
        (np.full((1, 30, 1), np.inf), r"\+inf"),
    ],
)
def test_what_are_no_log_densities_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        leave_one_out(values)
