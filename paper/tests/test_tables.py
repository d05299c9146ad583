import numpy as np
import pytest

from sticktree_paper import published, purity, table1
from sticktree_paper.methods import FULL, OURS, QUICK
from sticktree_paper.output import sweeps_of
from sticktree_paper.published import measured_elsewhere
from sticktree_paper.results import Key, Result, table
from sticktree_paper.splits import SETS
from sticktree_paper.table1 import ON_METHODS, ON_SETS, remarks_on
from sticktree_paper.table1 import evidence_markdown as unreachable
from sticktree_paper.work import CLASS_NORMALS, class_normals, mixture_of


def result(name, method, split, values, part="density"):
    return Result(Key(part, name, "ab", split, method, "s"), values, 2.0, 1.0)


def densities(name, **tests):
    return [
        result(name, method, split, {"test": value, "train": value + 0.5})
        for method, values in tests.items()
        for split, value in enumerate(values)
    ]


def test_lines_are_paired_by_split_and_the_best_comes_first():
    results = densities("iris", DFP=[-1.0, -2.0, -3.0], KDE=[-1.5, -2.6, -3.4], GMM=[-0.5, -2, -2])
    lines = table1.lines_of("iris", results)
    assert [line.method for line in lines] == ["GMM", "DFP", "KDE"]
    ours, kernels = lines[1:]
    assert ours.difference is None
    assert ours.verdict == ""
    assert kernels.difference.mean == pytest.approx(0.5)
    assert kernels.verdict == "ahead"
    assert (ours.mean, ours.sd, ours.train) == (-2.0, 1.0, -1.5)
    assert (ours.n_splits, ours.seconds) == (3, 1.0)


def test_programs_measured_elsewhere_stand_beside_on_the_splits_that_both_have():
    lines = table1.lines_of("aggregation", densities("aggregation", DFP=[-2.0, -2.0]))
    elsewhere = {line.method: line for line in lines if line.where == "elsewhere"}
    assert {"TSSB", "lace CrossCat"} <= elsewhere.keys()
    known = measured_elsewhere("aggregation")["TSSB"]
    line = elsewhere["TSSB"]
    assert line.n_splits == 2
    assert line.difference.mean == pytest.approx(-2.0 - (known[0] + known[1]) / 2)
    assert np.isnan(line.train)


def test_what_runs_here_too_is_not_taken_from_elsewhere():
    for name in ("r15", "ccle"):
        found = measured_elsewhere(name)
        assert found
        assert not any("GMM by" in peer or peer.startswith("KDE") for peer in found)
    assert measured_elsewhere("iris") == {}


def test_figures_elsewhere_are_for_rows_that_are_prepared_alike():
    assert measured_elsewhere("glass")
    assert not measured_elsewhere("glass-dequantised")
    assert not measured_elsewhere("ccle-gaps")


def test_the_page_has_the_papers_figures_and_every_method():
    results = densities("r15", **{OURS: [-0.9, -0.8], "DDT": [-1.0, -0.9], "KDE": [-2.0, -5e3]})
    results += densities("r15", **{"DFP as in the paper": [-1.2, -1.1]})
    text = "\n\n".join(table1.markdown(results, "200 + 200"))
    assert "−0.705 ± 0.086" in text
    assert "FBM" in text
    assert "**DFP**" in text
    assert "−2.5e+03" in text
    assert "200 + 200" in text
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({line.count("|") for line in block.splitlines()}) == 1


def test_the_best_of_all_others_is_named_first():
    results = densities("iris", DFP=[-1.0, -2.0], KDE=[-1.5, -2.5], GMM=[-3.0, -3.0])
    results += densities("wine", DFP=[-1.0, -2.0], KDE=[-0.5, -1.51])
    text = "\n".join(table1.markdown(results, "few"))
    short = text[text.index("### In short") : text.index("### In the paper's form")]
    cells = [[cell.strip() for cell in line.split("|")] for line in short.splitlines()]
    assert ["", "Iris", "−1.500", "KDE", "+0.500 ± 0.000", "ahead", ""] in cells
    assert ["", "Wine", "−1.500", "KDE", "−0.495 ± 0.064", "behind", ""] in cells


def test_all_of_the_papers_sets_are_prepared():
    assert published.DENSITY.keys() <= SETS.keys()
    for row in published.DENSITY.values():
        assert row.keys() == table1.PAPERS.keys()


