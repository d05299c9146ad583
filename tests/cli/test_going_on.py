"""Runs that go on: a quick look that is refined, and more draws of what is finished."""

import errno
import json

import numpy as np
import pytest

import sticktree.cli.fit
import sticktree.cli.runs
from sticktree.cli.runs import RunFolder
from tests.cli.conftest import QUICK

COLUMNS = ["--columns", "1-2", "--id", "0", "--label", "species"]


def draws_of(folder):
    chains = RunFolder.open(folder).estimator.posterior_.chains
    return [[(draw.log_joint, draw.leaf.tolist()) for draw in chain] for chain in chains]


def test_more_draws_are_those_that_longer_chains_would_have_made(flowers, tmp_path, told):
    short, whole = tmp_path / "short", tmp_path / "whole"
    for folder, n_draws in ((short, "12"), (whole, "30")):
        words = [*QUICK[:-5], "--draws", n_draws, "--seed", "0", "-q"]
        assert told("fit", flowers, "-o", folder, *COLUMNS, *words)[0] == 0
    labels = RunFolder.open(short).labels
    code, _, err = told("fit", "-o", short, "--more-draws", "10", "-q")
    assert code == 0, err
    code, out, err = told("fit", "-o", short, "--more-draws", "8")
    assert code == 0, err
    assert "sampling: 2 chains to 50 sweeps" in err
    assert "do the chains agree?" in out
    assert draws_of(short) == draws_of(whole)
    run = RunFolder.open(short)
    assert run.record["more_draws"] == [10, 8]
    assert run.record["status"] == "finished"
    assert run.labels == labels
    for name in ("tree.nwk", "clusters.csv", "markers.csv", "summary.txt"):
        assert (short / name).read_bytes() == (whole / name).read_bytes()


def test_more_draws_need_a_run_that_is_finished(tmp_path, told):
    code, _, err = told("fit", "-o", tmp_path / "none", "--more-draws", "10")
    assert code == 2
    assert "there is no run" in err
    code, _, err = told("fit", "-o", tmp_path, "--more-draws", "10", "--depth", "3")
    assert "leave out --depth" in err


def failing(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (OSError(errno.ENOSPC, "No space left on device"), 1)],
)
def test_more_draws_that_cannot_be_written_leave_the_run_as_it_was(
    run, told, monkeypatch, error, code
):
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    monkeypatch.setattr(sticktree.cli.runs, "write_groups", failing(error))
    found, _, err = told("fit", "-o", "run", "--more-draws", "3", "-q")
    assert (found, err.count("\n")) == (code, 1)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_stop_while_files_are_written_says_how_to_go_on(flowers, tmp_path, told, monkeypatch):
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(sticktree.cli.runs, "write_groups", failing(KeyboardInterrupt()))
        code, _, err = told("fit", flowers, "-o", folder, *COLUMNS, *QUICK)
    assert code == 130
    assert f"stopped; go on with: sticktree fit -o {folder} --resume" in err
    assert {path.name for path in folder.iterdir()} == {"run.json", "checkpoint"}
    assert told("fit", "-o", folder, "--resume", "-q")[0] == 0
    assert RunFolder.open(folder).estimator.n_draws_ == 30


def test_draws_made_before_a_stop_are_kept(flowers, tmp_path, told, monkeypatch):
    import sticktree.inference.fitting as fitting

    folder = tmp_path / "run"
    assert told("fit", flowers, "-o", folder, *COLUMNS, *QUICK)[0] == 0
    original = fitting.sample

    def stopped(runs, schedule, *others):
        original(runs, fitting.replace(schedule, n_draws=schedule.n_draws - 3), *others)
        return False

    monkeypatch.setattr(fitting, "sample", stopped)
    code, _, err = told("fit", "-o", folder, "--more-draws", "8", "-q")
    assert code == 130
    assert "stopped before all 8 draws were made; those that were are kept" in err
    assert RunFolder.open(folder).estimator.n_draws_ == 35


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "blobs.csv"
    values = np.concatenate([rng.normal(0, 1, (15, 2)), rng.normal(8, 1, (15, 2))])
    np.savetxt(path, values, delimiter=",", header="a,b", comments="", fmt="%.4f")
    return path


@pytest.mark.parametrize("draws", ["auto", "40"])
def test_a_quick_look_is_refined_to_the_run_without_it(draws, blobs, tmp_path, told, monkeypatch):
    fixed = ["--seed", "1", "--depth", "2", "--covariance", "full", "--noise", "shared"]
    fixed += ["--chains", "2", "--draws", draws]
    whole, quick = tmp_path / "whole", tmp_path / "quick"
    assert told("fit", blobs, "-o", whole, *fixed, "-q")[0] == 0
    # Time that is over before the first look, and in warm-up.
    monkeypatch.setattr(sticktree.cli.fit, "QUICK_SECONDS", 1e-6)
    code, out, err = told("fit", blobs, "-o", quick, *fixed, "--quick")
    assert code == 0, err
    assert "this was a first look" in out
    assert "Sampling ended after max_time" in out
    assert json.loads((quick / "run.json").read_text("utf-8"))["quick"] is True
    assert told("summary", quick)[0] == 0
    code, _, err = told("fit", blobs, "-o", quick, *fixed, "--quick")
    assert code == 2
    assert "already holds a run" in err
    code, _, err = told("fit", blobs, "-o", quick, *fixed[:-1], "50")
    assert code == 2
    assert "stays so when it goes on" in err
    code, _, err = told("fit", blobs, "-o", quick, *fixed, "-q")
    assert code == 0, err
    assert draws_of(quick) == draws_of(whole)
    assert not (quick / "checkpoint").exists()
    assert RunFolder.open(quick).record["quick"] is False


def test_a_quick_look_that_had_time_enough_is_the_whole_run(blobs, tmp_path, told):
    fixed = ["--seed", "1", "--depth", "2", "--covariance", "full", "--noise", "shared"]
    fixed += ["--chains", "2", "--draws", "10", "-q"]
    folder = tmp_path / "run"
    assert told("fit", blobs, "-o", folder, *fixed, "--quick", "--max-time", "600")[0] == 0
    assert not (folder / "checkpoint").exists()
    before = (folder / "run.json").read_bytes()
    code, out, err = told("fit", blobs, "-o", folder, *fixed)
    assert (code, err) == (0, "")
    assert "the quick look had time for the whole run" in out
    assert (folder / "run.json").read_bytes() == before
    code, _, err = told("fit", blobs, "-o", folder, *fixed, "--thin", "2")
    assert code == 2
    assert "--thin was not given when the run was started" in err
