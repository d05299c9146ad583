"""Tables as they come: kinds, text, decimal commas, headers or none, odd names."""

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
    run, _ = fit("a,b\n1,5\n2,5\n3,5\n9,5\n")
    assert run.record["data"]["rows"] == 4


def test_a_tree_of_one_leaf(fit, told):
    fit("a\n1\n1\n1\n")
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
