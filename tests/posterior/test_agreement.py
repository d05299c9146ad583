"""The expected adjusted Rand index against scikit-learn, and the level it chooses."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sticktree import Tree
from sticktree.posterior.clusterings import expected_adjusted_rand
from sticktree.posterior.consensus import consensus_tree
from sticktree.posterior.flat import best_level


@pytest.mark.parametrize("seed", range(5))
def test_index_is_the_mean_of_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    draws = rng.integers(4, size=(7, 20))
    labels = rng.integers(3, size=20)
    naive = np.mean([adjusted_rand_score(draw, labels) for draw in draws])
    assert expected_adjusted_rand(labels, draws) == pytest.approx(naive)


def test_what_says_nothing_agrees_no_more_than_chance():
    together, apart = np.zeros(9, dtype=int), np.arange(9)
    for one in (together, apart):
        for other in (together, apart, np.arange(9) // 3):
            assert expected_adjusted_rand(one, [other]) == 0
    assert expected_adjusted_rand([0], [[0]]) == 0


def noisy(base, level, rng):
    """Return the tree of paths whose steps below a level are drawn anew."""
    paths = np.array(base)
    paths[:, level:] = rng.integers(1, 4, size=paths[:, level:].shape)
    return Tree.from_paths(paths.tolist())


@pytest.mark.parametrize("sure", [1, 2])
def test_best_level_is_the_last_that_is_not_noise(make_draw, sure):
    rng = np.random.default_rng(0)
    base = [(1 + k % 2, 1 + k % 3, 1 + k % 5) for k in range(60)]
    # Above the level that is sure all rows are one.
    base = [(1,) * (sure - 1) + path[sure - 1 :] for path in base]
    draws = [make_draw(noisy(base, sure, rng)) for _ in range(30)]
    assert best_level(draws, 3, consensus_tree(draws, 4.0)) == sure


def test_best_level_is_the_last_where_none_tells_anything(make_draw):
    draws = [make_draw([(1, 1, 1)] * 8)] * 3
    assert best_level(draws, 3, consensus_tree(draws, 4.0)) == 3
