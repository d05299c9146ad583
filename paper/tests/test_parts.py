"""The command as a whole, on data that come with scikit-learn and with the shortest of chains."""

import csv
import json

import numpy as np
import pytest

from sticktree_paper import parts, reproduce, work
from sticktree_paper.methods import OURS, QUICK, density_methods, tree_methods
from sticktree_paper.parts import check_parts
from sticktree_paper.results import Key, Result, ResultsFile
from sticktree_paper.work import MIN_MAX, density_keys, evaluate, flat_labels, purity_keys

CHEAP = ("GMM, few components", "KDE")


@pytest.fixture(autouse=True)
def only_cheap_methods(monkeypatch):
    """Leave out what takes long, and do the rest in this process."""

    def few(name, length):
        found = density_methods(name, length)
        return {key: found[key] for key in CHEAP}

    monkeypatch.setattr("sticktree_paper.work.density_methods", few)
    monkeypatch.setattr("sticktree_paper.table1.OURS", "KDE")
    here = lambda keys, length, n_jobs: ((key, evaluate(key, length)) for key in keys)  # noqa: E731
    monkeypatch.setattr(work, "_outcomes", here)


def told(folder, **options):
    lines = []
    page = reproduce(
        ["table1"],
        folder,
        quick=True,
        sets=["iris"],
        n_jobs=1,
        progress=False,
        tell=lines.append,
        **options,
    )
    return page, lines


def test_a_folder_has_tables_a_page_and_how_it_was_made(tmp_path):
    page, lines = told(tmp_path / "out")
    assert lines == ["table1: test log density of every method on the same splits"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Results")
    assert "far too short" in text
    assert "#### Iris: standardised" in text
    with (page.parent / "density-by-split.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["method"], row["split"]) for row in rows} == {
        (method, split) for method in CHEAP for split in "01"
    }
    record = json.loads((page.parent / "provenance.json").read_text())["parts"]["table1"]
    assert record["fits"] == 4
    assert record["length"] == "quick"
    assert record["packages"]["numpy"] == np.__version__


def test_nothing_is_done_twice_and_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    done = []

    def stopping(keys, length, n_jobs):
        for key in keys:
            if len(done) == 3:
                raise KeyboardInterrupt
            done.append(key)
            yield key, evaluate(key, length)

    monkeypatch.setattr(work, "_outcomes", stopping)
    with pytest.raises(KeyboardInterrupt):
        told(tmp_path)
    assert len(ResultsFile(tmp_path / "results.jsonl").read()) == 3

    def rest(keys, length, n_jobs):
        assert len(keys) == 1
        assert keys[0] not in done
        return ((key, evaluate(key, length)) for key in keys)

    monkeypatch.setattr(work, "_outcomes", rest)
    page, _ = told(tmp_path)
    first = page.read_text(encoding="utf-8")

    def nothing(keys, length, n_jobs):
        raise AssertionError(f"done again: {keys}")

    monkeypatch.setattr(work, "_outcomes", nothing)
    again, _ = told(tmp_path)
    assert again.read_text(encoding="utf-8") == first
    with pytest.raises(AssertionError, match="done again"):
        told(tmp_path, fresh=True)


def test_one_fit_that_fails_does_not_spoil_the_others(tmp_path, monkeypatch):
    def failing(keys, length, n_jobs):
        for key in keys:
            bad = key.method == "KDE" and key.split == 0
            yield key, ValueError("no luck") if bad else evaluate(key, length)

    monkeypatch.setattr(work, "_outcomes", failing)
    with pytest.raises(work.FitError, match=r"1 of 4 fits failed.*KDE on iris, split 0.*no luck"):
        told(tmp_path)
    assert len(ResultsFile(tmp_path / "results.jsonl").read()) == 3


def test_a_result_is_the_density_of_the_split(tmp_path):
    from sticktree_paper.splits import make_split, prepared

    key = next(key for key in density_keys("iris", [1], QUICK) if key.method == "KDE")
    split = make_split(prepared("iris"), "standardised", 1)
    kernels = density_methods("iris", QUICK)["KDE"].make(1).fit(split.train)
    found = evaluate(key, QUICK)
    assert found.values["test"] == pytest.approx(kernels.score_samples(split.test).mean())
    assert found.values["train"] == pytest.approx(kernels.score_samples(split.train).mean())


def test_trees_are_of_rows_in_random_order_and_told_apart_by_scaling():
    keys = {key.method: key for key in purity_keys("iris", QUICK)}
    assert {OURS, "DDT", "BHC", "HDBSCAN", MIN_MAX, "ward linkage"} <= keys.keys()
    average, scaled = (evaluate(keys[m], QUICK).values for m in ("average linkage", MIN_MAX))
    assert 0.5 < average["pairs"] < 1
    assert average["pairs"] != scaled["pairs"]
    assert average["clusters"] == 3
    assert "draws" not in average


def test_flat_clusters_are_a_methods_own_or_as_many_as_there_are_classes():
    data = np.array([[0.0], [0.1], [5.0], [5.1], [5.2], [9.0]])
    ward = tree_methods(QUICK)["ward linkage"].make(0).fit(data)
    assert len(set(flat_labels(ward, 3))) == 3
    ward.labels_ = np.zeros(6)
    assert len(set(flat_labels(ward, 3))) == 1


def test_keys_hold_all_that_a_result_depends_on():
    first, second = density_keys("iris", [0], QUICK), density_keys("wine", [0], QUICK)
    assert first[0].rows != second[0].rows
    assert first[0] != Key(**{**vars(first[0]), "split": 1})


def test_pieces_of_work_run_in_processes_of_their_own(tmp_path, monkeypatch):
    monkeypatch.undo()
    keys = [key for key in density_keys("iris", [0], QUICK) if key.method in CHEAP]
    found = work.run(keys, ResultsFile(tmp_path / "r.jsonl"), QUICK, n_jobs=2, progress=False)
    assert [one.key for one in found] == keys
    assert all(isinstance(one, Result) and np.isfinite(one.values["test"]) for one in found)


# ---- what can be asked for ----------------------------------------------------------------------


def test_parts_come_in_order_and_all_are_all():
    assert check_parts(["fig2", "table1"]) == ["table1", "fig2"]
    assert check_parts([]) == check_parts(["fig3", "all"]) == list(parts.PARTS)
    assert check_parts("fig1") == ["fig1"]


def test_a_set_that_is_nowhere_is_left_out_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("STICKTREE_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("STICKTREE_CACHE", str(tmp_path / "cache"))
    found, absent = parts.available(["iris", "macaque"], lambda name: name)
    assert found == ["iris"]
    assert "macaque.csv" in absent["macaque"]
    assert "\n" not in absent["macaque"]
