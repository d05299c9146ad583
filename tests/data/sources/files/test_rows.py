"""Passes over files give what passes over memory give, to the last bit."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sticktree.chunks import open_table
from sticktree.data.sources.prepared import (
    FilePlacement,
    PreparedTable,
    measure_table,
    rows_of_chunk,
)
from sticktree.engine.bulk.rows import Rows
from tests.support.bulk import all_passes, clouds, rows_of, same, some_leaves


def prepared(x, **options):
    table = open_table(x)
    scale = measure_table(table)
    return PreparedTable(table, scale.centre, scale.spread, **options)


def in_memory(x, n_threads=1, jitter=None):
    scale = measure_table(open_table(x))
    return rows_of((x - scale.centre) / scale.spread, n_threads, jitter)


@pytest.mark.parametrize("gaps", [0.0, 0.02, 1.0], ids=["whole", "some gaps", "gaps everywhere"])
@pytest.mark.parametrize(("chunk_rows", "n_threads"), [(1, 1), (200, 2), (777, 3), (4000, 1)])
def test_the_same_as_in_memory(gaps, chunk_rows, n_threads):
    x = clouds(500 if chunk_rows == 1 else 3000, 3, min(gaps, 0.02))
    if gaps == 1.0:
        x[np.arange(len(x)), np.arange(len(x)) % 3] = np.nan
    expected = all_passes(in_memory(x))
    with prepared(x, chunk_rows=chunk_rows, n_threads=n_threads) as table:
        assert same(all_passes(Rows(FilePlacement(table))), expected)


def test_labels_of_two_chains_are_apart():
    x = clouds(1000, 2)
    with prepared(x, chunk_rows=300, n_threads=2) as table:
        first, second = Rows(FilePlacement(table)), Rows(FilePlacement(table, n_threads=1))
        both = [some_leaves(first.extent, sweep=k) for k in (1, 2)]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda rows, what: rows.assign(what), (first, second), both))
        found = [rows.labels(np.arange(9), np.empty(0, np.int64)) for rows in (first, second)]
    for what, labels in zip(both, found, strict=True):
        rows = in_memory(x)
        rows.assign(what)
        assert np.array_equal(labels, rows.labels(np.arange(9), np.empty(0, np.int64)))
    assert not np.array_equal(*found)


def test_a_whole_chain_is_the_same():
    from sticktree.engine.bulk.shared import SharedBulkChain
    from sticktree.model import Model

    x = clouds(3000, 2, 0.01)
    model = Model(np.ones(3), covariance_type="full")

    def states(rows):
        chain = SharedBulkChain(rows, model, np.random.default_rng(0))
        for _ in range(4):
            chain.sweep()
            number = np.arange(chain.state.nodes.size)
            yield tuple(chain.sums), chain.anchor, chain._labels(number), chain.factor

    expected = tuple(states(in_memory(x, n_threads=2)))
    with prepared(x, chunk_rows=700, n_threads=2) as table:
        assert same(tuple(states(Rows(FilePlacement(table)))), expected)


def test_it_is_a_store_like_the_one_in_memory():
    from sticktree.data.training import MemoryStore, some_rows

    x = clouds(3000, 2, 0.01)
    scale = measure_table(open_table(x))
    memory = MemoryStore((x - scale.centre) / scale.spread)
    with prepared(x, chunk_rows=700, n_threads=3) as table:
        assert table.shape == memory.shape
        assert table.digest() == memory.digest()
        assert same(some_rows(table, 100).y, some_rows(memory, 100).y)
        rows = table.rows(2)
        rows.assign(some_leaves(rows.extent))
        some = np.array([7, 3, 2999])
        labels = rows.labels(np.arange(9), np.empty(0, np.int64), some)
        assert same(labels, rows.labels(np.arange(9), np.empty(0, np.int64))[some])


@pytest.mark.parametrize("gaps", [0.0, 0.02])
def test_rows_that_are_spread_are_the_same(gaps, tmp_path):
    x = clouds(3000, 2, gaps)
    jitter = np.array([0.1, 0.02])
    memory = in_memory(x, jitter=jitter)
    with prepared(x, chunk_rows=700, n_threads=2) as table:
        rows = [Rows(FilePlacement(table, 2, jitter)), Rows(FilePlacement(table, 1, jitter.copy()))]
        assert len(list(table.scratch.path.glob("*.rows"))) == 2 * 5
        assert same(all_passes(rows[0]), all_passes(memory))
        assert same(all_passes(rows[1]), all_passes(memory))
        assert not same(all_passes(Rows(FilePlacement(table))), all_passes(memory))


# ---- files and folders -------------------------------------------------------------------------


def test_files_go_with_their_owners(tmp_path):
    table = prepared(clouds(300, 2), chunk_rows=100)
    (folder,) = tmp_path.iterdir()
    rows = Rows(FilePlacement(table))
    assert len(list(folder.iterdir())) == 3 + 1
    del rows
    gc.collect()
    assert len(list(folder.iterdir())) == 3
    table.close()
    assert not any(tmp_path.iterdir())
    table.close()  # twice does no harm
    table = prepared(clouds(300, 2), scratch_folder=tmp_path)
    del table
    gc.collect()
    assert not any(tmp_path.iterdir())


def test_the_files_have_the_size_that_is_told(tmp_path):
    x = clouds(1000, 3)
    x[::10, 1] = np.nan
    with prepared(x, chunk_rows=400) as table:
        rows = Rows(FilePlacement(table))
        for slot in table.arranged()[0]:
            assert slot.path.stat().st_size == slot.row_bytes
            assert rows.placement.choices(slot).stat().st_size == slot.state_bytes
        assert sum(slot.n_whole + slot.n_gaps for slot in table.arranged()[0]) == 1000


def test_nothing_is_left_where_the_rows_cannot_be_read(tmp_path):
    class Broken(type(open_table(np.zeros((1, 1))))):
        def _pieces(self, n_rows):
            yield from list(super()._pieces(n_rows))[:2]
            raise ValueError("the disk is on fire")

    table = Broken(clouds(1000, 2))
    for n_threads in (1, 2):
        with pytest.raises(ValueError, match="on fire"):
            PreparedTable(table, np.zeros(2), np.ones(2), n_threads=n_threads, chunk_rows=100)
        assert not any(tmp_path.iterdir())


def test_a_disk_that_is_too_small(tmp_path, monkeypatch):
    from shutil import disk_usage

    x = clouds(1000, 2)
    n_bytes = 24 * (1000 + 128 * 4)
    little = disk_usage(tmp_path)._replace(free=n_bytes - 1)
    monkeypatch.setattr("shutil.disk_usage", lambda path: little)
    with pytest.raises(OSError, match=rf"scratch_folder {tmp_path} needs .*{n_bytes:,} bytes"):
        prepared(x, chunk_rows=250)
    assert not any(tmp_path.iterdir())
    with pytest.raises(OSError, match=r"0\.0 MB left"):
        prepared(x, chunk_rows=250)
    monkeypatch.setattr("shutil.disk_usage", lambda path: little._replace(free=n_bytes))
    with prepared(x, chunk_rows=250) as table:
        monkeypatch.setattr("shutil.disk_usage", lambda path: little._replace(free=0))
        with pytest.raises(OSError, match="needs room for"):
            Rows(FilePlacement(table))
        assert len(list(table.scratch.path.iterdir())) == 4


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_disk_that_fills_up_on_the_way(tmp_path, monkeypatch, n_threads):
    import errno

    from sticktree.data.sources import prepared as module

    written = []

    def full(path, arrays, offset=None):
        written.append(path)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        path.touch()

    monkeypatch.setattr(module, "write", full)
    with pytest.raises(OSError, match=rf"scratch_folder {tmp_path} .* filled up on the way"):
        prepared(clouds(1000, 2), chunk_rows=100, n_threads=n_threads)
    assert not any(tmp_path.iterdir())
    assert len(written) <= 3 + n_threads


def test_scratch_files_that_vanish_are_told():
    with prepared(clouds(1000, 2), chunk_rows=300) as table:
        rows = Rows(FilePlacement(table))
        with table.arranged()[0][1].path.open("r+b") as file:
            file.truncate(100)
        with pytest.raises(OSError, match=r"000001\.rows was cut short"):
            rows.assign(some_leaves(rows.extent))
        table.arranged()[0][1].path.unlink()
        with pytest.raises(OSError, match=r"000001\.rows was removed"):
            rows.assign(some_leaves(rows.extent))


def test_folders_that_cannot_serve(tmp_path):
    with pytest.raises(ValueError, match="scratch_folder must be a folder that is there"):
        prepared(clouds(10, 2), scratch_folder=tmp_path / "none")
    with pytest.raises(ValueError, match="n_threads must be an integer of at least 1, got 0"):
        prepared(clouds(10, 2), n_threads=0)
    with pytest.raises(ValueError, match="chunk_rows must be an integer of at least 1, got 0"):
        prepared(clouds(10, 2), chunk_rows=0)
    with (
        prepared(clouds(10, 2)) as table,
        pytest.raises(ValueError, match="n_threads must be an integer of at least 1, got 0"),
    ):
        Rows(FilePlacement(table, n_threads=0))


@pytest.mark.parametrize("end", ["", "raise RuntimeError", "raise KeyboardInterrupt"])
def test_nothing_is_left_when_the_program_ends(tmp_path, end):
    program = "from sticktree.data.sources.scratch import Scratch\n"
    program += f"scratch = Scratch({str(tmp_path)!r})\n"
    program += f"(scratch.path / 'file').touch()\nprint('made')\n{end}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "made\n", done.stderr
    assert (done.returncode == 0) == (end == "")
    assert not any(tmp_path.iterdir())


def test_a_fork_removes_nothing(tmp_path):
    from sticktree.data.sources.scratch import _remove

    _remove(tmp_path, os.getpid() + 1)
    assert tmp_path.exists()


def test_a_place_in_memory_is_avoided(tmp_path, monkeypatch):
    from sticktree.data.sources import scratch

    mounts = tmp_path / "mounts"
    monkeypatch.setattr(scratch, "MOUNTS", mounts)
    mounts.write_text(f"/dev/a / ext4 rw 0 0\ntmpfs {tmp_path} tmpfs rw 0 0\n")
    assert scratch._in_memory(tmp_path)
    assert not scratch._in_memory(tmp_path.parent)
    mounts.write_text(f"tmpfs {tmp_path} tmpfs rw 0 0\n/dev/a {tmp_path} ext4 rw 0 0\n")
    assert not scratch._in_memory(tmp_path)
    mounts.unlink()
    assert not scratch._in_memory(tmp_path)


# ---- sizes -------------------------------------------------------------------------


def test_how_many_rows_a_chunk_has():
    assert rows_of_chunk(10**9, 4, 2) * 8 * 5 == pytest.approx(64e6, rel=1e-3)
    assert rows_of_chunk(10**6, 4, 2) == pytest.approx(10**6 / 8, abs=128)
    assert rows_of_chunk(10, 4, 2) == 128
    assert rows_of_chunk(10**9, 10**6, 2) == 128
