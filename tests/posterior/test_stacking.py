"""Weights of models against the conditions of the optimum, and a stack against mixing by hand."""

import numpy as np
import pytest
from scipy.special import logsumexp

from sticktree.posterior.loo import LeaveOneOut
from sticktree.posterior.stacking import CAUTION, Stack, cautious_weights, mixed, stacking_weights
from tests.support.statistics import assert_frequencies

NAN = np.nan


def assert_optimal(pointwise, weights):
    """Check that no direction on the simplex leads up: the conditions of Karush, Kuhn, Tucker."""
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    admitted = pointwise[(pointwise > -np.inf).any(axis=1)]
    density = np.exp(admitted - admitted.max(axis=1, keepdims=True))
    gradient = (density / (density @ weights)[:, None]).mean(axis=0)
    assert gradient.max() <= 1 + 1e-8
    np.testing.assert_allclose(weights * (1 - gradient), 0, atol=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_no_direction_leads_up(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_models = rng.integers(1, 300), rng.integers(2, 10)
    spread = [0.01, 1.0, 300.0][seed % 3]
    pointwise = spread * rng.standard_normal((n_rows, n_models)) - 1000.0
    if seed % 2:
        pointwise[rng.random(pointwise.shape) < 0.3] = -np.inf
    assert_optimal(pointwise, stacking_weights(pointwise))


@pytest.mark.parametrize("n_models", [2, 3])
def test_no_point_of_a_grid_is_better(n_models):
    rng = np.random.default_rng(n_models)
    pointwise = rng.standard_normal((40, n_models))
    steps = np.linspace(0, 1, 201)
    grid = np.stack(np.meshgrid(*[steps] * (n_models - 1)), axis=-1).reshape(-1, n_models - 1)
    grid = np.column_stack([grid, 1 - grid.sum(axis=1)])
    grid = grid[grid[:, -1] > -1e-12]
    scores = np.log(np.exp(pointwise) @ np.abs(grid.T)).sum(axis=0)
    weights = stacking_weights(pointwise)
    assert np.log(np.exp(pointwise) @ weights).sum() >= scores.max()
    np.testing.assert_allclose(weights, grid[scores.argmax()], atol=0.01)
    assert (weights > 0.05).all()  # not a corner


def test_model_that_is_worse_everywhere_has_no_weight():
    pointwise = np.random.default_rng(0).standard_normal((50, 1)) + np.array([0.0, -1.0])
    np.testing.assert_allclose(stacking_weights(pointwise), [1, 0], atol=1e-8)


def test_models_that_are_the_same_share_their_weight():
    pointwise = np.random.default_rng(0).standard_normal((50, 3))[:, [0, 1, 0, 2]]
    weights = stacking_weights(pointwise)
    assert weights[0] == pytest.approx(weights[2], abs=1e-6)
    assert_optimal(pointwise, weights)
    np.testing.assert_allclose(stacking_weights(np.zeros((5, 4))), 0.25, rtol=1e-4)


def test_one_model_has_all_weight_and_rows_that_none_admits_do_not_count():
    assert stacking_weights(np.array([[-3.0], [-np.inf]])).tolist() == [1.0]
    nothing = np.full((4, 2), -np.inf)
    assert stacking_weights(nothing).tolist() == [0.5, 0.5]
    pointwise = np.random.default_rng(1).standard_normal((30, 2))
    np.testing.assert_array_equal(
        stacking_weights(np.vstack([pointwise, nothing])), stacking_weights(pointwise)
    )


def test_row_that_one_model_alone_admits_gives_it_weight():
    pointwise = np.tile([0.0, -50.0], (10, 1))
    pointwise[0] = [-np.inf, 0.0]
    np.testing.assert_allclose(stacking_weights(pointwise), [0.9, 0.1], atol=1e-7)


@pytest.mark.parametrize(
    ("pointwise", "message"),
    [
        (np.zeros(3), r"pointwise must be of shape \(N, M\).*got shape \(3,\)"),
        (np.zeros((3, 0)), r"got shape \(3, 0\)"),
        (np.array([[0.0, np.nan]]), "got NaN"),
        (np.array([[0.0, np.inf]]), "or \\+inf"),
    ],
)
def test_what_is_no_table_of_log_densities_is_refused(pointwise, message):
    with pytest.raises(ValueError, match=message):
        stacking_weights(pointwise)


# ---- held back towards the chosen model ----------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_cautious_weights_are_optimal_with_votes_for_the_chosen(seed):
    """No direction leads up from Σ log Σ w p + v log w_chosen, with v votes."""
    rng = np.random.default_rng(seed)
    pointwise = rng.standard_normal((50, 3))
    chosen = int(pointwise.sum(axis=0).argmax())
    weights = cautious_weights(pointwise, chosen)
    density = np.exp(pointwise)
    gradient = (density / (density @ weights)[:, None]).sum(axis=0)
    gradient[chosen] += CAUTION * 50 / weights[chosen]
    np.testing.assert_allclose(gradient[weights > 0], 50 * (1 + CAUTION), rtol=1e-5)
    assert (gradient < 50 * (1 + CAUTION) * 1.01).all()  # a weight below 0.001 was taken off


def test_a_model_that_adds_little_has_no_weight():
    rng = np.random.default_rng(0)
    pointwise = rng.standard_normal((200, 1)) + 0.1 * rng.standard_normal((200, 2))
    pointwise[:, 0] += 0.01
    assert stacking_weights(pointwise).min() > 0.2
    chosen = int(pointwise.sum(axis=0).argmax())
    assert cautious_weights(pointwise, chosen).tolist() == [1.0 - chosen, chosen]


def test_votes_count_for_the_chosen_model_only_and_none_is_plain_stacking():
    pointwise = np.random.default_rng(3).standard_normal((40, 3))
    plain = stacking_weights(pointwise)
    np.testing.assert_allclose(cautious_weights(pointwise, 1, caution=0.0), plain, rtol=1e-12)
    for chosen in range(3):
        assert cautious_weights(pointwise, chosen)[chosen] > plain[chosen]
    assert cautious_weights(pointwise[:, :1], 0).tolist() == [1.0]


# ---- a stack -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fits(fit, blobs):
    """Return fits of different models to the same rows, in units of a user."""
    x = 10.0 * blobs(dimension=2) + 300.0
    forms = {
        "full": {"covariance_type": "full"},
        "own": {"covariance_type": "diag", "leaf_noise": "own"},
        "flat": {"covariance_type": "spherical", "depth": 2},
    }
    return {name: fit(x, **form) for name, form in forms.items()}


def stack_of(fits, **weights):
    predictives = {name: fits[name].posterior_.predictive for name in weights}
    return Stack(weights, predictives, fits["full"].fit_.training.scaling)


@pytest.fixture(scope="module")
def rows(blobs):
    """Return rows, some of which have gaps or nothing at all, or are far out."""
    x = 10.0 * blobs(n_rows=12, seed=1) + 300.0
    x[::3, 0] = NAN
    x[1::4, 1] = NAN
    x[5] = NAN
    x[7] = 1e9
    return x


WEIGHTS = {"full": 0.5, "own": 0.2, "flat": 0.3}


def test_density_is_the_weighted_mean_of_densities_in_the_units_of_the_user(fits, rows):
    stack = stack_of(fits, **WEIGHTS)
    each = [np.log(weight) + fits[name].score_samples(rows) for name, weight in WEIGHTS.items()]
    expected = logsumexp(each, axis=0)
    np.testing.assert_allclose(stack.score_samples(rows), expected, rtol=1e-12)
    assert stack.score_samples(rows)[5] == pytest.approx(0.0, abs=1e-12)  # nothing is observed
    assert stack.score(rows) == pytest.approx(expected.mean())


def test_density_of_one_column_integrates_to_one(fit, blobs):
    x = blobs(dimension=1) * 1e3
    fits = {name: fit(x, covariance_type=name) for name in ("full", "diag")}
    t, step = np.linspace(-9, 9, 4001, retstep=True)
    at, width = 6e3 + 1e3 * np.sinh(t), step * 1e3 * np.cosh(t)
    density = np.exp(stack_of(fits, full=0.4, diag=0.6).score_samples(at[:, None]))
    assert width @ density == pytest.approx(1.0, abs=1e-5)


def test_a_stack_of_one_model_is_that_model_to_the_last_bit(fits, rows):
    stack, one = stack_of(fits, own=1.0), fits["own"].posterior_.predictive
    x = stack.scaling.standardised(rows)
    np.testing.assert_array_equal(stack.log_density(x), one.log_density(x))
    np.testing.assert_array_equal(stack.imputed(x), one.imputed(x))
    for ask in (
        lambda of, rng: of.sample(9, rng),
        lambda of, rng: of.sample_imputed(3, x, rng),
        lambda of, rng: of.thinned(5).log_density(x),
    ):
        found = [ask(of, np.random.default_rng(0)) for of in (stack, one)]
        np.testing.assert_array_equal(*found)


def test_rows_are_drawn_from_models_by_their_weights(fits, blobs):
    """χ², with a false alarm in 10,000: models that are far apart are told by where rows are."""
    stack = stack_of(fits, **WEIGHTS)
    shift = {"full": 0.0, "own": 1e3, "flat": 2e3}
    far = {
        name: _Shifted(stack.predictives[name], shift[name], stack.predictives[name].data)
        for name in WEIGHTS
    }
    drawn = Stack(WEIGHTS, far, stack.scaling).sample(4000, np.random.default_rng(0))
    which = np.round(drawn[:, 0] / 1e3).astype(int)
    assert_frequencies(np.bincount(which), list(WEIGHTS.values()))
    halves = [np.bincount(part, minlength=3) for part in np.split(which, 2)]
    assert_frequencies(halves[0], list(WEIGHTS.values()))  # and in no order


class _Shifted:
    """A predictive distribution whose rows are drawn elsewhere."""

    def __init__(self, predictive, shift, data):
        self.predictive, self.shift, self.data = predictive, shift, data

    def sample(self, n, rng):
        return self.predictive.sample(n, rng) + self.shift


def test_gaps_are_filled_by_models_as_they_weigh_and_predict_what_is_observed(fits, rows):
    stack = stack_of(fits, **WEIGHTS)
    x = stack.scaling.standardised(rows)
    log_share = np.stack(
        [np.log(w) + stack.predictives[name].log_density(x) for name, w in WEIGHTS.items()]
    )
    share = np.exp(log_share - logsumexp(log_share, axis=0))
    each = np.stack([stack.predictives[name].imputed(x) for name in WEIGHTS])
    ordinary = np.arange(len(x)) != 7
    full = stack.imputed(x)
    expected = (share[:, :, None] * each).sum(axis=0)
    np.testing.assert_allclose(full[ordinary], expected[ordinary], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(full[~np.isnan(x)], x[~np.isnan(x)])
    assert np.isfinite(full).all()


def test_draws_of_gaps_come_from_models_by_their_shares(fits):
    """χ² with a false alarm in 10,000; draws of each model are marked by a value of their own."""
    stack = stack_of(fits, **WEIGHTS)
    x = np.array([[NAN, 0.3], [1.0, NAN], [NAN, NAN]])
    marked = {name: _Marked(stack.predictives[name], k) for k, name in enumerate(WEIGHTS)}
    copies = Stack(WEIGHTS, marked, stack.scaling).sample_imputed(3000, x, np.random.default_rng(0))
    observed = ~np.isnan(x)
    assert (copies[:, observed] == x[observed]).all()
    log_share = np.stack(
        [np.log(w) + stack.predictives[name].log_density(x) for name, w in WEIGHTS.items()]
    )
    share = np.exp(log_share - logsumexp(log_share, axis=0))
    for row, column in ((0, 0), (1, 1), (2, 0)):
        counts = np.bincount(copies[:, row, column].astype(int), minlength=3)
        assert_frequencies(counts, share[:, row])
    np.testing.assert_array_equal(copies[:, 2, 0], copies[:, 2, 1])  # a row is of one model


class _Marked:
    """A predictive distribution that fills gaps with a mark."""

    def __init__(self, predictive, mark):
        self.predictive, self.mark = predictive, mark

    def sample_filled(self, n, x, rng):
        log_density, copies = self.predictive.sample_filled(n, x, rng)
        copies[:, np.isnan(x)] = self.mark
        return log_density, copies


def test_density_of_what_is_observed_comes_with_what_is_filled_in(fits, rows):
    predictive = fits["own"].posterior_.predictive
    x = fits["own"].fit_.training.scaling.standardised(rows)
    gaps = np.isnan(x).any(axis=1)
    expected = predictive.log_density(x)
    for found in (predictive.filled(x), predictive.sample_filled(2, x, np.random.default_rng(0))):
        np.testing.assert_allclose(found[0][gaps], expected[gaps], rtol=1e-12, atol=1e-12)


def test_a_thinned_stack_has_draws_by_weight_and_one_of_each_at_least(fits):
    stack = stack_of(fits, full=0.7, own=0.299, flat=0.001).thinned(10)
    assert [len(stack.predictives[name].draws) for name in stack.weights] == [7, 3, 1]
    assert len(stack.models) == 3
    assert repr(stack) == "Stack(0.70 × full + 0.30 × own + 0.00 × flat)"


def test_leave_one_out_of_a_stack_is_the_weighted_mean_of_its_models():
    rng = np.random.default_rng(0)
    pointwise, k_hat = rng.standard_normal((2, 20)), rng.random((2, 20))
    results = {
        name: LeaveOneOut.of_rows(*found)
        for name, found in zip("ab", zip(pointwise, k_hat, strict=True), strict=True)
    }
    found = mixed(results, {"a": 0.25, "b": 0.75})
    expected = np.log(0.25 * np.exp(pointwise[0]) + 0.75 * np.exp(pointwise[1]))
    np.testing.assert_allclose(found.pointwise, expected)
    assert found.elpd == pytest.approx(expected.sum())
    np.testing.assert_array_equal(found.k_hat, k_hat.max(axis=0))
    assert "of 20 rows, in nats, by a stack of 2 models" in str(found)
    assert "stack" not in str(mixed(results, {"a": 1.0}))
