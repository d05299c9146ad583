"""Batches whose groups have parents, or are times, from the user's side. Seeds are fixed."""

import copy

import numpy as np
import pandas as pd
import pytest

import sticktree
from sticktree import DFPMixture
from sticktree.data import parents as data_parents
from tests.estimators.test_online import quiet
from tests.estimators.test_online_groups import CENTRES, CHOICES, FEW, assert_same_draws
from tests.support.checks import assert_rejected

OF_DAY = {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.4, 5: 0.2, 6: 0.1}  # share of the first cluster
OF_PATIENT = {"a": 0.9, "b": 0.8, "c": 0.2, "d": 0.1, "e": 0.85, "f": 0.15}
TREATED = {"a": "no", "b": "no", "c": "yes", "d": "yes", "e": "no", "f": "yes"}


def batch_of(shares, names, seed, n=60):
    """Return so many rows of each group, in two clusters."""
    rng = np.random.default_rng([5, seed])
    group = np.repeat(names, n)
    label = np.concatenate([rng.random(n) > shares[name] for name in names]).astype(int)
    return CENTRES[label] + rng.normal(size=(group.size, 2)), group


def days(names, seed=0, n=60):
    x, times = batch_of(OF_DAY, names, seed, n)
    return {"X": x, "times": times}


def patients(names, seed=0, n=60):
    x, groups = batch_of(OF_PATIENT, names, seed, n)
    return {"X": x, "groups": groups, "parents": [TREATED[name] for name in groups.tolist()]}


@pytest.fixture(scope="module", params=["shared", "own"])
def of_days(request):
    """A mixture after one batch of days, and after all."""
    first = DFPMixture(**CHOICES | {"leaf_noise": request.param})
    quiet(first.partial_fit, **days([1, 2]))
    last = copy.deepcopy(first)
    quiet(last.partial_fit, **days([3, 4], 1), **FEW)
    quiet(last.partial_fit, **days([5, 6], 2), **FEW)
    return first, last


@pytest.fixture(scope="module")
def of_patients():
    """A mixture after one batch of patients, and after all."""
    first = DFPMixture(**CHOICES)
    quiet(first.partial_fit, **patients(["a", "c"]))
    last = copy.deepcopy(first)
    quiet(last.partial_fit, **patients(["b", "c", "d"], 1), **FEW)
    return first, last


def first_cluster(mixture):
    return int(mixture.predict(CENTRES[:1])[0])


def test_the_first_batch_is_a_fit_to_times(of_days):
    first, _ = of_days
    given = days([1, 2])
    whole = DFPMixture(**first.get_params() | {"algorithm": "parallel"})
    quiet(whole.fit, given["X"], times=given["times"])
    assert_same_draws(first, whole)


def test_days_follow_days(of_days):
    _, last = of_days
    found, place = last.composition_, first_cluster(last)
    assert found.groups == tuple(OF_DAY)
    assert found.order().tolist() == list(range(6))
    np.testing.assert_allclose(found.shares.sum(axis=2), 1.0)
    np.testing.assert_allclose(found.mean[:, place], list(OF_DAY.values()), atol=0.15)
    assert last.fit_.training.groups.parents.tolist() == [-1, 0, 1, 2, 3, 4, 5]
    draw = last.posterior_.draws[0]
    assert "kinship" in draw.traced
    of_next, of_second, of_nobody = last.score_samples(CENTRES[[0] * 3], groups=[7, 1.5, None])
    assert of_second > of_nobody > of_next


def test_batches_of_days_are_worth_a_fit_of_all(of_days):
    _, last = of_days
    x, times = (np.concatenate(parts) for parts in zip(
        *(days(names, seed).values() for seed, names in enumerate([[1, 2], [3, 4], [5, 6]])),
        strict=True,
    ))  # fmt: skip
    whole = DFPMixture(**last.get_params() | {"algorithm": "parallel"})
    quiet(whole.fit, x, times=times)
    new = days(list(OF_DAY), 9, 200)
    mine, its = (one.score(new["X"], groups=new["times"]) for one in (last, whole))
    assert mine == pytest.approx(its, abs=0.05)
    assert mine > last.score(new["X"]) + 0.05


def test_days_that_are_alike_raise_no_alarm(of_days):
    _, last = of_days
    assert last.stream_.drifted == []


