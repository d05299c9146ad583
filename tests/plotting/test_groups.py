"""Groups of any kind, their colours and legends."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from sticktree import Tree
from sticktree.plotting.base import CLASSES, CLUSTERS, REST, colours, one_line, widest
from sticktree.plotting.groups import branch_groups, main_branches, read_groups
from sticktree.plotting.outline import Outline, Rows

# Machado, Oliveira and Fernandes' matrices for full protanopia and deuteranopia.
SEEN = [
    np.eye(3),
    [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
]


def _oklab(rgb, seen):
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.transpose(seen), 0, 1)
    cones = linear @ np.transpose(
        [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    )
    return np.cbrt(cones) @ np.transpose(
        [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    )


@pytest.mark.parametrize("palette", [CLUSTERS, CLASSES])
def test_neighbours_can_be_told_apart_by_everyone(palette):
    rgb = np.array([to_rgb(colour) for colour in palette])
    for seen in SEEN:
        lab = _oklab(rgb, seen)
        assert np.linalg.norm(np.diff(lab, axis=0), axis=1).min() > 0.08
        every = np.linalg.norm(lab[:, None] - lab, axis=2) + 9 * np.eye(len(lab))
        assert every.min() > 0.04


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, "b", "a"],
        [1.0, np.nan, 2.0, 1.0],
        pd.Series(["a", None, "b", "a"], dtype="string"),
        pd.Series(["a", None, "b", "a"], dtype="category"),
        pd.Series([1, None, 2, 1], dtype="Int64"),
        np.ma.masked_array([1, 7, 2, 1], mask=[0, 1, 0, 0]),
        [True, "", False, True],
        [1, " ", "one", 1],
    ],
)
def test_groups_of_any_kind_may_be_missing(values):
    groups = read_groups("classes", values, 4)
    code = groups.code
    assert code[1] == -1
    assert code[0] == code[3] != code[2]
    assert len(groups.names) == 2
    np.testing.assert_allclose(groups.of_rows()[1], to_rgb(REST))


def test_whole_numbers_and_rare_classes_are_named_plainly():
    assert read_groups("classes", [1.0, np.nan, 2.5], 3).names == ["1", "2.5"]
    many = read_groups("classes", [k % 30 for k in range(69)] + [None], 70, CLASSES)
    assert (many.code == -1).tolist() == [False] * 69 + [True]
    assert len(many.names) == len(CLASSES) + 1
    assert many.names[-1] == "11 others"
    assert (many.code < len(CLASSES)).sum() > 2 * len(CLASSES)
    assert len(read_groups("labels", range(70), 70).colour) == 70


@pytest.mark.parametrize("values", ["abc", [1, 2], 3, [[1], [2], [3]]])
def test_wrong_groups_are_refused(values):
    with pytest.raises(ValueError, match="classes must"):
        read_groups("classes", values, 3)


def test_legends_show_names_as_they_are():
    names = ["_hidden", "a$b$", "é\n(x)", None]
    ax = plt.figure().subplots()
    legend = read_groups("classes", names, 4).legend(ax)
    shown = [text.get_text() for text in legend.get_texts()]
    assert sorted(shown) == sorted(["_hidden", "a$b$", "é (x)", "missing"])
    assert not any(text.get_parse_math() for text in legend.get_texts())
    ax.figure.canvas.draw()


def test_texts_are_cut_and_measured():
    assert one_line("a\tb\r\nc\u2028d") == "a b c d"
    assert len(one_line("x" * 100)) == 28
    assert widest(["ii", "mm"], 8) == widest(["mm"], 8) > 8
    assert widest([], 8) == widest([""], 8) == 0.0
    ax = plt.figure().subplots()
    text = ax.text(0, 0, "glass 12", fontsize=9)
    box = text.get_window_extent(ax.figure.canvas.get_renderer())
    assert box.width * 72 / ax.figure.dpi == pytest.approx(widest(["glass 12"], 9), abs=2)


def test_main_branches_are_large_and_apart(consensus, ladder):
    for tree in (consensus(300), ladder(100, 40), Tree([-1], [0, 0])):
        rows = Rows.of(tree)
        group = main_branches(rows)
        sizes = np.bincount(group[group >= 0])
        assert 1 <= sizes.size <= 8
        assert sizes.min() >= 0.05 * rows.n_rows
        assert np.diff(group[group >= 0]).min(initial=0) >= 0  # numbered in the tree's order
    assert (main_branches(Rows.of(ladder(100, 40))) == 0).all()


def test_a_branch_has_the_group_of_nearly_all_of_its_rows():
    tree = Tree.from_paths([(1,)] * 39 + [(2,)] * 2)
    outline = Outline.of(Rows.of(tree))
    pure = np.zeros(41, dtype=np.int32)
    pure[39:] = 1
    assert branch_groups(outline, pure).tolist() == [0, 0, 1]  # 39 of 41 are 95 %
    tied = Outline.of(Rows.of(Tree.from_paths([(1,)] * 40)))
    assert branch_groups(tied, np.repeat([0, 1], [38, 2])).tolist() == [0]  # 95 % is enough
    assert branch_groups(tied, np.repeat([0, 1], [37, 3])).tolist() == [-1]
    pure[37:] = 1
    assert branch_groups(outline, pure).tolist() == [-1, -1, 1]
    assert colours(25).shape == (25, 3)
