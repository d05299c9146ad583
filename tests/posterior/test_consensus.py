"""The consensus tree against scipy and against sums over draws written out."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from sticktree import Tree
from sticktree.posterior.consensus import Members, consensus_tree, grown, meeting_times, support
from sticktree.posterior.linking import average_linkage, most_often_with
from sticktree.processes import NestedRestaurant


@pytest.fixture
def random_draws(make_draw):
    def make(n_rows, n_draws, *, depth=3, concentration=1.0, seed=0):
        rng = np.random.default_rng(seed)
        law = NestedRestaurant(concentration, depth)
        return [make_draw(law.sample(n_rows, rng)) for _ in range(n_draws)]

    return make


@pytest.fixture
def alike_draws(make_draw):
    """Draws that differ from one tree by rows that moved, as those of a posterior do."""

    def make(n_rows, n_draws, *, moved=0.05, seed=0):
        rng = np.random.default_rng(seed)
        base = np.array(NestedRestaurant(2.0, 3).sample(n_rows, rng).paths())
        draws = []
        for _ in range(n_draws):
            paths = base.copy()
            who = np.flatnonzero(rng.random(n_rows) < moved)
            paths[who] = base[rng.integers(n_rows, size=who.size)]
            draws.append(make_draw(Tree.from_paths(paths.tolist())))
        return draws

    return make


def naive_meeting_levels(draws):
    return np.mean([draw.tree.meeting_level_matrix() for draw in draws], axis=0)


def off_diagonal(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


def test_meeting_times_are_those_of_the_trees(random_draws):
    draws = random_draws(20, 15)
    np.testing.assert_allclose(meeting_times(draws), naive_meeting_levels(draws), rtol=1e-6)
    rows = np.array([3, 17, 3, 0])
    np.testing.assert_allclose(
        meeting_times(draws, rows), naive_meeting_levels(draws)[np.ix_(rows, rows)], rtol=1e-6
    )


@pytest.mark.parametrize("seed", range(5))
def test_average_linkage_is_that_of_scipy(seed):
    nearness = np.random.default_rng(seed).random((30, 30))
    nearness += nearness.T
    np.fill_diagonal(nearness, 2.0)
    near = average_linkage(nearness.copy(), np.ones(30, dtype=np.int64))[2]
    np.testing.assert_allclose(
        np.sort(2 - near), linkage(squareform(2 - nearness), "average")[:, 2]
    )


def test_average_linkage_of_groups_is_that_of_their_members():
    rng = np.random.default_rng(0)
    size = np.array([3, 1, 4, 2, 1, 5])
    nearness = rng.random((6, 6))
    nearness += nearness.T
    group = np.repeat(np.arange(6), size)
    full = nearness[np.ix_(group, group)]
    full[group[:, None] == group] = 9.0
    joins = average_linkage(nearness, size)
    np.testing.assert_allclose(
        np.sort(9 - joins[2]), linkage(squareform(9 - full, checks=False), "average")[-5:, 2]
    )


@pytest.mark.parametrize("seed", range(1, 6))
def test_pairs_meet_where_average_linkage_joins_them(alike_draws, seed):
    draws = alike_draws(15, 500, seed=seed, moved=0.3)
    tree = consensus_tree(draws, leaf_time=4.0)
    distance = 3 - naive_meeting_levels(draws)
    np.fill_diagonal(distance, 0)
    expected = 3 - cophenet(linkage(squareform(distance, checks=False), "average"))
    i, j = np.triu_indices(15, 1)
    # With these seeds there are no ties, which might be broken otherwise.
    np.testing.assert_allclose(tree.meeting_time(i, j), expected, atol=1e-9)


def test_every_row_has_a_leaf_at_the_end(alike_draws):
    tree = consensus_tree(alike_draws(30, 20), leaf_time=3.5)
    assert np.unique(tree.leaf).size == 30
    np.testing.assert_array_equal(tree.time[tree.leaf], 3.5)
    assert (tree.own_count[tree.n_children > 0] == 0).all()
    inner = tree.n_children > 0
    assert (tree.n_children[inner] > 1).all()
    above = tree.parent[1:]
    assert (tree.time[1:] > tree.time[above]).all()


def test_larger_children_come_first(alike_draws):
    tree = consensus_tree(alike_draws(40, 30), leaf_time=4.0)
    for node in range(tree.n_nodes):
        sizes = tree.count[tree.children(node)]
        assert (np.diff(sizes) <= 0).all()


def test_equal_draws_are_their_own_consensus(random_draws):
    draw = random_draws(30, 1)[0]
    tree = consensus_tree([draw] * 7, leaf_time=4.0)
    sets = {tuple(tree.data_below(w)) for w in range(tree.n_nodes)}
    known = {tuple(draw.tree.data_below(w)) for w in range(draw.tree.n_nodes)}
    assert sets == known | {(i,) for i in range(30)}
    np.testing.assert_array_equal(tree.support, 1.0)
    i, j = np.triu_indices(30, 1)
    np.testing.assert_allclose(tree.meeting_time(i, j), draw.tree.meeting_level(i, j))


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_few_rows(random_draws, n_rows):
    tree = consensus_tree(random_draws(n_rows, 10), leaf_time=4.0)
    assert tree.n_data == n_rows
    assert np.unique(tree.leaf).size == n_rows
    np.testing.assert_array_equal(tree.time[tree.leaf], 4.0)


def test_rows_all_together_are_a_star(make_draw):
    tree = consensus_tree([make_draw(Tree.from_paths([(1, 1)] * 9))] * 3, leaf_time=3.0)
    np.testing.assert_array_equal(tree.parent, [-1] + [0] * 9)
    np.testing.assert_array_equal(tree.time, [2.0] + [3.0] * 9)


def test_rows_all_apart_are_a_star(make_draw):
    tree = consensus_tree([make_draw(Tree.from_paths([(k,) for k in range(1, 9)]))], leaf_time=2.0)
    np.testing.assert_array_equal(tree.parent, [-1] + [0] * 8)


def test_support_is_the_share_of_draws_with_the_cluster(alike_draws):
    draws = alike_draws(15, 25, moved=0.1)
    tree = consensus_tree(draws, leaf_time=4.0)
    clusters = [{frozenset(d.tree.data_below(w)) for w in range(d.tree.n_nodes)} for d in draws]
    for node in range(tree.n_nodes):
        below = frozenset(tree.data_below(node))
        share = np.mean([below in known or len(below) == 1 for known in clusters])
        assert tree.support[node] == pytest.approx(share)
    assert np.unique(tree.support).size > 2


def test_support_counts_a_chain_of_only_children_once(make_draw):
    tree = Tree.from_paths([(1, 1, 1), (1, 1, 1), (2, 1, 1)])
    np.testing.assert_array_equal(support(tree, [make_draw(tree)]), 1.0)


def test_order_of_rows_does_not_matter(alike_draws, make_draw):
    draws = alike_draws(40, 30, moved=0.2)
    order = np.random.default_rng(1).permutation(40)
    shuffled = [
        make_draw(Tree(d.tree.parent, d.tree.leaf[order], level=d.tree.level)) for d in draws
    ]
    one, other = consensus_tree(draws, 4.0), consensus_tree(shuffled, 4.0)
    i, j = np.triu_indices(40, 1)
    np.testing.assert_allclose(
        other.meeting_time(i, j), one.meeting_time(order[i], order[j]), atol=1e-9
    )


# ---- many rows ---------------------------------------------------------------------------------


def difference(tree, exact):
    i, j = np.triu_indices(exact.n_data, 1)
    return np.sqrt(np.mean((tree.meeting_time(i, j) - exact.meeting_time(i, j)) ** 2))


def test_groups_change_little(alike_draws):
    """With 400 groups for 800 rows, pairs meet within 2 % of the depth of where they should."""
    draws = alike_draws(800, 200, moved=0.02)
    exact, tree = consensus_tree(draws, 4.0), consensus_tree(draws, 4.0, max_exact=400)
    assert tree.n_nodes < exact.n_nodes
    assert difference(tree, exact) < 0.06
    # Another, unrelated tree is far.
    assert difference(consensus_tree(alike_draws(800, 20, seed=1), 4.0), exact) > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_rows_join_the_group_they_are_most_often_with(seed):
    rng = np.random.default_rng(seed)
    leaves = rng.integers(4, size=(6, 30)).astype(np.int32)
    leaves[:3, 7] = 4  # alone in half of the draws
    group = np.arange(30) % 5
    group[7] = 5
    best = most_often_with(leaves, group)[0]
    together = (leaves[:, :, None] == leaves[:, None, :]).mean(axis=0)
    np.fill_diagonal(together, np.nan)
    together[7, 7] = 0.5
    for row in range(30):
        shares = [np.nanmean(together[row, group == g]) for g in range(6)]
        assert shares[best[row]] == pytest.approx(max(shares))
    assert best[7] == 5


def test_groups_are_rows_where_there_are_enough(alike_draws):
    draws = alike_draws(50, 20)
    assert consensus_tree(draws, 4.0, max_exact=50) == consensus_tree(draws, 4.0)


def test_more_leaves_than_groups(random_draws):
    draws = random_draws(300, 10, concentration=60.0)
    assert np.unique(draws[0].leaf).size > 40
    tree = consensus_tree(draws, 4.0, max_exact=40)
    assert np.unique(tree.leaf).size == 300


@pytest.mark.parametrize("name", ["max_exact", "max_draws"])
def test_wrong_bounds_are_named(random_draws, name):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least"):
        consensus_tree(random_draws(5, 2), 4.0, **{name: 0})


@pytest.mark.parametrize("seed", range(20))
def test_joins_may_come_in_any_order(seed):
    """Joins of the same level are rounded, so a later one may seem the nearer of two."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 12))
    # Each item is joined with one before it, which is one way to make a tree of all of them.
    left = np.array([rng.integers(k) for k in range(1, m)])
    right = np.arange(1, m)
    level = rng.integers(4, size=m - 1) / 4.0
    shuffled = rng.permutation(m - 1)
    joins = (left[shuffled], right[shuffled], level[shuffled])
    tree = grown(Members(np.arange(m)), np.zeros(m), joins, 2.0)
    # Two items meet at the lowest of the levels on the way from one to the other.
    meet = np.full((m, m), np.inf)
    for a, b, here in zip(left, right, level, strict=True):
        meet[b, :b] = meet[:b, b] = np.minimum(meet[a, :b], here)
    for i in range(m):
        for j in range(i):
            assert tree.meeting_time(i, j) == meet[i, j]
