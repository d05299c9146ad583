"""What a dendrogram and an icicle show is checked here; how they look was judged by eye."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from sticktree import DFPMixture, Tree
from sticktree.plotting import DendrogramDisplay, IcicleDisplay, plot_dendrogram, plot_icicle
from sticktree.plotting.base import CLASSES, CLUSTERS, REST
from sticktree.processes import NestedRestaurant

UGLY = ["a_b", "$x^2$", "naïve “q”", "(p, q)", "line\nbreak", "'it's'", "Ωmega", "100%", "\\alpha"]


def _segments(ax):
    return [
        tuple(np.round(line, 9).ravel())
        for lines in ax.collections
        if isinstance(lines, LineCollection)
        for line in lines.get_segments()
    ]


def _strip(ax, n):
    return [c for c in ax.collections if isinstance(c, PolyCollection)][n]


def test_every_branch_is_drawn_at_its_time(consensus):
    tree = consensus(12)
    ax = plot_dendrogram(tree)
    order = np.argsort(tree.preorder[tree.leaf])
    row = np.empty(12)
    row[order] = np.arange(12) + 0.5
    middle = [row[tree.data_below(w)].mean() for w in range(tree.n_nodes)]
    found = set(_segments(ax))
    for w in range(tree.n_nodes):
        begin = tree.time[tree.parent[w]] if w else 0.0
        assert tuple(np.round([begin, middle[w], tree.time[w], middle[w]], 9)) in found
        if tree.n_children[w]:
            ends = [middle[c] for c in tree.children(w)]
            line = [tree.time[w], min(ends), tree.time[w], max(ends)]
            assert tuple(np.round(line, 9)) in found


def test_data_that_share_a_leaf_part_below_it():
    ax = plot_dendrogram(Tree([-1, 0, 0], [1, 1, 1, 2]))
    found = _segments(ax)
    for r in range(3):
        assert (1.0, r + 0.5, 2.0, r + 0.5) in found
    assert (1.0, 0.5, 1.0, 2.5) in found
    assert (0.0, 3.5, 2.0, 3.5) in found


@pytest.mark.parametrize("orientation", ["left", "right", "top", "bottom"])
def test_names_lie_in_the_trees_order_and_as_they_are(consensus, orientation, assert_legible):
    tree = consensus(9, names=UGLY)
    ax = plot_dendrogram(tree, classes=UGLY, orientation=orientation)
    shown = assert_legible(ax.figure)
    axis = ax.xaxis if orientation in ("top", "bottom") else ax.yaxis
    names = [text.get_text() for text in axis.get_ticklabels()]
    order = np.argsort(tree.preorder[tree.leaf])
    assert names == [UGLY[i].replace("\n", " ") for i in order]
    assert not any(text.get_parse_math() for text in axis.get_ticklabels())
    assert set(names) <= set(shown)


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_icicle])
@pytest.mark.parametrize("n_data", [1, 2, 20, 60, 2000])
def test_texts_never_overlap(consensus, plot, n_data, assert_legible):
    names = [f"row {i}" for i in range(n_data)]
    classes = [i % 25 for i in range(n_data)]
    assert_legible(plot(consensus(n_data, names=names), classes=classes).figure)


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_icicle])
def test_small_axes_and_figures_without_pyplot_serve(consensus, plot, assert_legible):
    before = plt.get_fignums()
    figure = Figure(figsize=(2.5, 2.0), layout="constrained")
    ax = figure.subplots()
    tree = consensus(30, names=[f"n{i}" for i in range(30)])
    assert plot(tree, ax=ax) is ax
    part = Figure(figsize=(5, 3), layout="constrained").subfigures(1, 2)[1]
    assert plot(tree, ax=part.subplots()).figure is part
    assert plt.get_fignums() == before
    assert_legible(figure)


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_icicle])
@pytest.mark.parametrize("orientation", ["left", "top"])
def test_the_number_of_artists_is_bounded(ladder, consensus, plot, orientation):
    for tree in (ladder(1500, 40), consensus(1500)):
        ax = plot(tree, classes=np.arange(1500) % 7, orientation=orientation)
        paths = sum(len(c.get_paths()) for c in ax.collections)
        corners = sum(len(p.vertices) for c in ax.collections for p in c.get_paths())
        assert paths < 2000
        assert corners < 30000
        assert len(ax.texts) <= 100


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_icicle])
@pytest.mark.parametrize(
    "tree",
    [
        Tree([-1], [0]),
        Tree([-1], [0, 0, 0]),
        Tree([-1, 0, 1], [2]),
        Tree([-1, 0, 0], [1, 2], time=[0.0, 0.0, 0.0]),
        Tree([-1, 0, 0, 0], [0, 1, 3]),
        Tree([-1, *[0] * 5], [1, 2, 3, 4, 5], time=[0, 1, 1, 1, 1, 1], support=[np.nan] * 6),
        Tree([-1, 0, 0], [1, 2], time=[0.0, 1.0, 7.5]),
    ],
)
def test_odd_trees_are_drawn(tree, plot):
    for orientation in ("left", "bottom"):
        ax = plot(tree, orientation=orientation)
        ax.figure.canvas.draw()
        assert ax.collections


def test_wedges_are_as_high_as_their_rows_and_say_how_many(ladder):
    ax = plot_dendrogram(ladder(1000, 300), max_leaves=20)
    shapes = _strip(ax, 0).get_paths()
    heights = [np.ptp(path.vertices[:, 1]) for path in shapes]
    assert max(heights) > 250
    assert sum(heights) == pytest.approx(1000, rel=0.1)
    sizes = [int(text.get_text()) for text in ax.get_yticklabels()]
    assert sum(sizes) == 1000


def test_branches_have_the_colour_of_their_cluster():
    tree = Tree.from_paths([(1, 1), (1, 2), (2, 1), (2, 2)])
    ax = plot_dendrogram(tree, labels=["x", "x", "y", "y"])
    lines = next(c for c in ax.collections if isinstance(c, LineCollection))
    used = {tuple(np.round(colour[:3], 6)) for colour in lines.get_colors()}
    expected = {tuple(np.round(to_rgb(c), 6)) for c in (*CLUSTERS[:2], "#222222")}
    assert used == expected


def test_classes_are_a_strip_in_the_trees_order():
    tree = Tree.from_paths([(2,), (1,), (2,), (1,)])
    ax = plot_dendrogram(tree, classes=["a", "b", None, "b"])
    strip = _strip(ax, 0)
    colour = [tuple(np.round(c[:3], 6)) for c in strip.get_facecolors()]
    expected = [CLASSES[1], CLASSES[0], REST]  # the two neighbours of class b are one
    assert colour == [tuple(np.round(to_rgb(c), 6)) for c in expected]
    rows = [(p.vertices[:, 1].min(), p.vertices[:, 1].max()) for p in strip.get_paths()]
    assert rows == [(0, 2), (2, 3), (3, 4)]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b", "missing"]
    assert ax.get_xlim()[1] > 2.0  # the strip lies beyond the tips, which are at 2
    assert min(p.vertices[:, 0].min() for p in strip.get_paths()) > 2.0


def test_many_classes_have_a_bounded_legend_and_strip(consensus):
    ax = plot_dendrogram(consensus(1500), classes=np.random.default_rng(0).integers(60, size=1500))
    assert len(ax.get_legend().get_texts()) == len(CLASSES) + 1
    assert len(_strip(ax, 0).get_paths()) <= 1000


def test_supports_are_written_where_asked(consensus):
    tree = consensus(20)
    written = {text.get_text() for text in plot_dendrogram(tree, supports=True).texts}
    values = {"1" if s >= 0.995 else f"{s:.2f}" for s in tree.support[tree.n_children > 0]}
    assert len(written) > 3
    assert written <= values
    assert not plot_dendrogram(tree, supports=False).texts
    low = tree.annotated(support=np.where(tree.n_children > 0, 0.01, 1.0))
    assert not plot_dendrogram(low).texts
    assert plot_dendrogram(low, supports=True).texts

    def widths(supports):
        ax = plot_dendrogram(tree, supports=supports)
        return next(c for c in ax.collections if isinstance(c, LineCollection)).get_linewidths()

    assert np.ptp(widths(False)) == 0
    assert np.ptp(widths("auto")) > 0


def test_transfer_supports_are_written_where_there_are_any(consensus):
    tree = consensus(20)
    both = tree.annotated(transfer=1 - (1 - tree.support) / 3)

    def written(tree, **options):
        ax = plot_dendrogram(tree, supports=True, **options)
        return {text.get_text() for text in ax.texts}, ax.get_xlabel()

    def values(supports):
        return {"1" if s >= 0.995 else f"{s:.2f}" for s in supports[tree.n_children > 0]}

    numbers, label = written(both)
    assert numbers <= values(both.transfer)
    assert label == "level (numbers: transfer support)"
    numbers, label = written(both, support_kind="support")
    assert numbers <= values(tree.support)
    assert label == "level (numbers: exact support)"
    assert plot_dendrogram(both, supports=False).get_xlabel() == "level"
    top = plot_dendrogram(both, supports=True, orientation="top")
    assert top.get_ylabel() == "level (numbers: transfer support)"
    with pytest.raises(ValueError, match='support_kind must be None, "support" or "transfer"'):
        plot_dendrogram(both, support_kind="exact")
    with pytest.raises(ValueError, match="support_kind must be one that the tree has"):
        plot_dendrogram(tree, support_kind="transfer")


@pytest.mark.parametrize("orientation", ["left", "right", "top", "bottom"])
def test_supports_lie_beside_their_lines_and_on_no_other(consensus, orientation):
    _, ax = plt.subplots(figsize=(3.5, 3.5), layout="constrained")
    plot_dendrogram(consensus(60, 3), ax=ax, supports=True, orientation=orientation)
    ax.figure.canvas.draw()
    lines = next(c for c in ax.collections if isinstance(c, LineCollection)).get_segments()
    ends = np.array([ax.transData.transform(line) for line in lines])
    assert len(ax.texts) > 3
    for text in ax.texts:
        box = text.get_window_extent().padded(-1.0)
        low, high = ends.min(axis=1), ends.max(axis=1)
        apart = (high < box.min).any(axis=1) | (low > box.max).any(axis=1)
        assert apart.all(), text


def test_areas_side_by_side_are_the_clusters_of_a_cut(consensus):
    rng = np.random.default_rng(0)
    for tree in (consensus(25), NestedRestaurant(1.0, depth=3).sample(25, rng)):
        ax = plot_icicle(tree, orientation="left", labels=np.zeros(25))
        boxes = [p.get_extents() for p in _strip(ax, -1).get_paths()]
        for time in rng.uniform(0, tree.time.max(), 5):
            across = [box for box in boxes if box.x0 < time < box.x1]
            sizes = sorted(round(box.height) for box in across)
            assert sizes == sorted(np.bincount(tree.cut(time)))


def test_areas_of_a_large_tree_cover_every_row_once(ladder, consensus):
    for tree in (ladder(400, 60), consensus(400)):
        ax = plot_icicle(tree, orientation="left", max_leaves=15)
        areas = [p for c in ax.collections if isinstance(c, PolyCollection) for p in c.get_paths()]
        at = np.column_stack([np.full(400, 1.77), np.arange(400) + 0.5])
        assert (np.sum([area.contains_points(at) for area in areas], axis=0) == 1).all()


def test_areas_have_their_sizes_written(consensus):
    tree = consensus(40)
    shown = [int(text.get_text()) for text in plot_icicle(tree).texts]
    assert set(shown) <= set(tree.count.tolist())
    shares = [text.get_text() for text in plot_icicle(tree, sizes="share").texts]
    assert all(share.endswith(" %") for share in shares)
    assert not plot_icicle(tree, sizes=None).texts


@pytest.mark.parametrize("display", [DendrogramDisplay, IcicleDisplay])
def test_displays_keep_what_they_show(fit, display):
    mixture = fit(2)
    _, ax = plt.subplots()
    shown = display.from_estimator(mixture, classes=["x"] * 36, ax=ax)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    assert shown.tree is mixture.tree_
    other = shown.plot(orientation="right").ax_
    assert other is not ax
    with pytest.raises(NotFittedError):
        display.from_estimator(DFPMixture())
    with pytest.raises(TypeError, match="estimator must be a fitted DFPMixture, got int"):
        display.from_estimator(3)


@pytest.mark.parametrize("plot", [plot_dendrogram, plot_icicle])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"orientation": "up"}, "orientation must be one of 'left'"),
        ({"max_leaves": 0}, "max_leaves must be an integer of at least 1, got 0"),
        ({"names": ["a"]}, "names must be True, False or 3 texts"),
        ({"names": "abc"}, "names must be True, False or 3 texts"),
        ({"classes": [1, 2]}, "classes must have one value for each of the 3 data"),
        ({"labels": "abc"}, "labels must be a sequence of 3 values"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_drawn(plot, wrong, message):
    ax = plt.figure().subplots()
    with pytest.raises(ValueError, match=message):
        plot(Tree.from_paths([(1,), (2,), (3,)]), ax=ax, **wrong)
    assert not ax.collections
    assert len(plt.get_fignums()) == 1


def test_other_wrong_arguments_are_refused():
    tree = Tree.from_paths([(1,), (2,)])
    with pytest.raises(ValueError, match='supports must be "auto", True or False'):
        plot_dendrogram(tree, supports=0.5)
    with pytest.raises(ValueError, match='sizes must be "count", "share" or None'):
        plot_icicle(tree, sizes="mass")
    with pytest.raises(ValueError, match="tree must have data"):
        plot_dendrogram(Tree([-1]))
    with pytest.raises(TypeError, match=r"tree must be a sticktree.Tree, got list"):
        plot_dendrogram([1, 2])
