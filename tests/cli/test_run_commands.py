"""What a finished run is asked for: summary, prediction, pictures, exports, evaluation, report."""

import csv
import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy.cluster.hierarchy import is_valid_linkage

from sticktree import Tree
from sticktree.cli import COMMANDS
from sticktree.cli.runs import RunFolder
from sticktree.present.findings import Findings
from tests.cli.conftest import QUICK, read_csv

NAMES = list(COMMANDS)
ON_RUNS = [name for name in NAMES if name not in ("fit", "demo", "simulate")]


# ---- help ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", NAMES)
def test_every_command_is_in_the_help_and_has_its_own(command, told):
    assert re.search(rf"^    {command} ", told("--help")[1], re.MULTILINE)
    code, out, _ = told(command, "--help")
    assert code == 0
    assert f"usage: sticktree {command}" in out


def examples(told, command):
    import shlex

    lines = told(command, "--help")[1].splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("    sticktree ")]


@pytest.mark.parametrize("command", [name for name in ON_RUNS if name != "plot"])
def test_the_examples_in_the_help_work(command, run, told):
    for name in ("new.csv", "gaps.csv", "test.csv"):
        (run.parent / name).write_bytes((run.parent / "flowers.csv").read_bytes())
    found = examples(told, command)
    assert found
    for words in found:
        if "h5ad" in words and find_spec("anndata") is None:
            continue
        code, out, err = told(*words)
        assert code == 0, (words, err)
        assert out


def test_the_examples_of_fit_are_understood(run, told, monkeypatch):
    from sticktree import DFPMixture

    (run.parent / "data.csv").write_text("a,b\n1.5,2.5\n2.5,2\n3,4\n")
    pandas.read_csv(run.parent / "data.csv").to_parquet(run.parent / "big.parquet")
    rows = [f"{k},{'AB'[k % 2]},{k * k / 10}" for k in range(9)]
    (run.parent / "visits.csv").write_text("\n".join(["visits,ward,cost", *rows, "?,A,3"]))
    cells = [f"{k},{'abcd'[k % 4]},{'AB'[k % 2]}" for k in range(8)]
    (run.parent / "cells.csv").write_text("\n".join(["x,patient,treated", *cells]))
    events = [f"{k / 2},{1 + k // 4}" for k in range(8)]
    (run.parent / "events.csv").write_text("\n".join(["x,day", *events]))
    frame = pandas.read_csv(run.parent / "visits.csv", nrows=9)
    frame = frame.assign(when=pandas.date_range("2021-03-01", periods=9), notes="none", ward=None)
    frame.to_excel(run.parent / "survey.xlsx", sheet_name="2021", index=False)
    genes = pandas.DataFrame(np.eye(6, 9))  # three of them always the same
    genes = genes.assign(sample=list("abcdef"))
    genes.to_csv(run.parent / "genes.csv", index=False)
    shapes = []

    def stop(self, X, sample_weight=None, **kin):  # noqa: N803
        shapes.append(X.values.shape)
        raise KeyboardInterrupt

    monkeypatch.setattr(DFPMixture, "fit", stop)
    shutil.rmtree("run")
    found = examples(told, "fit")
    assert len(found) == 15
    for words in found:
        if "--scheduler" in words:  # there is no cluster here; see test_fit_cluster.py
            continue
        if "--more-draws" in words:  # there is no run that is finished; see test_going_on.py
            assert "--more-draws 1000" in " ".join(words)
            continue
        if "--quick" in words or "--plan" in words:
            shutil.rmtree("run", ignore_errors=True)
        code, _, err = told(*words)
        assert code == (0 if "--plan" in words else 130), err
        if "--quick" in words:
            shutil.rmtree("run")
    assert shapes == [
        (3, 2),
        (30, 2),
        (10, 3),
        (3, 2),
        (8, 1),
        (8, 1),
        (3, 2),
        (6, 6),
        (3, 2),
        (3, 2),
        (3, 2),
        (9, 3),
    ]


