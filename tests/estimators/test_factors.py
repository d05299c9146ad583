"""Tables with more columns than rows can bear: answers, files, limits."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score as adjusted_rand_index

import sticktree
from sticktree import DFPMixture, DPMixture
from sticktree.errors import ParameterError
from sticktree.fit.clusters import FittedClusters
from sticktree.posterior.draws import ConvergenceWarning

QUICK = {"covariance_type": "full", "depth": 2, "leaf_noise": "shared", "n_chains": 2,
         "n_warmup": 30, "n_draws": 30, "random_state": 0}  # fmt: skip


def classes_in(n_rows, n_columns, n_informative, n_classes=3, n_factors=0, seed=0):
    """Return rows with classes apart in some columns, noise factors over all, and the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    x = rng.normal(size=(n_rows, n_columns)) * np.exp(0.3 * rng.normal(size=n_columns))
    x += rng.normal(size=(n_rows, n_factors)) @ rng.normal(size=(n_factors, n_columns)) * 0.5
    x[:, :n_informative] += 2.0 * rng.normal(size=(n_classes, n_informative))[y]
    return x, y


@pytest.fixture(scope="module")
def wide():
    """Return a fit of 60 × 200, and its classes."""
    x, y = classes_in(60, 200, 20)
    return DFPMixture(**QUICK).fit(x), x, y


# ---- answers -------------------------------------------------------------------------------------


