"""Simulation-based calibration of the parallel sampler: the rank of the truth is uniform."""

import numpy as np
import pytest

from sticktree.engine.parallel.shared_chain import SharedParallelChain
from sticktree.model import Model
from tests.engine.test_calibration import rank, summary

N_REPLICATES, N_DRAWS, THIN, BURN_IN = 100, 9, 25, 40


@pytest.mark.slow
def test_truth_has_any_rank_among_posterior_draws_with_the_same_probability(
    twin, rows_of, assert_frequencies, monkeypatch
):
    monkeypatch.setattr(SharedParallelChain, "first_sweeps", 1)
    rng = np.random.default_rng(0)
    model = Model(
        np.array([1.0, 0.7]),
        concentration_prior=(3.0, 2.0),
        precision_prior=(3.0, 1.0),
        scale_prior=(3.0, 3.0),
        discount=0.1,
    )
    ranks = []
    for _ in range(N_REPLICATES):
        c, setting, tree, sigma, data = twin.sample_prior(model, 10, 2, rng)
        log_likelihood = twin.log_normal(data / np.sqrt(sigma[0, 0]), setting.row_covariance(tree))
        truth = summary(c, tree, log_likelihood - data.size * np.log(sigma[0, 0]) / 2)
        chain = SharedParallelChain(rows_of(data), model, rng)
        chain.n_rounds = 1
        draws = []
        for sweep in range(BURN_IN + N_DRAWS * THIN):
            chain.sweep()
            if sweep >= BURN_IN and (sweep - BURN_IN) % THIN == THIN - 1:
                draws.append(summary(chain.concentration, chain.tree(), chain.log_likelihood()))
        ranks.append([rank(*pair, rng) for pair in zip(truth, np.array(draws).T, strict=True)])
    for column in np.transpose(ranks):
        counts = np.bincount(column, minlength=N_DRAWS + 1)
        assert_frequencies(counts, np.full(N_DRAWS + 1, 1 / (N_DRAWS + 1)))