@pytest.mark.parametrize("command", ON_RUNS)
def test_a_folder_that_is_no_run_is_said(command, tmp_path, told):
    more = {"export": ["--format", "csv"], "predict": ["new.csv"]}.get(command, [])
    code, _, err = told(command, tmp_path / "nothing", *more)
    assert code == 2
    assert "there is no run" in err
    code, _, err = told(command, tmp_path, *more)
    assert code == 2
    assert "is not the folder of a run: it has no run.json" in err
    (tmp_path / "run.json").write_text('{"format": "sticktree.run", "version": 99}')
    assert "has format version 99" in told(command, tmp_path, *more)[2]


# ---- summary -------------------------------------------------------------------------------------


def test_summary_says_what_was_found(run, told):
    code, out, _ = told("summary", "run")
    assert code == 0
    assert "run: fitted to flowers.csv on 20" in out
    assert "30 rows, 2 columns: 2 gaussian (länge, width (cm))" in out
    assert 'rose "red" (10)' in out
    assert "länge" in out.split("typical")[1]
    assert out.split("\n\n", 1)[1].strip() == (run / "summary.txt").read_text("utf-8").strip()


def test_summary_as_json(run, told):
    found = json.loads(told("summary", "run", "--json")[1])
    estimator = RunFolder.open(run).estimator
    assert found["rows"] == 30
    assert [cluster["rows"] for cluster in found["clusters"]] == np.bincount(
        estimator.labels_
    ).tolist()
    labels = [sum(cluster["labels"].values()) for cluster in found["clusters"]]
    assert sum(labels) == 29  # one is missing
    assert found["agree"] in ("good", "doubtful", "bad")


# ---- predict -------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model(run, told):
    assert told("predict", "run", "flowers.csv", "-o", "out.csv") == (0, "wrote out.csv\n", "")
    rows = read_csv(run.parent / "out.csv")
    assert list(rows[0]) == ["row", "id", "cluster", "probability", "log_density"]
    folder = RunFolder.open(run)
    from sticktree.data.sources.files import read_file

    frame = read_file("flowers.csv").typed_like(folder.estimator.columns_)
    shares = folder.estimator.predict_proba(frame)
    assert [int(row["cluster"]) for row in rows] == shares.argmax(axis=1).tolist()
    np.testing.assert_allclose(
        [float(row["probability"]) for row in rows], shares.max(axis=1), rtol=1e-5
    )
    found = [float(row["log_density"]) for row in rows]
    np.testing.assert_allclose(found, folder.estimator.score_samples(frame), rtol=1e-5)
    assert [row["id"] for row in rows] == folder.ids


def test_columns_go_by_name_and_in_any_order(run, told):
    (run.parent / "new.csv").write_text("more;width (cm);länge\nx;0,1;0,2\ny;16;NA\n")
    code, out, err = told("predict", "run", "new.csv", "--decimal", ",", "--proba", "--level", "1")
    assert code == 0, err
    first, _ = read_csv(out)
    shares = [float(first[name]) for name in first if name.startswith("p_")]
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    assert float(first["probability"]) == max(shares)
    assert "id" not in first


def test_rows_may_be_predicted_into_another_number_of_clusters(run, told):
    _, out, _ = told("predict", "run", "flowers.csv", "--n-clusters", "2", "--proba")
    rows = read_csv(out)
    assert {"p_0", "p_1"} <= set(rows[0])
    assert "p_2" not in rows[0]
    _, out, _ = told("evaluate", "run", "--n-clusters", "2", "--json")
    assert json.loads(out)["fit"]["n_clusters"] == 2
    for command in (["predict", "run", "flowers.csv"], ["evaluate", "run"]):
        code, _, err = told(*command, "--n-clusters", "2", "--level", "1")
        assert code == 2
        assert "argument --level: not allowed with argument --n-clusters" in err
        code, _, err = told(*command, "--n-clusters", "0")
        assert code == 2
        assert "--n-clusters must be an integer of at least 1, got 0" in err


