import sys

import numpy as np
import pytest

from benchmarks.measure import from_fresh_process
from benchmarks.mixing import Trace
from benchmarks.time_to_answer import Rows, by_bic, effective_row, silences


def test_every_tenth_row_is_held_out():
    data = np.arange(40.0).reshape(20, 2)
    rows = Rows.of("few", data, np.arange(20))
    assert (rows.seen.shape, rows.unseen.shape) == ((18, 2), (2, 2))
    np.testing.assert_array_equal(rows.seen[:, 0], 2 * rows.classes)
    together = np.concatenate([rows.seen, rows.unseen])
    np.testing.assert_array_equal(np.sort(together, axis=0), data)


def test_the_search_by_bic_finds_clusters_far_apart():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 30)
    rows = Rows.of("two", rng.normal(size=(60, 2)) + 20.0 * classes[:, None], classes)
    found = by_bic(rows, 3)
    assert found.agreement(rows.classes) == "1.00"
    assert found.density == pytest.approx(-2.8 - np.log(2), abs=0.7)


def test_a_ratio_needs_a_checkout_to_compare_with():
    rng = np.random.default_rng(0)
    mine = [Trace(rng.normal(size=(500, 2)), 1.0) for _ in range(2)]
    before = [Trace(trace.values, 4.0) for trace in mine]
    alone, beside = effective_row("what", mine, None, 0), effective_row("what", mine, before, 0)
    assert (alone.figure, alone.target) == ("", "")
    assert (beside.figure, beside.verdict) == ("4.0", "ok")


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals to imitate")
def test_silences_are_what_a_terminal_shows():
    program = "import time; print(1, flush=True); time.sleep(0.5); print(2, flush=True)"
    first, longest = silences([sys.executable, "-c", program])
    assert first > 0
    assert longest >= 0.45
    with pytest.raises(RuntimeError, match="failed"):
        silences([sys.executable, "-c", "raise SystemExit(1)"])


def test_a_fresh_process_gives_what_json_has():
    assert from_fresh_process("math", "frexp", 8.0) == [0.5, 4]
