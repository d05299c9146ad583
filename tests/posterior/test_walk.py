"""The posterior walk against dense matrices, Ward's tree against scipy's."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, ward
from scipy.spatial.distance import squareform

import sticktree.posterior.walk as module
from sticktree.posterior import spectrum
from sticktree.posterior.clusterings import labels_at
from sticktree.posterior.counting import shared_rows
from sticktree.posterior.walk import Part, Walk, agreement, level_shares
from sticktree.posterior.ward import joined, micro_centres, nearest_centre


def partitions(n_rows=40, n_draws=12, n_clusters=6, seed=0, far=3.0):
    """Return cells around random rows of two groups on a line."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows) + far * (np.arange(n_rows) % 2)
    centres = rng.choice(x, (n_draws, n_clusters))
    return np.abs(x[None, :, None] - centres[:, None, :]).argmin(axis=2).astype(np.int32)


def dense(labels, shares=None):
    """Return the matrix of the walk, by its definition."""
    shares = np.full(len(labels), 1.0) if shares is None else shares
    together = np.array([z[:, None] == z for z in labels], dtype=float)
    together /= together.sum(axis=2, keepdims=True)
    return np.tensordot(shares / np.sum(shares), together, axes=1)


def cosines(walk, t):
    u = walk.coordinates(t)
    return u @ u.T


def of_matrix(step, t):
    """Return cosines of the rows of the t-th power."""
    power = np.linalg.matrix_power(step, t)
    power /= np.linalg.norm(power, axis=1, keepdims=True)
    return power @ power.T


@pytest.fixture(params=["whole", "part", "lanczos"])
def way(request, monkeypatch):
    """Take all ways to the spectrum."""
    if request.param != "whole":
        monkeypatch.setattr(spectrum, "WHOLE", 0)
        monkeypatch.setattr(spectrum, "N_VECTORS", 16)
        monkeypatch.setattr(spectrum, "N_PARTS", 4)
    if request.param == "lanczos":
        monkeypatch.setattr(spectrum, "DENSE", 0)
    return request.param


@pytest.mark.parametrize(("n_rows", "n_clusters"), [(40, 6), (90, 4)], ids=["wide", "tall"])
def test_coordinates_have_the_cosines_of_powers_of_the_matrix(way, n_rows, n_clusters):
    labels = partitions(n_rows, 12, n_clusters)
    step = dense(labels)
    assert np.allclose(step.sum(axis=0), 1.0)
    walk = Walk.of_labels(labels)
    exact = np.linalg.eigvalsh(step)[::-1]
    assert exact.min() > -1e-12
    assert np.allclose(walk.eigenvalues, exact[: walk.eigenvalues.size], atol=1e-6)
    assert walk.eigenvalues[0] <= 1.0
    for t in (8, 32):
        # Sixteen vectors leave out λ^8 < .001.
        assert np.allclose(cosines(walk, t), of_matrix(step, t), atol=1e-6)


def test_lanczos_finds_every_part_that_nothing_connects(monkeypatch):
    monkeypatch.setattr(spectrum, "WHOLE", 0)
    monkeypatch.setattr(spectrum, "DENSE", 0)
    monkeypatch.setattr(spectrum, "N_VECTORS", 8)
    labels = np.concatenate([partitions(40, 10, 3, seed) + 3 * seed for seed in range(6)], axis=1)
    walk = Walk.of_labels(labels)
    exact = np.linalg.eigvalsh(dense(labels))[::-1]
    assert np.allclose(exact[:6], 1.0)
    assert np.allclose(walk.eigenvalues[:14], exact[:14], atol=1e-6)


def test_partitions_have_shares(way):
    labels, shares = partitions(), np.arange(12.0) + 1
    step = dense(labels, shares)
    assert np.allclose(cosines(Walk.of_labels(labels, shares), 8), of_matrix(step, 8), atol=1e-6)


def test_names_of_clusters_and_order_of_rows_do_not_matter(way):
    labels = partitions(seed=1)
    rng = np.random.default_rng(5)
    order = rng.permutation(40)
    other = np.array([rng.permutation(9)[z] for z in labels])[:, order]
    first, second = Walk.of_labels(labels), Walk.of_labels(other)
    assert np.allclose(cosines(first, 8)[np.ix_(order, order)], cosines(second, 8), atol=1e-6)
    rows = np.arange(40)
    heights = first.tree().heights(order)
    assert np.allclose(heights, second.tree().heights(rows), atol=1e-6)


def test_rows_that_are_repeated_are_rows_of_larger_weight(way):
    labels = np.repeat(partitions(seed=2), 3, axis=1)
    walk = Walk.of_labels(labels)
    assert walk.profiles.size.min() >= 3
    assert np.allclose(cosines(walk, 8), of_matrix(dense(labels), 8), atol=1e-6)
    assert walk.tree().linkage().shape == (119, 4)


