"""Batches: partial_fit from the user's side.

Statistical checks use fixed seeds; where one could fail by chance, its rate is said.
"""

import copy
import warnings
from dataclasses import replace

import numpy as np
import pytest

import sticktree
from sticktree import DFPMixture
from sticktree.engine.online.rows import MOST_BLOCKS
from sticktree.inference.drift import Z_LIMIT, Batch, DriftWarning, Stream
from sticktree.present.findings import Findings
from sticktree.present.notebook import html_of_fit
from sticktree.present.terminal import head, summary
from tests.support.checks import assert_rejected

CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0], [14.0, 14.0]])
CHOICES = {
    "covariance_type": "full",
    "leaf_noise": "shared",
    "n_chains": 2,
    "n_warmup": 30,
    "n_draws": 20,
    "random_state": 0,
}
FEW = {"n_warmup": 4, "n_draws": 6}


def batch_of(seed, n_rows=200, n_clusters=4):
    rng = np.random.default_rng([7, seed])
    return CENTRES[rng.integers(n_clusters, size=n_rows)] + rng.normal(size=(n_rows, 2))


def quiet(function, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **keywords)


@pytest.fixture(scope="module")
def first():
    """Return a mixture that has seen one batch."""
    return quiet(DFPMixture(**CHOICES).partial_fit, batch_of(0))


@pytest.fixture(scope="module")
def fourth(first):
    """Return one that has seen four, all alike."""
    mixture = copy.deepcopy(first)
    for seed in (1, 2, 3):
        quiet(mixture.partial_fit, batch_of(seed), **FEW)
    return mixture


def test_the_first_batch_is_a_fit_of_the_parallel_sampler(first):
    fitted = quiet(DFPMixture(**CHOICES, algorithm="parallel").fit, batch_of(0))
    x = batch_of(9, 20)
    np.testing.assert_array_equal(first.score_samples(x), fitted.score_samples(x))
    assert first.algorithm_ == "parallel"
    assert len(first.stream_) == 1
    assert not hasattr(fitted, "stream_")
    # Both go on in the same way.
    again = quiet(copy.deepcopy(first).partial_fit, batch_of(1), **FEW)
    quiet(fitted.partial_fit, batch_of(1), **FEW)
    np.testing.assert_array_equal(again.score_samples(x), fitted.score_samples(x))
    assert str(again.stream_) == str(fitted.stream_)


def test_all_rows_count_and_the_newest_are_answered_about(fourth):
    x = batch_of(3)
    np.testing.assert_allclose(fourth.data_, x)
    assert fourth.labels_.shape == fourth.confidence_.shape == (200,)
    assert fourth.tree_.n_data == fourth.cluster_tree_.n_data == len(fourth.membership_) == 200
    np.testing.assert_array_equal(np.unique(fourth.labels_), np.arange(fourth.n_clusters_))
    # Rows that are gone are asked about like new ones, in the same clusters.
    assert set(fourth.predict(batch_of(0))) <= set(fourth.labels_)
    assert len(fourth.posterior_) == 2 * FEW["n_draws"]
    assert all(draw.rows_below()[0] == 800 for draw in fourth.posterior_.draws)
    assert fourth.stream_.n_rows == 800
    assert fourth.sample(5, random_state=0).shape == (5, 2)
    assert fourth.coclustering().shape == (200, 200)


def test_more_rows_make_better_predictions(first, fourth):
    """The density of new rows rises with the batches; of 2,000 rows it is sure to."""
    x = batch_of(99, 2000)
    assert fourth.score(x) > first.score(x)


def test_memory_is_bounded(fourth):
    mixture = copy.deepcopy(fourth)
    sizes = []
    for seed in range(20, 26):
        quiet(mixture.partial_fit, batch_of(seed, 60), n_warmup=1, n_draws=1)
        for run in mixture.fit_.sampled.runs:
            sizes.append(run.chain.rows.squashed.blocks.n.size)
            assert sizes[-1] <= MOST_BLOCKS * 2 * run.chain.leaves.size
    assert max(sizes[-4:]) <= 2 * max(sizes[:4])


def test_predict_knows_clusters_without_rows_in_memory(fourth):
    """A batch of one cluster: rows elsewhere still have memberships that sum to one."""
    mixture = copy.deepcopy(fourth)
    x = batch_of(5, 50, n_clusters=1)
    quiet(mixture.partial_fit, x, **FEW)
    shares = mixture.predict_proba(CENTRES[:4])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # All four clusters are as dense as before.
    density = mixture.score_samples(CENTRES[:4])
    assert np.ptp(density) < 1.5


def test_the_same_batches_give_the_same(first):
    one, other = copy.deepcopy(first), copy.deepcopy(first)
    other.n_jobs = 1
    for mixture in (one, other):
        quiet(mixture.partial_fit, batch_of(1), **FEW)
    x = batch_of(8, 50)
    np.testing.assert_array_equal(one.score_samples(x), other.score_samples(x))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert str(one.stream_) == str(other.stream_)


