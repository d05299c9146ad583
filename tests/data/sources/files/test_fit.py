"""A fit to a table that is read in chunks is the fit to its rows in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture
from sticktree.chunks import open_table
from sticktree.posterior.draws import ConvergenceWarning


def mixture(**parameters):
    quick = {"n_chains": 2, "n_warmup": 5, "n_draws": 5, "random_state": 0, "progress": False}
    shared = {"covariance_type": "full", "leaf_noise": "shared", "algorithm": "parallel"}
    return DFPMixture(**quick | shared | parameters)


def fitted(rows, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of so short a run
        return mixture(**parameters).fit(rows)


def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(0.0, 0.5, (1000, 2)) + 8.0 * (np.arange(1000) % 2)[:, None]
    x[::50, 1] = np.nan
    return x


def test_the_same_as_of_rows_in_memory(tmp_path):
    frame = pd.DataFrame(rows(), columns=["a", "b"])
    frame.to_parquet(tmp_path / "x.parquet")
    table = open_table(tmp_path / "x.parquet")
    memory = fitted(frame)
    files = fitted(table, algorithm="auto")
    assert files.algorithm_ == "parallel"
    assert list(files.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(files.labels_, memory.labels_)
    for one, other in zip(files.posterior_.draws, memory.posterior_.draws, strict=True):
        np.testing.assert_array_equal(one.tree.parent, other.tree.parent)
    np.testing.assert_array_equal(files.score_samples(frame), memory.score_samples(frame))
    np.testing.assert_array_equal(files.predict(table), memory.predict(frame))


@pytest.mark.parametrize(
    ("parameters", "weights", "message"),
    [
        ({"algorithm": "gibbs"}, None, 'algorithm must be "parallel" or "auto" for a table'),
        ({"columns": ["poisson", "gaussian"]}, None, "columns must all be gaussian .* 'poisson'"),
        ({}, np.ones(1000), "sample_weight must be None for a table that is read in chunks"),
    ],
)
def test_what_cannot_be_done(tmp_path, parameters, weights, message):
    with pytest.raises(ValueError, match=message):
        mixture(**parameters).fit(open_table(rows()), sample_weight=weights)
    assert not any(tmp_path.iterdir())
