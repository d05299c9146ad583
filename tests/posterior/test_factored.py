"""Densities of tables with factors: against dense Gaussians, with gaps and without."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from sticktree import DFPMixture
from tests.support.statistics import FALSE_ALARM

SHORT = {"n_chains": 1, "n_warmup": 20, "n_draws": 3, "random_state": 0}


def wide_rows(n_rows, n_columns=9, seed=0):
    """Return rows of two classes with two factors beside, in units of all sizes."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n_rows) % 2
    x = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_columns))
    x += 3.0 * rng.normal(size=(2, n_columns))[classes] + rng.normal(size=(n_rows, n_columns))
    return 5.0 + x * np.exp(rng.normal(size=n_columns))


X, NEW = np.split(wide_rows(60), [40])


@pytest.fixture(scope="module")
def of_form():
    """Return a function that gives the fit of a form of noise, made once."""
    known = {}

    def get(form, noise="shared"):
        if (form, noise) not in known:
            mixture = DFPMixture(factors=3, covariance_type=form, leaf_noise=noise, **SHORT)
            known[form, noise] = mixture.fit(X)
        return known[form, noise]

    return get


def dense_components(mixture):
    """Return weights, means and covariances of all columns, in the user's units, draw by draw."""
    training = mixture.fit_.training
    factors, scaling = training.factors, training.scaling
    axes, scale = factors.axes, scaling.spread * factors.noise
    noise = np.eye(len(axes)) - axes @ axes.T
    for predictive in mixture.posterior_.predictive.each():
        components, root = predictive.inner.mixture, predictive.inner.factor
        root = root if root.ndim == 2 else np.diag(root)
        unit = factors.unit
        means = components.mean @ root.T * unit
        within = unit[:, None] * (root @ root.T) * unit
        yield (
            components.weight,
            scaling.centre + scaling.spread * factors.centre + scale * (means @ axes.T),
            [
                scale[:, None] * (axes @ (v * within) @ axes.T + noise) * scale
                for v in components.variance
            ],
        )


def dense_log_density(mixture, x):
    """Return the log density of rows, column by column as they are observed."""
    found = []
    for weights, means, covariances in dense_components(mixture):
        of_draw = []
        for row in x:
            seen = ~np.isnan(row)
            logs = [
                stats.multivariate_normal(m[seen], c[np.ix_(seen, seen)]).logpdf(row[seen])
                for m, c in zip(means, covariances, strict=True)
            ]
            of_draw.append(logsumexp(np.log(weights) + logs))
        found.append(of_draw)
    return logsumexp(found, axis=0) - np.log(len(found))


def with_gaps(x, seed=1):
    """Return rows that miss few columns, many, and all but one."""
    rng, out = np.random.default_rng(seed), x.copy()
    for row, share in zip(out, np.resize([0.1, 0.4, 0.7], len(out)), strict=True):
        row[rng.random(row.size) < share] = np.nan
    out[0] = np.nan
    out[0, 4] = x[0, 4]
    out[1, 1:3] = np.nan
    out[2, 1:3] = np.nan  # the same pattern twice
    return out[~np.isnan(out).all(axis=1)]


@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_density_is_that_of_the_dense_mixture(of_form, form):
    mixture, new = of_form(form), NEW[:7]
    np.testing.assert_allclose(mixture.score_samples(new), dense_log_density(mixture, new))


@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_density_of_rows_with_gaps_is_that_of_the_dense_mixture(of_form, form):
    mixture, new = of_form(form), with_gaps(NEW[:7])
    np.testing.assert_allclose(mixture.score_samples(new), dense_log_density(mixture, new))


def test_nothing_observed_has_density_one(of_form):
    assert of_form("full").score_samples(np.full((2, 9), np.nan)) == pytest.approx([0, 0])


def test_missing_entries_have_the_means_of_the_dense_mixture(of_form):
    mixture, new = of_form("full"), with_gaps(NEW[:6])
    expected = np.zeros_like(new)
    for i, row in enumerate(new):
        seen, total, weight = ~np.isnan(row), np.zeros(row.size), 0.0
        for weights, means, covariances in dense_components(mixture):
            for w, m, c in zip(weights, means, covariances, strict=True):
                inner, outer = c[np.ix_(seen, seen)], c[:, seen]
                density = w * stats.multivariate_normal(m[seen], inner).pdf(row[seen])
                total += density * (m + outer @ np.linalg.solve(inner, row[seen] - m[seen]))
                weight += density
        expected[i] = total / weight
    np.testing.assert_allclose(mixture.impute(new), np.where(np.isnan(new), expected, new))


@pytest.mark.parametrize("noise", ["shared", "own"])
def test_draws_of_missing_entries_have_their_means_and_spread(of_form, noise):
    # With shared noise against the dense mixture; with own noise against what `impute` returns.
    mixture, new = of_form("full", noise), with_gaps(NEW[:3])
    draws = mixture.impute(new, n_draws=500, random_state=0)
    gaps = np.isnan(new)
    error = draws.std(axis=0)[gaps] / np.sqrt(len(draws))
    z = (draws.mean(axis=0) - mixture.impute(new))[gaps] / error
    assert stats.chi2.sf((z**2).sum(), z.size) > FALSE_ALARM
    assert (draws[:, ~gaps] == new[~gaps]).all()