def test_a_saved_stream_goes_on_identically(fourth, tmp_path):
    sticktree.save(fourth, tmp_path / "mine.sticktree")
    again = sticktree.load(tmp_path / "mine.sticktree")
    assert str(again.stream_) == str(fourth.stream_)
    one = copy.deepcopy(fourth)
    for mixture in (one, again):
        quiet(mixture.partial_fit, batch_of(6), **FEW)
    x = batch_of(8, 50)
    np.testing.assert_array_equal(one.score_samples(x), again.score_samples(x))
    np.testing.assert_array_equal(one.labels_, again.labels_)


def test_rows_with_gaps_can_come_and_go(first):
    mixture = copy.deepcopy(first)
    x = batch_of(1)
    x[::5, 0] = np.nan
    for batch in (x, batch_of(2)):
        quiet(mixture.partial_fit, batch, **FEW)
    assert np.isfinite(mixture.score_samples(batch_of(8, 50))).all()
    assert all(draw.rows_below()[0] == 600 for draw in mixture.posterior_.draws)


def test_warm_start_prolongs_the_draws_of_the_newest_batch(fourth):
    mixture = copy.deepcopy(fourth).set_params(warm_start=True, n_draws=3)
    before = [draw.log_joint for draw in mixture.posterior_.chains[0]]
    quiet(mixture.fit, batch_of(3))
    after = [draw.log_joint for draw in mixture.posterior_.chains[0]]
    assert after[: len(before)] == before
    assert len(after) == len(before) + 3
    assert mixture.posterior_.draws[-1].rows_below()[0] == 800


# ---- drift ---------------------------------------------------------------------------------------


def test_batches_that_are_alike_raise_no_alarm(fourth):
    assert not any(batch.drifted for batch in fourth.stream_.batches)
    assert fourth.stream_[-1].new_share < 0.05


def test_a_new_cluster_is_told_of_and_gets_leaves(fourth):
    mixture = copy.deepcopy(fourth)
    with pytest.warns(DriftWarning, match=r"batch 4 is not what.*z = -"):
        mixture.partial_fit(batch_of(4, n_clusters=5), n_warmup=20, n_draws=10)
    record = mixture.stream_[4]
    assert record.drifted
    assert record.z < -Z_LIMIT
    assert record.leaves_after >= 5
    assert 0.1 < record.new_share < 0.3  # a fifth
    # Once more, and only its weight is still too small.
    quiet(mixture.partial_fit, batch_of(5, n_clusters=5), **FEW)
    again = mixture.stream_[5]
    assert again.new_share < 0.05
    assert again.expected - again.log_density < 0.75 * (record.expected - record.log_density)


def test_a_stream_prints_and_is_a_frame(fourth):
    lines = str(fourth.stream_).split("\n")
    assert lines[0].split()[:4] == ["batch", "rows", "log", "density"]
    assert len(lines) == 5
    frame = fourth.stream_.to_frame()
    assert frame.index.tolist() == [0, 1, 2, 3]
    assert frame["rows"].tolist() == [200] * 4
    assert not frame["drifted"].any()


def test_batches_far_off_are_told_wherever_a_fit_is_summarised(fourth):
    calm = head(Findings(fourth.fit_))
    assert "4 batches with 800 rows in all" in calm
    assert "predicted" not in calm
    mixture = copy.deepcopy(fourth)
    for batch, z in ((4, -14.0), (5, 5.0)):
        far = Batch(batch, 200, -9.0, -2.0, 0.5, z, 3.0, 4.0, 0.2)
        stream, known = mixture.stream_.plus(far), mixture.fit_.summaries()
        mixture.fit_ = replace(mixture.fit_, stream=stream).with_summaries(known)
        if batch == 4:
            one = "Batch 4 was not what those before it predicted (z = -14.0): see stream_"
            words = head(Findings(mixture.fit_))
            assert one in words.replace("\n", " ")
            assert max(map(len, words.split("\n"))) <= 100
    found = Findings(mixture.fit_)
    assert found.result()["drifted"] == mixture.stream_.drifted == [4, 5]
    several = "2 batches were not what those before them predicted (4, 5)"
    assert several in summary(found).replace("\n", " ")
    assert several in html_of_fit(mixture)


def test_of_many_batches_far_off_the_last_are_named():
    stream = Stream(tuple(Batch(k, 9, -9.0, -2.0, 0.5, -14.0, 3.0, 4.0, 0.2) for k in range(20)))
    assert "20 batches were not" in stream.words()
    assert "(the last of them 12, 13, 14, 15, 16, 17, 18, 19)" in stream.words()


