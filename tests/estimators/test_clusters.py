"""What a fitted mixture says of its own rows, against sums over its draws written out."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture
from sticktree import fit as fit_module
from sticktree.posterior import expected_loss
from sticktree.posterior.draws import ConvergenceWarning


def fit(data, sample_weight=None, **changes):
    parameters = {
        "depth": 3,
        "covariance_type": "diag",
        "leaf_noise": "shared",
        "n_chains": 2,
        "n_warmup": 30,
        "n_draws": 30,
        "random_state": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return DFPMixture(**parameters | changes).fit(data, sample_weight=sample_weight)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    centres = np.array([[0, 0], [0, 3], [9, 0], [9, 2.5]])
    return np.repeat(centres, 10, axis=0) + rng.normal(size=(40, 2))


@pytest.fixture(scope="module")
def mixture(data):
    return fit(data)


def test_tree_has_a_leaf_for_every_row(mixture):
    tree = mixture.tree_
    assert np.unique(tree.leaf).size == 40
    np.testing.assert_array_equal(tree.time[tree.leaf], mixture.depth_)
    assert ((tree.support >= 0) & (tree.support <= 1)).all()
    assert tree.names is None


def test_labels_lose_no_more_than_any_draw(mixture):
    for level in (1, 2):
        draws = mixture.posterior_.labels(level)
        for loss in ("vi", "binder"):
            best = expected_loss(mixture.cluster(level, loss=loss), draws, loss)
            assert best <= min(expected_loss(draw, draws, loss) for draw in draws) + 1e-12
    np.testing.assert_array_equal(mixture.labels_, mixture.cluster())
    np.testing.assert_array_equal(mixture.labels_, mixture.cluster(mixture.level_))


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 7, 40])
def test_clusters_are_as_many_as_asked_for(mixture, n_clusters):
    labels = mixture.cluster(n_clusters=n_clusters)
    np.testing.assert_array_equal(np.unique(labels), np.arange(n_clusters))


@pytest.mark.parametrize("asked", [{}, {"level": 1}, {"n_clusters": 5}, {"loss": "binder"}])
def test_nested_clusters_are_branches_of_the_tree(mixture, asked):
    labels = mixture.cluster(nested=True, **asked)
    tree = mixture.tree_
    branches = {tuple(tree.data_below(node)) for node in range(tree.n_nodes)}
    for k in range(labels.max() + 1):
        assert tuple(np.flatnonzero(labels == k)) in branches
    # In the order of the tree.
    in_order = np.argsort(tree.preorder[tree.leaf])
    assert (np.diff(labels[in_order]) >= 0).all()


def test_two_clusters_are_the_two_far_groups(mixture):
    labels = mixture.cluster(n_clusters=2)
    assert len(set(labels[:20])) == len(set(labels[20:])) == 1


def test_coclustering_counts_draws(mixture):
    draws = mixture.posterior_.labels(1)
    naive = np.mean(draws[:, :, None] == draws[:, None, :], axis=0)
    np.testing.assert_allclose(mixture.coclustering(level=1), naive, rtol=1e-6)
    rows = [3, 39, 0]
    np.testing.assert_allclose(
        mixture.coclustering(rows, level=1), naive[np.ix_(rows, rows)], rtol=1e-6
    )


def test_meeting_times_are_means_over_draws(mixture):
    naive = np.mean([d.tree.meeting_level_matrix() for d in mixture.posterior_.draws], axis=0)
    off = ~np.eye(40, dtype=bool)
    np.testing.assert_allclose(mixture.meeting_times()[off], naive[off], rtol=1e-6)


def test_confidence_is_the_share_of_those_who_are_together(mixture):
    together = mixture.coclustering()
    for row, label in enumerate(mixture.labels_):
        others = np.flatnonzero(mixture.labels_ == label)
        others = others[others != row]
        if others.size:
            assert mixture.confidence_[row] == pytest.approx(together[row, others].mean())
    assert ((mixture.confidence_ >= 0) & (mixture.confidence_ <= 1)).all()


def test_data_are_the_rows_in_their_units(mixture, data):
    np.testing.assert_allclose(mixture.data_, data)


def test_rows_of_a_frame_name_the_tree(data):
    names = [f'"{k}" (ä)' for k in range(40)]
    assert fit(pd.DataFrame(data, index=names)).tree_.names == tuple(names)
    assert fit(pd.DataFrame(data)).tree_.names is None


def test_rows_may_be_repeated_or_left_out(data):
    weight = np.arange(40) % 3
    mixture = fit(pd.DataFrame(data, index=list(map(chr, range(65, 105)))), weight)
    kept = np.flatnonzero(weight)
    assert mixture.tree_.names == tuple(chr(65 + k) for k in kept)
    assert np.unique(mixture.tree_.leaf).size == kept.size
    assert (mixture.tree_.n_children != 1).all()
    np.testing.assert_allclose(mixture.data_, data)
    left_out = data[weight == 0]
    sure = mixture.predict_proba(pd.DataFrame(left_out)).max(axis=1)
    np.testing.assert_allclose(mixture.confidence_[weight == 0], sure)
    labels = mixture.cluster(n_clusters=3)
    assert labels.shape == mixture.confidence_.shape == (40,)
    assert np.unique(labels).size == 3
    assert mixture.coclustering().shape == (kept.size, kept.size)
    np.testing.assert_allclose(mixture.coclustering([1, 2, 4]), mixture.coclustering()[:3, :3])
    with pytest.raises(ValueError, match="rows must be numbers of rows that were fitted"):
        mixture.coclustering([0])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"level": 3}, "level must be an integer between 0 and 2, got 3"),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_clusters": 41}, "n_clusters must be at most 40, one for each datum, got 41"),
        ({"loss": "ari"}, 'loss must be "vi" or "binder", got \'ari\''),
    ],
)
def test_wrong_questions_are_named(mixture, asked, message):
    with pytest.raises(ValueError, match=message):
        mixture.cluster(**asked)


@pytest.mark.parametrize("rows", [[40], [-1], [0.5], [[0]]])
def test_wrong_rows_are_named(mixture, rows):
    with pytest.raises(ValueError, match="rows must be numbers of rows that were fitted"):
        mixture.coclustering(rows)


def test_one_row_is_a_tree_of_one_leaf():
    mixture = fit([[1.0, 2.0]], standardize=False)
    assert mixture.tree_.n_data == 1
    np.testing.assert_array_equal(mixture.labels_, [0])
    np.testing.assert_array_equal(mixture.confidence_, [1.0])


def test_memberships_of_many_draws_are_a_mean_over_some_within_their_error(data, monkeypatch):
    mixture = fit(data, n_draws=400)
    rows = data[::3] + 0.7
    some = mixture.predict_proba(rows)
    every = fit_module.MEMBERSHIP_DRAWS
    assert every < len(mixture.posterior_)
    monkeypatch.setattr(fit_module, "MEMBERSHIP_DRAWS", 800)
    exact = mixture.predict_proba(rows)
    assert not np.array_equal(some, exact)
    # Half of the draws, which are correlated: four standard errors of independent ones.
    np.testing.assert_allclose(some, exact, atol=4 * 0.5 / np.sqrt(every))
