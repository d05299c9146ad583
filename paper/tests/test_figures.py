"""The paper's figures: what they show, not their pixels."""

import warnings
from dataclasses import astuple

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PathCollection

from sticktree import DFPMixture, DirichletDiffusionTree, Tree
from sticktree.datasets import MissingDataError, load
from sticktree.engine.draw import Draw
from sticktree.posterior.draws import ConvergenceWarning
from sticktree_paper import figure_trees, figures
from sticktree_paper.figure_trees import Parsimony, Shape, figure_4, typical_draw, with_rows
from sticktree_paper.figures import FIGURES, figure_1, figure_2, figure_3, make

SMALL = {"covariance_type": "full", "leaf_noise": "shared", "n_chains": 2, "random_state": 0}


def _fitted(mixture, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(data)


def _drawn(figure):
    """Return where bars and points of a figure are."""
    bars = [bar.get_bbox().bounds for ax in figure.axes for bar in ax.patches]
    points = [
        place.tolist()
        for ax in figure.axes
        for c in ax.collections
        if isinstance(c, PathCollection)
        for place in c.get_offsets()
    ]
    assert bars or points
    return bars, points


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def synthetic():
    return load("synthetic")


@pytest.fixture(scope="module")
def fits(synthetic):
    """Return short fits of both models, long enough for every chain to find the clusters."""
    length = {"n_warmup": 300, "n_draws": 30, **SMALL}
    return {
        "DDT": _fitted(DirichletDiffusionTree(60, **length), synthetic.data),
        "DFP": _fitted(DFPMixture(**length), synthetic.data),
    }


@pytest.fixture(scope="module")
def made_4(fits, synthetic):
    return figure_4(fits, synthetic.data, synthetic.labels)


# ---- shapes of trees -----------------------------------------------------------------------------


def _naive_shape(tree):
    """Count branchings from the sets of data below nodes alone."""
    below = {frozenset(tree.data_below(w).tolist()) for w in range(tree.n_nodes)} - {frozenset()}
    widths = []
    for s in below:
        inside = [t for t in below if t < s]
        largest = [t for t in inside if not any(t < u for u in inside)]
        covered = set().union(*largest) if largest else set()
        width = len(largest) + bool(largest and s - covered)
        if width > 1:
            widths.append(width)
    leaves = [s for s in below if not any(t < s for t in below)]
    return (len(widths), np.mean(widths) if widths else 0.0, max(widths, default=0), len(leaves))


@pytest.mark.parametrize("seed", range(20))
def test_shape_counts_what_sets_of_data_say(seed):
    rng = np.random.default_rng(seed)
    paths = [
        tuple(rng.integers(1, 4, size=rng.integers(1, 6) if seed % 2 else 4)) for _ in range(12)
    ]
    tree = Tree.from_paths(paths)
    assert astuple(Shape.of(tree)) == pytest.approx(_naive_shape(tree))


def test_shape_does_not_depend_on_chains_and_empty_branches():
    tree = Tree.from_paths([(1, 1), (1, 2), (2, 1)])
    longer = Tree.from_paths([(1, 1, 1, 1, 1), (1, 1, 1, 2, 1), (2, 1, 1, 1, 1)])
    empty = Tree([-1, 0, 0, 1, 1, 2, 0, 6, 6], [3, 4, 5])
    assert Shape.of(tree) == Shape.of(longer) == Shape.of(empty) == Shape(2, 2.0, 2, 3)


def test_shape_of_a_single_leaf():
    assert Shape.of(Tree([-1], [0, 0])) == Shape(0, 0.0, 0, 1)
    assert Shape.of(Tree([-1, 0, 1], [2, 2])) == Shape(0, 0.0, 0, 1)


def _draw(paths, log_joint):
    tree = Tree.from_paths(paths)
    parent = np.maximum(tree.parent, 0)
    return Draw(tree.leaf, parent, tree.level, {}, (), 1.0, 0.0, log_joint)


def test_typical_draw_has_the_median_number_of_branchings_and_is_the_likeliest():
    star = [(1, 1), (2, 1), (3, 1), (4, 1)]  # one branching
    pairs = [(1, 1), (1, 2), (2, 1), (2, 2)]  # three
    one = [(1, 1), (1, 2), (2, 1), (3, 1)]  # two
    draws = [
        _draw(star, 9.0),
        _draw(one, 1.0),
        _draw(one, 2.0),
        _draw(pairs, 8.0),
        _draw(star, 7.0),
    ]
    assert typical_draw(draws) is draws[2]
    found = Parsimony.of(draws)
    assert (found.n_draws, found.shown) == (5, Shape.of(draws[2].tree))
    assert found.n_internal == pytest.approx((9 / 5, np.std([1, 2, 2, 3, 1])))
    assert found.widest.mean == pytest.approx((4 + 3 + 3 + 2 + 4) / 5)
    assert str(found.n_leaves) == "4.0 ± 0.0"


def test_every_row_ends_at_time_one_and_data_meet_when_they_did():
    tree = Tree.from_paths([(1, 1, 1), (1, 1, 1), (1, 2, 1), (2, 1, 1)])
    grown = with_rows(tree, depth=4)
    np.testing.assert_array_equal(grown.time[grown.leaf], 1.0)
    np.testing.assert_array_equal(np.sort(grown.leaf), grown.leaves)
    i, j = np.triu_indices(4, 1)
    np.testing.assert_allclose(grown.meeting_time(i, j), tree.meeting_level(i, j) / 4)
    assert (grown.n_children[1:] != 1).all()


# ---- figures -------------------------------------------------------------------------------------


def test_figure_1_has_sticks_and_a_tree():
    made = figure_1()
    ((name, figure),) = made.figures
    left, right = figure.axes
    assert name == "figure-1-sticks"
    assert {"Δ", "1", "2", "3"} <= {text.get_text() for text in right.texts}
    assert "0.03" in right.get_title()
    assert "0.03" in made.caption
    assert left.get_xlim() == (0.0, 1.0)


def test_figure_2_shows_all_data_twice_the_first_with_their_tree():
    made = figure_2(few=5, many=40, depth=10)
    ((_, figure),) = made.figures
    first, all_ = figure.axes
    sizes = [
        sum(len(c.get_offsets()) for c in ax.collections if isinstance(c, PathCollection))
        for ax in (first, all_)
    ]
    assert sizes == [5, 40]
    trees = [any(isinstance(c, LineCollection) for c in ax.collections) for ax in (first, all_)]
    assert trees == [True, False]
    assert "10 steps" in made.caption


def test_figure_3_has_a_row_for_each_fit(fits, synthetic):
    mixture = fits["DFP"]
    classes = {"Plants": synthetic.labels}
    made = figure_3({"Plants": mixture, "Again": mixture}, classes=classes, resolution=12)
    ((_, figure),) = made.figures
    assert len(figure.axes) == 6
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[::3] == ["Plants: data", "Again: data"]
    for data, _, density in (figure.axes[:3], figure.axes[3:]):
        assert data.get_xlim() == density.get_xlim()
        assert len(data.collections[0].get_offsets()) == len(synthetic.data)
        assert not any(isinstance(c, PathCollection) for c in density.collections)
    assert made.caption.count("purity") == 1  # only where classes are known
    assert "depth 4, full covariances, shared noise, 2 chains of 30 draws" in made.caption


def test_figure_3_without_fits():
    with pytest.raises(ValueError, match="fits must have one fitted mixture or more, got none"):
        figure_3({})


def test_figure_4_says_how_its_trees_branch(made_4, fits):
    ((_, figure),) = made_4.figures
    data, *trees = figure.axes
    assert data.get_title(loc="left") == "data"
    for ax, (name, fit) in zip(trees, fits.items(), strict=True):
        shape = Shape.of(typical_draw(fit.posterior_.draws).tree)
        assert made_4.parsimony[name].shown == shape
        assert ax.get_title(loc="left").splitlines()[1] == (
            f"{shape.n_internal} internal nodes, {shape.mean_children:.1f} children each, "
            f"at most {shape.widest}"
        )
        assert f"{name} in {fit.depth_} steps, over 60 draws" in made_4.caption
        assert str(made_4.parsimony[name].n_internal) in made_4.caption


def test_dfp_trees_are_more_parsimonious_and_wider(made_4):
    ddt, dfp = made_4.parsimony["DDT"], made_4.parsimony["DFP"]
    assert dfp.n_leaves.mean >= 12  # it is no less fine: each of the 12 clusters is there
    assert dfp.n_internal.mean + dfp.n_internal.sd < ddt.n_internal.mean - ddt.n_internal.sd
    assert dfp.shown.n_internal < ddt.shown.n_internal
    assert ddt.mean_children.mean < 2.2
    assert dfp.mean_children.mean > 2.5


def test_figure_4_wants_two_columns_and_classes(fits, synthetic):
    with pytest.raises(ValueError, match=r"two columns, got shape \(96, 1\)"):
        figure_4(fits, synthetic.data[:, :1], synthetic.labels)
    with pytest.raises(ValueError, match="classes must be a class for each row, got None"):
        figure_4(fits, synthetic.data, None)
    with pytest.raises(ValueError, match="fits must have one"):
        figure_4({}, synthetic.data, synthetic.labels)


# ---- by the name of the part ---------------------------------------------------------------------


@pytest.mark.parametrize("part", ["fig1", "fig2"])
def test_the_same_seed_gives_the_same_figure(part):
    first, again, other = (
        _drawn(make(part, seed=seed, quick=True, n_jobs=1).figures[0][1]) for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


def test_parts_pass_on_what_they_are_asked(monkeypatch, fits, synthetic):
    asked = []

    def no_fits(*args, **kwargs):
        asked.append(kwargs)
        return fits

    monkeypatch.setattr(figure_trees, "tree_fits", no_fits)
    made = make("fig4", seed=5, quick=True, n_jobs=2, progress=False)
    assert asked == [{"seed": 5, "quick": True, "n_jobs": 2, "progress": False}]
    assert set(made.parsimony) == {"DDT", "DFP"}
    assert set(FIGURES) == {"fig1", "fig2", "fig3", "fig4"}


def test_figure_3_without_its_data(monkeypatch):
    def absent(name):
        raise MissingDataError(name)

    monkeypatch.setattr("sticktree.datasets.load", absent)
    with pytest.raises(MissingDataError):
        make("fig3", quick=True)
    assert figures.SETS == ("aggregation", "r15")


def test_parts_that_are_none():
    with pytest.raises(ValueError, match="part must be one of fig1, fig2, fig3, fig4, got 'fig5'"):
        make("fig5")
    with pytest.raises(ValueError, match="seed must be an integer of at least 0, got -1"):
        make("fig1", seed=-1)
