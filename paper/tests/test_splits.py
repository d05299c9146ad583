import numpy as np
import pytest

from sticktree.datasets import Dataset
from sticktree_paper.parts import TABLE_1
from sticktree_paper.splits import (
    SETS,
    Prepared,
    dequantised,
    last_digit,
    last_digits,
    make_split,
    prepared,
    rows_of,
    split_rows,
)

SHIPPED = ("iris", "wine", "breast_cancer", "digits")


def dataset(name, data):
    return Dataset(
        name=name,
        title=name,
        data=np.asarray(data, dtype=float),
        labels=None,
        columns=tuple("ab"),
        rows=None,
        description="",
        citation="",
        terms="",
        source="",
    )


def test_a_split_is_a_tenth_and_the_rest():
    test, train = split_rows(214, 3)
    assert (test.size, train.size) == (21, 193)
    np.testing.assert_array_equal(np.sort(np.concatenate([test, train])), np.arange(214))
    np.testing.assert_array_equal(test, np.random.default_rng(3).permutation(214)[:21])


def test_splits_are_standardised_by_their_training_rows():
    data = np.random.default_rng(0).normal(5, 2, (100, 2))
    split = make_split(data, "standardised", 0)
    np.testing.assert_allclose(split.train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(split.train.std(axis=0), 1)
    assert not np.allclose(split.test.mean(axis=0), 0)
    test, train = split_rows(100, 0)
    raw = make_split(data, "raw", 0)
    np.testing.assert_array_equal(raw.test, data[test])
    np.testing.assert_array_equal(raw.train, data[train])


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([1.52101, 1.52102, 1.51761], 1e-5),
        ([0.0, 0.05, 0.15], 0.01),
        ([13.64, 13.89, 13.9], 0.01),
        ([0.1, 0.2, 0.30000000000000004], 0.1),
        ([10, 30, 20], 10),
        ([7, 7, 7], 0),
    ],
)
def test_the_last_digit_is_read_off_the_smallest_gap(values, unit):
    assert last_digit(np.array(values, dtype=float)) == pytest.approx(unit)


def test_jitter_is_centred_no_wider_than_a_digit_and_always_the_same():
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.integers(50, size=2000) / 100, rng.integers(50, size=2000)])
    once, again = (dequantised(data, last_digits(data)) for _ in range(2))
    jitter = (once - data) / [0.01, 1.0]
    assert np.abs(jitter).max() <= 0.5 + 1e-9
    assert np.abs(jitter.mean(axis=0)).max() < 5 * np.sqrt(1 / 12 / 2000)
    np.testing.assert_array_equal(once, again)
    assert np.unique(once[:, 0]).size == 2000


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_sets_are_standardised_by_their_training_rows(name):
    split = make_split(prepared(name), SETS[name].preparation, 0)
    np.testing.assert_allclose(split.train.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(split.train.std(axis=0), 1)
    if name == "digits":
        assert split.test.shape == (180, 10)
        np.testing.assert_allclose(np.cov(split.train.T, ddof=0), np.eye(10), atol=1e-10)


def test_activities_have_jitter_of_their_last_digit_and_gaps_stay():
    activity = np.column_stack([np.arange(40) % 3, np.where(np.arange(40) % 4, 0.25, np.nan)])
    rows = rows_of(dataset("ccle_activity", activity), Prepared("ccle_activity", "raw", True))
    assert np.isnan(rows[::4, 1]).all()
    assert np.isnan(rows).sum() == 10
    shown = 10 ** rows[:, 0] - 0.01
    assert 0 < np.abs(shown - np.arange(40) % 3).max() <= 0.5e-4 + 1e-12


def test_logarithms_have_jitter_of_what_they_were_taken_of():
    activity = np.array([[0.05, 1.0], [7.79, 0.5]] * 20)
    logs = dataset("ccle", np.log10(activity))
    plain = rows_of(logs, Prepared("ccle", "raw"))
    np.testing.assert_array_equal(plain, logs.data)
    jittered = 10 ** rows_of(logs, Prepared("ccle", "raw", dequantised=True))
    assert 0.003 < np.abs(jittered - activity).max() <= 0.005 + 1e-12


def test_sets_with_repeated_values_come_dequantised_too():
    jittered = {SETS[name].dataset for name in TABLE_1 if SETS[name].dequantised}
    assert jittered == {"ccle", "ccle_activity", "glass"}
    assert {SETS[name].dataset for name in TABLE_1 if not SETS[name].dequantised} >= {
        "ccle",
        "glass",
    }
