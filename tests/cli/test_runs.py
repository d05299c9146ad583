"""Run folders as Python sees them."""

import errno
import json
import math

import pytest

from sticktree.cli import record
from sticktree.cli.output import plain
from sticktree.cli.runs import RunFolder

RECORD = {
    "command": "sticktree fit x.csv",
    "started": "2026-01-01T00:00:00Z",
    "resumed": 0,
    "seconds": 0.0,
    "options": {},
    "seed": 0,
    "data": {"name": "x.csv", "path": "x.csv", "sha256": "0", "rows": 3},
    "columns": {"fitted": {"x": "gaussian"}, "id": None, "label": None},
    "environment": {},
}


def test_what_json_has_no_number_for_is_null():
    written = {"a": [1.5, math.inf, {"b": math.nan}], 3: (True, None, "x")}
    text = json.dumps(plain(written), allow_nan=False)
    assert json.loads(text) == {"a": [1.5, None, {"b": None}], "3": [True, None, "x"]}


def test_a_run_begins_in_a_new_folder_and_removes_what_an_older_one_left(tmp_path):
    run = RunFolder(tmp_path / "a" / "run")
    assert run.status == "none"
    run.begin(RECORD | {"seed": 1})
    assert (run.status, run.record["seed"]) == ("running", 1)
    (run.path / "tree.nwk").write_text("();")
    (run.path / "notes.txt").write_text("mine")
    run.begin(RECORD | {"seed": 2})
    assert run.record["seed"] == 2
    assert {path.name for path in run.path.iterdir()} == {"run.json", "notes.txt"}
    with pytest.raises(ValueError, match="is not finished"):
        RunFolder.open(run.path)
    with pytest.raises(ValueError, match="is not finished"):
        RunFolder.open(run.path / "run.json")


def test_an_older_run_stays_where_the_record_of_a_new_one_cannot_be_written(tmp_path, monkeypatch):
    def full(path, pieces):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    run = RunFolder(tmp_path)
    run.begin(RECORD)
    (run.path / "model.sticktree").write_text("years of work")
    monkeypatch.setattr(record, "write_pieces", full)
    with pytest.raises(OSError, match="No space left"):
        RunFolder(tmp_path).begin(RECORD | {"seed": 2})
    assert (run.path / "model.sticktree").read_text() == "years of work"
    assert RunFolder(tmp_path).record["seed"] == 0


def test_only_our_own_files_go_with_a_checkpoint(tmp_path):
    run = RunFolder(tmp_path)
    run.discard_checkpoint()
    run.checkpoint.mkdir()
    for name in ("run.json", "chain-0.npz", "mine.txt"):
        (run.checkpoint / name).touch()
    run.discard_checkpoint()
    assert [path.name for path in run.checkpoint.iterdir()] == ["mine.txt"]
    (run.checkpoint / "mine.txt").unlink()
    run.discard_checkpoint()
    assert not run.checkpoint.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "other"}', "\x00"])
def test_damage_is_said(text, tmp_path):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ValueError, match="damaged or not from sticktree fit"):
        RunFolder.open(tmp_path)
