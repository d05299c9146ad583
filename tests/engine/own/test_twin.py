"""The plain twin of the columns model against itself: no engine has a part in it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from sticktree import Tree
from tests.support.own import evidence, twin
from tests.support.statistics import assert_law, assert_mean

NAN = np.nan
N_DRAWS = 60
KINDS = ("gaussian", "categorical", "poisson", "gaussian", "negative_binomial")
ROWS = np.array(
    [
        [0.3, 2, 4, -1.2, 0],
        [NAN, 0, 0, 0.4, 3],
        [1.9, NAN, 2, NAN, NAN],
        [0.8, 2, NAN, 0.1, 11],
        [NAN, NAN, NAN, NAN, NAN],
    ]
)


def model_of(kinds, form, depth=2, **choices):
    n = len(kinds)
    hyper_mean = np.array([[0.7], [0.8], [-0.3]]) + 0.2 * np.arange(n)
    priors = {
        "hyper_mean": hyper_mean,
        "hyper_sd": np.full((3, n), 0.3),
        "categories": (3,) * kinds.count("categorical"),
        "node_prior": (5.0, 1.5),
        "psi": 2.0,
        "concentration_prior": (3.0, 3.0),
        "discount_prior": (2.0, 3.0),
        "discount": None,
    }
    return twin.Priors(kinds, np.array([1.0, 0.7, 0.5])[:depth], form=form, **priors | choices)


def setting_of(kinds, form, floor=0.0, **choices):
    rng = np.random.default_rng(len(kinds))
    floors = np.full(len(kinds), floor)
    return twin.sample_setting(model_of(kinds, form, floor=floors, **choices), rng)


# ---- evidence of a leaf ----------------------------------------------------------------------


@pytest.mark.parametrize("floor", [0.0, 0.8])
@pytest.mark.parametrize("form", ["diag", "spherical"])
def test_evidence_is_the_integral_over_the_parameters_of_the_leaf(form, floor):
    setting = setting_of(KINDS, form, floor)
    u = np.array([0.5, -0.3, 0.2, 0.9, -0.4, 1.1, 0.3])
    for rows in (ROWS, ROWS[1:3]):
        defined = evidence.log_leaf_evidence_by_definition(rows, u, setting)
        assert evidence.log_leaf_evidence(rows, u, setting) == pytest.approx(defined, abs=1e-7)


@pytest.mark.parametrize("members", [[0, 3], [0, 1, 3, 4], [4], []])
def test_evidence_of_the_full_form_is_a_product_of_predictive_densities(members):
    setting = setting_of(("gaussian", "gaussian"), "full")
    rows, u = ROWS[:, [0, 3]][members], np.array([0.5, -0.3])
    # Empty rows say nothing, by the definition of a missing value; no need to integrate over them.
    seen = rows[~np.isnan(rows).all(axis=1)]
    defined = evidence.log_leaf_evidence_by_definition(seen, u, setting)
    assert evidence.log_leaf_evidence(rows, u, setting) == pytest.approx(defined, abs=1e-6)


@pytest.mark.parametrize("members", [[0, 3], [0, 1, 2], [1, 2, 3]])
def test_evidence_of_the_full_form_is_a_mean_over_inverse_wishart_draws(members):
    setting = setting_of(("gaussian",) * 2, "full")
    kappa, a, _ = setting.hyper[:, 0]
    rows, u = ROWS[:, [0, 3]][members], np.array([0.5, -0.3])
    seen = np.flatnonzero(~np.isnan(rows))
    draws = stats.invwishart.rvs(1 + 2 * a, setting.psi, 20_000, random_state=3)
    # Given R the entries of all rows are normal: R within a row, R/κ between any two.
    covariance = np.array([np.kron(np.eye(len(rows)) + 1 / kappa, draw) for draw in draws])
    covariance = covariance[:, seen[:, None], seen]
    apart = (rows - u).ravel()[seen]
    quadratic = np.einsum("i,nij,j->n", apart, np.linalg.inv(covariance), apart)
    log_det = np.linalg.slogdet(covariance)[1]
    densities = np.exp(-0.5 * (seen.size * np.log(2 * np.pi) + log_det + quadratic))
    exact = np.exp(evidence.log_leaf_evidence(rows, u, setting))
    assert_mean(densities / exact, 1.0)


def test_one_column_has_the_same_evidence_in_all_forms():
    diag = setting_of(("gaussian",), "diag")
    _, a, b = diag.hyper[:, 0]
    rows, u = np.array([[0.3], [NAN], [1.9]]), np.array([-0.4])
    same = replace(diag, form="spherical"), replace(diag, form="full", psi=np.array([[2 * a * b]]))
    for setting in same:
        assert evidence.log_leaf_evidence(rows, u, setting) == pytest.approx(
            evidence.log_leaf_evidence(rows, u, diag), abs=1e-12
        )


@pytest.mark.parametrize("form", ["diag", "spherical", "full"])
def test_evidence_takes_many_places_of_the_parent_at_once(form):
    setting = setting_of(KINDS, form, floor=0.1)
    u = np.random.default_rng(1).standard_normal((2, 3, setting.n_coordinates))
    together = evidence.log_leaf_evidence(ROWS, u, setting)
    for k in np.ndindex(2, 3):
        assert together[k] == pytest.approx(evidence.log_leaf_evidence(ROWS, u[k], setting))


# ---- draws -----------------------------------------------------------------------------------


def test_variance_keeps_above_its_floor():
    rng = np.random.default_rng(2)
    law = stats.invgamma(1.5, scale=1.5 * 0.8)

    class Truncated:
        def cdf(self, s):
            return np.maximum(law.cdf(s) - law.cdf(0.6), 0) / law.sf(0.6)

    draws = [twin.sample_variance(1.5, 0.8, 0.6, rng) for _ in range(2_000)]
    assert min(draws) >= 0.6
    assert_law(draws, Truncated())
    assert_law([twin.sample_variance(1.5, 0.8, 0.0, rng) for _ in range(2_000)], law)


@pytest.mark.parametrize(
    ("kinds", "form"),
    [
        (("gaussian",), "diag"),
        (("gaussian",) * 2, "spherical"),
        (("gaussian",) * 2, "full"),
        (("categorical",), "diag"),
        (("poisson",), "diag"),
        (("negative_binomial",), "diag"),
    ],
)
def test_rows_of_a_leaf_have_its_evidence_as_their_law(kinds, form):
    # The mean of q/p over draws from p is 1 for every density q; this q has lighter tails than p.
    rng = np.random.default_rng(4)
    setting = setting_of(kinds, form, floor=0.3)
    u = np.array([0.4, -0.5, 0.1])[: setting.n_coordinates]
    q = {
        "gaussian": stats.norm(u[0], [0.4, 1.0]),
        "categorical": stats.rv_discrete(values=([0, 1, 2], [0.5, 0.2, 0.3])),
        "poisson": stats.poisson(1.0),
        "negative_binomial": stats.geom(0.6, loc=-1),
    }[kinds[0]]
    log_q = q.logpdf if kinds[0] == "gaussian" else q.logpmf
    ratios = []
    for _ in range(2_000):
        rows = twin.sample_leaf(2, u, setting, rng)
        ratios.append(np.exp(log_q(rows.T).sum() - evidence.log_leaf_evidence(rows, u, setting)))
    assert_mean(ratios, 1.0)


# ---- the joint law: draws against densities --------------------------------------------------


def moved(setting, c=0.0, d=0.0, v=0.0, kappa=0.0, a=0.0, b=0.0, psi=0.0):
    """Return a setting whose logs (and logit d) have been moved, each group together."""
    factor = np.where(setting.used, np.exp([[kappa], [a], [b]]), 1.0)
    return replace(
        setting,
        c=setting.c * np.exp(c),
        discount=expit(logit(setting.discount) + d),
        v=setting.v * np.exp(v),
        hyper=setting.hyper * factor,
        psi=setting.psi * np.exp(psi) if setting.form == "full" else None,
    )


def slopes(function, n_directions, step=1e-4):
    """Return the derivatives of a function along its arguments, at 0."""
    steps = step * np.eye(n_directions)
    return np.array([function(*e) - function(*-e) for e in steps]) / (2 * step)


@pytest.mark.parametrize(("kinds", "form"), [(KINDS, "diag"), (KINDS[:4], "full")])
def test_drawn_hyper_parameters_have_the_density_of_their_prior(kinds, form):
    # For any law: E ∂ log p/∂e = 0 and E f(x) ∂ log p/∂e = −E ∂f/∂e.
    rng = np.random.default_rng(8)
    model = model_of(kinds, form, hyper_sd=np.ones((3, len(kinds))))
    values = []
    for _ in range(200):
        setting = twin.sample_setting(model, rng)
        psi = np.eye(2) if setting.psi is None else setting.psi
        n_psi = 3 * (form == "full")  # entries of a symmetric matrix

        def log_density(*moves, setting=setting, n_psi=n_psi):
            new = moved(setting, *moves)
            jacobian = np.log([new.c, new.discount, 1 - new.discount]).sum() + n_psi * moves[-1]
            jacobian += np.log(new.v).sum() + np.log(new.hyper[new.used]).sum()
            return twin.log_hyper_prior(new, model) + jacobian

        score = slopes(log_density, 7)
        apart = np.where(setting.used, np.log(setting.hyper) - model.hyper_mean, 0.0).sum(axis=1)
        f = [np.log(setting.c), logit(setting.discount), np.log(setting.v).sum(), *apart]
        f = np.array([*f, np.linalg.slogdet(psi)[1]])
        of_f = [1, 1, setting.v.size, *setting.used.sum(axis=1), 2 * (form == "full")]
        values.append(np.concatenate([score, f * score + of_f]))
    assert_mean(values, 0.0)


@pytest.mark.parametrize(
    ("kinds", "form"), [(KINDS, "diag"), (KINDS[:4], "spherical"), (KINDS[:4], "full")]
)
def test_draws_given_hyper_parameters_have_the_joint_density(kinds, form):
    # For any law with parameter θ: E ∂ log p/∂θ = 0; along x itself as above.
    rng = np.random.default_rng(5)
    model = model_of(kinds, form, floor=np.full(len(kinds), 0.1))
    values = []
    for _ in range(N_DRAWS):
        setting, tree, phi, data = twin.sample_prior(model, 4, rng)
        above = tree.parent[tree.leaf[0]]

        def log_density(place, y, *moves, draw=(setting, tree, phi, data), above=above):
            setting, tree, phi, data = draw
            phi, data = phi.copy(), data.copy()
            phi[above, 0] += place
            data[0, 0] += y
            return twin.log_joint(tree, phi, data, moved(setting, *moves))

        score = slopes(log_density, 9)
        # The tail of a datum is a power: tanh keeps moments finite.
        of_place = phi[above, 0] * score[0] + 1
        of_datum = np.tanh(data[0, 0]) * score[1] + np.cosh(data[0, 0]) ** -2
        values.append([*score, of_place, of_datum])
    assert_mean(values, 0.0)


def test_joint_density_is_what_its_words_say():
    setting = setting_of(("gaussian", "poisson"), "diag")
    tree = Tree.from_paths([(1, 1), (1, 2), (2, 1), (1, 1)])
    rng = np.random.default_rng(6)
    phi = rng.standard_normal((tree.n_nodes, 2))
    data = np.array([[0.1, 2.0], [NAN, 1.0], [0.7, NAN], [-0.4, 0.0]])
    first, second = phi[1], phi[2]
    sd = np.sqrt(setting.v)
    expected = setting.law.log_prob(tree)
    expected += stats.norm.logpdf(phi[0], 0, sd[0]).sum()
    expected += stats.norm.logpdf(np.array([first, second]), phi[0], sd[1]).sum()
    for members, u in (([0, 3], first), ([1], first), ([2], second)):
        expected += evidence.log_leaf_evidence(data[members], u, setting)
    assert twin.log_joint(tree, phi, data, setting) == pytest.approx(expected)
    elsewhere = np.where(tree.level[:, None] == 2, NAN, phi)
    assert twin.log_joint(tree, elsewhere, data, setting) == pytest.approx(expected)


@pytest.mark.parametrize("form", ["diag", "full"])
def test_statistics_are_finite_and_as_many_for_all_draws(form):
    rng = np.random.default_rng(7)
    model = model_of(KINDS, form)
    draws = [twin.sample_prior(model, 5, rng) for _ in range(200)]
    values = np.array(
        [twin.statistics(tree, phi, setting, data) for setting, tree, phi, data in draws]
    )
    assert np.isfinite(values).all()
    missing = [twin.statistics(t, phi, s, np.where(ROWS == 2, NAN, y)) for s, t, phi, y in draws]
    assert np.shape(missing)[1] < values.shape[1]
    assert (np.ptp(values, axis=0) > 0).all()
