"""The best sampled tree: the draw nearest to all others, whatever its labels are called."""

import numpy as np
import pytest

from sticktree.metrics import binder_loss, variation_of_information
from sticktree.posterior import best_draw
from sticktree.posterior.clusterings import MAX_DRAWS

LOSSES = {"vi": variation_of_information, "binder": binder_loss}


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


def test_where_all_cannot_be_compared_with_all_the_best_is_still_found(make_draw, monkeypatch):
    # One draw is right; the others have one datum wrong each, or are all alone.
    right = [(1,)] * 6 + [(2,)] * 6
    near = [[(3,) if i == k else path for i, path in enumerate(right)] for k in range(12)]
    alone = [[(i + 1,) for i in range(12)]] * 8
    draws = [make_draw(paths) for paths in [*alone, *near, right]]
    monkeypatch.setattr("sticktree.posterior.clusterings.STEPS", 10 * 12 * len(draws))
    for loss in LOSSES:
        assert best_draw(draws, 1, loss) is draws[-1]


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


def test_wrong_input_is_refused_in_plain_words(make_draw):
    with pytest.raises(ValueError, match='loss must be "vi" or "binder", got \'rand\''):
        best_draw([make_draw([(1,)])], 1, "rand")
    with pytest.raises(ValueError, match="draws must have at least one draw"):
        best_draw([], 1)
    with pytest.raises(ValueError, match="level must be an integer of at least 0, got -1"):
        best_draw([make_draw([(1,)])], -1)