def test_a_batch_far_off_is_marked():
    far = Batch(1, 10, -9.0, -2.0, 0.5, -14.0, 3.0, 4.0, 0.2)
    assert far.drifted
    assert str(Stream((far,))).endswith("drift")


# ---- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((3, 3)), "3 features"),
        (np.zeros((0, 2)), "0 sample"),
        (np.array([[0.0, np.inf]]), "infinity"),
        (np.array([["a", "b"]]), "could not convert|numeric"),
    ],
)
def test_bad_batches_change_nothing(bad, message, fourth):
    mixture = copy.deepcopy(fourth)
    with pytest.raises(ValueError, match=message):
        mixture.partial_fit(bad)
    assert_same(mixture, fourth)


def assert_same(mixture, other):
    assert mixture.stream_ is not None
    assert str(mixture.stream_) == str(other.stream_)
    assert mixture.n_features_in_ == 2
    x = batch_of(8, 20)
    np.testing.assert_array_equal(mixture.score_samples(x), other.score_samples(x))
    states = [
        [run.chain.rng.bit_generator.state["state"] for run in one.fit_.sampled.runs]
        for one in (mixture, other)
    ]
    assert states[0] == states[1]


@pytest.mark.parametrize("name", ["n_warmup", "n_draws"])
def test_numbers_of_sweeps_are_checked(name, fourth):
    with pytest.raises(ValueError, match=f"{name} must be an integer"):
        fourth.partial_fit(batch_of(1), **{name: -1})


def test_an_interrupted_batch_leaves_all_as_it_was(fourth, monkeypatch):
    from sticktree.estimators import online

    mixture = copy.deepcopy(fourth)

    def interrupted(runs, *rest):
        for run in runs:
            run.chain.sweep()
        return False

    monkeypatch.setattr(online, "sample", interrupted)
    with pytest.raises(KeyboardInterrupt, match="not taken in"):
        mixture.partial_fit(batch_of(4))
    monkeypatch.undo()
    assert_same(mixture, fourth)


def test_a_fit_of_the_other_sampler_can_be_gone_on_from():
    mixture = DFPMixture(**{**CHOICES, "n_warmup": 20, "n_draws": 5}, algorithm="gibbs")
    quiet(mixture.fit, batch_of(0))
    before = mixture.score(batch_of(3))
    quiet(mixture.partial_fit, batch_of(1), **FEW)
    assert mixture.algorithm_ == "parallel"
    assert mixture.posterior_.draws[0].rows_below()[0] == 2 * len(batch_of(0))
    assert mixture.score(batch_of(3)) == pytest.approx(before, abs=0.3)


def test_columns_of_other_kinds_are_refused():
    mixture = DFPMixture(columns=["poisson", "gaussian"], n_chains=1, n_warmup=2, n_draws=2)
    quiet(mixture.fit, np.abs(batch_of(0, 20)) // 1)
    with pytest.raises(ValueError, match=r"partial_fit is for gaussian .* got poisson"):
        mixture.partial_fit(np.abs(batch_of(1, 20)) // 1)


def test_changed_parameters_are_refused(fourth):
    mixture = copy.deepcopy(fourth).set_params(depth=2)
    with pytest.raises(ValueError, match=r"depth must be that of the first batch, None.*got 2"):
        mixture.partial_fit(batch_of(1))


def test_a_new_fit_forgets_the_stream(fourth):
    mixture = copy.deepcopy(fourth).set_params(n_warmup=2, n_draws=2)
    quiet(mixture.fit, batch_of(0, 30))
    assert not hasattr(mixture, "stream_")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sticktree.inference.drift.DriftWarning")
def test_clusters_that_move_are_followed_by_forgetting():
    def batch(t, rng):
        centres = np.array([[0.0, 0.6 * t], [9.0, 0.6 * t]])
        return centres[rng.integers(2, size=80)] + rng.normal(size=(80, 2))

    scores = {}
    for forget in (0.0, 0.5):
        rng = np.random.default_rng(0)
        mixture = DFPMixture(
            depth=2, covariance_type="diag", leaf_noise="shared", n_chains=1, n_warmup=20,
            n_draws=20, random_state=0, n_jobs=1,
        )  # fmt: skip
        for t in range(9):
            mixture = mixture.partial_fit(batch(t, rng), n_warmup=6, n_draws=8, forget=forget)
        scores[forget] = mixture.score(batch(9, rng))
        mixture.sample(5)
    # With all rows kept, each cluster is a trail of five units; with half of them forgotten, next
    # to all rows are of the last three batches.
    assert scores[0.5] > scores[0.0] + 0.1, scores


@pytest.mark.parametrize("forget", [1.0, -0.1, "much", None])
def test_what_cannot_be_forgotten(forget):
    x = np.random.default_rng(0).normal(size=(20, 2))
    assert_rejected(lambda: DFPMixture().partial_fit(x, forget=forget), "forget", "below 1")
