"""``sticktree fit --scheduler``: a file, read by the workers of a cluster."""

import json

import numpy as np
import pytest

import sticktree.inference.fitting
from sticktree.cli import main
from sticktree.cli.runs import RunFolder
from sticktree.engine.bulk.chain import BulkChain
from sticktree.io.checkpoint import Checkpoint

pytest.importorskip("distributed", reason="Dask is not installed")

QUICK = [
    "--covariance", "full", "--noise", "shared", "--depth", "3",
    "--chains", "1", "--warmup", "5", "--draws", "5", "--seed", "1", "--quiet",
]  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("shared") / "table.npy"
    np.save(path, np.repeat([[0.0, 0.0], [9.0, 9.0]], 150, axis=0) + rng.normal(size=(300, 2)))
    return path


def started():
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        silence_logs=50,
    )


def test_a_file_is_fitted_on_a_cluster_as_in_memory(table, tmp_path):
    with started() as cluster:
        address = cluster.scheduler_address
        code = main(
            ["fit", str(table), "--scheduler", address, "-o", str(tmp_path / "there"), *QUICK]
        )
    assert code == 0
    main(["fit", str(table), "--algorithm", "parallel", "-o", str(tmp_path / "here"), *QUICK])
    texts = [(tmp_path / place / "clusters.csv").read_text() for place in ("there", "here")]
    assert texts[0] == texts[1]
    record = json.loads((tmp_path / "there" / "run.json").read_text())
    assert record["data"]["rows"] == 300


def test_a_cluster_that_is_lost_leaves_a_run_to_go_on_with(table, tmp_path, capsys, monkeypatch):
    run = ["-o", str(tmp_path / "run"), "--quiet"]
    monkeypatch.setattr(sticktree.inference.fitting, "SECONDS_BETWEEN_SAVES", -1.0)
    monkeypatch.setattr(BulkChain, "most_rounds", 1)
    save = Checkpoint.save
    with started() as cluster, monkeypatch.context() as patch:

        def save_and_lose(self, k, run):
            save(self, k, run)
            if run.n_sweeps == 3:
                cluster.close(timeout=10)

        patch.setattr(Checkpoint, "save", save_and_lose)
        address = ["--scheduler", cluster.scheduler_address]
        assert main(["fit", str(table), *address, *run, *QUICK]) == 1
    told = capsys.readouterr().err
    assert "go on with: sticktree fit -o" in told
    assert "--resume --scheduler" in told
    assert "Traceback" not in told

    # The folder can be read, and says that there is more to do.
    folder = RunFolder(tmp_path / "run")
    assert folder.status == "running"
    assert folder.record["seed"] == 1
    with pytest.raises(ValueError, match="is not finished"):
        RunFolder.open(folder.path)
    assert main(["fit", "--resume", *run]) == 2
    assert "holds a run with rows on a Dask cluster" in capsys.readouterr().err

    with started() as cluster:
        assert main(["fit", "--resume", "--scheduler", cluster.scheduler_address, *run]) == 0
    main(["fit", str(table), "--algorithm", "parallel", "-o", str(tmp_path / "here"), *QUICK])
    texts = [(tmp_path / place / "clusters.csv").read_text() for place in ("run", "here")]
    assert texts[0] == texts[1]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["resumed"] >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "gibbs"], "--scheduler is not for --algorithm gibbs"),
        (["--scheduler", "nowhere"], "--scheduler must be the address of a Dask scheduler"),
    ],
)
def test_what_cannot_be_is_said(arguments, message, table, tmp_path, capsys):
    start = ["fit", str(table), "-o", str(tmp_path / "run"), *QUICK]
    code = main([*start, "--scheduler", "tcp://127.0.0.1:1", *arguments])
    assert code != 0
    assert message in capsys.readouterr().err


def test_files_that_must_be_read_whole_are_refused(tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    assert main(["fit", str(path), "--scheduler", "tcp://x:1", "-o", str(tmp_path / "run")]) != 0
    assert "--scheduler is for Parquet, npy and zarr" in capsys.readouterr().err
