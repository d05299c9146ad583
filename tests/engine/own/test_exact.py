"""Exact posteriors of the columns model against plain integrals of its joint density."""

from itertools import product

import numpy as np
import pytest

from sticktree import Tree
from sticktree.processes import enumerate_trees
from tests.support.own import exact, twin
from tests.support.statistics import assert_mean

NAN = np.nan


def setting_of(kinds, form, depth, categories=(), floor=0.0):
    n = len(kinds)
    offset, width = twin.coordinates_of(kinds, categories)
    p = int(width.sum())
    return twin.Setting(
        kinds=kinds,
        form=form,
        offset=offset,
        width=width,
        floor=np.full(n, floor),
        shape=np.array([1.0, 0.7])[:depth],
        c=1.3,
        discount=0.2,
        v=np.array([1.0, 0.6])[:depth, None] * np.linspace(1.0, 1.5, p),
        hyper=np.array([[0.7], [1.5], [0.4]]) * np.linspace(1.0, 1.4, n),
        psi=np.array([[0.8, 0.3], [0.3, 0.6]]) if form == "full" else None,
    )


CASES = {
    "gaussian": (("gaussian",), "diag", (), [[0.1], [NAN], [1.8], [0.4]]),
    "poisson": (("poisson",), "diag", (), [[0], [7], [1], [NAN]]),
    "negative_binomial": (("negative_binomial",), "diag", (), [[0], [9], [1], [0]]),
    "two categories": (("categorical",), "diag", (2,), [[0], [1], [1]]),
    "spherical": (("gaussian",) * 2, "spherical", (), [[0.1, NAN], [0.3, 1.1], [-1.0, 0.2]]),
    "full": (("gaussian",) * 2, "full", (), [[0.1, NAN], [0.3, 1.1], [-1.0, 0.2]]),
    "mixed": (
        ("gaussian", "poisson", "negative_binomial"),
        "diag",
        (),
        [[0.2, 3, 0], [NAN, 0, 5], [1.4, NAN, 1]],
    ),
}


def brute_force(tree, data, setting, step, reach):
    """Sum exp(log_joint) over a grid of all φ of a column with one coordinate."""
    inner = np.flatnonzero(tree.level < setting.depth)
    x = np.arange(-reach, reach + step, step)
    phi = np.full((tree.n_nodes, 1), NAN)
    total = 0.0
    for places in product(x, repeat=inner.size):
        phi[inner, 0] = places
        total += np.exp(twin.log_joint(tree, phi, data, setting))
    return np.log(total * step**inner.size)


@pytest.mark.parametrize("name", ["gaussian", "poisson", "negative_binomial"])
def test_marginals_are_integrals_of_the_joint_density_at_depth_one(name):
    kinds, form, categories, data = CASES[name]
    setting, data = setting_of(kinds, form, 1, categories, floor=0.1), np.array(data, dtype=float)
    trees = list(enumerate_trees(len(data), 1))
    expected = [brute_force(tree, data, setting, 0.2, 7.0) for tree in trees]
    found = exact.log_marginals(trees, data, setting)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "paths", "step"),
    [
        ("gaussian", [(1, 1), (1, 2), (1, 1), (1, 2)], 0.3),
        ("poisson", [(1, 1), (1, 2), (1, 1), (1, 3)], 0.3),
        ("gaussian", [(1, 1), (1, 2), (2, 1), (2, 1)], 0.75),
    ],
)
def test_marginals_are_integrals_of_the_joint_density_at_depth_two(name, paths, step):
    kinds, form, categories, data = CASES[name]
    setting, data = setting_of(kinds, form, 2, categories), np.array(data, dtype=float)
    tree = Tree.from_paths(paths)
    found = exact.log_marginals([tree], data, setting)
    assert found == pytest.approx(brute_force(tree, data, setting, step, 6.0), abs=1e-4)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_marginals_are_means_over_draws_of_phi(name, depth):
    kinds, form, categories, data = CASES[name]
    setting, data = setting_of(kinds, form, depth, categories), np.array(data, dtype=float)
    rng = np.random.default_rng([len(name), depth])
    tree = Tree.from_paths([(1, 1), (1, 2), (2, 1), (1, 1)][: len(data)])
    tree = tree if depth == 2 else Tree.from_paths([(1,), (2,), (2,), (1,)][: len(data)])
    exactly = exact.log_marginals([tree], data, setting)[0] - setting.law.log_prob(tree)
    ratios = []
    for _ in range(300):
        phi = twin.sample_phi(tree, setting, rng)
        ratios.append(np.exp(twin.log_likelihood(tree, phi, data, setting) - exactly))
    assert_mean(ratios, 1.0)


@pytest.mark.parametrize("name", CASES)
def test_a_finer_and_wider_grid_changes_nothing(name):
    kinds, form, categories, data = CASES[name]
    setting, data = setting_of(kinds, form, 2, categories), np.array(data, dtype=float)
    posterior = exact.tree_posterior(data, setting)
    assert sum(posterior.values()) == pytest.approx(1, abs=1e-12)
    finer = exact.tree_posterior(data, setting, reach=8.5, spacing=0.25)
    for tree, probability in posterior.items():
        assert finer[tree] == pytest.approx(probability, abs=1e-6)


def test_root_has_its_prior_where_nothing_is_seen():
    setting = setting_of(("gaussian", "poisson"), "diag", 2)
    points, density = exact.root_posterior(np.array([[NAN, 3.0], [NAN, 1.0]]), setting, 0)
    expected = np.exp(-(points**2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(density, expected, atol=1e-8)


def test_posterior_of_the_root_is_that_of_weighted_draws():
    data = np.array([[0.2, 3.0], [1.1, 0.0], [NAN, 1.0]])
    setting = setting_of(("gaussian", "poisson"), "diag", 2)
    points, density = exact.root_posterior(data, setting, 1)
    mean = (np.tanh(points) * density).sum() * (points[1] - points[0])
    trees = list(enumerate_trees(3, 2))
    evidence = np.exp(exact.log_marginals(trees, data, setting)).sum()
    rng = np.random.default_rng(3)
    values = []
    for _ in range(700):
        tree = setting.law.sample(3, rng)
        phi = twin.sample_phi(tree, setting, rng)
        weight = np.exp(twin.log_likelihood(tree, phi, data, setting)) / evidence
        values.append([weight, weight * (np.tanh(phi[0, 1]) - mean)])
    assert_mean(values, [1.0, 0.0])