def test_three_classes_in_a_tenth_of_the_columns_are_found_as_it_comes():
    x, y = classes_in(100, 200, 20)
    mixture = DFPMixture(random_state=0).fit(x)
    assert mixture.n_clusters_ == 3
    assert adjusted_rand_index(y, mixture.labels_) > 0.98
    assert adjusted_rand_index(y, mixture.predict(x)) > 0.98


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_factors_that_are_noise_are_one_cluster(seed):
    x, _ = classes_in(80, 1000, 0, n_factors=5, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of short chains
        mixture = DFPMixture(random_state=0, n_chains=2, n_warmup=50, n_draws=100).fit(x)
    assert mixture.n_factors_ in (5, 6)
    assert mixture.n_clusters_ == 1


def test_classes_beside_factors_of_noise_are_found():
    x, y = classes_in(90, 1000, 60, n_factors=3)
    mixture = DFPMixture(**QUICK).fit(x)
    assert mixture.n_factors_ == 5  # three, and two between three classes
    assert adjusted_rand_index(y, mixture.labels_) > 0.95


def test_new_rows_are_where_they_belong():
    x, y = classes_in(200, 400, 40)
    mixture = DFPMixture(**QUICK).fit(x[:60])
    both = np.concatenate([mixture.labels_, mixture.predict(x[60:])])
    assert adjusted_rand_index(y, both) > 0.95
    assert mixture.predict_proba(x[60:]).sum(axis=1) == pytest.approx(np.ones(140))
    assert mixture.transform(x[60:64]).shape[0] == 4
    gaps = x[60:].copy()
    gaps[np.random.default_rng(1).random(gaps.shape) < 0.3] = np.nan
    assert adjusted_rand_index(y[60:], mixture.predict(gaps)) > 0.9


def test_rows_with_gaps_are_fitted_and_filled_in():
    x, y = classes_in(60, 200, 40)
    gaps = x.copy()
    gaps[np.random.default_rng(1).random(gaps.shape) < 0.15] = np.nan
    gaps[7] = np.nan
    mixture = DFPMixture(**QUICK).fit(gaps)
    kept = np.arange(60) != 7
    assert adjusted_rand_index(y[kept], mixture.labels_[kept]) > 0.95
    filled = mixture.impute(gaps)
    missing = np.isnan(gaps)
    missing[7] = False
    missing[:, 40:] = False  # the others are noise
    error = np.mean((filled - x)[missing] ** 2) / x[:, :40].var()
    assert error < 0.6
    assert np.isfinite(mixture.loo().elpd)
    assert mixture.loo().pointwise[7] == pytest.approx(0)


def test_attributes_say_what_the_factors_are(wide):
    mixture, x, _ = wide
    names = [f"gene{k}" for k in range(200)]
    loadings = mixture.loadings_
    assert mixture.n_factors_ == mixture.factors_.n_factors == 2
    assert mixture.factor_scores_.shape == (60, 2)
    assert loadings.shape == np.asarray(loadings).shape == (200, 2)
    assert {name for top in loadings.top(5) for name in top} <= set(range(20))
    np.testing.assert_allclose(mixture.factor_scores(x), mixture.factor_scores_)
    named = DFPMixture(**QUICK).fit(pd.DataFrame(x, columns=names)).loadings_
    frame = named.to_frame()
    assert list(frame.index) == names
    np.testing.assert_allclose(frame[["factor0", "factor1"]], loadings.values)
    assert frame.communality[:20].mean() > 0.5 > frame.communality[20:].mean()
    assert named.to_csv().splitlines()[0] == "column,factor0,factor1,noise,communality"
    assert "gene" in str(named)
    assert "n_factors=2" in repr(named)


def test_loadings_and_scores_make_the_rows():
    x, _ = classes_in(80, 60, 60)
    x = 100.0 + 7.0 * x
    mixture = DFPMixture(**QUICK).fit(x)
    loadings = mixture.loadings_
    left = x - (loadings.centre + mixture.factor_scores_ @ loadings.values.T)
    np.testing.assert_allclose(left.std(axis=0) / loadings.noise, 1, atol=0.4)
    assert left.var() < 0.5 * x.var()


# ---- laws ----------------------------------------------------------------------------------------


def test_units_of_columns_change_densities_by_their_size_alone(wide):
    mixture, x, _ = wide
    units = 10.0 ** np.random.default_rng(0).integers(-3, 4, size=200)
    other = DFPMixture(**QUICK).fit(x * units + 5.0)
    assert (other.labels_ == mixture.labels_).all()
    new, _ = classes_in(60, 200, 20, seed=1)
    np.testing.assert_allclose(
        other.score_samples(new * units + 5.0) + np.log(units).sum(),
        mixture.score_samples(new),
        rtol=1e-5,
    )


def test_the_same_seed_gives_the_same_answer(wide):
    mixture, x, _ = wide
    again = DFPMixture(**QUICK).fit(x)
    assert (again.score_samples(x) == mixture.score_samples(x)).all()
    assert (again.labels_ == mixture.labels_).all()


def test_a_row_of_the_fit_is_known_by_its_values(wide):
    mixture, x, _ = wide
    assert (mixture.predict(x) == mixture.labels_).all()
    np.testing.assert_allclose(
        mixture.score_samples(x[::-1].copy()), mixture.score_samples(x)[::-1]
    )
    narrow, width = mixture.factor_scores(x), mixture.factor_scores(x + 1e-9)
    np.testing.assert_allclose(narrow, width * mixture.factors_.shrinkage, atol=1e-6)


def test_weights_are_repeated_rows():
    x, _ = classes_in(40, 60, 30)
    weights = np.resize([1, 2, 1, 0], 40)
    counted = DFPMixture(**QUICK).fit(x, sample_weight=weights)
    repeated = DFPMixture(**QUICK).fit(np.repeat(x, weights, axis=0))
    new = classes_in(5, 60, 30)[0]
    np.testing.assert_allclose(counted.score_samples(new), repeated.score_samples(new))
    assert counted.factor_scores_.shape == (40, counted.n_factors_)
    assert counted.labels_.size == 40
    np.testing.assert_allclose(counted.data_, x)


# ---- files ---------------------------------------------------------------------------------------


def test_files_keep_all(wide, tmp_path):
    mixture, x, _ = wide
    sticktree.save(mixture, tmp_path / "wide.sticktree")
    again = sticktree.load(tmp_path / "wide.sticktree")
    gaps = classes_in(60, 200, 20, seed=1)[0]
    gaps[::2, ::3] = np.nan
    for rows in (x, gaps):
        assert (again.score_samples(rows) == mixture.score_samples(rows)).all()
        assert (again.predict_proba(rows) == mixture.predict_proba(rows)).all()
    assert (again.loadings_.values == mixture.loadings_.values).all()
    assert (again.loo().pointwise == mixture.loo().pointwise).all()
    assert (again.sample(3, random_state=0) == mixture.sample(3, random_state=0)).all()
    assert (again.impute(gaps) == mixture.impute(gaps)).all()
    sticktree.save(again, tmp_path / "again.sticktree")
    assert (tmp_path / "again.sticktree").read_bytes() == (tmp_path / "wide.sticktree").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        more = again.set_params(warm_start=True, n_draws=5).fit(x)
        other = DFPMixture(**QUICK).fit(x).set_params(warm_start=True, n_draws=5).fit(x)
    assert (more.score_samples(x) == other.score_samples(x)).all()


def test_a_run_goes_on_from_its_checkpoint(wide, tmp_path):
    mixture, x, _ = wide
    part = DFPMixture(**QUICK | {"n_draws": 10}, checkpoint=tmp_path)
    part.fit(x)
    whole = DFPMixture(**QUICK, checkpoint=tmp_path).fit(x)
    assert (whole.score_samples(x) == mixture.score_samples(x)).all()
    with pytest.raises(ValueError, match="other"):
        DFPMixture(**QUICK, factors=1, checkpoint=tmp_path).fit(x)


def test_a_checkpoint_from_before_there_were_factors_goes_on(tmp_path):
    x = np.random.default_rng(0).normal(size=(30, 2))
    DFPMixture(**QUICK, checkpoint=tmp_path).fit(x)
    assert "factors" not in (tmp_path / "run.json").read_text(encoding="utf-8")


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 24), (40, 4)])
def test_where_rows_are_many_for_the_columns_there_are_no_factors(shape):
    x = np.random.default_rng(0).normal(size=shape)
    mixture = DFPMixture(**QUICK | {"n_warmup": 2, "n_draws": 2}).fit(x)
    assert mixture.n_factors_ == 0
    assert mixture.factors_ is None
    for name in ("loadings_", "factor_scores_"):
        with pytest.raises(AttributeError, match=f"{name} is for fits with factors"):
            getattr(mixture, name)


