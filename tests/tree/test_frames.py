"""Data frames of nodes and data."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings

from sticktree import Tree
from sticktree.tree.structure import format_index
from tests.support.trees import annotated_trees, caterpillar, sample_consensus

law = settings(deadline=None, derandomize=True, max_examples=60)


@law
@given(tree=annotated_trees())
def test_what_is_written_is_read_back_equal(tree):
    nodes, data = tree.to_frame(), tree.data_frame()
    assert Tree.from_frame(nodes, data) == tree
    shuffled = nodes.sample(frac=1, random_state=0)
    if (tree.count > 0).all():  # siblings with data have an order of their own
        assert Tree.from_frame(shuffled, data.iloc[::-1]) == tree


def test_columns_are_those_of_the_tree():
    tree = Tree([-1, 0, 0, 1, 1], [3, 3, 4, 2], level=[0, 1, 2, 2, 4])
    nodes = tree.to_frame().set_index("node")
    assert nodes.index.tolist() == np.argsort(tree.preorder).tolist()
    for w in range(tree.n_nodes):
        row = nodes.loc[w]
        assert row["path"] == format_index(tree.index(w))
        assert row["length"] == tree.level[w] - tree.level[max(tree.parent[w], 0)]
        assert row["count"] == tree.data_below(w).size
        assert (row["own_count"], row["n_children"]) == (tree.own_count[w], tree.n_children[w])
    assert "support" not in nodes
    assert "name" not in nodes


def test_through_a_csv_file_and_polars():
    tree = sample_consensus(30)
    for frame in (tree.to_frame(), tree.data_frame()):
        assert not frame.isna().any(axis=None)
    nodes, data = (
        pd.read_csv(io.StringIO(frame.to_csv(index=False)))
        for frame in (tree.to_frame(), tree.data_frame())
    )
    assert Tree.from_frame(nodes, data) == tree
    assert Tree.from_frame(pl.from_pandas(nodes), pl.from_pandas(data)) == tree
    plain = Tree([-1, 0, 0], [1, 2])
    again = pd.read_csv(io.StringIO(plain.to_frame().to_csv(index=False)))
    assert Tree.from_frame(again) == plain


def test_other_ids_and_no_data():
    nodes = pd.DataFrame({"node": ["b", "x", "a", "r"], "parent": ["x", "r", "x", None]})
    tree = Tree.from_frame(nodes.assign(name=["bee", "", "ape", ""]))
    assert tree.names == ("bee", "ape")
    assert tree.level[tree.leaf].tolist() == [2, 2]
    with_gap = pd.DataFrame({"parent": [np.nan, 0, 0], "time": [0, 0.5, 1]})
    assert Tree.from_frame(with_gap) == Tree([-1, 0, 0], [1, 2], time=[0, 0.5, 1])
    assert Tree.from_frame(with_gap.convert_dtypes().assign(time=[0, 0.5, 1])).n_data == 2


def test_a_deep_tree_has_no_paths():
    tree = caterpillar(2000)
    assert "path" not in tree.to_frame()
    assert Tree.from_frame(tree.to_frame(), tree.data_frame()) == tree


@pytest.mark.parametrize(
    ("nodes", "data", "message"),
    [
        ({"node": [0]}, None, r"nodes must have a column 'parent', got \['node'\]"),
        ({"node": [0, 0], "parent": [-1, -1]}, None, "nodes has two rows for node 0"),
        ({"parent": [-1, 7]}, None, "the parent of node 1 is 7, which has no row"),
        ({"parent": [-1, -1]}, None, "parent must have exactly one root"),
        ({"parent": [-1, 2, 1]}, None, "node 1 never reaches the root"),
        ({"parent": [-1, 0], "own_count": [1, 1]}, None, "data is needed, as data_frame"),
        ({"parent": [-1]}, {"node": [3]}, "data: node 3 has no row in nodes"),
        ({"parent": [-1]}, {"node": [0, 0], "datum": [1, 1]}, "data must number its 2 data 0 to 1"),
        ({"parent": [-1]}, {"datum": [0]}, "data must have a column 'node'"),
    ],
)
def test_wrong_frames_are_refused(nodes, data, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_frame(pd.DataFrame(nodes), None if data is None else pd.DataFrame(data))


def test_what_is_no_frame_is_refused():
    with pytest.raises(ValueError, match="nodes must be a data frame, got list"):
        Tree.from_frame([-1])


def test_without_pandas_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"install it with `pip install sticktree\[frames\]`"):
        Tree([-1]).to_frame()
