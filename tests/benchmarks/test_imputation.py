import numpy as np
import pytest

from benchmarks import mixing


def low_rank(n_rows=80):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(
        size=(n_rows, 8)
    )
    data[::9, 3] = np.nan
    return data


def test_a_tenth_of_what_is_observed_is_taken_out():
    data = low_rank()
    gappy, taken = mixing.take_out(data, 1)
    assert taken.sum() == round(0.1 * np.isfinite(data).sum())
    assert np.isfinite(data[taken]).all()
    np.testing.assert_array_equal(np.isnan(gappy), np.isnan(data) | taken)
    np.testing.assert_array_equal(taken, mixing.take_out(data, 1)[1])


def test_errors_are_in_standard_deviations():
    errors = mixing.peer_errors(low_rank(), range(3))
    assert errors["column means"] == pytest.approx(1, abs=0.15)
    assert errors["IterativeImputer"] < 0.3
    units = mixing.peer_errors(1000 * low_rank() + 5, range(3))
    assert units == pytest.approx(errors)


def test_our_figure_stands_beside_each_peer(monkeypatch):
    monkeypatch.setattr(mixing, "why_not", lambda: "")
    monkeypatch.setattr(mixing, "ours", lambda gappy, seed, **_: np.nan_to_num(gappy))
    rows = list(mixing.compare_imputers(low_rank(), quick=True))
    assert [row.verdict for row in rows] == ["MISSED", "MISSED", "ok"]
    monkeypatch.setattr(mixing, "why_not", lambda: "no impute")
    assert all(
        row.verdict == "skipped: no impute" for row in mixing.compare_imputers(low_rank(), True)
    )
