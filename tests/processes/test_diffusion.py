import math

import numpy as np
import pytest
from scipy import stats

from sticktree import Tree
from sticktree.processes import (
    DiffusionModel,
    GaussianTransition,
    LogDivergence,
    NestedRestaurant,
    TransitionOperator,
    TreeStickBreaking,
)
from tests.support.checks import assert_rejected
from tests.support.statistics import assert_mean


def restaurant(*, private):
    return NestedRestaurant(LogDivergence(), depth=4) if private else NestedRestaurant(1.0, depth=3)


def naive_row_covariance(tree, scale, own):
    """Pair by pair: the variances of all steps that two data have made together."""
    paths = [set(tree.path(w).tolist()) for w in tree.leaf]
    result = [
        [sum(scale(int(tree.level[w])) for w in first & second) for second in paths]
        for first in paths
    ]
    for i in range(tree.n_data):
        result[i][i] += own
    return np.array(result)


def assert_row_covariance(data, expected, mean=0.0):
    """Compare with the covariance of independent columns; false-alarm rate 1e-4 over all pairs."""
    columns = data.shape[1]
    centred = data - mean
    found = centred @ centred.T / columns
    variance = np.diag(expected)
    error = np.sqrt((np.outer(variance, variance) + expected**2) / columns)
    limit = stats.norm.isf(1e-4 / 2 / expected.size)
    assert (np.abs(found - expected) < limit * error).all()


def test_variance_grows_by_one_a_level_as_in_figure_2():
    n_steps, dimension, n_replicates = 40, 2, 300
    model = DiffusionModel(
        NestedRestaurant(LogDivergence(), depth=n_steps),
        GaussianTransition(dimension=dimension, noise=0),
    )
    rng = np.random.default_rng(1)
    levels = [0, 1, 5, 20, 39]
    squares = np.zeros((n_replicates, len(levels) + 1))
    for replicate in range(n_replicates):
        simulation = model.sample(5, rng)
        nodes = [simulation.tree.nodes_at(level)[-1] for level in levels]
        squares[replicate, :-1] = (simulation.locations[nodes] ** 2).sum(axis=1)
        squares[replicate, -1] = (simulation.data[-1] ** 2).sum()
    expected = np.array([level + 1 for level in levels] + [n_steps + 1])
    total = squares.sum(axis=0) / expected
    # False-alarm rate 1e-4 over all levels and the data.
    law = stats.chi2(n_replicates * dimension)
    tail = 2 * np.minimum(law.cdf(total), law.sf(total))
    assert (tail > 1e-4 / expected.size).all()


SCALES = [3.0, 1.0, 0.5, 0.25, 0.7]


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_row_covariance_sums_the_steps_that_data_share(private, noise):
    law = restaurant(private=private)
    model = DiffusionModel(law, GaussianTransition(level_scales=SCALES, noise=noise))
    tree = law.sample(12, np.random.default_rng(2))
    own = noise + (SCALES[4] if private else 0.0)
    expected = naive_row_covariance(tree, SCALES.__getitem__, own)
    np.testing.assert_allclose(model.row_covariance(tree), expected, rtol=1e-14)
    np.testing.assert_allclose(model.row_covariance(tree.compressed()), expected, rtol=1e-14)


def test_row_covariance_when_data_stop_at_inner_nodes():
    law = TreeStickBreaking(2.0)
    model = DiffusionModel(law, GaussianTransition(level_scales=lambda level: 1 / (1 + level)))
    tree = law.sample(15, np.random.default_rng(3))
    expected = naive_row_covariance(tree, lambda level: 1 / (1 + level), 1.0)
    np.testing.assert_allclose(model.row_covariance(tree), expected, rtol=1e-14)


@pytest.mark.parametrize("private", [False, True])
def test_data_given_the_tree_have_the_row_covariance(private):
    # Dimensions are independent, so each column is a replicate on one and the same tree.
    step = GaussianTransition(dimension=20_000, level_scales=SCALES, noise=0.4, mean=2.0)
    model = DiffusionModel(restaurant(private=private), step)
    simulation = model.sample(10, np.random.default_rng(4))
    own = 0.4 + (SCALES[4] if private else 0.0)
    expected = naive_row_covariance(simulation.tree, SCALES.__getitem__, own)
    assert_row_covariance(simulation.data, expected, mean=2.0)


def test_data_at_inner_nodes_have_the_row_covariance():
    step = GaussianTransition(dimension=20_000, noise=0.4)
    simulation = DiffusionModel(TreeStickBreaking(2.0), step).sample(10, np.random.default_rng(5))
    assert_row_covariance(
        simulation.data, naive_row_covariance(simulation.tree, lambda level: 1.0, 0.4)
    )


@pytest.mark.parametrize("private", [False, True])
def test_data_that_continue_have_the_row_covariance_of_the_whole_tree(private):
    step = GaussianTransition(dimension=20_000, level_scales=SCALES, noise=0.4)
    model = DiffusionModel(restaurant(private=private), step)
    rng = np.random.default_rng(6)
    simulation = model.extend(model.sample(5, rng), 7, rng)
    assert simulation.data.shape == (12, 20_000)
    own = 0.4 + (SCALES[4] if private else 0.0)
    expected = naive_row_covariance(simulation.tree, SCALES.__getitem__, own)
    assert_row_covariance(simulation.data, expected)


