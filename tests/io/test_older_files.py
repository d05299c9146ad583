"""Files of the first format are read: what they were written from is beside them, with answers.

``format-1.tar.xz`` was written by sticktree 0.x, before there was a format 2: a mixture that was
chosen among models for weighted rows with names, one of two batches, and a checkpoint.
"""

import tarfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sticktree
from sticktree import DFPMixture

WEIGHTS = np.array([1, 2, 0, 1, 1, 1, 1, 1])
QUICK = {"n_chains": 1, "n_warmup": 1, "n_draws": 2, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("old")
    with tarfile.open(Path(__file__).with_name("format-1.tar.xz")) as file:
        file.extractall(path, filter="data")
    return path


@pytest.fixture(scope="module")
def answers(folder):
    with np.load(folder / "answers.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def tables(answers):
    x = answers["x"]
    columns = {"length": x[:, 0], "price": np.exp(x[:, 1] / 5).round(2)}
    return {"chosen": pd.DataFrame(columns, index=[f"r{k}" for k in range(8)]), "stream": x}


@pytest.fixture(params=["chosen", "stream"])
def case(request, folder, answers, tables):
    """Return an estimator from an old file, its rows, and what it answered."""
    name = request.param
    mine = {
        key.removeprefix(f"{name}_"): value
        for key, value in answers.items()
        if key.startswith(name)
    }
    return sticktree.load(folder / f"{name}.sticktree"), tables[name], mine


def check(mixture, rows, expected):
    np.testing.assert_allclose(mixture.score_samples(rows), expected["score"], rtol=1e-9)
    # Clusters are found anew; those of least loss, at the level of old, are as they were.
    level = mixture.fit_.best_level
    np.testing.assert_allclose(mixture.predict_proba(rows, level), expected["proba"], rtol=1e-9)
    labels = mixture.cluster(method="loss")
    np.testing.assert_array_equal(labels, expected["labels"])
    np.testing.assert_array_equal(mixture.labels_, mixture.membership_.argmax(axis=1))
    assert mixture.tree_.to_newick() == str(expected["newick"])


def test_answers_are_those_of_old(case):
    check(*case)


def test_what_is_read_can_be_written_anew(case, tmp_path):
    mixture, rows, expected = case
    sticktree.save(mixture, tmp_path / "new.sticktree")
    check(sticktree.load(tmp_path / "new.sticktree"), rows, expected)


def test_parameters_and_columns_are_there(folder):
    mixture = sticktree.load(folder / "chosen.sticktree")
    assert mixture.get_params()["columns"] == {"price": "lognormal"}
    assert mixture.columns_.declared == ("gaussian", "lognormal")
    assert mixture.algorithm_ == "gibbs"
    assert mixture.selection_.models[mixture.selection_.best] is mixture.fit_.model
    assert mixture.coclustering().shape == (7, 7)
    assert mixture.data_.shape == (8, 2)
    stream = sticktree.load(folder / "stream.sticktree")
    assert (len(stream.stream_), stream.stream_.n_rows) == (2, 16)
    assert stream.algorithm_ == "parallel"


def test_chains_go_on(folder, tables):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = sticktree.load(folder / "chosen.sticktree").set_params(warm_start=True)
        before = mixture.posterior_.draws
        mixture.fit(tables["chosen"], sample_weight=WEIGHTS)
        stream = sticktree.load(folder / "stream.sticktree")
        stream.partial_fit(tables["stream"] + 0.2, n_warmup=1, n_draws=2)
    assert mixture.posterior_.draws[:2] == before
    assert len(mixture.posterior_) == 4
    assert stream.stream_.n_rows == 24


def test_a_checkpoint_goes_on(folder, answers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = DFPMixture(
            2,
            covariance_type="diag",
            leaf_noise="shared",
            checkpoint=folder / "run",
            **QUICK | {"n_draws": 3},
        ).fit(answers["x"])
    found = [draw.log_joint for draw in mixture.posterior_.draws]
    assert found[:2] == answers["run_log_joint"].tolist()
    assert len(found) == 3