def test_gaps_are_filled(run, told):
    (run.parent / "new.csv").write_text("länge,width (cm)\n8.25,?\n,0\n")
    code, out, _ = told("predict", "run", "new.csv", "--impute", "--missing", "?")
    assert code == 0
    first, second = read_csv(out)
    assert first["länge"] == "8.25"
    assert float(first["width (cm)"]) == pytest.approx(8, abs=2)
    assert float(second["länge"]) == pytest.approx(0, abs=2)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("lange,width (cm)\n1,2\n", [], "lacks column 'länge' (is 'lange' the column 'länge'?)"),
        ("a\n1\n", [], "new.csv lacks columns 'länge', 'width (cm)'"),
        ("länge,width (cm)\nlow,2\n3,4\n", [], "(--missing=low)"),
        ("länge,width (cm)\n1,2\n", ["--level", "4"], "--level must be an integer from 0 to 3"),
        ("länge,width (cm)\n1,2\n", ["-o", "run"], "--output run is a folder: give a file"),
        ("länge,width (cm)\n1,2\n", ["-o", "new.csv"], "--output new.csv exists"),
        ("länge,width (cm)\n1,2\n", ["-o", "no/x.csv"], "there is no folder no"),
        ("länge,width (cm)\n1,2\n", ["--proba", "--impute"], "not allowed with argument"),
    ],
)
def test_rows_that_do_not_fit_are_said(text, options, message, run, told):
    (run.parent / "new.csv").write_text(text)
    code, _, err = told("predict", "run", "new.csv", *options)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


# ---- export --------------------------------------------------------------------------------------


def test_the_tree_of_clusters_is_exported_drawn_and_printed(run, told):
    tree = Tree.from_json(told("export", "run", "--format", "json", "--tree", "clusters")[1])
    estimator = RunFolder.open(run).estimator
    assert tree.n_nodes == estimator.cluster_tree_.n_nodes
    assert tree != RunFolder.open(run).tree
    assert "the tree that clusters are cuts of" in told("summary", "run", "--tree", "clusters")[1]
    code, out, _ = told("plot", "run", "--tree", "clusters", "-o", "clusters.png")
    assert (code, out) == (0, "wrote clusters.png\n")
    code, _, err = told("export", "run", "--format", "json", "--tree", "leaves")
    assert code == 2
    assert "--tree" in err


def test_exports_can_be_read_back(run, told):
    tree = RunFolder.open(run).tree
    assert Tree.from_json(told("export", "run", "--format", "json")[1]) == tree
    newick = told("export", "run", "--format", "newick")[1]
    assert Tree.from_newick(newick, names=tree.names).n_nodes == tree.n_nodes
    assert told("export", "run", "--format", "linkage", "-o", "z.npy")[0] == 0
    linkage = np.load("z.npy")
    assert is_valid_linkage(linkage)
    np.testing.assert_array_equal(linkage, tree.to_linkage())
    rows = read_csv(told("export", "run", "--format", "linkage")[1])
    np.testing.assert_array_equal([[float(cell) for cell in row.values()] for row in rows], linkage)
    assert len(read_csv(told("export", "run", "--format", "csv")[1])) == tree.n_nodes
    import networkx

    graph = networkx.parse_graphml(told("export", "run", "--format", "graphml")[1])
    assert networkx.is_arborescence(graph)
    assert Tree.from_nexus(told("export", "run", "--format", "nexus")[1]) == tree


def test_branches_without_support_can_be_left_out(run, told):
    tree = RunFolder.open(run).tree
    few = Tree.from_json(told("export", "run", "--format", "json", "--min-support", "1")[1])
    assert few.n_nodes == tree.collapsed(1.0).n_nodes <= tree.n_nodes
    code, _, err = told("export", "run", "--format", "json", "--min-support", "2")
    assert code == 2
    assert "--min-support must be a number from 0 to 1, got 2.0" in err
    near = told("export", "run", "--format", "json", "--min-support", "1", "--by", "transfer")[1]
    assert Tree.from_json(near).n_nodes == tree.collapsed(1.0, by="transfer").n_nodes
    code, _, err = told("export", "run", "--format", "json", "--by", "exact")
    assert code == 2
    assert "--by: invalid choice: 'exact'" in err
    code, _, err = told("export", "run", "--format", "newik")
    assert code == 2
    assert "invalid choice: 'newik'" in err


