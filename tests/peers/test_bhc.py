from functools import cache
from math import lgamma, log

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import invwishart, multivariate_normal, multivariate_t

from sticktree.peers import BayesianHierarchicalClustering
from sticktree.peers.merging import Clusters, Merging, NormalInverseWishart

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(0, 1, (4, 2)), RNG.normal(3, 1, (3, 2))]) - 1.0
PRIOR = NormalInverseWishart(dimension=2, mean_precision=0.3, degrees=3.5, scale=0.7)
ALPHA = 0.8


def one_cluster(rows):
    centred = rows - rows.mean(axis=0)
    return Clusters(
        np.array([float(len(rows))]), rows.mean(axis=0)[None], (centred.T @ centred)[None]
    )


def log_evidence(rows, prior=PRIOR):
    """Return the product of the predictive densities of rows, one after the other."""
    d, total = rows.shape[1], 0.0
    for k, row in enumerate(rows):
        seen, kappa, nu = rows[:k], prior.mean_precision, prior.degrees
        psi = nu * prior.scale**2 * np.eye(d)
        mean = np.zeros(d)
        for x in seen:  # one update of the conjugate prior for each row
            psi = psi + kappa / (kappa + 1) * np.outer(x - mean, x - mean)
            mean = (kappa * mean + x) / (kappa + 1)
            kappa, nu = kappa + 1, nu + 1
        freedom = nu - d + 1
        shape = psi * (kappa + 1) / (kappa * freedom)
        total += multivariate_t(mean, shape, df=freedom).logpdf(row)
    return total


def cuts(node, pairs, n):
    """Yield all partitions that the tree below a node has."""
    yield [members(node, pairs, n)]
    if node >= n:
        for left in cuts(pairs[node - n][0], pairs, n):
            for right in cuts(pairs[node - n][1], pairs, n):
                yield left + right


def members(node, pairs, n):
    if node < n:
        return [int(node)]
    return members(pairs[node - n][0], pairs, n) + members(pairs[node - n][1], pairs, n)


def partitions(items):
    """Yield all partitions of some items."""
    if not items:
        yield []
        return
    first, *rest = items
    for partition in partitions(rest):
        yield [[first], *partition]
        for k, part in enumerate(partition):
            yield [*partition[:k], [first, *part], *partition[k + 1 :]]


def log_prior_weight(partition):
    return sum(log(ALPHA) + lgamma(len(part)) for part in partition)


@cache
def log_evidence_of(part):
    return log_evidence(X[list(part)])


def log_joint(partition):
    evidence = sum(log_evidence_of(tuple(sorted(part))) for part in partition)
    return log_prior_weight(partition) + evidence


def sums_over(found):
    found = list(found)
    return (
        logsumexp([log_joint(partition) for partition in found]),
        logsumexp([log_prior_weight(partition) for partition in found]),
    )


@pytest.fixture(scope="module")
def merging():
    return Merging.greedy(X, PRIOR, ALPHA)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_evidence_is_the_product_of_predictive_densities(n):
    assert PRIOR.log_evidence(one_cluster(X[:n]))[0] == pytest.approx(log_evidence(X[:n]))


def test_evidence_is_the_mean_likelihood_under_the_prior():
    # 20,000 draws from the prior; the estimate is within five standard errors, which chance
    # breaks less than once in 10⁶.
    rng = np.random.default_rng(2)
    psi = PRIOR.width * np.eye(2)
    rows = X[:2]
    covariances = invwishart(PRIOR.degrees, psi).rvs(20_000, random_state=rng)
    factors = np.linalg.cholesky(covariances / PRIOR.mean_precision)
    means = (factors @ rng.normal(size=(20_000, 2, 1)))[:, :, 0]
    delta = rows[None] - means[:, None]
    solved = np.linalg.solve(covariances[:, None], delta[..., None])[..., 0]
    exponent = -0.5 * (delta * solved).sum(axis=(1, 2))
    likelihood = np.exp(exponent) / np.linalg.det(covariances) / (2 * np.pi) ** 2
    error = likelihood.std() / np.sqrt(likelihood.size)
    assert abs(likelihood.mean() - np.exp(PRIOR.log_evidence(one_cluster(rows))[0])) < 5 * error


