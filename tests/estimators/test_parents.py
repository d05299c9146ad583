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
from sticktree.engine.points import whole_parameters
from sticktree.report import write_report
from tests.support.checks import assert_rejected

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


FITTED = {}


def fitted(noise, kind):
    """Return a fit of patients with their conditions, or of days; each is made once."""
    x, groups, treated = rows()
    if (noise, kind) not in FITTED:
        mixture = DFPMixture(**QUICK | (OWN if noise == "own" else {}))
        kin = {"groups": groups, "parents": treated} if kind == "patients" else {"times": groups}
        FITTED[noise, kind] = mixture.fit(x, **kin)
    return FITTED[noise, kind]


@pytest.fixture(params=["shared", "own"])
def patients(request):
    return fitted(request.param, "patients")


@pytest.fixture(params=["shared", "own"])
def days(request):
    return fitted(request.param, "days")


@pytest.fixture(params=["shared patients", "own patients", "shared days", "own days"])
def any_fit(request):
    return fitted(*request.param.split())


def test_parents_are_in_the_composition_and_compared(patients):
    found = patients.composition_
    assert found.groups == (*"abcdef", "no", "yes")
    np.testing.assert_allclose(found.shares.sum(axis=2), 1.0, atol=1e-9)
    low = int(patients.predict([[0.0]])[0])
    assert found.mean[6, low] > 0.6 > 0.4 > found.mean[7, low]
    few, many = found.shares[:, 6, low].std(), found.shares[:, :3, low].mean(axis=1).std()
    assert few > many  # how patients vary is in it
    contrasts = patients.compare("yes", "no")
    assert (contrasts.n_groups, contrasts.of_conditions) == ((3, 3), True)
    assert {line["branch"]: line for line in contrasts.table}[str(low)]["p_greater"] < 0.05
    assert patients.group_similarity_.shape == (6, 6)
    assert patients.group_labels_.shape == (6,)
    assert found.order()[-2:].tolist() == [6, 7]
    assert "kinship" in patients.posterior_.draws[0].traced


def test_times_are_in_order_and_compared(days):
    found = days.composition_
    assert found.groups == tuple("abcdef")
    assert found.order().tolist() == list(range(6))
    low = int(days.predict([[0.0]])[0])
    assert found.mean[2, low] > found.mean[3, low] + 0.3
    contrast = {line["branch"]: line for line in days.compare("d", "c").table}
    assert contrast[str(low)]["p_greater"] < 0.05


def weights_by_hand(mixture, draw, asked):
    """Return the probability of every leaf for the next row, down the path to it."""
    groups = mixture.fit_.model.groups
    line, parent, level = groups.line, draw.parent.astype(int), draw.level.astype(int)
    gamma, kappa = float(draw.parameters["group_concentration"]), float(draw.parameters["kinship"])
    group, place = groups.asked(asked)
    if group is not None:
        place = line.above[group]
    direct = group is not None and line.direct[group] == 1
    n, theta = np.zeros(parent.size), whole_parameters(draw)["theta"]
    if group is not None and not direct:
        np.add.at(n, draw.leaf[groups.of_row == group], 1)
        for k in range(parent.size - 1, 0, -1):
            n[parent[k]] += n[k]
    out = np.ones(parent.size)
    for k in range(1, parent.size):
        out[k] = out[parent[k]]
        for at in range(level[parent[k]], level[k]):
            whole = n[parent[k]] if at == level[parent[k]] else n[k]
            base = float(draw.parameters["stick"][k, at])
            if place is not None and place >= 0:
                own = float(np.exp(theta[k, at, place]))
                base = own if direct else kappa * own + (1 - kappa) * base
            out[k] *= base if direct else (n[k] + gamma * base) / (whole + gamma)
    return out


@pytest.mark.parametrize("name", ["a", "e", "f", "yes", "cc", "g", "A"])
def test_rows_of_known_and_new_groups_go_by_the_sticks_of_the_draw(any_fit, name):
    asked = int(any_fit.fit_.training.groups.numbers_of([name], 1)[0])
    asked = None if asked == -1 else asked
    draw = any_fit.posterior_.draws[-1]
    predictive = any_fit.posterior_.predictive.of_group(asked)
    (each,) = replace(predictive, draws=[predictive.draws[-1]]).each()
    weight = each.mixture.weight if hasattr(each, "mixture") else each.weight
    leaf = each.level == any_fit.fit_.model.depth
    expected = weights_by_hand(any_fit, draw, asked)[each.node[leaf]]
    np.testing.assert_allclose(weight[leaf], expected, rtol=1e-5, atol=1e-12)
    assert weight.sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("group", ["a", "yes", None])
def test_densities_of_known_and_new_groups_integrate_to_one(any_fit, group):
    grid = np.linspace(-25.0, 35.0, 1201)
    groups = None if group is None else [group] * grid.size
    density = np.exp(any_fit.score_samples(grid[:, None], groups=groups))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=2e-3)


def test_new_groups_are_predicted_by_their_parent(patients):
    no, new, yes = (patients.score_samples([[0.0]], groups=[g])[0] for g in ("no", "never", "yes"))
    assert yes < new < no


def test_times_to_come_are_predicted_by_the_last_before(days):
    early, late = (days.score_samples([[0.0]], groups=[g])[0] for g in ("cc", "g"))
    assert late < early
    assert days.score_samples([[0.0]], groups=["A"])[0] == days.score_samples([[0.0]])[0]


def test_leaving_one_out_says_whether_groups_matter(any_fit):
    assert np.isfinite(any_fit.loo().pointwise).all()
    assert any_fit.groups_matter().total > 5


def test_the_page_has_parents_and_times(any_fit, tmp_path):
    write_report(tmp_path / "page.html", any_fit)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count('<th scope="row" class="name">') >= len(any_fit.composition_.groups)


def test_a_saved_fit_answers_the_same_and_goes_on_alike(tmp_path):
    patients = fitted("shared", "patients")
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
    with pytest.raises(ValueError, match="parents must be those of the last fit"):
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
    assert draw.parameters["theta"].shape[1] == 4  # c, e, all, world
    assert {float(d.parameters["kinship"]) for d in mixture.posterior_.draws} == {0.5}


def test_parents_that_no_group_shares_and_rows_without_a_group():
    x, groups, treated = rows()
    some = np.where(np.arange(len(x)) % 5 == 0, None, groups)
    some[1] = "alone"
    mixture = DFPMixture(**QUICK | {"n_warmup": 5, "n_draws": 5})
    mixture.fit(x, groups=some, parents=treated)
    assert mixture.composition_.groups == ("a", "alone", *"bcdef", "no", "yes")
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
    with pytest.warns(GroupsWarning, match="times: all rows are of one time"):
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
    ],
)
def test_bad_parents_are_named_before_work_starts(call, words):
    assert_rejected(call, *words)


def test_too_many_times_are_refused():
    x = np.arange(300.0)[:, None]
    assert_rejected(
        lambda: DFPMixture(**QUICK).fit(x, times=np.arange(300)), "times", "300", "at most 100"
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.compare("yes", "a"), ("b", "'a'", "parents 'no', 'yes'")),
        (lambda m: m.compare("yes", "yes"), ("b", "another parent")),
    ],
)
def test_bad_questions_are_named(call, words):
    assert_rejected(lambda: call(fitted("shared", "patients")), *words)
