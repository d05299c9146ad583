"""What the pictures show is checked here; how they look was judged by eye."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from sticktree import Tree
from sticktree.plotting import (
    figure_diffusion,
    figure_recursive_sticks,
    plot_diffusion,
    plot_sticks,
    plot_tree,
)
from sticktree.plotting.base import INK, PAPER, branch_colours, readable_on
from sticktree.processes import (
    DiffusionModel,
    GaussianTransition,
    LogDivergence,
    NestedRestaurant,
    RecursiveSticks,
    TreeStickBreaking,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def sticks():
    return RecursiveSticks(1.0, depth=3).sample(np.random.default_rng(3), truncation=0.01)


@pytest.fixture
def diffusion():
    law = NestedRestaurant(LogDivergence(), depth=10)
    return DiffusionModel(law, GaussianTransition(dimension=2, noise=0))


def test_bars_are_as_wide_as_masses_and_lie_within_their_parents(sticks):
    ax = plot_sticks(sticks)
    bars = {
        (-round(bar.get_y() + bar.get_height() / 2), round(bar.get_x(), 9)): bar.get_width()
        for bar in ax.patches
        if to_rgb(bar.get_facecolor()) != to_rgb("#D9D9D9")
    }
    tree = sticks.tree
    assert sorted(bars.values()) == pytest.approx(sorted(sticks.mass))
    left = {}
    for node in range(tree.n_nodes):
        at = left.setdefault(node, 0.0)
        assert bars[(int(tree.level[node]), round(at, 9))] == pytest.approx(sticks.mass[node])
        for child in tree.children(node):
            left[int(child)] = at
            at += sticks.mass[child]
        assert at <= left[node] + sticks.mass[node] + 1e-12


def test_bars_are_labelled_where_there_is_room(sticks):
    texts = {text.get_text() for text in plot_sticks(sticks).texts}
    assert {"Δ", "1", "3"} <= texts
    assert not plot_sticks(sticks, labels=False).texts


def test_sticks_of_the_other_law_are_drawn_too():
    masses = TreeStickBreaking(2.0).sample_masses(np.random.default_rng(0), truncation=0.02)
    assert plot_sticks(masses).patches


def test_the_tree_shows_every_node_and_edge(sticks):
    tree = NestedRestaurant(1.0, depth=2).sample(12, np.random.default_rng(0))
    ax = plot_tree(tree)
    assert len(ax.collections[0].get_segments()) == tree.n_nodes - 1
    assert {text.get_text() for text in ax.texts} >= {"Δ", "1", "1.1"}
    counts = [text.get_text() for text in plot_tree(tree, labels="count").texts]
    assert counts == [str(n) for n in tree.count]


def test_parents_stand_over_their_children_and_leaves_apart():
    tree = NestedRestaurant(1.0, depth=3).sample(50, np.random.default_rng(1))
    ax = plot_tree(tree, labels="count")
    x = np.array([text.get_position()[0] for text in ax.texts])
    y = np.array([text.get_position()[1] for text in ax.texts])
    np.testing.assert_array_equal(y, -tree.level)
    assert np.diff(np.sort(x[tree.leaves])).min() == 1
    for node in range(tree.n_nodes):
        children = tree.children(node)
        if children.size:
            assert x[children].min() <= x[node] <= x[children].max()


def test_labels_do_not_overlap():
    tree = NestedRestaurant(1.0, depth=3).sample(40, np.random.default_rng(1))
    ax = plot_tree(tree)
    ax.figure.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
    assert len(boxes) == tree.n_nodes
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert not any(a.overlaps(b) for a, b in pairs)


def test_large_trees_are_dots():
    tree = NestedRestaurant(5.0, depth=3).sample(500, np.random.default_rng(1))
    assert not plot_tree(tree).texts
    assert not plot_tree(Tree.from_paths([(1,), (2,)]), labels=None).texts


def test_given_axes_are_used_and_returned(sticks, diffusion):
    simulation = diffusion.sample(5, np.random.default_rng(0))
    _, ax = plt.subplots()
    assert plot_sticks(sticks, ax=ax) is ax
    assert plot_tree(sticks.tree, ax=ax) is ax
    assert plot_diffusion(simulation, ax=ax) is ax


def test_the_diffusion_shows_all_data_and_every_step(diffusion):
    simulation = diffusion.sample(15, np.random.default_rng(0))
    ax = plot_diffusion(simulation)
    edges, private, points = ax.collections
    assert len(edges.get_segments()) == simulation.tree.n_nodes - 1
    assert len(private.get_segments()) == 15  # the private step of each datum
    np.testing.assert_array_equal(points.get_offsets(), simulation.data)
    assert len(plot_diffusion(simulation, show_tree=False).collections) == 1


def test_data_keep_their_colours_when_the_diffusion_goes_on(diffusion):
    rng = np.random.default_rng(0)
    few = diffusion.sample(20, rng)
    figure = figure_diffusion(few, diffusion.extend(few, 80, rng))
    left, right = (ax.collections[-1].get_facecolors() for ax in figure.axes)
    np.testing.assert_allclose(left[:, :3], right[:20, :3])


def test_both_panels_of_figure_1_colour_a_piece_alike(sticks):
    figure = figure_recursive_sticks(sticks)
    left, right = figure.axes
    figure.canvas.draw()
    # The grey of what is unbroken lies under every level: later bars cover earlier ones.
    bars = {
        text.get_text(): to_rgb(bar.get_facecolor())
        for text in left.texts
        for bar in left.patches
        if bar.get_window_extent().contains(*left.transData.transform(text.get_position()))
    }
    edges = {t.get_text(): to_rgb(t.get_bbox_patch().get_edgecolor()) for t in right.texts}
    common = (bars.keys() & edges.keys()) - {"Δ"}
    assert len(common) >= 5
    for name in common:
        assert edges[name] == pytest.approx(bars[name])


def test_hues_go_by_branch_of_the_first_fork():
    tree = Tree.from_paths([(1, 1, 1), (1, 1, 2), (1, 2, 1)])  # one trunk, then a fork
    colours = branch_colours(tree)
    trunk, one, two = (tree.node(index) for index in ((1,), (1, 1), (1, 2)))
    np.testing.assert_allclose(colours[trunk], to_rgb(INK))
    assert not np.allclose(colours[one], colours[two])
    np.testing.assert_allclose(colours[tree.node((1, 2, 1))], colours[two])


def test_text_is_readable_on_its_background():
    assert readable_on(np.array([0.0, 0.0, 0.4])) == PAPER
    assert readable_on(np.array([0.9, 0.62, 0.0])) == INK


@pytest.mark.parametrize("labels", ["name", ["too", "few"], ""])
def test_wrong_labels_are_refused(labels):
    tree = Tree.from_paths([(1, 1), (1, 2)])
    with pytest.raises(ValueError, match=r"labels must be .* 4 texts"):
        plot_tree(tree, labels=labels)


def test_only_two_dimensions_can_be_drawn():
    model = DiffusionModel(NestedRestaurant(1.0, depth=2), GaussianTransition(dimension=3))
    with pytest.raises(ValueError, match="two-dimensional data, got dimension 3"):
        plot_diffusion(model.sample(3, np.random.default_rng(0)))


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install sticktree\[plot\]"):
        plot_tree(Tree([-1]))
