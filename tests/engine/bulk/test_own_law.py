"""Laws of leaves with own noise against scipy's, and against the evidence of the columns model.

Statistical checks are Kolmogorov–Smirnov tests with false-alarm rate 1e-4.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammainc

from sticktree.engine.bulk.laws import FullLaw, Leaf, VarianceLaw, log_masses, truncated_gamma
from sticktree.engine.bulk.sums import PRODUCTS, SQUARES, Sums
from tests.engine.own.test_exact import setting_of
from tests.support.own import evidence
from tests.support.statistics import assert_law

ROWS = np.array([[0.1, 1.0], [0.4, -0.3], [1.8, 0.2], [0.7, 0.9]])
HOLED = np.array([[0.1, np.nan], [np.nan, np.nan], [1.8, 0.2], [0.7, np.nan]])
ABOVE = np.array([0.3, -0.6])
FORMS = [("diag", 0.0), ("diag", 0.4), ("spherical", 0.0), ("spherical", 0.4), ("full", 0.0)]


def law_of(setting):
    kappa, a, b = setting.hyper
    if setting.form == "full":
        return FullLaw(kappa[0], a[0], setting.psi)
    used = slice(0, 1 if setting.form == "spherical" else None)
    return VarianceLaw(
        kappa[used], a[used], b[used], setting.floor[used], setting.form == "spherical"
    )


def sums_of(rows, form, repeat=1):
    """Return the sums of the same rows for several leaves."""
    kind = PRODUCTS if form == "full" else SQUARES
    one = Sums.over(rows, np.zeros(len(rows), dtype=int), 1, kind)
    return one.at(np.zeros(repeat, dtype=int))


def log_rows(rows, leaf, form):
    """Return the log density of rows in one leaf."""
    if form == "full":
        covariance = np.linalg.inv(leaf.spread[0].T @ leaf.spread[0])
        return stats.multivariate_normal.logpdf(rows, leaf.mean[0], covariance).sum()
    sd = np.broadcast_to(leaf.spread[0] ** -0.5, leaf.mean[0].shape)
    return np.nansum(stats.norm.logpdf(rows, leaf.mean[0], sd))


@pytest.mark.parametrize(("form", "floor"), FORMS)
def test_prior_times_likelihood_over_posterior_is_the_evidence(form, floor):
    setting = setting_of(("gaussian",) * 2, form, 1, floor=floor)
    law, rng, above = law_of(setting), np.random.default_rng(0), ABOVE[None]
    for rows in (ROWS, ROWS[:1], *([] if form == "full" else [HOLED])):
        sums = sums_of(rows, form)
        none = sums.times(np.zeros(1))
        expected = evidence.log_leaf_evidence(rows, ABOVE, setting)
        for given in (sums, none, sums.times(np.full(1, 0.3))):
            leaf = law.draw(given, above, rng)
            found = law.log_density(leaf, none, above) - law.log_density(leaf, sums, above)
            assert found + log_rows(rows, leaf, form) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("form", "floor"), FORMS[:4])
def test_density_of_variances_integrates_to_one(form, floor):
    setting = setting_of(("gaussian",), form, 1, floor=floor)
    law, above, sums = law_of(setting), ABOVE[None, :1], sums_of(ROWS[:, :1], form)

    # In log τ, and in the mean in units of its own spread, a plain sum is right to many digits.
    log_t, step = np.linspace(-14, np.log(1 / floor) if floor else 6.0, 2001, retstep=True)
    z, width = np.linspace(-9, 9, 61, retstep=True)
    centre = (law.kappa * ABOVE[0] + ROWS[:, 0].sum()) / (law.kappa + 4)
    sd = ((law.kappa + 4) * np.exp(log_t[:, None])) ** -0.5
    mean, precision = centre + z * sd, np.exp(log_t[:, None]) + 0 * z
    leaf = Leaf(mean.reshape(-1, 1), precision.reshape(-1, 1))
    many = np.zeros(mean.size, dtype=int)
    density = np.exp(law.log_density(leaf, sums.at(many), above[many])).reshape(mean.shape)
    along = (density * sd * precision).sum(axis=1) * width
    assert (along.sum() - along[[0, -1]].sum() / 2) * step == pytest.approx(1.0, abs=1e-5)


def test_density_of_covariances_is_that_of_scipy():
    setting = setting_of(("gaussian",) * 2, "full", 1)
    law, above = law_of(setting), ABOVE[None]
    kappa, a, _ = setting.hyper[:, 0]
    leaf = law.draw(sums_of(ROWS, "full"), above, np.random.default_rng(1))
    w = leaf.spread[0].T @ leaf.spread[0]
    none = sums_of(ROWS, "full").times(np.zeros(1))
    expected = stats.wishart.logpdf(w, 1 + 2 * a, np.linalg.inv(setting.psi))
    expected += stats.multivariate_normal.logpdf(leaf.mean[0], ABOVE, np.linalg.inv(kappa * w))
    assert law.log_density(leaf, none, above) == pytest.approx(expected, abs=1e-9)
    assert leaf.spread[0, 0, 1] == 0.0


@pytest.mark.parametrize(
    ("shape", "bound"),
    [
        (0.3, 0.2),
        (0.3, 1e-80),
        (1.0, 1e-9),
        (1.5, 1e-7),
        (2.0, 1.0),
        (40.0, 8.0),
        (40.0, 30.0),
        (40.0, 45.0),
        (40.0, 120.0),
        (3e5, 2.99e5),
        (3e5, 2.9e5),
        (2.0, 1e-150),
    ],
)
def test_truncated_gamma_numbers_follow_their_law(shape, bound):
    rng = np.random.default_rng(int(shape))
    rate, size = 3.0, 1500
    floor = rate / bound
    drawn = truncated_gamma(np.full(size, shape), np.full(size, rate), np.full(size, floor), rng)
    assert (drawn > 0).all()
    assert (drawn <= 1 / floor).all()
    whole = log_masses(np.full(1, shape), np.full(1, rate), np.full(1, floor))
    if gammainc(shape, bound) > 1e-200:
        assert whole == pytest.approx(np.log(gammainc(shape, bound)), rel=1e-9, abs=1e-12)
    below = log_masses(np.full(size, shape), np.full(size, rate), 1 / drawn)
    assert_law(np.exp(below - whole), stats.uniform)


@pytest.mark.parametrize(("form", "floor"), FORMS)
def test_draws_follow_their_posterior(form, floor):
    setting = setting_of(("gaussian",) * 2, form, 1, floor=floor)
    law, size, rng = law_of(setting), 2000, np.random.default_rng(3)
    kappa, a, b = setting.hyper
    leaf = law.draw(sums_of(ROWS, form, size), np.tile(ABOVE, (size, 1)), rng)
    n, mean = len(ROWS), ROWS.mean(axis=0)
    centre = (kappa[0] * ABOVE[0] + n * mean[0]) / (kappa[0] + n)
    off = ROWS - mean
    scatter = off.T @ off + kappa[0] * n / (kappa[0] + n) * np.outer(mean - ABOVE, mean - ABOVE)
    if form == "full":
        w = np.swapaxes(leaf.spread, 1, 2) @ leaf.spread
        side, nu = np.array([0.6, -1.1]), 1 + 2 * a[0] + n
        scale = side @ np.linalg.solve(setting.psi + scatter, side)
        assert_law(np.einsum("i,kij,j->k", side, w, side) / scale, stats.chi2(nu))
        sd = np.sqrt(np.linalg.inv(w)[:, 0, 0])
    else:
        together = form == "spherical"
        shape = a[0] + n / 2 * (2 if together else 1)
        rate = a[0] * b[0] + (np.trace(scatter) if together else scatter[0, 0]) / 2
        below = gammainc(shape, rate * leaf.spread[:, 0])
        most = gammainc(shape, rate / floor) if floor else 1.0
        assert_law(below / most, stats.uniform)
        sd = leaf.spread[:, 0] ** -0.5
    assert_law((leaf.mean[:, 0] - centre) * np.sqrt(kappa[0] + n) / sd, stats.norm)


@pytest.mark.parametrize("form", ["diag", "spherical", "full"])
def test_densities_told_to_rows_are_those_of_the_leaf(form):
    law = law_of(setting_of(("gaussian",) * 2, form, 1))
    leaf = law.draw(sums_of(ROWS, form), ABOVE[None], np.random.default_rng(4))
    told = law.density(leaf)
    off = ROWS - told.centre[0]
    square = ((off @ told.root[0].T) ** 2 if form == "full" else told.precision * off**2).sum()
    found = len(ROWS) * (told.log_peak[0] - np.log(2 * np.pi)) - square / 2
    assert found == pytest.approx(log_rows(ROWS, leaf, form), abs=1e-9)


@pytest.mark.parametrize("form", ["diag", "spherical", "full"])
def test_what_one_half_leaves_over_is_the_other(form):
    rng = np.random.default_rng(5)
    first, second = rng.normal(0, 0.2, (4000, 2)), rng.normal((3.0, 1.0), 0.4, (6000, 2))
    law = law_of(setting_of(("gaussian",) * 2, form, 1))
    none = np.zeros((1, 2))
    both = sums_of(np.vstack([first, second]), form)
    leaf = law.draw(sums_of(first, form), none, rng)
    other = law.rest(both, leaf, np.array([0.4]))
    exactly = sums_of(second, form)
    assert other.n == pytest.approx(exactly.n)
    np.testing.assert_allclose(other.total / other.n, exactly.total / exactly.n, atol=0.02)
    np.testing.assert_allclose(other.second / other.n, exactly.second / exactly.n, atol=0.05)
    # A leaf that has nothing to do with the rows leaves something that can be drawn from, still.
    for share in (1e-12, 0.5, 1 - 1e-12):
        odd = Leaf(leaf.mean + 40.0, leaf.spread * 1e-3)
        rest = law.rest(both, odd, np.array([share]))
        again = law.draw(rest, none, rng)
        assert np.isfinite(law.log_density(again, rest, none)).all()
        assert np.isfinite(law.density(again).log_peak).all()


@pytest.mark.parametrize("form", ["diag", "spherical", "full"])
def test_coordinates_are_those_in_which_a_leaf_is_round(form):
    rng = np.random.default_rng(6)
    mixing = {"diag": np.diag([0.1, 3.0]), "spherical": np.eye(2) * 0.3}
    y = rng.standard_normal((5000, 2)) @ mixing.get(form, np.array([[1.0, 0.9], [0.0, 0.2]]))
    law = law_of(setting_of(("gaussian",) * 2, form, 1))
    x = law.coordinates(y, sums_of(y, form))
    np.testing.assert_allclose(np.cov(x.T), np.eye(2), atol=0.1)


def test_many_leaves_at_once_are_as_one_after_another():
    rng = np.random.default_rng(7)
    y, of = rng.standard_normal((60, 2)), np.arange(60) % 5
    above = rng.standard_normal((5, 2))
    for form in ("diag", "spherical", "full"):
        law = law_of(setting_of(("gaussian",) * 2, form, 1))
        sums = Sums.over(y, of, 5, PRODUCTS if form == "full" else SQUARES)
        leaf = law.draw(sums, above, rng)
        together = law.log_density(leaf, sums, above)
        for k in range(5):
            one = np.array([k])
            alone = law.log_density(leaf.at(one), sums.at(one), above[one])
            assert together[k] == pytest.approx(alone[0], abs=1e-10)