def test_files_for_itol_fill_a_folder(run, told):
    folder = RunFolder.open(run)
    tree, fit = folder.tree, folder.estimator.fit_
    code, out, _ = told("export", "run", "--format", "itol", "-o", "itol")
    assert code == 0
    rows = fit.training.fitted_rows
    table = Findings(fit).table
    expected = tree.to_itol(
        labels=fit.labels[rows],
        annotations={name: [words[i] for i in rows] for name, words in folder.annotations.items()},
        data=table.values[rows],
        columns=table.names,
    )
    assert {"clusters.txt", "heatmap.txt"} < set(expected)
    written = {path.name: path.read_text() for path in (run.parent / "itol").iterdir()}
    assert written == expected
    assert [Path(line.split()[1]).name for line in out.splitlines()] == list(expected)
    code, _, err = told("export", "run", "--format", "itol", "-o", "itol")
    assert code == 2
    assert "--output itol already holds tree.nwk" in err
    assert told("export", "run", "--format", "itol", "-o", "itol", "--overwrite")[0] == 0
    code, _, err = told("export", "run", "--format", "itol")
    assert code == 2
    assert "--format itol writes several files: give a folder with --output" in err


# ---- cluster -------------------------------------------------------------------------------------


def test_other_flat_clusters(run, told):
    for k in (1, 2, 3):
        rows = read_csv(told("cluster", "run", "--n-clusters", k)[1])
        assert len({row["cluster"] for row in rows}) == k
    assert list(rows[0]) == ["row", "id", "label", "cluster"]
    estimator = RunFolder.open(run).estimator
    written = read_csv(run / "clusters.csv")
    for options, expected in (
        ([], estimator.labels_),
        (["--strays", "label"], estimator.cluster(strays="label")),
        (["--level", "2"], estimator.cluster(level=2)),
        (["--method", "loss", "--level", "2"], [int(row["level_2"]) for row in written]),
    ):
        rows = read_csv(told("cluster", "run", *options)[1])
        assert [int(row["cluster"]) for row in rows] == list(expected)
    assert told("cluster", "run", "--method", "loss", "--loss", "binder", "-o", "c.csv")[0] == 0
    for options, message in (
        (["--n-clusters", "31"], "--n-clusters must be at most 30, the number of rows, got 31"),
        (["--n-clusters", "0"], "--n-clusters must be an integer of at least 1, got 0"),
        (["--level", "-1"], "--level must be an integer from 0 to 3, got -1"),
        (["--loss", "vi"], "--loss must be left out unless --method loss is given, got vi"),
        (["--method", "loss", "--strays", "label"], "which knows no strays, got label"),
        (["--method", "lost"], "invalid choice: 'lost'"),
    ):
        code, _, err = told("cluster", "run", *options)
        assert code == 2
        assert message in err


def test_more_clusters_than_draws_tell_apart_are_refused(run, told):
    code, _, err = told("cluster", "run", "--level", "1", "--n-clusters", "30")
    assert code == 2
    assert re.search(r"--n-clusters must be at most \d+: no draw tells more groups", err)


# ---- markers -------------------------------------------------------------------------------------


def test_markers_are_those_of_the_model(run, told):
    estimator = RunFolder.open(run).estimator
    assert told("markers", "run", "-o", "m.csv") == (0, "wrote m.csv\n", "")
    assert (run.parent / "m.csv").read_text("utf-8") == estimator.markers().to_csv()
    assert (run / "markers.csv").read_text("utf-8") == estimator.markers().to_csv()
    assert told("markers", "run")[1] == f"{estimator.markers()}\n"
    assert "länge" in told("markers", "run")[1]
    rows = read_csv(told("markers", "run", "--n-clusters", "2", "--top", "1", "-o", "-")[1])
    assert [row["cluster"] for row in rows] == ["0", "1"]
    assert {row["direction"] for row in rows} == {"higher", "lower"}
    (only, _) = read_csv(told("markers", "run", "--n-clusters", "1", "-o", "-")[1])
    assert only["note"] == "no values outside"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "0"], "--top must be an integer of at least 1, got 0"),
        (["--n-clusters", "31"], "--n-clusters must be at most 30, the number of rows, got 31"),
        (["--n-cluster=0"], "--n-clusters must be an integer of at least 1, got 0"),
        (["-o", "run"], "--output run is a folder: give a file"),
        (["--topp", "3"], "did you mean --top?"),
    ],
)
def test_markers_that_cannot_be(options, message, run, told):
    code, _, err = told("markers", "run", *options)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


