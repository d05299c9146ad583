"""Grids on which numbers are summed."""

import numpy as np
import pytest

from sticktree.engine.bulk.sums import Grid


def test_grids_hold_sums_of_the_largest_numbers():
    for n in (1, 10, 10**7, 10**9):
        grid = Grid.of(n, 5.0)
        assert n * 5.0 * grid.coarse < 2**62
        assert n * grid.fine / grid.coarse < 2**62
        sums = np.array([[round(2.5 * grid.coarse), 0]], dtype=np.int64)
        assert grid.value(sums)[0] == pytest.approx(2.5)
