"""Tables as they come: kinds, text, decimal commas, headers or none, odd names."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sticktree.cli.runs import RunFolder
from tests.cli.conftest import QUICK, read_csv

MIXED = ["--chains", "2", "--warmup", "10", "--draws", "10", "--seed", "0", "-q"]
MIXED += ["--covariance", "diag"]


@pytest.fixture
def fit(tmp_path, told, monkeypatch):
    """Write a file, fit it and open the run."""
    monkeypatch.chdir(tmp_path)

    def run(content, *options, name="t.csv", quick=QUICK):
        if isinstance(content, str):
            content = content.encode()
        (tmp_path / name).write_bytes(content)
        code, _, err = told("fit", name, "-o", "run", "--overwrite", *options, *quick)
        assert code == 0, err
        return RunFolder.open("run"), err

    return run


def numbers(n_rows=8, n_columns=2):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns)).round(3)


def test_the_same_rows_in_every_format_give_the_same_clusters(fit, tmp_path):
    values = numbers()
    frame = pd.DataFrame(values, columns=["a", "b"])
    np.save(tmp_path / "x.npy", values)
    frame.to_parquet(tmp_path / "x.parquet")
    semicolons = frame.to_csv(index=False, sep=";", decimal=",")
    runs = [
        fit(frame.to_csv(index=False))[0].clusters,
        fit("\ufeff" + frame.to_csv(index=False, lineterminator="\r\n"))[0].clusters,
        fit(frame.to_csv(index=False, sep="\t"), name="t.tsv")[0].clusters,
        fit(semicolons, "--decimal", ",")[0].clusters,
        fit(frame.to_csv(index=False, header=False))[0].clusters,
        fit((tmp_path / "x.npy").read_bytes(), name="y.npy")[0].clusters,
        fit((tmp_path / "x.parquet").read_bytes(), name="y.parquet")[0].clusters,
    ]
    assert all(run == runs[0] for run in runs[1:])


def test_a_first_row_of_numbers_is_told(fit):
    run, err = fit("1,2\n3,4\n5,7\n")
    assert "note: the first row has numbers only and is taken as data" in err
    assert list(run.record["columns"]["fitted"]) == ["x0", "x1"]
    assert run.record["data"]["rows"] == 3


def test_columns_of_the_same_name(fit):
    run, err = fit("a,a,b\n1,2,3\n4,5,7\n2,2,1\n", "--drop", "b")
    assert list(run.record["columns"]["fitted"]) == ["a", "a.1"]
    assert "are called 'a.1'" in err


def test_odd_names_come_through(fit, told, tmp_path):
    header = '"a=b","it\'s ""x"", (y)",név'
    lines = [f'{a},{b},<b>{k}, [&\'""\n(x);{k}' for k, (a, b) in enumerate(numbers(6).tolist())]
    lines = [line.replace("<b>", '"<b>') + '"' for line in lines]
    run, _ = fit("\n".join([header, *lines]) + "\n", "--id", "név")
    assert run.ids[0] == "<b>0, [&'\"\n(x);0"
    assert run.tree.names == tuple(run.ids)
    for command in (["summary", "run"], ["report", "run"], ["plot", "run", "--dpi", "40"]):
        code, _, err = told(*command)
        assert code == 0, err
    from sticktree import Tree

    back = Tree.from_newick((tmp_path / "run" / "tree.nwk").read_text("utf-8"))
    assert sorted(back.names) == sorted(run.ids)


def test_kinds_text_and_truth(fit, told, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["count,colour,truth,code,x"]
    for k in range(24):
        group = k % 2
        colour = ["rouge", "vert", ""][min(group + 2 * (k == 5), 2)]
        count, x = rng.poisson(2 + 20 * group), rng.normal(group * 9)
        lines.append(f"{count},{colour},{bool(group)},0{group},{x:.3f}")
    kinds = ["--kinds", "count=poisson,code=categorical"]
    run, err = fit("\n".join(lines), *kinds, quick=MIXED)
    assert run.record["columns"]["fitted"] == {
        "count": "poisson",
        "colour": "categorical",
        "truth": "bernoulli",
        "code": "categorical",
        "x": "gaussian",
    }
    code, out, err = told("predict", "run", "t.csv")
    assert code == 0, err
    (tmp_path / "new.csv").write_text("count,colour,truth,code,x\n3,?,,00,0\n,bleu,,,\n")
    code, _, err = told("predict", "run", "new.csv", "--missing", "?")
    assert code == 2
    assert "'bleu' is not one of the categories" in err
    code, out, err = told("predict", "run", "new.csv", "--missing", "?,bleu", "--impute")
    assert code == 0, err
    assert read_csv(out)[0]["colour"] == "rouge"
    code, out, err = told("summary", "run")
    assert code == 0, err
    assert "colour" in out


def test_a_column_that_never_changes(fit):
    run, err = fit("a,b\n1,5\n2,5\n3,5\n9,5\n")
    assert run.record["columns"]["ignored"] == ["b"]
    assert "note: not fitted: b (left out: always the same)" in err
    run, err = fit("a,b\n1,5\n2,5\n3,5\n9,5\n", "--kinds", "b=gaussian")
    assert list(run.record["columns"]["fitted"]) == ["a", "b"]
    assert "not fitted" not in err


def test_a_tree_of_one_leaf(fit, told):
    fit("a\n1\n1\n1\n", "--kinds", "a=gaussian")
    for command in (
        ["summary", "run"],
        ["evaluate", "run"],
        ["report", "run"],
        ["cluster", "run", "--n-clusters", "1"],
        ["export", "run", "--format", "newick"],
        ["plot", "run", "--kind", "all", "--dpi", "40"],
    ):
        code, _, err = told(*command)
        assert code == 0, (command, err)


# ---- twelve files as people send them -----------------------------------------------------------


UGLY = Path(__file__).parent / "ugly"
LEAST = ["--chains", "1", "--warmup", "2", "--draws", "3", "--seed", "0", "--covariance", "diag"]
NUMBERS = ["length", "width"]


@pytest.mark.parametrize(
    ("name", "fitted", "said"),
    [
        ("01-bom-semicolons-commas.csv", ["Länge", "Breite"], ["(decimal commas)"]),
        ("02-ids.csv", NUMBERS, ["names of the rows: so could barcode", "--kinds barcode=id"]),
        ("03-dates.csv", NUMBERS, ["left out: dates; as numbers: collected=days"]),
        ("04-notes.csv", NUMBERS, ["left out: another text in every row"]),
        ("05-trailing-delimiter.csv", NUMBERS, ["Unnamed: 2  nothing", "left out: no values"]),
        ("06-percent.csv", ["length", "cover", "share"], ["1.9 to 56.1 (% taken off)"]),
        ("07-thousands.csv", ["length", "cells", "price"], ["(',' between thousands, $ taken off"]),
        ("08-not-available.csv", NUMBERS, ["'N.A.', '-', '?', '#DIV/0!', … taken as missing"]),
        (
            "09-mixed-encodings.csv",
            ["färbung", *NUMBERS],
            ["line 2 and 3 other lines are not:"],
        ),
        ("10-two-headers.csv", NUMBERS, ["the second row has no numbers and is taken as units"]),
        ("11-title-and-source.txt", [*NUMBERS, "site"], ["'Measurements of leaves'", "'Source: "]),
    ],
)
def test_files_as_people_send_them_are_read_and_all_is_told(name, fitted, said, told, tmp_path):
    code, _, err = told("fit", UGLY / name, "-o", tmp_path / "run", *LEAST)
    assert code == 0, err
    for words in said:
        assert words in err
    record = RunFolder.open(tmp_path / "run").record
    assert list(record["columns"]["fitted"]) == fitted
    assert record["data"]["rows"] == 24
    assert len(record["columns"]["plan"]) >= len(fitted)
    # A fit that is quiet tells of what it leaves out all the same.
    if len(record["columns"]["plan"]) > len(fitted):
        assert "left out" in err or "names of the rows" in err


def test_what_contradicts_itself_is_said_in_one_message(told, tmp_path):
    code, out, err = told("fit", UGLY / "12-contradictions.csv", "-o", tmp_path / "run")
    assert (code, out) == (2, "")
    assert "4 columns cannot be read:" in err
    for words in (
        "'length' has decimal points and decimal commas, such as '5.14' and '1,5'",
        "'width' has '%' at some of its numbers, and not at others",
        "is that 1.500 or 1500? (--decimal=, or --thousands=,)",
        "'score' holds 'high' (row 7): among numbers",
        "(--missing=high or --kinds score=categorical or --kinds score=drop)",
    ):
        assert words in err
    assert not (tmp_path / "run").exists()
    # What the message says mends it.
    kinds = "length=drop,width=drop,when=days-mdy"
    words = ["--kinds", kinds, "--missing=high", "--thousands=,", "--plan"]
    code, out, err = told("fit", UGLY / "12-contradictions.csv", *words)
    assert code == 0, err
    assert "whole numbers, 1500 to 1523 (',' between thousands)" in out
    assert "days since 1970" in out
    assert "whether" not in err
    code, _, err = told("fit", UGLY / "03-dates.csv", "--kinds", "visited=days", "--plan")
    assert "(--kinds visited=days-dmy or --kinds visited=days-mdy)" in err


def test_a_plan_is_changed_in_one_place(fit, told, tmp_path):
    lines = ["plant,when,species,tissue,visits,x"]
    for k in range(20):
        species, tissue = ["rose", "daisy"][k % 2], ["leaf", "root"][k // 10]
        lines.append(
            f"p{k:02d},2021-03-{k + 1:02d},{species},{tissue},{k % 7 * k},{k % 2 + k / 50}"
        )
    kinds = "when=days,species=label,tissue=label,visits=poisson"
    run, err = fit("\n".join(lines), "--kinds", kinds, quick=MIXED)
    assert run.record["columns"]["fitted"] == {
        "when": "gaussian",
        "visits": "poisson",
        "x": "gaussian",
    }
    assert err.startswith("note: not fitted: plant (names of the rows)\n")
    assert run.record["columns"]["labels"] == ["species", "tissue"]
    assert list(run.annotations) == ["species", "tissue"]
    assert run.annotations["tissue"][:2] == ["leaf", "leaf"]
    assert list(run.clusters)[:4] == ["row", "id", "label", "label:tissue"]
    # New rows are read in the same way, dates included.
    code, out, err = told("predict", "run", "t.csv")
    assert code == 0, err
    assert read_csv(out)[1]["id"] == "p01"
    code, out, err = told("evaluate", "run", "--label", "tissue", "--json")
    assert '"n_classes": 2' in out
    code, out, _ = told("cluster", "run", "--n-clusters", "2")
    assert read_csv(out)[19]["label:tissue"] == "root"
    again = ["--label", "species", "--label", "tissue", "--kinds", "when=days,visits=poisson"]
    other, _ = fit("\n".join(lines), *again, quick=MIXED)
    assert other.clusters == run.clusters


def test_kinds_that_leave_one_out_prefers_are_told_and_kept(fit):
    rng = np.random.default_rng(0)
    rows = zip(rng.lognormal(0, 1.5, 60), rng.normal(size=60), strict=True)
    text = "dose,x\n" + "".join(f"{dose:.4f},{x:.3f}\n" for dose, x in rows)
    run, _ = fit(text, "--kinds", "auto", quick=MIXED)
    assert run.record["columns"]["fitted"] == {"dose": "lognormal", "x": "gaussian"}
    elpd = run.record["columns"]["preferred"]["dose"]["elpd"]
    assert elpd["lognormal"] > elpd["gaussian"]


def test_spreadsheets_by_the_names_of_their_sheets(fit, told, tmp_path):
    values = numbers(12)
    frame = pd.DataFrame(values, columns=["a", "b"])
    frame.insert(0, "when", pd.date_range("2021-03-01", periods=12))
    with pd.ExcelWriter(tmp_path / "x.xlsx") as book:
        frame[:7].to_excel(book, sheet_name="spring", index=False)
        frame[7:].to_excel(book, sheet_name="autumn", index=False)
        frame.drop(columns="b").to_excel(book, sheet_name="other", index=False)
    frame.to_excel(tmp_path / "x.ods", index=False, engine="odf")
    frame.to_feather(tmp_path / "x.feather")
    text, _ = fit(gzip.compress(frame.to_csv(index=False, sep="\t").encode()), name="y.tsv.gz")
    for name in ("x.ods", "x.feather"):
        run, err = fit((tmp_path / name).read_bytes(), name=f"y{name}")
        assert run.clusters == text.clusters
        assert "when (left out: dates" in err
    content = (tmp_path / "x.xlsx").read_bytes()
    stacked, _ = fit(content, "--sheet", "spring", "--sheet", "1", name="z.xlsx")
    assert stacked.record["columns"]["labels"] == ["sheet"]
    assert stacked.labels == ["spring"] * 7 + ["autumn"] * 5
    assert stacked.clusters["cluster"] == text.clusters["cluster"]
    assert stacked.record["data"]["sheets"] == ["spring", "autumn"]
    for words, message in (
        ([], "--sheet must be given, as z.xlsx has the sheets 'spring', 'autumn', 'other'"),
        (["--sheet", "winter"], "--sheet must be one of 'spring', 'autumn', 'other', got 'winter'"),
        (["--sheet", "0", "--sheet", "2"], "must have the same columns, got 'b' in one of them"),
    ):
        code, _, err = told("fit", "z.xlsx", "-o", "another", *words)
        assert code == 2
        assert message in err


def test_new_rows_are_written_as_those_of_the_fit_were(fit, told, tmp_path):
    lines = [f"{a:.3f};{b:.2f}".replace(".", ",") for a, b in numbers(9).tolist()]
    fit("\n".join(["a;b", *lines]))
    (tmp_path / "new.csv").write_text("a;b\n1,234;2\n")  # alone, it may be 1234
    code, out, err = told("predict", "run", "new.csv", "--impute")
    assert code == 0, err
    assert read_csv(out)[0]["a"] == "1.234"
