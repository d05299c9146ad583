"""Shares of variance between clusters, against regression on the clusters, and chance as a law."""

from itertools import permutations

import numpy as np
import pytest

from sticktree.posterior.between import CELLS, between_categories, between_numbers


def by_regression(values, labels):
    """Return the share of variance that dummies of the clusters explain, by least squares."""
    there = np.isfinite(values).all(axis=1)
    y, labels = values[there], labels[there]
    dummies = (labels[:, None] == np.unique(labels)).astype(float)
    fitted = dummies @ np.linalg.lstsq(dummies, y, rcond=None)[0]
    centred = y - y.mean(axis=0)
    return 1 - ((y - fitted) ** 2).sum() / (centred**2).sum()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    partitions = rng.integers(4, size=(3, 40))
    values = rng.normal(size=(40, 6)) + 2.0 * partitions[0][:, None] * [0, 1, 0, 2, 0, 0]
    values[rng.random(values.shape) < 0.15] = np.nan
    values[partitions[1] == 2, 4] = np.nan  # a cluster without a value
    return values, partitions


def test_numbers_are_as_by_regression_with_gaps_too(table):
    values, partitions = table
    found = between_numbers(values, partitions)
    for s, labels in enumerate(partitions):
        for d in range(6):
            seen = np.isfinite(values[:, d])
            assert found.share[s, d] == pytest.approx(by_regression(values[:, [d]], labels))
            n_clusters = np.unique(labels[seen]).size
            assert found.chance[s, d] == pytest.approx((n_clusters - 1) / (seen.sum() - 1))
    np.testing.assert_array_equal(found.n_values, np.isfinite(values).sum(axis=0))
    assert found.chance[1, 4] < found.chance[0, 4]


def test_categories_are_as_by_regression_of_their_indicators(table):
    *_, partitions = table
    codes = np.random.default_rng(1).integers(-1, 3, 40)
    found = between_categories(codes, 4, partitions)  # the last category has no row
    indicators = (codes[:, None] == np.arange(4)).astype(float)
    indicators[codes < 0] = np.nan
    for s, labels in enumerate(partitions):
        assert found.share[s, 0] == pytest.approx(by_regression(indicators, labels))
    assert found.n_values == [(codes >= 0).sum()]


def test_two_values_differ_less_within_a_cluster_by_the_share():
    rng = np.random.default_rng(2)
    labels, codes = rng.integers(3, size=30), rng.integers(4, size=30)
    differ = codes[:, None] != codes
    gini = differ.mean()
    within = sum(
        differ[labels == k][:, labels == k].mean() * (labels == k).mean() for k in range(3)
    )
    share = between_categories(codes, 4, labels[None]).share[0, 0]
    assert share == pytest.approx(1 - within / gini)


def test_chance_is_the_mean_over_all_orders():
    labels = np.array([[0, 0, 0, 1, 1, 2]])
    values = np.array([0.3, -1.0, 4.0, 0.0, 7.5, 7.5])
    codes = np.array([0, 1, 1, 2, 2, 2])
    orders = np.array(list(permutations(range(6))))
    found = between_numbers(values[orders].T, labels)
    assert found.share.mean() == pytest.approx(2 / 5)
    np.testing.assert_allclose(found.chance, 2 / 5)
    shares = [between_categories(codes[order], 3, labels).share for order in orders[::1]]
    assert np.mean(shares) == pytest.approx(2 / 5)


def test_noise_has_what_chance_gives():
    rng = np.random.default_rng(3)
    labels = rng.integers(5, size=(1, 80))
    found = between_numbers(rng.normal(size=(80, 2_000)), labels)
    # Of normal values shares are Beta(2, 37.5); their mean is off by 4 errors in 1 of 16,000.
    error = np.sqrt(2 * 37.5 / (39.5**2 * 40.5) / 2_000)
    assert abs(found.share.mean() - 4 / 79) < 4 * error


def test_units_and_order_do_not_matter(table):
    values, partitions = table
    found = between_numbers(values, partitions)
    scaled = between_numbers(
        values * [1e-9, -3, 1e120, 2, 1e-150, 5] + [0, 1e3, 0, -7, 0, 1e5], partitions
    )
    np.testing.assert_allclose(scaled.share, found.share, rtol=1e-6)
    order = np.random.default_rng(4).permutation(40)
    turned = between_numbers(values[order], partitions[:, order])
    np.testing.assert_allclose(turned.share, found.share, rtol=1e-12)


def test_columns_in_pieces_are_the_same(table, monkeypatch):
    values, partitions = table
    whole = between_numbers(values, partitions)
    monkeypatch.setattr("sticktree.posterior.between.CELLS", 80)
    pieces = between_numbers(values, partitions)
    np.testing.assert_allclose(pieces.share, whole.share, rtol=1e-14)
    np.testing.assert_array_equal(pieces.chance, whole.chance)
    assert CELLS > 80


def test_what_does_not_vary_has_no_share():
    values = np.array([[1.0, np.nan, 5.0], [1.0, np.nan, np.nan], [1.0, np.nan, np.inf]])
    found = between_numbers(values, np.array([[0, 1, 1]]))
    assert np.isnan(found.share).all()
    assert np.isnan(found.chance).all()
    assert found.n_values.tolist() == [3, 0, 1]
    for codes in ([2, 2, 2], [-1, -1, -1], [-1, 0, -1]):
        assert np.isnan(between_categories(np.array(codes), 3, np.array([[0, 1, 1]])).share).all()
    none = between_numbers(np.empty((3, 0)), np.array([[0, 1, 1]]))
    assert none.share.shape == (1, 0)
