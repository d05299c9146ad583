"""The point estimate: the draw that is nearest to all others, whatever its labels are called."""

from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from sticktree.posterior.point import MAX_DRAWS, best_draw, variation_of_information


def conditional_entropy(a, b):
    """Return H(a | b) by its definition."""
    total = 0.0
    for value, given in product(np.unique(a), np.unique(b)):
        both = np.mean((a == value) & (b == given))
        if both > 0:
            total -= both * np.log(both / np.mean(b == given))
    return total


def random_labels(rng, n_rows=15):
    return rng.integers(rng.integers(1, 6), size=n_rows).astype(np.int32)


@pytest.fixture
def pairs():
    rng = np.random.default_rng(0)
    return [(random_labels(rng), random_labels(rng)) for _ in range(50)]


def test_variation_of_information_is_what_each_labelling_leaves_open_of_the_other(pairs):
    for a, b in pairs:
        naive = conditional_entropy(a, b) + conditional_entropy(b, a)
        assert variation_of_information(a, b) == pytest.approx(naive, abs=1e-12)


def test_variation_of_information_agrees_with_mutual_information(pairs):
    for a, b in pairs:
        entropies = mutual_info_score(a, a) + mutual_info_score(b, b)
        expected = entropies - 2 * mutual_info_score(a, b)
        assert variation_of_information(a, b) == pytest.approx(expected, abs=1e-12)


def test_variation_of_information_is_a_metric_on_clusterings(pairs):
    for (a, b), (c, _) in pairwise(pairs):
        forth, back = variation_of_information(a, b), variation_of_information(b, a)
        assert forth == pytest.approx(back, abs=1e-12)
        detour = variation_of_information(a, c) + variation_of_information(c, b)
        assert 0 <= forth <= detour + 1e-12
        assert variation_of_information(a, 7 - a) == pytest.approx(0, abs=1e-12)


@pytest.fixture
def random_draws(make_draw):
    """Return a function that makes draws with random trees of two levels."""

    def make(n_draws, seed, n_rows=12):
        rng = np.random.default_rng(seed)
        paths = [rng.integers(1, 4, size=(n_rows, 2)) for _ in range(n_draws)]
        return [make_draw([tuple(map(int, row)) for row in rows]) for rows in paths]

    return make


def naive_best(draws, level):
    """Return the number of the draw with the least mean distance, by comparing all with all."""
    labels = [draw.tree.cut(level) for draw in draws]
    loss = [np.mean([variation_of_information(a, b) for b in labels]) for a in labels]
    return int(np.argmin(loss))


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_best_draw_is_nearest_to_all_others_on_average(random_draws, level, seed):
    draws = random_draws(20, seed)
    assert best_draw(draws, level) is draws[naive_best(draws, level)]


@pytest.mark.parametrize("n_draws", [1, 2, 57, MAX_DRAWS - 1, MAX_DRAWS])
def test_no_draw_is_left_out_up_to_the_most_that_are_compared(make_draw, n_draws):
    # One draw alone has all together; the best is among the others, wherever the odd one is.
    odd, common = make_draw([(1,), (1,), (1,)]), make_draw([(1,), (2,), (3,)])
    for place in {0, n_draws // 2, n_draws - 1}:
        draws = [common] * n_draws
        draws[place] = odd
        best = best_draw(draws, 1)
        assert best is (odd if n_draws == 1 else draws[0] if n_draws == 2 else common)


def test_more_draws_than_are_compared_still_give_one_of_them(make_draw):
    rare, common = make_draw([(1,), (1,), (1,)]), make_draw([(1,), (2,), (2,)])
    draws = ([common] * 4 + [rare]) * 50
    assert best_draw(draws, 1) is common


def test_best_draw_does_not_depend_on_the_names_of_clusters(random_draws, make_draw):
    draws = random_draws(15, seed=9)
    switched = []
    for draw in draws:
        paths = draw.tree.expanded().paths()
        switched.append(make_draw([(9 - a, 9 - b) for a, b in paths]))
    assert any((a.tree.cut(2) != b.tree.cut(2)).any() for a, b in zip(draws, switched, strict=True))
    for level in (1, 2):
        best, other = best_draw(draws, level), best_draw(switched, level)
        assert draws.index(best) == switched.index(other)


def test_fitted_tree_and_labels_are_those_of_the_best_draw(fit, blobs):
    for level in (None, 1, 2):
        mixture = fit(blobs(), level=level)
        at = 2 if level is None else level
        best = best_draw(mixture.posterior_.draws, at)
        assert mixture.tree_ == best.tree
        np.testing.assert_array_equal(mixture.labels_, best.tree.cut(at))
