"""The estimator on Dask collections: the same posterior as on rows in memory."""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from sticktree import DFPMixture
from sticktree.cluster import ClusterLostError
from tests.data.sources.dask.test_lazy import QUICK
from tests.support.cluster import chunked, table

pd = pytest.importorskip("pandas", reason="pandas is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")


SHORT = {"n_warmup": 1, "n_draws": 2, "algorithm": "parallel"}


def fitted(X, **parameters):  # noqa: N803
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains are too short to agree
        return DFPMixture(**QUICK | SHORT | parameters).fit(X)


@pytest.fixture(scope="module")
def in_memory():
    return fitted(table(400, gaps=True))


def assert_same_fit(ours, theirs):
    assert len(ours.posterior_) == len(theirs.posterior_)
    for mine, its in zip(ours.posterior_.draws, theirs.posterior_.draws, strict=True):
        np.testing.assert_array_equal(mine.leaf, its.leaf)
        np.testing.assert_array_equal(mine.parent, its.parent)
        assert mine.log_joint == its.log_joint
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)


def test_an_array_on_workers(client, in_memory):
    mixture = fitted(chunked(table(400, gaps=True), 5), algorithm="auto")
    assert mixture.algorithm_ == "parallel"
    assert_same_fit(mixture, in_memory)
    x = table(30)
    np.testing.assert_array_equal(mixture.score_samples(x), in_memory.score_samples(x))
    np.testing.assert_array_equal(mixture.predict(x), in_memory.predict(x))
    lazy = mixture.predict(chunked(x, 2))
    np.testing.assert_array_equal(lazy.compute(), in_memory.predict(x))


def test_two_chains_on_a_frame_with_names(client):
    frame = pd.DataFrame(table(400, gaps=True), columns=list("abc"))
    in_memory = fitted(frame.to_numpy(), n_chains=2)
    mixture = fitted(dd.from_pandas(frame, npartitions=3), n_chains=2)
    assert mixture.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_same_fit(mixture, in_memory)
    np.testing.assert_array_equal(
        mixture.score_samples(frame), in_memory.score_samples(frame.to_numpy())
    )


def test_an_array_without_a_client(in_memory):
    assert_same_fit(fitted(chunked(table(400, gaps=True), 5)), in_memory)


def test_a_checkpoint_goes_on_in_other_partitions(client, in_memory, tmp_path):
    x = table(400, gaps=True)
    whole = fitted(chunked(x, 5), checkpoint=tmp_path / "run")
    assert_same_fit(whole, in_memory)
    again = fitted(chunked(x, 2), checkpoint=tmp_path / "run")
    assert_same_fit(again, in_memory)
    with pytest.raises(ValueError, match="other data"):
        fitted(chunked(x[::-1], 2), checkpoint=tmp_path / "run")


def test_a_fit_goes_on_with_the_same_rows_only(client):
    x = table(400, gaps=True)
    ours, theirs = fitted(chunked(x, 5)), fitted(x)
    mixture = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(mixture.score_samples(x), theirs.score_samples(x))
    mixture.set_params(warm_start=True)
    with pytest.raises(ClusterLostError, match="stayed on the cluster"):
        mixture.fit(chunked(x, 5))
    for mixture, again in ((ours, chunked(x, 3)), (theirs, x)):
        mixture.set_params(warm_start=True, n_draws=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mixture.fit(again)
    assert_same_fit(ours, theirs)
    with pytest.raises(ValueError, match="data of the last fit"):
        ours.fit(chunked(x[::-1], 3))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"algorithm": "gibbs"}, 'algorithm must be "parallel" or "auto" for a dask array'),
        ({"columns": ["gaussian", "gaussian", "poisson"]}, "columns must all be gaussian"),
    ],
)
def test_what_a_cluster_cannot_do_is_told(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(chunked(table(20), 2), **parameters)


def test_weights_are_refused():
    with pytest.raises(ValueError, match="sample_weight must be None"):
        DFPMixture().fit(chunked(table(20), 2), sample_weight=np.ones(20))
