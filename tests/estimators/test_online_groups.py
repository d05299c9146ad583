"""Batches of rows in groups, and clusters that move, from the user's side. Seeds are fixed."""

import copy

import numpy as np
import pandas as pd
import pytest

import sticktree
from sticktree import DFPMixture
from sticktree.data import training
from sticktree.inference.drift import DriftWarning
from sticktree.present.findings import Findings
from sticktree.report.groups import groups_html
from tests.estimators.test_online import quiet
from tests.support.checks import assert_rejected

CHOICES = {
    "depth": 2, "covariance_type": "diag", "leaf_noise": "shared", "n_chains": 2, "n_warmup": 30,
    "n_draws": 20, "random_state": 0, "n_jobs": 1,
}  # fmt: skip
FEW = {"n_warmup": 5, "n_draws": 8}
CENTRES = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])
SHARES = {"a": [0.7, 0.2, 0.1], "b": [0.1, 0.2, 0.7], "c": [0.2, 0.6, 0.2]}


def batch_of(seed, names, n=120):
    rng = np.random.default_rng([3, seed])
    group = rng.choice(names, n)
    label = np.array([rng.choice(3, p=SHARES[name]) for name in group])
    return CENTRES[label] + rng.normal(size=(n, 2)), group


BATCHES = [batch_of(0, ["a", "c"]), batch_of(1, ["a", "b"]), batch_of(2, ["c", "b"])]


@pytest.fixture(scope="module", params=["shared", "own"])
def streamed(request):
    """A mixture after one batch, and after all."""
    first = DFPMixture(**CHOICES | {"leaf_noise": request.param})
    quiet(first.partial_fit, BATCHES[0][0], groups=BATCHES[0][1])
    last = copy.deepcopy(first)
    for x, groups in BATCHES[1:]:
        quiet(last.partial_fit, x, groups=groups, **FEW)
    return first, last


def assert_same_draws(one, other):
    for mine, its in zip(one.posterior_.draws, other.posterior_.draws, strict=True):
        assert mine.log_joint == its.log_joint
        for name, value in mine.parameters.items():
            np.testing.assert_array_equal(value, its.parameters[name])


def test_the_first_batch_is_a_fit_in_groups(streamed):
    first, _ = streamed
    x, groups = BATCHES[0]
    whole = DFPMixture(**first.get_params() | {"algorithm": "parallel"})
    quiet(whole.fit, x, groups=groups)
    assert_same_draws(first, whole)
    mine, its = first.composition_, whole.composition_
    np.testing.assert_array_equal(mine.shares, its.shares)
    # Both go on in the same way.
    one = copy.deepcopy(first)
    for mixture in (one, whole):
        quiet(mixture.partial_fit, BATCHES[1][0], groups=BATCHES[1][1], n_warmup=1, n_draws=2)
    assert_same_draws(one, whole)


def test_rows_of_all_batches_are_counted_in_their_groups(streamed):
    _, last = streamed
    every = np.concatenate([groups for _, groups in BATCHES])
    counts = [int((every == name).sum()) for name in "abc"]
    assert last.composition_.groups == ("a", "b", "c")
    assert last.composition_.n_rows.tolist() == counts
    for draw in last.posterior_.draws:
        assert draw.parameters["sums_seated"].sum(axis=0).tolist() == counts
    for run in last.fit_.sampled.runs:
        blocks = run.chain.rows.squashed.blocks
        np.testing.assert_array_equal(blocks.seated.sum(axis=1), blocks.n)


def test_answers_are_of_groups(streamed):
    _, last = streamed
    found = last.composition_
    np.testing.assert_allclose(found.shares.sum(axis=2), 1.0)
    place = last.predict(CENTRES)
    for j, name in enumerate("abc"):
        np.testing.assert_allclose(found.mean[j, place], SHARES[name], atol=0.13)
    contrasts = {line["branch"]: line for line in last.compare("a", "b").table}
    assert contrasts[str(place[0])]["p_greater"] > 0.99
    assert contrasts[str(place[2])]["p_greater"] < 0.01
    x = CENTRES[[0] * 4]
    density = last.score_samples(x, groups=["a", "c", "b", "nobody"])
    assert density[0] > density[3] > density[2]
    assert last.predict(CENTRES, groups=["a", "b", "c"]).shape == (3,)
    assert "svg" in groups_html(Findings(last.fit_))
    assert last.group_similarity_.shape == (3, 3)


def test_batches_are_worth_a_fit_of_all_rows(streamed):
    _, last = streamed
    x, groups = (np.concatenate(parts) for parts in zip(*BATCHES, strict=True))
    whole = DFPMixture(**last.get_params() | {"algorithm": "parallel"})
    quiet(whole.fit, x, groups=groups)
    new, of = batch_of(99, ["a", "b", "c"], 1500)
    assert last.score(new, groups=of) == pytest.approx(whole.score(new, groups=of), abs=0.05)
    assert last.score(new, groups=of) > last.score(new) + 0.05


