"""Weights of models against the conditions of the optimum, and against a grid."""

import numpy as np
import pytest

from sticktree.posterior.stacking import stacking_weights


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
