"""Queries of a tree against their definitions, in plain Python over lists."""

from __future__ import annotations

import re
from time import perf_counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sticktree import NULL, Tree

law = settings(deadline=None, derandomize=True, max_examples=50)


class Plain:
    """A tree as three lists; every answer follows its definition."""

    def __init__(self, parent, leaf=(), level=None):
        self.parent, self.leaf = list(parent), list(leaf)
        self.nodes = range(len(parent))
        self.level = [len(self.path(w)) - 1 for w in self.nodes] if level is None else list(level)

    def __repr__(self):
        return f"Plain({self.parent}, {self.leaf}, {self.level})"

    def tree(self):
        return Tree(self.parent, self.leaf, level=self.level)

    def path(self, w):
        return [w] if self.parent[w] == NULL else [*self.path(self.parent[w]), w]

    def children(self, w):
        return [c for c in self.nodes if self.parent[c] == w]

    def data_below(self, w):
        return [i for i, home in enumerate(self.leaf) if w in self.path(home)]

    def walk(self, w=0):
        return [w] + [v for child in self.children(w) for v in self.walk(child)]

    def index(self, w):
        omega = []
        for above, here in zip(self.path(w), self.path(w)[1:], strict=False):
            omega.append(self.children(above).index(here) + 1)
            omega += [1] * (self.level[here] - self.level[above] - 1)
        return tuple(omega)

    def lca(self, a, b):
        return max(set(self.path(a)) & set(self.path(b)), key=lambda w: self.level[w])

    def meeting_level(self, i, j):
        return self.level[self.lca(self.leaf[i], self.leaf[j])]

    def branch(self, i, level):
        """Return the first node on the way to datum i that reaches the level, else its own."""
        reached = [w for w in self.path(self.leaf[i]) if self.level[w] >= level]
        return reached[0] if reached else self.leaf[i]

    def cut(self, level):
        branches = [self.branch(i, level) for i in range(len(self.leaf))]
        in_order = [w for w in self.walk() if w in branches]
        return [in_order.index(w) for w in branches]


@st.composite
def plain_trees(draw, max_nodes=40):
    m = draw(st.integers(1, max_nodes))
    # A short reach gives chains, a long one bushes.
    reach = draw(st.sampled_from([1, 2, 4, m]))
    parent = [NULL, *(draw(st.integers(max(0, w - reach), w - 1)) for w in range(1, m))]
    leaf = draw(st.lists(st.integers(0, m - 1), max_size=20))
    level = None
    if draw(st.booleans()):
        level = [0]
        for w in range(1, m):
            level.append(level[parent[w]] + draw(st.sampled_from([1, 1, 2, 4])))
    return Plain(parent, leaf, level)


SKIPPING = Plain([-1, 0, 0, 1, 1], [3, 4, 2, 0], [0, 2, 3, 3, 6])
ROOT = Plain([-1])


def every(test):
    """Run a law on random trees and on two corner cases."""
    return law(given(plain=plain_trees())(example(plain=ROOT)(example(plain=SKIPPING)(test))))


# ---- sizes and neighbours ----------------------------------------------------------------------


@every
def test_sizes_follow_from_the_arrays(plain):
    tree = plain.tree()
    assert (tree.n_nodes, tree.n_data) == (len(plain.parent), len(plain.leaf))
    assert tree.depth == max(plain.level)
    assert tree.level.tolist() == plain.level
    assert tree.own_count.tolist() == [plain.leaf.count(w) for w in plain.nodes]
    assert tree.count.tolist() == [len(plain.data_below(w)) for w in plain.nodes]
    assert tree.n_children.tolist() == [len(plain.children(w)) for w in plain.nodes]
    assert tree.leaves.tolist() == [w for w in plain.nodes if not plain.children(w)]


@every
def test_levels_are_hops_unless_given(plain):
    tree = Tree(plain.parent, plain.leaf)
    assert tree.level.tolist() == [len(plain.path(w)) - 1 for w in plain.nodes]


@every
def test_the_right_counts_are_accepted(plain):
    count = [len(plain.data_below(w)) for w in plain.nodes]
    tree = Tree(plain.parent, plain.leaf, level=plain.level, count=count)
    assert tree.count.tolist() == count


@every
def test_neighbours_of_every_node(plain):
    tree = plain.tree()
    for w in plain.nodes:
        assert tree.children(w).tolist() == plain.children(w)
        assert tree.path(w).tolist() == plain.path(w)
        assert tree.ancestors(w).tolist() == plain.path(w)[:-1]
        assert tree.data_below(w).tolist() == plain.data_below(w)


