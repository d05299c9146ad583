"""Summaries of many rows: kernels against naive twins, and answers near the exact ones."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.summaries import DEPTH, as_fit, made_up
from sticktree.metrics import dendrogram_purity, meeting_distance, variation_of_information
from sticktree.posterior import (
    Draw,
    best_draw,
    expected_loss,
    flat_clustering,
    labels_at,
)
from sticktree.posterior.clusterings import affordable, growth
from sticktree.posterior.consensus import _parted, consensus_tree
from sticktree.posterior.counting import has_gaps, shared_sums, shares_of_company, without_gaps
from sticktree.posterior.linking import most_often_with
from sticktree.posterior.reseating import counts_of, neighbours, sweep_nearby


@pytest.fixture(scope="module")
def made():
    return made_up(1_500, 24)


def random_clusterings(n_data, n_draws, n_clusters, seed):
    rng = np.random.default_rng(seed)
    return without_gaps(rng.integers(n_clusters, size=(n_draws, n_data)).astype(np.int32))


# ---- counts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [2, 6, 40])  # a table of counts; too large a one
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_shared_sums_are_those_of_all_pairs_of_clusters(n_clusters, loss):
    labels, *draws = random_clusterings(60, 6, n_clusters, seed=n_clusters)
    table = growth(loss, 60)
    expected = [
        sum(table[((labels == k) & (draw == j)).sum()] for k in range(60) for j in range(60))
        for draw in draws
    ]
    found = shared_sums(labels, np.array(draws), np.diff(table))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 6, 40])
def test_shares_of_company_are_means_over_the_others(n_clusters):
    labels, *draws = random_clusterings(60, 6, n_clusters, seed=n_clusters)
    labels[7] = labels.max() + 1  # alone
    together = (np.array(draws)[:, :, None] == np.array(draws)[:, None, :]).mean(axis=0)
    alone = [np.mean([(draw == draw[i]).sum() == 1 for draw in draws]) for i in range(60)]
    for i, share in enumerate(shares_of_company(labels, np.array(draws))):
        others = (labels == labels[i]) & (np.arange(60) != i)
        expected = together[i, others].mean() if others.any() else alone[i]
        assert share == pytest.approx(expected)


@pytest.mark.parametrize(
    ("labels", "gaps"),
    [([[0, 1, 0, 2]], False), ([[0, 0], [0, 1]], False), ([[1, 0]], True), ([[0, 2, 1]], True)],
)
def test_gaps_are_noticed(labels, gaps):
    assert has_gaps(np.array(labels, dtype=np.int32)) == gaps


# ---- the search nearby ---------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_sweep_lowers_the_loss_and_keeps_its_counts(loss, fixed):
    labels, *draws = random_clusterings(80, 9, 5, seed=3)
    draws = np.array(draws)
    first = np.concatenate([[0], np.cumsum(draws.max(axis=1) + 1)]).astype(np.int32)
    size, shared = counts_of(labels, draws, first, 5)
    near = neighbours(size, shared, 4)
    before = expected_loss(labels, draws, loss)
    delta = np.diff(growth(loss, 80))
    moved = sweep_nearby(labels, draws, first, size, shared, delta, near, fixed)
    assert moved > 0
    assert expected_loss(labels, draws, loss) < before
    again = counts_of(labels, draws, first, 5)
    np.testing.assert_array_equal(size, again[0])
    np.testing.assert_array_equal(shared, again[1])
    if fixed:
        assert (size > 0).all()


def test_neighbours_are_those_most_often_met():
    labels = np.repeat(np.arange(4, dtype=np.int32), 10)
    draw = labels.copy()
    draw[:4] = 1  # four of the first with the second
    draw[4] = 2  # one with the third
    size, shared = counts_of(labels, draw[None], np.array([0, 4], dtype=np.int32), 4)
    near = neighbours(size, shared, 3)
    assert near.tolist() == [[1, 2, -1], [0, -1, -1], [0, -1, -1], [-1, -1, -1]]


@pytest.mark.parametrize(("n_clusters", "excess"), [(None, 0.005), (60, 0.02)])
def test_search_nearby_is_about_as_good_as_the_whole_one(made, n_clusters, excess):
    """A number of clusters far from what the draws have, about 100, is harder to meet."""
    labels = labels_at(made.draws, DEPTH)
    tree = consensus_tree(made.draws, 4.0)
    cut = flat_clustering(labels, tree=tree, nested=True, n_clusters=n_clusters)
    whole = flat_clustering(labels, tree=tree, n_clusters=n_clusters)
    found = flat_clustering(labels, tree=tree, n_clusters=n_clusters, max_steps=0)
    losses = [expected_loss(z, labels) for z in (whole, found, cut)]
    assert losses[1] < losses[0] * (1 + excess)
    assert losses[1] < losses[2]
    assert n_clusters in (None, found.max() + 1)


# ---- the consensus of groups ---------------------------------------------------------------------


def test_runner_up_is_the_second_best_group():
    rng = np.random.default_rng(0)
    leaves = rng.integers(4, size=(7, 40)).astype(np.int32)
    group = np.arange(40) % 5
    best, second, part = most_often_with(leaves, group)
    together = (leaves[:, :, None] == leaves[:, None, :]).mean(axis=0)
    np.fill_diagonal(together, np.nan)
    for row in range(40):
        shares = np.array([np.nanmean(together[row, group == g]) for g in range(5)])
        highest = np.sort(shares)[::-1]
        assert shares[best[row]] == pytest.approx(highest[0])
        assert shares[second[row]] == pytest.approx(highest[1])
        assert part[row] == pytest.approx(highest[1] / (highest[0] + highest[1]))


def test_groups_are_parted_as_finely_as_there_is_room():
    rng = np.random.default_rng(0)
    group, second = rng.integers(3, size=(2, 1_000))
    part = rng.random(1_000) / 2
    sizes = []
    for most in (3, 14, 50, 500):
        finer = _parted(group, second, part, most)
        sizes.append(finer.max() + 1)
        assert sizes[-1] <= most
        assert all(np.unique(group[finer == k]).size == 1 for k in range(sizes[-1]))
    assert sizes[0] == 3 < sizes[1] < sizes[2] < sizes[3]


def test_groups_come_near_the_exact_tree(made):
    exact = consensus_tree(made.draws, 4.0)
    tree = consensus_tree(made.draws, 4.0, max_exact=600)
    assert meeting_distance(tree, exact) < 0.01
    apart = dendrogram_purity(tree, made.truth) - dendrogram_purity(exact, made.truth)
    assert abs(apart) < 0.04
    labels = labels_at(made.draws, DEPTH)
    flat = [flat_clustering(labels, tree=t) for t in (tree, exact)]
    assert variation_of_information(*flat) < 0.1


# ---- draws that are affordable -------------------------------------------------------------------


def test_best_draw_is_among_those_that_were_compared(made):
    """With few labels to hold, some draws are left out; the best must not be taken for another."""
    odd = replace(made.draws[0], leaf=np.roll(made.draws[0].leaf, 1))
    draws = [odd] * 3 + made.draws[:21]
    most = 20 * 1_500
    used = affordable(draws, max_labels=most)
    assert len(used) == 20
    labels = labels_at(draws, DEPTH, max_labels=most)
    assert labels.shape == (20, 1_500)
    losses = [expected_loss(z, labels) for z in labels]
    assert best_draw(draws, DEPTH, max_labels=most) is used[int(np.argmin(losses))]


def test_unlabelled_draws_do_not_change_what_a_fit_says(made):
    small = made._replace(data=made.data[:300], truth=made.truth[:300], draws=shortened(made, 300))
    one, other = as_fit(small), as_fit(small, unlabelled=2)
    assert len(other.posterior_) == 3 * len(one.posterior_)
    assert other.tree_ == one.tree_
    np.testing.assert_array_equal(other.labels_, one.labels_)
    np.testing.assert_array_equal(other.confidence_, one.confidence_)
    np.testing.assert_array_equal(other.cluster(level=2), one.cluster(level=2))
    np.testing.assert_array_equal(other.coclustering(), one.coclustering())


def shortened(made, n_rows) -> list[Draw]:
    return [replace(draw, leaf=draw.leaf[:n_rows], n_data=n_rows) for draw in made.draws[:8]]
