"""Simulation-based calibration of the parallel sampler: the rank of the truth is uniform."""

import pytest

from sticktree.engine.bulk.shared import SharedBulkChain
from tests.engine.shared.test_calibration import assert_calibrated


@pytest.mark.slow
def test_truth_has_any_rank_among_posterior_draws_with_the_same_probability(
    twin, rows_of, monkeypatch
):
    monkeypatch.setattr(SharedBulkChain, "first_sweeps", 1)

    def make_chain(data, model, rng):
        chain = SharedBulkChain(rows_of(data), model, rng)
        chain.n_rounds = 1
        return chain

    assert_calibrated(twin, make_chain, 60, 10, burn_in=40, thin=25, n_draws=4)
