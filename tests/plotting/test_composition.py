"""Shares of clusters in groups as stacked bars, against the shares."""

import numpy as np
import pytest

from sticktree import Tree
from sticktree.plotting import CompositionDisplay, plot_composition
from sticktree.posterior.composition import Composition


@pytest.fixture
def composition():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([5.0, 3.0, 2.0, 0.1], size=(50, 4))
    tree = Tree([-1, 0, 0, 1, 1], [3, 4, 2])
    same = np.tile([0, 1, 0, 2], (20, 1)).astype(np.int32)
    return Composition(("$a", "b", "c", 4), shares, tree, same)


def test_bars_are_the_mean_shares_and_groups_that_are_alike_stand_together(
    composition, assert_legible
):
    display = CompositionDisplay(composition).plot()
    widths = [[bar.get_width() for bar in bars] for bars in display.ax_.containers]
    order = [0, 2, 1, 3]
    np.testing.assert_allclose(widths[:3], composition.mean[order, :3].T)
    np.testing.assert_allclose(np.sum(widths, axis=0), 1.0)
    assert composition.labels().tolist() == [0, 1, 0, 2]
    texts = assert_legible(display.figure_)
    assert {"$a", "b", "c", "4", "cluster", "unseen"} <= set(texts)


def test_branches_join_clusters_and_parents_are_the_next_larger(composition):
    assert composition.names == ["0", "1", "2", "0+1"]
    assert composition.parents == [3, 3, -1, -1]


def test_it_takes_a_composition(composition):
    assert plot_composition(composition).get_xlabel() == "share of the group"
    with pytest.raises(TypeError, match="composition must be a Composition, got int"):
        CompositionDisplay(3)
