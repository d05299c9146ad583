"""Compile what most tests need into the cache of kernels: ``python -m tests.support.warm PART``.

Compilation is a large part of the time of the tests on a machine that has never run them. The two
parts have few kernels in common, so that two processes do it in half the time.
"""

import sys
import warnings

import numpy as np

from sticktree import DFPMixture
from sticktree.processes import NestedRestaurant, RecursiveSticks

SHORT = {"n_chains": 1, "n_warmup": 3, "n_draws": 3, "random_state": 0, "progress": False}


def rows(n_rows=40, dimension=2, gaps=False):
    data = np.random.default_rng(0).normal(size=(n_rows, dimension))
    data[::2] += 8.0
    if gaps:
        data[::5, 0] = np.nan
    return data


def ask(mixture, data):
    """Fit, and ask for all answers."""
    mixture.fit(data)
    mixture.predict(data)
    mixture.score_samples(data)
    mixture.impute(data)
    _ = mixture.tree_, mixture.labels_
    return mixture


def shared():
    """Compile noise that all leaves share, the processes, and batches that come one by one."""
    rng = np.random.default_rng(0)
    NestedRestaurant(1.0, depth=3).sample(20, rng)
    RecursiveSticks(1.0, depth=3).sample_paths(20, rng)
    for form in ("full", "spherical", "diag"):
        for gaps in (False, True):
            settings = {"covariance_type": form, "leaf_noise": "shared", **SHORT}
            ask(DFPMixture(**settings), rows(gaps=gaps))
            ask(DFPMixture(algorithm="parallel", **settings), rows(gaps=gaps))
    stream = DFPMixture(covariance_type="full", leaf_noise="shared", **SHORT)
    for _ in range(2):
        stream.partial_fit(rows())


def own():
    """Compile noise of each leaf's own, and columns of several kinds."""
    for form in ("full", "diag", "spherical"):
        for gaps in (False, True):
            settings = {"covariance_type": form, "leaf_noise": "own", **SHORT}
            ask(DFPMixture(**settings), rows(gaps=gaps))
            ask(DFPMixture(algorithm="parallel", **settings), rows(gaps=gaps))
    table = {"x": rows()[:, 0], "n": np.arange(40) % 5, "c": list("ab" * 20)}
    DFPMixture(columns={"n": "poisson"}, **SHORT).fit(_frame(table))
    stream = DFPMixture(covariance_type="diag", leaf_noise="own", **SHORT)
    for _ in range(2):
        stream.partial_fit(rows())


def _frame(table):
    import pandas

    return pandas.DataFrame(table)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in sys.argv[1:]:
        {"shared": shared, "own": own}[part]()