def test_remarks_come_where_a_method_is_ahead_and_only_there(monkeypatch):
    monkeypatch.setitem(ON_METHODS, ("iris", "KDE"), "a reason")
    ahead = table1.lines_of("iris", densities("iris", DFP=[-1.0, -2.0], KDE=[-0.5, -1.51]))
    assert any("a reason" in remark for remark in remarks_on("iris", ahead))
    behind = table1.lines_of("iris", densities("iris", DFP=[-1.0, -2.0], KDE=[-1.5, -2.51]))
    assert not any("a reason" in remark for remark in remarks_on("iris", behind))


def test_remarks_are_on_sets_and_methods_that_there_are():
    assert ON_SETS.keys() <= SETS.keys()
    assert {name for name, _ in ON_METHODS} <= SETS.keys()


# ---- what can be reached ------------------------------------------------------------------------


def test_normals_of_the_classes_have_the_density_of_the_law_that_made_the_rows():
    rng = np.random.default_rng(0)
    classes = rng.integers(2, size=4000)
    data = rng.normal(size=(4000, 2)) + 20.0 * classes[:, None]
    found = class_normals(data, classes)
    # Two normals far apart: entropy of the class, and of a normal, in standardised units.
    spread = data.std(axis=0)
    expected = -np.log(2) - np.log(2 * np.pi) - 1 + np.log(spread).sum()
    assert found["test"] == pytest.approx(expected, abs=0.02)
    assert found["best"] >= found["test"]
    assert found["sd"] > 0


def test_training_densities_grow_with_the_number_of_components():
    rng = np.random.default_rng(1)
    train, test = rng.normal(size=(2, 150, 2))
    few, many = mixture_of(1, train, test), mixture_of(20, train, test)
    assert many["train"] > few["train"]
    assert many["test"] < few["test"]


def test_what_cannot_be_reached_is_told_with_its_evidence():
    bounds = [
        result("d31", CLASS_NORMALS, 0, {"test": -1.79, "best": -1.7, "sd": 0.05}, "evidence"),
        result("d31", "GMM, 40 components", 0, {"test": -1.8, "train": -1.7}, "evidence"),
        result("d31", "GMM, 160 components", 0, {"test": -2.5, "train": -1.5}, "evidence"),
    ]
    text = "\n".join(unreachable(densities("d31", DFP=[-1.7, -1.8], KDE=[-1.69, -2]), bounds))
    assert "−1.654 ± 0.022" in text
    assert "−1.690 (KDE, split 0)" in text
    assert "GMM, 160 components (−1.500)" in text
    assert "−2.500" in text
    assert list(unreachable(densities("iris", DFP=[1.0]), [])) == []


# ---- trees --------------------------------------------------------------------------------------


def purities(name, method, values):
    rest = {"leaves": 0.5, "clusters": 3.0, "ari": 0.1, "nmi": 0.2, "vi": 1.5}
    return [
        result(name, method, seed, {"pairs": value, **rest}, "purity")
        for seed, value in enumerate(values)
    ]


def test_purest_trees_come_first_with_their_spread():
    results = purities("glass", OURS, [0.4, 0.6]) + purities("glass", "ward linkage", [0.52])
    lines = purity.purity_lines(results)
    assert [line.method for line in lines] == ["ward linkage", OURS]
    assert lines[1].mean["pairs"] == pytest.approx(0.5)
    assert lines[1].sd["pairs"] == pytest.approx(0.1)
    text = "\n".join(purity.markdown(results, "few"))
    assert "0.5000 ± 0.1000" in text
    assert "Purer than DFP (0.5000): ward linkage (0.5200)." in text
    assert "0.4815 (average linkage)" in text


def test_the_purest_tree_is_said_to_be_ours_only_if_it_is():
    results = purities("synthetic", OURS, [0.9]) + purities("synthetic", "BHC", [0.9])
    text = "\n".join(purity.markdown(results, "few"))
    assert f"No tree is purer than that of {OURS}; as pure are BHC." in text
    results = purities("synthetic", OURS, [0.9]) + purities("synthetic", "BHC", [0.8])
    assert f"{OURS} has the purest tree." in "\n".join(purity.markdown(results, "few"))


def test_bars_and_breaks_do_not_break_a_table():
    text = table(["a", "b"], [["x|y", "one\ntwo"]])
    assert text.splitlines()[-1].replace("\\|", "").count("|") == 3
    assert len(text.splitlines()) == 3


def test_the_page_says_where_chains_were_shorter():
    told = sweeps_of(FULL)
    for name in SETS:
        if FULL.on(name) != FULL:
            assert f"{FULL.on(name).n_draws} + {FULL.on(name).n_draws} on {name}" in told
    assert "DDT and PYDT on CCLE: 2 of 20 + 20" in told
    assert sweeps_of(QUICK) == "2 of 20 + 20 sweeps"
