import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.neighbors import KernelDensity

from sticktree import peers
from sticktree.peers.kernels import _scores

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(0, 1, (30, 3)), RNG.normal(4, 0.5, (25, 3))])
NEW = RNG.normal(2, 2, (20, 3))
FORMS = ("full", "tied", "diag", "spherical")
QUICK = {
    "FixedGaussianMixture": {"n_components": 2},
    "GaussianMixtureByBIC": {"max_components": 2, "covariance_types": ("full", "diag")},
    "GaussianMixtureHeldOut": {"max_components": 2, "covariance_types": ("full", "diag")},
    "VariationalMixture": {"n_components": 2},
    "TunedVariationalMixture": {
        "max_components": 2,
        "covariance_types": ("full",),
        "widths": (1.0, 0.1),
    },
    "KernelDensityCV": {"bandwidths": (0.2, 0.4, 0.8)},
}


def quick(name, **parameters):
    return getattr(peers, name)(**{**QUICK[name], "random_state": 0, **parameters})


def test_fixed_mixture_is_that_of_scikit_learn():
    plain = GaussianMixture(5, random_state=3).fit(X).score_samples(NEW)
    ours = peers.FixedGaussianMixture(random_state=3).fit(X).score_samples(NEW)
    np.testing.assert_array_equal(ours, plain)


def test_mixture_by_bic_has_the_lowest_bic_of_all():
    plain = [
        GaussianMixture(k, covariance_type=form, random_state=1).fit(X)
        for form in FORMS
        for k in (1, 2)
    ]
    best = min(plain, key=lambda mixture: mixture.bic(X))
    ours = peers.GaussianMixtureByBIC(max_components=2, random_state=1).fit(X)
    assert (ours.n_components_, ours.covariance_type_) == (best.n_components, best.covariance_type)
    assert ours.bic_ == best.bic(X) < sorted(mixture.bic(X) for mixture in plain)[1]
    np.testing.assert_array_equal(ours.score_samples(NEW), best.score_samples(NEW))


def test_mixture_held_out_does_best_on_those_rows():
    learn, check = train_test_split(X, test_size=0.2, random_state=2)
    plain = [
        GaussianMixture(k, covariance_type=form, random_state=2) for form in FORMS for k in (1, 2)
    ]
    best = max(plain, key=lambda mixture: mixture.fit(learn).score(check))
    ours = peers.GaussianMixtureHeldOut(max_components=2, random_state=2).fit(X)
    assert (ours.n_components_, ours.covariance_type_) == (best.n_components, best.covariance_type)
    np.testing.assert_array_equal(ours.score_samples(NEW), best.fit(X).score_samples(NEW))


@pytest.mark.parametrize("form", FORMS)
def test_variational_mixture_is_that_of_scikit_learn(form):
    plain = BayesianGaussianMixture(
        n_components=4, covariance_type=form, max_iter=500, random_state=0
    )
    ours = peers.VariationalMixture(
        n_components=4, covariance_type=form, normalised=False, random_state=0
    )
    expected = plain.fit(X).score_samples(NEW)
    np.testing.assert_allclose(ours.fit(X).score_samples(NEW), expected, rtol=1e-9)
    np.testing.assert_allclose(ours.mixture_.means_, plain.means_, rtol=1e-9)


def test_only_the_point_estimate_of_the_variational_mixture_is_a_density():
    grid = np.linspace(-15, 20, 20001)[:, None]
    mixture = peers.VariationalMixture(n_components=3, random_state=0).fit(X[:, :1])

    def integral():
        return np.exp(mixture.score_samples(grid)).sum() * (grid[1, 0] - grid[0, 0])

    assert integral() == pytest.approx(1.0, abs=1e-6)
    mixture.set_params(normalised=False)
    assert integral() < 0.99


