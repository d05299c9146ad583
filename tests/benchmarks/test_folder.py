import numpy as np
import pytest

from benchmarks import convergence, folder, mixing
from benchmarks.density.table import lines
from benchmarks.folder import NAMES, SHIPPED, TITLES, MissingDataError, classes, load
from sticktree import datasets

FROM_FILES = [name for name in NAMES if name not in SHIPPED]


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))
    monkeypatch.setenv("STICKTREE_CACHE", str(tmp_path / "cache"))


def test_the_data_folder_goes_first_then_the_folder_in_the_project(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "ROOT", tmp_path)
    monkeypatch.delenv("STICKTREE_DATA", raising=False)
    assert folder.data_folder() is None
    (tmp_path / "data").mkdir()
    assert folder.data_folder() == tmp_path / "data"
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path))
    assert folder.data_folder() == tmp_path


@pytest.mark.usefixtures("no_data")
def test_both_treatments_of_gaps_are_of_one_set(tmp_path):
    drugs = datasets.catalogue.DRUGS
    rows = [f"c{k},," + ",".join(["1.5"] * 23) for k in range(504)]
    (tmp_path / "ccle.csv").write_text("\n".join([f"cell_line,{','.join(drugs)}", *rows]))
    for name in ("ccle_missing", "ccle_imputed"):
        data = load(name)
        assert np.isnan(data[:, 0]).all()
        assert (data[:, 1:] == 1.5).all()
    with pytest.raises(ValueError, match="must be that of a data set with classes"):
        classes("ccle_missing")


@pytest.mark.parametrize("name", SHIPPED)
def test_names_and_titles_are_those_of_the_library(name):
    found = datasets.load(name)
    assert TITLES[name] == found.title
    assert classes(name) == list(found.labels)
    np.testing.assert_array_equal(load(name), found.data)
    titles = {entry.name: entry.title for entry in datasets.catalogue.ENTRIES}
    assert all(TITLES[name] == title for name, title in titles.items() if name in TITLES)


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
    table = "\n".join(lines(tuple(FROM_FILES)))
    files = ("r15.csv", "d31.csv", "aggregation.csv", "glass.csv", "ccle_pydt.csv", "ccle.csv")
    assert all(f"skipped: set STICKTREE_DATA to a folder with {file}" in table for file in files)