def test_rows_are_gathered_a_part_at_a_time_to_the_same_groups(monkeypatch):
    monkeypatch.setattr(module, "EXACT", 20)
    labels = partitions(400, 20, 8, far=9.0)
    whole = Walk.of_labels(labels).gathered(30)
    monkeypatch.setattr(module, "AT_ONCE", 7)
    parts = Walk.of_labels(labels).gathered(30)
    assert 8 < whole.size.size <= 30
    assert whole.size.sum() == 400
    np.testing.assert_array_equal(whole.of_row, parts.of_row)
    np.testing.assert_allclose(whole.vectors, parts.vectors)


def test_numbers_of_rows_that_clusters_share_are_those_of_a_table():
    labels = np.repeat(partitions(seed=4), 2, axis=1)
    profiles = spectrum.Profiles.of(labels, np.full(12, 1 / 12))
    shared = shared_rows(profiles.column, profiles.size, profiles.rows_in.size)
    inside = np.zeros((80, profiles.rows_in.size), dtype=int)
    for column in profiles.column.T:
        inside[np.arange(80), column[profiles.of_row]] = 1
    np.testing.assert_array_equal(shared, inside.T @ inside)
    np.testing.assert_array_equal(np.diag(shared), profiles.rows_in)


# ---- a step ---------------------------------------------------------------------------------


def test_memberships_are_a_step_of_the_dense_matrix():
    labels, shares = np.repeat(partitions(seed=6), 2, axis=1), np.arange(12.0) + 1
    walk = Walk.of_labels(labels, shares)
    clusters = np.random.default_rng(0).integers(4, size=80).astype(np.int32)
    expected = dense(labels, shares) @ np.eye(4)[clusters]
    found = walk.memberships(clusters)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(walk.confidence(clusters), expected[np.arange(80), clusters])


# ---- Ward's tree ----------------------------------------------------------------------------


def test_the_cluster_tree_is_scipys_of_all_rows():
    labels = np.repeat(partitions(seed=3), 2, axis=1)
    walk = Walk.of_labels(labels)
    assert len(walk.profiles.size) < labels.shape[1]
    expected = cophenet(ward(walk.coordinates(8)))
    tree = walk.tree(8)
    assert np.allclose(squareform(expected), tree.heights(np.arange(80)), atol=1e-6)
    assert np.allclose(cophenet(tree.linkage()), expected, atol=1e-6)
    assert np.array_equal(tree.linkage()[-1, 3:], [80])


def test_joins_of_weighted_points_are_those_of_repeated_points():
    rng = np.random.default_rng(0)
    points, size = rng.normal(size=(30, 3)), rng.integers(1, 6, 30)
    repeated = ward(np.repeat(points, size, axis=0))
    assert np.allclose(np.sort(joined(points, size)[:, 2]), repeated[-29:, 2])


def test_joins_of_equal_cost_are_in_order():
    # Corners of a simplex, all as far from each other, with points next to them.
    rng = np.random.default_rng(0)
    points = np.repeat(np.eye(7), 6, axis=0) * (1 + 1e-16 * rng.random((42, 1)))
    joins = joined(points, rng.integers(1, 9, 42))
    sides = joins[:, :2].astype(int)
    assert np.unique(sides).size == 82  # each but the root is joined once
    assert (sides.max(axis=1) < 42 + np.arange(41)).all()
    assert (np.diff(joins[:, 2]) >= 0).all()


def test_many_rows_are_joined_by_groups_of_them(monkeypatch):
    labels = partitions(400, 20, 8, far=9.0)
    whole = Walk.of_labels(labels)
    small = Walk.of_labels(labels)
    expected = whole.tree()
    monkeypatch.setattr(module, "EXACT", 20)
    monkeypatch.setattr(module, "N_GROUPS", 20)
    monkeypatch.setattr(module, "N_SEEN", 100)
    assert expected.n_groups > 20
    assert small.tree().n_groups <= 20
    assert agreement(whole, small) > 0.98


def test_micro_clusters_of_few_places_are_the_places():
    points = np.repeat(np.eye(3), 5, axis=0)
    centres = micro_centres(points, np.ones(15, dtype=int), 9)
    assert len(centres) == 3
    found = nearest_centre(points, centres)
    assert len(set(found.tolist())) == 3
    assert (found.reshape(3, 5) == found[::5, None]).all()


# ---- agreement ------------------------------------------------------------------------------


def test_walks_of_one_law_agree_and_others_do_not():
    same = [Walk.of_labels(partitions(200, 60, 8, 0, far=8.0)[half::2]) for half in (0, 1)]
    assert agreement(*same) > 0.95
    rng = np.random.default_rng(0)
    halves = [np.tile(rng.integers(2, size=200), (10, 1)) for _ in range(2)]
    assert abs(agreement(*map(Walk.of_labels, halves))) < 0.1


