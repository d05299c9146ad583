"""A few cases of each fuzzer, as many as there is time for; `make fuzz` runs thousands."""

from pathlib import Path

import pytest

from tests.fuzz import load
from tests.fuzz.together import SHARES
from tests.fuzz.work import run

CASES = 180  # of which 55 are fits


def test_there_is_an_answer_or_one_clear_error():
    ends, failures = run("together", CASES)
    assert not failures, "\n\n".join(
        f"python -m tests.fuzz {name} --seed {seed} --only {case}\n{text}"
        for name, seed, case, text in failures
    )
    assert ends.total() == CASES
    assert {end.partition(" ")[0] for end in ends} == set(SHARES)


def test_fits_at_once_answer_as_they_do_alone():
    load.in_one_process(4)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_memory_does_not_grow_with_fits():
    load.one_after_the_other(40)
