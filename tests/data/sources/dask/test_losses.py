"""What is lost in mid-fit: a worker costs time, all else is said soon; nothing hangs."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from distributed import Client

from sticktree.cluster import ClusterLostError
from sticktree.data.sources.dask.session import Patience, Session
from tests.support.cluster import assert_same, chain_of, chunked, outcome, table

SOON = 30.0  # seconds; an error takes well below one


def test_a_worker_that_is_killed_changes_nothing(client, expected):
    client.wait_for_workers(2, timeout=60)
    chain = chain_of(chunked(table(gaps=True), 7))
    victim = client.who_has(chain.rows.placement.parts[:1]).popitem()[1][0]
    pid = client.run(os.getpid, workers=[victim])[victim]

    def kill(sweep):
        if sweep == 1:  # in the middle of a pass
            threading.Timer(0.01, os.kill, (pid, signal.SIGKILL)).start()

    assert_same(outcome(chain, meanwhile=kill), expected[True])
    client.wait_for_workers(2, timeout=60)
    assert pid not in client.run(os.getpid).values()


def test_a_client_that_closes_in_mid_fit_is_an_error(cluster):
    with Client(cluster.cluster, set_as_default=False, timeout="60s") as own:
        with own.as_current():
            chain = chain_of(chunked(table(), 2))
        chain.sweep()
        threading.Timer(0.05, own.close).start()
        with pytest.raises(ClusterLostError, match=r"in mid-fit|gave up|broke") as raised:
            sweep_until(SOON, chain)
        assert "checkpoint" in str(raised.value)


SCHEDULER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp",
        dashboard_address=":0", silence_logs=50,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        time.sleep(300)
"""


def test_a_scheduler_that_is_killed_in_mid_fit_is_an_error(tmp_path):
    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER, encoding="utf-8")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            client = Client(address, set_as_default=False, timeout="60s")
            try:
                with client.as_current():
                    chain = chain_of(chunked(table(), 2))
                chain.sweep()
                process.kill()
                with pytest.raises(ClusterLostError):
                    sweep_until(SOON, chain)
            finally:
                client.close(timeout=1)
        finally:
            process.kill()


def sweep_until(seconds, chain):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        chain.sweep()


class FakeClient:
    """A client of a cluster that never answers."""

    asynchronous, status = False, "running"

    def __init__(self, n_workers):
        self.n_workers = n_workers
        self.never = threading.Event()

    def gather(self, futures):
        self.never.wait(60)

    def nthreads(self):
        return {str(k): 1 for k in range(self.n_workers)}


def test_a_pass_that_takes_too_long_is_an_error():
    fake = FakeClient(1)
    with pytest.raises(ClusterLostError, match="did not finish a pass"):
        Session(fake, Patience(one_pass=0.3)).results([])
    fake.never.set()


def test_a_cluster_without_workers_is_an_error():
    fake = FakeClient(0)
    with pytest.raises(ClusterLostError, match="no workers"):
        Session(fake, Patience(no_workers=0.5, recount=0.1)).results([])
    fake.never.set()


def test_a_client_that_closes_while_waiting_is_seen():
    fake = FakeClient(1)
    threading.Timer(0.1, setattr, (fake, "status", "closed")).start()
    start = time.monotonic()
    with pytest.raises(ClusterLostError, match="is closed in mid-fit"):
        Session(fake).results([])
    assert time.monotonic() - start < SOON
    fake.never.set()


def test_an_asynchronous_client_is_refused():
    fake = FakeClient(1)
    fake.asynchronous = True
    with pytest.raises(ValueError, match="synchronous"):
        Session(fake)


def test_an_error_of_a_task_is_raised_as_it_is(client):
    import dask.array as da

    def broken(block):
        raise ZeroDivisionError("the source is broken")

    x = chunked(table(), 2)
    wrong = da.map_blocks(broken, x, dtype=float, meta=x._meta)
    with pytest.raises(ZeroDivisionError, match="the source is broken"):
        chain_of(wrong)
