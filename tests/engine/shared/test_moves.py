"""Every move against the exact posterior over all trees on a few data.

A chain of one kind of move, or of all, visits trees as often as the posterior says: chi-square with
false-alarm rate 1e-4. Draws are so far apart that they count as independent, which is checked.
"""

import numpy as np
import pytest

from sticktree.engine.common.random import random_state
from sticktree.engine.shared.datum import datum_sweep, move_data
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.split_leaves import split_merge_sweep
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.processes import enumerate_trees
from tests.support.compiled import integer
from tests.support.statistics import assert_frequencies

DATA = np.array([[0.0, 0.3], [0.4, -0.2], [2.0, 1.5], [-1.0, 2.0]])
ALPHA = np.array([1.0, 0.7, 0.5, 0.4, 0.9, 0.6])
SCALE = np.array([1.0, 1.5, 0.7, 0.4, 0.8, 0.6, 1.1])
NOISE = 0.5
N_DRAWS, N_STARTS = 8_000, 4_000


def datum(state, words):
    for _ in range(2):
        datum_sweep(state, words)


def regraft(state, words):
    for _ in range(4):
        regraft_sweep(state, words, 6)
        some = np.array([integer(words, state.leaf.size) for _ in range(2)])
        move_data(state, some, words)


def split_merge(state, words):
    for _ in range(3):
        split_merge_sweep(state, words, 15)
        regraft_sweep(state, words, 15)


def node_split(state, words):
    for _ in range(3):
        node_split_sweep(state, words, 6)
        datum_sweep(state, words)


def every(state, words):
    node_split_sweep(state, words, 3)
    split_merge_sweep(state, words, 3)
    regraft_sweep(state, words, 3)
    datum_sweep(state, words)


def excess_of_stays(visits, probabilities):
    """Return the mean autocorrelation of the visits of all trees.

    It is half the relative amount by which the chi-square statistic of the visits is too large.
    """
    stays = visits[1:][visits[1:] == visits[:-1]]
    common = probabilities * len(visits) > 5
    share = np.bincount(stays, minlength=len(probabilities)) / (len(visits) - 1)
    excess = (share - probabilities**2)[common] / probabilities[common]
    return excess.sum() / (common.sum() - 1)


@pytest.fixture(scope="module")
def exact(twin):
    """Return a function that gives all trees and their exact posterior probabilities."""
    known = {}

    def get(n_data, depth, discount):
        if (n_data, depth, discount) not in known:
            setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE)
            trees = list(enumerate_trees(n_data, depth))
            probabilities = twin.posterior(trees, DATA[:n_data], setting)
            known[n_data, depth, discount] = setting, trees, probabilities
        return known[n_data, depth, discount]

    return get


@pytest.fixture
def assert_posterior(exact, twin):
    """Return a check of a long chain of moves against the exact posterior."""

    def check(move, n_data, depth, discount):
        setting, trees, probabilities = exact(n_data, depth, discount)
        words = random_state(np.random.default_rng([n_data, depth, int(10 * discount)]))
        state = twin.empty_of(DATA[:n_data], setting)
        for i in range(n_data):
            twin.move_datum(state, i, words)
        census = twin.Census(trees)
        for _ in range(N_DRAWS):
            move(state, words)
            census.add(state)
        assert excess_of_stays(np.array(census.visits), probabilities) < 0.03
        assert_frequencies(census.counts, probabilities)

    return check


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("move", [datum, regraft, split_merge, node_split, every])
def test_move_visits_all_trees_of_four_data_as_the_posterior_says(
    move, depth, discount, assert_posterior
):
    assert_posterior(move, 4, depth, discount)


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize("move", [datum, every])
def test_move_visits_all_deep_trees_of_three_data_as_the_posterior_says(
    move, discount, assert_posterior
):
    assert_posterior(move, 3, 6, discount)


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize(
    "move",
    [
        lambda state, words: move_data(state, np.array([0]), words),
        lambda state, words: regraft_sweep(state, words, 3),
        lambda state, words: split_merge_sweep(state, words, 3),
        lambda state, words: node_split_sweep(state, words, 3),
    ],
    ids=["datum", "regraft", "split_merge", "node_split"],
)
def test_move_alone_keeps_exact_draws_exact(move, discount, exact, twin):
    # A move that is not ergodic by itself is tested alone by starting from the posterior. Draws
    # are then independent.
    setting, trees, probabilities = exact(4, 3, discount)
    rng = np.random.default_rng(1)
    words = random_state(rng)
    starts = [twin.state_of(tree, DATA, setting) for tree in trees]
    census = twin.Census(trees)
    for k in rng.choice(len(trees), size=N_STARTS, p=probabilities):
        state = twin.copied(starts[k])
        move(state, words)
        census.add(state)
    assert_frequencies(census.counts, probabilities)