def test_a_saved_stream_of_days_goes_on_identically(of_days, tmp_path):
    _, last = of_days
    sticktree.save(last, tmp_path / "mine.sticktree")
    again = sticktree.load(tmp_path / "mine.sticktree")
    mixtures = copy.deepcopy(last), again
    for mixture in mixtures:
        quiet(mixture.partial_fit, **days([6, 2], 3), n_warmup=1, n_draws=2)
    assert_same_draws(*mixtures)
    np.testing.assert_array_equal(mixtures[0].composition_.shares, mixtures[1].composition_.shares)


def test_a_day_may_come_late(of_days):
    first, _ = of_days
    mixture = copy.deepcopy(first)
    given = days([3], 1)
    quiet(mixture.partial_fit, given["X"], times=np.full(60, 1.5), **FEW)
    assert mixture.composition_.groups == (1, 1.5, 2)
    assert mixture.fit_.training.groups.parents.tolist() == [-1, 0, 1, 2]


def test_a_stream_may_begin_with_one_day():
    mixture = DFPMixture(**CHOICES)
    quiet(mixture.partial_fit, **days([1]))
    assert mixture.composition_.groups == (1,)
    quiet(mixture.partial_fit, **days([2], 1), **FEW)
    assert mixture.composition_.groups == (1, 2)


def test_days_that_are_forgotten_go_and_those_after_close_up(of_days):
    _, last = of_days
    mixture = copy.deepcopy(last)
    quiet(mixture.partial_fit, **days([6], 4), forget=0.999999, **FEW)
    quiet(mixture.partial_fit, **days([6], 5), **FEW)
    groups = mixture.fit_.training.groups
    assert 6 in groups.names
    assert len(groups.names) <= 3  # of each chain one row is kept, whatever the rate
    assert groups.parents.tolist() == list(range(-1, len(groups.names)))


def test_there_may_be_too_many_days(of_days, monkeypatch):
    first, _ = of_days
    monkeypatch.setattr(data_parents, "MOST_PARENTS", 3)
    words = ("times", "at most 3", "4", "weeks")
    assert_rejected(lambda: copy.deepcopy(first).partial_fit(**days([3, 4])), *words)


# ---- conditions ----------------------------------------------------------------------------------


def test_new_patients_have_conditions(of_patients):
    _, last = of_patients
    found, place = last.composition_, first_cluster(last)
    assert found.groups == (*"abcd", "no", "yes")
    assert found.mean[4, place] > 0.6 > 0.4 > found.mean[5, place]
    lines = {line["branch"]: line for line in last.compare("yes", "no").table}
    assert lines[str(place)]["p_greater"] < 0.1
    no, nobody, yes = last.score_samples(CENTRES[[0] * 3], groups=["no", None, "yes"])
    assert no > nobody > yes


def test_parents_need_not_be_given_again(of_patients):
    first, _ = of_patients
    one, other, third = (copy.deepcopy(first) for _ in range(3))
    given = patients(["a", "c"], 3)
    quiet(one.partial_fit, **given, **FEW)
    quiet(other.partial_fit, given["X"], groups=given["groups"], **FEW)
    quiet(third.partial_fit, given["X"], groups=given["groups"], parents=TREATED, **FEW)
    assert_same_draws(one, other)
    assert_same_draws(one, third)  # a dict may have groups that are to come


def test_columns_are_known_from_the_first_batch_on():
    frames = []
    for seed, names in enumerate([["a", "c"], ["b", "c"], ["d"]]):
        given = patients(names, seed)
        frame = pd.DataFrame(given["X"], columns=["u", "v"])
        frames.append(frame.assign(who=given["groups"], treated=given["parents"]))
    mixture = DFPMixture(**CHOICES)
    quiet(mixture.partial_fit, frames[0], groups="who", parents="treated")
    quiet(mixture.partial_fit, frames[1], groups="who", parents="treated", **FEW)
    quiet(mixture.partial_fit, frames[2], **FEW)
    assert mixture.composition_.groups == (*"abcd", "no", "yes")
    assert mixture.n_features_in_ == 2
    assert mixture.score_samples(frames[0]).shape == (120,)


def test_parents_may_have_rows_and_parents_of_their_own():
    forest = {"a": "no", "b": "no", "c": "yes", "no": "all", "yes": "all"}
    mixture = DFPMixture(**CHOICES)
    given = patients(["a", "c"])
    quiet(mixture.partial_fit, given["X"], groups=given["groups"], parents=forest)
    assert mixture.composition_.groups == ("a", "c", "all", "no", "yes")
    x, groups = batch_of(OF_PATIENT, ["b", "a"], 1)
    groups = np.where(groups == "a", "no", groups)  # a parent has rows from now on
    quiet(mixture.partial_fit, x, groups=groups, parents=forest, **FEW)
    assert mixture.composition_.groups == ("a", "b", "c", "no", "all", "yes")
    known = mixture.fit_.training.groups
    assert known.parents.tolist() == [3, 3, 5, 4, -1, 4]
    np.testing.assert_allclose(mixture.composition_.shares.sum(axis=2), 1.0)


