"""Choosing among models: the right one, within the budget, whatever the number of threads."""

import threading
from concurrent.futures import Future

import numpy as np
import pytest

from sticktree.engine.shared.chain import Chain
from sticktree.inference import selection
from sticktree.inference.runner import Schedule
from sticktree.inference.selection import Selection, select
from sticktree.model import Model
from sticktree.posterior.loo import LeaveOneOut

SCHEDULE = Schedule(n_warmup=60, n_draws=60)
# The noise is narrow, or as wide as all the data: of two tight groups that is clearly wrong.
NARROW = Model(np.ones(1), precision_prior=(1.0, 0.01), concentration=1.0)
DEEP = Model(np.ones(2), precision_prior=(1.0, 0.01), concentration=1.0)
WIDE = Model(np.ones(1), precision_prior=(1e4, 1e4), concentration=1.0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return np.repeat([-1.0, 1.0], 15)[:, None] + 0.1 * rng.standard_normal((30, 2))


def choose(data, *candidates, n_jobs=2, schedule=SCHEDULE, **options):
    return select(data, candidates, schedule, np.random.SeedSequence(1), n_jobs, **options)


@pytest.fixture(scope="module")
def chosen(data):
    return choose(data, ("wide", WIDE), ("narrow", NARROW), ("deep", DEEP))


def test_model_that_is_clearly_worse_is_dropped_early(chosen):
    assert chosen.best in ("narrow", "deep")
    assert chosen.dropped_after == {"wide": 40}
    # Three rounds of 240 sweeps; the two that are left cannot use all of theirs.
    assert chosen.n_sweeps == 6 * 40 + 4 * 80
    assert chosen.weights["wide"] == 0
    assert sum(chosen.weights.values()) == pytest.approx(1)


def test_table_has_the_best_first_and_those_dropped_last(chosen):
    table = chosen.table
    assert (table[0]["name"], table[2]["name"]) == (chosen.best, "wide")
    assert table[0]["difference"] == 0
    assert [row["dropped_after"] for row in table] == [None, None, 40]
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


def test_chains_go_on_after_a_round_and_records_come_after_warm_up(data, chosen):
    # The same chains, run by hand.
    seeds = np.random.SeedSequence(1).spawn(3)[1].spawn(2)
    records = []
    for seed in seeds:
        chain = Chain(data, NARROW, np.random.default_rng(seed))
        kept = []
        for k in range(1, 121):
            chain.sweep(tune=k <= 60)
            if k > 60:
                kept.append(chain.leave_one_out())
        records.append(kept)
    expected = selection.leave_one_out(np.array(records))
    np.testing.assert_array_equal(chosen.results["narrow"].pointwise, expected.pointwise)


def test_only_one_left_does_not_go_on(data):
    found = choose(data, ("wide", WIDE), ("narrow", NARROW))
    assert found.best == "narrow"
    assert found.n_sweeps == 4 * 40
    assert found.weights == {"wide": 0.0, "narrow": 1.0}


def test_one_candidate_runs_its_schedule(data):
    found = choose(data, ("narrow", NARROW), n_chains=1)
    assert (found.best, found.n_sweeps, found.weights) == ("narrow", 120, {"narrow": 1.0})


@pytest.mark.parametrize("budget", [4, 7, 50, 333, 10**9])
def test_budget_is_kept(budget, data, monkeypatch):
    count = []
    sweep = Chain.sweep
    monkeypatch.setattr(Chain, "sweep", lambda *a, **b: count.append(1) or sweep(*a, **b))
    found = choose(data, ("a", NARROW), ("b", DEEP), budget=budget)
    assert found.n_sweeps == len(count) <= min(budget, 4 * SCHEDULE.n_sweeps)
    assert found.n_sweeps > min(budget, 4 * SCHEDULE.n_sweeps) - 4
    assert np.isfinite([result.elpd for result in found.results.values()]).all()


def test_at_most_a_hundred_records_of_a_chain_are_used(data, monkeypatch):
    shapes = []
    original = selection.leave_one_out
    monkeypatch.setattr(
        selection,
        "leave_one_out",
        lambda x, **options: shapes.append(x.shape) or original(x, **options),
    )
    choose(data, ("narrow", NARROW), schedule=Schedule(10, 500))
    assert [shape[0] for shape in shapes] == [2, 2, 2, 2]
    sizes = [shape[1] for shape in shapes]
    assert 30 <= sizes[0] < sizes[1] < sizes[2] == sizes[3] == 100


def test_records_are_evenly_spaced():
    pilot = selection._Pilot(None, None, None, 1, 0, None)
    pilot.records = [selection._Record(k, k, None) for k in range(1, 501)]
    assert [record.densities for record in pilot.used(100)] == list(range(104, 501, 4))
    assert len(pilot.records) == 400
    pilot.records = pilot.records[-30:]
    assert [record.densities for record in pilot.used(0)] == list(range(471, 501))


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
    assert selection._clearly_worse(models) == ["much and sure"]


def test_ctrl_c_ends_all_chains(data, monkeypatch):
    begun, pressed = threading.Semaphore(0), threading.Event()
    go_on = selection._Pilot.go_on

    def slow(self, length, stop):
        begun.release()
        assert pressed.wait(60)
        go_on(self, length, stop)

    def result(self, timeout=None):
        for _ in range(2):
            assert begun.acquire(timeout=60)
        pressed.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(selection._Pilot, "go_on", slow)
    monkeypatch.setattr(Future, "result", result)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        choose(data, ("a", NARROW), ("b", DEEP), schedule=Schedule(0, 10**7))
    assert threading.active_count() == before


def test_error_in_a_chain_is_raised_and_stops_the_others(data, monkeypatch):
    go_on = selection._Pilot.go_on

    def fail(self, length, stop):
        if self.model is DEEP:
            raise RuntimeError("broken")
        go_on(self, length, stop)

    monkeypatch.setattr(selection._Pilot, "go_on", fail)
    with pytest.raises(RuntimeError, match="broken"):
        choose(data, ("b", DEEP), ("a", NARROW), schedule=Schedule(0, 10**7))


def test_text_and_html(chosen):
    text = str(chosen)
    lines = text.splitlines()
    assert lines[0] == f"Leave-one-out log density of 30 rows; best: {chosen.best}"
    assert lines[1].split()[:2] == ["model", "elpd"]
    assert len(lines) == 5
    assert lines[4].endswith("40 sweeps")
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
        ([("a", NARROW)], {"budget": 1}, "budget must be an integer of at least 2, got 1"),
        ([("a", NARROW)], {"schedule": Schedule(5, 0)}, "n_draws must be"),
    ],
)
def test_wrong_input_is_refused(candidates, options, message, data):
    with pytest.raises(ValueError, match=message):
        choose(data, *candidates, **options)


def test_a_candidate_whose_chains_leave_the_range_of_numbers_is_never_the_best(data, monkeypatch):
    original = Chain.leave_one_out

    def broken(chain):
        found = original(chain)
        return np.full_like(found, np.nan) if chain.model is DEEP else found

    monkeypatch.setattr(Chain, "leave_one_out", broken)
    found = choose(data, ("deep", DEEP), ("narrow", NARROW))
    assert found.best == "narrow"
    assert found.results["deep"].elpd == -np.inf
    assert found.weights["narrow"] == pytest.approx(1.0)
