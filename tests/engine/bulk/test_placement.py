"""Threads share work, and stop when one fails."""

import pytest

from sticktree.engine.bulk.placement import fold


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