def test_factors_can_be_asked_for_or_refused():
    x, _ = classes_in(60, 40, 20)
    quick = QUICK | {"n_warmup": 2, "n_draws": 2}
    assert DFPMixture(**quick, factors=4).fit(x).n_factors_ == 4
    assert DFPMixture(**quick, factors=None).fit(x).n_factors_ == 0
    assert DFPMixture(**quick, factors=0).fit(x).n_factors_ == 0
    assert DPMixture(n_chains=1, n_warmup=2, n_draws=2, factors=3).fit(x).n_factors_ == 3


@pytest.mark.parametrize("wrong", [-1, 2.5, "some", True])
def test_other_numbers_of_factors_are_refused(wrong):
    with pytest.raises(ParameterError, match=r'^factors must be None, "auto" or an integer'):
        DFPMixture(factors=wrong).fit(np.zeros((4, 3)))


@pytest.mark.parametrize(
    ("factors", "shape", "words"),
    [(5, (20, 4), "number of columns, 4"), (9, (6, 30), "one less than the 6 rows"),
     (1, (1, 30), "one less than the 1 rows|not constant")],
)  # fmt: skip
def test_more_factors_than_there_can_be_are_refused(factors, shape, words):
    x = np.random.default_rng(0).normal(size=shape)
    with pytest.raises(ParameterError, match=words):
        DFPMixture(**QUICK, factors=factors).fit(x)


def test_columns_of_other_kinds_have_no_factors():
    frame = pd.DataFrame(classes_in(30, 40, 20)[0]).rename(columns=str)
    frame["sex"] = pd.Categorical(np.resize(["f", "m"], 30))
    quick = {"n_chains": 1, "n_warmup": 2, "n_draws": 2, "covariance_type": "diag"}
    with pytest.warns(UserWarning, match="categorical"):
        mixture = DFPMixture(**quick).fit(frame)
    assert mixture.n_factors_ == 0
    with (
        pytest.warns(UserWarning, match="categorical"),
        pytest.raises(ParameterError, match=r"^factors must be .* unless all columns are gaussian"),
    ):
        DFPMixture(**quick, factors=2).fit(frame)


def test_lognormal_columns_have_factors_of_their_logarithms():
    x, y = classes_in(60, 50, 40)
    kinds = ["lognormal"] * 50
    mixture = DFPMixture(**QUICK, columns=kinds).fit(np.exp(x / 3))
    assert adjusted_rand_index(y, mixture.labels_) > 0.9
    plain = DFPMixture(**QUICK).fit(x / 3)
    np.testing.assert_allclose(
        mixture.score_samples(np.exp(x / 3)) + x.sum(axis=1) / 3, plain.score_samples(x / 3)
    )


