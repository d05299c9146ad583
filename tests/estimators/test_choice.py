"""The data choose: noise, covariance and depth by leave-one-out density, and what comes of it."""

import warnings

import numpy as np
import pytest

from sticktree import DFPMixture, DPMixture
from sticktree.inference.candidates import Candidates
from sticktree.inference.parameters import checked
from sticktree.model import Column
from sticktree.posterior.draws import ConvergenceWarning

QUICK = {"n_chains": 2, "n_warmup": 60, "n_draws": 60, "random_state": 0, "progress": False}


def fit(data, *, sample_weight=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DFPMixture(**QUICK | parameters).fit(data, sample_weight=sample_weight)


def uneven(n=60, seed=0):
    """Make two clusters of the same place and very different spread in two columns."""
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=(n, 2)) * [3.0, 0.05] + [0.0, 4.0]
    narrow = rng.normal(size=(n, 2)) * [0.05, 3.0] - [0.0, 8.0]
    return np.vstack([wide, narrow])


@pytest.fixture(scope="module")
def chosen():
    return fit(uneven(), depth=3)


def test_own_noise_is_chosen_where_clusters_differ_in_spread(chosen):
    assert chosen.leaf_noise_ == "own"
    assert chosen.depth_ in (2, 3)
    assert chosen.selection_.best.startswith("own")
    names = [row["name"] for row in chosen.selection_.table]
    assert sorted(names) == sorted(
        f"{form}, depth {depth}"
        for form in ("shared full", "own diag", "own full")
        for depth in (2, 3)
    )
    assert "own" in str(chosen.selection_)


def test_models_are_compared_in_the_units_of_the_table():
    # In powers of two, so that standardised rows are the same to the last bit.
    data, units = uneven(6), np.array([1024.0, 0.25])
    few = {"depth": 2, "n_warmup": 6, "n_draws": 6}
    one, other = (fit(x, **few).selection_.results for x in (data, data * units))
    for name in one:
        np.testing.assert_allclose(
            other[name].pointwise, one[name].pointwise - np.log(units).sum(), atol=1e-9
        )
        assert other[name].elpd == pytest.approx(other[name].pointwise.sum())


def test_choice_costs_at_most_half_a_fit(chosen):
    n_candidates = len(chosen.selection_.table)
    assert chosen.selection_.n_sweeps <= max(0.5 * 2 * 120, 2 * n_candidates)


def test_choice_is_the_same_for_any_number_of_threads(chosen):
    again = fit(uneven(), depth=3, n_jobs=1)
    assert again.selection_.weights == chosen.selection_.weights
    np.testing.assert_array_equal(again.labels_, chosen.labels_)


def test_one_model_is_fitted_without_a_choice():
    mixture = fit(uneven(), covariance_type="diag")
    assert mixture.selection_ is None
    assert (mixture.leaf_noise_, mixture.covariance_type_, mixture.depth_) == ("shared", "diag", 4)
    with pytest.raises(ValueError, match='stack needs several models: fit with covariance_type="a'):
        mixture.stack()


@pytest.mark.parametrize(
    "parameters",
    [
        {"covariance_type": "full"},
        {"covariance_type": "diag", "leaf_noise": "own", "depth": 2},
        {"covariance_type": "full", "leaf_noise": "own", "depth": 3},
    ],
    ids=["shared", "own diag", "own full"],
)
def test_leave_one_out_predicts_rows_left_out(parameters):
    """Against refits without the row, for a few rows; in the user's units, gaps included."""
    data = uneven(20) * [10.0, 0.1]
    data[3, 0] = np.nan
    loo = fit(data, **parameters | {"n_warmup": 100, "n_draws": 200}).loo()
    assert loo.pointwise.shape == (40,)
    rows = [0, 3, 25]
    for row in rows:
        refit = fit(np.delete(data, row, axis=0), **parameters | {"n_warmup": 100, "n_draws": 200})
        left_out = refit.score_samples(data[row : row + 1])[0]
        assert left_out == pytest.approx(loo.pointwise[row], abs=0.25)


def test_own_noise_puts_no_spike_on_repeated_values():
    rng = np.random.default_rng(2)
    data = np.where(rng.random((80, 1)) < 0.5, 0.0, np.round(rng.normal(5, 1, (80, 1)), 1))
    for form in ("diag", "spherical"):
        rounded = fit(data, covariance_type=form, leaf_noise="own", depth=2)
        # One unit is 0.1: no density beyond that of a normal with that unit's spread.
        peak = -np.log(0.1 / np.sqrt(12) * np.sqrt(2 * np.pi))
        assert rounded.score_samples([[0.0]])[0] < peak
        spiky = fit(data, covariance_type=form, leaf_noise="own", depth=2, resolution=0.0)
        assert spiky.score_samples([[0.0]])[0] > rounded.score_samples([[0.0]])[0]
    full = fit(np.hstack([data, data]), covariance_type="full", leaf_noise="own", depth=2)
    assert np.isfinite(full.score_samples([[0.0, 0.0]])).all()


