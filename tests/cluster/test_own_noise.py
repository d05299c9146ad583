"""Leaves with their own noise on workers: what comes out is what threads give, to the last bit."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from sticktree.cluster import DaskRows
from sticktree.data.sources.dask import rows as cluster_rows
from sticktree.engine.bulk import chain as parallel_chain
from sticktree.engine.bulk.own_chain import OwnParallelChain
from sticktree.model import Column, Model
from tests.cluster.chains import assert_same, chain_of, chunked, in_threads, outcome, table
from tests.cluster.test_fit import assert_same_fit, fitted

N, N_PARTS = 700, 5


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Fewer rows and sweeps, and still more rows than are picked, in a pass and at the start."""
    monkeypatch.setattr(parallel_chain, "PICKED", 300)
    monkeypatch.setattr(parallel_chain, "MOST_ROUNDS", 1)
    monkeypatch.setattr(parallel_chain, "FIRST_ROWS", 300)
    monkeypatch.setattr(OwnParallelChain, "first_sweeps", 3)


def model_of(form):
    columns = tuple(Column("gaussian", floor=floor) for floor in (0.0, 1e-3, 1e-2))
    return Model(np.array([0.5, 1.0]), covariance_type=form, leaf_noise="own", columns=columns)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_partitions_do_not_matter(client, monkeypatch, form, gaps):
    # Small parts and bounds, so that sums of squares and products are joined on the workers.
    monkeypatch.setattr("sticktree.data.sources.dask.source.LARGEST", 1)
    monkeypatch.setattr(cluster_rows, "FAN_IN", 2)
    x = table(N, gaps=gaps)
    chain = chain_of(chunked(x, N_PARTS), model_of(form))
    assert isinstance(chain, OwnParallelChain)
    assert isinstance(chain.rows, DaskRows)
    assert len(chain.rows.parts) == N_PARTS
    assert (model_of(form).jitter(3) is not None) == (form == "full")
    assert_same(outcome(chain), in_threads(x, model_of(form)))


@pytest.mark.parametrize("form", ["diag", "full"])
def test_a_fit_is_that_of_rows_in_memory(client, form):
    x = table(300, gaps=True)
    choices = {"covariance_type": form, "leaf_noise": "own", "n_chains": 2}
    ours, theirs = fitted(chunked(x, 3), **choices), fitted(x, **choices)
    assert isinstance(ours.fit_.sampled.runs[0].chain.rows, DaskRows)
    assert ours.leaf_noise_ == "own"
    assert_same_fit(ours, theirs)
    new = table(40, gaps=True)
    np.testing.assert_array_equal(ours.score_samples(new), theirs.score_samples(new))
    lazy = ours.score_samples(chunked(new, 2))
    np.testing.assert_array_equal(lazy.compute(), theirs.score_samples(new))
