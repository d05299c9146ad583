"""Convergence in tree space: chains of one law agree, chains of two do not."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sticktree.metrics import meeting_distance
from sticktree.posterior import Posterior
from sticktree.posterior.tree_space import TreeSpace, tree_space
from tests.support.models import of_depth


@pytest.fixture
def chain_of(make_draw):
    """Return a function that makes a chain of random trees of depth 2.

    Data 0 to 9 are in one branch with probability ``share`` each, else in another.
    """

    def make(n_draws, share, seed, n_data=10):
        rng = np.random.default_rng(seed)
        chain = []
        for _ in range(n_draws):
            first = np.where(rng.random(n_data) < share, 1, 2)
            second = rng.integers(1, 3, size=n_data)
            chain.append(make_draw(list(zip(first.tolist(), second.tolist(), strict=True))))
        return chain

    return make


def test_chains_of_one_law_agree(chain_of):
    # In 40 other seeds the ratio stayed within 1 ± 0.001 and R-hat below 1.03.
    space = tree_space(Posterior([chain_of(100, 0.5, seed) for seed in range(4)], of_depth(2)))
    assert space.ratio == pytest.approx(1, abs=0.01)
    assert space.r_hat < 1.05
    assert space.ess > 100
    assert space.between == pytest.approx(space.within, rel=0.02)
    assert space.agrees()
    assert space.in_words().startswith("chains agree: trees of different chains are as near")


def test_chains_of_different_laws_disagree(chain_of):
    chains = [chain_of(100, share, seed) for seed, share in enumerate([0.5, 0.5, 0.5, 0.95])]
    space = tree_space(Posterior(chains, of_depth(2)))
    # In ten other seeds: ratio at least 1.045, R-hat 1.46, distances 1.067 times as large.
    assert space.ratio > 1.03
    assert space.r_hat > 1.3
    assert space.between > 1.05 * space.within
    assert not space.agrees()
    assert "chains disagree" in space.in_words()
    assert space.in_words().endswith("run longer")


def test_distances_are_those_of_the_trees(make_draw):
    # Each chain has one clustering, with one datum elsewhere in each draw.
    chains = []
    for common in ([1] * 5 + [2] * 5, [1, 2] * 5):
        moved = [[3 if i == k else c for i, c in enumerate(common)] for k in range(4)]
        chains.append([make_draw([(c, 1) for c in clusters]) for clusters in moved])
    space = tree_space(Posterior(chains, of_depth(2)), n_pairs=100_000)
    trees = [[draw.tree for draw in chain] for chain in chains]
    within = [
        meeting_distance(a, b) for chain in trees for k, a in enumerate(chain) for b in chain[:k]
    ]
    between = [meeting_distance(a, b) for a in trees[0] for b in trees[1]]
    assert space.within == pytest.approx(np.mean(within), abs=0.01)
    assert space.between == pytest.approx(np.mean(between), abs=0.01)
    squares = np.square(within + between)
    ratio = np.sqrt(squares.mean() / squares[: len(within)].mean())
    assert space.ratio == pytest.approx(ratio, abs=0.02)


def test_one_chain_says_so(chain_of):
    space = tree_space(Posterior([chain_of(30, 0.5, 0)], of_depth(2)))
    assert space.within > 0
    assert math.isnan(space.between)
    assert math.isnan(space.ratio)
    assert space.ess > 5
    assert space.agrees() is None
    assert space.in_words().startswith("one chain only")


def test_draws_are_spread_over_the_chain(chain_of):
    chains = [chain_of(50, 0.5, seed) for seed in range(2)]
    few = tree_space(Posterior(chains, of_depth(2)), n_draws=10)
    spread = [[chain[int(k)] for k in np.linspace(0, 49, 10)] for chain in chains]
    assert few == tree_space(Posterior(spread, of_depth(2)))
    assert few.n_draws == 10


def test_trees_that_never_change(make_draw):
    one, other = make_draw([(1,), (1,), (2,)]), make_draw([(1,), (2,), (2,)])
    same = tree_space(Posterior([[one] * 5, [one] * 5], of_depth(1)))
    assert (same.within, same.between, same.ratio) == (0.0, 0.0, 1.0)
    assert same.agrees()
    stuck = tree_space(Posterior([[one] * 5, [other] * 5], of_depth(1)))
    assert stuck.ratio == math.inf
    assert stuck.in_words().startswith("chains disagree")


def test_one_datum_and_few_draws(make_draw):
    alone = make_draw([(1,)])
    assert tree_space(Posterior([[alone] * 4] * 2, of_depth(1))).ratio == 1.0
    space = tree_space(Posterior([[alone]] * 2, of_depth(1)))
    assert space.in_words().startswith("too few draws")
    with pytest.raises(ValueError, match="posterior must have at least one draw"):
        tree_space(Posterior([[], []], of_depth(1)))
    with pytest.raises(ValueError, match="n_draws must be an integer of at least 2, got 1"):
        tree_space(Posterior([[alone]], of_depth(1)), n_draws=1)


def test_words_give_the_numbers():
    space = TreeSpace(0.1, 0.2, 1.31, 1.2, 40.0, 2, 10)
    assert "(ratio 1.31, R-hat 1.20, where at most 1.05 would be fine)" in space.in_words()
    assert space.agrees(limit=1.5)
    close = replace(space, ratio=1.0504, r_hat=1.02)
    assert close.in_words().startswith("chains nearly agree: trees of different chains differ")
    assert "(ratio 1.0504, R-hat 1.02, where at most 1.05" in close.in_words()