@pytest.mark.parametrize("leaf_noise", ["shared", "own"])
def test_weights_are_repeated_rows_to_the_last_bit(leaf_noise):
    data = uneven(15)
    weight = np.arange(30) % 4
    parameters = {"covariance_type": "diag", "leaf_noise": leaf_noise, "depth": 3}
    weighted = fit(data, sample_weight=weight, **parameters)
    repeated = fit(np.repeat(data, weight, axis=0), **parameters)
    np.testing.assert_array_equal(weighted.score_samples(data), repeated.score_samples(data))
    np.testing.assert_array_equal(weighted.predict_proba(data), repeated.predict_proba(data))
    first = np.cumsum(weight) - weight
    kept = weight > 0
    np.testing.assert_array_equal(weighted.labels_[kept], repeated.labels_[first[kept]])
    assert weighted.labels_.shape == (30,)
    assert weighted.tree_.leaf.size == kept.sum()
    np.testing.assert_array_equal(weighted.labels_[~kept], weighted.predict(data[~kept]))


def test_fit_predict_weighs_the_rows_as_fit_does():
    data, weight = uneven(10), np.arange(20) % 3
    mixture = DFPMixture(2, covariance_type="diag", **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = mixture.fit_predict(data, sample_weight=weight)
    assert mixture.posterior_.draws[0].n_data == weight.sum()
    np.testing.assert_array_equal(labels, mixture.labels_)


def test_a_person_who_waits_is_told_what_is_being_done(capsys):
    fit(uneven(5), depth=2, progress=True, n_warmup="auto", n_draws="auto", n_chains="auto")
    said = capsys.readouterr().err
    assert "comparing 3 models: 0 done" in said
    assert "round 1: 4 chains to 100 sweeps" in said


def test_every_candidate_has_the_level_that_is_asked_for():
    mixture = fit(uneven(15), depth=4, level=3)
    assert {row["name"].split(", ")[1] for row in mixture.selection_.table} == {"depth 4"}
    assert mixture.labels_.shape == (30,)


def test_a_checkpoint_that_cannot_serve_is_refused_before_the_choice(tmp_path, monkeypatch):
    fit(uneven(5), covariance_type="diag", checkpoint=tmp_path)
    monkeypatch.setattr("sticktree.inference.fitting.select", lambda *_, **__: pytest.fail("chose"))
    with pytest.raises(ValueError, match="holds a run with other"):
        fit(uneven(15), checkpoint=tmp_path)
    with pytest.raises(ValueError, match="random_state must be an integer where"):
        fit(uneven(15), checkpoint=tmp_path / "new", random_state=None)


def test_resolution_of_another_length_than_the_columns_is_refused():
    with pytest.raises(ValueError, match="one for each of the 2 columns, got 3"):
        fit(uneven(15), covariance_type="diag", leaf_noise="own", resolution=[0.1, 0.1, 0.1])


def test_presets_make_no_choice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture = DPMixture(**QUICK).fit(uneven(15))
    assert mixture.selection_ is None
    assert mixture.depth_ == 1


# ---- depths to choose from ----------------------------------------------------------------------


def candidates(level=None, **parameters):
    specification = Candidates.of(checked(DFPMixture(**parameters).model_parameters()))
    found = specification.models((Column(), Column()), level)
    return specification, {name: model.depth for name, model in found}


def test_deep_trees_are_candidates_where_noise_is_shared_and_no_depth_is_asked_for():
    specification, found = candidates()
    assert {name for name in found if name.startswith("shared")} == {
        f"shared full, depth {depth}" for depth in (2, 16)
    }
    assert max(levels for name, levels in found.items() if name.startswith("own")) == 3
    assert specification.most_levels == max(found.values()) == 15
    specification, found = candidates(depth=4)
    assert specification.most_levels == max(found.values()) == 3
    specification, found = candidates(leaf_noise="own")
    assert specification.most_levels == max(found.values()) == 3


def test_a_level_that_only_deep_trees_have_leaves_only_those():
    _, found = candidates(level=5)
    assert set(found) == {"shared full, depth 16"}


@pytest.mark.parametrize("divergence", ["log", lambda level: 1.0 + level])
def test_without_a_choice_the_usual_depth_is_four(divergence):
    _, found = candidates(covariance_type="full", leaf_noise="shared", divergence=divergence)
    levels = 3 if divergence == "log" else 4
    assert found == {"shared full, depth 4": levels}


def test_an_array_has_as_many_steps_as_it_has():
    _, found = candidates(covariance_type="full", leaf_noise="shared", divergence=[1.0, 0.5])
    assert list(found.values()) == [2]