@every
def test_nodes_at_each_level(plain):
    tree = plain.tree()
    for level in range(tree.depth + 2):
        assert tree.nodes_at(level).tolist() == [w for w in plain.nodes if plain.level[w] == level]


@every
def test_preorder_is_the_place_in_a_depth_first_walk(plain):
    assert plain.tree().preorder.tolist() == [plain.walk().index(w) for w in plain.nodes]


def test_arrays_and_answers_are_int32():
    tree = SKIPPING.tree()
    answers = [tree.parent, tree.leaf, tree.level, tree.count]
    answers += [tree.own_count, tree.n_children, tree.leaves, tree.preorder]
    answers += [tree.children(1), tree.path(3), tree.ancestors(3), tree.data_below(1)]
    answers += [tree.nodes_at(3), tree.cut(1), tree.lca([1, 2], 3), tree.lca_matrix()]
    answers += [tree.meeting_level([0, 1], 2), tree.meeting_level_matrix()]
    assert {answer.dtype for answer in answers} == {np.dtype(np.int32)}


# ---- the index ω -------------------------------------------------------------------------------


@every
def test_index_and_node_are_inverse(plain):
    tree = plain.tree()
    for w in plain.nodes:
        assert tree.index(w) == plain.index(w)
        assert len(tree.index(w)) == plain.level[w]
        assert tree.node(tree.index(w)) == w


@every
def test_paths_are_the_indices_of_the_data(plain):
    assert plain.tree().paths() == [plain.index(w) for w in plain.leaf]


@every
def test_an_index_that_no_node_has_is_refused_by_name(plain):
    tree = plain.tree()
    valid = {plain.index(w) for w in plain.nodes}
    near = set()
    for omega in valid:
        beyond = len(plain.children(tree.node(omega))) + 1
        near |= {omega[:k] for k in range(len(omega))}
        near |= {(*omega[:-1], last) for last in (-1, 0, beyond)}
        near |= {(*omega, extra) for extra in (-1, 0, beyond)}
        near |= {(*omega[:k], omega[k] + 1, *omega[k + 1 :]) for k in range(len(omega))}
    for omega in near - valid:
        with pytest.raises(KeyError, match=re.escape(f"no node has index {omega}: ")):
            tree.node(omega)


@pytest.mark.parametrize(
    ("omega", "reason"),
    [
        ((3,), r"\(\) has 2 children, numbered from 1"),
        ((0,), r"\(\) has 2 children, numbered from 1"),
        ((1, 1, 1, 1), r"\(1, 1, 1\) has 0 children"),
        ((1,), r"the edge to node 1 skips that level"),
        ((1, 2), r"below \(1,\) runs a chain"),
        ((1, 1, 2, 1, 2, 1), r"below \(1, 1, 2\) runs a chain"),
    ],
)
def test_a_wrong_index_is_told_where_it_goes_wrong(omega, reason):
    with pytest.raises(KeyError, match=reason):
        SKIPPING.tree().node(omega)


# ---- where nodes and data part -----------------------------------------------------------------


@every
def test_lca_matrix_is_found_by_climbing(plain):
    expected = [[plain.lca(a, b) for b in plain.nodes] for a in plain.nodes]
    assert plain.tree().lca_matrix().tolist() == expected


@law
@given(plain=plain_trees(), draw=st.data())
def test_lca_of_two_nodes(plain, draw):
    a, b = (draw.draw(st.sampled_from(plain.nodes)) for _ in "ab")
    meet = plain.tree().lca(a, b)
    assert np.shape(meet) == ()
    assert meet == plain.lca(a, b)


@law
@given(plain=plain_trees(), draw=st.data())
def test_lca_broadcasts(plain, draw):
    a = draw.draw(st.lists(st.sampled_from(plain.nodes), max_size=5))
    b = draw.draw(st.lists(st.sampled_from(plain.nodes), max_size=5))
    tree = plain.tree()
    column = np.array(a, dtype=int).reshape(-1, 1)
    assert tree.lca(column, b).tolist() == [[plain.lca(x, y) for y in b] for x in a]
    assert tree.lca(a, 0).tolist() == [0] * len(a)
    paired = list(zip(a, b, strict=False))
    firsts, seconds = [x for x, _ in paired], [y for _, y in paired]
    assert tree.lca(firsts, seconds).tolist() == [plain.lca(x, y) for x, y in paired]