def test_tuned_variational_mixture_does_best_on_rows_held_out():
    learn, check = train_test_split(X, test_size=0.2, random_state=0)
    settings = [(k, form, w) for k in (1, 5) for form in ("full", "diag") for w in (1.0, 0.1)]

    def score(setting, rows, asked):
        k, form, width = setting
        mixture = peers.VariationalMixture(
            n_components=k, covariance_type=form, width=width, random_state=0
        )
        return mixture.fit(rows).score_samples(asked)

    best = max(settings, key=lambda setting: score(setting, learn, check).mean())
    ours = peers.TunedVariationalMixture(
        max_components=5, covariance_types=("full", "diag"), widths=(1.0, 0.1), random_state=0
    ).fit(X)
    assert (ours.n_components_, ours.covariance_type_, ours.width_) == best
    np.testing.assert_array_equal(ours.score_samples(NEW), score(best, X, NEW))


def test_kernels_are_those_of_a_grid_search():
    grid = np.geomspace(0.1, 1.5, 8)
    folds = KFold(5, shuffle=True, random_state=4)
    one_leaf = KernelDensity(leaf_size=100)
    plain = GridSearchCV(one_leaf, {"bandwidth": grid}, cv=folds).fit(X)
    ours = peers.KernelDensityCV(bandwidths=grid, random_state=4).fit(X)
    assert ours.bandwidth_ == plain.best_params_["bandwidth"]
    np.testing.assert_allclose(ours.scores_, plain.cv_results_["mean_test_score"], rtol=1e-12)
    np.testing.assert_array_equal(ours.score_samples(NEW), plain.best_estimator_.score_samples(NEW))


def test_kernels_are_exact_far_from_the_rows():
    # Where scikit-learn's own tree of many leaves has lost all digits.
    rng = np.random.default_rng(0)
    rows, far = rng.normal(size=(150, 9)), rng.normal(0, 3, (30, 9))
    kernels = peers.KernelDensityCV(bandwidths=(0.1, 0.2), random_state=0).fit(rows)
    h = kernels.bandwidth_
    exponents = -0.5 * ((far[:, None] - rows[None]) ** 2).sum(axis=2) / h**2
    exact = logsumexp(exponents, axis=1) - 9 * np.log(h * np.sqrt(2 * np.pi)) - np.log(150)
    np.testing.assert_allclose(kernels.score_samples(far), exact, rtol=1e-10)
    parts = KFold(5, shuffle=True, random_state=0).split(rows)
    learn, check = next(iter(parts))
    narrow = logsumexp(
        -0.5 * ((rows[check][:, None] - rows[learn][None]) ** 2).sum(axis=2) / 0.01, axis=1
    )
    narrow += -9 * np.log(0.1 * np.sqrt(2 * np.pi)) - np.log(learn.size)
    found = _scores(np.array([0.1]), rows[learn], rows[check])
    assert found[0] == pytest.approx(narrow.sum(), rel=1e-10)


@pytest.mark.parametrize("scale", [1e-4, 1e5])
def test_kernels_go_beyond_their_grid_until_the_best_is_inside(scale):
    ours = peers.KernelDensityCV(bandwidths=(0.5, 1.0), random_state=0).fit(scale * X)
    best = int(ours.scores_.argmax())
    assert 0 < best < len(ours.scores_) - 1
    assert ours.bandwidth_ == ours.bandwidths_[best]
    np.testing.assert_allclose(ours.bandwidths_[1:] / ours.bandwidths_[:-1], 2.0)
    assert 0.1 < ours.bandwidth_ / scale < 2.0


@pytest.mark.parametrize("rows", [np.ones((12, 2)), np.repeat(X[:3, :2], 20, axis=0)])
def test_kernels_of_repeated_rows_end_with_a_warning(rows):
    with pytest.warns(UserWarning, match="rows are repeated"):
        kernels = peers.KernelDensityCV(bandwidths=(0.5, 1.0), random_state=0).fit(rows)
    assert np.isfinite(kernels.score_samples(rows)).all()


@pytest.mark.parametrize("name", QUICK)
def test_default_sizes_and_all_parameters_are_taken_by_name(name):
    with pytest.raises(TypeError):
        getattr(peers, name)(3)


