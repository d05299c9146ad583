"""Rows in blocks."""

import numpy as np
import pytest

from sticktree.engine.bulk.partition import BLOCK, jittered, partition
from tests.support.compiled import push


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


@pytest.mark.parametrize("share", [1 / 8, 1 / 2, 7 / 8])
def test_few_parts_wait_however_uneven_the_cuts_are(share):
    stack, n_blocks, size, most, seen = np.zeros((64, 2), dtype=np.int64), 4000, 1, 1, 0
    stack[0] = 0, n_blocks
    while size:
        size -= 1
        low, high = (int(end) for end in stack[size])
        if high - low == 1:
            seen += 1
            continue
        middle = low + min(max(round(share * (high - low)), 1), high - low - 1)
        size = push(stack, size, low, middle, high)
        most = max(most, size)
    assert seen == n_blocks
    assert most <= 1 + np.log2(n_blocks)


def test_blocks_are_cut_between_clusters():
    rng = np.random.default_rng(3)
    cluster = rng.choice(3, size=60 * BLOCK, p=[0.2, 0.3, 0.5])
    x = rng.normal(size=(cluster.size, 2)) + 40.0 * cluster[:, None]
    part = partition(x, 0)
    mixed = [len(set(cluster[rows.astype(int)])) > 1 for rows in part.row]
    assert sum(mixed) <= 2  # no more than there are borders
