"""Predictions: densities against quadrature and brute force, samples against densities."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from sticktree.posterior.draws import Posterior
from sticktree.processes import (
    DiffusionModel,
    GaussianTransition,
    LogDivergence,
    NestedRestaurant,
)
from sticktree.tree import Tree
from tests.support.statistics import FALSE_ALARM

FORMS = ["spherical", "diag", "full"]
FACTOR, SHIFT = 1e3, 5e4  # from the units of the blobs to those of a user


def predictives(mixture):
    """Yield the predictive distribution of every draw of a fit."""
    yield from mixture.posterior_.predictive.each()


def divergence_of(depth):
    # With the log divergence a tree of depth 1 would have no level at all.
    return "constant" if depth == 1 else "log"


@pytest.fixture(scope="module")
def fits(fit, blobs):
    """Return a function that gives the fit of a case, made once."""
    known = {}

    def get(form, depth, dimension):
        case = form, depth, dimension
        if case not in known:
            known[case] = fit(
                blobs(dimension=dimension) * FACTOR + SHIFT,
                covariance_type=form,
                depth=depth,
                divergence=divergence_of(depth),
                n_draws=5,
            )
        return known[case]

    return get


def quadrature(n_points, centre, spread):
    """Return points and weights of the trapezoid rule, finer in the middle than far out."""
    t, step = np.linspace(-9, 9, n_points, retstep=True)
    return centre + spread * np.sinh(t), step * spread * np.cosh(t)


@pytest.mark.parametrize("depth", [1, 3, 6])
@pytest.mark.parametrize("form", FORMS)
def test_density_of_one_column_integrates_to_one(fits, form, depth):
    points, weights = quadrature(4001, SHIFT + 6 * FACTOR, FACTOR)
    density = np.exp(fits(form, depth, 1).score_samples(points[:, None]))
    assert weights @ density == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("depth", [1, 3, 6])
@pytest.mark.parametrize("form", FORMS)
def test_density_of_two_columns_integrates_to_one(fits, form, depth):
    points, weights = quadrature(181, SHIFT + 6 * FACTOR, 3 * FACTOR)
    grid = np.stack(np.meshgrid(points, points), axis=-1).reshape(-1, 2)
    density = np.exp(fits(form, depth, 2).score_samples(grid)).reshape(181, 181)
    assert weights @ density @ weights == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("discount", [0.0, 0.4])
@pytest.mark.parametrize("depth", [1, 3, 6])
def test_weights_of_every_draws_mixture_sum_to_one(fit, blobs, depth, discount):
    mixture = fit(blobs(), depth=depth, divergence=divergence_of(depth), discount=discount)
    for predictive in predictives(mixture):
        components = predictive.mixture
        assert components.weight.sum() == pytest.approx(1, abs=1e-12)
        assert (components.weight > 0).all()
        assert (components.variance > 0).all()


def places(tree, depth):
    """Yield every node at which the next datum may stop or leave, and its index then."""
    for node in range(tree.n_nodes):
        index = tree.index(node)
        if len(index) == depth:
            yield node, index
        else:
            new_child = int(tree.n_children[node]) + 1
            yield node, (*index, new_child, *[1] * (depth - len(index) - 1))


class OneDraw:
    """A fit with a single draw, and brute force over the places of a new row."""

    def __init__(self, fit, data, form, depth, discount, divergence, scales):
        self.data = data
        self.mixture = fit(
            data,
            covariance_type=form,
            depth=depth,
            discount=discount,
            divergence=divergence,
            scales=scales,
            n_chains=1,
            n_draws=1,
        )
        (self.draw,) = self.mixture.posterior_.draws
        factor, dimension = self.draw.parameters["factor"], data.shape[1]
        factor = factor if factor.ndim == 2 else np.diag(factor * np.ones(dimension))
        factor = data.std(axis=0)[:, None] * factor  # in the units of the data
        c = self.draw.concentration
        if scales == "shared":
            law = NestedRestaurant(LogDivergence(c), depth, discount=discount)
            step = GaussianTransition(factor @ factor.T)
        else:
            # The private step of the log divergence is part of the noise here.
            shape = np.ones(depth) if divergence == "constant" else LogDivergence().alpha(depth)
            alpha = c * shape[np.isfinite(shape)]
            law = NestedRestaurant(alpha, discount=discount)
            step = GaussianTransition(
                factor @ factor.T, level_scales=self.draw.parameters["scales"]
            )
        self.law, self.sigma, self.model = law, factor @ factor.T, DiffusionModel(law, step)

    def log_joint(self, tree, data):
        """Return log p(tree) + log p(data | tree) with the dense covariance of all numbers."""
        covariance = np.kron(self.model.row_covariance(tree), self.sigma)
        mean = np.tile(self.data.mean(axis=0), len(data))
        law = stats.multivariate_normal(mean, covariance)
        return self.law.log_prob(tree) + law.logpdf(data.ravel())

    def log_weights(self, row):
        """Return the nodes of all places and log p(Y, y, place) − log p(Y)."""
        tree = self.draw.tree.expanded()
        data = np.vstack([self.data, row])
        nodes, values = [], []
        for node, index in places(tree, self.law.depth):
            larger = Tree.from_paths([*tree.paths(), index])
            nodes.append(node)
            values.append(self.log_joint(larger, data))
        return tree, nodes, np.array(values) - self.log_joint(tree, self.data)


CASES = [
    *product(FORMS, [2, 3], [0.0, 0.3], ["constant"], ["per_level"]),
    *product(FORMS, [3, 4], [0.0, 0.3], ["log"], ["per_level", "shared"]),
]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
def one_draw(request, fit):
    data = 10 * np.random.default_rng(3).standard_normal((6, 2)) * [1, 5] + [3, -4]
    return OneDraw(fit, data, *request.param)


def test_density_under_one_draw_is_the_ratio_of_marginal_likelihoods(one_draw):
    for row in ([[3.0, -4.0]], one_draw.data[:1] + 0.1, [[80.0, 100.0]]):
        _, _, log_weights = one_draw.log_weights(row)
        found = one_draw.mixture.score_samples(row)[0]
        assert found == pytest.approx(logsumexp(log_weights), abs=1e-8)


def test_membership_under_one_draw_shares_out_the_places_of_the_row(one_draw):
    mixture, labels = one_draw.mixture, np.array([0, 1, 0, 2, 1, 0])
    row = [[3.0, -4.0]]
    tree, nodes, log_weights = one_draw.log_weights(row)
    probability = np.exp(log_weights - logsumexp(log_weights))
    for level in range(one_draw.law.depth + 1):
        expected = np.zeros(3)
        for node, p in zip(nodes, probability, strict=True):
            above = [w for w in tree.path(node) if tree.level[w] <= level][-1]
            with_row = labels[tree.data_below(above)]
            expected += p * np.bincount(with_row, minlength=3) / with_row.size
        standardised = (np.array(row) - one_draw.data.mean(axis=0)) / one_draw.data.std(axis=0)
        alone = Posterior([[one_draw.draw]], mixture.fit_.model, mixture.fit_.training)
        (found,) = alone.predictive.memberships(standardised, {level: labels})
        np.testing.assert_allclose(found[0], expected, atol=1e-10)


def test_densities_not_their_logs_are_averaged_over_draws(fit, blobs):
    mixture, rows = fit(blobs()), blobs(10, seed=5)
    together = mixture.score_samples(rows)
    draws = mixture.posterior_.draws
    alone = []
    training = mixture.fit_.training
    x = training.scaling.standardised(rows)
    for draw in draws:
        predictive = Posterior([[draw]], mixture.fit_.model, training).predictive
        alone.append(predictive.log_density(x) + training.scaling.log_units(x))
    np.testing.assert_allclose(together, logsumexp(alone, axis=0) - np.log(len(draws)))
    assert mixture.score(rows) == mixture.score_samples(rows).mean()


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_samples_of_one_column_have_the_predictive_density(fits, depth):
    mixture = fits("full", depth, 1)
    points, weights = quadrature(4001, SHIFT + 6 * FACTOR, FACTOR)
    density = weights * np.exp(mixture.score_samples(points[:, None]))
    below = np.cumsum(density) - density / 2
    samples = mixture.sample(4000, random_state=1)[:, 0]
    test = stats.kstest(samples, lambda x: np.interp(x, points, below))
    assert test.pvalue > FALSE_ALARM


@pytest.fixture(scope="module")
def unlike_draws(fit, blobs):
    """Return a function that makes a posterior of two draws with very different noise.

    With shared scales the variances in whitened coordinates are far from 1, too.
    """

    def make(form, dimension):
        mixture = fit(
            blobs(dimension=dimension) * FACTOR + SHIFT,
            covariance_type=form,
            scales="shared",
            n_chains=1,
            n_draws=1,
        )
        (draw,) = mixture.posterior_.draws
        wider = draw.parameters | {"factor": 6 * draw.parameters["factor"]}
        mixture.posterior_.chains = [[draw, replace(draw, parameters=wider)]]
        del vars(mixture.posterior_)["predictive"]  # that of the one draw
        return mixture

    return make


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.0, 1.0), (0.6, -0.8)])
def test_samples_seen_from_any_side_have_the_law_of_the_mixtures(unlike_draws, form, direction):
    mixture = unlike_draws(form, 2)
    samples = mixture.sample(4000, random_state=2) @ direction
    means, deviations, weights = [], [], []
    for predictive in predictives(mixture):
        part = predictive.mixture
        factor = predictive.factor if predictive.factor.ndim == 2 else np.diag(predictive.factor)
        seen = factor.T @ (mixture.fit_.training.scaling.spread * direction)
        means.append(mixture.fit_.training.scaling.centre @ direction + part.mean @ seen)
        deviations.append(np.sqrt(part.variance) * np.linalg.norm(seen))
        weights.append(part.weight / len(mixture.posterior_))
    means, deviations, weights = map(np.concatenate, (means, deviations, weights))
    test = stats.kstest(samples, lambda x: stats.norm.cdf(x[:, None], means, deviations) @ weights)
    assert test.pvalue > FALSE_ALARM


def test_order_of_samples_says_nothing(unlike_draws):
    first, second = unlike_draws("full", 1).sample(4000, random_state=3).reshape(2, -1)
    assert stats.ks_2samp(first, second, method="asymp").pvalue > FALSE_ALARM


def test_samples_have_random_numbers_of_their_own(fits):
    mixture = fits("full", 3, 2)
    once = mixture.sample(7, random_state=0)
    assert once.shape == (7, 2)
    np.testing.assert_array_equal(once, mixture.sample(7, random_state=0))
    for make in (np.random.RandomState, np.random.default_rng):
        np.testing.assert_array_equal(
            mixture.sample(7, random_state=make(0)), mixture.sample(7, random_state=make(0))
        )
    assert (once != mixture.sample(7, random_state=1)).all()
    assert (mixture.sample(7) != mixture.sample(7)).all()
    assert mixture.sample().shape == (1, 2)


@pytest.mark.parametrize("n_samples", [0, -1, 1.5, "3", None])
def test_samples_must_be_a_number_of_rows(fits, n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1, got"):
        fits("full", 3, 2).sample(n_samples)


@pytest.mark.parametrize("form", FORMS)
def test_memberships_are_probabilities_and_predictions_the_largest(fits, blobs, form):
    mixture = fits(form, 6, 2)
    rows = blobs(30, seed=4) * FACTOR + SHIFT
    for level in (None, 0, 1, 3, 5):
        labels = mixture.labels_
        if level is not None:
            labels = mixture.cluster(method="loss", level=level)
        proba = mixture.predict_proba(rows, level)
        assert proba.shape == (30, labels.max() + 1)
        assert (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(mixture.predict(rows, level), proba.argmax(axis=1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", [1, 3])
def test_far_groups_are_told_apart(fit, blobs, form, depth):
    mixture = fit(blobs(), depth=depth, covariance_type=form, divergence=divergence_of(depth))
    labels = mixture.predict(blobs(40, seed=6))
    assert not set(labels[:20]) & set(labels[20:])
    assert not set(mixture.labels_[:12]) & set(mixture.labels_[12:])


def test_transformed_columns_are_the_memberships_of_every_level(fits, blobs):
    mixture = fits("full", 6, 2)
    rows = blobs(10, seed=7) * FACTOR + SHIFT
    columns, names = mixture.transform(rows), mixture.get_feature_names_out()
    assert columns.shape == (10, names.size)
    for level in range(1, 6):
        part = columns[:, [name.startswith(f"level{level}_") for name in names]]
        np.testing.assert_array_equal(part, mixture.predict_proba(rows, level))
        np.testing.assert_allclose(part.sum(axis=1), 1)
    sizes = [mixture.cluster(method="loss", level=k).max() + 1 for k in range(1, 6)]
    expected = [f"level{k}_{i}" for k, size in enumerate(sizes, 1) for i in range(size)]
    assert names.tolist() == expected


def test_names_of_the_columns_reach_data_frames(fits, blobs):
    mixture = fits("full", 3, 2)
    rows = blobs(4) * FACTOR + SHIFT
    plain = mixture.transform(rows)
    try:
        frame = mixture.set_output(transform="pandas").transform(rows)
    finally:
        mixture.set_output(transform="default")
    assert frame.columns.tolist() == mixture.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame, plain)
