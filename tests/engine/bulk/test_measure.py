"""Sums over all rows do not depend on their order, and measures are those of numpy."""

from math import fsum

import numpy as np
import pytest

from sticktree.engine.bulk.measure import measure


@pytest.mark.parametrize("largest", [1e-3, 1.0, 3e4])
def test_sums_do_not_depend_on_the_order_and_are_exact(largest):
    rng = np.random.default_rng(0)
    x = rng.uniform(-largest, largest, size=(1000, 1))
    totals = {
        measure(lambda f, p=pieces: [f(piece) for piece in p]).centre.tobytes()
        for pieces in ([x], [x[::-1]], np.array_split(x, 7), np.array_split(rng.permutation(x), 3))
    }
    assert len(totals) == 1
    exact = fsum(x[:, 0]) / 1000
    assert np.frombuffer(totals.pop())[0] == pytest.approx(exact, rel=1e-15, abs=largest * 1e-18)


def test_measures_are_those_of_numpy_and_flat_columns_have_no_scale():
    rng = np.random.default_rng(1)
    x = rng.normal(3.0, 2.0, size=(501, 3))
    x[::7, 1] = np.nan
    x[:, 2] = 4.0
    scale = measure(lambda f: [f(piece) for piece in np.array_split(x, 4)])
    np.testing.assert_allclose(scale.centre, np.nanmean(x, axis=0), rtol=1e-14)
    np.testing.assert_allclose(scale.spread[:2], np.nanstd(x, axis=0)[:2], rtol=1e-13)
    assert scale.spread[2] == 1.0
