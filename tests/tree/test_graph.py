"""networkx graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from sticktree import Tree
from tests.support.trees import annotated_trees, caterpillar, sample_consensus

law = settings(deadline=None, derandomize=True, max_examples=60)


@law
@given(tree=annotated_trees())
def test_what_is_written_is_read_back_equal(tree):
    graph = tree.to_networkx()
    assert nx.is_arborescence(graph)
    again = Tree.from_networkx(graph)
    if tree.n_data or tree.names is None:
        assert again == tree
    assert again.has_times == tree.has_times


def test_attributes_are_those_of_the_tree():
    tree = sample_consensus(20)
    graph = tree.to_networkx()
    for w, known in graph.nodes(data=True):
        assert known["time"] == tree.time[w]
        assert known["support"] == tree.support[w]
        assert known["transfer"] == tree.transfer[w]
        assert known["count"] == len(tree.data_below(w))
        assert known["names"] == [tree.names[i] for i in known["data"]]
    lengths = nx.single_source_dijkstra_path_length(graph, 0, weight="length")
    assert lengths == pytest.approx(dict(enumerate(tree.time)))
    assert list(nx.dfs_preorder_nodes(graph, 0)) == np.argsort(tree.preorder).tolist()


def test_a_bare_graph_has_a_datum_in_every_leaf():
    graph = nx.DiGraph([("r", "x"), ("r", "c"), ("x", "a"), ("x", "b")])
    tree = Tree.from_networkx(graph)
    assert tree.names == ("a", "b", "c")
    assert tree.meeting_level(0, [1, 2]).tolist() == [1, 0]
    assert Tree.from_networkx(nx.DiGraph([(5, 3), (5, 4)])).names is None


def test_a_deep_graph_needs_no_recursion():
    tree = caterpillar(5000)
    assert Tree.from_networkx(tree.to_networkx()) == tree


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph(), "got a graph of 0 nodes and 0 edges"),
        (nx.DiGraph([(0, 1), (2, 1)]), "got a graph of 3 nodes and 2 edges that is not"),
        (nx.DiGraph([(0, 1), (1, 0)]), "must be a tree with edges that lead away from one root"),
        (nx.Graph([(0, 1)]), "graph must be a networkx.DiGraph"),
        ("graph", "graph must be a networkx.DiGraph, got 'graph'"),
    ],
)
def test_what_is_no_tree_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_networkx(graph)


def test_wrong_data_are_refused():
    graph = nx.DiGraph([(0, 1)])
    graph.nodes[1]["data"] = [0, 2]
    with pytest.raises(ValueError, match="graph must number its 2 data 0 to 1, each once"):
        Tree.from_networkx(graph)
    graph.nodes[1].update(data=[0, 1], names=["a"])
    with pytest.raises(ValueError, match="graph has 1 names for 2 data"):
        Tree.from_networkx(graph)


def test_without_networkx_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(ImportError, match=r"install it with `pip install sticktree\[graph\]`"):
        Tree([-1]).to_networkx()
