"""Groups that share a tree, as users meet them: compositions, comparisons, predictions, files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sticktree
from sticktree import DFPMixture
from sticktree.data import training
from sticktree.data.groups import GroupsWarning
from sticktree.posterior.shares import leaf_shares
from tests.support.checks import assert_rejected
from tests.support.statistics import assert_mean

QUICK = {
    "covariance_type": "full",
    "leaf_noise": "shared",
    "n_chains": 2,
    "n_warmup": 40,
    "n_draws": 40,
    "random_state": 0,
    "n_jobs": 1,
}
SHARES = {"a": [30, 8], "b": [28, 12], "c": [8, 30]}


def rows():
    rng = np.random.default_rng(0)
    x, groups = [], []
    for group, (low, high) in SHARES.items():
        x.append(rng.normal(size=low))
        x.append(rng.normal(7.0, 1.0, size=high))
        groups += [group] * (low + high)
    return np.concatenate(x)[:, None], np.array(groups)


@pytest.fixture(scope="module", params=["shared", "own"])
def fitted(request):
    x, groups = rows()
    form = {"covariance_type": "diag"} if request.param == "own" else {}
    return DFPMixture(**QUICK | form | {"leaf_noise": request.param}).fit(x, groups=groups)


def test_shares_add_up_over_every_cut_and_to_one(fitted):
    found = fitted.composition_
    np.testing.assert_allclose(found.shares.sum(axis=2), 1.0, atol=1e-9)
    shares, sets = found.of_branches(), [set(b.tolist()) for b in found.branches]
    for k, above in enumerate(found.parents):
        parts = [i for i, other in enumerate(found.parents) if other == k]
        if parts:
            assert set.union(*(sets[i] for i in parts)) == sets[k]
            np.testing.assert_allclose(shares[:, :, parts].sum(axis=2), shares[:, :, k], atol=1e-9)
        assert above == -1 or sets[k] < sets[above]
    low, high = found.interval
    assert ((low <= found.mean) & (found.mean <= high)).all()


def test_shares_are_those_of_the_rows(fitted):
    low = int(fitted.predict([[0.0]])[0])
    for j, (n_low, n_high) in enumerate(SHARES.values()):
        assert fitted.composition_.mean[j, low] == pytest.approx(n_low / (n_low + n_high), abs=0.12)
    contrast = {line["branch"]: line for line in fitted.compare("c", "a").table}
    assert contrast[str(low)]["p_greater"] < 0.01
    assert "c over a" in str(fitted.compare("c", "a"))
    assert "cluster 0" in str(fitted.composition_)
    assert len(fitted.composition_.to_frame()) == 3 * (len(fitted.composition_.branches) + 1)
    similar = fitted.group_similarity_
    assert similar[0, 1] > similar[0, 2]
    assert fitted.group_labels_.tolist()[0] == 0


def test_a_group_is_compared_with_the_rows_of_all_others(fitted):
    found = fitted.compare("c")
    low = int(fitted.predict([[0.0]])[0])
    shares = fitted.composition_.shares[:, :, low]
    expected = np.log(shares[:, 2] / ((38 * shares[:, 0] + 40 * shares[:, 1]) / 78))
    np.testing.assert_allclose(found.log_ratio[:, low], expected, rtol=1e-9)
    assert found.sides == ("c", "all others")
    assert "c over all others" in str(found)
    assert fitted.composition_.n_rows.tolist() == [38, 40, 38]


def test_smaller_branches_can_be_asked_for(fitted):
    more = fitted.composition(n_clusters=4)
    assert more.n_clusters == 4
    np.testing.assert_allclose(more.shares.sum(axis=2), 1.0, atol=1e-9)
    names = {line["branch"] for line in fitted.compare("a", "c", n_clusters=4).table}
    assert names >= set("0123")
    assert fitted.composition() is fitted.composition_


def test_sticks_of_groups_have_the_mean_by_which_rows_are_predicted(fitted):
    """E θ_j(f) is the probability that the next row of group j goes to leaf f."""
    draw, rng = fitted.posterior_.draws[-1], np.random.default_rng(1)
    group = fitted.fit_.training.groups.of_data
    masses = [leaf_shares(draw, group, 3, rng) for _ in range(800)]
    numbered = fitted.posterior_.predictive.draws[-1]
    for j in range(3):
        predictive = fitted.posterior_.predictive.of_group(j)
        (each,) = replace(predictive, draws=[numbered]).each()
        weight = each.mixture.weight if hasattr(each, "mixture") else each.weight
        leaf = each.level == fitted.fit_.model.depth
        assert_mean(np.array(masses)[:, j, each.node[leaf]], weight[leaf])


@pytest.mark.parametrize("group", ["a", "c", None])
def test_densities_of_known_and_new_groups_integrate_to_one(fitted, group):
    grid = np.linspace(-25.0, 35.0, 1201)
    groups = None if group is None else [group] * grid.size
    density = np.exp(fitted.score_samples(grid[:, None], groups=groups))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=2e-3)


def test_rows_are_predicted_by_their_group(fitted):
    a, c, new = (fitted.score_samples([[0.0]], groups=g)[0] for g in (["a"], ["c"], ["never"]))
    assert c < new < a
    assert new == fitted.score_samples([[0.0]])[0]
    both = fitted.score_samples([[0.0], [0.0]], groups=["a", "c"])
    np.testing.assert_array_equal(both, [a, c])
    proba = fitted.predict_proba([[3.5], [3.5]], groups=["a", "c"])
    low = int(fitted.predict([[0.0]])[0])
    assert proba[0, low] > proba[1, low]


def test_names_of_groups_do_not_matter(fitted):
    x, groups = rows()
    again = DFPMixture(**fitted.get_params()).fit(x, groups=np.char.add("x", groups))
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    np.testing.assert_array_equal(again.composition_.shares, fitted.composition_.shares)


def test_a_saved_fit_answers_the_same_and_goes_on_alike(fitted, tmp_path):
    x, groups = rows()
    sticktree.save(fitted, tmp_path / "it.sticktree")
    again = sticktree.load(tmp_path / "it.sticktree")
    np.testing.assert_array_equal(again.composition_.shares, fitted.composition_.shares)
    asked = {"groups": ["a"] * 3}
    np.testing.assert_array_equal(
        again.score_samples(x[:3], **asked), fitted.score_samples(x[:3], **asked)
    )
    longer = DFPMixture(**QUICK | fitted.get_params() | {"n_draws": 45, "n_warmup": 40})
    straight = longer.fit(x, groups=groups).posterior_
    gone_on = again.set_params(warm_start=True, n_draws=5).fit(x, groups=groups).posterior_
    assert len(gone_on) == len(straight)
    for one, other in zip(gone_on.draws, straight.draws, strict=True):
        np.testing.assert_array_equal(one.leaf, other.leaf)
        np.testing.assert_array_equal(one.parameters["stick"], other.parameters["stick"])


def test_a_column_of_a_frame_has_the_groups():
    x, groups = rows()
    frame = pd.DataFrame({"x": x[:, 0], "who": groups})
    plain = DFPMixture(**QUICK).fit(frame[["x"]], groups=groups)
    by_name = DFPMixture(**QUICK).fit(frame, groups="who")
    assert by_name.feature_names_in_.tolist() == ["x"]
    np.testing.assert_array_equal(by_name.labels_, plain.labels_)
    np.testing.assert_array_equal(
        by_name.score_samples(frame), plain.score_samples(frame[["x"]], groups=groups)
    )


def test_conditions_are_compared_by_groups_and_not_by_rows():
    x, groups = rows()
    six = np.where(np.arange(len(x)) % 2, np.char.add(groups, "1"), np.char.add(groups, "2"))
    mixture = DFPMixture(**QUICK).fit(x, groups=six)
    conditions = {g: "trt" if g[0] == "c" else "ctl" for g in np.unique(six).tolist()}
    found = mixture.compare(conditions=conditions)
    assert {found.sides[0], found.sides[1]} == {"ctl", "trt"}
    low = int(mixture.predict([[0.0]])[0])
    certain = {line["branch"]: line for line in mixture.compare("c1", "a1").table}
    line = {line["branch"]: line for line in found.table}[str(low)]
    assert abs(line["log_ratio"]) > 0.5
    assert line["high"] - line["low"] > 0.3
    assert certain[str(low)]["log_ratio"] < 0


def test_rows_without_a_group_are_groups_of_their_own():
    x, groups = rows()
    some = np.where(np.arange(len(x)) % 5 == 0, None, groups)
    mixture = DFPMixture(**QUICK).fit(x, groups=some)
    assert mixture.composition_.groups == ("a", "b", "c")
    assert mixture.composition_.shares.shape[1] == 3


def test_one_group_is_none():
    x, _ = rows()
    with pytest.warns(GroupsWarning, match="one group"):
        mixture = DFPMixture(**QUICK).fit(x, groups=["all"] * len(x))
    plain = DFPMixture(**QUICK).fit(x)
    np.testing.assert_array_equal(mixture.labels_, plain.labels_)
    with pytest.raises(AttributeError, match="groups"):
        _ = mixture.composition_


@pytest.mark.parametrize("some_have_none", [False, True])
def test_groups_of_one_row_each_are_none(some_have_none):
    x, _ = rows()
    names = [None if some_have_none and k % 3 == 0 else f"r{k}" for k in range(len(x))]
    with pytest.warns(GroupsWarning, match="a group of its own.*what several rows have in common"):
        mixture = DFPMixture(**QUICK).fit(x, groups=names)
    np.testing.assert_array_equal(mixture.labels_, DFPMixture(**QUICK).fit(x).labels_)
    assert mixture.fit_.training.groups is None


def test_a_shift_between_groups_is_warned_of():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(shift, 1.0, size=(30, 1)) for shift in (0.0, 9.0, 18.0)])
    groups = np.repeat(["a", "b", "c"], 30)
    with pytest.warns(GroupsWarning, match="of one group alone"):
        DFPMixture(**QUICK).fit(x, groups=groups)


def test_some_rows_choose_the_model_of_many_with_their_groups(monkeypatch):
    monkeypatch.setattr(training, "ALL", 60)
    monkeypatch.setattr(training, "SOME_BY_ONE", 50)
    x, groups = rows()
    quick = QUICK | {"covariance_type": "auto", "n_warmup": 4, "n_draws": 4, "depth": 3}
    mixture = DFPMixture(**quick).fit(x, groups=groups)
    assert len(mixture.selection_.models) > 1
    assert mixture.fit_.model.groups.of_row.size == len(x)
    assert mixture.composition_.groups == ("a", "b", "c")


def test_weights_repeat_rows_within_their_groups():
    x, groups = rows()
    weights = np.where(groups == "b", 0, 1 + (np.arange(len(x)) % 2))
    mixture = DFPMixture(**QUICK).fit(x, sample_weight=weights, groups=groups)
    assert mixture.composition_.groups == ("a", "c")
    repeated = np.repeat(np.arange(len(x)), weights)
    plain = DFPMixture(**QUICK).fit(x[repeated], groups=groups[repeated])
    np.testing.assert_array_equal(mixture.composition_.shares, plain.composition_.shares)


def test_groups_can_be_routed_through_a_pipeline():
    x, groups = rows()
    with config_context(enable_metadata_routing=True):
        mixture = DFPMixture(**QUICK).set_fit_request(groups=True)
        steps = make_pipeline(StandardScaler(), mixture).fit(x, groups=groups)
    assert steps[-1].composition_.groups == ("a", "b", "c")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, x: m.fit(x, groups=["a"]), ("groups", "1 entries", "116 rows")),
        (lambda m, x: m.fit(x, groups="who"), ("groups", "who", "column")),
        (lambda m, x: m.fit(x, groups=[None] * len(x)), ("groups", "none at all")),
        (lambda m, x: m.fit(x, groups=7), ("groups", "one name for each")),
        (
            lambda m, x: m.set_params(group_concentration=-1).fit(x, groups=rows()[1]),
            ("group_concentration", "-1"),
        ),
    ],
)
def test_bad_groups_are_named_before_work_starts(call, words):
    x, _ = rows()
    assert_rejected(lambda: call(DFPMixture(**QUICK), x), *words)


def test_a_group_of_one_row_and_one_of_none_but_its_own_have_wide_intervals():
    x, groups = rows()
    groups = np.where(np.arange(len(x)) == 3, "lone", groups)
    mixture = DFPMixture(**QUICK).fit(x, groups=groups)
    found = mixture.composition_
    low, high = found.interval
    lone = found.groups.index("lone")
    assert ((high - low)[lone, :2] > 0.5).all()
    line = mixture.compare("lone", "a").table[0]
    assert 0.01 < line["p_greater"] < 0.99
    assert np.isfinite(mixture.score_samples(x[:3], groups=["lone", "a", "lone"])).all()


def test_all_rows_but_two_in_groups_of_their_own_are_a_fit():
    x = rows()[0][::4]
    mixture = DFPMixture(**QUICK).fit(x, groups=np.arange(len(x)) % (len(x) - 1))
    found = mixture.composition_
    assert found.shares.shape[1] == len(x) - 1
    np.testing.assert_allclose(found.shares.sum(axis=2), 1.0, atol=1e-9)
    assert mixture.groups_matter().matter is not True


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.compare(), ("a", "None", "'a'")),
        (lambda m: m.compare("a", conditions=["x"]), ("conditions", "dict")),
        (lambda m: m.compare("a", "b", n_clusters=0), ("n_clusters", "0")),
        (lambda m: m.composition(n_clusters="many"), ("n_clusters", "many")),
        (lambda m: m.compare("a", "nobody"), ("b", "nobody", "'a'")),
        (lambda m: m.compare("a", "a"), ("b", "another group")),
        (lambda m: m.compare("a", "b", within="tree"), ("within", "tree", "parent")),
        (lambda m: m.compare(conditions={"a": 1, "x": 2}), ("conditions", "'x'")),
        (lambda m: m.compare(conditions={"a": 1, "b": 2}), ("conditions", "1 and 1 groups")),
        (lambda m: m.compare(conditions={"a": 1, "b": 2, "c": 3}), ("a", "1, 2, 3")),
        (lambda m: m.score_samples([[0.0]], groups=["a", "b"]), ("groups", "2 entries")),
        (lambda m: m.partial_fit([[0.0]]), ("groups", "those before had groups")),
    ],
)
def test_bad_questions_are_named(fitted, call, words):
    assert_rejected(lambda: call(fitted), *words)


def test_groups_are_refused_where_the_fit_has_none():
    x, _ = rows()
    mixture = DFPMixture(**QUICK).fit(x)
    assert_rejected(lambda: mixture.score_samples(x[:2], groups=["a", "b"]), "groups", "no groups")