def test_batches_that_are_alike_raise_no_alarm(streamed):
    _, last = streamed
    assert last.stream_.drifted == []


def test_a_saved_stream_goes_on_identically(streamed, tmp_path):
    _, last = streamed
    sticktree.save(last, tmp_path / "mine.sticktree")
    again = sticktree.load(tmp_path / "mine.sticktree")
    x, groups = batch_of(7, ["c", "a"], 40)
    mixtures = copy.deepcopy(last), again
    for mixture in mixtures:
        quiet(mixture.partial_fit, x, groups=groups, n_warmup=1, n_draws=2)
    assert_same_draws(*mixtures)
    np.testing.assert_array_equal(mixtures[0].composition_.shares, mixtures[1].composition_.shares)


def test_rows_without_a_name_are_groups_of_their_own(streamed):
    first, _ = streamed
    mixture = copy.deepcopy(first)
    x, groups = BATCHES[1]
    groups = [None if k % 10 == 0 else name for k, name in enumerate(groups)]
    quiet(mixture.partial_fit, x, groups=groups, n_warmup=1, n_draws=2)
    assert mixture.composition_.groups == ("a", "b", "c")
    seated = mixture.posterior_.draws[0].parameters["sums_seated"]
    assert seated.sum(axis=0)[3:].tolist() == [1] * 12
    quiet(mixture.partial_fit, BATCHES[2][0], groups=["e"] * 120, n_warmup=1, n_draws=2)
    assert mixture.composition_.groups == ("a", "b", "c", "e")
    seated = mixture.posterior_.draws[0].parameters["sums_seated"]
    assert seated.sum(axis=0)[3:].tolist() == [120] + [1] * 12


def test_groups_that_are_forgotten_go_with_the_next_batch(streamed):
    first, _ = streamed
    mixture = copy.deepcopy(first)
    quiet(mixture.partial_fit, *BATCHES[1][:1], groups=["d"] * 120, forget=0.999999, **FEW)
    assert mixture.composition_.groups == ("a", "c", "d")
    assert mixture.composition_.n_rows[:2].sum() <= 1
    assert np.isfinite(mixture.compare("a", "d").table[0]["p_greater"])
    quiet(mixture.partial_fit, BATCHES[2][0], groups=["e"] * 120, forget=0.5, **FEW)
    # Of a chain one row is kept, whatever the rate: its group goes on, if it is there still.
    assert {"d", "e"} <= set(mixture.composition_.groups) <= {"a", "c", "d", "e"}
    assert {"d", "e"} <= set(mixture.composition_.groups)
    d = mixture.composition_.groups.index("d")
    assert 30 < mixture.composition_.n_rows[d] < 90


def test_a_stream_may_begin_with_one_group():
    mixture = DFPMixture(**CHOICES)
    x, groups = BATCHES[0]
    quiet(mixture.partial_fit, x, groups=["a"] * 120)
    assert mixture.composition_.groups == ("a",)
    assert mixture.group_labels_.tolist() == [0]
    quiet(mixture.partial_fit, x, groups=groups, **FEW)
    assert mixture.composition_.groups == ("a", "c")


def test_groups_may_be_a_column():
    frames = [pd.DataFrame(x, columns=["u", "v"]).assign(who=groups) for x, groups in BATCHES]
    mixture = DFPMixture(**CHOICES)
    quiet(mixture.partial_fit, frames[0], groups="who")
    quiet(mixture.partial_fit, frames[1], groups="who", **FEW)
    quiet(mixture.partial_fit, frames[2], **FEW)
    assert mixture.composition_.groups == ("a", "b", "c")
    assert mixture.score_samples(frames[0]).shape == (120,)


def test_a_fit_of_the_other_sampler_is_gone_on_from():
    mixture = DFPMixture(**CHOICES, algorithm="gibbs")
    quiet(mixture.fit, BATCHES[0][0], groups=BATCHES[0][1])
    quiet(mixture.partial_fit, BATCHES[1][0], groups=BATCHES[1][1], drift=0.01, **FEW)
    assert mixture.composition_.groups == ("a", "b", "c")
    assert mixture.composition_.n_rows.sum() == 240


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (None, ("groups", "those before had groups", "None")),
        (["a"], ("groups", "one name for each of the 120 rows", "1 entries")),
        ("who", ("groups", "name of a column")),
    ],
)
def test_bad_groups_change_nothing(groups, words, streamed):
    first, _ = streamed
    mixture = copy.deepcopy(first)
    assert_rejected(lambda: mixture.partial_fit(BATCHES[1][0], groups=groups), *words)
    assert_same_draws(mixture, first)


def test_groups_are_for_all_batches_or_none():
    mixture = DFPMixture(**CHOICES | {"n_warmup": 5, "n_draws": 5})
    quiet(mixture.partial_fit, BATCHES[0][0])
    rest = BATCHES[1]
    assert_rejected(lambda: mixture.partial_fit(rest[0], groups=rest[1]), "groups", "first batch")


