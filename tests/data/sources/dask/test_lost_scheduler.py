"""A scheduler that is lost in mid-fit: the fit ends soon, and goes on from its checkpoint."""

import json
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from distributed import Client

import sticktree.inference.fitting
from sticktree.cluster import ClusterLostError
from sticktree.engine.bulk.chain import BulkChain
from sticktree.io.checkpoint import Checkpoint
from tests.data.sources.dask.test_fit import assert_same_fit, fitted
from tests.support.cluster import chunked, table

SOON = 60.0  # seconds; all of it takes about five
KILLED_AFTER = 2  # sweeps that are saved
CHOICES = {"n_warmup": 1, "n_draws": 4, "n_chains": 2}


@pytest.fixture
def own_cluster(tmp_path):
    """A scheduler and a worker in processes of their own, and a client."""
    file = tmp_path / "scheduler.json"
    place = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    worker = ["--nthreads", "1", "--no-nanny", "--death-timeout", "60"]
    with ExitStack() as stack:

        def started(what, *options):
            words = [sys.executable, "-m", "distributed.cli." + what, *options]
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = stack.enter_context(subprocess.Popen(words, cwd=tmp_path, **silent))
            stack.callback(process.kill)
            return process

        scheduler = started("dask_scheduler", *place, "--port", "0")
        end = time.monotonic() + SOON
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.05)
        started("dask_worker", *place, *worker)
        client = Client(scheduler_file=str(file), set_as_default=False, timeout="60s")
        stack.callback(client.close, timeout=1)
        client.wait_for_workers(1, timeout=SOON)
        yield client, scheduler


def ended(work):
    """Return the error that work ends in, which it must do soon."""
    raised = []

    def call():
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(SOON)
    assert not thread.is_alive(), "the fit hangs"
    return raised[0] if raised else None


def test_the_checkpoint_is_left_and_another_cluster_goes_on(
    own_cluster, cluster, tmp_path, monkeypatch
):
    own, scheduler = own_cluster
    x, folder = table(400, gaps=True), tmp_path / "run"
    monkeypatch.setattr(sticktree.inference.fitting, "SECONDS_BETWEEN_SAVES", -1.0)
    monkeypatch.setattr(BulkChain, "most_rounds", 1)
    save = Checkpoint.save

    def save_and_kill(self, k, run):
        save(self, k, run)
        if run.n_sweeps == KILLED_AFTER:  # the other chain may be in the middle of a pass
            scheduler.kill()

    def fit():
        with own.as_current():
            fitted(chunked(x, 3), checkpoint=folder, **CHOICES)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save_and_kill)
        error = ended(fit)
    assert isinstance(error, ClusterLostError)
    assert "goes on from there" in str(error)

    # What was saved can be read, and is not all.
    assert json.loads((folder / "run.json").read_text())["shape"] == [400, 3]
    done = []
    for path in sorted(folder.glob("chain-*.npz")):
        with np.load(path, allow_pickle=False) as arrays:
            done.append(int(arrays["n_sweeps"]))
    assert KILLED_AFTER <= max(done) < CHOICES["n_warmup"] + CHOICES["n_draws"]
    assert not list(folder.glob("*.tmp*"))

    started_from = []
    load = Checkpoint.load

    def load_and_tell(self, k, model):
        run = load(self, k, model)
        started_from.append(0 if run is None else run.n_sweeps)
        return run

    monkeypatch.setattr(Checkpoint, "load", load_and_tell)
    with cluster.as_current():
        again = fitted(chunked(x, 5), checkpoint=folder, **CHOICES)
    assert max(started_from) == max(done)
    assert_same_fit(again, fitted(x, **CHOICES))
