"""What a fitted mixture says of its own rows, against sums over its draws written out."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture
from sticktree.fit import memberships
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


def test_clusters_of_least_loss_lose_no_more_than_any_draw(mixture):
    for level in (1, 2):
        draws = mixture.posterior_.labels(level)
        for loss in ("vi", "binder"):
            labels = mixture.cluster(method="loss", level=level, loss=loss)
            best = expected_loss(labels, draws, loss)
            assert best <= min(expected_loss(draw, draws, loss) for draw in draws) + 1e-12


def test_labels_are_a_cut_of_the_cluster_tree(mixture):
    labels, tree = mixture.labels_, mixture.cluster_tree_
    np.testing.assert_array_equal(labels, mixture.cluster())
    np.testing.assert_array_equal(labels, mixture.cluster(mixture.n_clusters_))
    branches = {tuple(tree.data_below(node)) for node in range(tree.n_nodes)}
    for k in range(mixture.n_clusters_):
        assert tuple(np.flatnonzero(labels == k)) in branches
    assert (tree.support <= tree.transfer).all()
    assert np.unique(tree.leaf).size == 40
    in_order = np.argsort(tree.preorder[tree.leaf])
    assert (np.diff(labels[in_order]) >= 0).all()
    parts = mixture.number_of_clusters_
    assert sum(parts.probability.values()) == pytest.approx(1.0)
    assert parts.n_chains == 2


def test_a_level_is_where_the_walk_steps(mixture, data):
    other = fit(data, level=1)
    assert other.level_ == 1
    np.testing.assert_array_equal(mixture.cluster(level=1), other.labels_)
    assert not mixture.cluster(level=0).any()


def test_new_rows_are_in_the_clusters_of_those_beside_them(mixture, data):
    for k in (None, 2, 4):
        proba = mixture.predict_proba(data, n_clusters=k)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        labels = mixture.cluster(n_clusters=k)
        assert proba.shape[1] == labels.max() + 1
        predicted = mixture.predict(data, n_clusters=k)
        np.testing.assert_array_equal(predicted, proba.argmax(axis=1))
        assert (predicted == labels).mean() > 0.9
    with pytest.raises(ValueError, match="n_clusters must be left out where a level is given"):
        mixture.predict(data, level=1, n_clusters=2)


def test_strays_are_labelled_on_request(data):
    far = np.concatenate([data, [[60.0, -50.0]]])
    mixture = fit(far, n_draws=60)
    labels = mixture.cluster(2, strays="label")
    assert labels[-1] == -1
    assert (labels[:-1] >= 0).all()
    joined = mixture.cluster(2)
    assert joined.min() == 0
    np.testing.assert_array_equal(joined[:-1], labels[:-1])


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 7, 40])
def test_clusters_are_as_many_as_asked_for(mixture, n_clusters):
    labels = mixture.cluster(n_clusters=n_clusters)
    np.testing.assert_array_equal(np.unique(labels), np.arange(n_clusters))


@pytest.mark.parametrize("asked", [{}, {"level": 1}, {"n_clusters": 5}, {"loss": "binder"}])
def test_nested_clusters_are_branches_of_the_tree(mixture, asked):
    labels = mixture.cluster(method="loss", nested=True, **asked)
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


def test_memberships_are_where_a_step_of_the_walk_leads(mixture):
    (level,) = mixture.fit_.level_shares
    draws = mixture.posterior_.labels(level)
    step = np.mean([(z[:, None] == z) / (z[:, None] == z).sum(axis=0) for z in draws], axis=0)
    for k in (mixture.n_clusters_, 3):
        labels = mixture.cluster(k)
        np.testing.assert_allclose(mixture.membership(k), step @ np.eye(k)[labels], atol=1e-12)
    found = mixture.membership_
    np.testing.assert_allclose(found, mixture.membership())
    np.testing.assert_allclose(mixture.confidence_, found[np.arange(40), mixture.labels_])


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
        ({"n_clusters": 41}, "n_clusters must be at most 40, as many different rows as"),
        ({"n_clusters": 41, "method": "loss"}, "n_clusters must be at most 40, one for each datum"),
        ({"method": "loss", "loss": "ari"}, 'loss must be "vi" or "binder", got \'ari\''),
        ({"loss": "vi"}, "loss must be left out unless method=\"loss\", got 'vi'"),
        ({"nested": True}, 'nested must be left out unless method="loss", got True'),
        ({"method": "ward"}, 'method must be "walk" or "loss", got \'ward\''),
        ({"strays": "drop"}, 'strays must be "join" or "label", got \'drop\''),
        ({"method": "loss", "strays": "label"}, 'strays must be "join" where method="loss"'),
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
    every = memberships.MEMBERSHIP_DRAWS
    assert every < len(mixture.posterior_)
    monkeypatch.setattr(memberships, "MEMBERSHIP_DRAWS", 800)
    exact = mixture.predict_proba(rows)
    assert not np.array_equal(some, exact)
    # Half of the draws, which are correlated: four standard errors of independent ones.
    np.testing.assert_allclose(some, exact, atol=4 * 0.5 / np.sqrt(every))


def test_equal_rows_are_not_parted():
    x = np.repeat([[0.0, 0.0], [5.0, 5.0]], 15, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = DFPMixture(
            covariance_type="diag", n_chains=1, n_warmup=10, n_draws=10, random_state=0
        ).fit(x)
    assert np.bincount(mixture.cluster(n_clusters=2)).tolist() == [15, 15]
    with pytest.raises(ValueError, match="at most 2, as many different rows as there are, got 3"):
        mixture.cluster(n_clusters=3)
