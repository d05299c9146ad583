"""Labels and losses of the draws' clusterings, and who is with whom."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sticktree import Tree
from sticktree.metrics import binder_loss, variation_of_information
from sticktree.posterior import best_draw, coclustering, confidence, expected_loss, meeting_times
from sticktree.posterior.clusterings import MAX_DRAWS, expected_adjusted_rand
from sticktree.posterior.consensus import consensus_tree
from sticktree.posterior.flat import best_level

LOSSES = {"vi": variation_of_information, "binder": binder_loss}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_rows", [1, 2, 9, 40])
def test_expected_loss_is_the_mean_distance_to_the_draws(loss, n_rows):
    rng = np.random.default_rng(n_rows)
    for _ in range(10):
        draws = rng.integers(rng.integers(1, 8), size=(6, n_rows))
        labels = rng.integers(rng.integers(1, 8), size=n_rows)
        naive = np.mean([LOSSES[loss](labels, draw) for draw in draws])
        assert expected_loss(labels, draws, loss) == pytest.approx(naive, abs=1e-12)
        # What clusters are called does not matter, be it far from 0 … N − 1.
        other = expected_loss(5 - 3 * labels, 1000 * draws - 7, loss)
        assert other == pytest.approx(naive, abs=1e-12)


def test_losses_of_wrong_input_are_refused_in_plain_words():
    with pytest.raises(ValueError, match='loss must be "vi" or "binder", got \'rand\''):
        expected_loss([0], [[0]], "rand")
    with pytest.raises(ValueError, match="labels_of_draws must be integers, a row for each draw"):
        expected_loss([0], [0])
    with pytest.raises(ValueError, match=r"labels_of_draws must be integers.*got float64"):
        expected_loss([0], [[0.5]])
    with pytest.raises(ValueError, match=r"labels must be 2 integers.*of shape \(1,\)"):
        expected_loss([0], [[0, 1]])


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


@pytest.fixture
def random_draws(make_draw):
    """Return a function that makes draws with random trees of two levels."""

    def make(n_draws, seed, n_rows=12):
        rng = np.random.default_rng(seed)
        paths = [rng.integers(1, 4, size=(n_rows, 2)) for _ in range(n_draws)]
        return [make_draw([tuple(map(int, row)) for row in rows]) for rows in paths]

    return make


def naive_best(draws, level, loss):
    """Return the number of the draw with the least mean distance, by comparing all with all."""
    labels = [draw.tree.cut(level) for draw in draws]
    expected = [np.mean([LOSSES[loss](a, b) for b in labels]) for a in labels]
    return int(np.argmax(np.array(expected) <= min(expected) + 1e-12))


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_best_draw_is_nearest_to_all_others_on_average(random_draws, level, loss, seed):
    draws = random_draws(20, seed)
    assert best_draw(draws, level, loss) is draws[naive_best(draws, level, loss)]


def test_where_all_cannot_be_compared_with_all_the_best_is_still_found(make_draw):
    # One draw is right; the others have one datum wrong each, or are all alone.
    right = [(1,)] * 6 + [(2,)] * 6
    near = [[(3,) if i == k else path for i, path in enumerate(right)] for k in range(12)]
    alone = [[(i + 1,) for i in range(12)]] * 8
    draws = [make_draw(paths) for paths in [*alone, *near, right]]
    for loss in LOSSES:
        assert best_draw(draws, 1, loss, max_steps=10 * 12 * len(draws)) is draws[-1]


@pytest.mark.parametrize("n_draws", [1, 2, 57, MAX_DRAWS])
def test_no_draw_is_left_out_up_to_the_most_that_are_compared(make_draw, n_draws):
    # One draw alone has all together; the best is among the others, wherever the odd one is.
    odd, common = make_draw([(1,), (1,), (1,)]), make_draw([(1,), (2,), (3,)])
    for place in {0, n_draws // 2, n_draws - 1}:
        draws = [common] * n_draws
        draws[place] = odd
        nearest = best_draw(draws, 1)
        assert nearest is (odd if n_draws == 1 else draws[0] if n_draws == 2 else common)


def test_more_draws_than_are_compared_still_give_one_of_them(make_draw):
    rare, common = make_draw([(1,), (1,), (1,)]), make_draw([(1,), (2,), (2,)])
    draws = ([common] * 4 + [rare]) * 250
    assert len(draws) > MAX_DRAWS
    assert best_draw(draws, 1) is common


def test_best_draw_does_not_depend_on_the_names_of_clusters(random_draws, make_draw):
    draws = random_draws(15, seed=9)
    switched = []
    for draw in draws:
        paths = draw.tree.expanded().paths()
        switched.append(make_draw([(9 - a, 9 - b) for a, b in paths]))
    assert any((a.tree.cut(2) != b.tree.cut(2)).any() for a, b in zip(draws, switched, strict=True))
    for level in (1, 2):
        one, other = best_draw(draws, level), best_draw(switched, level)
        assert draws.index(one) == switched.index(other)


def test_best_draw_refuses_wrong_input_in_plain_words(make_draw):
    with pytest.raises(ValueError, match='loss must be "vi" or "binder", got \'rand\''):
        best_draw([make_draw([(1,)])], 1, "rand")
    with pytest.raises(ValueError, match="draws must have at least one draw"):
        best_draw([], 1)
    with pytest.raises(ValueError, match="level must be an integer of at least 0, got -1"):
        best_draw([make_draw([(1,)])], -1)


def naive_coclustering(draws):
    return np.mean([np.equal.outer(draw, draw) for draw in draws], axis=0)


def test_confidence_is_the_mean_probability_of_being_with_the_others():
    rng = np.random.default_rng(0)
    for n_data in (1, 2, 10, 25):
        draws = rng.integers(4, size=(9, n_data))
        labels = rng.integers(7, size=n_data)
        together = naive_coclustering(draws)
        alone = np.mean([[np.sum(draw == label) == 1 for label in draw] for draw in draws], axis=0)
        found = confidence(labels, draws)
        for i in range(n_data):
            others = np.flatnonzero((labels == labels[i]) & (np.arange(n_data) != i))
            expected = together[i, others].mean() if others.size else alone[i]
            assert found[i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_data", [1, 3, 64, 130])
def test_coclustering_is_the_share_of_draws_with_a_pair_together(n_data):
    rng = np.random.default_rng(1)
    draws = rng.integers(5, size=(11, n_data))
    expected = naive_coclustering(draws)
    np.testing.assert_allclose(coclustering(draws), expected, rtol=1e-6)
    rows = rng.integers(n_data, size=n_data // 2 + 1)
    np.testing.assert_allclose(coclustering(draws, rows), expected[np.ix_(rows, rows)], rtol=1e-6)


def test_meeting_times_are_mean_meeting_levels(make_draw):
    rng = np.random.default_rng(2)
    draws = [
        make_draw([tuple(map(int, row)) for row in rng.integers(1, 4, size=(15, 3))])
        for _ in range(6)
    ]
    expected = np.mean([draw.tree.meeting_level_matrix() for draw in draws], axis=0)
    np.testing.assert_allclose(meeting_times(draws), expected, rtol=1e-6)
    rows = [7, 3, 3, 0]
    np.testing.assert_allclose(meeting_times(draws, rows), expected[np.ix_(rows, rows)], rtol=1e-6)


def test_matrices_of_too_many_or_wrong_rows_are_refused(make_draw):
    draws = np.zeros((1, 20_001), dtype=np.int32)
    with pytest.raises(ValueError, match=r"rows must be at most 20,000, got 20,001: a matrix"):
        coclustering(draws)
    assert coclustering(draws, [20_000]).tolist() == [[1.0]]
    with pytest.raises(ValueError, match=r"rows\[1\] = 3 must lie between 0 and 2"):
        coclustering([[0, 0, 1]], [0, 3])
    with pytest.raises(ValueError, match=r"rows\[0\] = -1 must lie between 0 and 1"):
        meeting_times([make_draw([(1,), (2,)])], [-1])
    with pytest.raises(ValueError, match="draws must have at least one draw"):
        meeting_times([])
