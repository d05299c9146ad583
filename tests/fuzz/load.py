"""``make load``: many fits at once, on a cold cache, one after the other, and as workers die.

Prints a line for each part; the exit code says whether something failed.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from sticktree import DFPMixture

AT_ONCE = 8
FITS = 200
GROWTH = 20e6  # bytes by which the memory may grow from the first quarter of the fits to the last
ROWS, PART = 10_000_000, 500_000  # on a cluster, and of them in one piece
OPTIONS = {"covariance_type": "full", "n_chains": 2, "n_warmup": 5, "n_draws": 5, "n_jobs": 2}
PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
from tests.fuzz.load import answer
print(repr(answer(int(sys.argv[1])).sum()))
"""


def answer(seed, noise="own"):
    """Return the densities of rows, by a fit to them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((40, 2)) + 6.0 * rng.integers(2, size=(40, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = DFPMixture(3, leaf_noise=noise, random_state=seed, progress=False, **OPTIONS)
        return mixture.fit(x).score_samples(x)


def in_one_process(n_fits=AT_ONCE):
    """Fit in threads at once; return whether all answer as they do alone."""
    alone = [answer(seed) for seed in range(n_fits)]
    found = [None] * n_fits

    def work(seed):
        found[seed] = answer(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(n_fits)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive(), "a fit does not end"
    for mine, its in zip(alone, found, strict=True):
        np.testing.assert_array_equal(mine, its)


def in_processes(n_fits=AT_ONCE):
    """Fit in processes at once that share a cold cache; return whether all answer the same."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache, "STICKTREE_COMPILERS": "1"}
        words = [sys.executable, "-c", PROGRAM]
        processes = [
            subprocess.Popen([*words, "0"], env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(n_fits)
        ]
        said = [process.communicate(timeout=3600)[0] for process in processes]
        assert {process.returncode for process in processes} == {0}
        assert len(set(said)) == 1, said
        assert float(said[0].strip().removeprefix("np.float64(").rstrip(")")) == answer(0).sum()
        left = [path for path in Path(cache).rglob("*") if path.suffix == ".tmp"]
        assert not left, "a file of the cache is half-written"
        # Whoever comes next finds all of it.
        again = subprocess.run([*words, "0"], env=environment, capture_output=True, text=True)
        assert again.stdout == said[0]


def one_after_the_other(n_fits=FITS):
    """Fit again and again; return whether memory stays as it was."""
    sizes = []
    for k in range(n_fits):
        answer(k % 5, noise=("own", "shared")[k % 2])
        sizes.append(_memory())
    quarter = n_fits // 4
    grown = np.mean(sizes[-quarter:]) - np.mean(sizes[quarter : 2 * quarter])
    assert grown < GROWTH, f"memory has grown by {grown / 1e6:.1f} MB"
    return f"memory has grown by {grown / 1e6:.1f} MB over {n_fits - quarter} fits"


def as_workers_die(n_rows=ROWS, every=60.0):
    """Fit rows on a cluster of which a worker is killed again and again; return how often."""
    import dask.array
    from distributed import Client, LocalCluster

    def rows_of(block_info=None):
        (first, last), _ = block_info[None]["array-location"]
        rng = np.random.default_rng(first)
        n = last - first
        return rng.standard_normal((n, 2)) + 6.0 * rng.integers(3, size=(n, 1))

    x = dask.array.map_blocks(
        rows_of, chunks=((PART,) * (n_rows // PART), (2,)), dtype=np.float64, meta=np.empty((0, 2))
    )
    over, killed = threading.Event(), []

    def kill(client):
        while not over.wait(every):
            pids = list(client.run(os.getpid).values())
            os.kill(pids[len(killed) % len(pids)], signal.SIGKILL)
            killed.append(time.monotonic())

    options = {"covariance_type": "full", "leaf_noise": "shared", "random_state": 0}
    options |= {"n_chains": 1, "n_warmup": 10, "n_draws": 5, "progress": False}
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        thread = threading.Thread(target=kill, args=(client,), daemon=True)
        thread.start()
        try:
            mixture = DFPMixture(3, **options).fit(x)
        finally:
            over.set()
            thread.join(60)
    some = np.random.default_rng(1).standard_normal((100, 2))
    assert np.isfinite(mixture.score_samples(some)).all()
    assert killed, "the fit was over before a worker was killed: it shows nothing"
    return f"{n_rows:,} rows, {len(killed)} workers killed"


def _memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


PARTS = {
    "one process": in_one_process,
    "processes": in_processes,
    "memory": one_after_the_other,
    "workers": as_workers_die,
}


def main():
    """Run the parts and print how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)} [all]")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"on the cluster [{ROWS:,}]")
    parser.add_argument("--every", type=float, default=60.0, help="seconds a worker dies [60]")
    options = parser.parse_args()
    parts = PARTS | {"workers": lambda: as_workers_die(options.rows, options.every)}
    failed = 0
    for name in options.parts or PARTS:
        began = time.monotonic()
        try:
            said = parts[name]() or "all right"
        except AssertionError as error:
            said, failed = f"FAILED: {error}", failed + 1
        print(f"{name:12} {time.monotonic() - began:6.0f} s  {said}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
