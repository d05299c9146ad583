"""Heat maps and scatters against what they are made of."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from sticktree import Tree
from sticktree.plotting import HeatmapDisplay, ScatterDisplay, plot_heatmap, plot_scatter
from sticktree.plotting.base import CLUSTERS
from sticktree.plotting.columns import correlation_linkage, standardised
from sticktree.plotting.heatmap import MISSING


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(30, 6)) @ rng.normal(size=(6, 6)) + 100
    data[rng.random(data.shape) < 0.1] = np.nan
    return data


def test_columns_are_standardised_and_ordered_by_correlation(table):
    z = standardised(table)
    np.testing.assert_allclose(np.nanmean(z, axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.nanstd(z, axis=0), 1)
    # Standardised by the rows of each column; correlated over the rows of both.
    distance = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            both = np.isfinite(z[:, i] + z[:, j])
            a, b = z[both, i], z[both, j]
            distance[i, j] = 1 - (a @ b) / np.sqrt((a @ a) * (b @ b))
    np.fill_diagonal(distance, 0)
    plain = linkage(squareform(distance, checks=False), "average", optimal_ordering=True)
    np.testing.assert_allclose(correlation_linkage(table), plain)
    constant = np.column_stack([np.full(5, 1e9), [np.nan] * 5, np.arange(5.0)])
    assert (standardised(constant)[:, 0] == 0).all()
    assert np.isfinite(correlation_linkage(constant)).all()
    assert correlation_linkage(table[:, :1]) is None


def test_the_map_shows_rows_in_the_trees_order(table, consensus, assert_legible):
    tree = consensus(30, names=[f"{i}$_{i}" for i in range(30)])
    columns = [f"long name of column {k}" for k in range(6)]
    axes = plot_heatmap(table, tree, columns=columns, classes=[None, "a", "b"] * 10)
    image = axes.heat.get_images()[0]
    rows = np.argsort(tree.preorder[tree.leaf])
    order = leaves_list(correlation_linkage(table))
    np.testing.assert_allclose(
        image.get_array().filled(np.nan), standardised(table)[rows][:, order]
    )
    np.testing.assert_allclose(image.cmap(np.ma.masked)[:3], to_rgb(MISSING))
    assert [t.get_text() for t in axes.heat.get_xticklabels()] == [columns[k] for k in order]
    assert [t.get_text() for t in axes.heat.get_yticklabels()] == [tree.names[i] for i in rows]
    assert axes.tree.get_ylim() == axes.heat.get_ylim() == axes.classes.get_ylim() == (30, 0)
    assert axes.columns.get_xlim() == axes.heat.get_xlim()
    legend = [text.get_text() for text in axes.heat.get_legend().get_texts()]
    assert legend == ["a", "b", "missing", "entry missing"]
    assert_legible(axes.heat.figure)


def test_rows_of_large_tables_are_averaged(ladder):
    data = np.random.default_rng(0).normal(size=(4500, 3))
    data[0] = np.nan
    axes = plot_heatmap(data, ladder(4500, 2), order_columns=False, standardise=False)
    shown = axes.heat.get_images()[0].get_array().filled(np.nan)
    tree = ladder(4500, 2)
    rows = data[np.argsort(tree.preorder[tree.leaf])]
    assert len(shown) == 1500
    for k in (0, 700, 1499):
        np.testing.assert_allclose(shown[k], np.nanmean(rows[3 * k : 3 * k + 3], axis=0))
    assert axes.columns is None
    assert axes.classes is None


@pytest.mark.parametrize(("n_data", "n_columns"), [(1, 1), (2, 40), (40, 2), (25, 150)])
def test_tables_of_any_shape_are_legible(consensus, n_data, n_columns, assert_legible):
    data = np.random.default_rng(0).normal(size=(n_data, n_columns))
    names = [f"row {i}" for i in range(n_data)]
    frame = pd.DataFrame(data, columns=[f"column_{k}" for k in range(n_columns)])
    axes = plot_heatmap(frame, consensus(n_data, names=names))
    assert_legible(axes.heat.figure)


def test_a_heat_map_takes_the_place_of_axes_or_fills_a_figure(table, consensus):
    tree = consensus(30)
    figure, (_, right) = plt.subplots(1, 2, layout="constrained")
    axes = plot_heatmap(table, tree, ax=right)
    assert axes.heat.figure is figure
    assert not right.axison
    assert axes.heat.get_position().x0 > 0.5
    other = plt.figure()
    assert plot_heatmap(table, tree, figure=other).heat.figure is other


def test_a_fit_is_drawn_beside_its_tree(fit):
    mixture = fit(3)
    shown = HeatmapDisplay.from_estimator(mixture, classes=[0, 1, 2] * 12)
    assert shown.ax_ is shown.axes_.heat
    assert sorted(t.get_text() for t in shown.ax_.get_xticklabels()) == ["x0", "x1", "x2"]
    np.testing.assert_allclose(shown.data, mixture.data_)


@pytest.mark.parametrize(
    ("data", "wrong", "message"),
    [
        ([[1.0], [2.0]], {}, "data must have 3 rows, one for each datum of the tree, got 2"),
        ([1.0, 2.0, 3.0], {}, "data must have rows and columns"),
        ([["a"], ["b"], ["c"]], {}, "data must be a sequence of numbers"),
        (np.ones((3, 2)), {"columns": ["a"]}, "columns must be 2 names"),
        (np.ones((3, 2)), {"classes": [1]}, "classes must have one value"),
    ],
)
def test_wrong_tables_are_refused(data, wrong, message):
    with pytest.raises(ValueError, match=message):
        plot_heatmap(data, Tree.from_paths([(1,), (2,), (3,)]), **wrong)
    assert not plt.get_fignums()


def test_wrong_places_are_refused(table, consensus):
    figure = plt.figure()
    free = figure.add_axes((0, 0, 1, 1))
    with pytest.raises(ValueError, match="ax must be one of a grid of subplots"):
        plot_heatmap(table, consensus(30), ax=free)
    with pytest.raises(ValueError, match="ax and figure cannot both be given"):
        plot_heatmap(table, consensus(30), ax=free, figure=figure)


def test_points_lie_in_their_columns_or_on_principal_axes(table):
    full = np.nan_to_num(standardised(table))
    ax = plot_scatter(table)
    points = ax.collections[0].get_offsets()
    _, size, directions = np.linalg.svd(full, full_matrices=False)
    for k in range(2):
        along = full @ directions[k]
        found = points[:, k]
        assert min(np.abs(found - along).max(), np.abs(found + along).max()) < 1e-9
        assert f"({100 * size[k] ** 2 / (size**2).sum():.0f} %)" in (
            ax.get_xlabel() if k == 0 else ax.get_ylabel()
        )
    pairs = plot_scatter(pd.DataFrame(table[:, :2], columns=["a$", "b"]))
    assert (pairs.get_xlabel(), pairs.get_ylabel()) == ("a$", "b")
    pairs.figure.canvas.draw()
    assert plot_scatter(np.ones((1, 4))).collections
    assert plot_scatter([[1.0], [2.0]]).collections


def test_points_are_coloured_by_cluster_or_class(fit):
    ax = plot_scatter([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], labels=[0, 1, 0])
    colour = ax.collections[0].get_facecolors()[:, :3]
    np.testing.assert_allclose(colour, [to_rgb(CLUSTERS[k]) for k in (0, 1, 0)])
    with pytest.raises(ValueError, match="labels and classes cannot both be given"):
        plot_scatter([[1.0, 2.0]], labels=[0], classes=[0])
    mixture = fit(2)
    shown = ScatterDisplay.from_estimator(mixture)
    assert len(shown.ax_.collections[0].get_offsets()) == 36
    by_class = ScatterDisplay.from_estimator(mixture, classes=["u", "v"] * 18)
    assert [t.get_text() for t in by_class.ax_.get_legend().get_texts()] == ["u", "v"]
