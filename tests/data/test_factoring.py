"""Finding factors: how many, their axes and noise, and what new rows have of them."""

import numpy as np
import pytest

from sticktree.data.factoring import (
    check_number,
    count_factors,
    factors_pay,
    find_factors,
    largest_of_noise,
    narrowing,
    principal_axes,
)
from sticktree.data.factors import Factored
from sticktree.errors import ParameterError


def rows_with(n_factors, n_rows, n_columns, seed=0, strength=0.7):
    """Return rows of Gaussian factors, with unequal noise of the columns."""
    rng = np.random.default_rng(seed)
    loadings = strength * rng.normal(size=(n_factors, n_columns))
    noise = np.exp(0.5 * rng.normal(size=n_columns))
    return rng.normal(size=(n_rows, n_factors)) @ loadings + noise * rng.normal(
        size=(n_rows, n_columns)
    )


def centred(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


# ---- how many ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_rows", "n_columns"), [(60, 3000), (100, 300), (300, 60)])
@pytest.mark.parametrize("n_factors", [2, 6])
def test_factors_are_counted(n_rows, n_columns, n_factors):
    found = [
        count_factors(centred(rows_with(n_factors, n_rows, n_columns, seed))) for seed in range(10)
    ]
    assert np.mean(np.array(found) == n_factors) >= 0.8
    assert np.abs(np.array(found) - n_factors).max() <= 1


@pytest.mark.parametrize("n_columns", [50, 1000])
def test_noise_alone_has_the_one_factor_that_there_has_to_be(n_columns):
    # The largest principal value of noise is above its limit by chance, about once in ten.
    rng = np.random.default_rng(0)
    found = [count_factors(centred(rng.normal(size=(80, n_columns)))) for _ in range(20)]
    assert np.mean(found) < 1.2


def test_the_limit_of_noise_is_that_of_columns_shuffled_apart():
    x = centred(rows_with(4, 80, 600))
    rng = np.random.default_rng(1)
    largest = []
    for _ in range(20):
        shuffled = rng.permuted(x, axis=0)
        largest.append(principal_axes(shuffled, 1)[0][0] / (len(x) - 1))
    limit = largest_of_noise((x**2).sum(axis=0) / (len(x) - 1), len(x) - 1)
    assert np.mean(largest) == pytest.approx(limit, rel=0.06)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "pays"),
    [(100, 200, True), (60, 7000, True), (60, 40, True), (2, 500, True), (100, 40, False),
     (504, 24, False), (1797, 64, False), (150, 4, False), (1, 500, False), (20, 30, False)],
)  # fmt: skip
def test_factors_are_sought_where_rows_are_few_for_the_columns(n_rows, n_columns, pays):
    assert factors_pay(n_rows, n_columns) is pays


# ---- axes, noise and new rows --------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(40, 300), (300, 40), (90, 90)])
def test_principal_axes_are_those_of_a_singular_value_decomposition(shape):
    z = np.random.default_rng(0).normal(size=shape)
    values, axes = principal_axes(z, 3)
    _, d, v = np.linalg.svd(z, full_matrices=False)
    np.testing.assert_allclose(values, d[:3] ** 2)
    np.testing.assert_allclose(np.abs(np.sum(axes * v[:3].T, axis=0)), 1.0)


def test_many_rows_and_columns_have_the_same_axes(monkeypatch):
    z = rows_with(3, 60, 80)
    values, axes = principal_axes(z, 3)
    monkeypatch.setattr("sticktree.data.factoring.LARGE", 10)
    again = principal_axes(z, 3)
    np.testing.assert_allclose(again[0], values)
    np.testing.assert_allclose(np.abs((again[1] * axes).sum(axis=0)), 1.0)


def test_noise_of_every_column_is_found():
    x = rows_with(3, 400, 60)
    factors = find_factors(x)
    rng = np.random.default_rng(0)
    rng.normal(size=(3, 60))
    ratio = factors.noise / np.exp(0.5 * rng.normal(size=60))
    assert np.quantile(np.abs(np.log(ratio)), 0.95) < 0.1  # a column with little noise is held up
    np.testing.assert_allclose(factors.axes.T @ factors.axes, np.eye(3), atol=1e-10)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(60, 2000), (100, 300), (200, 40)])
def test_scores_of_the_rows_of_a_fit_are_as_wide_as_those_of_new_rows(n_rows, n_columns):
    # The mean of ten tables of weak and strong factors: a variance is known to 1.4/√(10 n), 6 %.
    wide, new, old = [], [], []
    for seed in range(10):
        strength = np.array([[1.0], [0.6], [0.45]]) * np.sqrt(200 / n_columns)
        x = rows_with(3, n_rows + 400, n_columns, seed, strength)
        factors = find_factors(x[:n_rows], 3)
        wide.append(np.var(factors.whitened(x[:n_rows]) @ factors.axes, axis=0))
        new.append(np.var(factors.whitened(x[n_rows:]) @ factors.axes, axis=0))
        old.append(np.var(Factored.of(factors, x[:n_rows])[1] * factors.unit, axis=0))
    # The weakest of a sample is weaker than it is.
    ratio = np.mean(new, axis=0) / np.mean(old, axis=0)
    assert ratio == pytest.approx(np.ones(3), abs=0.3)
    assert np.exp(np.log(ratio).mean()) == pytest.approx(1, abs=0.15)
    without = np.mean(new, axis=0) / np.mean(wide, axis=0)
    assert np.exp(np.log(without).mean()) < np.exp(np.log(ratio).mean())
    if n_columns > 10 * n_rows:
        assert without[1:].max() < 0.8