@every
def test_meeting_levels_of_all_data(plain):
    data = range(len(plain.leaf))
    expected = [[plain.meeting_level(i, j) for j in data] for i in data]
    tree = plain.tree()
    assert tree.meeting_level_matrix().shape == (len(data), len(data))
    assert tree.meeting_level_matrix().tolist() == expected
    column = np.arange(len(data)).reshape(-1, 1)
    assert tree.meeting_level(column, np.arange(len(data))).tolist() == expected


@law
@given(plain=plain_trees().filter(lambda plain: plain.leaf), draw=st.data())
def test_meeting_level_of_two_data(plain, draw):
    i, j = (draw.draw(st.integers(0, len(plain.leaf) - 1)) for _ in "ij")
    meet = plain.tree().meeting_level(i, j)
    assert np.shape(meet) == ()
    assert meet == plain.meeting_level(i, j)


# ---- flat clusterings --------------------------------------------------------------------------


@every
def test_cut_labels_branches_in_tree_order(plain):
    tree = plain.tree()
    for level in range(tree.depth + 2):
        labels = tree.cut(level).tolist()
        assert labels == plain.cut(level)
        assert sorted(set(labels)) == list(range(len(set(labels))))


@every
def test_cut_at_the_root_is_one_cluster(plain):
    assert plain.tree().cut(0).tolist() == [0] * len(plain.leaf)


@every
def test_a_deeper_cut_refines_a_shallower_one(plain):
    tree = plain.tree()
    for level in range(tree.depth + 1):
        coarse, fine = tree.cut(level).tolist(), tree.cut(level + 1).tolist()
        assert len(set(zip(fine, coarse, strict=True))) == len(set(fine))


@every
def test_a_cut_below_the_deepest_level_gives_the_nodes_of_the_data(plain):
    tree = plain.tree()
    used = [w for w in plain.walk() if w in plain.leaf]
    expected = [used.index(w) for w in plain.leaf]
    for level in (tree.depth, tree.depth + 1, tree.depth + 100):
        assert tree.cut(level).tolist() == expected


# ---- extreme shapes ----------------------------------------------------------------------------


def test_a_single_root():
    tree = Tree([-1], [0, 0])
    assert (tree.n_nodes, tree.n_data, tree.depth) == (1, 2, 0)
    assert tree.leaves.tolist() == [0]
    assert tree.children(0).tolist() == tree.ancestors(0).tolist() == []
    assert (tree.index(0), tree.node(())) == ((), 0)
    assert tree.paths() == [(), ()]
    assert tree.lca_matrix().tolist() == [[0]]
    assert tree.cut(0).tolist() == tree.cut(7).tolist() == [0, 0]
    assert tree == tree.pruned() == tree.compressed() == tree.expanded() == tree.canonical()


def test_a_star():
    n = 1000
    tree = Tree([-1] + [0] * n, range(1, n + 1))
    assert tree.depth == 1
    assert tree.children(0).tolist() == list(range(1, n + 1))
    assert tree.paths() == [(k,) for k in range(1, n + 1)]
    assert tree.cut(1).tolist() == list(range(n))
    assert (tree.meeting_level_matrix() == np.eye(n)).all()
    assert tree == tree.compressed() == tree.expanded() == tree.pruned()


def test_a_caterpillar_is_quick():
    start = perf_counter()
    half = 2500  # spine node k is 2k − 1, with the leg 2k; each leg holds one datum
    parent = [-1]
    for k in range(1, half):
        parent += [max(0, 2 * k - 3)] * 2
    tree = Tree(parent, range(2, len(parent), 2))
    assert (tree.n_nodes, tree.depth) == (2 * half - 1, half - 1)
    spine = 2 * half - 3
    assert tree.index(spine) == (1,) * (half - 1)
    assert tree.node(tree.index(spine)) == spine
    assert tree.path(spine).size == half
    assert tree.lca(tree.leaf, spine).tolist() == [0, *range(1, spine - 1, 2)]
    assert tree.meeting_level(0, np.arange(1, tree.n_data)).max() == 0
    assert tree.cut(10).max() == 10
    assert tree.data_below(spine - 2).size == 1
    assert tree.canonical() == tree.expanded() == tree.compressed().expanded()
    assert hash(tree) == hash(tree.canonical())
    assert perf_counter() - start < 5


def test_a_long_chain_without_data_is_quick():
    start = perf_counter()
    chain = Tree([-1, *range(4999)])
    assert chain.level.tolist() == list(range(5000))
    assert chain == chain.canonical() == chain.compressed().expanded()
    assert chain.compressed().n_nodes == 2
    assert chain.pruned().n_nodes == 1
    assert chain != Tree([-1, *range(4998), 4997])
    assert perf_counter() - start < 5
