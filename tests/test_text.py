import numpy as np

from sticktree import Tree
from sticktree.processes import LogDivergence, NestedRestaurant, RecursiveSticks
from sticktree.text import format_index, tree_text


def test_every_node_has_a_line_with_its_index_and_count():
    tree = NestedRestaurant(1.0, depth=3).sample(30, np.random.default_rng(0)).compressed()
    lines = tree_text(tree, max_lines=1000).splitlines()
    assert len(lines) == tree.n_nodes
    shown = {line.split()[-3]: int(line.split()[-1]) for line in lines}
    expected = {format_index(tree.index(w)): int(tree.count[w]) for w in range(tree.n_nodes)}
    assert shown == expected


def test_nothing_is_lost_when_branches_are_hidden():
    tree = NestedRestaurant(3.0, depth=1).sample(200, np.random.default_rng(0))
    lines = tree_text(tree, max_lines=4).splitlines()
    assert len(lines) == 5
    assert "… " in lines[-1]
    assert sum(int(line.split()[-1]) for line in lines[1:]) == 200


def test_masses_are_shown_as_fractions():
    sticks = RecursiveSticks(1.0, depth=2).sample(np.random.default_rng(0), truncation=0.05)
    first = tree_text(sticks).splitlines()[0]
    assert first.startswith("Δ")
    assert first.endswith("1.000")


def test_a_deep_tree_fits_a_screen():
    tree = NestedRestaurant(LogDivergence(), depth=40).sample(20, np.random.default_rng(0))
    lines = tree_text(tree).splitlines()
    assert max(map(len, lines)) < 100
    assert any("at level 39" in line for line in lines)


def test_a_lone_root_and_an_empty_tree():
    assert tree_text(Tree([-1], leaf=[0])).split()[0] == "Δ"
    assert tree_text(Tree([-1])).split() == ["Δ", "0"]
