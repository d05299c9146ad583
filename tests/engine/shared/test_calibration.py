"""Simulation-based calibration: the rank of the truth among posterior draws is uniform.

S. Talts et al., Validating Bayesian inference algorithms with simulation-based calibration, 2018.
"""

import numpy as np
import pytest

from sticktree.engine.shared.chain import Chain
from sticktree.model import Model
from tests.support.statistics import assert_frequencies


def summary(c, tree, log_likelihood):
    return c, tree.leaves.size, log_likelihood


def rank(truth, draws, rng):
    """Return how many draws are below the truth; ties are broken at random."""
    below, equal = (draws < truth).sum(), (draws == truth).sum()
    return below + rng.integers(equal + 1)


def assert_calibrated(twin, make_chain, n_replicates, n_rows, burn_in, thin, n_draws=9):
    """Check that the truth has any rank among posterior draws with the same probability."""
    rng = np.random.default_rng(0)
    model = Model(
        np.array([1.0, 0.7]),
        concentration_prior=(3.0, 2.0),
        precision_prior=(3.0, None),  # its rate is learned
        scale_prior=(3.0, 3.0),
        discount=0.1,
    )
    ranks = []
    for _ in range(n_replicates):
        c, setting, tree, sigma, data = twin.sample_prior(model, n_rows, 2, rng)
        log_likelihood = twin.log_normal(data / np.sqrt(sigma[0, 0]), setting.row_covariance(tree))
        truth = summary(c, tree, log_likelihood - data.size * np.log(sigma[0, 0]) / 2)
        chain = make_chain(data, model, rng)
        draws = []
        for sweep in range(burn_in + n_draws * thin):
            chain.sweep()
            if sweep >= burn_in and (sweep - burn_in) % thin == thin - 1:
                draws.append(summary(chain.concentration, chain.tree(), chain.log_likelihood()))
        ranks.append([rank(*pair, rng) for pair in zip(truth, np.array(draws).T, strict=True)])
    for column in np.transpose(ranks):
        counts = np.bincount(column, minlength=n_draws + 1)
        assert_frequencies(counts, np.full(n_draws + 1, 1 / (n_draws + 1)))


@pytest.mark.slow
def test_truth_has_any_rank_among_posterior_draws_with_the_same_probability(twin):
    assert_calibrated(twin, Chain, 200, 12, burn_in=30, thin=6)