def test_the_log_evidence_is_the_mean_over_all_partitions_of_the_tree(merging):
    found = list(cuts(2 * len(X) - 2, merging.pairs, len(X)))
    joint, weights = sums_over(found)
    assert len(found) > 10
    assert merging.log_evidence == pytest.approx(joint - weights)


def test_the_tree_is_a_lower_bound_of_the_dirichlet_process_mixture(merging):
    _, weights_of_tree = sums_over(cuts(2 * len(X) - 2, merging.pairs, len(X)))
    every = list(partitions(list(range(len(X)))))
    assert len(every) == 877
    of_all, weights = sums_over(every)
    assert weights == pytest.approx(lgamma(len(X) + ALPHA) - lgamma(ALPHA))
    bound = merging.log_evidence + weights_of_tree - weights
    assert of_all - weights - 5.0 < bound < of_all - weights


def test_odds_are_those_of_one_cluster_against_all_cuts(merging):
    n = len(X)
    for k in range(n - 1):
        below = list(cuts(n + k, merging.pairs, n))
        one = log_joint(below[0])
        others = logsumexp([log_joint(partition) for partition in below[1:]])
        assert merging.log_odds[k] == pytest.approx(one - others, rel=1e-9, abs=1e-9)


def test_every_join_has_the_best_odds_of_all_pairs():
    x = np.random.default_rng(3).normal(size=(25, 2))
    prior = NormalInverseWishart(2, 0.05, 4.0, 0.2)
    found = Merging.greedy(x, prior, ALPHA)
    log_one = prior.log_evidence(found.clusters) + log(ALPHA)
    log_one += [lgamma(size) for size in found.clusters.size]
    total = log_one.copy()
    alive = set(range(25))
    for k, (a, b) in enumerate(found.pairs.tolist()):
        odds = {}
        for i in alive:
            for j in alive:
                if i < j:
                    rows = x[members(i, found.pairs, 25) + members(j, found.pairs, 25)]
                    one = prior.log_evidence(one_cluster(rows))[0] + log(ALPHA) + lgamma(len(rows))
                    odds[i, j] = one - total[i] - total[j]
        best = max(odds, key=odds.get)
        assert set(best) == {a, b}
        assert found.log_odds[k] == pytest.approx(odds[best], abs=1e-8)
        total[25 + k] = np.logaddexp(log_one[25 + k], total[a] + total[b])
        alive = alive - {a, b} | {25 + k}


def test_the_same_tree_under_another_prior(merging):
    prior = NormalInverseWishart(2, 1.0, 5.0, 0.4)
    other = merging.under(prior, ALPHA)
    again = other.under(PRIOR, ALPHA)
    assert again.log_evidence == pytest.approx(merging.log_evidence)
    np.testing.assert_allclose(again.log_odds, merging.log_odds, atol=1e-9)
    assert other.log_evidence != pytest.approx(merging.log_evidence)


def test_the_predictive_density_averages_over_the_partitions_of_the_tree(merging):
    new = np.array([0.4, -0.2])
    n = len(X)

    def next_row(rows):
        return log_evidence(np.vstack([rows, new])) - log_evidence(rows)

    found = list(cuts(2 * n - 2, merging.pairs, n))
    log_posterior = np.array([log_joint(partition) for partition in found])
    log_posterior -= logsumexp(log_posterior)
    densities = []
    for partition in found:
        terms = [log(len(part)) + next_row(X[part]) for part in partition]
        terms.append(log(ALPHA) + log_evidence(new[None]))
        densities.append(logsumexp(terms) - log(n + ALPHA))
    expected = logsumexp(log_posterior + densities)
    assert merging.log_predictive(new[None])[0] == pytest.approx(expected)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(4)
    groups = [rng.normal(m, 1.0, (15, 2)) for m in ((0, 0), (12, 0), (0, 12))]
    return BayesianHierarchicalClustering().fit(100.0 + np.concatenate(groups))


