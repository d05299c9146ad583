"""Chains in processes of joblib: the same draws as in threads."""

import warnings
from dataclasses import replace

import joblib
import numpy as np
import pytest

from sticktree import DFPMixture
from sticktree.inference import runner
from sticktree.inference.runner import processes_wanted
from tests.support.training import training_of

QUICK = {"covariance_type": "full", "leaf_noise": "shared", "n_chains": 2, "random_state": 0}
QUICK |= {"n_warmup": 7, "n_draws": 6, "thin": 2}


def rows():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (40, 2))])
    x[rng.random(x.shape) < 0.05] = np.nan
    return x


def fitted(**parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains are too short to agree
        return DFPMixture(**QUICK | parameters).fit(rows())


def assert_same_draws(ours, theirs):
    assert len(ours.posterior_) == len(theirs.posterior_) > 0
    for mine, its in zip(ours.posterior_.draws, theirs.posterior_.draws, strict=True):
        np.testing.assert_array_equal(mine.leaf, its.leaf)
        np.testing.assert_array_equal(mine.parent, its.parent)
        assert mine.log_joint == its.log_joint
        assert mine.concentration == its.concentration


@pytest.mark.parametrize("algorithm", ["gibbs", "parallel"])
def test_processes_draw_what_threads_do(algorithm):
    expected = fitted(algorithm=algorithm)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = fitted(algorithm=algorithm)
        assert_same_draws(found, expected)
        # And they go on to the same.
        for mixture in (found, expected):
            mixture.set_params(warm_start=True, n_draws=3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mixture.fit(rows())
        assert_same_draws(found, expected)


def test_dask_is_a_backend_too():
    pytest.importorskip("distributed", reason="dask and distributed are not installed")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        found = fitted()
    assert_same_draws(found, fitted())


def test_labels_are_kept_by_the_same_draws(monkeypatch):
    monkeypatch.setattr("sticktree.inference.fitting.label_every", lambda *_: 3)
    expected = fitted(algorithm="parallel")
    kept = [draw.labelled for draw in expected.posterior_.draws]
    assert kept[:4] == [True, False, False, True]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = fitted(algorithm="parallel")
    assert [draw.labelled for draw in found.posterior_.draws] == kept


def test_processes_are_used_only_if_they_are_asked_for():
    assert not processes_wanted()
    with joblib.parallel_config(backend="threading"):
        assert not processes_wanted()
    with joblib.parallel_config(n_jobs=2):
        assert not processes_wanted()
    with joblib.parallel_config(backend="loky"):
        assert processes_wanted()


def test_ctrl_c_keeps_the_legs_that_are_done(monkeypatch):
    from benchmarks.data import default_model
    from sticktree.engine.shared.chain import Chain
    from sticktree.inference.runner import Run, Schedule, sample_in_processes

    x = np.nan_to_num(rows())
    runs = [Run(Chain(x, default_model(3), np.random.default_rng(0)))]
    seen = []

    def watch(k, run):
        seen.append(run.n_sweeps)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with joblib.parallel_config(backend="sequential"):
        assert not sample_in_processes(runs, Schedule(5, 25), training_of(x), watch)
    assert seen == [1, 4, 7]
    assert runs[0].n_sweeps == 7
    assert len(runs[0].draws) == 2


def test_rows_elsewhere_are_not_sent(monkeypatch):
    x = rows()
    training = replace(training_of(x, parallel=True), sampled=(np.arange(3), x[:3]))
    monkeypatch.setattr(runner, "sample_in_processes", lambda *_: pytest.fail("sent"))
    with joblib.parallel_config(backend="loky"):
        assert runner.sample([], runner.Schedule(1, 1), 1, training=training)
