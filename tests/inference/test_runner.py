"""Chains run in threads, are watched, stop and go on, and draw what they would draw alone."""

import ctypes
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sticktree import DFPMixture
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.shared.chain import Chain
from sticktree.fit import Fit
from sticktree.inference import fitting, runner
from sticktree.inference.interrupts import once
from sticktree.inference.runner import Run, Schedule, sample
from sticktree.model import Model
from sticktree.posterior.draws import ConvergenceWarning
from tests.support.training import training_of

MODEL = Model(np.ones(2), covariance_type="diag")


def rows(n_rows=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, 2)) + np.repeat([0.0, 9.0], n_rows // 2)[:, None]


def start(n_chains=1, seed=0):
    data = (rows() - 4.5) / 4.5
    return [
        Run.start(training_of(data), MODEL, s) for s in np.random.SeedSequence(seed).spawn(n_chains)
    ]


def fit(data, **parameters):
    quick = {
        "covariance_type": "full",
        "depth": 3,
        "n_chains": 2,
        "n_warmup": 10,
        "n_draws": 10,
        "random_state": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DFPMixture(**quick | parameters).fit(data)


def assert_same_draws(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        for name in ("leaf", "parent", "level"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        for name in a.parameters:
            np.testing.assert_array_equal(a.parameters[name], b.parameters[name])
        assert (a.concentration, a.discount, a.log_joint) == (
            b.concentration,
            b.discount,
            b.log_joint,
        )


def finish(run, schedule):
    for _ in run.sweeps(schedule):
        pass
    return run


# ---- schedules and runs ------------------------------------------------------------------------


def test_schedule_counts_its_sweeps():
    schedule = Schedule(n_warmup=5, n_draws=4, thin=3)
    assert schedule.n_sweeps == 17


def test_run_yields_after_every_sweep_and_draws_after_warm_up():
    (run,) = start()
    seen = []
    for info in run.sweeps(Schedule(n_warmup=3, n_draws=4)):
        moved, rows = info["datum"]
        assert 0 <= moved <= rows
        seen.append((run.n_sweeps, len(run.draws)))
        if run.draws:
            assert run.draws[-1].tree == tree_of(run.chain.state)
    assert seen == [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2), (6, 3), (7, 4)]


def test_run_that_is_done_does_not_sweep():
    (run,) = start()
    finish(run, Schedule(2, 3))
    assert list(run.sweeps(Schedule(2, 3))) == []
    assert (run.n_sweeps, len(run.draws)) == (5, 3)


@pytest.mark.parametrize("stop", [1, 4, 6, 9])
def test_run_stopped_after_any_sweep_goes_on_to_the_same_draws(stop):
    schedule = Schedule(n_warmup=4, n_draws=3, thin=2)
    (whole,), (broken,) = start(), start()
    finish(whole, schedule)
    for _ in broken.sweeps(schedule):
        if broken.n_sweeps == stop:
            break
    assert broken.n_sweeps == stop
    finish(broken, schedule)
    assert_same_draws(whole.draws, broken.draws)


def test_thinning_keeps_every_so_many_draws():
    (all_sweeps,), (thinned,) = start(), start()
    finish(all_sweeps, Schedule(3, 12))
    finish(thinned, Schedule(3, 4, thin=3))
    assert_same_draws(all_sweeps.draws[2::3], thinned.draws)


# ---- threads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_chains_draw_in_threads_what_they_draw_alone(n_jobs):
    schedule = Schedule(3, 5)
    alone, together = start(4), start(4)
    assert sample(together, schedule, n_jobs)
    for a, b in zip(alone, together, strict=True):
        assert_same_draws(finish(a, schedule).draws, b.draws)


def test_every_sweep_of_every_chain_is_watched():
    runs, seen = start(3), []
    sample(runs, Schedule(2, 4), 2, lambda k, run: seen.append((k, run is runs[k], run.n_sweeps)))
    assert sorted(seen) == [(k, True, n) for k in range(3) for n in range(1, 7)]


def test_error_in_a_chain_is_raised_and_stops_the_others():
    runs = start(2)

    def fail(k, run):
        if k == 0 and run.n_sweeps == 5:
            raise RuntimeError("chain 0 is broken")

    with pytest.raises(RuntimeError, match="chain 0 is broken"):
        sample(runs, Schedule(0, 10**9), 2, fail)
    assert runs[0].n_sweeps == 5


# ---- Ctrl-C ------------------------------------------------------------------------------------


@pytest.fixture
def interrupted(monkeypatch):
    """Return a context in which Ctrl-C comes once ``n_chains`` chains have done some sweeps."""

    def prepare(patch, n_sweeps, n_chains=2):
        reached, pressed = threading.Semaphore(0), threading.Event()
        original = Run.sweeps

        def sweeps(self, schedule):
            for info in original(self, schedule):
                if self.n_sweeps == n_sweeps:
                    reached.release()
                    assert pressed.wait(60)
                    time.sleep(0.2)  # for the main thread to pass the word on
                yield info

        def wait(*arguments):
            for _ in range(n_chains):
                assert reached.acquire(timeout=60)
            pressed.set()
            raise KeyboardInterrupt

        patch.setattr(Run, "sweeps", sweeps)
        patch.setattr(runner, "wait", wait)

    return prepare


def fit_interrupted(mixture):
    """Fit and return what was said of the interruption; that chains disagree is no wonder."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mixture.fit(rows())
    assert {record.category for record in caught} == {ConvergenceWarning}
    (said,) = [
        str(record.message) for record in caught if "chains agree" not in str(record.message)
    ]
    assert "interrupted" in said
    return said


def test_interrupted_runs_say_that_they_are_not_finished(monkeypatch, interrupted):
    runs = start(2)
    interrupted(monkeypatch, n_sweeps=6)
    assert not sample(runs, Schedule(3, 2000), 2)
    for run in runs:
        assert run.n_sweeps >= 6
        assert len(run.draws) == run.n_sweeps - 3


def test_draws_made_before_ctrl_c_are_kept_and_can_be_used(monkeypatch, interrupted):
    mixture = DFPMixture(
        depth=3,
        covariance_type="full",
        n_chains=2,
        n_warmup=10,
        n_draws=2000,
        n_jobs=2,
        random_state=0,
    )
    with monkeypatch.context() as patch:
        interrupted(patch, n_sweeps=17)
        said = fit_interrupted(mixture)
    assert f"{len(mixture.posterior_)} draws are kept" in said
    assert "warm_start=True" in said
    kept = [len(chain) for chain in mixture.posterior_.chains]
    assert all(7 <= n < 2000 for n in kept)
    whole = fit(rows(), n_draws=max(kept))
    for mine, n, other in zip(
        mixture.posterior_.chains, kept, whole.posterior_.chains, strict=True
    ):
        assert_same_draws(mine, other[:n])
    assert np.isfinite(mixture.score_samples(rows())).all()
    assert mixture.labels_.size == 20
    assert mixture.predict(rows()).size == 20


def test_chains_that_never_began_do_not_spoil_an_interrupted_fit(monkeypatch, interrupted):
    mixture = DFPMixture(
        depth=3,
        covariance_type="full",
        n_chains=3,
        n_warmup=2,
        n_draws=2000,
        n_jobs=1,
        random_state=0,
    )
    with monkeypatch.context() as patch:
        interrupted(patch, n_sweeps=8, n_chains=1)
        fit_interrupted(mixture)
    kept = [len(chain) for chain in mixture.posterior_.chains]
    assert kept[0] >= 6
    assert kept[1:] == [0, 0]
    assert np.isfinite(mixture.score_samples(rows())).all()
    assert np.isfinite(mixture.predict_proba(rows())).all()
    assert len(mixture.posterior_) == kept[0]
    assert "3 chains of 0 draws" in repr(mixture.posterior_)


def test_interrupted_fit_goes_on_with_warm_start(monkeypatch, interrupted):
    mixture = DFPMixture(
        depth=3,
        covariance_type="full",
        n_chains=2,
        n_warmup=2,
        n_draws=40,
        n_jobs=2,
        random_state=0,
        warm_start=True,
    )
    with monkeypatch.context() as patch:
        interrupted(patch, n_sweeps=8)
        fit_interrupted(mixture)
    kept = [list(chain) for chain in mixture.posterior_.chains]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(rows())
    sizes = [len(chain) for chain in mixture.posterior_.chains]
    # What was planned before Ctrl-C and not drawn is not made up for.
    assert sizes == [min(map(len, kept)) + 40] * 2
    whole = fit(rows(), n_warmup=2, n_draws=sizes[0])
    assert_same_draws(mixture.posterior_.draws, whole.posterior_.draws)
    for before, chain in zip(kept, mixture.posterior_.chains, strict=True):
        assert before == chain[: len(before)]


@pytest.fixture
def stopped_in_warm_up(monkeypatch, interrupted):
    """Return an estimator whose fit was interrupted before its first draw."""
    mixture = DFPMixture(
        depth=3,
        covariance_type="full",
        n_chains=2,
        n_warmup=2000,
        n_jobs=2,
        n_draws=5,
        random_state=0,
    )
    with monkeypatch.context() as patch:
        interrupted(patch, n_sweeps=4)
        with pytest.raises(KeyboardInterrupt, match="during warm-up: there are no draws"):
            mixture.fit(rows())
    return mixture


def test_ctrl_c_during_warm_up_is_passed_on(stopped_in_warm_up):
    # And what is left can be fitted again, from the start.
    again = stopped_in_warm_up.set_params(n_warmup=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        again.fit(rows())
    fresh = fit(rows(), n_warmup=5, n_draws=5)
    assert_same_draws(again.posterior_.draws, fresh.posterior_.draws)


@pytest.mark.parametrize("method", ["score_samples", "predict", "predict_proba", "transform"])
def test_estimator_without_draws_is_not_fitted(stopped_in_warm_up, method):
    with pytest.raises(NotFittedError):
        getattr(stopped_in_warm_up, method)(rows())


# ---- what a person sees ------------------------------------------------------------------------


def test_progress_is_one_line_for_each_thing_that_is_done(capsys):
    fit(rows(), progress=True)
    output = capsys.readouterr()
    assert output.out == ""
    said = output.err.splitlines()
    assert [line for line in said if not line.startswith("compiling")] == [
        "sampling: 2 chains to 20 sweeps",
        "finding what 20 draws agree on",
    ]


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_where_nobody_asks_or_looks(capsys, progress):
    fit(rows(), progress=progress)
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "")


def test_progress_does_not_change_the_draws(capsys):
    shown, hidden = fit(rows(), progress=True), fit(rows(), progress=False)
    assert_same_draws(shown.posterior_.draws, hidden.posterior_.draws)


def test_run_starts_from_its_seed_alone():
    first, second = start(2, seed=3), start(2, seed=3)
    other = Chain((rows() - 4.5) / 4.5, MODEL, np.random.default_rng(4))
    assert tree_of(first[0].chain.state) == tree_of(second[0].chain.state)
    assert tree_of(first[0].chain.state) != tree_of(first[1].chain.state)
    assert tree_of(first[0].chain.state) != tree_of(other.state)


# ---- Ctrl-C again, and in other threads ----------------------------------------------------------


@pytest.fixture
def hearing():
    """Hear of Ctrl-C, also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press(times=1):
    for _ in range(times):
        signal.raise_signal(signal.SIGINT)


def test_second_ctrl_c_keeps_what_the_first_kept(monkeypatch, capsys, hearing):
    original, saved, arrived = Run.sweeps, [], threading.Event()

    def sweeps(self, schedule):
        for info in original(self, schedule):
            if self.n_sweeps == 15:
                arrived.set()
                threading.Event().wait(0.3)  # a sweep that takes its time
            yield info

    def wait(*arguments):
        assert arrived.wait(60.0)
        press()

    def pressed_while_saving(outcome, *others):
        press()
        saved.append(len(outcome.runs[0].draws))
        return kept(outcome, *others)

    kept = fitting._sampled
    monkeypatch.setattr(Run, "sweeps", sweeps)
    monkeypatch.setattr(runner, "wait", wait)
    monkeypatch.setattr(fitting, "_sampled", pressed_while_saving)
    mixture = DFPMixture(3, covariance_type="full", n_chains=1, n_warmup=5, n_draws=5000)
    said = fit_interrupted(mixture.set_params(random_state=0))
    assert f"{saved[0]} draws are kept" in said
    assert len(mixture.posterior_) == saved[0] > 0
    assert "stopping: what there is is being kept" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):  # it is as usual again
        press()


def test_ctrl_c_while_it_is_summarised_leaves_the_draws(monkeypatch, interrupted, hearing):
    mixture = DFPMixture(3, covariance_type="full", n_chains=2, n_warmup=5, n_draws=2000)
    with monkeypatch.context() as patch:
        interrupted(patch, n_sweeps=8)
        patch.setattr(Fit, "summarised", lambda self, **_: press())
        with (
            pytest.warns(ConvergenceWarning, match="interrupted"),
            pytest.raises(KeyboardInterrupt),
        ):
            mixture.set_params(random_state=0).fit(rows())
    assert len(mixture.posterior_) >= 6
    assert mixture.labels_.size == 20


def test_who_cannot_wait_gets_out(hearing):
    with once():
        with pytest.raises(KeyboardInterrupt):
            press()
        press(2)
        with pytest.raises(KeyboardInterrupt):
            press()


def test_interrupt_in_the_thread_of_a_chain_ends_the_others_within_a_second():
    runs = start(2)
    began = []

    def watch(k, run):
        if k == 1 and run.n_sweeps == 5:
            began.append(time.monotonic())
            raise KeyboardInterrupt

    assert not sample(runs, Schedule(3, 10**6), 2, watch)
    assert time.monotonic() - began[0] < 5.0  # a second, on a machine with nothing else to do
    assert len(runs[1].draws) == 2


def test_interrupt_of_the_thread_of_a_fit_is_heard_within_a_second():
    heard, runs = [], start(1)

    def work():
        heard.append(sample(runs, Schedule(3, 10**6), 1))

    thread = threading.Thread(target=work)
    thread.start()
    while not runs[0].draws:
        time.sleep(0.01)
    asynchronously = ctypes.pythonapi.PyThreadState_SetAsyncExc
    asynchronously(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))
    thread.join(5.0)
    assert heard == [False]
