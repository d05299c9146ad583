"""Geweke's joint test: the sampler and the model must agree on the joint law of everything.

Alternate a sweep of the chain with new data given all the rest: that is a chain whose law is the
prior, if and only if the sweep keeps the posterior. Means of many functions are compared with draws
from the prior; the false-alarm rate is 1e-4 over all functions of a case.
"""

import numpy as np
import pytest

from sticktree.engine.common.links import DISCOUNT, FACTOR
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.shared.chain import Chain
from sticktree.model import Model
from tests.support.statistics import assert_same_mean

PRIORS = {
    "concentration_prior": (3.0, 3.0),
    "precision_prior": (3.0, 3.0),
    "scale_prior": (3.0, 3.0),
    "discount_prior": (2.0, 3.0),
}
LEARNED = {"precision_prior": (3.0, None)}  # rates
N_SWEEPS, N_DRAWS = 2_800, 1_500


def meeting_level(tree, first, second):
    # Parents have smaller numbers than their children.
    while first != second:
        first, second = min(first, second), tree.parent[max(first, second)]
    return tree.level[first]


def functions(c, discount, scale, sigma, tree, data):
    """Return numbers whose means are compared; logarithms keep all moments finite."""
    above = tree.level[tree.parent[1:]]
    levels = range(1, tree.depth + 1)
    nodes = [np.sum((above < level) & (tree.level[1:] >= level)) for level in levels]
    variances = np.diag(sigma)
    correlation = sigma[0, -1] / np.sqrt(variances[0] * variances[-1])
    return np.concatenate(
        [
            [np.log(c), discount, discount**2],
            np.log(scale),
            np.log(scale) ** 2,
            np.log(variances),
            [correlation],
            nodes,
            np.square(nodes),
            [meeting_level(tree, *tree.leaf[:2]), tree.count[tree.leaf[0]]],
            np.log(np.abs(data[:2])).ravel(),
            [np.log(np.abs(data[0] - data[1]).sum())],
        ]
    )


def of_chain(chain):
    state = chain.state
    return functions(
        state.scalars[FACTOR],
        state.scalars[DISCOUNT],
        state.levels["scale"],
        chain.covariance,
        tree_of(state),
        chain.raw,
    )


def of_draw(draw):
    c, setting, tree, sigma, data = draw
    return functions(c, setting.discount, setting.scale, sigma, tree, data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "dimension", "choices"),
    [
        (2, 1, {"discount": None}),
        (3, 2, {"discount": None, "covariance_type": "diag", **LEARNED}),
        (2, 2, {"discount": 0.2, "covariance_type": "full", **LEARNED}),
        (3, 1, {"discount": 0.0, "concentration": 0.8, "scales": "shared", "private_step": True}),
    ],
    ids=["spherical", "diag", "full", "shared"],
)
def test_sweeps_and_new_data_together_keep_the_prior(depth, dimension, choices, twin):
    n_data = 5
    rng = np.random.default_rng([depth, dimension])
    model = Model(np.array([1.0, 0.7, 0.5])[:depth], **PRIORS | choices)
    draws = [twin.sample_prior(model, n_data, dimension, rng) for _ in range(N_DRAWS)]
    chain = Chain(draws[0].data.copy(), model, rng)
    chained = []
    for sweep in range(N_SWEEPS + 200):
        chain.sweep()
        sigma = chain.covariance
        tree = tree_of(chain.state)
        chain.raw[:] = twin.sample_data(tree, twin.setting_of(chain.state), sigma, rng)
        chain._whiten()
        if sweep >= 200:
            chained.append(of_chain(chain))
    chained = np.array(chained)
    independent = np.array([of_draw(draw) for draw in draws])
    varies = np.ptp(independent, axis=0) > 0
    assert (chained[:, ~varies] == independent[0, ~varies]).all()
    assert_same_mean(chained[:, varies], independent[:, varies])
