import numpy as np
import pytest

from benchmarks import convergence, folder, mixing
from benchmarks.density.table import lines
from benchmarks.folder import FILES, MissingDataError, load


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))


def test_the_variable_goes_first_then_the_folder_in_the_project(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "ROOT", tmp_path)
    monkeypatch.delenv("STICKTREE_DATA", raising=False)
    assert folder.data_folder() is None
    (tmp_path / "data").mkdir()
    assert folder.data_folder() == tmp_path / "data"
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))
    assert folder.data_folder() == tmp_path


def test_features_are_read_without_labels_and_names(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))
    (tmp_path / "r15.csv").write_text("x0,x1,label\n1.5,2,1\n3,4e-1,2\n")
    (tmp_path / "ccle_pydt.csv").write_text("cell_line,A,B\nMEG01,-1.0e+00,2\n")
    np.testing.assert_array_equal(load("r15"), [[1.5, 2.0], [3.0, 0.4]])
    np.testing.assert_array_equal(load("ccle"), [[-1.0, 2.0]])
    (tmp_path / "ccle.csv").write_text("cell_line,A,B\nMEG01,,2\n")
    np.testing.assert_array_equal(load("ccle_missing"), [[np.nan, 2.0]])


@pytest.mark.usefixtures("no_data")
def test_without_data_the_reason_is_plain():
    with pytest.raises(MissingDataError, match=r"^set STICKTREE_DATA to a folder with r15\.csv$"):
        load("r15")


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize("part", [mixing, convergence])
def test_without_data_rows_are_skipped(part):
    verdicts = [row.verdict for row in part.rows()]
    assert verdicts == [
        f"skipped: set STICKTREE_DATA to a folder with {name}.csv"
        for name in ("r15", "aggregation", "glass")
    ]


@pytest.mark.usefixtures("no_data")
def test_without_data_the_density_table_is_skipped():
    table = "\n".join(lines(tuple(FILES)))
    assert all(f"skipped: set STICKTREE_DATA to a folder with {f}" in table for f in FILES.values())
