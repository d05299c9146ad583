"""Folders that others have written to, are writing to, or have damaged; text that is a formula."""

import csv
import errno
import json
import os
import subprocess
import sys

import pytest

from sticktree.cli import UnreadableError
from sticktree.cli.runs import RunFolder
from sticktree.io import lock
from tests.cli.conftest import QUICK, read_csv

TABLE = "id,kind,x,y\n" + "\n".join(
    f"{name},{kind},{k % 5}.{k},{k * k % 7}.5"
    for k, (name, kind) in enumerate(
        [("=cmd|' /C calc'!A0", "+a"), ("@x", "'=b"), ("-1", "c"), ("'=y", "c"), ("plain", "c")] * 2
    )
)


def record_of(folder):
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def write_record(folder, record):
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")


# ---- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["options", "data", "columns", "result", "status", "environment"])
def test_record_without_a_key_is_one_line(run, told, key):
    record = record_of(run)
    del record[key]
    write_record(run, record)
    for command in (["predict", run, "flowers.csv"], ["cluster", run], ["summary", run]):
        code, _, err = told(*command)
        assert code == 2
        assert f"run.json is damaged: it lacks {key}" in err
        assert err.count("\n") == 1


def test_record_with_something_else_is_one_line(run, told):
    record = record_of(run)
    record["result"]["levels"] = "many"
    write_record(run, record)
    code, _, err = told("predict", run, "flowers.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert "run.json is damaged: it has 'many' as result.levels" in err


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("finished", None, ["summary", "run"]),
        ("data.name", 5, ["summary", "run"]),
        ("columns.labels", 5, ["summary", "run"]),
        ("columns.conditions", [1], ["report", "run"]),
        ("columns.fitted", {"länge": 5}, ["plot", "run", "--kind", "density"]),
        ("columns.fitted", {"länge": "odd"}, ["plot", "run", "--kind", "density"]),
        ("made_by", 5, ["fit", "-o", "run", "--more-draws", "1"]),
        ("more_draws", "x", ["fit", "-o", "run", "--more-draws", "1"]),
        ("seed", None, ["fit", "-o", "run", "--more-draws", "1"]),
    ],
)
def test_strange_part_of_a_record_is_one_line(run, told, part, value, words):
    record = inner = record_of(run)
    *outer, last = part.split(".")
    for key in outer:
        inner = inner[key]
    inner[last] = value
    write_record(run, record)
    code, _, err = told(*words)
    assert (code, err.count("\n")) == (2, 1)
    assert "run.json is damaged: " in err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [], "0 rows of 30"),
        (lambda lines: [lines[0], *lines[2:]], "29 rows of 30"),
        (lambda lines: [*lines[:3], "", *lines[4:]], "row 2 has 0 cells of"),
        (lambda lines: [*lines[:3], lines[3] + ",x" * 9, *lines[4:]], "row 2 has"),
        (lambda lines: [lines[0].replace("id", "name"), *lines[1:]], "it has no column 'id'"),
    ],
)
def test_table_of_rows_that_is_damaged_is_one_line(run, told, change, words):
    path = run / "clusters.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    code, _, err = told("cluster", run)
    assert (code, err.count("\n")) == (2, 1)
    assert "clusters.csv is damaged" in err
    assert words in err


def test_names_may_be_longer_than_csv_allows(run, told):
    path = run / "clusters.csv"
    text = path.read_text(encoding="utf-8").replace('"p,00"', "long" * 50_000)
    path.write_text(text, encoding="utf-8")
    assert told("cluster", run)[0] == 0
    assert csv.field_size_limit() == 131_072


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError("it broke"), "it broke"),
        (
            OSError(errno.EACCES, "Permission denied", "x.csv"),
            "cannot open x.csv: Permission denied",
        ),
        (OSError(errno.ENOSPC, "No space left", "y"), "cannot write y: No space left"),
        (UnreadableError(errno.EIO, "it broke", "z"), "cannot read z: it broke"),
        (MemoryError(), "there is not enough memory"),
    ],
    ids=str,
)
def test_errors_of_the_disk_name_what_they_can(run, told, monkeypatch, error, said):
    def fail(*_):
        raise error

    monkeypatch.setattr(RunFolder, "open", fail)
    assert told("cluster", run) == (1, "", f"sticktree cluster: {said}\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_pipes_and_links_to_nothing_are_said_to_be_that(told, tmp_path):
    pipe, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "gone.csv")
    for path, words in ((pipe, "not a regular file: give - "), (link, "leads to no file")):
        code, _, err = told("fit", path, "-o", tmp_path / "run")
        assert (code, err.count("\n")) == (2, 1)
        assert words in err
        assert "did you mean" not in err


@pytest.mark.parametrize("command", ["summary", "fit"])
def test_name_that_is_too_long_is_of_something_to_read(told, command):
    name = "x" * 300
    code, out, err = told(command, name)
    assert (code, out) == (1, "")
    assert err.startswith(f"sticktree {command}: cannot read {name}: ")


# ---- two hands -----------------------------------------------------------------------------------


@pytest.fixture
def living(tmp_path):
    """A folder with a run that goes on in another process."""
    folder = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        with lock.locked(folder):
            content = json.loads((folder / lock.LOCK).read_text())
        content |= {"pid": other.pid, "began": lock._began(other.pid)}
        (folder / lock.LOCK).write_text(json.dumps(content))
        yield folder, other.pid
        other.communicate(b"\n")