def test_batches_have_no_factors(wide):
    mixture, x, _ = wide
    with pytest.raises(ValueError, match="must follow a fit without factors, got 2"):
        mixture.partial_fit(x)
    with pytest.raises(ParameterError, match=r'^factors must be None or "auto" with partial_fit'):
        DFPMixture(**QUICK, factors=2).partial_fit(x)


def test_counts_in_a_sparse_matrix_are_refused_with_advice():
    with pytest.raises(ParameterError, match=r"dense.*log1p"):
        DFPMixture().fit(sparse.csr_matrix(np.eye(5)))


@pytest.mark.parametrize("n_rows", [2, 3, 5])
def test_very_few_rows_of_many_columns_are_fitted(n_rows):
    x = np.random.default_rng(0).normal(size=(n_rows, 60))
    mixture = DFPMixture(**QUICK | {"n_warmup": 5, "n_draws": 5}).fit(x)
    assert np.isfinite(mixture.score_samples(x)).all()


@pytest.mark.parametrize("n_rows", [2, 12])
def test_where_no_column_varies_there_are_no_factors(n_rows):
    x = np.repeat(np.random.default_rng(0).normal(size=(1, 60)), n_rows, axis=0)
    mixture = quietly(DFPMixture(**QUICK | {"n_warmup": 5, "n_draws": 5}), x)
    assert mixture.factors_ is None
    assert mixture.n_clusters_ == 1
    assert np.isfinite(mixture.score_samples(x)).all()
    with pytest.raises(ParameterError, match="at most the number of columns that are not constant"):
        DFPMixture(**QUICK, factors=1).fit(x)


def test_columns_that_are_all_the_same_are_one_factor():
    x = np.repeat(np.random.default_rng(0).normal(size=(20, 1)), 200, axis=1)
    mixture = quietly(DFPMixture(**QUICK | {"n_warmup": 5, "n_draws": 5}), x)
    assert mixture.n_factors_ == 1
    assert np.isfinite(mixture.score_samples(x)).all()


def test_constant_repeated_and_empty_columns():
    x, y = classes_in(60, 100, 40)
    ugly = np.column_stack([x, np.full(60, 3.0), x[:, :1], x[:, :1]])
    mixture = DFPMixture(**QUICK).fit(ugly)
    assert adjusted_rand_index(y, mixture.labels_) > 0.95
    assert np.isfinite(mixture.score_samples(ugly)).all()
    assert np.isfinite(mixture.sample(5, random_state=0)).all()
    with pytest.raises(ValueError, match="only missing ones in column 100"):
        DFPMixture(**QUICK).fit(np.column_stack([x, np.full(60, np.nan)]))
    with pytest.raises(ValueError, match="infinity"):
        DFPMixture(**QUICK).fit(np.column_stack([x, np.full(60, np.inf)]))


def test_relevance_of_factors_tells_which_of_them_carry_the_classes():
    x, _ = classes_in(100, 200, 20, n_factors=2)
    mixture = quietly(DFPMixture(**QUICK), x)
    found = mixture.relevance(of="factors").table
    assert len(found) == mixture.n_factors_
    shares = [line["share"] for line in found]
    assert shares[0] > 0.5 > shares[-1]  # those of the classes, and those of the noise
    assert mixture.relevance(mixture.labels_, of="factors").table[0]["column"].startswith("factor ")
    with pytest.raises(ParameterError, match='"columns", as the fit has no factors'):
        quietly(DFPMixture(**QUICK), x[:, :3]).relevance(of="factors")


def test_the_walk_leaves_models_of_little_weight_alone(wide):
    fit = wide[0].fit_
    stacked = SimpleNamespace(
        weights={"best": 0.83, "other": 0.1, "faint": 0.07},
        predictives=dict.fromkeys(["other", "faint"], fit.posterior.predictive),
    )
    held = {"asked_level": None, "posterior": fit.posterior, "level_shares": fit.level_shares}
    for training, weights in (
        (fit.training, [0.83, 0.1]),
        (SimpleNamespace(factored=None), [0.83, 0.1, 0.07]),
    ):
        whole = SimpleNamespace(**held, training=training, stacked=stacked)
        found = FittedClusters.stepped.func(whole)
        assert [part.weight for _, part in found] == weights


def quietly(mixture, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of short chains
        return mixture.fit(x)
