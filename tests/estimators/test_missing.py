"""Missing entries in an estimator: densities marginalise, and what is filled in fits the rest."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sticktree import DFPMixture
from sticktree.posterior.draws import ConvergenceWarning

NAN = np.nan
FORMS = ["spherical", "diag", "full"]
FALSE_ALARM = 1e-4
FACTOR, SHIFT = np.array([1e3, 0.1, 7.0]), np.array([5e4, 0.0, -3.0])


def complete(n_rows=40, seed=0):
    """Return two groups of rows, whose first two columns are nearly the same within a group."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n_rows, 1))
    noise = rng.standard_normal((n_rows, 3)) * [0.2, 0.2, 1.0]
    group = np.repeat([0.0, 10.0], n_rows // 2)[:, None]
    return (common * [1, 1, 0] + noise + group) * FACTOR + SHIFT


def with_gaps(data, share=0.15, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(data.shape) < share, NAN, data)


def quiet_fit(mixture, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(data)


def fit(data, **parameters):
    quick = {
        "covariance_type": "full",
        "depth": 3,
        "n_chains": 2,
        "n_warmup": 60,
        "n_draws": 15,
        "random_state": 0,
    }
    return quiet_fit(DFPMixture(**quick | parameters), data)


@pytest.fixture(scope="module", params=FORMS)
def mixture(request):
    return fit(with_gaps(complete()), covariance_type=request.param)


@pytest.fixture(scope="module")
def full():
    return fit(with_gaps(complete()))


# ---- densities ---------------------------------------------------------------------------------


def quadrature(column, n_points=1501):
    """Return points and weights of the trapezoid rule for one column, finer in the middle."""
    t, step = np.linspace(-7, 7, n_points, retstep=True)
    spread = 3 * FACTOR[column]
    return SHIFT[column] + 5 * FACTOR[column] + spread * np.sinh(t), step * spread * np.cosh(t)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_density_of_what_is_observed_is_the_integral_over_what_is_not(mixture, column):
    points, weights = quadrature(column)
    for row in complete(4, seed=2)[[0, 3]]:
        rows = np.tile(row, (points.size, 1))
        rows[:, column] = points
        integral = weights @ np.exp(mixture.score_samples(rows))
        row[column] = NAN
        assert mixture.score_samples([row])[0] == pytest.approx(np.log(integral), abs=1e-5)


def test_density_of_one_entry_integrates_to_one(mixture):
    for column in range(3):
        points, weights = quadrature(column)
        rows = np.full((points.size, 3), NAN)
        rows[:, column] = points
        assert weights @ np.exp(mixture.score_samples(rows)) == pytest.approx(1, abs=1e-4)


def test_row_without_entries_scores_zero_and_is_with_all_data(mixture):
    nothing = np.full((1, 3), NAN)
    assert mixture.score_samples(nothing)[0] == 0
    np.testing.assert_allclose(mixture.predict_proba(nothing, level=1).sum(), 1)
    np.testing.assert_allclose(mixture.predict_proba(nothing, level=0), [[1.0]])


def test_rows_are_asked_one_by_one_or_together(full):
    rows = np.vstack([with_gaps(complete(10, seed=3), 0.4), np.full(3, NAN)])
    for method in ("score_samples", "predict_proba", "transform", "impute"):
        ask = getattr(full, method)
        alone = np.concatenate([ask(row[None]) for row in rows])
        np.testing.assert_allclose(ask(rows), alone, rtol=1e-9)


def test_entries_that_are_observed_tell_groups_apart(mixture):
    rows = complete(20, seed=4)
    rows[::2, 0], rows[1::2, 1:] = NAN, NAN
    labels = mixture.predict(rows, level=1)
    known = mixture.predict(complete(20, seed=4), level=1)
    assert (labels == known).mean() > 0.9


# ---- imputation --------------------------------------------------------------------------------


def test_what_is_observed_stays_as_it_came(mixture):
    rows = with_gaps(complete(10, seed=3), 0.4)
    seen = ~np.isnan(rows)
    for filled in (mixture.impute(rows), *mixture.impute(rows, n_draws=3, random_state=0)):
        np.testing.assert_array_equal(filled[seen], rows[seen])
        assert np.isfinite(filled).all()
    np.testing.assert_array_equal(mixture.impute(complete()), complete())


def test_means_are_those_of_many_draws(mixture):
    rows = complete(4, seed=5)
    rows[0, 0] = rows[1, 1:] = rows[2] = NAN
    n_draws = 4_000
    missing = np.isnan(rows)
    draws = mixture.impute(rows, n_draws=n_draws, random_state=0)[:, missing]
    error = draws.std(axis=0) / np.sqrt(n_draws)
    z = np.abs(draws.mean(axis=0) - mixture.impute(rows)[missing]) / error
    assert (2 * stats.norm.sf(z) > FALSE_ALARM / z.size).all(), z


@pytest.mark.parametrize("column", [0, 2])
def test_draws_have_the_density_given_what_is_observed(mixture, column):
    row = complete(2, seed=6)[1]
    points, weights = quadrature(column)
    rows = np.tile(row, (points.size, 1))
    rows[:, column] = points
    density = weights * np.exp(mixture.score_samples(rows))
    below = (np.cumsum(density) - density / 2) / density.sum()
    row[column] = NAN
    draws = mixture.impute([row], n_draws=4_000, random_state=1)[:, 0, column]
    test = stats.kstest(draws, lambda x: np.interp(x, points, below))
    assert test.pvalue > FALSE_ALARM


def test_imputed_column_is_far_nearer_than_its_mean(full):
    rows = complete(40, seed=7)
    truth = rows[:, 0].copy()
    rows[:, 0] = NAN
    error = np.abs(full.impute(rows)[:, 0] - truth).mean()
    groups = np.repeat([truth[:20].mean(), truth[20:].mean()], 20)
    assert error < 0.1 * np.abs(truth - truth.mean()).mean()
    assert error < 0.6 * np.abs(truth - groups).mean()


def test_same_seed_gives_the_same_draws(full):
    rows = with_gaps(complete(6, seed=8), 0.5)
    once = full.impute(rows, n_draws=2, random_state=0)
    np.testing.assert_array_equal(once, full.impute(rows, n_draws=2, random_state=0))
    assert (once != full.impute(rows, n_draws=2, random_state=1)).any()


@pytest.mark.parametrize("n_draws", [0, -1, 1.5, "3"])
def test_draws_must_be_a_number(full, n_draws):
    with pytest.raises(ValueError, match="n_draws must be an integer of at least 1, got"):
        full.impute(complete(), n_draws=n_draws)


@pytest.mark.parametrize("distance", [1e6, 1e100, 1e200])
def test_entry_far_from_all_data_leaves_finite_numbers(full, distance):
    assert np.isfinite(full.impute([[distance, NAN, NAN]])).all()
    assert np.isfinite(full.impute([[distance, NAN, NAN]], n_draws=2, random_state=0)).all()


# ---- fitting -----------------------------------------------------------------------------------


def test_columns_without_a_value_are_named():
    data = complete()
    data[:, [0, 2]] = NAN
    with pytest.raises(ValueError, match=r"X must have a value in every column.* columns 0, 2;"):
        fit(data)
    with pytest.raises(ValueError, match="only missing ones in columns 'a', 'c'; remove"):
        fit(pd.DataFrame(data, columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match="only missing ones in column 1;"):
        fit(np.column_stack([complete()[:, 0], np.full(40, NAN)]), standardize=False)


def test_columns_are_standardised_by_what_is_observed(full):
    data = with_gaps(complete())
    np.testing.assert_allclose(full.fit_.training.scaling.centre, np.nanmean(data, axis=0))
    np.testing.assert_allclose(full.fit_.training.scaling.spread, np.nanstd(data, axis=0))


def test_nullable_columns_of_a_frame_are_taken_as_missing(full):
    frame = pd.DataFrame(with_gaps(complete())).astype("Float64")
    assert frame.isna().any().any()
    other = fit(frame.rename(columns=str))
    np.testing.assert_array_equal(other.labels_, full.labels_)


def assert_same_draws(first, second):
    for a, b in zip(first.posterior_.draws, second.posterior_.draws, strict=True):
        assert a.log_joint == b.log_joint
        np.testing.assert_array_equal(a.parameters["imputed"], b.parameters["imputed"])


def test_runs_go_on_to_the_same_draws(tmp_path):
    data = with_gaps(complete())
    whole = fit(data, n_draws=8)
    fit(data, n_draws=4, checkpoint=tmp_path)
    negative = np.where(np.isnan(data), -NAN, data)  # the same, in other bits
    assert_same_draws(fit(negative, n_draws=8, checkpoint=tmp_path), whole)
    warm = fit(data, n_draws=4, warm_start=True)
    assert_same_draws(quiet_fit(warm, data), whole)
    with pytest.raises(ValueError, match="holds a run with other data"):
        fit(complete(), n_draws=8, checkpoint=tmp_path)


def test_scikit_learn_is_told():
    assert DFPMixture().__sklearn_tags__().input_tags.allow_nan
