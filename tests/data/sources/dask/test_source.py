"""Bad input to a cluster is told before any work, on workers and without them; odd input works."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import dask.array as da
from dask import delayed

from sticktree.checks import check_not_infinite, check_observed
from sticktree.cluster import DaskSource, is_dask
from sticktree.engine.bulk.measure import measure
from tests.support.cluster import chunked, table

dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture(params=["here", "on workers"])
def anywhere(request):
    """Once without a client and once with one."""
    return None if request.param == "here" else request.getfixturevalue("client")


def pieces(*arrays, width=None):
    """An array of which Dask only believes to know what it is like."""
    width = arrays[0].shape[1] if width is None else width
    parts = [
        da.from_delayed(delayed(array), shape=(len(array), width), dtype=float) for array in arrays
    ]
    return da.concatenate(parts)


ONE = np.ones((3, 2))

WRONG = {
    "width": (
        lambda: pieces(ONE, np.ones((4, 3)), width=2),
        "as many columns in all partitions, got 2 in partition 0 and 3 in partition 1",
    ),
    "text": (
        lambda: pieces(ONE, ONE, ONE.astype(str)),
        "numbers in all partitions, got dtype <U32 in partition 2",
    ),
    "objects": (
        lambda: pieces(ONE, ONE.astype(object)),
        "numbers in all partitions, got dtype object in partition 1",
    ),
    "complex": (lambda: pieces(ONE + 1j), "got dtype complex128 in partition 0"),
    "shape": (
        lambda: da.concatenate(
            [
                da.from_delayed(delayed(array), shape=(3, 2), dtype=float)
                for array in (ONE, np.ones(3))
            ]
        ),
        r"got an array of shape \(3,\) in partition 1",
    ),
    "no rows": (
        lambda: pieces(ONE[:0], ONE[:0]),
        "at least one row, got 2 partitions without any",
    ),
    "no columns": (lambda: da.ones((3, 0)), "at least one column"),
    "one dimension": (
        lambda: da.ones(3),
        "two dimensions, rows and columns, got a dask array of 1",
    ),
    "three dimensions": (lambda: da.ones((3, 2, 2)), "got a dask array of 3"),
    "series": (lambda: dd.from_pandas(pd.Series([1.0]), npartitions=1), "got a Series"),
    "delayed": (lambda: delayed(ONE), "dask array or DataFrame, got Delayed"),
    "strings": (
        lambda: dd.from_pandas(pd.DataFrame({"a": [1.0], "b": ["x"]}), npartitions=1),
        "numbers in all columns, got dtype .* in column 'b'",
    ),
    "categories": (
        lambda: dd.from_pandas(
            pd.DataFrame({"a": pd.Categorical([1, 2]), "b": [1.0, 2.0]}), npartitions=1
        ),
        "numbers in all columns, got dtype category in column 'a'",
    ),
    "dates": (
        lambda: dd.from_pandas(pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])})),
        "numbers in all columns, got dtype datetime64.* in column 'when'",
    ),
    "other dtypes than said": (
        lambda: frames({"a": [1.0], "b": [2.0]}, {"a": [1.0], "b": ["x"]}),
        "numbers in all partitions, got dtype .* in column 'b' in partition 1",
    ),
    "other columns than said": (
        lambda: frames({"a": [1.0], "b": [2.0]}, {"b": [1.0], "a": [2.0]}),
        "the same columns in all partitions, got 'a', 'b' in partition 0 and 'b', 'a' in",
    ),
}


def frames(*columns):
    tables = [pd.DataFrame(some) for some in columns]
    return dd.from_delayed([delayed(t) for t in tables], meta=tables[0], verify_meta=False)


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_told(anywhere, name):
    make, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        DaskSource.of(make())


@pytest.mark.parametrize("rows", [[4], [1, 5, 6], [0, 1, 2, 4, 5, 6, 7]])
def test_infinite_entries_are_told_in_the_same_words(anywhere, rows):
    x = np.ones((9, 2))
    x[rows, 1] = -np.inf
    with pytest.raises(ValueError, match="infinity") as expected:
        check_not_infinite("X", x)
    with pytest.raises(ValueError, match="infinity") as ours:
        DaskSource.of(chunked(x, 4))
    assert str(ours.value) == str(expected.value)


LETTERS = np.array(list("abc"), dtype=object)


def test_columns_with_no_value_are_reported_in_the_same_words(anywhere):
    x = table(9)
    x[:, 1] = np.nan
    for make, names in (
        (chunked(x, 3), None),
        (dd.from_pandas(pd.DataFrame(x, columns=list("abc")), npartitions=3), LETTERS),
    ):
        with pytest.raises(ValueError, match="only NaN") as expected:
            check_observed("X", x, names)
        with pytest.raises(ValueError, match="only NaN") as ours:
            DaskSource.of(make).measure()
        assert str(ours.value) == str(expected.value)


def test_rows_with_no_value_are_rows(anywhere):
    x = table(9)
    x[3] = np.nan
    source = DaskSource.of(chunked(x, 3))
    assert source.measure().reach.seen.tolist() == [8, 8, 8]
    assert source.store(np.zeros(3), np.ones(3)).rows(1).extent.n == 9


def test_numbers_of_all_kinds_are_read(anywhere):
    whole = np.arange(6).reshape(3, 2)
    masked = np.ma.masked_equal(whole.astype(np.float32), 5)
    source = DaskSource.of(pieces(whole, whole % 2 == 0, masked, whole.astype(np.uint8)))
    assert source.counts == (3, 3, 3, 3)
    assert source.measure().reach.seen.tolist() == [12, 11]


def test_frames_with_numbers_that_may_be_missing_are_read(anywhere):
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "truth": pd.array([True, False, None], dtype="boolean"),
            "plain": [1.0, 2.0, 3.0],
        }
    )
    source = DaskSource.of(dd.from_pandas(frame, npartitions=2))
    assert source.names == ("whole", "truth", "plain")
    assert source.measure().reach.seen.tolist() == [2, 2, 3]


def test_the_measure_does_not_depend_on_partitions(anywhere):
    x = table(500, gaps=True)
    exact = measure(lambda f: [f(x)])
    for n_parts in (1, 3, 7):
        scale = DaskSource.of(chunked(x, n_parts)).measure()
        np.testing.assert_array_equal(scale.centre, exact.centre)
        np.testing.assert_array_equal(scale.spread, exact.spread)


def test_first_rows_pass_over_empty_partitions(anywhere):
    source = DaskSource.of(pieces(ONE[:0], ONE, ONE[:0], ONE[:2], ONE))
    assert source.counts == (3, 2, 3)
    assert source.first == [0, 3, 5]
    assert (source.n_rows, source.n_columns) == (8, 2)


def test_what_is_of_dask():
    assert is_dask(da.ones(3))
    assert is_dask(dd.from_pandas(pd.DataFrame({"a": [1.0]})))
    assert not is_dask(np.ones(3))
    assert not is_dask(pd.DataFrame({"a": [1.0]}))
