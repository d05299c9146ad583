"""Models that predict well answer together about densities: by default, and one switch away."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import sticktree
from sticktree import DFPMixture, DPMixture
from sticktree.posterior.draws import ConvergenceWarning
from sticktree.posterior.stacking import Stack
from sticktree.posterior.walk import Walk
from sticktree.report import build_report

QUICK = {"depth": 2, "n_chains": 2, "n_warmup": 30, "n_draws": 20, "progress": False}


def rows(n=30, seed=0, gaps=True):
    rng = np.random.default_rng(seed)
    x = 10.0 * (rng.normal(size=(n, 2)) + np.repeat([0.0, 6.0], n // 2)[:, None]) + 500.0
    if gaps:
        x[::7, 1] = np.nan
    return x


def quietly(call, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(*arguments)


def fit(x=None, **parameters):
    mixture = DFPMixture(**QUICK | {"random_state": 0} | parameters)
    return quietly(mixture.fit, rows() if x is None else x)


@pytest.fixture(scope="module", autouse=True)
def weights_for_all():
    """Give all models that were not dropped the same weight, so that there is something to mix."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sticktree.inference.selection.cautious_weights",
            lambda pointwise, chosen: np.full(pointwise.shape[1], 1 / pointwise.shape[1]),
        )
        yield


@pytest.fixture(scope="module")
def mixture():
    return fit()


ANSWERS = {
    "score_samples": lambda mixture: mixture.score_samples(rows(seed=1)),
    "sample": lambda mixture: mixture.sample(20, random_state=3),
    "impute": lambda mixture: mixture.impute(rows(seed=1)),
    "impute draws": lambda mixture: mixture.impute(rows(seed=1), n_draws=3, random_state=4),
    "loo": lambda mixture: mixture.loo().pointwise,
}


def test_by_default_the_stack_answers_with_all_draws_of_the_chosen_model(mixture):
    stack, x = mixture.stack(), rows(seed=1)
    best = mixture.selection_.best
    assert next(iter(stack.weights)) == best
    assert len(stack.weights) == 3
    assert sum(stack.weights.values()) == pytest.approx(1.0)
    assert isinstance(mixture.predictive_, Stack)
    assert stack.predictives[best] is mixture.posterior_.predictive
    np.testing.assert_array_equal(mixture.score_samples(x), stack.score_samples(x))
    assert mixture.score(x) == stack.score(x)
    # By hand, from the draws that are kept.
    each = [
        np.log(weight) + Stack({name: 1.0}, stack.predictives, stack.scaling).score_samples(x)
        for name, weight in stack.weights.items()
    ]
    np.testing.assert_allclose(mixture.score_samples(x), np.logaddexp.reduce(each), rtol=1e-12)


@pytest.mark.parametrize("asked", ANSWERS)
def test_best_is_the_chosen_model_alone_and_can_be_set_after_the_fit(mixture, asked):
    averaged = ANSWERS[asked](mixture)
    try:
        alone = ANSWERS[asked](mixture.set_params(averaging="best"))
        fitted_so = ANSWERS[asked](fit(averaging="best"))
        # The same as if there were no others.
        only = fit(averaging="best")
        only.selection_.draws.clear()
        del vars(only.fit_)["stacked"]
        without = ANSWERS[asked](only.set_params(averaging="stack"))
    finally:
        mixture.set_params(averaging="stack")
    np.testing.assert_array_equal(alone, fitted_so)
    np.testing.assert_array_equal(alone, without)
    assert not np.array_equal(alone, averaged)
    np.testing.assert_array_equal(ANSWERS[asked](mixture), averaged)


def test_clusters_do_not_depend_on_the_switch(mixture):
    alone = fit(averaging="best")
    np.testing.assert_array_equal(mixture.labels_, alone.labels_)
    x = rows(seed=1)
    np.testing.assert_array_equal(mixture.predict_proba(x), alone.predict_proba(x))


def test_leave_one_out_says_of_what_it_is(mixture):
    assert f"by a stack of {len(mixture.stack().weights)} models" in str(mixture.loo())
    assert "stack" not in str(fit(averaging="best").loo())


@pytest.mark.parametrize("asked", ANSWERS)
def test_answers_are_the_same_for_any_number_of_threads_and_from_a_file(mixture, asked, tmp_path):
    np.testing.assert_array_equal(ANSWERS[asked](fit(n_jobs=1)), ANSWERS[asked](mixture))
    sticktree.save(mixture, tmp_path / "it.sticktree")
    loaded = sticktree.load(tmp_path / "it.sticktree")
    np.testing.assert_array_equal(ANSWERS[asked](loaded), ANSWERS[asked](mixture))
    loaded.set_params(averaging="best")
    np.testing.assert_array_equal(ANSWERS[asked](loaded), ANSWERS[asked](fit(averaging="best")))


def test_a_run_that_goes_on_from_a_checkpoint_answers_the_same(mixture, tmp_path):
    for _ in range(2):
        resumed = fit(checkpoint=tmp_path)
        for asked in ANSWERS.values():
            np.testing.assert_array_equal(asked(resumed), asked(mixture))


