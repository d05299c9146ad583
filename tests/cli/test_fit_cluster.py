"""``sticktree fit --scheduler``: a file, read by the workers of a cluster."""

import json

import numpy as np
import pytest

from sticktree.cli import main

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


def test_a_file_is_fitted_on_a_cluster_as_in_memory(table, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
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
