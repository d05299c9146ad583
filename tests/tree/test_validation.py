"""Every contradiction in what makes or asks a tree is refused, with a message to act on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sticktree import Tree

TOO_BIG = 2**31
TOO_SMALL = -(2**40)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"parent": []}, r"parent is empty.*parent=\[-1\]"),
        ({"parent": [0]}, r"parent\[0\] = 0: node 0 is the root.*must be .1"),
        ({"parent": [1, -1]}, r"parent\[0\] = 1: node 0 is the root.*must be .1"),
        ({"parent": [-1, 0, -1]}, r"parent\[2\] = -1: node 0 is the root.*only one"),
        ({"parent": [-1, 2, 0]}, r"parent\[1\] = 2: .*must lie in 0 … 0"),
        ({"parent": [-1, 0, 0, 3]}, r"parent\[3\] = 3: .*must lie in 0 … 2"),
        ({"parent": [-1, 0, -2]}, r"parent\[2\] = -2: .*must lie in 0 … 1"),
        ({"parent": [-1, 0, 99]}, r"parent\[2\] = 99: .*must lie in 0 … 1"),
        ({"parent": [-1.0, 0.0]}, r"parent must hold integers, got an array of float64"),
        ({"parent": ["-1"]}, r"parent must hold integers, got an array of <U2"),
        ({"parent": [True]}, r"parent must hold integers, got an array of bool"),
        ({"parent": [[-1, 0]]}, r"parent must be one-dimensional, got shape \(1, 2\)"),
        ({"parent": -1}, r"parent must be one-dimensional, got shape \(\)"),
        ({"parent": [-1, TOO_BIG]}, rf"parent must fit 32-bit integers, got {TOO_BIG}"),
        ({"parent": [-1, TOO_SMALL]}, rf"parent must fit 32-bit integers, got {TOO_SMALL}"),
    ],
)
def test_wrong_parents_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        Tree(**arrays)


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ([0, 1], r"level has 2 entries, parent has 3"),
        ([0, 1, 2, 3], r"level has 4 entries, parent has 3"),
        ([], r"level has 0 entries, parent has 3"),
        ([1, 2, 3], r"level\[0\] = 1: the root has level 0"),
        ([-1, 1, 2], r"level\[0\] = -1: the root has level 0"),
        ([0, 1, 1], r"level\[2\] = 1: node 2 must lie below its parent 1, which has level 1"),
        ([0, 5, 4], r"level\[2\] = 4: node 2 must lie below its parent 1, which has level 5"),
        ([0, 0, 1], r"level\[1\] = 0: node 1 must lie below its parent 0, which has level 0"),
        ([0.0, 1.0, 2.0], r"level must hold integers, got an array of float64"),
        ([[0, 1, 2]], r"level must be one-dimensional, got shape \(1, 3\)"),
    ],
)
def test_wrong_levels_are_refused(level, message):
    with pytest.raises(ValueError, match=message):
        Tree([-1, 0, 1], level=level)


@pytest.mark.parametrize("make", [Tree, Tree.from_parents])
@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        ([0, 3], r"leaf\[1\] = 3: datum 1 must sit in a node from 0 to 2"),
        ([-1], r"leaf\[0\] = -1: datum 0 must sit in a node from 0 to 2"),
        ([0.5], r"leaf must hold integers, got an array of float64"),
        ([[0, 1]], r"leaf must be one-dimensional, got shape \(1, 2\)"),
        ([TOO_BIG], rf"leaf must fit 32-bit integers, got {TOO_BIG}"),
    ],
)
def test_data_in_no_node_are_refused(make, leaf, message):
    with pytest.raises(ValueError, match=message):
        make([-1, 0, 1], leaf)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        ([2, 2], r"count has 2 entries, parent has 3"),
        ([3, 2, 1, 0], r"count has 4 entries, parent has 3"),
        ([3, 3, 1], r"count\[1\] = 3: 2 data sit at or below node 1"),
        ([0, 2, 1], r"count\[0\] = 0: 3 data sit at or below node 0"),
        ([9, 9, 9], r"count\[0\] = 9: 3 data sit at or below node 0"),
        ([3.0, 2.0, 1.0], r"count must hold integers, got an array of float64"),
    ],
)
def test_wrong_counts_are_refused(count, message):
    with pytest.raises(ValueError, match=message):
        Tree([-1, 0, 1], [0, 1, 2], count=count)


@settings(deadline=None, derandomize=True)
@given(st.data())
def test_the_first_wrong_parent_is_the_one_named(draw):
    m = draw.draw(st.integers(2, 10))
    parent = [-1, *(draw.draw(st.integers(0, w - 1)) for w in range(1, m))]
    w = draw.draw(st.integers(1, m - 1))
    parent[w] = draw.draw(st.integers(w, w + 3) | st.integers(-3, -1))
    with pytest.raises(ValueError, match=rf"parent\[{w}\] = {parent[w]}: "):
        Tree(parent)


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        ([], r"parent must have exactly one root .*got \[\]"),
        ([1, 0], r"parent must have exactly one root .*got \[\]"),
        ([1, -1, 1, -1], r"parent must have exactly one root .*got \[1, 3\]"),
        ([-1, 2, 1], r"parent: node 1 never reaches the root: .*cycle"),
        ([-1, 1], r"parent: node 1 never reaches the root: .*cycle"),
        ([2, 3, -1, 4, 1], r"parent: node 1 never reaches the root: .*cycle"),
        ([-1, 0, 3], r"parent\[2\] = 3 must lie between -1 and 2"),
        ([-1, -2], r"parent\[1\] = -2 must lie between -1 and 1"),
        ([-1.0], r"parent must hold integers, got an array of float64"),
        ([[-1]], r"parent must be one-dimensional, got shape \(1, 1\)"),
    ],
)
def test_from_parents_refuses_what_is_no_tree(parent, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_parents(parent)


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([(1, 0)], r"paths\[0\] = \(1, 0\): .*positive integers only"),
        ([(1,), (0, 1)], r"paths\[1\] = \(0, 1\): .*positive integers only"),
        ([(1,), (), (1, -3)], r"paths\[2\] = \(1, -3\): .*positive integers only"),
        ([(1,), (1.5,)], r"paths\[1\] = \(1\.5,\): .*positive integers only"),
    ],
)
def test_from_paths_refuses_what_is_no_index(paths, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_paths(paths)


TREE = Tree([-1, 0, 0], [1, 2])


@pytest.mark.parametrize("level", [-1, float("inf"), "one"])
def test_cut_refuses_what_is_no_level(level):
    with pytest.raises(
        ValueError, match=f"level must be a finite number at least 0, got {level!r}$"
    ):
        TREE.cut(level)


@pytest.mark.parametrize("ask", [Tree.children, Tree.path, Tree.ancestors, Tree.data_below])
@pytest.mark.parametrize("node", [99, 3, -1])
def test_a_node_that_is_not_there_is_refused(ask, node):
    with pytest.raises(IndexError, match=f"node must be an id from 0 to 2, got {node}"):
        ask(TREE, node)


def test_the_index_of_a_node_that_is_not_there_is_refused():
    with pytest.raises(IndexError, match=r"node must be an id from 0 to 2, got 99"):
        TREE.index(99)


def test_a_node_must_be_an_integer():
    with pytest.raises((IndexError, TypeError, ValueError), match=r"1\.5|float|integer"):
        TREE.children(1.5)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (3, [0], r"a\[0\] = 3 must lie between 0 and 2"),
        ([0, -1], 0, r"a\[1\] = -1 must lie between 0 and 2"),
        ([0], [0, 1, 9], r"b\[2\] = 9 must lie between 0 and 2"),
        ([0.5], [0], r"a must hold integers, got an array of float64"),
        ([0], ["x"], r"b must hold integers, got an array of <U1"),
    ],
)
def test_lca_refuses_what_is_no_node(a, b, message):
    with pytest.raises(ValueError, match=message):
        TREE.lca(a, b)


@pytest.mark.parametrize(
    ("i", "j", "message"),
    [
        ([2], 0, r"i\[0\] = 2 must lie between 0 and 1"),
        ([0], [0, -1], r"j\[1\] = -1 must lie between 0 and 1"),
        (np.array([0.0]), [0], r"i must hold integers, got an array of float64"),
    ],
)
def test_meeting_level_refuses_what_is_no_datum(i, j, message):
    with pytest.raises(ValueError, match=message):
        TREE.meeting_level(i, j)
