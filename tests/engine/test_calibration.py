"""Simulation-based calibration: the rank of the truth among posterior draws is uniform.

S. Talts et al., Validating Bayesian inference algorithms with simulation-based calibration, 2018.
"""

import numpy as np
import pytest

from sticktree.engine.chain import Chain
from sticktree.engine.state import FACTOR, tree_of
from sticktree.model import Model

N_REPLICATES, N_DRAWS, THIN, BURN_IN = 200, 9, 6, 30


def summary(c, tree, log_likelihood):
    return c, tree.leaves.size, log_likelihood


def rank(truth, draws, rng):
    """Return how many draws are below the truth; ties are broken at random."""
    below, equal = (draws < truth).sum(), (draws == truth).sum()
    return below + rng.integers(equal + 1)


@pytest.mark.slow
def test_truth_has_any_rank_among_posterior_draws_with_the_same_probability(
    twin, assert_frequencies
):
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
        c, setting, tree, sigma, data = twin.sample_prior(model, 12, 2, rng)
        log_likelihood = twin.log_normal(data / np.sqrt(sigma[0, 0]), setting.row_covariance(tree))
        truth = summary(c, tree, log_likelihood - data.size * np.log(sigma[0, 0]) / 2)
        chain = Chain(data, model, rng)
        draws = []
        for sweep in range(BURN_IN + N_DRAWS * THIN):
            chain.sweep()
            if sweep >= BURN_IN and (sweep - BURN_IN) % THIN == THIN - 1:
                c = chain.state.scalars[FACTOR]
                draws.append(summary(c, tree_of(chain.state), chain.log_likelihood()))
        ranks.append([rank(*pair, rng) for pair in zip(truth, np.array(draws).T, strict=True)])
    for column in np.transpose(ranks):
        counts = np.bincount(column, minlength=N_DRAWS + 1)
        assert_frequencies(counts, np.full(N_DRAWS + 1, 1 / (N_DRAWS + 1)))
