"""``sticktree fit --parent`` and ``--time``: conditions of patients, days after days, in files."""

import pytest

from sticktree.cli.runs import RunFolder
from tests.cli.conftest import read_csv
from tests.cli.test_fit_groups import QUICK, cells

__all__ = ["cells"]
SHORT = [*QUICK, "--depth", "3", "--warmup", "10", "--draws", "10"]


def test_parents_have_their_shares_and_contrasts(cells, tmp_path, told):
    run, options = tmp_path / "run", ["--group", "patient", "--parent", "treated", "--drop", "site"]
    assert told("fit", cells, "-o", run, *options, *SHORT)[0] == 0
    shares = read_csv(run / "composition.csv")
    assert {line["group"] for line in shares} == {*"abcdef", "no", "yes"}
    sides = {(line["a"], line["b"], line["within"]) for line in read_csv(run / "contrasts.csv")}
    assert sides == {("yes", "no", "all"), ("yes", "no", "parent")}
    asked = tmp_path / "new.csv"
    asked.write_text("x,patient\n0.0,no\n0.0,yes\n")
    no, yes = (float(line["log_density"]) for line in read_csv(told("predict", run, asked)[1]))
    assert yes < no
    assert told("fit", "-o", run, "--more-draws", "5", "--quiet")[0] == 0
    assert RunFolder.open(run).estimator.composition_.n_parents == 2


def test_times_follow_one_another(cells, tmp_path, told):
    run, days = tmp_path / "run", tmp_path / "days.csv"
    lines = cells.read_text().splitlines()
    number = {letter: str(8 + k) for k, letter in enumerate("abcdef")}  # 8, 9, 10, …: no text
    rows = [line.split(",") for line in lines[1:]]
    days.write_text("x,day\n" + "\n".join(f"{x},{number[who]}" for x, who, *_ in rows) + "\n")
    assert told("fit", days, "-o", run, "--time", "day", *SHORT)[0] == 0
    sides = [(line["a"], line["b"]) for line in read_csv(run / "contrasts.csv")]
    pairs = [("9", "8"), ("10", "9"), ("11", "10"), ("12", "11"), ("13", "12")]
    assert list(dict.fromkeys(sides)) == pairs
    assert "share of each cluster in percent" in (run / "summary.txt").read_text("utf-8")
    asked = tmp_path / "new.csv"
    asked.write_text("x,day\n0.0,8\n0.0,14\n")
    first, coming = (
        float(line["log_density"]) for line in read_csv(told("predict", run, asked)[1])
    )
    assert coming < first


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--parent treated", "--parent is of groups: give these with --group"),
        ("--group patient --parent site", "--parent must be the same for all rows of a group"),
        ("--group patient --time site", "--time and --group cannot be given together"),
        ("--group patient --parent treated --condition site", "--parent and --condition"),
        ("--time nobody", "--time: there is no column 'nobody'"),
        ("--group patient --kinship 2", "--kinship must be above 0 and below 1"),
    ],
)
def test_what_is_wrong_with_parents_is_said(cells, tmp_path, told, options, words):
    options = ["--columns", "x", *options.split(), *SHORT]
    code, _, err = told("fit", cells, "-o", tmp_path / "run", *options)
    assert code != 0
    assert words in err
