"""The outline of a tree against its definition, written plainly."""

import numpy as np
import pytest

from sticktree import Tree
from sticktree.plotting.outline import SOON, Outline, Rows
from sticktree.processes import NestedRestaurant


def _trees(consensus, ladder):
    rng = np.random.default_rng(0)
    yield consensus(40, 1)
    yield ladder(30, 4)
    yield NestedRestaurant(1.0, depth=3).sample(40, rng)
    yield Tree([-1, 0, 1, 1, 1, 0], [0, 1, 2, 2, 3, 5, 5, 1])  # data at inner nodes, an empty leaf
    yield Tree([-1], [0, 0, 0])
    yield Tree([-1, 0], [1], time=[0.5, 2.0])


def _is_above(tree, a, b):
    return a in tree.path(b).tolist()


@pytest.mark.parametrize("smallest", [1, 2, 5, 100])
def test_branches_are_those_of_the_definition(consensus, ladder, smallest):
    for tree in _trees(consensus, ladder):
        rows = Rows.of(tree)
        tree = tree.pruned()
        outline = Outline.of(rows, smallest, soon=-1.0)
        enough = min(smallest, tree.n_data)
        kept = [w for w in range(tree.n_nodes) if tree.count[w] >= enough]
        own = tree.own_count if smallest == 1 else np.zeros(tree.n_nodes)
        ends = [w for w in kept if sum(int(c) in kept for c in tree.children(w)) != 1 or own[w] > 0]
        assert outline.node.tolist() == ends
        for k, w in enumerate(ends):
            higher = [v for v in ends if v != w and _is_above(tree, v, w)]
            assert outline.above[k] == (ends.index(max(higher)) if higher else -1)
            assert outline.begin[k] == (tree.time[max(higher)] if higher else 0.0)
            assert outline.end[k] == tree.time[w]
            below = rows.order[outline.first[k] : outline.last[k]]
            assert sorted(below) == tree.data_below(w).tolist()
            assert outline.forks[k] == any(int(c) in kept for c in tree.children(w))
        for r, datum in enumerate(rows.order):
            deepest = max(w for w in tree.path(tree.leaf[datum]) if w in kept)
            alone = tree.count[deepest] == 1 and tree.n_children[deepest] == 0
            assert outline.leaves[r] == (rows.tip[r] if alone else tree.time[deepest])


@pytest.mark.parametrize("smallest", [1, 3, 7])
def test_every_row_ends_in_one_branch_or_in_dust(consensus, ladder, smallest):
    for tree in _trees(consensus, ladder):
        outline = Outline.of(Rows.of(tree), smallest)
        times = np.zeros(tree.n_data, dtype=int)
        for k in np.flatnonzero(~outline.forks):
            times[outline.first[k] : outline.last[k]] += 1
        for _, a, b in outline.dust():
            times[a:b] += 1
        assert (times == 1).all()


@pytest.mark.parametrize("n_data", [50, 1000])
def test_the_number_of_branches_is_bounded(consensus, ladder, n_data):
    for tree in (consensus(n_data), ladder(n_data)):
        outline = Outline.fitting(Rows.of(tree), 20)
        assert (~outline.forks).sum() <= 20
        assert outline.node.size <= 40
        assert len(outline.dust()) <= 80


def test_forks_shortly_before_the_end_belong_to_it(consensus):
    tree = consensus(200)
    inner = tree.n_children > 0
    late = Tree(tree.parent, tree.leaf, time=np.where(inner, 3 + tree.time / 1e3, 4.0))
    outline = Outline.of(Rows.of(late), 8)
    assert outline.count.tolist() == [200]
    assert outline.end.tolist() == [late.time[0]]
    # At the root all is early, and so nothing is joined but what is late.
    early = Outline.of(Rows.of(tree), 8)
    below = early.above[early.above >= 0]
    assert below.size
    for k in np.flatnonzero(early.forks):
        under = [w for w in early.node if w != early.node[k] and _is_above(tree, early.node[k], w)]
        assert tree.time[under].max() > early.end[k] + SOON * 4.0


def test_rows_lost_shortly_before_the_end_belong_to_it(ladder):
    tree = ladder(60, 10)
    late = Tree(
        tree.parent, tree.leaf, time=np.where(tree.n_children > 0, 3 + tree.time / 1e3, 4.0)
    )
    outline = Outline.of(Rows.of(late), 8)
    assert outline.count.tolist() == [60]
    assert not outline.dust()


def test_tips_are_times_or_one_level_below_shared_leaves(consensus):
    assert (Rows.of(consensus(9)).tip == 4.0).all()
    assert (Rows.of(Tree([-1, 0, 0], [1, 1, 2])).tip == 2.0).all()
    assert (Rows.of(Tree([-1, 0, 0], [1, 2])).tip == 1.0).all()
    uneven = Tree([-1, 0, 0], [1, 2], time=[0.0, 1.5, 3.0])
    assert Rows.of(uneven).tip.tolist() == [1.5, 3.0]


def test_the_largest_support_along_a_branch_is_found(ladder):
    tree = ladder(40, 4)
    support = np.full(tree.n_nodes, 0.1)
    chain = [w for w in range(tree.n_nodes) if tree.n_children[w]]
    support[chain[7]] = 0.9
    outline = Outline.of(Rows.of(tree.annotated(support=support)), 5)
    assert outline.best_supported().tolist() == [chain[7]]
    unknown = Outline.of(Rows.of(tree.annotated(support=np.full(tree.n_nodes, np.nan))), 5)
    assert unknown.best_supported().size == 1
