"""Clusters against all other rows: closed forms against naive twins and brute-force replicates."""

import numpy as np
import pytest
from scipy import stats

from sticktree.posterior import contrast as module
from sticktree.posterior.contrast import (
    MASS,
    Membership,
    Reason,
    contrast_numbers,
    contrast_shares,
)


def compare(values, given, weights=None, trials=None):
    values = np.asarray(values, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    given = np.asarray(given)
    n_clusters = given.shape[1] if given.ndim == 2 else given.max() + 1
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    return contrast_numbers(values, Membership(given, n_clusters, weights), trials or {})


def same(one, other, rtol=1e-7, atol=1e-12):
    for name, array in vars(one).items():
        np.testing.assert_allclose(array, getattr(other, name), rtol, atol, err_msg=name)


def one_hot(labels):
    return (labels[:, None] == np.arange(labels.max() + 1)).astype(float)


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [7, 10_000])
def test_means_deviations_and_probabilities_are_those_of_textbooks(block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 3, 60)  # with strays, who are among the others
    values = rng.normal(5, 2, (60, 3)) + labels[:, None]
    values[rng.random(values.shape) < 0.1] = np.nan
    found = compare(values, labels)
    for k in range(3):
        for d in range(3):
            inside, outside = values[labels == k, d], values[labels != k, d]
            inside, outside = inside[~np.isnan(inside)], outside[~np.isnan(outside)]
            n, m = inside.size, outside.size
            assert (found.n_inside[k, d], found.n_outside[k, d]) == (n, m)
            assert found.inside[k, d] == pytest.approx(inside.mean())
            assert found.outside[k, d] == pytest.approx(outside.mean())
            pooled = ((n - 1) * inside.var(ddof=1) + (m - 1) * outside.var(ddof=1)) / (n + m - 2)
            effect = (inside.mean() - outside.mean()) / np.sqrt(pooled)
            assert found.effect[k, d] == pytest.approx(effect)
            welch = stats.ttest_ind(inside, outside, equal_var=False, alternative="greater")
            assert found.probability[k, d] == pytest.approx(1 - welch.pvalue)
            assert found.low[k, d] < effect < found.high[k, d]


def test_the_interval_has_zero_where_that_of_the_difference_has_it():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], [6, 9])
    found = compare(rng.normal(size=(15, 300)) + np.linspace(0, 2, 300) * labels[:, None], labels)
    outside = (found.low > 0) | (found.high < 0)
    sure = np.maximum(found.probability, 1 - found.probability) > 0.5 + MASS / 2
    np.testing.assert_array_equal(outside, sure)


@pytest.mark.parametrize(("n", "m", "distance"), [(6, 6, 3.0), (8, 40, 0.0), (30, 90, 5.0)])
def test_intervals_cover_as_often_as_they_say(n, m, distance):
    # 3,000 data sets, whose share has a standard error of .0043: false alarms are rarer than 1 in
    # 1,000 for a method that covers 94 %; Welch's t of few rows may be off by a percent.
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1], [n, m])
    noise = rng.normal(size=(n + m, 3000))
    effect = compare(noise + distance * (labels == 0)[:, None], labels)
    covered = (effect.low[0] <= distance) & (distance <= effect.high[0])
    assert covered.mean() == pytest.approx(MASS, abs=0.024)
    difference = compare(noise, labels).probability[0]
    covered = np.abs(difference - 0.5) < MASS / 2
    assert covered.mean() == pytest.approx(MASS, abs=0.024)


def test_the_bootstrap_is_too_sure_of_few_rows():
    # The reason for Student's t: intervals from replicates of five rows cover about 80 %.
    rng = np.random.default_rng(3)
    weight = rng.dirichlet(np.ones(5), size=2000)
    low, high = np.quantile(weight @ rng.normal(size=(5, 1000)), [0.03, 0.97], axis=0)
    assert np.mean((low < 0) & (high > 0)) == pytest.approx(0.81, abs=0.05)


def replicates(values, q, rng, n=4000):
    """Differences of means, by the Bayesian bootstrap with clusters drawn row by row."""
    weight = rng.exponential(size=(n, len(values)))
    inside = rng.random(weight.shape) < q
    a, b = weight * inside, weight * ~inside
    return a @ values / a.sum(axis=1) - b @ values / b.sum(axis=1)


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5])
def test_probabilities_are_those_of_brute_force_replicates(shift):
    rng = np.random.default_rng(4)
    n_rows = 400
    q = rng.beta(0.6, 1.2, n_rows)
    values = rng.normal(size=n_rows) + shift * (rng.random(n_rows) < q)
    found = compare(values, np.stack([q, 1 - q], axis=1))
    drawn = replicates(values, q, rng)
    assert found.probability[0, 0] == pytest.approx(np.mean(drawn > 0), abs=0.03)
    # The effect is small, so that its interval is that of the difference by the deviation.
    scale = (found.inside[0, 0] - found.outside[0, 0]) / found.effect[0, 0]
    width = (found.high[0, 0] - found.low[0, 0]) * scale
    assert width == pytest.approx(np.diff(np.quantile(drawn, [0.03, 0.97]))[0], rel=0.08)
    # Were clusters certain, it would be narrower by far.
    certain = compare(values, (q < 0.5).astype(int))
    assert width > 1.2 * (certain.high[0, 0] - certain.low[0, 0]) * scale