# ---- relevance -----------------------------------------------------------------------------------


def test_relevance_is_that_of_the_model(run, told):
    estimator = RunFolder.open(run).estimator
    found = estimator.relevance()
    assert told("relevance", "run", "-o", "r.csv") == (0, "wrote r.csv\n", "")
    assert (run.parent / "r.csv").read_text("utf-8") == found.to_csv()
    assert (run / "relevance.csv").read_text("utf-8") == found.to_csv()
    assert told("relevance", "run")[1] == f"{found}\n"
    (first,) = read_csv(told("relevance", "run", "--level", "1", "--top", "1", "-o", "-")[1])
    assert first == next(iter(read_csv(estimator.relevance(level=1).to_csv())))
    two = told("relevance", "run", "--n-clusters", "2", "-o", "-")[1]
    assert two == estimator.relevance(n_clusters=2).to_csv()


def test_the_summary_names_the_columns_that_carry_the_clusters(run, told):
    estimator = RunFolder.open(run).estimator
    first = next(iter(estimator.relevance()))
    text = told("summary", "run")[1]
    assert "columns that carry the clusters" in text
    assert text.splitlines()[-2].startswith(first.column)
    (line, *_) = json.loads(told("summary", "run", "--json")[1])["relevance"]
    assert line["column"] == first.column
    assert line["share"] == pytest.approx(first.share)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "0"], "--top must be an integer of at least 1, got 0"),
        (["--n-clusters", "31"], "--n-clusters must be at most 30, the number of rows, got 31"),
        (["--level", "9"], "--level must be an integer from 0 to"),
        (["--level", "1", "--n-clusters", "2"], "not allowed with argument"),
    ],
)
def test_relevance_that_cannot_be(options, message, run, told):
    code, _, err = told("relevance", "run", *options)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


# ---- evaluate ------------------------------------------------------------------------------------


