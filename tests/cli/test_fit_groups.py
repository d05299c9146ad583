"""``sticktree fit --group --condition``: shares of branches in groups, in files and in words."""

import sys
import warnings

import numpy as np
import pytest

from sticktree.cli.runs import FILES, RunFolder
from sticktree.cli.spreadsheets import OF_GROUPS
from tests.cli.conftest import read_csv

QUICK = ["--covariance", "full", "--noise", "shared", "--chains", "2", "--warmup", "30"]
QUICK += ["--draws", "30", "--seed", "0", "--quiet"]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    rng = np.random.default_rng(0)
    lines = ["x,patient,treated,site"]
    for patient, low in zip("abcdef", (16, 15, 17, 4, 5, 3), strict=True):
        treated = "yes" if low < 10 else "no"
        for k in range(20):
            x = rng.normal(0.0 if k < low else 8.0)
            lines.append(f"{x:.4f},{patient},{treated},{'n' if k % 2 else 's'}")
    path = tmp_path_factory.mktemp("cells") / "cells.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_run_with_groups_has_their_shares_and_contrasts(cells, tmp_path, told):
    run = tmp_path / "run"
    options = ["--group", "patient", "--condition", "treated", "--drop", "site"]
    assert told("fit", cells, "-o", run, *options, *QUICK)[0] == 0
    assert {path.name for path in run.iterdir()} == {*FILES, *OF_GROUPS}
    record = RunFolder.open(run).record
    assert record["columns"]["group"] == "patient"
    assert set(record["files"]) == {*FILES, *OF_GROUPS}
    shares = read_csv(run / "composition.csv")
    assert {line["group"] for line in shares} == set("abcdef")
    for group in "abcdef":
        parts = [line for line in shares if line["group"] == group and "+" not in line["branch"]]
        assert sum(float(line["share"]) for line in parts) == pytest.approx(1, abs=1e-6)
    sides = {(line["a"], line["b"], line["within"]) for line in read_csv(run / "contrasts.csv")}
    assert sides == {("yes", "no", "all"), ("yes", "no", "parent")}
    summary = (run / "summary.txt").read_text("utf-8")
    assert "share of each cluster in percent" in summary
    assert "do groups matter? yes" in summary
    assert record["result"]["groups"]["matter"] is True
    assert record["result"]["groups"]["gain"] > 2 * record["result"]["groups"]["se"]
    code, out, _ = told("predict", run, cells)
    by_group = read_csv(out)
    assert (code, len(by_group)) == (0, 120)
    lone = tmp_path / "lone.csv"
    lone.write_text("x\n0.0\n")
    of_known = tmp_path / "known.csv"
    of_known.write_text("x,patient\n0.0,a\n0.0,f\n")
    (new,), (a, f) = (
        [float(line["log_density"]) for line in read_csv(told("predict", run, file)[1])]
        for file in (lone, of_known)
    )
    assert f < new < a
    contrasts = (run / "contrasts.csv").read_text()
    assert told("fit", "-o", run, "--more-draws", "10", "--quiet")[0] == 0
    assert (run / "contrasts.csv").read_text() != contrasts
    assert RunFolder.open(run).record["columns"]["conditions"]["f"] == "yes"
    assert told("plot", run, "--kind", "composition")[0] == 0
    assert (run / "composition.png").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--condition treated", "--condition is of groups: give these with --group"),
        ("--group patient --condition site", "--condition: group 'a' has rows of"),
        ("--group treated --condition treated", "can be one of"),
        ("--group nobody", "--group: there is no column 'nobody'"),
        ("--group site --kinds patient=group", "--group can be one column only"),
        ("--group site --condition patient", "--condition: group"),
        ("--group patient --group site", "--group: can be one column only, got 'patient' and"),
    ],
)
def test_what_is_wrong_with_groups_is_said(cells, tmp_path, told, options, words):
    options = ["--columns", "x", *options.split(), *QUICK]
    code, _, err = told("fit", cells, "-o", tmp_path / "run", *options)
    assert code != 0
    assert words in err


def test_warnings_are_said_in_words_of_the_terminal(cells, tmp_path, told, monkeypatch):
    path = tmp_path / "cells.csv"
    first, *others = cells.read_text().splitlines()
    path.write_text("\n".join([f"{first},one", *(f"{line},same" for line in others)]))
    before = warnings.formatwarning

    def show(message, *place):  # as Python does, where nothing records warnings
        sys.stderr.write(warnings.formatwarning(message, *place[:3]))

    monkeypatch.setattr(warnings, "showwarning", show)
    options = ["--columns", "x", "--group", "one", *QUICK, "--warmup", "3", "--draws", "3"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = told("fit", path, "-o", tmp_path / "run", *options)
    assert code == 0
    assert err.startswith("warning: --group: all rows are of one group, 'same', and there is")
    assert warnings.formatwarning is before


def test_the_plan_says_which_column_has_the_groups(cells, told):
    asked = "patient=group,treated=condition,site=drop"
    code, out, _ = told("fit", cells, "--plan", "--kinds", asked)
    assert code == 0
    assert "groups of the rows" in out
    assert "conditions of the groups" in out


def test_a_run_without_groups_has_no_composition_to_draw(run, told):
    code, _, err = told("plot", run, "--kind", "composition")
    assert code != 0
    assert "--group COLUMN" in err