def test_uncertain_clusters_add_the_variance_of_their_formula():
    rng = np.random.default_rng(5)
    q, x, w = rng.random(30), rng.normal(size=30), rng.integers(1, 4, 30)
    n, m = (w * q).sum(), (w * (1 - q)).sum()
    inside, outside = (w * q * x).sum() / n, (w * (1 - q) * x).sum() / m
    a, b = (x - inside) / n, (x - outside) / m
    variance = (w * q * a**2).sum() * n / (n - 1) + (w * (1 - q) * b**2).sum() * m / (m - 1)
    variance += (w * q * (1 - q) * (a + b) ** 2).sum()
    found = compare(x, np.stack([q, 1 - q], axis=1), w)
    expected = stats.norm.cdf((inside - outside) / np.sqrt(variance))
    assert found.probability[0, 0] == pytest.approx(expected, abs=2e-3)  # a t of many degrees


def test_labels_are_memberships_of_one_and_weights_repeated_rows():
    rng = np.random.default_rng(6)
    labels, weights = rng.integers(0, 4, 50), rng.integers(0, 4, 50)
    values, trials = rng.normal(size=(50, 2)), rng.integers(1, 9, 50).astype(float)
    values[::7, 0] = np.nan
    again = np.repeat(np.arange(50), weights)
    found = compare(values, labels, weights, {1: trials})
    same(found, compare(values, one_hot(labels), weights, {1: trials}))
    same(found, compare(values[again], labels[again], None, {1: trials[again]}))
    soft = rng.dirichlet(np.ones(4), 50)
    same(compare(values, soft, weights), compare(values[again], soft[again]))


def test_order_of_rows_and_names_of_clusters_make_no_difference():
    rng = np.random.default_rng(7)
    labels, values = rng.integers(0, 3, 80), rng.normal(size=(80, 2))
    order, names = rng.permutation(80), np.array([2, 0, 1])
    found = compare(values, labels)
    same(found, compare(values[order], labels[order]))
    renamed = compare(values, names[labels])
    for name, array in vars(found).items():
        np.testing.assert_allclose(getattr(renamed, name)[names], array, err_msg=name)


def test_rates_are_successes_by_trials():
    rng = np.random.default_rng(8)
    labels = np.repeat([0, 1], [20, 30])
    trials = rng.integers(1, 40, 50).astype(float)
    hits = rng.binomial(trials.astype(int), 0.3 + 0.03 * labels)
    found = compare(hits / trials, labels, None, {0: trials})
    assert found.inside[0, 0] == pytest.approx(hits[:20].sum() / trials[:20].sum())
    assert found.n_inside[0, 0] == 20
    drawn = rng.exponential(size=(4000, 50))
    a, b = drawn[:, :20], drawn[:, 20:]
    rate = a @ hits[:20] / (a @ trials[:20]) - b @ hits[20:] / (b @ trials[20:])
    width = (found.high - found.low)[0, 0] * (found.inside - found.outside)[0, 0]
    assert width / found.effect[0, 0] == pytest.approx(
        np.diff(np.quantile(rate, [0.03, 0.97]))[0], rel=0.15
    )


def test_large_and_far_values_are_no_trouble():
    rng = np.random.default_rng(9)
    labels, x = np.repeat([0, 1], 20), rng.normal(size=40)
    plain = compare(x, labels)
    for values in (x * 1e300, x * 1e-300, x + 1e6, 1e3 * x - 1e8):
        found = compare(values, labels)
        np.testing.assert_allclose(found.effect, plain.effect, rtol=1e-6)
        np.testing.assert_allclose(found.probability, plain.probability, rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "labels", "reason", "effect", "known"),
    [
        ([1.0, 2, 3, 4], [0, 0, 1, 1], Reason.NONE, -2.828, True),
        ([np.nan, np.nan, 3, 4], [0, 0, 1, 1], Reason.NONE_INSIDE, np.nan, False),
        ([1.0, 2, np.nan, np.nan], [0, 0, 1, 1], Reason.NONE_OUTSIDE, np.nan, False),
        ([1.0, 2, 3, 4], [0, 0, 0, 0], Reason.NONE_OUTSIDE, np.nan, False),
        ([0.1, 0.1, 0.1, 0.1], [0, 0, 1, 1], Reason.CONSTANT, 0.0, False),
        ([9.0, 1, 2, 3], [0, 1, 1, 1], Reason.ONE_INSIDE, 7.0, False),
        ([1.0, 2, 3, 9], [0, 0, 0, 1], Reason.ONE_OUTSIDE, -7.0, False),
        ([1.0, np.nan, 2, 3], [0, 0, 1, 1], Reason.ONE_INSIDE, -2.121, False),
        ([5.0, 5, 2, 3], [0, 0, 1, 1], Reason.EQUAL_INSIDE, 5.0, True),
        ([5.0, 5, 2, 2], [0, 0, 1, 1], Reason.EQUAL_INSIDE, np.inf, True),
    ],
)
def test_what_cannot_be_known_is_said(values, labels, reason, effect, known):
    found = compare(values, labels)
    assert found.reason[0, 0] == reason
    np.testing.assert_allclose(found.effect[0, 0], effect, rtol=1e-3)
    assert np.isnan(found.probability[0, 0]) != known
    assert np.isnan(found.inside[0, 0]) == (reason == Reason.NONE_INSIDE)
    assert Reason(reason).words() or reason == Reason.NONE