def test_there_may_be_too_many_groups(streamed, monkeypatch):
    first, _ = streamed
    mixture = copy.deepcopy(first)
    monkeypatch.setattr(training, "MOST_GROUPS", 100)
    x = BATCHES[1][0]
    words = ("groups", "at most 100", "2 groups and 120 rows without one")
    assert_rejected(lambda: mixture.partial_fit(x, groups=[None] * 120), *words)


# ---- clusters that move --------------------------------------------------------------------------


@pytest.mark.parametrize("drift", [-0.1, np.inf, "much", None, np.nan])
def test_what_is_no_drift(drift):
    x = np.random.default_rng(0).normal(size=(20, 2))
    assert_rejected(lambda: DFPMixture().partial_fit(x, drift=drift), "drift", "from 0 on")


def test_drift_is_for_shared_noise():
    mixture = DFPMixture(**CHOICES | {"leaf_noise": "own", "n_warmup": 5, "n_draws": 5})
    quiet(mixture.partial_fit, BATCHES[0][0])
    words = ("drift", "own noise", 'leaf_noise="shared"', "forget")
    assert_rejected(lambda: mixture.partial_fit(BATCHES[1][0], drift=0.1), *words)


def test_no_drift_is_as_before():
    first = DFPMixture(**CHOICES | {"n_warmup": 10, "n_draws": 5})
    quiet(first.partial_fit, BATCHES[0][0])
    one, other = copy.deepcopy(first), copy.deepcopy(first)
    quiet(one.partial_fit, BATCHES[1][0], **FEW)
    quiet(other.partial_fit, BATCHES[1][0], forget=0, drift=0.0, **FEW)
    assert_same_draws(one, other)
    assert "stream_lost" not in one.fit_.sampled.runs[0].chain.snapshot()


def test_clusters_that_move_are_followed(tmp_path):
    """Both move by 0.6 deviations between batches, which is a variance of about 0.36."""

    def batch(t, rng):
        centres = np.array([[0.0, 0.6 * t], [9.0, 0.6 * t]])
        return centres[rng.integers(2, size=80)] + rng.normal(size=(80, 2))

    scores, spread = {}, {}
    for drift in (0.0, 0.4):
        rng = np.random.default_rng(0)
        mixture = DFPMixture(**CHOICES)
        for t in range(9):
            quiet(mixture.partial_fit, batch(t, rng), drift=drift, n_warmup=6, n_draws=8)
        scores[drift] = mixture.score(batch(8, rng))
        spread[drift] = np.mean([batch.leaves_after for batch in mixture.stream_.batches[-3:]])
        assert all(draw.rows_below()[0] == 9 * 80 for draw in mixture.posterior_.draws)
    assert scores[0.4] > scores[0.0] + 0.1, scores
    assert spread[0.4] < spread[0.0], spread
    # What was expected of the batches had the step in it.
    assert mixture.stream_.drifted == []
    sticktree.save(mixture, tmp_path / "mine.sticktree")
    again = sticktree.load(tmp_path / "mine.sticktree")
    for one in (mixture, again):
        quiet(one.partial_fit, batch(9, np.random.default_rng(1)), drift=0.4, **FEW)
    assert_same_draws(mixture, again)


def test_a_new_group_is_no_alarm_and_a_new_cluster_is(streamed):
    _, last = streamed
    mixture, rng = copy.deepcopy(last), np.random.default_rng(0)
    x = CENTRES[1] + rng.normal(size=(60, 2))  # a group of one cluster alone
    quiet(mixture.partial_fit, x, groups=["new"] * 60, n_warmup=1, n_draws=2)
    assert mixture.stream_.drifted == []
    with pytest.warns(DriftWarning):
        mixture.partial_fit(x + 30.0, groups=["new"] * 60, n_warmup=1, n_draws=2)


def test_shares_of_clusters_without_rows_in_the_batch_are_unseen(streamed):
    _, last = streamed
    mixture, rng = copy.deepcopy(last), np.random.default_rng(0)
    x = CENTRES[0] + rng.normal(size=(60, 2))
    before = last.composition_.mean[:, last.predict(CENTRES[:1])[0]]
    quiet(mixture.partial_fit, x, groups=["a"] * 60, **FEW)
    found = mixture.composition_
    np.testing.assert_allclose(found.shares.sum(axis=2), 1.0)
    assert found.unseen[1] > 0.5  # of "b", of which nine tenths are elsewhere
    np.testing.assert_allclose(1.0 - found.unseen[1:], before[1:], atol=0.15)


def test_numbers_of_threads_are_looked_at_before_a_batch():
    mixture = DFPMixture(**CHOICES | {"n_warmup": 5, "n_draws": 5})
    quiet(mixture.partial_fit, BATCHES[0][0])
    mixture.n_jobs = [2]
    assert_rejected(lambda: mixture.partial_fit(BATCHES[1][0]), "n_jobs")
