import numpy as np
import pytest

from benchmarks import data, mixing
from benchmarks.data import MissingDataError, load
from sticktree import datasets


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))
    monkeypatch.setenv("STICKTREE_CACHE", str(tmp_path / "cache"))


def test_the_data_folder_goes_first_then_the_folder_in_the_project(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "ROOT", tmp_path)
    monkeypatch.delenv("STICKTREE_DATA", raising=False)
    assert data.data_folder() is None
    (tmp_path / "data").mkdir()
    assert data.data_folder() == tmp_path / "data"
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))
    assert data.data_folder() == tmp_path


def test_the_folder_in_the_project_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "ROOT", tmp_path)
    monkeypatch.delenv("STICKTREE_DATA", raising=False)
    (tmp_path / "data").mkdir()
    rows = [f"{k},{-k},{k % 15}" for k in range(600)]
    (tmp_path / "data" / "r15.csv").write_text("\n".join(["x0,x1,label", *rows]))
    np.testing.assert_array_equal(load("r15")[:, 1], -np.arange(600))


def test_what_needs_no_file_is_that_of_the_library():
    np.testing.assert_array_equal(load("iris"), datasets.load("iris").data)


@pytest.mark.usefixtures("no_data")
def test_without_data_the_reason_is_plain():
    with pytest.raises(MissingDataError, match=r"^set STICKTREE_DATA to a folder with r15\.csv$"):
        load("r15")


def test_a_data_folder_that_is_not_there_is_no_other_error(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("STICKTREE_CACHE", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"^set STICKTREE_DATA"):
        load("r15")


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize(
    ("part", "files"),
    [
        (mixing.mixing, ("r15", "aggregation", "glass")),
        (mixing.convergence, ("r15", "aggregation", "glass")),
        (mixing.imputation, ("ccle",)),
    ],
)
def test_without_data_rows_are_skipped(part, files):
    verdicts = [row.verdict for row in part()]
    assert verdicts == [
        f"skipped: set STICKTREE_DATA to a folder with {file}.csv" for file in files
    ]