# ---- categories ----------------------------------------------------------------------------------


def shares(codes, given, n_categories, weights=None):
    given = np.asarray(given)
    n_clusters = given.shape[1] if given.ndim == 2 else given.max() + 1
    weights = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=float)
    return contrast_shares(np.asarray(codes), n_categories, Membership(given, n_clusters, weights))


@pytest.mark.parametrize("block", [7, 10_000])
def test_shares_are_counted(block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(0)
    labels, codes = rng.integers(-1, 3, 90), rng.integers(-1, 4, 90)
    found = shares(codes, labels, 4)
    same(found, shares(codes, one_hot(labels), 4))
    for k in range(3):
        inside, outside = codes[(labels == k) & (codes >= 0)], codes[(labels != k) & (codes >= 0)]
        assert found.n_inside[k, 0] == inside.size
        for c in range(4):
            p, other = np.mean(inside == c), np.mean(outside == c)
            assert found.inside[k, c] == pytest.approx(p)
            assert found.outside[k, c] == pytest.approx(other)
            h = 2 * (np.arcsin(np.sqrt(p)) - np.arcsin(np.sqrt(other)))
            assert found.effect[k, c] == pytest.approx(h)
    weights = rng.integers(0, 3, 90)
    again = np.repeat(np.arange(90), weights)
    same(shares(codes, labels, 4, weights), shares(codes[again], labels[again], 4))


@pytest.mark.parametrize(("n", "m", "p", "other"), [(8, 60, 0.9, 0.4), (40, 40, 0.5, 0.5)])
def test_intervals_of_shares_cover_and_probabilities_are_those_of_beta_posteriors(n, m, p, other):
    rng = np.random.default_rng(1)
    truth = 2 * (np.arcsin(np.sqrt(p)) - np.arcsin(np.sqrt(other)))
    labels, covered, apart = np.repeat([0, 1], [n, m]), [], []
    for _ in range(400):
        codes = np.r_[rng.random(n) < p, rng.random(m) < other].astype(int)
        found = shares(codes, labels, 2)
        covered.append(found.low[0, 1] <= truth <= found.high[0, 1])
        hits, rest = codes[:n].sum(), codes[n:].sum()
        inside = rng.beta(hits + 0.5, n - hits + 0.5, 4000)
        drawn = inside > rng.beta(rest + 0.5, m - rest + 0.5, 4000)
        apart.append(abs(found.probability[0, 1] - drawn.mean()))
    # Of few rows there are few different counts, and intervals that cover cover rather too often.
    assert MASS - 0.03 < np.mean(covered) < MASS + (0.03 if n > 20 else 0.05)
    assert max(apart) < 0.04


def test_shares_of_uncertain_clusters_are_as_sure_as_replicates():
    rng = np.random.default_rng(2)
    q = rng.beta(0.6, 1.2, 400)
    codes = (rng.random(400) < 0.3 + 0.2 * (rng.random(400) < q)).astype(int)
    found = shares(codes, np.stack([q, 1 - q], axis=1), 2)
    drawn = replicates(codes.astype(float), q, rng)
    assert found.probability[0, 1] == pytest.approx(np.mean(drawn > 0), abs=0.03)


def test_categories_that_are_missing_or_all_the_same():
    found = shares([-1, -1, 0, 1], [0, 0, 1, 1], 2)
    assert (found.reason == [[Reason.NONE_INSIDE] * 2, [Reason.NONE_OUTSIDE] * 2]).all()
    assert (shares([1, 1, 1], [0, 0, 1], 2).reason == Reason.CONSTANT).all()
    alone = shares([1, 0, 0, 0, 0], [0, 1, 1, 1, 1], 2)
    assert 0.8 < alone.probability[0, 1] < 0.99  # one row says something, and not much
