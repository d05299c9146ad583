"""A table with far more columns than rows, from the terminal."""

import csv

import numpy as np
import pytest

from sticktree.cli import main
from sticktree.cli.runs import RunFolder
from tests.cli.conftest import QUICK


@pytest.fixture
def genes(tmp_path):
    """A file of 30 samples of two classes in 80 genes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 80))
    x[15:, :20] += 3.0
    path = tmp_path / "genes.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["sample", *(f"gene{k}" for k in range(80))])
        writer.writerows([f"s{i}", *row] for i, row in enumerate(x.round(4)))
    return path


def test_factors_from_a_file_to_a_picture(genes, tmp_path, capsys):
    run = tmp_path / "run"
    options = [option for option in QUICK if option != "-q"]
    command = ["fit", str(genes), "--id", "sample", "-o", str(run)]
    assert main([*command, "--factors", "2", *options]) == 0
    out = capsys.readouterr().out
    assert "of the scores of 2 factors" in out.replace("\n", " ")
    assert "loadings.csv" in out
    folder = RunFolder.open(run)
    assert folder.estimator.n_factors_ == 2
    assert "loadings.csv" in folder.record["files"]
    with (run / "loadings.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["column"] for line in lines] == [f"gene{k}" for k in range(80)]
    first = np.abs([float(line["factor0"]) for line in lines])
    assert first[:20].min() > first[20:].max()
    assert main(["plot", str(run), "--kind", "loadings", "--dpi", "40"]) == 0
    assert (run / "loadings.png").read_bytes().startswith(b"\x89PNG")
    # Started afresh without factors, the folder keeps none of them.
    assert main([*command, "--factors", "0", "--overwrite", *QUICK]) == 0
    assert not (run / "loadings.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"), [("-1", 'None, "auto" or an'), ("30", "at most one less than the 30 rows")]
)
def test_numbers_of_factors_that_cannot_be(genes, tmp_path, capsys, words, said):
    command = ["fit", str(genes), "--id", "sample", "-o", str(tmp_path / "run")]
    assert main([*command, f"--factors={words}", *QUICK]) == 2
    assert f"--factors must be {said}" in capsys.readouterr().err