def test_more_draws_of_the_chosen_model_leave_the_others_as_they_are():
    mixture = fit(warm_start=True)
    before = mixture.stack()
    quietly(mixture.fit, rows())
    after = mixture.stack()
    assert after.weights == before.weights
    best, *others = after.weights
    assert len(after.predictives[best].draws) == 2 * len(before.predictives[best].draws)
    for name in others:
        draws = [after.predictives[name].draws, before.predictives[name].draws]
        assert [one.draw for one in draws[0]] == [one.draw for one in draws[1]]


def test_what_is_sent_to_workers_answers_densities_as_the_fit_does(mixture):
    x = mixture.fit_.training.scaling.standardised(rows(seed=1))
    sent = mixture.fit_.to_be_sent(with_labels=False)
    for averaging in ("stack", "best"):
        expected = mixture.fit_.log_density(x, averaging)
        np.testing.assert_array_equal(sent.log_density(x, averaging), expected)
    assert sent.selection is None
    labelled = mixture.fit_.to_be_sent(with_labels=True)
    assert labelled.stacked is None
    np.testing.assert_array_equal(labelled.membership_of(x), mixture.fit_.membership_of(x))


def test_the_chosen_model_is_alone_where_rows_are_for_the_parallel_sampler():
    mixture = DFPMixture(**QUICK, random_state=0)
    quietly(mixture.partial_fit, rows(60))
    assert mixture.stack().weights == {mixture.selection_.best: 1.0}
    quietly(mixture.partial_fit, rows(60, seed=1))
    assert mixture.stack().weights == {mixture.selection_.best: 1.0}
    alone = mixture.posterior_.predictive
    x = mixture.fit_.training.scaling.standardised(rows(seed=2))
    np.testing.assert_array_equal(mixture.predictive_.log_density(x), alone.log_density(x))


def test_nothing_changes_where_nothing_was_chosen():
    mixture = fit(covariance_type="diag", leaf_noise="shared")
    assert mixture.predictive_ is mixture.posterior_.predictive
    expected = mixture.score_samples(rows(seed=1))
    mixture.set_params(averaging="best")
    np.testing.assert_array_equal(mixture.score_samples(rows(seed=1)), expected)


def test_presets_that_choose_have_the_switch_too():
    mixture = DPMixture(covariance_type="auto", averaging="best", random_state=0)
    quietly(mixture.set_params(n_warmup=20, n_draws=10).fit, rows())
    assert mixture.predictive_ is mixture.posterior_.predictive
    assert isinstance(mixture.set_params(averaging="stack").predictive_, Stack)


@pytest.mark.parametrize("asked", ANSWERS)
def test_another_word_is_refused_before_a_fit_and_after(mixture, asked):
    with pytest.raises(ValueError, match=r"averaging must be one of \('stack', 'best'\), got 'mea"):
        fit(averaging="mean")
    try:
        with pytest.raises(ValueError, match="averaging must be one of"):
            ANSWERS[asked](mixture.set_params(averaging="mean"))
    finally:
        mixture.set_params(averaging="stack")


def test_pictures_show_the_density_that_answers(mixture):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from sticktree.plotting import DensityDisplay

    shown = DensityDisplay.from_estimator(mixture, n_draws=10_000, resolution=5)
    at = np.stack(np.meshgrid(*shown.grid, indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(shown.log_density.ravel(), mixture.score_samples(at), rtol=1e-9)
    assert build_report(mixture) != build_report(fit(averaging="best"))


def test_draws_of_a_candidate_that_are_not_finite_are_named(mixture):
    stack = mixture.stack()
    name = list(stack.weights)[-1]
    broken = stack.predictives[name].draws[1].draw
    kept = {key: values.copy() for key, values in broken.parameters.items()}
    try:
        for values in broken.parameters.values():
            if values.dtype.kind == "f":
                values[...] = np.nan
        with pytest.warns(RuntimeWarning, match=r"selection_\.draws\['.*'\]\[1\]"):
            mixture.score_samples(rows(seed=1))
    finally:
        for key, values in kept.items():
            broken.parameters[key][...] = values


def test_clusters_step_in_draws_of_all_models_of_the_stack(mixture):
    fit, stack = mixture.fit_, mixture.stack()
    parts = [part for _, part in fit.stepped]
    assert [part.weight for part in parts] == list(stack.weights.values())
    assert fit.walk.profiles.share.size > len(parts)
    inside = mixture.predict_proba(rows(seed=1))
    np.testing.assert_allclose(inside.sum(axis=1), 1.0)
    assert adjusted_rand_score(mixture.predict(rows()), mixture.labels_) > 0.9
    alone = Walk.of(fit.posterior.labelled, fit.model.depth)
    own = parts[0].weight * alone.memberships(mixture.labels_)
    assert (fit.membership >= own - 0.1).all()


def test_a_level_that_is_asked_for_is_one_of_the_models_own_trees(mixture):
    fit = mixture.fit_
    assert len(replace(fit, asked_level=1).stepped) == 1
