"""The same tree in other forms: renumbered, compressed, pruned, from ids and from paths."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from sticktree import NULL, Tree

law = settings(deadline=None, derandomize=True, max_examples=50)


@st.composite
def trees(draw, max_nodes=40):
    m = draw(st.integers(1, max_nodes))
    # A short reach gives chains, a long one bushes.
    reach = draw(st.sampled_from([1, 2, 4, m]))
    parent = [NULL, *(draw(st.integers(max(0, w - reach), w - 1)) for w in range(1, m))]
    # Few nodes with data leave many subtrees empty.
    homes = draw(st.sampled_from([1, 2, m]))
    leaf = draw(st.lists(st.integers(max(0, m - homes), m - 1), max_size=20))
    level = None
    if draw(st.booleans()):
        level = [0]
        for w in range(1, m):
            level.append(level[parent[w]] + draw(st.sampled_from([1, 1, 2, 4])))
    note(f"Tree({parent}, {leaf}, level={level})")  # its repr gives the sizes only
    return Tree(parent, leaf, level=level)


def every(test):
    return law(given(tree=trees())(example(tree=Tree([-1]))(test)))


def lists(tree):
    return tree.parent.tolist(), tree.leaf.tolist(), tree.level.tolist()


def form(tree):
    """Write a tree without numbers of nodes: each its level, its data and, sorted, its children."""
    parent, leaf, level = lists(tree)
    children = [[] for _ in parent]
    text = ""
    for w in reversed(range(len(parent))):
        data = [i for i, home in enumerate(leaf) if home == w]
        text = f"({level[w]}:{data}{''.join(sorted(children[w]))})"
        if w:
            children[parent[w]].append(text)
    return text


def renumbered(tree, priority):
    """Number the nodes anew: next comes, of those whose parent has a number, the first by priority.

    Data and levels move along.
    """
    parent, leaf, level = lists(tree)
    order = [0]
    while len(order) < len(parent):
        open_nodes = [w for w in range(len(parent)) if w not in order and parent[w] in order]
        order.append(min(open_nodes, key=lambda w: priority[w]))
    new = {w: k for k, w in enumerate(order)}
    new[NULL] = NULL
    return Tree(
        [new[parent[w]] for w in order],
        [new[w] for w in leaf],
        level=[level[w] for w in order],
    )


def assert_sound(tree):
    """Check what the constructor checks: forms are made without its checks."""
    Tree(tree.parent, tree.leaf, level=tree.level, count=tree.count)
    for array in (tree.parent, tree.leaf, tree.level, tree.count):
        assert array.dtype == np.int32
        assert not array.flags.writeable


def same_arrays(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("parent", "leaf", "level", "count")
    )


def partition(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


# ---- canonical numbering, equality, hash -------------------------------------------------------


@law
@given(tree=trees(), draw=st.data())
def test_canonical_does_not_depend_on_the_numbering(tree, draw):
    other = renumbered(tree, draw.draw(st.permutations(range(tree.n_nodes))))
    assert form(tree) == form(other)
    assert same_arrays(tree.canonical(), other.canonical())
    assert tree == other
    assert hash(tree) == hash(other)


@every
def test_canonical_is_the_same_tree_and_idempotent(tree):
    canonical = tree.canonical()
    assert_sound(canonical)
    assert form(canonical) == form(tree)
    assert same_arrays(canonical.canonical(), canonical)


@every
def test_canonical_walks_depth_first_by_first_datum_with_empty_nodes_last(tree):
    canonical = tree.canonical()
    assert canonical.preorder.tolist() == list(range(tree.n_nodes))
    for w in range(tree.n_nodes):
        below = [canonical.data_below(child).tolist() for child in canonical.children(w)]
        first = [min(data, default=tree.n_data) for data in below]
        assert first == sorted(first)


def small_trees():
    """Yield every tree of up to four nodes, two data and steps of one or two levels."""
    for m in range(1, 5):
        for above in product(*(range(w) for w in range(1, m))):
            for steps in product((1, 2), repeat=m - 1):
                level = [0]
                for w, step in enumerate(steps):
                    level.append(level[above[w]] + step)
                for n in range(3):
                    for leaf in product(range(m), repeat=n):
                        yield Tree([NULL, *above], leaf, level=level)


def test_equality_and_hash_tell_all_small_trees_apart():
    seen = {}
    for tree in small_trees():
        assert seen.setdefault(tree, form(tree)) == form(tree)
    assert len(seen) == len(set(seen.values())) > 300


@pytest.mark.parametrize(
    ("difference", "other"),
    [
        ("a datum elsewhere", Tree([-1, 0, 0, 1, 1], [3, 4, 1])),
        ("data swapped", Tree([-1, 0, 0, 1, 1], [3, 2, 4])),
        ("a datum more", Tree([-1, 0, 0, 1, 1], [3, 4, 2, 2])),
        ("a datum less", Tree([-1, 0, 0, 1, 1], [3, 4])),
        ("an edge", Tree([-1, 0, 0, 1, 2], [3, 4, 2])),
        ("a level", Tree([-1, 0, 0, 1, 1], [3, 4, 2], level=[0, 1, 1, 2, 3])),
        ("an empty node more", Tree([-1, 0, 0, 1, 1, 2], [3, 4, 2])),
    ],
)
def test_trees_that_differ_are_unequal(difference, other):
    tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2])
    assert tree != other, difference
    assert len({tree, other}) == 2


def test_empty_nodes_that_differ_in_place_only_are_told_apart():
    below_data, beside = Tree([-1, 0, 0, 1], [1]), Tree([-1, 0, 0, 2], [1])
    assert below_data != beside


@pytest.mark.parametrize(
    ("one", "two"),
    [
        # Below the root: a leaf, a chain and a cherry, all empty, and a datum.
        (Tree([-1, 0, 0, 0, 0, 2, 3, 3], [4]), Tree([-1, 0, 0, 0, 0, 3, 1, 1], [2])),
        # A leaf and a cherry, in either order, beside two chains: the order of children must not
        # decide on which side of the chains they come.
        (Tree([-1, 0, 0, 1, 1, 2, 2, 4, 4, 5, 6]), Tree([-1, 0, 0, 1, 1, 2, 2, 3, 3, 5, 6])),
    ],
)
def test_empty_subtrees_in_any_order_are_equal(one, two):
    assert form(one) == form(two)
    assert one == two
    assert hash(one) == hash(two)
    assert same_arrays(one.canonical(), two.canonical())


@pytest.mark.parametrize("length", [10, 3000])
def test_twin_chains_without_data_are_equal_at_any_depth(length):
    interleaved = Tree([-1, 0, 0, *range(1, 2 * length - 1)])
    one_by_one = Tree([-1, *range(length), 0, *range(length + 1, 2 * length)])
    assert interleaved.n_nodes == one_by_one.n_nodes
    assert interleaved == one_by_one
    assert hash(interleaved) == hash(one_by_one)


@pytest.mark.parametrize("other", [None, 1, "Tree", (-1,), [[-1], []]])
def test_a_tree_is_unequal_to_what_is_no_tree(other):
    assert Tree([-1]) != other
    assert not Tree([-1]) == other  # noqa: SIM201
    assert Tree([-1]).__eq__(other) is NotImplemented


# ---- compressed, expanded, pruned --------------------------------------------------------------


@every
def test_compressed_drops_exactly_the_only_child_chains(tree):
    parent, leaf, level = lists(tree)
    kept = [w for w in range(len(parent)) if w == 0 or w in leaf or parent.count(w) != 1]

    def nearest(w):
        return w if w in kept or w == NULL else nearest(parent[w])

    new = {w: k for k, w in enumerate([*kept, NULL])} | {NULL: NULL}
    expected = Tree(
        [new[nearest(parent[w])] for w in kept],
        [new[w] for w in leaf],
        level=[level[w] for w in kept],
    )
    assert_sound(tree.compressed())
    assert form(tree.compressed()) == form(expected)


@every
def test_expanded_has_a_node_at_every_level(tree):
    expanded = tree.expanded()
    assert_sound(expanded)
    parent, _, level = lists(expanded)
    assert all(level[w] == level[parent[w]] + 1 for w in range(1, expanded.n_nodes))
    assert expanded.n_nodes == 1 + sum(
        tree.level[w] - tree.level[tree.parent[w]] for w in range(1, tree.n_nodes)
    )
    assert expanded.paths() == tree.paths()


@every
def test_expanding_undoes_compressing(tree):
    assert form(tree.expanded()) == form(tree.compressed().expanded())
    assert tree.expanded() == tree.compressed().expanded()
    assert tree.compressed() == tree.expanded().compressed()
    assert tree.compressed() == tree.compressed().compressed()
    assert tree.expanded() == tree.expanded().expanded()


@every
def test_clusters_of_a_cut_are_the_same_in_every_form(tree):
    others = (tree.compressed(), tree.expanded(), tree.pruned(), tree.canonical())
    for level in range(tree.depth + 2):
        clusters = partition(tree.cut(level))
        for other in others:
            assert partition(other.cut(level)) == clusters


@every
def test_labels_of_a_cut_are_the_same_compressed_and_expanded(tree):
    compressed, expanded = tree.compressed(), tree.expanded()
    for level in range(tree.depth + 2):
        labels = tree.cut(level).tolist()
        assert expanded.cut(level).tolist() == labels
        assert compressed.cut(level).tolist() == labels


@every
def test_paths_of_data_are_the_same_compressed_and_expanded(tree):
    assert tree.expanded().paths() == tree.paths()
    assert tree.compressed().paths() == tree.paths()


@every
def test_meeting_levels_are_the_same_in_every_form(tree):
    meeting = tree.meeting_level_matrix().tolist()
    for other in (tree.compressed(), tree.expanded(), tree.pruned(), tree.canonical()):
        assert other.meeting_level_matrix().tolist() == meeting


@every
def test_pruned_drops_exactly_the_nodes_without_data_below(tree):
    parent, leaf, level = lists(tree)
    kept = [w for w in range(len(parent)) if w == 0 or tree.data_below(w).size]
    new = {w: k for k, w in enumerate(kept)} | {NULL: NULL}
    pruned = tree.pruned()
    assert_sound(pruned)
    assert lists(pruned) == (
        [new[parent[w]] for w in kept],
        [new[w] for w in leaf],
        [level[w] for w in kept],
    )


# ---- other ways to make a tree -----------------------------------------------------------------


@law
@given(tree=trees(), draw=st.data())
def test_from_parents_takes_ids_in_any_order(tree, draw):
    parent, leaf, _ = lists(tree)
    new = dict(enumerate(draw.draw(st.permutations(range(tree.n_nodes))))) | {NULL: NULL}
    shuffled = {new[w]: new[parent[w]] for w in range(tree.n_nodes)}
    made = Tree.from_parents(
        [shuffled[w] for w in range(tree.n_nodes)], leaf=[new[w] for w in leaf]
    )
    assert_sound(made)
    assert form(made) == form(Tree(parent, leaf))
    assert all(above <= below for above, below in pairwise(made.level.tolist()))


ragged_paths = st.lists(
    st.lists(st.integers(1, 4), max_size=5).map(tuple), max_size=15
)  # of any length, with gaps


@law
@given(paths=ragged_paths)
@example(paths=[])
@example(paths=[()])
def test_from_paths_makes_the_smallest_tree(paths):
    tree = Tree.from_paths(paths)
    prefixes = {path[:k] for path in paths for k in range(len(path) + 1)} | {()}
    assert tree.n_nodes == len(prefixes)
    assert tree.level[tree.leaf].tolist() == [len(path) for path in paths]
    # Siblings keep their order, and only the numbers of siblings in use count.
    expected = [
        tuple(
            sum((*path[:k], step) in prefixes for step in range(1, path[k] + 1))
            for k in range(len(path))
        )
        for path in paths
    ]
    assert tree.paths() == expected
    assert Tree.from_paths(expected) == tree


@every
def test_paths_of_a_tree_rebuild_it_without_its_empty_nodes(tree):
    pruned = tree.pruned().expanded()
    assert Tree.from_paths(pruned.paths()) == pruned
    assert Tree.from_paths(pruned.paths()).paths() == pruned.paths()


def test_from_paths_closes_gaps():
    assert Tree.from_paths([(7, 3), (2,), (7, 9)]).paths() == [(2, 1), (1,), (2, 2)]


def test_from_paths_takes_any_iterable_of_sequences():
    expected = Tree.from_paths([(1, 1), (1, 2)])
    assert Tree.from_paths(np.array([[1, 1], [1, 2]])) == expected
    assert Tree.from_paths([1, k] for k in (1, 2)) == expected


# ---- a tree never changes ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["parent", "leaf", "level", "count"])
def test_arrays_are_read_only(name):
    tree = Tree([-1, 0], [1])
    with pytest.raises(ValueError, match="read-only"):
        getattr(tree, name)[0] = 1


@pytest.mark.parametrize("name", ["parent", "leaf", "level", "count", "depth", "colour"])
def test_attributes_cannot_be_set(name):
    with pytest.raises(AttributeError, match=f"a Tree cannot be changed: .*{name}"):
        setattr(Tree([-1, 0], [1]), name, [0])


@pytest.mark.parametrize("name", ["parent", "leaf", "level", "count"])
def test_attributes_cannot_be_deleted(name):
    with pytest.raises(AttributeError):
        delattr(Tree([-1, 0], [1]), name)


ANSWERS = {
    "own_count": lambda tree: tree.own_count,
    "n_children": lambda tree: tree.n_children,
    "leaves": lambda tree: tree.leaves,
    "preorder": lambda tree: tree.preorder,
    "children": lambda tree: tree.children(0),
    "path": lambda tree: tree.path(3),
    "data_below": lambda tree: tree.data_below(0),
    "nodes_at": lambda tree: tree.nodes_at(1),
    "lca_matrix": lambda tree: tree.lca_matrix(),
    "meeting_level_matrix": lambda tree: tree.meeting_level_matrix(),
    "cut": lambda tree: tree.cut(1),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_writing_into_an_answer_does_not_change_the_tree(name):
    tree = Tree([-1, 0, 0, 1, 1], [3, 3, 4, 2])
    before = ANSWERS[name](tree).tolist()
    answer = ANSWERS[name](tree)
    if answer.flags.writeable:
        answer[...] = 77
    assert ANSWERS[name](tree).tolist() == before


def test_arrays_passed_in_are_copied():
    given_arrays = {
        "parent": np.array([-1, 0, 0], dtype=np.int32),
        "leaf": np.array([1, 2], dtype=np.int32),
        "level": np.array([0, 1, 2], dtype=np.int32),
        "count": np.array([2, 1, 1], dtype=np.int32),
    }
    expected = {name: array.tolist() for name, array in given_arrays.items()}
    tree = Tree(**given_arrays)
    for name, array in given_arrays.items():
        array[:] = 77
        assert getattr(tree, name).tolist() == expected[name]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_round_trip(protocol):
    tree = Tree([-1, 0, 0, 1, 1], [3, 3, 4, 2], level=[0, 1, 5, 2, 3])
    hash(tree), tree.lca_matrix()  # with what is derived already there
    again = pickle.loads(pickle.dumps(tree, protocol))
    assert_sound(again)
    assert same_arrays(again, tree)
    assert again == tree


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copy_round_trip(duplicate):
    tree = Tree([-1, 0, 0, 1, 1], [3, 3, 4, 2], level=[0, 1, 5, 2, 3])
    again = duplicate(tree)
    assert_sound(again)
    assert same_arrays(again, tree)
    assert again == tree


def test_repr_gives_the_sizes():
    assert repr(Tree([-1, 0, 0], [1], level=[0, 1, 4])) == "Tree(n_nodes=3, n_data=1, depth=4)"
