"""Where the cluster tree is cut."""

import math

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

import sticktree.posterior.walk as walk_module
from sticktree.errors import ParameterError
from sticktree.posterior.cutting import (
    TIMES,
    cut_into,
    longest_lasting,
    tree_of_rows,
    weighted_rand,
)
from sticktree.posterior.number import NumberOfClusters, number_of_clusters
from sticktree.posterior.walk import Part, Walk


def cells(x, n_draws=40, n_cells=12, seed=0):
    """Return partitions of places into cells around random ones of them."""
    rng = np.random.default_rng(seed)
    centres = x[rng.integers(len(x), size=(n_draws, n_cells))]
    gap = ((x[None, :, None] - centres[:, None]) ** 2).sum(axis=3)
    return gap.argmin(axis=2).astype(np.int32)


def rings(n=150):
    """Return two rings, one in the other, and which row is of which."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.concatenate([ring, 4 * ring]), np.repeat([0, 1], n)


@pytest.fixture
def walk():
    return Walk.of_labels(cells(rings()[0], n_cells=60))


# ---- how many -------------------------------------------------------------------------------


def test_clusters_that_cells_cover_piece_by_piece_are_found(walk):
    truth = rings()[1]
    lasting = longest_lasting(walk)
    assert lasting.n_clusters == 2
    assert len(lasting.counts) == len(TIMES)
    assert lasting.counts[0] > 2  # pieces, after few steps
    found = cut_into(walk, lasting.n_clusters, lasting.steps)
    assert adjusted_rand_score(truth, found.labels) == 1.0


def test_long_walks_part_the_ring_and_short_ones_what_is_within_it(monkeypatch):
    rng, angle = np.random.default_rng(1), np.linspace(0, 2 * np.pi, 300, endpoint=False)
    blobs = [rng.normal(0, 0.25, (40, 2)) + place for place in ((-0.9, 0), (0.9, 0))]
    ring = 6 * np.column_stack([np.cos(angle), np.sin(angle)])
    truth = np.repeat([0, 1, 2], [300, 40, 40])
    partitions = cells(np.concatenate([ring, *blobs]), n_cells=60)

    def agreement():
        walk = Walk.of_labels(partitions)
        two, three = (cut_into(walk, k, 128).labels for k in (2, 3))
        return adjusted_rand_score(truth > 0, two), adjusted_rand_score(truth, three)

    assert agreement() == (1.0, 1.0)
    parted_joins = walk_module.parted_joins
    monkeypatch.setattr(walk_module, "parted_joins", lambda at, n: parted_joins(at[:1], n))
    assert agreement()[1] < 0.7  # after 128 steps alone the two blobs have mixed
    monkeypatch.setattr(walk_module, "parted_joins", lambda at, n: parted_joins(at[-1:], n))
    assert agreement()[0] < 0.7  # and after 4 the ring is in pieces


def test_what_nothing_connects_lasts_for_ever():
    lasting = longest_lasting(Walk.of_labels([np.repeat([0, 1, 2], 20)]))
    assert lasting.n_clusters == 3
    assert lasting.factor == pytest.approx(TIMES[-1] / TIMES[0])


@pytest.mark.parametrize("n_rows", [1, 2, 30])
def test_rows_that_are_always_together_are_one_cluster(n_rows):
    walk = Walk.of_labels(np.zeros((3, n_rows), dtype=int))
    lasting = longest_lasting(walk)
    assert lasting.n_clusters == 1
    cut = cut_into(walk, 1, lasting.steps)
    assert not cut.labels.any()
    assert not cut.stray.any()
    assert tree_of_rows(walk.tree()).n_data == n_rows


def test_one_draw_is_its_own_clusters():
    labels = np.repeat([0, 1, 2], [10, 20, 30])
    walk = Walk.of_labels(labels)
    assert adjusted_rand_score(labels, cut_into(walk, longest_lasting(walk).n_clusters).labels) == 1


def test_every_row_apart_is_one_cluster():
    assert longest_lasting(Walk.of_labels(np.arange(40)[None])).n_clusters == 1


def test_steps_of_the_cluster_tree_are_within_limits():
    forever = longest_lasting(Walk.of_labels([np.repeat([0, 1], 20)]))
    assert 32 <= forever.steps <= 128


# ---- which ----------------------------------------------------------------------------------


def test_any_number_of_clusters_is_had_and_nested(walk):
    coarse = cut_into(walk, 1).labels
    for k in range(1, 41):
        labels = cut_into(walk, k).labels
        assert np.array_equal(np.unique(labels), np.arange(k))
        if k <= 10:  # of a size that is reached without small branches
            pairs = np.unique(np.column_stack([coarse, labels]), axis=0)
            assert len(pairs) == k
            coarse = labels


def test_clusters_are_not_single_rows_if_they_need_not_be():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (80, 2)), rng.normal(9, 1, (80, 2)), [[40.0, 40.0]]])
    labels = cells(x)
    labels[:, -1] = labels.max() + 1  # a row that is always alone
    walk = Walk.of_labels(labels)
    found = cut_into(walk, 2)
    assert sorted(np.bincount(found.labels)) in ([80, 81],)
    assert np.flatnonzero(found.stray).tolist() == [160]
    assert longest_lasting(walk).n_clusters == 2
    most = walk.profiles.size.size
    assert np.bincount(cut_into(walk, most).labels).min() >= 1


def test_more_clusters_than_draws_tell_apart_are_refused():
    walk = Walk.of_labels([np.repeat([0, 1, 2], 20)])
    with pytest.raises(ParameterError, match="n_clusters must be at most 3: no draw tells more"):
        cut_into(walk, 4)


def test_many_clusters_of_many_groups(monkeypatch):
    monkeypatch.setattr(walk_module, "EXACT", 30)
    monkeypatch.setattr(walk_module, "N_GROUPS", 20)
    truth = np.repeat(np.arange(25), 12)
    rng = np.random.default_rng(0)
    labels = np.array([np.where(rng.random(300) < 0.1, rng.permutation(truth), truth)] * 3)
    walk = Walk.of_labels(np.concatenate([labels, [truth] * 9]))
    assert walk.tree().n_groups <= 20
    assert np.unique(cut_into(walk, 25).labels).size == 25


def test_names_and_order_change_nothing(walk):
    labels = cells(rings()[0], n_cells=60)
    rng = np.random.default_rng(3)
    order = rng.permutation(labels.shape[1])
    other = Walk.of_labels(np.array([rng.permutation(60)[z] for z in labels])[:, order])
    assert longest_lasting(other).counts == longest_lasting(walk).counts
    for k in (2, 5):
        a, b = cut_into(walk, k), cut_into(other, k)
        assert adjusted_rand_score(a.labels[order], b.labels) == 1.0
        np.testing.assert_array_equal(a.stray[order], b.stray)


def test_weights_are_repeated_rows():
    labels = cells(rings(60)[0])
    once, thrice = Walk.of_labels(labels), Walk.of_labels(np.repeat(labels, 3, axis=1))
    assert longest_lasting(once).n_clusters == longest_lasting(thrice).n_clusters
    again = cut_into(thrice, 2).labels
    np.testing.assert_array_equal(again, np.repeat(again[::3], 3))
    assert adjusted_rand_score(cut_into(once, 2).labels, again[::3]) == 1.0


def test_the_weighted_rand_index_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    a, b, size = rng.integers(3, size=20), rng.integers(4, size=20), rng.integers(1, 6, 20)
    expected = adjusted_rand_score(np.repeat(a, size), np.repeat(b, size))
    assert weighted_rand(a, b, size.astype(float)) == pytest.approx(expected)


# ---- the tree of rows -----------------------------------------------------------------------


def test_the_tree_of_rows_has_the_joins_as_branches(walk):
    ward = walk.cluster_tree()
    tree = tree_of_rows(ward)
    assert tree.n_data == walk.n_data
    assert tree.time.min() == 0.0
    assert tree.time.max() == 1.0
    upper = np.triu_indices(walk.n_data, 1)
    heights = ward.heights(np.arange(walk.n_data))[upper]
    met = squareform(cophenet(tree.to_linkage()))[upper]
    order = np.argsort(heights, kind="stable")
    assert (np.diff(met[order]) > -1e-9).all()
    rank = np.unique(met).size
    assert rank == np.unique(heights.round(12)).size


@pytest.mark.parametrize("k", [2, 3, 7])
def test_times_of_the_tree_tell_the_number_of_clusters(walk, k):
    tree = walk.cluster_tree()
    time = tree_of_rows(tree).time
    m = tree.n_groups
    assert np.isclose(time, np.log(k) / np.log(m)).any()


# ---- P(k) -----------------------------------------------------------------------------------


def test_the_number_is_found_in_chains_and_halves(make_draw):
    def chain(n_groups):
        paths = [(1 + i % n_groups,) for i in range(24)]
        return [make_draw(paths)] * 10

    rng = np.random.default_rng(0)
    own = Part([], {1: 1.0})
    found = number_of_clusters([chain(2), chain(2), chain(3)], [own], rng)
    assert found.found[:3] == [2, 2, 3]
    assert found.n_chains == 3
    assert math.isclose(sum(found.probability.values()), 1.0)
    alone = number_of_clusters([chain(3)[:1]], [own], rng)
    assert alone.probability == {3: 1.0}
    assert alone.n_chains == 0
    assert alone.mode == 3
    assert "16 random halves" in str(alone)
    beside = Part(chain(2), {1: 1.0}, weight=99.0)
    assert number_of_clusters([chain(3)], [own, beside], rng).mode == 2
    assert str(NumberOfClusters([2], 1)) == (
        "P(2) = 1.00: numbers of clusters found from 1 single chain."
    )
