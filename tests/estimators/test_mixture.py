"""The estimators: units, seeds, copies, warm starts, presets and scikit-learn's own checks."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sticktree.inference.fitting
from sticktree import DFPMixture, DirichletDiffusionTree, DPMixture, PitmanYorDiffusionTree
from sticktree.posterior.draws import ConvergenceWarning
from sticktree.processes import ConstantDivergence, DiffusionDivergence, LogDivergence

QUICK = {"covariance_type": "full", "n_chains": 2, "n_warmup": 20, "n_draws": 15, "random_state": 0}


def rows(n_rows=24, dimension=2, seed=0):
    rng = np.random.default_rng(seed)
    shift = np.repeat([0.0, 9.0], n_rows // 2)[:, None]
    return rng.standard_normal((n_rows, dimension)) + shift


def quiet_fit(mixture, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(data)


def fit(data, **parameters):
    return quiet_fit(DFPMixture(**{"depth": 3} | QUICK | parameters), data)


def assert_same_draws(first, second):
    assert len(first.posterior_) == len(second.posterior_)
    for a, b in zip(first.posterior_.draws, second.posterior_.draws, strict=True):
        for name in ("leaf", "parent", "level"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        for name in a.parameters:
            np.testing.assert_array_equal(a.parameters[name], b.parameters[name])
        assert (a.concentration, a.discount, a.log_joint) == (
            b.concentration,
            b.discount,
            b.log_joint,
        )


def log_joints(mixture):
    return [draw.log_joint for draw in mixture.posterior_.draws]


# ---- units -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_change_of_units_leaves_trees_and_shifts_log_densities(form):
    factor, shift = np.array([1e3, 0.02]), np.array([5e4, -3.0])
    x, new = rows(), rows(10, seed=1)
    mine = fit(x, covariance_type=form)
    other = fit(x * factor + shift, covariance_type=form)
    np.testing.assert_array_equal(mine.labels_, other.labels_)
    for a, b in zip(mine.posterior_.draws, other.posterior_.draws, strict=True):
        assert a.tree == b.tree
        np.testing.assert_allclose(a.parameters["scales"], b.parameters["scales"], rtol=1e-6)
    np.testing.assert_allclose(
        other.score_samples(new * factor + shift),
        mine.score_samples(new) - np.log(factor).sum(),
        atol=1e-6,
    )
    np.testing.assert_allclose(
        other.predict_proba(new * factor + shift), mine.predict_proba(new), atol=1e-6
    )
    np.testing.assert_allclose(
        other.sample(5, random_state=0), mine.sample(5, random_state=0) * factor + shift, rtol=1e-6
    )


def test_data_as_they_are_can_be_used_without_standardising():
    x = rows()
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    inside, outside = fit(x), fit(x, standardize=False)
    np.testing.assert_allclose(inside.score_samples(x), outside.score_samples(x), atol=1e-6)
    assert (fit(rows() * 100, standardize=False).labels_ >= 0).all()


# ---- seeds -------------------------------------------------------------------------------------


def test_draws_depend_on_the_seed_alone_not_on_threads():
    alone = fit(rows(), n_chains=4, n_jobs=1)
    for n_jobs in (2, 4, -1, None):
        assert_same_draws(alone, fit(rows(), n_chains=4, n_jobs=n_jobs))


def test_other_seeds_give_other_draws():
    seeds = (0, 1, np.random.default_rng(0), np.random.RandomState(0), None, None)
    assert len({tuple(log_joints(fit(rows(), random_state=seed))) for seed in seeds}) == 6


@pytest.mark.parametrize("make", [np.int64, np.random.default_rng, np.random.RandomState])
def test_every_kind_of_seed_is_reproducible(make):
    assert_same_draws(fit(rows(), random_state=make(3)), fit(rows(), random_state=make(3)))


def test_chains_differ_from_each_other():
    first, second = fit(rows()).posterior_.chains
    assert [draw.log_joint for draw in first] != [draw.log_joint for draw in second]


def test_fitting_again_forgets_the_former_fit():
    mixture = fit(rows(seed=1, dimension=3))
    assert_same_draws(quiet_fit(mixture, rows()), fit(rows()))
    assert mixture.n_features_in_ == 2


def test_fit_predict_returns_the_labels_and_fit_itself():
    mixture = DFPMixture(depth=3, **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = mixture.fit_predict(rows())
        assert mixture.fit(rows()) is mixture
    np.testing.assert_array_equal(labels, mixture.labels_)
    np.testing.assert_array_equal(mixture.labels_, mixture.cluster(mixture.level_))


@pytest.mark.parametrize(
    "change",
    [{"n_jobs": 0}, {"level": 9}, {"checkpoint": "folder"}],
    ids=["n_jobs", "level", "checkpoint"],
)
def test_fit_that_is_refused_leaves_the_former_one_as_it_was(tmp_path, change):
    if "checkpoint" in change:
        change = {"checkpoint": tmp_path}
        fit(rows(seed=5), **change)
    mixture = fit(rows())
    before = mixture.score_samples(rows())
    with pytest.raises(ValueError, match=r"must be|other data"):
        quiet_fit(mixture.set_params(**change), 100 * rows(seed=1))
    mixture.set_params(n_jobs=None, level=None, checkpoint=None)
    np.testing.assert_array_equal(mixture.score_samples(rows()), before)


# ---- copies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [DFPMixture, DPMixture, DirichletDiffusionTree, PitmanYorDiffusionTree]
)
def test_clone_has_the_parameters_and_nothing_else(kind):
    mixture = kind(**QUICK | {"discount": 0.2, "covariance_type": "diag"})
    copied = clone(quiet_fit(mixture, rows()))
    assert copied.get_params() == mixture.get_params()
    assert not hasattr(copied, "posterior_")
    copied.set_params(discount=0.3, n_draws=7)
    assert (copied.discount, copied.n_draws, mixture.discount) == (0.3, 7, 0.2)
    with pytest.raises(ValueError, match="Invalid parameter 'wrong'"):
        copied.set_params(wrong=1)


def through_a_file(mixture, path):
    joblib.dump(mixture, path)
    return joblib.load(path)


@pytest.mark.parametrize(
    "trip",
    [
        lambda mixture, path: pickle.loads(pickle.dumps(mixture)),
        lambda mixture, path: copy.deepcopy(mixture),
        through_a_file,
    ],
    ids=["pickle", "deepcopy", "joblib"],
)
def test_copies_predict_the_same_and_go_on_with_the_same_draws(trip, tmp_path):
    mixture = fit(rows(), warm_start=True)
    copied = trip(mixture, tmp_path / "mixture")
    for method in ("score_samples", "predict", "predict_proba", "transform"):
        np.testing.assert_array_equal(
            getattr(copied, method)(rows(seed=1)), getattr(mixture, method)(rows(seed=1))
        )
    np.testing.assert_array_equal(
        copied.sample(5, random_state=0), mixture.sample(5, random_state=0)
    )
    assert copied.tree_ == mixture.tree_
    before = len(mixture.posterior_)
    quiet_fit(copied, rows())
    assert len(mixture.posterior_) == before
    assert_same_draws(copied, quiet_fit(mixture, rows()))


# ---- warm start --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
@pytest.mark.parametrize("thin", [1, 3])
def test_warm_start_adds_the_draws_of_a_longer_run(form, thin):
    choices = {"covariance_type": form, "thin": thin, "discount": None}
    mixture = fit(rows(), n_draws=5, warm_start=True, **choices)
    first = mixture.posterior_.draws
    quiet_fit(mixture.set_params(n_draws=8), rows())
    whole = fit(rows(), n_draws=13, **choices)
    assert_same_draws(mixture, whole)
    assert mixture.posterior_.chains[0][:5] == first[:5]
    np.testing.assert_array_equal(mixture.labels_, whole.labels_)
    np.testing.assert_array_equal(mixture.score_samples(rows()), whole.score_samples(rows()))


def test_warm_start_without_a_fit_starts():
    assert_same_draws(fit(rows(), warm_start=True), fit(rows()))


@pytest.mark.parametrize(
    "data", [rows(seed=1), rows(26), rows() + 1e-9], ids=["values", "rows", "digits"]
)
def test_warm_start_with_other_data_is_refused(data):
    mixture = fit(rows(), warm_start=True)
    with pytest.raises(ValueError, match=r"X must be the data of the last fit .* warm_start=True"):
        mixture.fit(data)
    assert len(mixture.posterior_) == 30


def test_warm_start_with_other_columns_is_refused():
    with pytest.raises(ValueError, match=r"X has 3 features, .* expecting 2"):
        fit(rows(), warm_start=True).fit(rows(dimension=3))


@pytest.mark.parametrize(
    "change",
    [
        {"depth": 5},
        {"covariance_type": "spherical"},
        {"scales": "shared"},
        {"discount": 0.5},
        {"concentration": 2.0},
        {"n_chains": 3},
    ],
    ids=lambda change: next(iter(change)),
)
def test_warm_start_with_another_model_is_refused(change):
    # The chains would go on with the old model, and predictions be made with the new one.
    mixture = fit(rows(), warm_start=True).set_params(**change)
    with pytest.raises(ValueError, match="warm_start"):
        quiet_fit(mixture, rows())


# ---- presets -----------------------------------------------------------------------------------


def test_dirichlet_process_mixture_has_one_level():
    mixture = quiet_fit(DPMixture(**QUICK), rows())
    assert (mixture.depth, mixture.posterior_.depth) == (1, 1)
    assert len(set(mixture.labels_[:12]) & set(mixture.labels_[12:])) == 0
    same = fit(rows(), depth=1, divergence="constant")
    assert_same_draws(mixture, same)


def test_dirichlet_diffusion_tree_has_many_equal_steps():
    mixture = quiet_fit(DirichletDiffusionTree(**QUICK), rows())
    assert (mixture.depth, mixture.posterior_.depth) == (40, 39)
    assert all((draw.parameters["scales"] == 1).all() for draw in mixture.posterior_.draws)
    assert_same_draws(mixture, fit(rows(), depth=40, scales="shared"))
    assert quiet_fit(DirichletDiffusionTree(7, **QUICK), rows()).posterior_.depth == 6


def test_diffusion_trees_take_the_discount_off_their_concentrations():
    learned = quiet_fit(PitmanYorDiffusionTree(8, **QUICK), rows())
    assert (learned.fit_.model.less_discount, learned.fit_.model.discount) == (True, None)
    assert_same_draws(
        learned, fit(rows(), depth=8, scales="shared", divergence="diffusion", discount=None)
    )
    fixed = [
        quiet_fit(kind(8, discount=0.4, **QUICK), rows())
        for kind in (DirichletDiffusionTree, PitmanYorDiffusionTree)
    ]
    assert_same_draws(*fixed)
    plain = fit(rows(), depth=8, scales="shared", discount=0.4)
    assert fixed[0].posterior_.draws[-1].log_joint != plain.posterior_.draws[-1].log_joint


def test_exact_model_of_the_paper_can_be_fitted():
    paper = {
        "scales": "shared",
        "covariance_type": "spherical",
        "precision_prior": (1.0, 1.0),
    }
    mixture = fit(rows(), depth=5, **paper)
    for draw in mixture.posterior_.draws:
        assert (draw.parameters["scales"] == 1).all()
        assert draw.parameters["factor"].shape == ()
    assert np.isfinite(mixture.score_samples(rows())).all()


@pytest.mark.parametrize(
    ("divergence", "same"),
    [
        ("log", LogDivergence()),
        ("constant", ConstantDivergence()),
        ("diffusion", DiffusionDivergence()),
        ("constant", 1.0),
        ("constant", [1.0, 1.0, 1.0]),
        ("constant", lambda level: 1.0),
    ],
    ids=["log", "constant", "diffusion", "number", "array", "function"],
)
def test_divergence_can_be_said_in_several_ways(divergence, same):
    assert_same_draws(fit(rows(), divergence=divergence), fit(rows(), divergence=same))


def test_parameters_that_are_not_learned_stay():
    mixture = fit(rows(), concentration=0.7, discount=0.25)
    assert {draw.concentration for draw in mixture.posterior_.draws} == {0.7}
    assert {draw.discount for draw in mixture.posterior_.draws} == {0.25}
    learned = fit(rows(), discount=None).posterior_.draws
    assert len({draw.concentration for draw in learned}) == len(learned)
    assert len({draw.discount for draw in learned}) == len(learned)


# ---- scikit-learn ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sticktree.posterior.draws.ConvergenceWarning")
@parametrize_with_checks(
    [DFPMixture(n_chains=2, n_warmup=4, n_draws=4)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": (
            "rows in another order meet other random numbers: the law is the same, not the draws"
        )
    },
)
def test_checks_of_scikit_learn_pass(estimator, check, monkeypatch):
    # Without it scikit-learn leaves out the check of its array interface.
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


def test_mixture_works_at_the_end_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), DFPMixture(depth=3, **QUICK))
    labels = quiet_fit(pipeline, rows()).predict(rows())
    assert not set(labels[:12]) & set(labels[12:])
    assert np.isfinite(pipeline.score(rows()))


def test_level_is_checked_before_any_sweep(monkeypatch):
    monkeypatch.setattr(sticktree.inference.fitting, "sample", lambda *_: pytest.fail("swept"))
    with pytest.raises(ValueError, match="level must be an integer between 0 and 2, got 3"):
        fit(rows(), level=3)
