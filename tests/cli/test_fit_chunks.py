"""Large files of numbers: which ones are read in chunks, and what cannot be done with them."""

import json

import numpy as np
import pandas as pd
import pytest

from sticktree.cli import large
from sticktree.cli.large import is_large, open_large
from sticktree.cli.runs import RunFolder
from sticktree.cli.table import large_rows
from tests.cli.conftest import QUICK

zarr = pytest.importorskip("zarr")
pytest.importorskip("pyarrow")


@pytest.fixture
def small(monkeypatch):
    """Call tables of 100 rows and 1,600 bytes large."""
    monkeypatch.setattr(large, "LARGE_BYTES", 1600)
    monkeypatch.setattr(large, "MANY_ROWS", 100)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the same 100 rows in every format."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(0.0, 0.5, (100, 2)) + 8.0 * (np.arange(100) % 2)[:, None]
    frame = pd.DataFrame(x, columns=["a", "b"])
    np.save("x.npy", x)
    frame.to_parquet("x.parquet")
    frame.to_csv("x.csv", index=False)
    zarr.create_array("x.zarr", data=x)
    frame.assign(word="w", none=np.nan).to_parquet("mixed.parquet")
    (tmp_path / "parts").mkdir()
    for k in range(2):
        frame[50 * k : 50 * (k + 1)].to_parquet(tmp_path / "parts" / f"part.{k}.parquet")
    return tmp_path


@pytest.mark.usefixtures("small", "folder")
def test_which_files_are_read_in_chunks(monkeypatch):
    tables = ["x.npy", "x.parquet", "x.zarr", "parts", "mixed.parquet"]
    assert all(is_large(name, {}) for name in tables)
    assert not any(is_large(name, {"algorithm": "gibbs"}) for name in tables)
    assert not any(is_large(name, {}) for name in ("x.csv", "-", "none.npy"))
    monkeypatch.setattr(large, "MANY_ROWS", 101)  # wide, so not for the parallel sampler
    assert not is_large("x.npy", {})
    assert is_large("x.npy", {"algorithm": "parallel"})
    monkeypatch.setattr(large, "LARGE_BYTES", 1601)
    assert not is_large("x.npy", {"algorithm": "parallel"})
    assert not is_large("x.zarr", {})


@pytest.mark.usefixtures("small")
def test_damaged_files_are_told(folder, told):
    (folder / "x.parquet").write_bytes(b"PAR1")
    assert "x.parquet is not a Parquet file" in told("fit", "x.parquet")[2]
    (folder / "x.npy").write_bytes(b"x" * 2000)
    assert "x.npy is not a plain array of numpy" in told("fit", "x.npy")[2]
    (folder / "bad.zarr").mkdir()
    assert "bad.zarr cannot be read as an array of zarr" in told("fit", "bad.zarr")[2]
    (folder / "empty").mkdir()
    assert "give a file, a folder of Parquet files or an array of zarr" in told("fit", "empty")[2]


@pytest.mark.usefixtures("small", "folder")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "word"], "--label is not for tables that are read in chunks, such as mixed"),
        (["--id", "word"], "--id is not for tables that are read in chunks"),
        (["--weights", "a"], "--weights is not for tables that are read in chunks"),
        (["--missing", "?"], "or --algorithm gibbs reads it whole"),
        ([], "column 'word' is of type"),
        ([], "--drop it, or --algorithm gibbs reads it whole"),
        (["--drop", "world"], "--drop: there is no column 'world'; did you mean 'word'?"),
        (["--drop", "word", "--kinds", "a=poisson"], "--kinds: column 'a' cannot be poisson in a"),
    ],
)
def test_what_cannot_be_done_in_chunks(told, options, message):
    code, _, err = told("fit", "mixed.parquet", *options)
    assert code == 2
    assert message in err


@pytest.mark.usefixtures("small", "folder")
def test_columns_of_a_large_file():
    rows = large_rows(open_large("mixed.parquet"), {"columns": ["none", "b"]})
    assert rows.table.names == rows.columns.names == ("b", "none")
    assert rows.columns.kinds == ("gaussian", "gaussian")
    assert rows.record()["ignored"] == ["a", "word"]
    assert rows.missing_cells is None
    rows = large_rows(open_large("x.zarr"), {})
    assert rows.table.names == rows.columns.names == ("x0", "x1")


