"""Trees as GraphML: valid whatever is in names, which are told apart."""

import json
import xml.etree.ElementTree as ET

import networkx
import numpy as np
import pytest

from sticktree import Tree
from tests.support.made_fits import NASTY
from tests.support.trees import sample_consensus


def test_lists_and_names_come_back():
    names = [*NASTY, "a, b", "\x00\x01\x0b\x1b[31m", "\ufffe", "tab\tend\n", '"quoted"', "\x85"]
    tree = sample_consensus(len(names)).annotated(names=names)
    text = tree.to_graphml()
    text.encode("utf-8")
    ET.fromstring(text)
    graph = networkx.parse_graphml(text)
    assert networkx.is_arborescence(graph)
    found = {}
    for node, known in graph.nodes(data=True):
        rows = json.loads(known["data"])
        found |= dict(zip(rows, json.loads(known["names"]), strict=True))
        assert known["count"] == tree.count[int(node)]
        assert ("name" in known) == (len(rows) == 1)
    assert [found[i] for i in range(len(names))] == names
    assert graph.number_of_nodes() == tree.n_nodes


@pytest.mark.parametrize("tree", [Tree([-1], [0, 0]), Tree([-1, 0, 0], [1, 2], time=[0, 1, 1.5])])
def test_trees_without_names(tree):
    graph = networkx.parse_graphml(tree.to_graphml())
    assert all("names" not in known for _, known in graph.nodes(data=True))
    rows = sorted(i for _, known in graph.nodes(data=True) for i in json.loads(known["data"]))
    assert rows == list(range(tree.n_data))
    lengths = [known["length"] for _, _, known in graph.edges(data=True)]
    assert np.isfinite(lengths).all()
