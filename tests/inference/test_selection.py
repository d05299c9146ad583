"""Choosing among models: the right one, within the budget, whatever the number of threads."""

import threading

import numpy as np
import pytest

from sticktree.engine.shared.chain import Chain
from sticktree.inference import selection
from sticktree.inference.runner import Run, TimeLimit
from sticktree.inference.selection import Selection, clearly_worse, select
from sticktree.model import Model
from sticktree.posterior.loo import LeaveOneOut

# The noise is narrow, or as wide as all the data: of two tight groups that is clearly wrong.
NARROW = Model(np.ones(1), precision_prior=(1.0, 0.01), concentration=1.0)
DEEP = Model(np.ones(2), precision_prior=(1.0, 0.01), concentration=1.0)
WIDE = Model(np.ones(1), precision_prior=(1e4, 1e4), concentration=1.0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return np.repeat([-1.0, 1.0], 15)[:, None] + 0.1 * rng.standard_normal((30, 2))


def choose(data, *candidates, n_jobs=2, **options):
    return select(data, candidates, np.random.SeedSequence(1), n_jobs, **options)[0]


@pytest.fixture(scope="module")
def chosen(data):
    return choose(data, ("wide", WIDE), ("narrow", NARROW), ("deep", DEEP))


def test_model_that_is_clearly_worse_is_dropped_early(chosen):
    assert chosen.best in ("narrow", "deep")
    assert chosen.dropped_after == {"wide": 24}
    assert chosen.n_sweeps == 6 * 24 + 4 * 26
    assert chosen.weights["wide"] == 0
    assert sum(chosen.weights.values()) == pytest.approx(1)


def test_table_has_the_best_first_and_those_dropped_last(chosen):
    table = chosen.table
    assert (table[0]["name"], table[2]["name"]) == (chosen.best, "wide")
    assert table[0]["difference"] == 0
    assert [row["dropped_after"] for row in table] == [None, None, 24]
    last = table[2]
    assert last["elpd"] == chosen.results["wide"].elpd
    gap = chosen.results["wide"].pointwise - chosen.results[chosen.best].pointwise
    assert last["difference"] == pytest.approx(gap.sum())
    assert last["se_difference"] == pytest.approx(np.sqrt(30) * gap.std(ddof=1))
    assert last["difference"] < -30 * 0.1
    assert set(last) == set(selection.HEADINGS)


def test_result_does_not_depend_on_the_number_of_threads(data, chosen):
    alone = choose(data, ("wide", WIDE), ("narrow", NARROW), ("deep", DEEP), n_jobs=1)
    assert alone.table == chosen.table
    for name, result in alone.results.items():
        np.testing.assert_array_equal(result.pointwise, chosen.results[name].pointwise)
        np.testing.assert_array_equal(result.k_hat, chosen.results[name].k_hat)


def test_a_candidate_is_judged_by_the_draws_after_warm_up_of_its_better_chain(data, chosen):
    # The same chains, run by hand.
    found = []
    for seed in np.random.SeedSequence(1).spawn(3)[1].spawn(2):
        chain = Chain(data, NARROW, np.random.default_rng(seed))
        kept = []
        for k in range(1, 51):
            chain.sweep(tune=k <= 25)
            if k > 25:
                kept.append(chain.leave_one_out())
        found.append(selection.leave_one_out(np.array([kept])))
    better = max(found, key=lambda result: result.elpd)
    assert found[0].elpd != pytest.approx(found[1].elpd)
    np.testing.assert_allclose(chosen.results["narrow"].pointwise, better.pointwise, rtol=1e-9)


def test_a_stuck_chain_does_not_get_the_best_model_dropped(data, monkeypatch):
    original, n_begun = Run.on.__func__, []

    def on(cls, *arguments):
        n_begun.append(1)
        # The second chain of the better model never leaves a state that predicts badly.
        model = WIDE if len(n_begun) == 2 else arguments[1]
        return original(cls, arguments[0], model, arguments[2])

    monkeypatch.setattr(Run, "on", classmethod(on))
    found = choose(data, ("narrow", NARROW), ("wide", WIDE))
    assert found.best == "narrow"
    assert found.dropped_after == {"wide": 24}


def test_the_chains_of_the_best_are_returned_with_their_draws(data):
    found, runs = select(
        data, [("narrow", NARROW), ("deep", DEEP)], np.random.SeedSequence(1), n_jobs=1
    )
    assert [(run.n_sweeps, len(run.draws)) for run in runs] == [(50, 25), (50, 25)]
    assert found.best not in found.draws  # they are the first of the fit
    assert {run.chain.model for run in runs} == {found.models[found.best]}


def test_no_more_than_three_go_on(data):
    found = choose(data, *[(name, NARROW) for name in "abcde"])
    assert len(found.dropped_after) == 2
    assert found.n_sweeps == 10 * 24 + 6 * 26


def test_what_is_worse_but_best_for_some_rows_goes_on():
    rng = np.random.default_rng(0)
    best = rng.normal(0.0, 0.1, 200)
    others = {
        "near": best - 0.01,
        "next": best - 0.02,
        "last": best - 0.03,
        "odd": np.where(np.arange(200) < 40, best + 3.0, best - 20.0),
        "worse": best - 2.0,
    }
    found = {name: LeaveOneOut.of_rows(rows, np.zeros(200)) for name, rows in others.items()}
    results = {"best": LeaveOneOut.of_rows(best, np.zeros(200))} | found
    assert selection.worth_going_on(results) == ["best", "odd", "near"]
    assert "odd" in clearly_worse(results)
    del results["odd"]
    assert selection.worth_going_on(results) == ["best", "near", "next"]


def test_only_one_left_does_not_go_on(data):
    found = choose(data, ("wide", WIDE), ("narrow", NARROW))
    assert found.best == "narrow"
    assert found.n_sweeps == 4 * 24
    assert found.weights == {"wide": 0.0, "narrow": 1.0}


def test_one_candidate_runs_to_the_end(data):
    found = choose(data, ("narrow", NARROW), n_chains=1)
    assert (found.best, found.n_sweeps, found.weights) == ("narrow", 50, {"narrow": 1.0})


@pytest.mark.parametrize("n_sweeps", [2, 3, 11, 50])
def test_no_chain_makes_more_sweeps_than_are_asked_for(n_sweeps, data):
    found = choose(data, ("a", NARROW), ("b", DEEP), n_sweeps=n_sweeps)
    assert found.n_sweeps == 4 * n_sweeps
    assert np.isfinite([result.elpd for result in found.results.values()]).all()


def test_when_time_is_over_what_there_is_decides(data):
    found = choose(data, ("a", NARROW), ("b", DEEP), limit=TimeLimit(1e-9))
    assert found.n_sweeps == 4
    assert found.best in ("a", "b")
    assert {len(draws) for draws in found.draws.values()} <= {2}


def test_draws_are_kept_of_those_that_have_weight_beside_the_best(data, monkeypatch):
    # The best has weight, another too, and the third has none.
    def weights(pointwise, best):
        assert best == pointwise.sum(axis=0).argmax()
        return np.roll([0.6, 0.4, 0.0], best)

    monkeypatch.setattr(selection, "cautious_weights", weights)
    found = choose(data, ("a", DEEP), ("b", NARROW), ("c", NARROW))
    (other,) = (name for name, weight in found.weights.items() if weight == 0.4)
    assert found.weights[found.best] == 0.6
    assert {name: len(draws) for name, draws in found.draws.items()} == {other: 50}


def made(values):
    values = np.array(values, dtype=float)
    return LeaveOneOut(values.sum(), 1.0, values, np.zeros(values.size))


def test_who_is_clearly_worse():
    rng = np.random.default_rng(0)
    best = rng.standard_normal(100)
    models = {
        "best": made(best),
        "little but sure": made(best - 0.05),
        "much but unsure": made(best - 0.2 + 2.0 * rng.permutation(np.tile([-1, 1], 50))),
        "much and sure": made(best - 0.2),
        "never": made(np.where(np.arange(100) == 3, -np.inf, best)),
    }
    assert clearly_worse(models) == ["much and sure"]


def test_ctrl_c_ends_all_chains(data, monkeypatch):
    begun, pressed = threading.Semaphore(0), threading.Event()
    sweeps = Run.sweeps

    def slow(self, schedule):
        begun.release()
        assert pressed.wait(60)
        yield from sweeps(self, schedule)

    def wait(*_):
        for _ in range(2):
            assert begun.acquire(timeout=60)
        pressed.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "sweeps", slow)
    monkeypatch.setattr("sticktree.inference.runner.wait", wait)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        choose(data, ("a", NARROW), ("b", DEEP), n_sweeps=10**7)
    assert threading.active_count() == before


