"""Leaves with their own noise on workers: what comes out is what threads give, to the last bit."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from sticktree.cluster import DaskRows
from sticktree.engine.bulk.own import OwnBulkChain
from sticktree.model import Column, Model
from tests.data.sources.dask.test_fit import assert_same_fit, fitted
from tests.support.cluster import assert_same, chain_on_parts, chunked, in_threads, outcome, table

N, N_PARTS = 700, 5


class ShortChain(OwnBulkChain):
    """Fewer rows and sweeps, and still more rows than are picked, in a pass and at the start."""

    n_picked = first_rows = 300
    most_rounds, first_sweeps = 1, 3


def model_of(form):
    columns = tuple(Column("gaussian", floor=floor) for floor in (0.0, 1e-3, 1e-2))
    return Model(np.array([0.5, 1.0]), covariance_type=form, leaf_noise="own", columns=columns)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("form", ["spherical", "diag", "full"])
def test_partitions_do_not_matter(client, form, gaps):
    x, options = table(N, gaps=gaps), {"model": model_of(form), "chain": ShortChain}
    chain = chain_on_parts(chunked(x, N_PARTS), **options)
    assert len(chain.rows.placement.parts) == N_PARTS
    assert (model_of(form).jitter(3) is not None) == (form == "full")
    assert_same(outcome(chain), in_threads(x, **options))


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
