"""Transfer support against sets written out, and its laws."""

import numpy as np
import pytest

from sticktree import Tree
from sticktree.posterior.consensus import consensus_tree, support
from sticktree.posterior.transfer import transfer_support
from sticktree.processes import NestedRestaurant
from tests.support.trees import SHAPES, data_below, random_tree


def naive_transfer(tree, draws):
    """Return the definition: of all branches of a draw the nearest, sets and all."""
    n = tree.n_data
    shares = np.ones(tree.n_nodes)
    for w, rows in enumerate(data_below(tree)):
        if not 1 < len(rows) < n:
            continue
        moved = []
        for draw in draws:
            others = [*data_below(draw.tree), *({i} for i in range(n)), set(range(n))]
            moved.append(min(len(rows ^ other) for other in others))
        shares[w] = 1 - np.mean(moved) / min(len(rows) - 1, n - len(rows))
    return shares


@pytest.fixture
def some_draws(make_draw):
    """Return draws that differ from one tree by rows that moved."""

    def make(rng, n_rows, n_draws, moved=0.2):
        base = np.array(NestedRestaurant(1.0, 3).sample(n_rows, rng).paths())
        draws = []
        for _ in range(n_draws):
            paths = base.copy()
            who = np.flatnonzero(rng.random(n_rows) < moved)
            paths[who] = base[rng.integers(n_rows, size=who.size)]
            draws.append(make_draw(Tree.from_paths(paths.tolist())))
        return draws

    return make


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(8))
def test_it_is_its_definition(some_draws, shape, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(3, 25))
    tree = random_tree(rng, n_rows, shape)
    draws = some_draws(rng, n_rows, 6, moved=rng.random())
    np.testing.assert_allclose(transfer_support(tree, draws), naive_transfer(tree, draws))


@pytest.mark.parametrize("seed", range(8))
def test_of_the_consensus_and_never_below_exact_support(some_draws, seed):
    rng = np.random.default_rng(seed)
    draws = some_draws(rng, 40, 7, moved=0.1)
    tree = consensus_tree(draws, leaf_time=4.0)
    np.testing.assert_allclose(tree.transfer, naive_transfer(tree, draws))
    assert (tree.support <= tree.transfer).all()  # with no allowance for rounding
    assert (tree.transfer <= 1).all()
    # Two rows are together or not, and so it is for all but one.
    extreme = np.isin(tree.count, [2, 39])
    np.testing.assert_array_equal(tree.transfer[extreme], tree.support[extreme])


def original_transfer(tree, draws):
    """Return the transfer support of Lemoine et al. 2018, of trees with an outgroup at the root."""
    n = tree.n_data  # the outgroup is datum n
    shares = np.ones(tree.n_nodes)
    for w, rows in enumerate(data_below(tree)):
        light = min(len(rows), n + 1 - len(rows))  # the smaller side of the bipartition
        if light < 2:
            continue
        moved = []
        for draw in draws:
            others = [*data_below(draw.tree), *({i} for i in range(n)), set(range(n))]
            apart = [len(rows ^ other) for other in others if other]
            moved.append(min(min(k, n + 1 - k) for k in apart))
        shares[w] = 1 - np.mean(moved) / (light - 1)
    return shares


@pytest.mark.parametrize("seed", range(6))
def test_the_original_lets_the_root_move_too(some_draws, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 12, "binary")
    draws = some_draws(rng, 12, 5, moved=0.5)
    ours, theirs = transfer_support(tree, draws), original_transfer(tree, draws)
    assert (ours <= theirs + 1e-12).all()


def test_the_original_differs_where_draws_have_what_a_branch_lacks(make_draw):
    tree = Tree([-1, 0, 0], [1, 1, 1, 2, 2, 2])
    draws = [make_draw(Tree.from_paths([(1,), (2,), (3,), (4,), (4,), (4,)]))]
    np.testing.assert_array_equal(transfer_support(tree, draws), [1, 0, 1])
    np.testing.assert_array_equal(original_transfer(tree, draws), [1, 0.5, 1])


def test_one_row_that_wanders_costs_little(make_draw):
    at_home = Tree.from_paths([(1,)] * 10 + [(2,)] * 10)
    paths = at_home.paths()
    away = [[*paths[:k], (2,), *paths[k + 1 :]] for k in range(10)]
    draws = [make_draw(Tree.from_paths(paths)) for paths in away]
    np.testing.assert_array_equal(support(at_home, draws), [1, 0, 0])
    np.testing.assert_allclose(transfer_support(at_home, draws), [1, 1 - 1 / 9, 1 - 1 / 9])


def test_the_order_of_rows_does_not_matter(some_draws, make_draw):
    rng = np.random.default_rng(3)
    draws = some_draws(rng, 30, 5)
    tree = consensus_tree(draws, leaf_time=4.0)
    order = rng.permutation(30)
    moved = Tree(tree.parent, tree.leaf[order])
    others = [make_draw(Tree.from_paths([d.tree.paths()[i] for i in order])) for d in draws]
    np.testing.assert_array_equal(transfer_support(moved, others), transfer_support(tree, draws))


def test_a_branch_of_all_draws_has_1(some_draws):
    draw = some_draws(np.random.default_rng(1), 25, 1)[0]
    np.testing.assert_array_equal(transfer_support(draw.tree, [draw] * 4), 1.0)


def test_a_draw_of_one_cluster_has_no_branch(make_draw):
    draws = [make_draw(Tree.from_paths([(1,)] * 6))]
    tree = Tree([-1, 0, 0, 1, 1], [3, 3, 3, 4, 2, 2])
    # Each is as far from a row of its own, or from all rows, as it can be.
    np.testing.assert_array_equal(transfer_support(tree, draws), [1, 0, 0, 0, 1])


@pytest.mark.parametrize("n_rows", [1, 2])
def test_few_rows_are_always_branches(make_draw, n_rows):
    tree = Tree([-1] + [0] * n_rows, range(1, n_rows + 1))
    draws = [make_draw(Tree.from_paths([(1,)] * n_rows))]
    np.testing.assert_array_equal(transfer_support(tree, draws), 1.0)


def test_without_draws_nothing_is_supported(make_draw):
    tree = Tree.from_paths([(1, 1), (1, 2), (2, 1)])
    np.testing.assert_array_equal(transfer_support(tree, []), [1, 0, 1, 1, 1, 1])
    draw = make_draw(tree)
    np.testing.assert_array_equal(transfer_support(tree, [draw.without_labels(), draw]), 1.0)


def test_rows_in_groups_too(some_draws):
    rng = np.random.default_rng(0)
    draws = some_draws(rng, 300, 5, moved=0.05)
    tree = consensus_tree(draws, leaf_time=4.0, max_exact=20)
    np.testing.assert_allclose(tree.transfer, naive_transfer(tree, draws))


def test_a_ladder_of_many_steps(make_draw):
    """Paths of largest branches keep a ladder from taking N² steps."""
    n = 20_000
    ladder = Tree.from_linkage(
        np.array([[n + k - 1 if k else 0, k + 1, k + 1.0, k + 2] for k in range(n - 1)])
    )
    assert ladder.depth == n - 1
    half = make_draw(Tree.from_paths([(1,)] * (n // 2) + [(2,)] * (n - n // 2)))
    found = transfer_support(ladder, [half])
    size = ladder.count
    inner = (size > 1) & (size < n)
    moves = np.minimum(np.abs(size - n // 2), np.minimum(size - 1, n - size))
    np.testing.assert_allclose(
        found[inner], (1 - moves / np.minimum(size - 1, n - size).clip(1))[inner]
    )