@pytest.mark.parametrize("ratio", [0.2, 3.0, 40.0])
def test_narrowing_is_that_of_spiked_covariances(ratio):
    # A true value l gives the principal value l + ratio l/(l − 1).
    true = np.array([1.5, 3.0, 20.0]) * (1 + np.sqrt(ratio))
    seen = true + ratio * true / (true - 1)
    np.testing.assert_allclose(narrowing(seen, ratio), (true - 1) / (true - 1 + ratio))
    assert narrowing(np.array([1.0]), ratio) == pytest.approx(1 / (1 + np.sqrt(ratio)))


# ---- laws ----------------------------------------------------------------------------------------


def test_units_of_columns_change_nothing():
    rng = np.random.default_rng(1)
    x = rows_with(3, 50, 200)
    units = 10.0 ** rng.integers(-6, 7, size=200)
    one, other = find_factors(x), find_factors(5.0 * units + units * x)
    _, scores = Factored.of(one, x)
    factored, others = Factored.of(other, 5.0 * units + units * x)
    np.testing.assert_allclose(others, scores, atol=1e-6)
    log_units = np.log(units).sum()
    np.testing.assert_allclose(
        factored.log_rest + log_units, Factored.of(one, x)[0].log_rest, rtol=1e-6
    )


@pytest.mark.parametrize("gaps", [False, True])
def test_the_order_of_rows_changes_nothing(gaps):
    x, order = rows_with(3, 50, 200), np.random.default_rng(2).permutation(50)
    if gaps:
        x[np.random.default_rng(3).random(x.shape) < 0.1] = np.nan
    one, other = find_factors(x), find_factors(x[order])
    np.testing.assert_allclose(other.axes, one.axes, atol=1e-8)
    np.testing.assert_allclose(Factored.of(other, x)[1], Factored.of(one, x)[1], atol=1e-7)


def test_gaps_hardly_change_factors():
    x = rows_with(3, 80, 400)
    gone = x.copy()
    gone[np.random.default_rng(0).random(x.shape) < 0.15] = np.nan
    whole, other = find_factors(x), find_factors(gone)
    assert other.n_factors in (3, 4)  # where gaps are filled in there is less noise
    _, scores = Factored.of(whole, x)
    _, others = Factored.of(other, gone)
    between = np.corrcoef(scores.T, others.T)[:3, 3:]
    np.testing.assert_allclose(np.linalg.svd(between)[1], 1.0, atol=0.07)
    np.testing.assert_allclose(other.noise, whole.noise, rtol=0.35)


def test_a_row_of_nothing_but_gaps_has_no_scores():
    x = rows_with(2, 30, 60)
    x[4] = np.nan
    factored, scores = Factored.of(find_factors(x), x)
    assert np.isnan(scores[4]).all()
    assert factored.log_rest[4] == 0
    assert np.isfinite(np.delete(scores, 4, axis=0)).all()


# ---- ugly tables ---------------------------------------------------------------------------------


def test_constant_and_repeated_columns_do_no_harm():
    x = rows_with(2, 40, 100)
    plain = find_factors(x)
    ugly = np.column_stack([x, np.full(40, 7.0), x[:, :1], x[:, :1], x[:, :1]])
    factors = find_factors(ugly)
    assert factors.n_factors in (2, 3)  # a column four times over is a factor
    assert (factors.axes[100] == 0).all()
    assert factors.noise.min() > 0
    factored, scores = Factored.of(factors, ugly)
    assert np.isfinite(scores).all()
    assert np.isfinite(factored.log_rest).all()
    between = np.corrcoef(Factored.of(plain, x)[1].T, scores.T)[:2, 2:]
    assert np.linalg.svd(between)[1][:2].min() > 0.95


def test_a_column_that_is_a_factor_keeps_some_noise():
    rng = np.random.default_rng(0)
    x = rows_with(1, 60, 20)
    x[:, 3] = 100.0 * x[:, 4] + 1e-9 * rng.normal(size=60)
    factors = find_factors(x, 2)
    assert (factors.noise >= 0.15 * x.std(axis=0)).all()


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("shape", [(20, 3_000), (40, 30)])
def test_no_more_factors_are_counted_than_columns_have_in_common(rank, shape):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    assert find_factors(x).n_factors == rank
    factors = find_factors(x, rank + 3)  # what is asked for beyond that is orthogonal, and nothing
    np.testing.assert_allclose(factors.axes.T @ factors.axes, np.eye(rank + 3), atol=1e-9)
    factored, scores = Factored.of(factors, x)
    assert np.abs(scores).max() < 10.0
    assert np.isfinite(factored.log_rest).all()


def test_two_rows_have_one_factor():
    x = np.random.default_rng(0).normal(size=(2, 30))
    factored, scores = Factored.of(find_factors(x, 1), x)
    assert scores.shape == (2, 1)
    assert np.isfinite(scores).all()
    assert np.isfinite(factored.log_rest).all()


@pytest.mark.parametrize(
    ("n_factors", "x", "words"),
    [
        (4, np.ones((9, 3)) * np.arange(9)[:, None], "number of columns, 3"),
        (3, np.eye(9)[:, [0, 1, 2]] * [1, 1, 0] @ np.eye(3, 5), "not constant, 2"),
        (5, np.random.default_rng(0).normal(size=(5, 30)), "one less than the 5 rows"),
    ],
)
def test_too_many_factors_are_refused(n_factors, x, words):
    with pytest.raises(ParameterError, match=f"^factors must be at most .*{words}"):
        check_number(n_factors, x)
