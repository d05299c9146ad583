"""``fit`` with ``parents`` or ``times``: conditions of patients, days after days."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sticktree
from sticktree import DFPMixture
from sticktree.data.groups import GroupsWarning
from sticktree.posterior.shares import leaf_shares
from tests.support.checks import assert_rejected
from tests.support.statistics import assert_mean

QUICK = {
    "covariance_type": "full",
    "leaf_noise": "shared",
    "depth": 3,
    "n_chains": 2,
    "n_warmup": 40,
    "n_draws": 40,
    "random_state": 0,
    "n_jobs": 1,
}
LOW = {"a": 16, "b": 15, "c": 17, "d": 4, "e": 5, "f": 3}  # of 20 rows
OWN = {"leaf_noise": "own", "covariance_type": "diag"}


def rows():
    rng = np.random.default_rng(0)
    x = [rng.normal(np.where(np.arange(20) < low, 0.0, 7.0), 1.0) for low in LOW.values()]
    groups = np.repeat(list(LOW), 20)
    return np.concatenate(x)[:, None], groups, np.where(groups < "d", "no", "yes")


@pytest.fixture(scope="module", params=["shared", "own"])
def patients(request):
    x, groups, treated = rows()
    form = OWN if request.param == "own" else {}
    return DFPMixture(**QUICK | form).fit(x, groups=groups, parents=treated)


@pytest.fixture(scope="module", params=["shared", "own"])
def days(request):
    x, groups, _ = rows()
    form = OWN if request.param == "own" else {}
    return DFPMixture(**QUICK | form).fit(x, times=groups)


def test_parents_are_in_the_composition_and_compared(patients):
    found = patients.composition_
    assert found.groups == (*"abcdef", "no", "yes")
    np.testing.assert_allclose(found.shares.sum(axis=2), 1.0, atol=1e-9)
    low = int(patients.predict([[0.0]])[0])
    assert found.mean[6, low] > 0.6 > 0.4 > found.mean[7, low]
    contrast = {line["branch"]: line for line in patients.compare("yes", "no").table}
    assert contrast[str(low)]["p_greater"] < 0.05
    assert patients.group_similarity_.shape == (6, 6)
    assert patients.group_labels_.shape == (6,)
    assert "kinship" in patients.posterior_.draws[0].traced


def test_times_are_in_order_and_compared(days):
    found = days.composition_
    assert found.groups == tuple("abcdef")
    low = int(days.predict([[0.0]])[0])
    assert found.mean[2, low] > found.mean[3, low] + 0.3
    contrast = {line["branch"]: line for line in days.compare("d", "c").table}
    assert contrast[str(low)]["p_greater"] < 0.05


@pytest.mark.parametrize("fit", ["patients", "days"])
def test_sticks_of_groups_have_the_mean_by_which_rows_are_predicted(fit, request):
    """E θ_j(f) is the probability that the next row of group j goes to leaf f."""
    fitted, rng = request.getfixturevalue(fit), np.random.default_rng(1)
    draw, groups = fitted.posterior_.draws[-1], fitted.fit_.training.groups
    line = fitted.fit_.model.groups.line
    masses = np.array([leaf_shares(draw, groups.of_data, 6, rng, line) for _ in range(600)])
    numbered = fitted.posterior_.predictive.draws[-1]

    def weights(asked):
        (each,) = replace(fitted.posterior_.predictive.of_group(asked), draws=[numbered]).each()
        weight = each.mixture.weight if hasattr(each, "mixture") else each.weight
        leaf = each.level == fitted.fit_.model.depth
        return each.node[leaf], weight[leaf]

    for j in (0, 4):
        node, weight = weights(j)
        if np.ptp(masses[:, j, node], axis=0).max() == 0:  # a day has its sticks in the draw
            np.testing.assert_allclose(masses[0, j, node], weight, rtol=1e-5)
        else:
            assert_mean(masses[:, j, node], weight)
    if fit == "patients":  # of a new group: κ of its parent, 1 − κ of all, level by level
        node, weight = weights(int(groups.numbers_of(["yes"], 1)[0]))
        _, of_none = weights(None)
        of_parent, kappa = masses[0, 7, node], float(draw.parameters["kinship"])
        assert not np.allclose(weight, of_none)
        assert (weight >= kappa**3 * of_parent - 1e-12).all()


@pytest.mark.parametrize("group", ["a", "yes", "g", None])
@pytest.mark.parametrize("fit", ["patients", "days"])
def test_densities_of_known_and_new_groups_integrate_to_one(fit, group, request):
    fitted, grid = request.getfixturevalue(fit), np.linspace(-25.0, 35.0, 1201)
    groups = None if group is None else [group] * grid.size
    density = np.exp(fitted.score_samples(grid[:, None], groups=groups))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=2e-3)


def test_new_groups_are_predicted_by_their_parent(patients, days):
    no, new, yes = (patients.score_samples([[0.0]], groups=[g])[0] for g in ("no", "never", "yes"))
    assert yes < new < no
    early, late = (days.score_samples([[0.0]], groups=[g])[0] for g in ("cc", "g"))
    assert late < early
    assert days.score_samples([[0.0]], groups=["A"])[0] == days.score_samples([[0.0]])[0]


def test_leaving_one_out_says_whether_groups_matter(patients, days):
    for fitted in (patients, days):
        assert np.isfinite(fitted.loo_.pointwise).all()
        assert fitted.groups_matter().total > 5


def test_a_saved_fit_answers_the_same_and_goes_on_alike(patients, tmp_path):
    x, groups, treated = rows()
    sticktree.save(patients, tmp_path / "it.sticktree")
    again = sticktree.load(tmp_path / "it.sticktree")
    np.testing.assert_array_equal(again.composition_.shares, patients.composition_.shares)
    asked = {"groups": ["yes"] * 3}
    np.testing.assert_array_equal(
        again.score_samples(x[:3], **asked), patients.score_samples(x[:3], **asked)
    )
    longer = DFPMixture(**patients.get_params() | {"n_draws": 45, "n_warmup": 40})
    straight = longer.fit(x, groups=groups, parents=treated).posterior_
    gone_on = again.set_params(warm_start=True, n_draws=5)
    gone_on = gone_on.fit(x, groups=groups, parents=treated).posterior_
    assert len(gone_on) == len(straight)
    for one, other in zip(gone_on.draws, straight.draws, strict=True):
        np.testing.assert_array_equal(one.leaf, other.leaf)
        np.testing.assert_array_equal(one.parameters["theta"], other.parameters["theta"])
    with pytest.raises(ValueError, match="the data of the last fit"):
        again.fit(x, groups=groups)


def test_a_run_with_days_goes_on_from_its_checkpoint(tmp_path):
    x, groups, _ = rows()
    quick = QUICK | {"n_warmup": 6, "n_chains": 1}
    whole = DFPMixture(**quick | {"n_draws": 12}).fit(x, times=groups)
    for n_draws in (5, 12):
        folder = {"n_draws": n_draws, "checkpoint": tmp_path / "run"}
        mixture = DFPMixture(**quick | folder).fit(x, times=groups)
    for one, other in zip(mixture.posterior_.draws, whole.posterior_.draws, strict=True):
        np.testing.assert_array_equal(one.parameters["theta"], other.parameters["theta"])


def test_parents_can_be_a_dict_a_column_or_of_rows():
    x, groups, treated = rows()
    quick = QUICK | {"n_warmup": 5, "n_draws": 5}
    plain = DFPMixture(**quick).fit(x, groups=groups, parents=treated)
    above = dict(zip(groups.tolist(), treated.tolist(), strict=True))
    frame = pd.DataFrame({"x": x[:, 0], "who": groups, "treated": treated})
    by_name = DFPMixture(**quick).fit(frame, groups="who", parents="treated")
    assert by_name.feature_names_in_.tolist() == ["x"]
    for other in (DFPMixture(**quick).fit(x, groups=groups, parents=above), by_name):
        np.testing.assert_array_equal(other.composition_.shares, plain.composition_.shares)
    np.testing.assert_array_equal(
        by_name.score_samples(frame), plain.score_samples(x, groups=groups)
    )
    by_time = DFPMixture(**quick).fit(frame[["x", "who"]], times="who")
    assert by_time.score_samples(frame[["x", "who"]]).shape == (120,)


def test_any_forest_of_parents_and_groups_without_one():
    x, groups, _ = rows()
    above = {"a": "c", "b": "c", "c": "all", "d": "e", "all": "world"}
    mixture = DFPMixture(**QUICK | {"n_warmup": 5, "n_draws": 5, "kinship": 0.5})
    mixture.fit(x, groups=groups, parents=above)
    assert mixture.composition_.groups == (*"abcdef", "all", "world")
    draw = mixture.posterior_.draws[0]
    assert draw.parameters["theta"].shape[2] == 4  # c, e, all, world
    assert {float(d.parameters["kinship"]) for d in mixture.posterior_.draws} == {0.5}


def test_parents_that_no_group_shares_and_rows_without_a_group():
    x, groups, treated = rows()
    some = np.where(np.arange(len(x)) % 5 == 0, None, groups)
    some[1] = "alone"
    mixture = DFPMixture(**QUICK | {"n_warmup": 5, "n_draws": 5})
    mixture.fit(x, groups=some, parents=treated)
    assert mixture.composition_.groups == (*"abc", "alone", *"def", "no", "yes")
    times = np.arange(len(x), dtype=float) // 10
    times[::7] = np.nan
    mixture = DFPMixture(**QUICK | {"n_warmup": 5, "n_draws": 5}).fit(x, times=times)
    assert mixture.composition_.groups == tuple(float(t) for t in range(12))


def test_some_rows_choose_the_model_of_many_with_their_parents(monkeypatch):
    from sticktree.data import training

    monkeypatch.setattr(training, "ALL", 60)
    monkeypatch.setattr(training, "SOME_BY_ONE", 50)
    x, groups, _ = rows()
    quick = QUICK | {"covariance_type": "auto", "n_warmup": 2, "n_draws": 2}
    mixture = DFPMixture(**quick).fit(x, times=groups)
    assert len(mixture.selection_.models) > 1


def test_parents_can_be_routed_through_a_pipeline():
    x, groups, treated = rows()
    with config_context(enable_metadata_routing=True):
        mixture = DFPMixture(**QUICK | {"n_warmup": 2, "n_draws": 2})
        mixture.set_fit_request(groups=True, parents=True)
        steps = make_pipeline(StandardScaler(), mixture).fit(x, groups=groups, parents=treated)
    assert steps[-1].composition_.groups[-1] == "yes"


def test_one_time_is_none():
    x, _, _ = rows()
    with pytest.warns(GroupsWarning, match="times: all rows are of one group"):
        DFPMixture(**QUICK | {"n_warmup": 2, "n_draws": 2}).fit(x, times=[1] * len(x))


def fit(change=None, **given):
    x, groups, treated = rows()
    known = {"groups": groups, "parents": treated} | given
    DFPMixture(**QUICK | (change or {})).fit(x, **known)


EVERY_ROW = np.arange(120)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit(groups=None), ("parents", "groups")),
        (lambda: fit(times=EVERY_ROW), ("groups", "times")),
        (lambda: fit(groups=None, times=EVERY_ROW), ("parents", "times")),
        (lambda: fit(parents=["no"]), ("parents", "1 entries", "120 rows")),
        (lambda: fit(parents="treated"), ("parents", "treated", "column")),
        (lambda: fit(parents=[None] * 120), ("parents", "none at all")),
        (lambda: fit(parents=np.tile(["no", "yes"], 60)), ("parents", "'no' and 'yes'", "'a'")),
        (lambda: fit(parents=np.full(120, "b")), ("parents", "'b'", "a group, too")),
        (lambda: fit(parents={"a": "x", "q": "x"}), ("parents", "'q'", "keys are groups")),
        (lambda: fit(parents={"a": "b", "b": "a"}), ("parents", "circle")),
        (lambda: fit(groups=None, parents=None, times=["x"]), ("times", "1 entries")),
        (lambda: fit({"kinship": 1.0}), ("kinship", "1.0", "below 1")),
        (lambda: fit({"algorithm": "parallel"}), ("parents", "parallel", "gibbs")),
        (
            lambda: fit({"algorithm": "parallel"}, groups=None, parents=None, times=EVERY_ROW // 9),
            ("times", "parallel", "gibbs"),
        ),
    ],
)
def test_bad_parents_are_named_before_work_starts(call, words):
    assert_rejected(call, *words)


def test_too_many_times_are_refused():
    x = np.arange(300.0)[:, None]
    assert_rejected(
        lambda: DFPMixture(**QUICK).fit(x, times=np.arange(300)), "times", "300", "at most 100"
    )


def test_conditions_of_groups_that_lean_on_parents_are_refused(patients):
    assert_rejected(
        lambda: patients.compare(conditions={"a": 1, "b": 1, "c": 2}), "conditions", "parents"
    )