def test_rows_that_are_drawn_have_the_moments_of_the_dense_mixture(of_form):
    mixture = of_form("full")
    rows = mixture.sample(20_000, random_state=0)
    mean, second = np.zeros(9), np.zeros((9, 9))
    parts = list(dense_components(mixture))
    for weights, means, covariances in parts:
        for w, m, c in zip(weights / len(parts), means, covariances, strict=True):
            mean += w * m
            second += w * (c + np.outer(m, m))
    spread = np.sqrt(np.diag(second) - mean**2)
    np.testing.assert_allclose((rows.mean(axis=0) - mean) / spread, 0, atol=0.035)
    found = (rows - mean).T @ (rows - mean) / len(rows)
    expected = second - np.outer(mean, mean)
    np.testing.assert_allclose(
        (found - expected) / np.outer(spread, spread), 0, atol=0.1
    )  # tails of the widest components are heavy


@pytest.mark.parametrize(("form", "noise"), [("full", "shared"), ("full", "own"), ("diag", "own")])
def test_density_integrates_to_one(of_form, form, noise):
    # By importance sampling from a wide Gaussian around what is drawn.
    mixture = of_form(form, noise)
    drawn = mixture.sample(4000, random_state=0)
    law = stats.multivariate_t(drawn.mean(axis=0), 1.5 * np.cov(drawn.T), df=5)
    points = law.rvs(4000, random_state=1)
    ratio = np.exp(mixture.score_samples(points) - law.logpdf(points))
    assert ratio.mean() == pytest.approx(1, abs=5 * ratio.std() / np.sqrt(len(ratio)))
    assert ratio.std() / np.sqrt(len(ratio)) < 0.1


@pytest.mark.parametrize("form", ["full", "diag"])
def test_gaps_with_own_noise_agree_with_integrating_a_column_out(of_form, form):
    mixture = of_form(form, "own")
    new = NEW[:4]
    gone = new.copy()
    gone[:, 2] = np.nan
    spread = 3.0 * X[:, 2].std()
    points = np.linspace(-8, 8, 801) * spread + X[:, 2].mean()
    for row, found in zip(new, mixture.score_samples(gone), strict=True):
        filled = np.repeat(row[None], points.size, axis=0)
        filled[:, 2] = points
        total = logsumexp(mixture.score_samples(filled)) + np.log(points[1] - points[0])
        assert found == pytest.approx(total, abs=0.05)  # 64 points stand for all scores


def test_memberships_of_rows_with_gaps_are_those_of_the_dense_mixture(of_form):
    mixture, new = of_form("full"), with_gaps(NEW[:6])
    training = mixture.fit_.training
    z = training.scaling.standardised(new)
    for predictive, (weights, means, covariances) in zip(
        mixture.posterior_.predictive.each(), dense_components(mixture), strict=True
    ):
        found = predictive.responsibilities(z)
        for row, shares in zip(new, found, strict=True):
            seen = ~np.isnan(row)
            logs = np.log(weights) + [
                stats.multivariate_normal(m[seen], c[np.ix_(seen, seen)]).logpdf(row[seen])
                for m, c in zip(means, covariances, strict=True)
            ]
            np.testing.assert_allclose(shares, np.exp(logs - logsumexp(logs)), atol=1e-9)


def test_as_many_factors_as_columns_are_the_columns_themselves():
    new = with_gaps(NEW)
    options = {"covariance_type": "full", **SHORT}
    direct = DFPMixture(factors=None, **options).fit(X)
    factored = DFPMixture(factors=9, **options).fit(X)
    assert factored.fit_.training.factors.n_factors == 9
    assert (factored.labels_ == direct.labels_).all()
    np.testing.assert_allclose(factored.score_samples(new), direct.score_samples(new))
    np.testing.assert_allclose(factored.impute(new), direct.impute(new))
    np.testing.assert_allclose(factored.loo().pointwise, direct.loo().pointwise)


@pytest.mark.parametrize("noise", ["shared", "own"])
def test_a_row_of_the_fit_is_asked_about_with_the_scores_that_the_engine_has(of_form, noise):
    mixture = of_form("full", noise)
    training = mixture.fit_.training
    for predictive in mixture.posterior_.predictive.each():
        of_scores = predictive.inner.log_density(training.data)
        of_rows = predictive.log_density(training.standardised)
        np.testing.assert_allclose(of_rows, of_scores + training.factored.log_rest)
        if noise == "shared":  # those of own noise draw branches anew
            without = predictive.inner.leave_one_out() + training.factored.log_rest
            np.testing.assert_allclose(predictive.leave_one_out(), without)