def test_separate_groups_are_found(fitted):
    assert sorted(np.bincount(fitted.labels_)) == [15, 15, 15]
    assert len({tuple(np.unique(part)) for part in fitted.labels_.reshape(3, 15)}) == 3


def test_clusters_are_the_highest_nodes_that_are_probably_one(fitted):
    tree, r = fitted.tree_, fitted.posterior_merge_
    assert (r[tree.leaves] == 1.0).all()
    for cluster in range(3):
        data = np.flatnonzero(fitted.labels_ == cluster)
        node = int(tree.lca(*[tree.leaf[data[[0, 1]]][k] for k in (0, 1)]))
        for i in data:
            node = int(tree.lca(node, tree.leaf[i]))
        assert tree.count[node] == data.size
        assert r[node] >= 0.5
        assert (r[tree.ancestors(node)] < 0.5).all()


def test_the_tree_is_whole_and_binary(fitted):
    tree = fitted.tree_
    assert (tree.n_data, tree.n_nodes) == (45, 89)
    np.testing.assert_array_equal(np.sort(tree.n_children), [0] * 45 + [2] * 44)
    assert fitted.linkage_.shape == (44, 4)


def test_learning_raises_the_evidence(fitted):
    rows = fitted._merging.clusters.mean[:45] * fitted._spread + fitted._centre
    for scale in (1.0, 0.3):
        given = BayesianHierarchicalClustering(
            scale=scale, mean_precision=0.1, degrees_of_freedom=4.0
        ).fit(rows)
        assert given.scale_ == scale
        assert given.log_evidence_ < fitted.log_evidence_


def test_density_and_evidence_are_in_the_units_of_the_data(fitted):
    rows = fitted._merging.clusters.mean[:45] * fitted._spread + fitted._centre
    settings = {"scale": 0.2, "mean_precision": 0.1, "degrees_of_freedom": 4.0}
    one = BayesianHierarchicalClustering(**settings).fit(rows)
    two = BayesianHierarchicalClustering(**settings).fit(rows * [1000.0, 1.0])
    assert two.log_evidence_ == pytest.approx(one.log_evidence_ - 45 * log(1000.0))
    expected = one.score_samples(rows) - log(1000.0)
    np.testing.assert_allclose(two.score_samples(rows * [1000.0, 1.0]), expected)


def test_the_density_integrates_to_one():
    x = np.random.default_rng(5).normal(size=(12, 1)) ** 3
    settings = {"scale": 0.3, "mean_precision": 0.5, "degrees_of_freedom": 5.0}
    mixture = BayesianHierarchicalClustering(**settings).fit(x)
    grid = np.linspace(-400, 400, 40_001)
    total = np.exp(mixture.score_samples(grid[:, None])).sum() * (grid[1] - grid[0])
    assert total == pytest.approx(1.0, abs=1e-3)


def test_a_wide_prior_of_one_cluster_is_near_the_normal():
    x = np.random.default_rng(6).normal(size=(400, 2))
    settings = {"scale": 1.0, "mean_precision": 0.01, "degrees_of_freedom": 4.0}
    mixture = BayesianHierarchicalClustering(concentration=1e-6, **settings).fit(x)
    normal = multivariate_normal(x.mean(axis=0), np.cov(x.T)).logpdf(x[:20])
    np.testing.assert_allclose(mixture.score_samples(x[:20]), normal, atol=0.1)


def test_repeated_and_constant_values_are_taken():
    rows = np.column_stack([np.repeat([0.0, 1.0], 5), np.ones(10)])
    clustering = BayesianHierarchicalClustering().fit(rows)
    assert np.isfinite(clustering.log_evidence_)
    assert np.isfinite(clustering.score_samples(rows)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"concentration": 0}, "concentration must be a finite number greater than 0, got 0"),
        ({"scale": -1.0}, "scale must be a finite number greater than 0"),
        ({"degrees_of_freedom": 1.0}, "degrees_of_freedom must be greater than 1 with 2 columns"),
        ({"max_rounds": 0}, "max_rounds must be an integer of at least 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        BayesianHierarchicalClustering(**parameters).fit(X)
