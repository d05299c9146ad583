"""Rows on workers: what comes out is what threads give, to the last bit."""

import gc
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from distributed.utils import key_split

from benchmarks.data import default_model
from benchmarks.scale_dask import counted
from sticktree.cluster import DaskRows, DaskSource
from sticktree.data.sources.dask.source import cut_up
from sticktree.data.store import MemoryStore
from sticktree.engine.bulk.placement import ThreadPlacement
from sticktree.engine.bulk.shared import SharedBulkChain
from tests.support.bulk import all_passes, same
from tests.support.cluster import N, assert_same, chain_of, chain_on_parts, chunked, outcome, table


@pytest.mark.parametrize(("n_parts", "gaps"), [(1, True), (2, False), (7, True)])
def test_partitions_do_not_matter(client, expected, n_parts, gaps):
    chain = chain_on_parts(chunked(table(gaps=gaps), n_parts))
    assert len(chain.rows.placement.parts) == n_parts
    assert_same(outcome(chain), expected[gaps])


def test_passes_are_those_in_memory(client):
    x = table(gaps=True) / 10.0  # all leaves have rows
    store = DaskSource.of(chunked(x, 7)).store(np.zeros(3), np.ones(3), part_bytes=1)
    assert same(all_passes(store.rows(1)), all_passes(MemoryStore(x).rows(1)))


def test_without_a_client_rows_are_read_into_threads(expected):
    chain = chain_of(chunked(table(gaps=True), 7))
    assert isinstance(chain.rows.placement, ThreadPlacement)
    assert_same(outcome(chain), expected[True])


def test_a_data_frame_is_the_same_as_an_array(client, expected):
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(table(gaps=True), columns=["a", "b", "c"])
    assert_same(outcome(chain_of(dd.from_pandas(frame, npartitions=3))), expected[True])


def test_chunks_across_columns_unknown_sizes_and_empty_partitions(client, expected):
    import dask.array as da

    x = da.concatenate([chunked(table(), 3), da.empty((0, 3)), da.empty((0, 3))])
    x = da.hstack([x[:, :1], x[:, 1:]])
    unknown = x[x[:, 0] > -np.inf]
    assert np.isnan(unknown.shape[0])
    assert_same(outcome(chain_of(unknown)), expected[False])


