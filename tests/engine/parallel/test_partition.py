"""Rows in blocks."""

import numpy as np
import pytest

from sticktree.engine.parallel.partition import BLOCK, jittered, partition


@pytest.mark.parametrize("n", [0, 1, BLOCK, BLOCK + 1, 1000])
def test_partition_keeps_every_row_once(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 3))
    x[rng.random(n) < 0.1, 1] = np.nan
    part = partition(x, 50)
    seen = {}
    for block in range(len(part.filled)):
        for place in range(part.filled[block]):
            seen[int(part.row[block, place])] = part.y[block, :, place]
    seen |= dict(zip(part.gap_row.tolist(), part.gap_y, strict=True))
    assert sorted(seen) == list(range(50, 50 + n))
    for row, y in seen.items():
        np.testing.assert_array_equal(y, x[row - 50])
    assert part.n_rows == n


def test_values_may_be_spread_before_or_after_rows_are_arranged():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 4, size=(500, 2)).astype(float)
    x[::9, 1] = np.nan
    width = np.array([1.0, 0.5])
    parts = partition(x, 30, width), jittered(partition(x, 30), width)
    tables = []
    for part in parts:
        rows = [part.y.transpose(0, 2, 1).reshape(-1, 2), part.gap_y]
        numbers = np.concatenate([part.row.ravel()[: part.filled.sum()], part.gap_row])
        table = np.concatenate([rows[0][: part.filled.sum()], rows[1]])
        tables.append(table[np.argsort(numbers)])
    np.testing.assert_array_equal(*tables)
    off = tables[0] - x
    assert (np.nanmax(np.abs(off), axis=0) <= width / 2).all()
    assert np.nanstd(off, axis=0) == pytest.approx(width / np.sqrt(12), rel=0.1)