def test_trees_without_clusters_agree():
    rng = np.random.default_rng(0)
    mixed = [Walk.of_labels(rng.integers(4, size=(30, 100))) for _ in range(2)]
    assert agreement(*mixed) > 0.95
    single = Walk.of_labels(np.zeros((2, 1), dtype=int))
    assert agreement(single, single) == 1.0


# ---- draws ----------------------------------------------------------------------------------


def test_the_walk_of_draws_steps_in_the_deepest_level_that_is_not_too_fine(make_draw):
    draws = [make_draw([(1, 1), (1, 2), (2, 1), (2, 2)])] * 3
    assert level_shares(draws, 2) == {2: 1.0}
    assert Walk.of(draws, 2).eigenvalues.size == 4


@pytest.mark.parametrize(("n_nodes", "share"), [(4.0, 1.0), (6.0, 0.415), (8.0, 0.0), (99.0, 0.0)])
def test_a_level_that_gets_too_fine_fades_out(make_draw, monkeypatch, n_nodes, share):
    draw = make_draw([(1, 1), (1, 2), (2, 1), (2, 2)])
    monkeypatch.setattr(module, "N_NODES", 2.0)
    monkeypatch.setattr(
        type(draw), "nodes_per_level", lambda self, depth: np.array([2.0, n_nodes, 200.0])
    )
    shares = level_shares([draw], 3)
    assert shares.get(2, 0.0) == pytest.approx(share, abs=1e-3)
    assert sum(shares.values()) == pytest.approx(1.0)


# ---- draws of several models ----------------------------------------------------------------


def test_the_walk_over_draws_of_several_models_is_the_mean_of_theirs(make_draw):
    rng = np.random.default_rng(0)
    first = [make_draw([(1 + k,) for k in rng.integers(3, size=20)]) for _ in range(4)]
    second = [make_draw([(1 + k, 1) for k in rng.integers(5, size=20)]) for _ in range(3)]
    parts = [Part(first, {1: 1.0}, weight=3.0), Part(second, {1: 0.5, 2: 0.5})]
    walk = Walk.of_parts(parts)
    z = np.concatenate([labels_at(first, 1), labels_at(second, 1), labels_at(second, 2)])
    step = dense(z, np.repeat([0.75 / 4, 0.125 / 3, 0.125 / 3], [4, 3, 3]))
    assert np.allclose(cosines(walk, 2), of_matrix(step, 2), atol=1e-6)


# ---- the cluster tree -----------------------------------------------------------------------


def test_the_shortest_walk_alone_is_wards_tree():
    walk = Walk.of_labels(partitions())
    ward = walk.tree(4.0)
    tree = walk.cluster_tree(4.0)
    rows = np.arange(walk.n_data)
    scale = np.sqrt(2.0 * walk.n_data)
    assert np.allclose(tree.heights(rows), ward.heights(rows) / scale, atol=1e-6)


def test_what_has_mixed_is_parted_by_a_shorter_walk():
    # Two groups that nothing connects; one of them is two that are soon mixed.
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    labels = np.array([truth] * 30)
    for z in labels:
        z[rng.integers(40, size=6)] = rng.integers(2, size=6)
    walk = Walk.of_labels(labels)
    assert walk.tree(128.0).joins[-2, 2] < 1e-3  # nothing is left of the second parting
    joins = walk.cluster_tree(128.0).joins
    assert sorted(joins[-3:-1, 3])[-1] < 60 == joins[-1, 3]
    height = walk.cluster_tree(128.0).heights(np.arange(60))
    assert height[:20, :20].max() < height[:20, 20:40].min() < height[:40, 40:].min()


def test_strays_are_parted_by_the_longest_walk():
    labels = np.zeros((5, 40), dtype=int)
    labels[:, 20:] = 1
    labels[:, 39] = 2
    tree = Walk.of_labels(labels).cluster_tree(64.0)
    height = tree.heights(np.arange(40))
    assert height[39, :39].min() > height[:20, :20].max()


def test_points_that_differ_by_rounding_alone_are_all_joined():
    """Clusters that nothing connects have such points; means of equal numbers may differ by more.

    A chain of nearest neighbours then comes by a point twice, and joined one that was gone.
    """
    steps = [16, -3, 12, -15, 12, -1, 12, 3, 10, -8, -14, -6, 1, 7, 0, -24, -6, -9, -1, -4, -6]
    steps += [12, -10, 3, 6, 9, 0]
    points = np.tile([-0.9991078003680339, 6.510261128339521e-07, -0.042232727159455925], (27, 1))
    points[:, 1] += np.array(steps) * np.spacing(points[0, 1])
    points[20, 2] = np.nextafter(points[20, 2], 1.0)
    size = np.ones(27, dtype=np.int64)
    size[[4, 24]] = 2
    joins = joined(points, size)
    assert joins[-1, 3] == size.sum()
    assert sorted(joins[:, :2].astype(int).ravel().tolist()) == list(range(2 * 27 - 2))
