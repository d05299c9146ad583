import numpy as np
import pytest

from benchmarks.measure import HEADER, Target, duration, duration_row, ratio_row, skipped, slope
from benchmarks.mixing import Trace, rate, rate_row


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00052, "0.52 ms"), (0.0123, "12.3 ms"), (1.354, "1.35 s"), (1234.5, "1,234 s")],
)
def test_durations_have_three_digits(seconds, text):
    assert duration(seconds) == text


def test_targets_bound_from_either_side():
    assert Target(0.5).met(0.5)
    assert not Target(0.5).met(0.51)
    assert Target(5, at_least=True).met(5)
    assert not Target(5, at_least=True).met(4.9)
    assert str(Target(1000, "MB")) == "≤ 1000 MB"


def test_all_rows_fit_the_header():
    rows = [ratio_row("a", 1, 2, 0.4), duration_row("b", 0.1, 500, "ms"), skipped("c", "why")]
    assert {str(row).count("|") for row in rows} == {HEADER.splitlines()[0].count("|")}
    assert [row.verdict for row in rows] == ["MISSED", "ok", "skipped: why"]


def test_the_exponent_of_a_power_law():
    sizes = (1_000, 10_000, 100_000)
    assert slope(sizes, [n**1.25 for n in sizes]) == pytest.approx(1.25)


def test_rates_are_effective_draws_over_the_time_of_all_chains():
    rng = np.random.default_rng(0)
    fast = [Trace(np.column_stack([rng.normal(size=1000), np.ones(1000)]), 1.0) for _ in range(2)]
    slow = [Trace(trace.values, 10.0) for trace in fast]
    # Of 2,000 independent draws in 2 seconds: 1,000 a second, give or take.
    assert rate(fast, 0).per_second == pytest.approx(1000, rel=0.2)
    row = rate_row("what", rate(fast, 0), rate(slow, 0))
    assert (row.figure, row.verdict) == ("10.0", "ok")
    assert rate_row("what", rate(fast, 1), rate(slow, 1)).verdict == "no ratio"
