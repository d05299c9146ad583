import csv
import shutil

import numpy as np
import pytest

from sticktree.cli import main

QUICK = ["--covariance", "full", "--noise", "shared", "--chains", "2", "--warmup", "20"]
QUICK += ["--draws", "30", "--seed", "0", "-q"]
"""Options of a fit that takes a second."""


@pytest.fixture(scope="session")
def flowers(tmp_path_factory):
    """A table of three groups of flowers, with names, labels and a few gaps."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "flowers.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["plant", "länge", "width (cm)", "species", "collector"])
        for k in range(30):
            length, width = rng.normal((k // 10) * 8, 0.5, 2)
            species = ["Löwe 'n' zahn", 'rose "red"', "(daisy)"][k // 10]
            cells = [f"{length:.3f}", f"{width:.3f}"]
            if k in (3, 25):
                cells[k % 2] = ""
            writer.writerow([f"p,{k:02d}", *cells, species if k != 7 else "NA", "Ann"])
    return path


@pytest.fixture(scope="session")
def finished(flowers, tmp_path_factory):
    """The folder of a finished run; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    options = ["--label", "species", "--id", "plant", "--drop", "collector"]
    assert main(["fit", str(flowers), "-o", str(folder), *options, *QUICK]) == 0
    return folder


@pytest.fixture
def run(finished, flowers, tmp_path, monkeypatch):
    """A working folder with a run and the table it was fitted to."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "run")
    shutil.copy(flowers, "flowers.csv")
    return tmp_path / "run"


@pytest.fixture
def told(capsys):
    """Run a command; return its exit code, what it printed and what it complained about."""

    def run(*words):
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def read_csv(path_or_text):
    text = path_or_text if isinstance(path_or_text, str) else path_or_text.read_text("utf-8")
    return list(csv.DictReader(text.splitlines(keepends=True)))
