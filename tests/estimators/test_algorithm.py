"""The parallel sampler behind the estimator: chosen, saved, resumed, and in agreement."""

import os
import warnings

import numpy as np
import pytest

import sticktree
from sticktree import DFPMixture, datasets
from sticktree.data import read_table
from sticktree.data.training import MANY, is_parallel, label_every
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.posterior.draws import ConvergenceWarning

FAST = {"covariance_type": "full", "leaf_noise": "shared", "depth": 3, "n_chains": 2}


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(c, 0.3, (60, 2)) for c in (-3.0, 0.0, 3.0)])


def fit(x, **choices):
    chosen = {"n_warmup": 20, "n_draws": 12, "random_state": 0, "algorithm": "parallel"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DFPMixture(**{**FAST, **chosen, **choices}).fit(x)


@pytest.fixture(scope="module")
def fitted(blobs):
    return fit(blobs)


def test_it_finds_what_is_there(fitted, blobs):
    assert fitted.algorithm_ == "parallel"
    assert len(np.unique(fitted.labels_)) == 3
    assert all(len(set(fitted.labels_[k : k + 60])) == 1 for k in (0, 60, 120))
    assert np.isfinite(fitted.score(blobs))
    assert fitted.predict_proba(blobs[:5]).sum(axis=1) == pytest.approx(1.0)
    assert fitted.sample(5, random_state=0).shape == (5, 2)
    assert fitted.tree_.n_data == 180


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_draws_do_not_depend_on_the_number_of_threads(n_jobs, fitted, blobs, monkeypatch):
    # Else no thread is started for so few rows.
    monkeypatch.setattr(ThreadPlacement, "rows_of_thread", 1)
    other = fit(blobs, n_jobs=n_jobs)
    for mine, its in zip(fitted.posterior_.draws, other.posterior_.draws, strict=True):
        np.testing.assert_array_equal(mine.leaf, its.leaf)
        assert mine.log_joint == its.log_joint


def test_wrong_words_and_wrong_columns_are_refused(blobs):
    with pytest.raises(ValueError, match=r"algorithm must be one of .*, got 'fast'"):
        DFPMixture(algorithm="fast").fit(blobs)
    with pytest.raises(ValueError, match=r'algorithm must be "gibbs" or "auto" .* with poisson'):
        DFPMixture(algorithm="parallel", columns=["poisson", "gaussian"]).fit(np.abs(blobs) // 1)


def test_auto_takes_it_where_rows_are_many_and_columns_are_gaussian(blobs):
    plain = read_table(blobs, None).columns
    mixed = read_table(np.abs(blobs) // 1, ["poisson", "gaussian"]).columns
    assert not is_parallel("auto", plain, MANY)
    assert is_parallel("auto", plain, MANY + 1)
    assert not is_parallel("auto", mixed, MANY + 1)
    assert not is_parallel("gibbs", plain, 10**9)


def test_labels_of_few_draws_are_kept_where_rows_are_many():
    assert label_every(1000, 1000, 4) == 1
    for n_rows in (10**6, 10**7, 10**9):
        every = label_every(n_rows, 1000, 4)
        assert 1000 / every >= 4
        assert 4 * (1000 // every) * n_rows * 2 <= 510_000_000 or 1000 // every <= 4


def test_draws_without_labels_serve_densities(monkeypatch, blobs):
    import sticktree.data.training as module

    monkeypatch.setattr(module, "LABEL_BYTES", 4 * 2 * 2 * len(blobs))
    mixture = fit(blobs)
    kept = [draw.labelled for draw in mixture.posterior_.draws]
    assert 0 < sum(kept) < len(kept)
    assert len(mixture.labels_) == len(blobs)
    whole = fit(blobs, algorithm="parallel", n_jobs=1)
    assert mixture.score(blobs[:20]) == pytest.approx(whole.score(blobs[:20]), abs=0.3)


def test_a_saved_fit_goes_on_to_the_identical_draws(tmp_path, blobs):
    first = fit(blobs)
    sticktree.save(first, tmp_path / "fit.sticktree")
    second = sticktree.load(tmp_path / "fit.sticktree")
    assert second.score(blobs[:9]) == first.score(blobs[:9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for mixture in (first, second):
            mixture.set_params(warm_start=True, n_draws=3).fit(blobs)
    assert len(first.posterior_) == 30
    last, other = first.posterior_.draws[-1], second.posterior_.draws[-1]
    np.testing.assert_array_equal(last.leaf, other.leaf)
    assert last.log_joint == other.log_joint


def test_a_run_that_was_cut_off_goes_on_from_its_checkpoint(tmp_path, fitted, blobs):
    fit(blobs, n_draws=5, checkpoint=tmp_path / "run")
    again = fit(blobs, checkpoint=tmp_path / "run")
    for mine, its in zip(fitted.posterior_.draws, again.posterior_.draws, strict=True):
        np.testing.assert_array_equal(mine.leaf, its.leaf)


def test_weights_repeat_rows(blobs):
    weights = np.ones(len(blobs), dtype=int)
    weights[::10] = 2
    weights[5] = 0
    mixture = fit(blobs, n_draws=4)
    weighted = DFPMixture(**FAST, n_warmup=10, n_draws=4, random_state=0, algorithm="parallel")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted.fit(blobs, sample_weight=weights)
    assert weighted.labels_.shape == mixture.labels_.shape


def test_leave_one_out_says_what_it_needs(fitted):
    with pytest.raises(ValueError, match=r'algorithm="gibbs"'):
        fitted.loo()


def test_the_data_choose_a_model_by_some_of_the_rows(blobs):
    rng = np.random.default_rng(1)
    x = np.concatenate([blobs, rng.normal(0, 4, (40, 2))])
    mixture = fit(x, covariance_type="auto", leaf_noise="auto", depth=2, n_draws=6)
    assert mixture.selection_ is not None
    assert mixture.algorithm_ == "parallel"
    assert np.isfinite(mixture.score(x))


@pytest.mark.parametrize("name", ["r15", "aggregation", "glass"])
def test_both_samplers_agree_on_real_data(name):
    if not os.environ.get("STICKTREE_DATA"):
        pytest.skip("the data sets are not here: STICKTREE_DATA names no folder")
    x = datasets.load(name).data
    rng = np.random.default_rng(0)
    held = rng.random(len(x)) < 0.1
    scores = {}
    for algorithm in ("gibbs", "parallel"):
        mixture = fit(x[~held], n_warmup=150, n_draws=150, n_chains=4, algorithm=algorithm)
        columns = mixture.posterior_.columns()
        scores[algorithm] = (
            mixture.score(x[held]),
            {
                key: (values.mean(), values.mean(axis=1).std(ddof=1) / 2)
                for key, values in columns.items()
                if key.startswith(("nodes", "concentration", "noise", "log_joint"))
            },
        )
    # Chains of this length differ among themselves: four standard errors of means of chains, and a
    # little for those that have not come round.
    assert scores["gibbs"][0] == pytest.approx(scores["parallel"][0], abs=0.1)
    for key, (mean, error) in scores["gibbs"][1].items():
        other, its_error = scores["parallel"][1][key]
        spread = np.hypot(error, its_error)
        assert abs(mean - other) < 4 * spread + 0.05 * abs(mean), (key, mean, other, spread)


def test_summaries_of_very_many_rows_are_made_when_asked_for(monkeypatch, tmp_path, fitted, blobs):
    import sticktree.fit.result as module

    monkeypatch.setattr(module, "AT_ONCE", 100)
    mixture = fit(blobs)
    assert "labels" not in mixture.fit_.summaries()
    assert mixture.score(blobs[:9]) == fitted.score(blobs[:9])
    sticktree.save(mixture, tmp_path / "fit.sticktree")
    for later in (mixture, sticktree.load(tmp_path / "fit.sticktree")):
        np.testing.assert_array_equal(later.labels_, fitted.labels_)
        assert later.tree_ == fitted.tree_
    with pytest.raises(AttributeError, match="has no attribute 'fit_'"):
        _ = DFPMixture().labels_


def test_summaries_that_fail_are_made_another_time(monkeypatch, blobs):
    import sticktree.fit.result as module

    monkeypatch.setattr(module, "AT_ONCE", 100)
    mixture = fit(blobs)
    with monkeypatch.context() as patch:
        patch.setattr("sticktree.fit.clusters.consensus_tree", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            _ = mixture.tree_
    assert mixture.tree_.n_data == len(blobs)
