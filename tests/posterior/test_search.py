"""The steps of the search for a clustering, each against what it should do."""

from itertools import combinations

import numpy as np
import pytest

from sticktree.posterior import expected_loss
from sticktree.posterior.clusterings import as_clusterings, scale
from sticktree.posterior.flat import _Table
from sticktree.posterior.reseating import merge, relabel, sweep, value

LOSSES = ["vi", "binder"]


def table_of(draws, labels, loss, n_slots=12):
    table = _Table(as_clusterings(draws), loss, n_slots, None, np.random.default_rng(0))
    relabel(table.seats, labels.astype(np.int32))
    return table


def assert_counts_are_right(table):
    """Count anew what the table keeps up to date."""
    seats, draws = table.seats, table.draws
    size = [np.sum(seats.labels == k) for k in range(seats.size.size)]
    np.testing.assert_array_equal(seats.size, size)
    first = 0
    for draw in draws:
        for j in range(draw.max() + 1):
            both = [np.sum((draw == j) & (seats.labels == k)) for k in range(seats.size.size)]
            np.testing.assert_array_equal(seats.shared[first + j], both)
        first += draw.max() + 1
    assert first == len(seats.shared)


def naive_merger(labels, draws, loss):
    """Return the clustering after the best merger of two clusters."""
    merged = [
        np.where(labels == b, a, labels) for a, b in combinations(np.unique(labels).tolist(), 2)
    ]
    return min(merged, key=lambda z: expected_loss(z, draws, loss))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_mergers_are_the_best_ones_until_so_many_are_left(loss, seed):
    rng = np.random.default_rng(seed)
    draws, labels = rng.integers(3, size=(5, 20)), rng.integers(9, size=20)
    before = labels
    for n_clusters in range(np.unique(labels).size - 1, 0, -1):
        table = table_of(draws, labels, loss)
        merge(table.seats, table.growth, n_clusters)
        after = table.seats.labels
        assert np.unique(after).size == n_clusters
        assert np.unique(np.stack([before, after]), axis=1).shape[1] == n_clusters + 1
        best = expected_loss(naive_merger(before, draws, loss), draws, loss)
        assert expected_loss(after, draws, loss) == pytest.approx(best, abs=1e-9)
        assert_counts_are_right(table)
        before = after


@pytest.mark.parametrize("loss", LOSSES)
def test_free_mergers_end_where_none_helps(loss):
    rng = np.random.default_rng(3)
    for _ in range(5):
        truth = np.repeat(np.arange(4), 6)
        draws = np.where(rng.random((9, 24)) < 0.2, rng.integers(4, size=(9, 24)), truth)
        labels = truth + 4 * rng.integers(3, size=24)
        table = table_of(draws, labels, loss)
        merge(table.seats, table.growth, -1)
        naive = labels
        while np.unique(naive).size > 1:
            after = naive_merger(naive, draws, loss)
            if expected_loss(after, draws, loss) > expected_loss(naive, draws, loss) - 1e-9:
                break
            naive = after
        found = expected_loss(table.seats.labels, draws, loss)
        assert found == pytest.approx(expected_loss(naive, draws, loss), abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fixed", [False, True])
def test_a_datum_goes_where_the_loss_is_least(loss, fixed):
    rng = np.random.default_rng(4)
    for _ in range(20):
        draws, labels = rng.integers(4, size=(6, 10)), rng.integers(4, size=10)
        table = table_of(draws, labels, loss)
        sweep(table.seats, np.array([3], dtype=np.int32), table.delta, fixed)
        clusters = np.unique(labels) if fixed else np.arange(12)
        options = [np.where(np.arange(10) == 3, k, labels) for k in clusters]
        if fixed and np.sum(labels == labels[3]) == 1:
            options = [labels]
        losses = [expected_loss(z, draws, loss) for z in options]
        found = expected_loss(table.seats.labels, draws, loss)
        assert found == pytest.approx(min(losses), abs=1e-9)
        assert_counts_are_right(table)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_no_table_is_read_past_its_end_when_all_data_are_in_one_cluster(n_rows):
    together = np.zeros(n_rows, dtype=int)
    table = table_of([together], together, "vi", n_slots=n_rows)
    # The kernel as plain Python, since compiled code reads past the end of an array in silence.
    sweep.py_func(table.seats, np.arange(n_rows), table.delta, False)
    assert np.unique(table.seats.labels).size == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_the_sum_that_falls_is_the_expected_loss_but_for_a_constant(loss):
    rng = np.random.default_rng(5)
    draws = rng.integers(4, size=(6, 10))
    first, second = rng.integers(4, size=(2, 10))
    values = [
        value(table_of(draws, z, loss).seats, table_of(draws, z, loss).growth)
        for z in (first, second)
    ]
    change = expected_loss(second, draws, loss) - expected_loss(first, draws, loss)
    assert (values[1] - values[0]) / scale(loss, 10) == pytest.approx(change, abs=1e-12)