@pytest.mark.parametrize("how", ["--resume", "--overwrite", None])
def test_beside_a_living_run(living, flowers, told, how):
    folder, pid = living
    code, _, err = told("fit", flowers, "-o", folder, *QUICK, *filter(None, [how]))
    assert code == 2
    assert f"{folder} is in use by process {pid} on " in err
    assert err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == [lock.LOCK]


def test_who_asks_a_living_run_is_told_so(living, finished, told):
    folder, pid = living
    write_record(folder, record_of(finished) | {"status": "running"})
    code, _, err = told("summary", folder)
    assert code == 2
    assert f"is going on, in process {pid} on " in err
    assert "remove" not in err
    path = folder / lock.LOCK
    path.write_text(json.dumps(json.loads(path.read_text()) | {"host": "elsewhere"}))
    assert (
        f"on elsewhere: wait for its end; if that process is gone, remove {path}"
        in told("summary", folder)[2]
    )


def test_lock_of_a_killed_run_is_no_hindrance(flowers, tmp_path, told):
    folder = tmp_path / "run"
    with lock.locked(folder):
        content = json.loads((folder / lock.LOCK).read_text()) | {"began": "long ago"}
    (folder / lock.LOCK).write_text(json.dumps(content))
    (folder / ".sticktree-clusters-abc.csv").write_text("half of")
    options = ["--columns", "1-2", "--covariance", "diag", "--warmup", "2", "--draws", "2"]
    assert told("fit", flowers, "-o", folder, *options, "--chains", "1", "-q")[0] == 0
    assert not [path for path in folder.iterdir() if path.name.startswith((".", "lock"))]


def test_going_on_with_another_version_is_said_and_kept(flowers, tmp_path, told, monkeypatch):
    from sticktree.inference.runner import Run

    def stop(*_, **__):
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    options = ["--columns", "1-2", "--covariance", "diag", "--warmup", "2", "--draws", "2"]
    with monkeypatch.context() as patch:
        patch.setattr(Run, "start", stop)
        assert told("fit", flowers, "-o", folder, *options, "--chains", "1", "-q")[0] == 130
    record = record_of(folder)
    (now,) = record["made_by"]
    record["made_by"] = [now | {"numba": "0.1"}]
    write_record(folder, record)
    path = folder / "checkpoint" / "run.json"
    path.write_text(path.read_text().replace(f'"numba": "{now["numba"]}"', '"numba": "0.1"'))
    code, _, err = told("fit", "-o", folder, "--resume", "-q")
    assert code == 0
    assert "goes on with" in err
    assert "its draws will not be those of one version" in err
    assert err.count("\n") == 1
    assert record_of(folder)["made_by"] == [now | {"numba": "0.1"}, now]


# ---- formulas ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def formulas(tmp_path_factory):
    from sticktree.cli import main

    folder = tmp_path_factory.mktemp("formulas")
    (folder / "t.csv").write_text(TABLE)
    words = ["fit", str(folder / "t.csv"), "--id", "id", "--label", "kind", "--missing", "'"]
    words += ["--covariance", "diag", "--chains", "1", "--warmup", "2", "--draws", "2", "-q"]
    assert main([*words, "-o", str(folder / "safe")]) == 0
    assert main([*words, "-o", str(folder / "plain"), "--no-safe-csv"]) == 0
    return folder


def test_spreadsheets_are_shown_text(formulas):
    rows = read_csv(formulas / "safe" / "clusters.csv")
    expected = ["'=cmd|' /C calc'!A0", "'@x", "-1", "''=y", "plain"]
    assert [row["id"] for row in rows[:5]] == expected
    assert [row["label"] for row in rows[:2]] == ["'+a", "''=b"]
    for name in ("clusters.csv", "nodes.csv", "markers.csv"):
        for row in read_csv(formulas / "safe" / name):
            assert not [cell for cell in row.values() if cell.startswith(("=", "@", "+"))]
    assert record_of(formulas / "safe")["safe_csv"] is True


def test_names_come_back_as_they_were(formulas):
    safe, plain = RunFolder.open(formulas / "safe"), RunFolder.open(formulas / "plain")
    assert safe.ids == plain.ids
    assert safe.labels == plain.labels
    assert plain.clusters["id"][:2] == ["=cmd|' /C calc'!A0", "@x"]


def test_files_are_for_spreadsheets_and_the_screen_for_programs(formulas, told, tmp_path):
    run, data, out = formulas / "safe", formulas / "t.csv", tmp_path / "p.csv"
    assert told("predict", run, data)[1].splitlines()[1].startswith("0,=cmd")
    assert told("predict", run, data, "--safe-csv")[1].splitlines()[1].startswith("0,'=cmd")
    assert told("predict", run, data, "-o", out)[0] == 0
    assert out.read_text().splitlines()[1].startswith("0,'=cmd")
    assert told("cluster", run, "-o", out, "--overwrite", "--no-safe-csv")[0] == 0
    assert out.read_text().splitlines()[1].startswith("0,=cmd")
    assert told("export", run, "--format", "csv", "-o", tmp_path / "nodes.csv")[0] == 0


def test_help_says_what_is_done_to_text(told):
    for command in ("fit", "predict", "cluster", "markers", "export"):
        out = told(command, "--help")[1]
        assert "--safe-csv" in out
        assert "such as =1+1" in out.replace("\n", " ").replace("  ", " ") or "=1+1" in out
