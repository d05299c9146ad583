"""Results do not depend on threads and partitions; threads share work, and stop when one fails."""

import numpy as np
import pytest

from sticktree.engine.bulk.placement import fold
from tests.support.bulk import all_passes, clouds, many_parts, rows_of, same


@pytest.mark.parametrize("gaps", [0.0, 0.02, 1.0], ids=["whole", "some gaps", "gaps everywhere"])
def test_passes_do_not_depend_on_threads_and_partitions(gaps):
    x = clouds(3000, 3, min(gaps, 0.02)) / [1.0, 10.0, 100.0]
    if gaps == 1.0:
        x[np.arange(len(x)), np.arange(len(x)) % 3] = np.nan
    expected = all_passes(rows_of(x))
    assert same(all_passes(rows_of(x, n_threads=3)), expected)
    parts = many_parts(x, [1, 300, 1700, 2999], n_threads=2, order=[3, 0, 4, 2, 1])
    assert same(all_passes(parts), expected)
    of_all, of_some = expected[-3:-1]
    assert same(of_some, of_all[[2999, 0, 5, 5]])


def test_fold_holds_no_more_than_threads():
    alive, most = [], []

    def items():
        for k in range(50):
            alive.append(k)
            most.append(len(alive))
            yield k

    def work(k):
        alive.remove(k)
        return {k}

    assert fold(items(), work, lambda sets: set.union(*sets), 3) == set(range(50))
    assert max(most) <= 3


@pytest.mark.parametrize("n_threads", [1, 3])
def test_fold_stops_after_an_error(n_threads):
    begun = []

    def work(k):
        begun.append(k)
        if k == 4:
            raise RuntimeError("no more")
        return 0

    with pytest.raises(RuntimeError, match="no more"):
        fold(range(1000), work, max, n_threads)
    assert len(begun) < 900
