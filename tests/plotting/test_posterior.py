"""Pictures of draws: co-clustering, traces, branches per level and densities."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from sticktree import Tree
from sticktree.plotting import (
    CoclusteringDisplay,
    DensityDisplay,
    LeavesPerLevelDisplay,
    TracesDisplay,
    figure_density,
    plot_coclustering,
    plot_density,
    plot_leaves_per_level,
    plot_traces,
)
from sticktree.plotting.density import MASSES
from sticktree.posterior import Posterior
from sticktree.posterior.draws import Diagnosis, r_hat_text
from tests.support.models import of_depth


def test_coclustering_lies_in_the_trees_order(consensus):
    tree = consensus(20)
    matrix = np.random.default_rng(0).random((20, 20))
    ax = plot_coclustering(matrix, tree, labels=tree.cut(1.0))
    rows = np.argsort(tree.preorder[tree.leaf])
    np.testing.assert_allclose(ax.get_images()[0].get_array(), matrix[np.ix_(rows, rows)])
    sizes = [size for size in np.bincount(tree.cut(1.0)) if size > 1]
    frames = [path.get_extents() for path in ax.collections[0].get_paths()]
    assert sorted(round(frame.width) for frame in frames) == sorted(sizes)
    assert plot_coclustering([[1.0]]).get_xlabel() == "1 row"


def test_large_matrices_are_averaged_in_blocks():
    matrix = np.random.default_rng(0).random((4001, 4001))
    shown = plot_coclustering(matrix).get_images()[0].get_array()
    assert shown.shape == (1334, 1334)
    np.testing.assert_allclose(shown[1, 0], matrix[3:6, :3].mean())
    np.testing.assert_allclose(shown[-1, -1], matrix[3999:, 3999:].mean())


def test_coclustering_of_a_fit(fit, assert_legible):
    mixture = fit(2)
    ax = plot_coclustering(mixture)
    rows = np.argsort(mixture.tree_.preorder[mixture.tree_.leaf], kind="stable")
    np.testing.assert_allclose(
        ax.get_images()[0].get_array(), mixture.coclustering()[np.ix_(rows, rows)]
    )
    assert "36 rows in the tree" in ax.get_xlabel()
    assert_legible(ax.figure)


def test_of_many_rows_some_are_compared():
    from benchmarks.summaries import as_fit, made_up

    sampled = CoclusteringDisplay.from_estimator(as_fit(made_up(2_100, 4)))
    assert sampled.matrix.shape == (1_000, 1_000)
    assert "1,000 of 2,100 rows" in sampled.ax_.get_xlabel()


@pytest.mark.parametrize(
    ("matrix", "more", "message"),
    [
        (np.ones((2, 3)), {}, "matrix must be square"),
        (np.full((2, 2), 2.0), {}, "matrix must have probabilities"),
        ([[np.nan]], {}, "matrix must have probabilities"),
        (np.ones((2, 2)), {"tree": Tree([-1], [0])}, "matrix must have 1 rows"),
        (np.ones((2, 2)), {"labels": [1]}, "labels must have one value"),
        (np.ones((2, 2)), {"level": 1}, "level must not be given with a matrix"),
    ],
)
def test_wrong_matrices_are_refused(matrix, more, message):
    with pytest.raises(ValueError, match=message):
        plot_coclustering(matrix, **more)
    assert not plt.get_fignums()


def test_traces_show_every_chain(fit, assert_legible):
    mixture = fit(2)
    shown = TracesDisplay.from_estimator(mixture)
    names = list(shown.scalars)
    assert names[0] == "log_joint"
    assert {"nodes[0]", "concentration", "meeting_level"} <= set(names)
    assert len(names) <= 12
    assert shown.axes_.shape == (len(names), 2)
    for name, (left, right) in zip(names, shown.axes_, strict=True):
        assert len(right.lines) == mixture.n_chains
        assert left.get_title(loc="left") == name
        if name in mixture.diagnosis_.r_hat:
            shown_r_hat = r_hat_text(mixture.diagnosis_.r_hat[name])
            assert f"R-hat {shown_r_hat}" in right.get_title(loc="right")
    np.testing.assert_allclose(
        shown.axes_[0, 1].lines[1].get_ydata(), mixture.posterior_.scalars()["log_joint"][1]
    )
    assert_legible(shown.figure_)


@pytest.mark.parametrize(
    ("r_hat", "title"),
    [
        (1.02, "R-hat 1.02, 7 effective draws"),
        (1.16, "R-hat 1.16, 7 effective draws: chains nearly agree"),
        (1.5, "R-hat 1.50, 7 effective draws: chains disagree"),
    ],
)
def test_traces_judge_chains_in_the_words_of_the_verdict(fit, r_hat, title):
    diagnosis = Diagnosis({"log_joint": r_hat}, {"log_joint": 7.0})
    axes = plot_traces(fit(2).posterior_, names=["log_joint"], diagnosis=diagnosis)
    assert axes[0, 1].get_title(loc="right") == title


def test_traces_by_name_and_in_given_axes(fit):
    posterior = fit(2).posterior_
    levels = posterior.scalars()["nodes"].shape[2]
    assert len(plot_traces(posterior, names=["nodes"])) == levels
    axes = plt.figure().subplots(2, 2)
    found = plot_traces(posterior, names=["log_joint", "nodes[1]"], ax=axes)
    assert found[1, 0] is axes[1, 0]
    assert not found[0, 1].get_title(loc="right")
    with pytest.raises(ValueError, match=r"names must be among .*log_joint.*, got 'nope'"):
        plot_traces(posterior, names=["nope"])
    with pytest.raises(ValueError, match="ax must be 1 × 2 Axes"):
        plot_traces(posterior, names=["log_joint"], ax=axes)
    with pytest.raises(TypeError, match="posterior must be a Posterior, got list"):
        plot_traces([1])
    with pytest.raises(ValueError, match="must have draws"):
        plot_traces(Posterior([[]], of_depth(2)))


def test_a_single_draw_and_chains_that_stand_still_are_drawn(fit):
    draw = fit(2).posterior_.draws[0]
    for chains in ([[draw]], [[draw] * 5, [draw] * 5]):
        posterior = Posterior(chains, of_depth(2))
        axes = plot_traces(posterior)
        axes[0, 0].figure.canvas.draw()
        assert len(axes) == 1
        plot_leaves_per_level(posterior).figure.canvas.draw()


def test_bars_are_the_numbers_of_branches(fit, assert_legible):
    posterior = fit(2).posterior_
    shown = LeavesPerLevelDisplay(posterior)
    for level in (1, posterior.depth):
        counts = [draw.tree.cut(level).max() + 1 for draw in posterior.draws]
        np.testing.assert_array_equal(shown.counts[:, level - 1], counts)
    ax = shown.plot().ax_
    boxes = [path.get_extents() for path in ax.collections[0].get_paths()]
    first = [box for box in boxes if abs((box.x0 + box.x1) / 2 - 1) < 0.5]
    assert sorted(round(box.y0 + 0.5) for box in first) == np.unique(shown.counts[:, 0]).tolist()
    widest = max(first, key=lambda box: box.width)
    assert round(widest.y0 + 0.5) in np.flatnonzero(
        np.bincount(shown.counts[:, 0]) == np.bincount(shown.counts[:, 0]).max()
    )
    medians = ax.collections[1].get_offsets()[:, 1]
    np.testing.assert_allclose(medians, np.median(shown.counts, axis=0))
    assert_legible(ax.figure)
    assert LeavesPerLevelDisplay.from_estimator(fit(2)).ax_ is not ax
    with pytest.raises(ValueError, match="posterior must have draws, got none"):
        plot_leaves_per_level(Posterior([], of_depth(2)))


def test_many_branches_are_shown_on_a_log_scale(fit, assert_legible):
    shown = LeavesPerLevelDisplay(fit(2).posterior_)
    rng = np.random.default_rng(0)
    shown.counts = np.column_stack([rng.integers(1, 4, 500), rng.integers(60, 900, 500)])
    ax = shown.plot().ax_
    assert ax.get_yscale() == "log"
    assert len(ax.collections[0].get_paths()) <= 43
    assert_legible(ax.figure)


def test_the_density_on_the_grid_is_that_of_the_mixture(fit):
    mixture = fit(2)
    shown = DensityDisplay.from_estimator(mixture, resolution=25, n_draws=100)
    places = np.array([[shown.grid[0][3], shown.grid[1][20]], [shown.grid[0][12], 0.0]])
    expected = mixture.score_samples(places)
    assert shown.log_density[3, 20] == pytest.approx(expected[0])
    cell = np.diff(shown.grid[0])[0] * np.diff(shown.grid[1])[0]
    assert np.exp(shown.log_density).sum() * cell == pytest.approx(1.0, abs=0.1)


def test_regions_hold_their_share_of_the_mass(fit, assert_legible):
    shown = DensityDisplay.from_estimator(fit(2), resolution=60, n_draws=10)
    mass = np.exp(shown.log_density)
    regions = next(c for c in shown.ax_.collections if hasattr(c, "levels"))
    for level, share in zip(regions.levels, MASSES, strict=False):
        assert mass[shown.log_density >= level].sum() / mass.sum() == pytest.approx(share, abs=0.02)
    texts = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert texts == ["50 %", "80 %", "95 %", "99 %"]
    assert_legible(shown.figure_)


def test_other_columns_are_integrated_out(fit):
    mixture = fit(3)
    with pytest.raises(ValueError, match="columns must be one or two of the 3 columns"):
        plot_density(mixture)
    shown = DensityDisplay.from_estimator(mixture, columns=[2], resolution=200, n_draws=100)
    step = np.diff(shown.grid[0])[0]
    assert np.exp(shown.log_density).sum() * step == pytest.approx(1.0, abs=0.02)
    rows = np.full((200, 3), np.nan)
    rows[:, 2] = shown.grid[0]
    np.testing.assert_allclose(shown.log_density, mixture.score_samples(rows))
    assert shown.columns == ["x2"]
    swapped = DensityDisplay.from_estimator(mixture, columns=(2, 0), resolution=5, n_draws=5)
    same = DensityDisplay.from_estimator(mixture, columns=(0, 2), resolution=5, n_draws=5)
    np.testing.assert_allclose(swapped.log_density, same.log_density.T)


def test_figure_3_has_data_tree_and_density(fit, assert_legible):
    figure = figure_density(fit(2), resolution=20, n_draws=5)
    data, _, density = figure.axes
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["data", "tree", "density"]
    assert data.get_xlim() == density.get_xlim()
    assert len(data.collections[0].get_offsets()) == 36
    assert_legible(figure)
    given = plt.figure(figsize=(8, 3), layout="constrained")
    assert figure_density(fit(1), resolution=20, n_draws=5, figure=given) is given
    assert len(given.axes) == 2
    assert_legible(given)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"resolution": 1}, "resolution must be an integer of at least 2"),
        ({"n_draws": 0}, "n_draws must be an integer of at least 1"),
        ({"columns": [0, 0]}, "columns must be different ones"),
        ({"columns": ["z"]}, "columns must be among"),
        ({"columns": [5]}, "columns must be among"),
        ({"columns": "ab"}, "columns must be one or two"),
        ({"X": np.ones((4, 3))}, "X must have 2 columns, as in the fit, got 3"),
    ],
)
def test_wrong_densities_are_refused(fit, wrong, message):
    with pytest.raises(ValueError, match=message):
        plot_density(fit(2), **wrong)
    assert not plt.get_fignums()


def test_a_density_of_one_row_is_drawn():
    shown = DensityDisplay([np.linspace(-1, 1, 9)], np.zeros(9), [[0.5]], ["a"])
    shown.plot().figure_.canvas.draw()
    with pytest.raises(ValueError, match="log_density must have a value for each place"):
        DensityDisplay([np.zeros(3)], np.zeros(4), [[0.0]], ["a"])
