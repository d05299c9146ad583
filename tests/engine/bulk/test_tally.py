"""Sums over the rows of leaves."""

import numpy as np
import pytest

from sticktree.engine.bulk.sums import PRODUCTS, SQUARES, SUMS, Sums, empty_tally, merge
from tests.support.bulk import leaves_with_anchors


@pytest.mark.parametrize("kind", [SUMS, SQUARES, PRODUCTS])
def test_sums_of_leaves_are_those_of_their_rows(kind, rows_of):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 3))
    x[rng.random((400, 3)) < 0.1] = np.nan
    leaves, grids = leaves_with_anchors(rng, 8, 3, "diag", 400, kind=kind, spread=0.5)
    rows = rows_of(x)
    tally = rows.assign(leaves).tally
    labels = rows.labels(np.arange(8), np.empty(0, dtype=np.int64))
    sums, plain = Sums.of(tally, kind, *grids), Sums.over(x, labels, 8, kind)
    np.testing.assert_allclose(sums.n, plain.n)
    np.testing.assert_allclose(sums.seen, plain.seen)
    np.testing.assert_allclose(sums.total, plain.total, atol=1e-12)
    if kind != PRODUCTS:  # there rows with gaps are always completed first
        np.testing.assert_allclose(sums.second, plain.second, atol=1e-12)


def test_an_empty_tally_adds_nothing():
    tally = empty_tally(3, 2, SUMS)
    tally.count[:] = 1, 2, 3
    tally.rank[:] = 5
    both = merge(empty_tally(3, 2, SUMS), tally)
    for mine, its in zip(both, tally, strict=True):
        np.testing.assert_array_equal(mine, its)
