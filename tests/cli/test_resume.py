"""Runs that are stopped go on to the draws of a run that was not."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from sticktree.cli.runs import RunFolder
from tests.cli.conftest import QUICK

# Sweeps slow enough to be stopped among them, and saved after each.
PROGRAM = """
import contextlib, sys, time
import sticktree.inference.fitting

@contextlib.contextmanager
def slowly(show, n_chains, schedule):
    yield lambda k, run: time.sleep(0.04)

sticktree.inference.fitting.watching = slowly
sticktree.inference.fitting.SECONDS_BETWEEN_SAVES = 0.05
from sticktree.cli import main
sys.exit(main(sys.argv[1:]))
"""
COLUMNS = ["--columns", "1-2", "--id", "0"]


def start(*words):
    command = [sys.executable, "-c", PROGRAM, *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)


def n_saved(folder, k):
    """Return how many sweeps of a chain are saved."""
    path = folder / "checkpoint" / f"chain-{k}.npz"
    if not path.exists():
        return 0
    with np.load(path) as saved:
        return int(saved["n_sweeps"])


def stop_in_the_middle(process, folder, number, n_sweeps):
    """Send a signal once so many sweeps of every chain were saved."""
    deadline = time.monotonic() + 300
    while min(n_saved(folder, k) for k in range(2)) < n_sweeps:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.fixture(scope="module")
def whole(flowers, tmp_path_factory):
    from sticktree.cli import main

    folder = tmp_path_factory.mktemp("whole") / "run"
    assert main(["fit", str(flowers), "-o", str(folder), *COLUMNS, *QUICK]) == 0
    return RunFolder.open(folder)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    ("number", "code", "n_sweeps"),
    [
        (signal.SIGINT, 130, 21),
        (signal.SIGTERM, 130, 1),
        (signal.SIGKILL, -signal.SIGKILL, 1),
    ],
    ids=["Ctrl-C after warm-up", "terminated", "killed"],
)
def test_a_run_that_was_stopped_goes_on_to_the_identical_draws(
    number, code, n_sweeps, flowers, whole, tmp_path, told
):
    folder = tmp_path / "run"
    process = start("fit", flowers, "-o", folder, *COLUMNS, *QUICK)
    found, err = stop_in_the_middle(process, folder, number, n_sweeps)
    assert found == code
    if code == 130:
        assert f"go on with: sticktree fit -o {folder} --resume" in err
        assert "Traceback" not in err
    assert RunFolder(folder).status == "running"
    assert n_sweeps <= n_saved(folder, 0) < 50

    assert "the run" in told("summary", folder)[2]
    assert "holds a run that was stopped" in told("fit", flowers, "-o", folder)[2]
    code, _, err = told("fit", "-o", folder, "--resume", "-q")
    assert code == 0, err
    run = RunFolder.open(folder)
    mine, theirs = run.estimator.posterior_.draws, whole.estimator.posterior_.draws
    assert len(mine) == len(theirs) == 60
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(a.leaf, b.leaf)
        np.testing.assert_array_equal(a.parent, b.parent)
        assert a.log_joint == b.log_joint
    for name in ("clusters.csv", "tree.nwk", "nodes.csv"):
        assert (folder / name).read_bytes() == (whole.path / name).read_bytes()
    assert run.record["resumed"] == 1
    assert not (folder / "checkpoint").exists()


@pytest.fixture
def stopped(flowers, tmp_path, told, monkeypatch):
    """A run that was stopped in its first sweep."""
    from sticktree.inference.runner import Run

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Run, "start", stop)
        code, _, err = told("fit", flowers, "-o", tmp_path / "run", *COLUMNS, *QUICK)
    assert code == 130
    assert err.count("\n") == 1
    return tmp_path / "run"


def test_options_stay_those_of_the_start(stopped, flowers, told):
    code, _, err = told("fit", flowers, "-o", stopped, "--resume", "--depth", "3")
    assert code == 2
    assert "--depth was not given when the run was started, and stays so when it goes on" in err
    code, _, err = told("fit", flowers, "-o", stopped, "--resume", "--draws", "40")
    assert "--draws was 30 when the run was started" in err
    assert told("fit", flowers, "-o", stopped, "--resume", *COLUMNS, *QUICK, "--jobs", "1")[0] == 0


def test_another_file_is_refused(stopped, tmp_path, flowers, told):
    other = tmp_path / "flowers.csv"
    other.write_bytes(flowers.read_bytes() + b"p,1,1,x,Ann\n")
    code, _, err = told("fit", other, "-o", stopped, "--resume")
    assert code == 2
    assert "is not the file that the run" in err


def test_a_run_can_be_started_anew(stopped, flowers, told):
    assert told("fit", flowers, "-o", stopped, "--overwrite", *COLUMNS, *QUICK)[0] == 0
    assert RunFolder.open(stopped).record["resumed"] == 0


def test_the_checkpoint_can_be_kept(flowers, tmp_path, told):
    command = ["fit", flowers, "-o", tmp_path / "run", *COLUMNS, *QUICK, "--keep-checkpoint"]
    assert told(*command)[0] == 0
    assert (tmp_path / "run" / "checkpoint" / "run.json").exists()
    # Another run in its place must not go on from there.
    command = ["fit", flowers, "-o", tmp_path / "run", "--columns", "1", *QUICK, "--overwrite"]
    assert told(*command)[0] == 0
    assert not (tmp_path / "run" / "checkpoint").exists()


def test_a_damaged_record_is_said(stopped, told):
    (stopped / "run.json").write_text("{")
    code, _, err = told("fit", "-o", stopped, "--resume")
    assert code == 2
    assert "is damaged or not from sticktree fit" in err