def test_two_fits_at_once_on_one_client(client, expected):
    results: dict[bool, list] = {}

    def fit(gaps):
        with client.as_current():
            results[gaps] = outcome(chain_of(chunked(table(gaps=gaps), 4)))

    threads = [threading.Thread(target=fit, args=(gaps,)) for gaps in (False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    for gaps in (False, True):
        assert_same(results[gaps], expected[gaps])


def test_chains_share_partitions_and_not_passes(client, expected):
    source = DaskSource.of(chunked(table(), 4))
    scale = source.measure()
    store = source.store(scale.centre, scale.spread)
    assert store.shape == (N, 3)
    first, second = (
        SharedBulkChain(store.rows(1), default_model(3), np.random.default_rng(1)) for _ in range(2)
    )
    assert isinstance(first.rows, DaskRows)
    assert first.rows.placement.parts is second.rows.placement.parts
    first.sweep()  # with passes of its own
    assert_same(outcome(second), expected[False])


def test_labels_of_some_rows_are_those_of_all(client):
    chain = chain_on_parts(chunked(table(gaps=True), 7))
    chain.sweep()
    number = np.arange(chain.state.nodes.size, dtype=np.int32)
    asked = np.array([N - 1, 0, 5, 5, 2000, 600], dtype=np.int32)
    np.testing.assert_array_equal(chain._labels(number, asked), chain._labels(number)[asked])


def test_values_are_spread_as_in_memory(client):
    x, jitter = table(300, gaps=True), np.array([0.5, 0.0, 2.0])
    store = DaskSource.of(chunked(x, 4)).store(np.zeros(3), np.ones(3), part_bytes=1)
    for width in (None, jitter, jitter, 2 * jitter):
        found = store.rows(1, width).sample(0, 2**64 - 1)
        expected = MemoryStore(x).rows(1, width).sample(0, 2**64 - 1)
        np.testing.assert_array_equal(found.number, expected.number)
        np.testing.assert_array_equal(found.y, expected.y)


def digest_of(x, n_parts):
    source = DaskSource.of(chunked(x, n_parts))
    return source.store(np.zeros(3), np.ones(3), part_bytes=1).digest()


def test_digests_are_of_rows_and_not_of_partitions(client):
    x = table(300, gaps=True)
    x[7] = [0.0, 1.0, 2.0]
    found = digest_of(x, 1)
    assert digest_of(x, 7) == found
    same = x.copy()
    same[7, 0] = -0.0
    assert digest_of(same, 2) == found
    others = [x.copy() for _ in range(4)]
    others[0][7, 0] = 1e-300
    others[1][[7, 8]] = x[[8, 7]]
    others[2][7] = x[7][::-1]
    others[3] = x[:-1]
    assert len({found, *(digest_of(other, 2) for other in others)}) == 5


def test_labels_before_any_pass_are_refused(client):
    rows = chain_of(chunked(table(), 2)).rows
    none = np.empty(0, dtype=np.int64)
    with pytest.raises(RuntimeError, match="no leaves yet"):
        rows.labels(none, none)


def test_a_source_hands_its_rows_over_once(client):
    source = DaskSource.of(chunked(table(), 2))
    source.store(np.zeros(3), np.ones(3))
    with pytest.raises(RuntimeError, match="handed over"):
        source.measure()


def test_bytes_per_sweep_do_not_depend_on_the_number_of_rows(client):
    # Both have more rows than are picked in a sweep.
    sizes = []
    for n in (8_000, 80_000):
        chain = chain_of(chunked(table(n), 2))
        for _ in range(3):
            chain.sweep()
        with counted() as traffic:
            for _ in range(4):
                chain.sweep()
        sizes.append((traffic.sent + traffic.received) / 4)
    # One byte for each row of the larger table would be 72,000 more. Picks vary by a few per cent.
    assert sizes[1] < 1.15 * sizes[0]
    assert sizes[1] < 400_000


def test_task_names_can_be_read(client):
    chain = chain_of(chunked(table(), 2))
    chain.sweep()
    chain.tree()
    placement = chain.rows.placement
    keys = [future.key for future in [*placement.parts, *placement.made["leaves"]]]
    assert {key_split(key) for key in keys} == {"sticktree-prepare", "sticktree-assign"}
    shown = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    ours = ["read", "look", "measure", "prepare", "assign", "halve", "result", "labels"]
    assert {f"sticktree-{what}" for what in ours} <= set(shown)


def test_workers_share_the_rows_and_keep_nothing_when_they_are_dropped(client):
    chain = chain_of(chunked(table(), 8))
    assert len(chain.rows.placement.parts) == 2  # one for each thread
    holders = client.who_has(chain.rows.placement.parts)
    assert {len(places) for places in holders.values()} == {1}
    assert len({places[0] for places in holders.values()}) == 2
    token = chain.rows.placement.session.token
    chain.sweep()
    del chain

    def left(dask_scheduler, token=token):
        return [str(key) for key in dask_scheduler.tasks if token in str(key)]

    for _ in range(100):
        gc.collect()
        if not client.run_on_scheduler(left):
            break
        time.sleep(0.1)
    assert client.run_on_scheduler(left) == []


@pytest.mark.parametrize("n_threads", [1, 2, 5, 100])
def test_parts_are_balanced_runs_of_partitions(n_threads):
    rng = np.random.default_rng(n_threads)
    counts = tuple(rng.integers(1, 100, size=40).tolist())
    cuts = cut_up(counts, n_threads, 8)
    assert cuts[0] == 0
    assert cuts[-1] == len(counts)
    assert np.all(np.diff(cuts) > 0)
    assert len(cuts) - 1 <= n_threads
    sizes = np.add.reduceat(counts, cuts[:-1])
    assert sizes.max() <= sum(counts) / n_threads + 2 * max(counts)


def test_parts_are_never_too_large():
    counts = (1_000_000,) * 64
    assert len(cut_up(counts, 1, 800)) - 1 == 64
    assert len(cut_up(counts, 1, 8)) - 1 == 2


def test_the_fixture_has_more_rows_than_are_picked():
    assert N > 2000
