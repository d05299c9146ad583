"""Two hands on one folder: the second is told whose it is."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from sticktree.io import lock
from sticktree.io.lock import LOCK, FolderInUseError, locked, owner_of


def test_folder_is_made_had_and_left(tmp_path):
    folder = tmp_path / "a" / "b"
    with locked(folder):
        assert owner_of(folder)["pid"] == os.getpid()
        with (
            pytest.raises(FolderInUseError, match="by another fit of this process"),
            locked(folder),
        ):
            pass
        assert [path.name for path in folder.iterdir()] == [LOCK]
    assert owner_of(folder) is None
    assert not list(folder.iterdir())


def written(folder, **changes):
    with locked(folder):
        content = json.loads((folder / LOCK).read_text()) | changes
    (folder / LOCK).write_text(json.dumps(content))
    return content


@pytest.fixture
def gone():
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_lock_of_a_process_that_has_ended_is_taken_over(tmp_path, gone):
    written(tmp_path, pid=gone)
    with locked(tmp_path):
        assert owner_of(tmp_path)["pid"] == os.getpid()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(lock._began(os.getpid()) is None, reason="the system does not tell")
def test_number_of_a_process_may_have_been_given_again(tmp_path):
    written(tmp_path, began="before this one")
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pid": "x"}', '{"pid": -1}', "\x00"])
def test_lock_that_says_nothing_holds_nobody_off(tmp_path, text):
    (tmp_path / LOCK).write_text(text)
    with locked(tmp_path):
        pass


def test_lock_of_a_living_process_holds_off(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        written(tmp_path, pid=other.pid, began=lock._began(other.pid))
        expected = f"in use by process {other.pid} on .*: wait for its end, or choose"
        with pytest.raises(FolderInUseError, match=expected), locked(tmp_path):
            pass
        other.communicate(b"\n")
    with locked(tmp_path):
        pass


def test_of_another_machine_people_are_asked(tmp_path, gone):
    written(tmp_path, pid=gone, host="elsewhere")
    with pytest.raises(FolderInUseError, match=r"on elsewhere, .* is gone, remove .*lock\.json"):
        locked(tmp_path).__enter__()
    (tmp_path / LOCK).unlink()
    with locked(tmp_path):
        pass


def test_clock_of_the_owner_does_not_matter(tmp_path, gone):
    future = "2999-01-01 00:00:00"
    written(tmp_path, pid=gone, since=future)
    with locked(tmp_path):
        pass
    written(tmp_path, since=future, token="another")  # of this process, which is there
    with pytest.raises(FolderInUseError), locked(tmp_path):
        pass


def test_lock_that_may_not_be_read_is_somebody_s(tmp_path, monkeypatch):
    (tmp_path / LOCK).write_text("{}")
    monkeypatch.setattr(lock.Path, "read_text", refuse)
    with pytest.raises(PermissionError):
        locked(tmp_path).__enter__()
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


def refuse(path, **_):
    raise PermissionError(13, "Permission denied", str(path))


def test_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(lock.Path, "write_text", lambda path, *_, **__: refuse(path))
    with pytest.raises(PermissionError) as caught:
        locked(tmp_path).__enter__()
    assert caught.value.filename == str(tmp_path)
    assert not list(tmp_path.iterdir())


def test_folder_may_be_gone_at_the_end(tmp_path):
    folder = tmp_path / "it"
    with locked(folder):
        shutil.rmtree(folder)
    assert not folder.exists()


def test_lock_that_people_have_removed_is_not_that_of_the_next(tmp_path):
    with locked(tmp_path):
        (tmp_path / LOCK).unlink()
        content = {"pid": 1, "host": "elsewhere", "token": "another"}
        (tmp_path / LOCK).write_text(json.dumps(content))
    assert owner_of(tmp_path) == content


def test_without_links_of_files(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError("not on this file system")

    monkeypatch.setattr(os, "link", no_links)
    with locked(tmp_path), pytest.raises(FolderInUseError), locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())