def test_error_in_a_chain_is_raised_and_stops_the_others(data, monkeypatch):
    sweeps = Run.sweeps

    def fail(self, schedule):
        if self.chain.model is DEEP:
            raise RuntimeError("broken")
        yield from sweeps(self, schedule)

    monkeypatch.setattr(Run, "sweeps", fail)
    with pytest.raises(RuntimeError, match="broken"):
        choose(data, ("b", DEEP), ("a", NARROW), n_sweeps=10**7)


def test_text_and_html(chosen):
    text = str(chosen)
    lines = text.splitlines()
    assert lines[0] == f"Leave-one-out log density (elpd, in nats) of 30 rows; best: {chosen.best}"
    assert lines[1].split()[:2] == ["model", "elpd"]
    assert len(lines) == 5
    assert lines[4].endswith("24 sweeps")
    assert chosen._repr_html_().count("<tr>") == 4
    odd = Selection({"<b>": made([1.0, 2.0])}, {"<b>": 1.0}, {}, 2, {}, {})
    assert "&lt;b&gt;" in odd._repr_html_()
    assert "dropped" not in str(odd)


@pytest.mark.parametrize(
    ("candidates", "options", "message"),
    [
        ([], {}, "candidates must be one or more pairs"),
        ([("a", NARROW), ("a", DEEP)], {}, "different names, got 'a' more than once"),
        ([("a", NARROW)], {"n_jobs": 0}, "n_jobs must be an integer of at least 1, got 0"),
        ([("a", NARROW)], {"n_chains": 0}, "n_chains must be"),
        ([("a", NARROW)], {"n_sweeps": 1}, "n_sweeps must be an integer of at least 2, got 1"),
    ],
)
def test_wrong_input_is_refused(candidates, options, message, data):
    with pytest.raises(ValueError, match=message):
        choose(data, *candidates, **options)


def test_a_candidate_whose_chains_leave_the_range_of_numbers_is_never_the_best(data, monkeypatch):
    original = selection.densities_without

    def broken(draws, model, data):
        found = original(draws, model, data)
        return np.full_like(found, -np.inf) if model is DEEP else found

    monkeypatch.setattr(selection, "densities_without", broken)
    found = choose(data, ("deep", DEEP), ("narrow", NARROW))
    assert found.best == "narrow"
    assert found.results["deep"].elpd == -np.inf
    assert found.weights["narrow"] == pytest.approx(1.0)
