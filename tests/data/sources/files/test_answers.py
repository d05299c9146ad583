"""Answers about a table, a chunk at a time."""

import numpy as np
import pytest

from sticktree.chunks import map_chunks

X = np.arange(20.0).reshape(10, 2)


def test_answers_are_those_of_all_rows_at_once(tmp_path):
    for chunk_rows in (1, 3, 10, 99):
        calls = []

        def sums(rows, calls=calls):
            calls.append(len(rows))
            return rows.sum(axis=1).astype(np.float32)

        found = map_chunks(X, sums, chunk_rows=chunk_rows)
        np.testing.assert_array_equal(found, X.sum(axis=1))
        assert found.dtype == np.float32
        assert max(calls) <= chunk_rows
        out = np.empty(10)
        assert map_chunks(X, sums, out=out, chunk_rows=chunk_rows) is out
        np.testing.assert_array_equal(out, X.sum(axis=1))
        path = tmp_path / f"{chunk_rows}.npy"
        found = map_chunks(X, lambda rows: 2 * rows, out=path, chunk_rows=chunk_rows)
        assert isinstance(found, np.memmap)
        np.testing.assert_array_equal(np.load(path), 2 * X)


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    def breaks(rows):
        if rows[0, 0] > 5:
            raise RuntimeError("enough")
        return rows

    with pytest.raises(RuntimeError, match="enough"):
        map_chunks(X, breaks, out=tmp_path / "x.npy", chunk_rows=2)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": np.empty(9)}, r"out must have shape \(10,\), got \(9,\)"),
        ({"out": "x.csv"}, r"out must be an array or a path that ends in \.npy, got 'x\.csv'"),
        ({"out": "no/where/x.npy"}, "out: there is no folder no/where"),
        ({"chunk_rows": 0}, "chunk_rows must be an integer of at least 1, got 0"),
        ({"function": np.sum}, "must return one answer for each of 10 rows, got .* shape ()"),
        ({"function": lambda rows: rows[1:]}, "must return one answer for each of 10 rows"),
    ],
)
def test_what_cannot_be_done(options, message):
    with pytest.raises(ValueError, match=message):
        map_chunks(X, **{"function": lambda rows: rows[:, 0], **options})
