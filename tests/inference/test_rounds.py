"""Chains go on in rounds until the answer is stable, to the same draws however they are run."""

import json
import time
import warnings
from contextlib import nullcontext

import joblib
import numpy as np
import pytest

import sticktree.inference.fitting
from sticktree import DFPMixture, load, save
from sticktree.engine.shared.chain import Chain
from sticktree.inference import looking
from sticktree.inference.looking import look_at
from sticktree.inference.rounds import FROZEN, Lengths, Rounds
from sticktree.inference.runner import Run, Schedule, TimeLimit, sample
from sticktree.model import Model
from sticktree.posterior import settled as rule
from sticktree.posterior.draws import ConvergenceWarning
from sticktree.posterior.settled import Yardstick
from tests.support.training import training_of

MODEL = Model(np.ones(1), precision_prior=(1.0, 0.01), concentration=1.0)
SHARED = {"covariance_type": "full", "leaf_noise": "shared", "depth": 2}


def rows(n=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2 * n, 2)) + np.repeat([0.0, 9.0], n)[:, None]


def fit(**parameters):
    mixture = DFPMixture(**{"random_state": 0, "progress": False} | parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(rows())


def assert_same_draws(ours, theirs):
    assert len(ours.posterior_) == len(theirs.posterior_) > 0
    assert ours.posterior_.n_chains == theirs.posterior_.n_chains
    for mine, its in zip(ours.posterior_.draws, theirs.posterior_.draws, strict=True):
        np.testing.assert_array_equal(mine.leaf, its.leaf)
        np.testing.assert_array_equal(mine.parent, its.parent)
        assert mine.log_joint == its.log_joint


@pytest.fixture
def never_agree(monkeypatch):
    """Let halves of chains never agree, so that all is done that may be."""
    monkeypatch.setattr(looking, "clusters_agree", lambda r: False)


# ---- lengths -----------------------------------------------------------------------------------


def test_the_first_half_is_warm_up_and_numbers_of_moves_freeze_before_any_draw():
    lengths = Lengths(None)
    schedule = lengths.schedule(100)
    assert schedule.n_sweeps == 100
    draws = list(range(FROZEN + 1, 101))  # by their sweeps
    before, now = lengths.looked_at(draws, 100)
    assert (before, now) == (list(range(26, 51)), list(range(51, 101)))
    assert [k for k in range(100) if schedule.tunes(k)] == list(range(FROZEN))
    assert lengths.after(100) == Schedule(50, 50)
    # Of the next length, and with draws that were given up.
    before, now = lengths.looked_at(list(range(51, 201)), 200)
    assert (before, now) == (list(range(51, 101)), list(range(101, 201)))


def test_lengths_are_in_draws_where_sweeps_are_thinned():
    schedule = Lengths(None, thin=3).schedule(100)
    assert (schedule.n_sweeps, schedule.n_draws, schedule.thin) == (300, 75, 3)
    assert Lengths(None, thin=3).after(100) == Schedule(150, 50, 3)


def test_a_warm_up_that_is_fixed_is_kept_to():
    lengths = Lengths(30)
    assert lengths.schedule(100) == Schedule(30, 50)
    before, now = lengths.looked_at(list(range(50)), 100)
    assert (before, now) == (list(range(25)), list(range(25, 50)))


def test_draws_of_many_rows_keep_fewer_labels():
    assert Lengths(None, n_data=10**8).schedule(100).label_every > 1


# ---- the same result however it is run ---------------------------------------------------------


@pytest.fixture(scope="module")
def settled():
    return fit()


def test_an_easy_answer_is_stable_at_the_first_look(settled):
    (look,) = settled.course_.looks
    assert look.settled
    assert settled.course_.settled
    assert (look.n_sweeps, look.chains, look.stuck) == (100, (0, 1, 2, 3), ())
    assert (settled.n_iter_, settled.n_draws_, settled.posterior_.n_chains) == (100, 50, 4)
    assert set(settled.labels_[:20]) != set(settled.labels_[20:])
    assert settled.fit_.sampled.schedule == Schedule(50, 50)


def test_draws_do_not_depend_on_the_number_of_threads(settled):
    assert_same_draws(fit(n_jobs=1), settled)


def test_processes_draw_what_threads_do(settled):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_same_draws(fit(), settled)


def test_pilots_of_the_best_model_go_on_as_the_first_chains(monkeypatch):
    begun = []
    original = Run.start.__func__

    def start(cls, training, model, seed, n_threads=1):
        begun.append(model)
        return original(cls, training, model, seed, n_threads)

    monkeypatch.setattr(Run, "start", classmethod(start))
    mixture = fit()
    assert begun == [mixture.fit_.model] * 2


def test_pilots_on_some_of_the_rows_do_not_go_on(monkeypatch):
    monkeypatch.setattr("sticktree.data.training.ALL", 20)
    monkeypatch.setattr("sticktree.data.training.SOME_BY_ONE", 20)
    mixture = fit()
    assert {draw.n_data for draw in mixture.posterior_.draws} == {40}
    # Nor do they have a say in densities: they know some of the rows only.
    assert mixture.selection_.draws == {}
    assert mixture.stack().weights == {mixture.selection_.best: 1.0}
    assert mixture.stack().score(rows(seed=1)) == mixture.score(rows(seed=1))


def test_more_chains_join_where_they_disagree(never_agree):
    mixture = fit(**SHARED)
    found = [(look.n_sweeps, len(look.chains)) for look in mixture.course_.looks]
    assert found == [(100, 4), (200, 4), (200, 8)]
    assert not mixture.course_.settled
    assert (mixture.posterior_.n_chains, mixture.n_draws_, mixture.n_iter_) == (8, 100, 200)


@pytest.mark.parametrize("n_sweeps", [60, 130, 199])
def test_a_run_that_died_goes_on_to_the_same_draws(tmp_path, monkeypatch, never_agree, n_sweeps):
    settings = SHARED | {"n_jobs": 1}
    whole = fit(**settings)
    original = Chain.sweep

    def sweep_and_die(self, tune):
        self.n_done = getattr(self, "n_done", 0) + 1
        if self.n_done > n_sweeps:
            raise RuntimeError("out of memory")
        return original(self, tune=tune)

    with monkeypatch.context() as patch:
        patch.setattr(sticktree.inference.fitting, "SECONDS_BETWEEN_SAVES", 0.02)
        patch.setattr(Chain, "sweep", sweep_and_die)
        with pytest.raises(RuntimeError, match="out of memory"):
            fit(**settings, checkpoint=tmp_path)
    resumed = fit(**settings, checkpoint=tmp_path)
    assert_same_draws(resumed, whole)
    assert resumed.course_ == whole.course_


def test_a_finished_run_is_read_without_a_sweep(tmp_path, monkeypatch):
    whole = fit(**SHARED, checkpoint=tmp_path)
    monkeypatch.setattr(Chain, "sweep", lambda *_, **__: pytest.fail("swept"))
    again = fit(**SHARED, checkpoint=tmp_path)
    assert_same_draws(again, whole)
    assert again.course_ == whole.course_


def test_a_run_in_rounds_does_not_go_on_with_fixed_numbers(tmp_path):
    fit(**SHARED, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="holds a run with other parameters"):
        fit(**SHARED, checkpoint=tmp_path, n_draws=100)


def test_a_run_with_fixed_numbers_says_what_they_were(tmp_path):
    fit(**SHARED, checkpoint=tmp_path, n_chains=2, n_warmup=3, n_draws=3)
    with pytest.raises(ValueError, match=r"\(n_chains=2, n_warmup=3, a number as n_draws\)"):
        fit(**SHARED, checkpoint=tmp_path)


def test_a_checkpoint_that_has_not_kept_its_choice_goes_on_if_there_was_none(tmp_path):
    numbers = {"n_warmup": 3, "n_draws": 3}
    for name, settings, refused in (("one", SHARED, False), ("several", {}, True)):
        folder = tmp_path / name
        whole = fit(**settings, **numbers, checkpoint=folder)
        header = json.loads((folder / "run.json").read_text())
        del header["chosen"], header["made_by"]  # as older versions wrote it
        (folder / "run.json").write_text(json.dumps(header))
        for path in folder.glob("chain-*.npz"):
            with np.load(path) as kept:
                arrays = {key: kept[key] for key in kept if key != "run"}
            np.savez(path, **arrays)
        with pytest.raises(ValueError, match="older sticktree") if refused else nullcontext():
            assert_same_draws(fit(**settings, **numbers, checkpoint=folder), whole)


def test_damaged_looks_are_named(tmp_path):
    fit(**SHARED, checkpoint=tmp_path)
    (tmp_path / "course.json").write_text("[{}]")
    with pytest.raises(ValueError, match=r"course\.json is damaged"):
        fit(**SHARED, checkpoint=tmp_path)


def test_the_course_is_saved_with_the_fit(settled, tmp_path):
    save(settled, tmp_path / "mine.sticktree")
    assert load(tmp_path / "mine.sticktree").course_ == settled.course_


# ---- going on ----------------------------------------------------------------------------------


def test_warm_start_adds_as_many_draws_as_there_were_sweeps():
    mixture = fit(**SHARED, warm_start=True)
    before = [list(chain) for chain in mixture.posterior_.chains]
    looks, n = mixture.course_.looks, mixture.n_draws_
    assert mixture.n_iter_ == 2 * n
    mixture.fit(rows())
    assert (mixture.n_draws_, mixture.n_iter_) == (3 * n, 4 * n)
    for old, new in zip(before, mixture.posterior_.chains, strict=True):
        assert old == new[:n]
    assert mixture.course_.looks[:-1] == looks
    assert mixture.course_.looks[-1].n_sweeps == 4 * n
    mixture.set_params(n_draws=7).fit(rows())
    assert (mixture.n_draws_, mixture.n_iter_) == (3 * n + 7, 4 * n + 7)


def test_ctrl_c_in_a_later_round_keeps_the_second_half_of_what_there_is(monkeypatch, never_agree):
    original = Run.sweeps

    def sweeps(self, schedule):
        for info in original(self, schedule):
            if self.n_sweeps == 150:
                raise KeyboardInterrupt
            yield info

    monkeypatch.setattr(Run, "sweeps", sweeps)
    mixture = DFPMixture(**SHARED, random_state=0, n_jobs=1, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        mixture.fit(rows())
    assert not mixture.fit_.sampled.finished
    first, *others = [len(chain) for chain in mixture.posterior_.chains]
    assert first == 75
    # The next may have begun when it is told to stop.
    assert len(others) == 3
    assert all(50 <= n < 75 for n in others)
    monkeypatch.undo()
    mixture.fit(rows())
    assert mixture.fit_.sampled.finished
    assert mixture.n_draws_ == 50 + 150


def test_ctrl_c_before_the_first_draw_is_passed_on(monkeypatch):
    original = Run.sweeps

    def sweeps(self, schedule):
        yield next(original(self, schedule))
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "sweeps", sweeps)
    with pytest.raises(KeyboardInterrupt, match="no draws"):
        fit(**SHARED, n_jobs=1)


# ---- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [{}, {"n_warmup": 10**6, "n_draws": 10}], ids=["auto", "fixed"])
def test_when_time_is_over_a_fit_ends_with_what_there_is(numbers, tmp_path):
    began = time.monotonic()
    mixture = fit(**SHARED, **numbers, max_time=0.2)
    assert time.monotonic() - began < 30
    if numbers:
        assert mixture.course_.out_of_time
        assert "max_time = 0.2 s" in " ".join(mixture.course_.words())
        assert mixture.n_iter_ < 10**6
    assert mixture.course_.max_time == 0.2
    assert mixture.n_draws_ >= 1
    assert mixture.labels_.size == 40


def test_no_time_at_all_leaves_a_draw_of_each_chain():
    mixture = fit(max_time=1e-9)
    assert mixture.course_.out_of_time
    assert not mixture.course_.settled
    assert [len(chain) for chain in mixture.posterior_.chains] == [1] * 4
    assert np.isfinite(mixture.score(rows()))


def test_a_fit_that_ends_after_new_chains_began_is_read_and_goes_on(
    never_agree, monkeypatch, tmp_path
):
    looked = Rounds._look

    def look(self, runs, length, yardstick):
        if length == 200:  # then four more chains begin
            self.limit._end = time.monotonic()
        return looked(self, runs, length, yardstick)

    monkeypatch.setattr(Rounds, "_look", look)
    mixture = fit(**SHARED, max_time=1e6)
    assert mixture.course_.out_of_time
    assert len(mixture.course_.looks[-1].left) == 4
    assert mixture.posterior_.n_chains == 8
    save(mixture, tmp_path / "fit.sticktree")
    again = load(tmp_path / "fit.sticktree")
    assert_same_draws(again, mixture)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert again.set_params(max_time=None).more_draws(5).posterior_.n_chains == 8


def test_time_that_suffices_changes_nothing(settled):
    mixture = fit(max_time=1e6)
    assert_same_draws(mixture, settled)
    assert not mixture.course_.out_of_time


# ---- the look ----------------------------------------------------------------------------------


def chains(n_chains=4, length=100):
    data = (rows() - 4.5) / 4.5
    seeds = np.random.SeedSequence(0).spawn(n_chains)
    runs = [Run.on(data, MODEL, seed) for seed in seeds]
    assert sample(runs, Lengths(None).schedule(length), 1)
    return data, {k: Lengths(None).looked_at(run.draws, length) for k, run in enumerate(runs)}


def test_a_stuck_chain_is_dropped_and_does_not_count():
    data, pairs = chains()
    yardstick = Yardstick(training_of(data), MODEL)
    sound = look_at({k: pairs[k] for k in (0, 1, 3)}, 100, MODEL, yardstick, 1)
    # A chain in which both clusters stay one, with noise as wide as all.
    wide = Model(np.ones(1), precision_prior=(1e4, 1e4), concentration=1.0)
    run = Run.on(data, wide, np.random.SeedSequence(9))
    assert sample([run], Lengths(None).schedule(100), 1)
    pairs[2] = Lengths(None).looked_at(run.draws, 100)
    found = look_at(pairs, 100, MODEL, yardstick, 1)
    assert found.stuck == (2,)
    assert found.left == (0, 1, 3)
    assert found.elpd == sound.elpd
    assert (found.change, found.difference) == (sound.change, sound.difference)


def test_two_halves_of_one_chain_are_compared_if_there_is_no_other():
    data, pairs = chains(n_chains=1)
    found = look_at(pairs, 100, MODEL, Yardstick(training_of(data), MODEL), 1)
    assert found.chains == (0,)
    assert np.isfinite([found.elpd, found.change, found.difference, found.agreement]).all()


def test_densities_of_a_draw_are_computed_once(monkeypatch):
    data, pairs = chains()
    yardstick = Yardstick(training_of(data), MODEL)
    look_at(pairs, 100, MODEL, yardstick, 1)
    now = {k: (after, after[::2]) for k, (_, after) in pairs.items()}
    n_new = []
    original = Yardstick._computed
    monkeypatch.setattr(
        Yardstick,
        "_computed",
        lambda self, draws: n_new.append(len(draws)) or original(self, draws),
    )
    look_at(now, 100, MODEL, yardstick, 1)
    assert sum(n_new) < 4 * 25


@pytest.mark.parametrize("parallel", [False, True])
def test_of_many_rows_some_are_looked_at_as_they_are(parallel, monkeypatch):
    monkeypatch.setattr(rule, "FEW_ROWS", 10)
    monkeypatch.setattr(rule, "SOME_ROWS", 8)
    training = training_of((rows() - 4.5) / 4.5, parallel=parallel)
    yardstick = Yardstick(training, MODEL)
    run = Run.start(training, MODEL, np.random.SeedSequence(0))
    assert sample([run], Schedule(5, 5), 1)
    found = yardstick.densities(run.draws)
    assert found.shape == (5, len(yardstick.rows))
    assert 1 <= len(yardstick.rows) <= 20
    mean = np.log(np.exp(found).mean(axis=0))
    np.testing.assert_allclose(yardstick.pooled([found]).pointwise, mean)


def test_an_answer_that_still_moves_is_not_stable():
    data, pairs = chains()
    yardstick = Yardstick(training_of(data), MODEL)
    still = look_at(pairs, 100, MODEL, yardstick, 1)
    assert still.settled
    wide = Model(np.ones(1), precision_prior=(1e4, 1e4), concentration=1.0)
    early = []
    for seed in np.random.SeedSequence(7).spawn(4):
        run = Run.on(data, wide, seed)
        assert sample([run], Schedule(0, 25), 1)
        early.append(run.draws)
    moved = {k: (early[k], now) for k, (_, now) in pairs.items()}
    found = look_at(moved, 100, MODEL, yardstick, 1)
    assert found.change > found.tolerance
    assert found.agreed
    assert not found.settled


def test_time_limit_remembers_that_it_was_hit():
    limit = TimeLimit(None)
    assert not limit.over()
    limit = TimeLimit(1e-9)
    assert not limit.hit
    assert limit.over()
    assert limit.hit