def test_conditions_that_nobody_has_any_more_go(of_patients):
    first, _ = of_patients
    mixture = copy.deepcopy(first)
    quiet(mixture.partial_fit, **patients(["b"], 1), forget=0.999999, **FEW)
    x, groups = batch_of(OF_PATIENT, ["b", "e"], 2)
    quiet(mixture.partial_fit, x, groups=groups, parents={}, forget=0.999999, **FEW)
    quiet(mixture.partial_fit, x, groups=groups, **FEW)
    left = {name for name, parent in TREATED.items() if parent == "yes"}
    known = mixture.fit_.training.groups
    assert ("yes" in known.parent_names) == bool(left & set(known.names))
    assert "e" in known.names
    assert known.parents[known.names.index("e")] == -1


def test_a_stream_without_parents_that_are_left_is_saved_and_has_some_again(tmp_path):
    mixture = DFPMixture(**CHOICES)
    quiet(mixture.partial_fit, **patients(["a"], n=20))
    x, groups = batch_of(OF_PATIENT, ["e"], 2, 200)
    for forget in (0.999999, 0.999999, 0.5, 0.0):
        quiet(mixture.partial_fit, x, groups=groups, parents={}, forget=forget, **FEW)
    assert mixture.composition_.groups == ("e",)
    assert "kinship" not in mixture.posterior_.draws[0].traced
    sticktree.save(mixture, tmp_path / "mine.sticktree")
    again = sticktree.load(tmp_path / "mine.sticktree")
    for one in (mixture, again):
        quiet(one.partial_fit, **patients(["f"], 3), n_warmup=1, n_draws=2)
    assert_same_draws(mixture, again)
    assert mixture.composition_.groups == ("e", "f", "yes")


WRONG = {
    "a patient in another condition": (
        {"parents": {"a": "yes"}}, ("parents", "the same", "'yes' of 'a', which had 'no'"),
    ),
    "a new patient without": ({"groups": ["x"] * 120, "parents": None}, ("parents", "'x'")),
    "too few": ({"parents": ["no"]}, ("parents", "one name for each of the 120 rows")),
    "two of one patient": (
        {"parents": ["no", "yes"] * 60}, ("parents", "the same for all rows of a group"),
    ),
    "a patient who is named as a condition": (
        {"groups": ["yes"] * 120, "parents": ["no"] * 120}, ("parents", "named unlike", "'yes'"),
    ),
    "in a circle": (
        {"groups": ["x"] * 120, "parents": {"x": "y", "y": "x"}}, ("parents", "without a circle"),
    ),
    "no groups": ({"groups": None}, ("parents", "None unless there are groups")),
    "times": (
        {"groups": None, "parents": None, "times": [1] * 120}, ("times", "first batch", "groups"),
    ),
    "times beside groups": ({"times": [1] * 120}, ("groups", "None where times are given")),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_bad_parents_change_nothing(name, of_patients):
    first, _ = of_patients
    change, words = WRONG[name]
    mixture = copy.deepcopy(first)
    assert_rejected(lambda: mixture.partial_fit(**patients(["a", "c"], 3) | change), *words)
    assert_same_draws(mixture, first)


def test_times_are_for_all_batches_or_none(of_days):
    first, _ = of_days
    mixture, given = copy.deepcopy(first), days([3, 4], 1)
    words = ("times", "the time of each row", "None")
    assert_rejected(lambda: mixture.partial_fit(given["X"]), *words)
    words = ("groups", "first batch", "times")
    assert_rejected(lambda: mixture.partial_fit(given["X"], groups=given["times"]), *words)
    alone = DFPMixture(**CHOICES | {"n_warmup": 5, "n_draws": 5})
    quiet(alone.partial_fit, given["X"])
    assert_rejected(lambda: alone.partial_fit(**given), "times", "first batch")
    quiet(
        (grouped := DFPMixture(**alone.get_params())).partial_fit, given["X"], groups=given["times"]
    )
    mine = patients(["a", "c"])
    assert_rejected(
        lambda: grouped.partial_fit(**mine), "parents", "first batch", "without parents"
    )