def test_columns_have_the_covariance_of_the_transition():
    sigma = np.array([[2.0, 0.6], [0.6, 0.5]])
    model = DiffusionModel(restaurant(private=True), GaussianTransition(sigma))
    rng = np.random.default_rng(7)
    data = np.concatenate([model.sample(1, rng).data for _ in range(2000)])
    products = data[:, :, None] * data[:, None, :]
    assert_mean(products.reshape(2000, -1), 6 * sigma)  # root, three levels, private step, noise


@pytest.mark.parametrize(
    "law", [restaurant(private=True), restaurant(private=False), TreeStickBreaking(2.0)]
)
def test_extending_keeps_data_nodes_and_locations(law):
    model = DiffusionModel(law, GaussianTransition(dimension=2))
    rng = np.random.default_rng(8)
    few = model.sample(20, rng)
    many = model.extend(few, 80, rng)
    n_nodes = few.tree.n_nodes
    assert many.data.shape == (100, 2)
    assert many.tree.n_data == 100
    assert many.locations.shape == (many.tree.n_nodes, 2)
    np.testing.assert_array_equal(many.data[:20], few.data)
    np.testing.assert_array_equal(many.locations[:n_nodes], few.locations)
    np.testing.assert_array_equal(many.tree.parent[:n_nodes], few.tree.parent)
    np.testing.assert_array_equal(many.tree.leaf[:20], few.tree.leaf)
    same = model.extend(few, 0, rng)
    np.testing.assert_array_equal(same.data, few.data)
    assert same.tree == few.tree


def test_without_noise_and_private_step_data_are_at_their_leaves():
    model = DiffusionModel(restaurant(private=False), GaussianTransition(dimension=2, noise=0))
    simulation = model.sample(30, np.random.default_rng(9))
    np.testing.assert_array_equal(simulation.data, simulation.locations[simulation.tree.leaf])


def test_the_private_step_has_the_level_after_the_last():
    step = GaussianTransition()
    assert DiffusionModel(restaurant(private=True), step).private_level == 4
    assert DiffusionModel(restaurant(private=False), step).private_level is None
    assert DiffusionModel(TreeStickBreaking(1.0), step).private_level is None


def test_same_seed_same_data():
    model = DiffusionModel(restaurant(private=True), GaussianTransition(dimension=3))
    first, second = (model.sample(20, np.random.default_rng(10)) for _ in range(2))
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.locations, second.locations)


class Counting(TransitionOperator):
    """Every step adds the level of the child; data add 100."""

    dimension = 1

    def sample_root(self, rng):
        return np.zeros((1, 1))

    def sample_step(self, parents, level, rng):
        return parents + level

    def sample_data(self, locations, rng):
        return locations + 100

    def log_density_root(self, root):
        return np.zeros(len(root))

    def log_density_step(self, children, parents, level):
        return np.zeros(len(children))

    def log_density_data(self, data, locations):
        return np.zeros(len(data))


def test_steps_are_made_level_by_level_with_an_operator_of_ones_own():
    model = DiffusionModel(restaurant(private=True), Counting())
    simulation = model.sample(10, np.random.default_rng(11))
    at_level = np.array([0, 1, 3, 6])
    np.testing.assert_array_equal(
        simulation.locations[:, 0], at_level[simulation.tree.level].astype(float)
    )
    np.testing.assert_array_equal(simulation.data, np.full((10, 1), 6.0 + 4 + 100))


MODEL = DiffusionModel(restaurant(private=False), GaussianTransition())


def too_short(law, n_scales):
    model = DiffusionModel(law, GaussianTransition(level_scales=[1.0] * n_scales))
    return model.sample(50, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MODEL.sample(-1, np.random.default_rng(0)), ("n", "-1", "at least 0")),
        (lambda: MODEL.sample(1.5, np.random.default_rng(0)), ("n", "1.5", "integer")),
        (lambda: MODEL.sample(3, 0), ("rng", "0", "numpy.random.Generator")),
        (
            lambda: MODEL.extend(MODEL.sample(1, np.random.default_rng(0)), 3, None),
            ("rng", "None", "numpy.random.Generator"),
        ),
        (lambda: too_short(restaurant(private=False), 3), ("level_scales", "4", "3")),
        (lambda: too_short(restaurant(private=True), 4), ("level_scales", "5", "4")),
        (lambda: too_short(TreeStickBreaking(5.0), 1), ("level_scales", "2", "1")),
        (
            lambda: DiffusionModel(restaurant(private=True), Counting()).row_covariance(Tree([-1])),
            ("row_covariance", "Counting", "GaussianTransition"),
        ),
    ],
)
def test_bad_parameters_are_named(call, words):
    assert_rejected(call, *words)


def test_enough_scales_are_enough():
    for private, n_scales in ((False, 4), (True, 5)):
        simulation = too_short(restaurant(private=private), n_scales)
        assert math.isfinite(simulation.data.sum())
