"""Answers about partitions: those of the rows in memory, and none before they are asked for."""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import dask
import dask.array as da

from sticktree import DFPMixture
from sticktree.cluster import map_rows
from tests.support.cluster import chunked, table

dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

QUICK = {"covariance_type": "full", "leaf_noise": "shared", "n_chains": 1, "random_state": 0}
QUICK |= {"n_warmup": 5, "n_draws": 5}


@pytest.fixture(scope="module", params=["gibbs", "parallel"])
def mixture(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains are too short to agree
        return DFPMixture(algorithm=request.param, **QUICK).fit(table(200))


@pytest.mark.parametrize("method", ["score_samples", "predict", "predict_proba", "transform"])
def test_answers_are_those_of_rows_in_memory(mixture, client, method):
    x = table(50, gaps=True)
    expected = getattr(mixture, method)(x)
    lazy = getattr(mixture, method)(da.from_array(x, chunks=(20, 2)))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == expected.shape
    assert lazy.dtype == expected.dtype
    assert lazy.chunks[0] == (20, 20, 10)
    np.testing.assert_array_equal(lazy.compute(), expected)
    with dask.config.set(scheduler="sync"):  # no cluster
        np.testing.assert_array_equal(lazy.compute(), expected)


def test_levels_and_scores(mixture):
    x = table(50)
    with dask.config.set(scheduler="sync"):
        np.testing.assert_array_equal(mixture.predict(chunked(x, 3), 1), mixture.predict(x, 1))
        assert mixture.score(chunked(x, 3)) == pytest.approx(mixture.score(x), rel=1e-12)
        with pytest.raises(ValueError, match="level must be"):
            mixture.predict(chunked(x, 3), 99)


def test_frames_have_names_and_unknown_sizes(client):
    frame = pd.DataFrame(table(120), columns=list("abc"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = DFPMixture(**QUICK).fit(frame)
    lazy = mixture.score_samples(dd.from_pandas(frame, npartitions=3))
    assert np.isnan(lazy.shape[0])
    np.testing.assert_array_equal(lazy.compute(), mixture.score_samples(frame))
    wrong = mixture.score_samples(dd.from_pandas(frame[["b", "a", "c"]], npartitions=3))
    with pytest.raises(ValueError, match="feature names"):
        wrong.compute()


def test_empty_partitions_have_empty_answers(mixture):
    x = da.concatenate([da.empty((0, 3)), chunked(table(20), 2), da.empty((0, 3))])
    for method in ("score_samples", "transform"):
        with dask.config.set(scheduler="sync"):
            found = getattr(mixture, method)(x).compute()
        np.testing.assert_allclose(found, getattr(mixture, method)(table(20)), rtol=1e-12)


def test_the_estimator_travels_light_and_once(mixture):
    sent = mixture.fit_.to_be_sent(with_labels=False)
    assert not sent.sampled.runs
    assert mixture.fit_.sampled.runs
    assert len(pickle.dumps(sent)) < 0.5 * len(pickle.dumps(mixture.fit_))
    lazy = mixture.score_samples(chunked(table(100), 10))
    held = [key for key in dict(lazy.__dask_graph__()) if "sticktree-estimator" in str(key)]
    assert len(held) == 1


def test_nothing_is_computed_before_it_is_asked_for():
    def never(rows):
        raise AssertionError

    lazy = map_rows(chunked(table(20), 2), never, float)
    assert lazy.shape == (20,)
    with pytest.raises(ValueError, match="dask array or DataFrame"):
        map_rows(np.ones((2, 2)), never, float)
