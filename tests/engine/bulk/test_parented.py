"""Rows whose groups have parents in the parallel sampler: exact, in threads and after snapshots.

Statistical checks have a false-alarm rate of 1e-4 each.
"""

import numpy as np
import pytest

from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.shared.state import NOISE, set_scales
from sticktree.model import Groups, Model
from sticktree.processes import ParentedRestaurant
from tests.engine.bulk.test_grouped import log_ungrouped, visits
from tests.engine.bulk.test_shared_chain import (
    ALPHA,
    DATA,
    NOISE_VARIANCE,
    SCALE,
)
from tests.support import shared_twin as twin
from tests.support.grouped import ExactGroups
from tests.support.statistics import assert_frequencies

GAMMA, KAPPA = 1.5, 0.6
DAYS, CONDITIONS = [-1, 0, 1], [3, 3, 4, -1, -1]


def fixed_chain(rows, group, parents, depth, discount, seed, kappa=KAPPA):
    """Return a chain whose hyper-parameters are given."""
    groups = Groups(np.array(group, np.int32), GAMMA, parents=np.array(parents), kinship=kappa)
    model = Model(ALPHA[:depth], concentration=1.0, discount=discount, groups=groups)
    chain = SharedBulkChain(rows, model, np.random.default_rng(seed))
    chain.factor = np.ones(2)
    chain.state.scalars[NOISE] = NOISE_VARIANCE
    chain.state.levels["scale"] = SCALE[: depth + 1]
    set_scales(chain.state)
    chain._settle()
    return chain


def log_likelihoods(trees, depth, discount):
    setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE_VARIANCE)
    return np.array(
        [twin.log_posterior(tree, DATA, setting) - log_ungrouped(tree, setting) for tree in trees]
    )


def chances(logs):
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def law_of(alpha, discount, parents, kappa=KAPPA):
    return ParentedRestaurant(
        alpha, discount=discount, group_concentration=GAMMA, kinship=kappa, parents=parents
    )


CASES = {
    "splits, merges and choices alone, days": ([0, 0, 1, 2], DAYS, 1, 0.25),
    "splits, merges and choices alone, conditions": ([0, 1, 1, 2], CONDITIONS, 1, 0.0),
    "days": ([0, 1, 1, 2], DAYS, 2, 0.25),
    "conditions": ([0, 0, 1, 2], CONDITIONS, 2, 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_trees_are_visited_as_the_posterior_says(name, rows_of):
    group, parents, depth, discount = CASES[name]
    trees = ExactGroups(ALPHA[:depth], discount, GAMMA, group).trees
    law = law_of(ALPHA[:depth], discount, parents)
    logs = log_likelihoods(trees, depth, discount)
    logs += [law.log_prob(tree, group) for tree in trees]
    rows = rows_of(DATA, group=np.array(group))
    chain = fixed_chain(rows, group, parents, depth, discount, [7, depth])
    seen = visits(chain, trees, 800, 5, moves=depth > 1)
    assert_frequencies(np.bincount(seen, minlength=len(trees)), chances(logs))


@pytest.mark.slow
def test_without_kinship_parents_change_nothing(rows_of):
    group = [0, 1, 0, 1]
    groups = ExactGroups(ALPHA[:2], 0.25, GAMMA, group)
    logs = log_likelihoods(groups.trees, 2, 0.25) + groups.log_prior
    rows = rows_of(DATA, group=np.array(group))
    chain = fixed_chain(rows, group, [-1, 0], 2, 0.25, 3, kappa=1e-9)
    seen = visits(chain, groups.trees, 800, 5, moves=True)
    assert_frequencies(np.bincount(seen, minlength=len(groups.trees)), chances(logs))