def test_labels_are_compared_with_tree_and_clusters(run, told):
    from sklearn.metrics import adjusted_rand_score

    # Labels that the tree cannot be right about, in classes of different sizes.
    rows = read_csv(run / "clusters.csv")
    for k, row in enumerate(rows):
        row["label"] = "" if k == 7 else "ab"[k % 4 == 0 or k > 25]
    with (run / "clusters.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    coarse = json.loads(told("evaluate", "run", "--json", "--level", "0")[1])["fit"]
    assert coarse["n_clusters"] == 1
    found = json.loads(told("evaluate", "run", "--json")[1])["fit"]
    folder = RunFolder.open(run)
    known = [k for k, label in enumerate(folder.labels) if label is not None]
    labels = folder.labels
    assert found["ari"] == pytest.approx(
        adjusted_rand_score([labels[k] for k in known], folder.estimator.labels_[known])
    )
    # Purity by its definition: of two rows of a class, the share of that class below them.
    tree, share = folder.tree, {}
    for i in known:
        others = [j for j in known if j != i and labels[j] == labels[i]]
        for j in others:
            node = int(tree.lca(tree.leaf[i], tree.leaf[j]))
            below = [d for d in tree.data_below(node) if d in known]
            share[i, j] = np.mean([labels[d] == labels[i] for d in below]), len(others)
    of_pairs = np.mean([value for value, _ in share.values()])
    by_leaves = sum(value / size for value, size in share.values()) / len(known)
    assert abs(of_pairs - by_leaves) > 1e-3
    assert found["purity_pairs"] == pytest.approx(of_pairs)
    assert found["purity_leaves"] == pytest.approx(by_leaves)
    assert found["n_labelled"] == 29
    loo = folder.estimator.loo()
    assert found["loo"] == pytest.approx(loo.elpd / 30)
    assert found["loo_se"] == pytest.approx(loo.se / 30)
    assert found["loo_models"] == loo.n_models


def test_test_rows_are_scored(run, told):
    code, out, err = told("evaluate", "run", "--test", "flowers.csv", "--json")
    assert code == 0, err
    found = json.loads(out)["test"]
    folder = RunFolder.open(run)
    from sticktree.data.sources.files import read_file

    frame = read_file("flowers.csv").typed_like(folder.estimator.columns_)
    density = folder.estimator.score_samples(frame)
    assert found["density"] == pytest.approx(density.mean())
    assert found["density_se"] == pytest.approx(density.std(ddof=1) / np.sqrt(30))
    assert found["n_labelled"] == 29
    words = told("evaluate", "run", "--test", "flowers.csv")[1]
    assert "rows of flowers.csv" in words
    assert "dendrogram purity, over pairs of a class" in words


def test_labels_can_be_named_later(flowers, tmp_path, told, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_bytes(flowers.read_bytes())
    assert told("fit", "f.csv", "-o", "run", "--columns", "1-2", *QUICK)[0] == 0
    assert "(no labels: name their column with --label)" in told("evaluate", "run")[1]
    assert "adjusted Rand index" in told("evaluate", "run", "--label", "species")[1]
    assert "did you mean 'species'" in told("evaluate", "run", "--label", "specie")[2]
    (tmp_path / "f.csv").write_bytes(flowers.read_bytes() + b"\n")
    code, _, err = told("evaluate", "run", "--label", "species")
    assert code == 2
    assert "--label species: f.csv has changed since the fit" in err
    code, _, err = told("evaluate", "run", "--decimal", ",")
    assert "--decimal is for the file of --test, which is not given" in err


# ---- plot and report -----------------------------------------------------------------------------


def test_pictures_are_drawn(run, told):
    found = examples(told, "plot")
    assert len(found) == 5
    for words in found:
        code, out, err = told(*words, "--dpi", "50")
        assert code == 0, err
    from sticktree.cli.show import KINDS

    left_out = {"composition", "loadings"}  # of runs with groups, and with factors
    kinds = [kind for kind in KINDS if kind not in left_out]
    files = [run.parent / "figures" / f"{kind}.png" for kind in kinds]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
    assert out.count("wrote figures") == len(files)
    assert (run.parent / "heatmap.pdf").read_bytes().startswith(b"%PDF")
    code, _, err = told("plot", "run", "--kind", "all", "-o", "figures")
    assert code == 2
    assert "exists: choose another name or pass --overwrite" in err
    assert "exists" in told("plot", "run")[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kind", "heat"], "invalid choice: 'heat'"),
        (["--kind", "loadings"], "--kind loadings is for runs with factors"),
        (["-o", "tree.gif"], "--output must end in .png, .pdf, .svg, got tree.gif"),
        (["--dpi", "1"], "--dpi must be an integer from 10 to 2400, got 1"),
        (["--columns", "0,1"], "--columns is for --kind density, not dendrogram"),
        (["--kind", "density", "--columns", "lange"], "did you mean 'länge'?"),
        (["--kind", "all", "-o", "flowers.csv"], "is a file: for --kind all give a folder"),
    ],
)
def test_pictures_that_cannot_be(options, message, run, told):
    code, _, err = told("plot", "run", *options)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_a_report_is_written(run, told):
    assert told("report", "run", "-o", "report.html") == (0, "wrote report.html\n", "")
    page = (run.parent / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "flowers.csv" in page
    code, _, err = told("report", "run", "-o", "report.html")
    assert code == 2
    assert "exists" in err
    assert told("report", "run")[1] == f"wrote {run.name}/report.html\n"
    assert told("report", "run", "-o", "-")[0] == 2


def test_a_missing_package_is_said(run, told, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "networkx", None)
    code, _, err = told("export", "run", "--format", "graphml")
    assert code == 1
    assert "networkx" in err


def test_labels_that_are_all_different_have_no_purity(run, told):
    code, out, _ = told("evaluate", "run", "--label", "plant", "--json")
    assert code == 0
    found = json.loads(out)["fit"]
    assert found["n_classes"] == found["n_labelled"] == 30
    assert "purity_pairs" not in found
