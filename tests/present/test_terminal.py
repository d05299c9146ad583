import numpy as np

from sticktree import Tree
from sticktree.present.terminal import tree_text
from sticktree.processes import LogDivergence, NestedRestaurant, RecursiveSticks
from sticktree.tree.structure import format_index


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


# ---- trees with times, supports and names ------------------------------------------------------


def test_names_times_and_supports_are_shown():
    tree = Tree(
        [-1, 0, 0, 1, 1],
        [3, 4, 2],
        time=[0, 1.25, 2, 2, 2],
        support=[1, 0.875, 1, 1, 1],
        names=["ape", "b\ne", "名" * 40],
    )
    lines = tree_text(tree, width=6).splitlines()
    assert lines[1].startswith("├─ at 1.25")
    assert lines[1].endswith("2  0.88")
    assert [line.split()[1] for line in lines[2:4]] == ["├─", "└─"]
    assert "ape" in lines[2]
    assert "b�e" in lines[3]
    assert "名…" in lines[4]
    assert lines[4].endswith(" 1")  # a single datum is always a cluster
    nameless = Tree(tree.parent, tree.leaf, time=tree.time)
    assert "datum 2" in tree_text(nameless).splitlines()[-1]


def test_the_one_support_that_is_shown_is_transfer():
    tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2], support=[1, 0.25, 1, 1, 1])
    assert tree_text(tree).splitlines()[1].endswith("2  0.25")
    both = tree.annotated(transfer=[1, 0.75, 1, 1, 1])
    assert tree_text(both).splitlines()[1].endswith("2  0.75")


def test_leaves_of_one_datum_have_index_and_name():
    tree = Tree.from_paths([(1,), (2,), (2,)]).annotated(names=list("abc"))
    assert [line.split()[1:3] for line in tree_text(tree).splitlines()[1:]] == [
        ["1", "a"],
        ["2", "████████████████"],
    ]


def ladder_of_groups():
    """Return a tree in which single data leave one by one, and three groups part in between."""
    parent, leaf, spine = [-1], [], 0
    for step in range(90):
        size = 40 if step in (30, 50, 70) else 1
        parent += [spine, spine]
        spine, side = len(parent) - 1, len(parent) - 2
        for _ in range(size):
            parent.append(side)
            leaf.append(len(parent) - 1)
    leaf.append(spine)
    return Tree(parent, leaf)


def test_a_ladder_shows_its_groups_and_not_its_steps():
    tree = ladder_of_groups()
    timed = tree.annotated(time=tree.level / 2)
    for form in (tree, timed):
        lines = tree_text(form, max_lines=8).splitlines()
        assert len(lines) <= 12
        assert sum(line.endswith(" 40") for line in lines) == 3
        # What is not shown is counted: each node's lines add up.
        assert int(lines[0].split()[-1]) == form.n_data
        depth = [len(line) - len(line.lstrip("│├└─ ")) for line in lines]
        for k, line in enumerate(lines):
            below = []
            for j in range(k + 1, len(lines)):
                if depth[j] <= depth[k]:
                    break
                if depth[j] == min(depth[k + 1 :][: j - k]):
                    below.append(int(lines[j].split()[-1]))
            if below:
                assert sum(below) == int(line.split()[-1])


def test_a_very_deep_tree_neither_recurses_nor_runs_off_the_screen():
    n = 3000
    parent = np.repeat(np.arange(-2, 2 * n - 2, 2), 2)[1 : 2 * n]
    parent[0] = -1
    tree = Tree(parent, np.append(np.arange(1, 2 * n - 1, 2), 2 * n - 2))
    assert len(tree_text(tree).splitlines()) <= 60
    lines = tree_text(tree, max_lines=10_000).splitlines()
    assert len(lines) == 2 * n - 1
    assert max(map(len, lines)) < 100