def normals(mixture):
    """Return what a fitted peer is a mixture of: weights, means, covariances."""
    if hasattr(mixture, "kernels_"):
        means = np.asarray(mixture.kernels_.tree_.data)
        covariance = mixture.bandwidth_**2 * np.eye(means.shape[1])
        return np.full(len(means), 1 / len(means)), means, [covariance] * len(means)
    found = mixture.mixture_
    n, d = found.means_.shape
    covariances = {
        "full": lambda: found.covariances_,
        "tied": lambda: [found.covariances_] * n,
        "diag": lambda: [np.diag(v) for v in found.covariances_],
        "spherical": lambda: [v * np.eye(d) for v in found.covariances_],
    }[found.covariance_type]()
    return found.weights_, found.means_, covariances


@pytest.mark.parametrize(
    "mixture",
    [quick("KernelDensityCV"), quick("VariationalMixture")]
    + [quick("FixedGaussianMixture", covariance_type=form) for form in FORMS],
)
def test_gaps_are_integrated_out(mixture):
    weights, means, covariances = normals(mixture.fit(X))
    rows = NEW.copy()
    rows[np.random.default_rng(1).random(rows.shape) < 0.4] = np.nan
    rows[0] = np.nan
    for row, found in zip(rows, mixture.score_samples(rows), strict=True):
        seen = ~np.isnan(row)
        if not seen.any():
            assert found == 0.0
            continue
        density = sum(
            w * multivariate_normal(m[seen], c[np.ix_(seen, seen)]).pdf(row[seen])
            for w, m, c in zip(weights, means, covariances, strict=True)
        )
        assert found == pytest.approx(np.log(density), rel=1e-9)


@pytest.mark.parametrize("name", QUICK)
def test_fit_puts_means_in_place_of_gaps(name):
    gappy = X.copy()
    gappy[::7, 1] = np.nan
    filled = np.where(np.isnan(gappy), np.nanmean(gappy, axis=0), gappy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = quick(name).fit(gappy).score_samples(NEW)
    np.testing.assert_array_equal(ours, quick(name).fit(filled).score_samples(NEW))


@pytest.mark.parametrize("name", QUICK)
def test_small_and_flat_tables_have_densities(name):
    rows = np.column_stack([np.arange(6.0), np.zeros(6)])
    parameters = {"n_components": 5} if name == "FixedGaussianMixture" else {}
    density = quick(name, **parameters).fit(rows)
    assert np.isfinite(density.score_samples(rows)).all()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        (
            "FixedGaussianMixture",
            {"n_components": 0},
            "n_components must be an integer of at least",
        ),
        ("FixedGaussianMixture", {"covariance_type": "round"}, 'covariance_type must be .*"full"'),
        ("GaussianMixtureByBIC", {"max_components": 2.5}, "max_components must be an integer"),
        ("GaussianMixtureByBIC", {"covariance_types": "full"}, "covariance_types must be a seq"),
        ("GaussianMixtureByBIC", {"covariance_types": ()}, "covariance_types must be a seq"),
        ("GaussianMixtureHeldOut", {"random_state": -1}, "random_state must be an integer of at"),
        ("VariationalMixture", {"width": 0}, "width must be a finite number greater than 0"),
        ("TunedVariationalMixture", {"widths": ()}, "widths must have at least one number"),
        ("KernelDensityCV", {"bandwidths": (1.0, 0.5)}, "bandwidths must be at least two growing"),
        ("KernelDensityCV", {"n_folds": 56}, "n_folds must be at most the number of rows"),
    ],
)
def test_wrong_parameters_are_named(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        quick(name, **parameters).fit(X)


def test_default_number_of_components_depends_on_the_columns():
    plane = peers.VariationalMixture(random_state=0).fit(
        np.random.default_rng(0).normal(size=(60, 2))
    )
    assert plane.mixture_.n_components == 40
    assert peers.VariationalMixture(random_state=0).fit(X).mixture_.n_components == 15


def test_generators_seed_too():
    def fitted():
        return quick("FixedGaussianMixture", random_state=np.random.default_rng(5)).fit(X)

    np.testing.assert_array_equal(fitted().mixture_.means_, fitted().mixture_.means_)