def test_hashes_tell_contents_apart(folder):
    first = [open_large(name).source["sha256"] for name in ("x.npy", "x.zarr", "parts")]
    assert len(set(first)) == 3
    (folder / "parts" / "part.1.parquet").rename(folder / "parts" / "part.2.parquet")
    np.save("x.npy", np.zeros((100, 2)))
    second = [open_large(name).source["sha256"] for name in ("x.npy", "x.zarr", "parts")]
    assert [a == b for a, b in zip(first, second, strict=True)] == [False, True, False]


def test_folders_are_read_whole_if_they_are_small(folder, told):
    clusters = []
    for name in ("x.npy", "x.zarr", "parts"):
        code, _, err = told("fit", name, "-o", f"run-{name}", *QUICK)
        assert code == 0, err
        clusters.append(RunFolder.open(f"run-{name}").clusters)
    assert clusters[0] == clusters[1] == clusters[2]
    code, out, err = told("predict", "run-x.zarr", "x.zarr", "-o", "-")
    assert code == 0, err
    assert len(out.splitlines()) == 101
    assert (
        "--delimiter must be left out for a folder" in told("fit", "parts", "--delimiter", ";")[2]
    )


@pytest.mark.usefixtures("small")
def test_groups_of_a_large_file(folder, told):
    who = np.repeat(["p", "q", "r", "s"], 25)
    condition = np.where(np.isin(who, ["p", "q"]), "old", "new")
    frame = pd.read_parquet(folder / "x.parquet").assign(who=who, condition=condition)
    frame.to_parquet("cells.parquet")
    asked = ["--group", "who", "--condition", "condition"]
    code, _, err = told("fit", "cells.parquet", "-o", "run", *asked, *QUICK[:-1])
    assert code == 0, err
    assert "fitting 100 rows, read in chunks" in err
    assert "who" in (folder / "run" / "run.json").read_text("utf-8")
    lines = (folder / "run" / "composition.csv").read_text("utf-8").splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"p", "q", "r", "s"}
    assert (folder / "run" / "contrasts.csv").exists()


@pytest.mark.usefixtures("small")
def test_parents_and_times_of_a_large_file(folder, told):
    who, day = np.repeat(["p", "q", "r", "s"], 25), np.repeat(["8", "9", "10"], [30, 30, 40])
    state = np.where(np.isin(who, ["p", "q"]), "old", "new")
    frame = pd.read_parquet(folder / "x.parquet")
    frame.assign(who=who, state=state).to_parquet("cells.parquet")
    frame.assign(day=day).to_parquet("days.parquet")
    asked = ["--group", "who", "--parent", "state"]
    code, _, err = told("fit", "cells.parquet", "-o", "run", *asked, *QUICK[:-1])
    assert code == 0, err
    lines = (folder / "run" / "composition.csv").read_text("utf-8").splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {*"pqrs", "new", "old"}
    assert told("predict", "run", "cells.parquet", "-o", "-")[0] == 0
    code, _, err = told("fit", "days.parquet", "-o", "then", "--time", "day", *QUICK[:-1])
    assert code == 0, err
    lines = (folder / "then" / "contrasts.csv").read_text("utf-8").splitlines()
    assert {tuple(line.split(",")[:2]) for line in lines[1:]} == {("9", "8"), ("10", "9")}


@pytest.mark.usefixtures("small", "folder")
def test_from_a_large_file_to_a_run(told):
    for name in ("x.npy", "x.parquet", "x.zarr", "parts"):
        code, _, err = told("fit", name, "-o", "run", "--overwrite", *QUICK[:-1])
        assert code == 0, err
        assert "fitting 100 rows, read in chunks" in err
        run = RunFolder.open("run")
        assert len(run.clusters["cluster"]) == 100
        record = json.loads((run.path / "run.json").read_text("utf-8"))
        assert record["data"]["rows"] == 100
        assert record["data"]["missing_cells"] is None
