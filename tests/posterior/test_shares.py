"""Shares of groups and their contrasts are calibrated: intervals cover, and P(> 0) is uniform.

Draws of trees are made by hand, so that there is nothing to fit: three branches of two clusters
each, every cluster of two leaves.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sticktree import Tree
from sticktree.engine.draw import Draw
from sticktree.posterior.composition import Composition
from sticktree.posterior.homes import Homes
from sticktree.posterior.shares import Points, group_shares
from tests.support.statistics import FALSE_ALARM

PARENT = np.array([-1, 0, 0, 0, *np.repeat([1, 2, 3], 2), *np.repeat(np.arange(4, 10), 2)])
LEVEL = np.array([0, *[1] * 3, *[2] * 6, *[3] * 12])
N_CLUSTERS = 6
SHARES = np.array([0.3, 0.05, 0.1, 0.2, 0.15, 0.2])
TREE = Tree.from_paths([(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)])


def draw_of(cluster, rng, gamma):
    """Return a draw whose leaves are halves of clusters, with sticks given the rows of all."""
    leaf = 10 + 2 * cluster + rng.integers(2, size=cluster.size)
    count = np.bincount(leaf, minlength=PARENT.size).astype(float)
    for k in range(PARENT.size - 1, 0, -1):
        count[PARENT[k]] += count[k]
    stick, rest = np.zeros((PARENT.size, 3)), np.zeros((PARENT.size, 3))
    for node in range(10):
        children = np.flatnonzero(node == PARENT)
        parts = rng.dirichlet([*count[children], 1.0])
        stick[children, LEVEL[node]], rest[node, LEVEL[node]] = parts[:-1], parts[-1]
    return Draw(
        leaf=leaf,
        parent=PARENT,
        level=LEVEL,
        parameters={"stick": stick, "rest": rest, "group_concentration": np.asarray(gamma)},
        traced=(),
        concentration=1.0,
        discount=0.0,
        log_joint=0.0,
    )


def composition_of(truth, rng, n_rows=300, gamma=100.0, n_draws=4, times=60, mislabelled=0.0):
    """Draw rows of groups with these shares of clusters, and what is said of them.

    Some of the rows may have the label of the other cluster of their branch.
    """
    kinds = [rng.choice(N_CLUSTERS, size=n_rows, p=shares) for shares in truth]
    cluster = np.concatenate(kinds).astype(np.int32)
    group = np.repeat(np.arange(len(truth), dtype=np.int32), n_rows)
    draws = [draw_of(cluster, rng, gamma) for _ in range(n_draws)]
    labels = cluster ^ (rng.random(cluster.size) < mislabelled)
    shares = group_shares(draws, group, len(truth), labels, rng, times)
    partitions = np.zeros((1, len(truth)), dtype=np.int32)
    return Composition(tuple(range(len(truth))), shares, TREE, partitions)


def assert_uniform(values):
    """Test that independent values are uniform, by Kolmogorov and Smirnov."""
    assert stats.kstest(values, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("within", [None, "parent"])
def test_groups_that_are_alike_have_uniform_probabilities(within):
    """One branch of each of 200 tables of rows; jitter undoes that P(> 0) is one of 241 values."""
    rng = np.random.default_rng(0)
    found = []
    for k in range(200):
        composition = composition_of([SHARES, SHARES], rng, gamma=1000.0)
        contrasts = composition.compare(0, 1, within=within)
        p = contrasts.p_greater[k % N_CLUSTERS]
        found.append((240 * p + rng.random()) / 241)
    assert_uniform(found)


def test_shares_as_the_model_has_them_would_not():
    """With γ large, groups lean on one another: the test above must see that."""
    rng, found = np.random.default_rng(0), []
    for k in range(200):
        cluster = rng.choice(N_CLUSTERS, size=600, p=SHARES).astype(np.int32)
        group = np.repeat(np.arange(2, dtype=np.int32), 300)
        draw = draw_of(cluster, rng, 1000.0)
        points = Points.of(draw, group, 2)
        mean = points.seated[points.node].T + points.gamma[points.point] * points.beta
        error = np.sqrt((1 / mean).sum(axis=0))
        found.append(stats.norm.cdf(np.log(mean[0] / mean[1]) / error)[3 + k % 6])
    assert stats.kstest(found, "uniform").pvalue < FALSE_ALARM


def test_intervals_of_shares_and_ratios_cover_94_percent():
    """8 groups, half of the branches differ by 2; coverage by a binomial test of tables of rows."""
    other = SHARES * [0.5, 2.0, 2.0, 1.0, 1.0, 1.0]
    truth = np.array([SHARES] * 4 + [other / other.sum()] * 4)
    rng, shares, ratios = np.random.default_rng(1), [], []
    for k in range(200):
        composition = composition_of(truth, rng)
        j, branch = k % 8, k % N_CLUSTERS
        low, high = composition.interval
        shares.append(low[j, branch] <= truth[j, branch] <= high[j, branch])
        ratio = composition.compare(4, 0).log_ratio[:, branch]
        expected = np.log(truth[4, branch] / truth[0, branch])
        ratios.append(np.mean(ratio < expected))
    ratios = np.abs(np.array(ratios) - 0.5) < 0.47
    for covered in (shares, ratios):
        assert stats.binomtest(int(np.sum(covered)), 200, 0.94).pvalue > FALSE_ALARM


def test_labels_of_rows_at_the_border_do_not_draw_groups_to_one_another():
    """A tenth of the rows of two clusters have the label of the other, whatever their group."""
    truth = np.array([SHARES, SHARES[[1, 0, 3, 2, 5, 4]]])
    rng, covered, between = np.random.default_rng(5), [], []
    for k in range(200):
        composition = composition_of(truth, rng, mislabelled=0.1)
        j, branch = k % 2, k % 2  # .3 and .05, in turn
        low, high = composition.interval
        covered.append(low[j, branch] <= truth[j, branch] <= high[j, branch])
        between.append(composition.mean[0, 0] - composition.mean[1, 0])
    assert stats.binomtest(int(np.sum(covered)), 200, 0.94).pvalue > FALSE_ALARM
    assert np.mean(between) == pytest.approx(0.25, abs=0.01)


def test_clusters_that_a_draw_does_not_tell_apart_have_the_rows_of_their_labels():
    """Clusters 0 and 1 are in the same leaves, and a few rows of 1 are in a leaf of 2."""
    rng = np.random.default_rng(6)
    cluster = rng.choice(N_CLUSTERS, size=400, p=SHARES).astype(np.int32)
    group = np.repeat(np.arange(2, dtype=np.int32), 200)
    cluster[group == 0] = np.where(cluster[group == 0] == 1, 0, cluster[group == 0])
    drawn = draw_of(np.where(cluster == 1, 0, cluster), rng, 100.0)
    leaf = drawn.leaf.copy()
    leaf[np.flatnonzero(cluster == 1)[:3]] = 14  # of cluster 2
    homes = Homes.of(replace(drawn, leaf=leaf), cluster, N_CLUSTERS)
    assert homes.at_home.tolist() == [True, False, True, True, True, True]
    assert homes.counts.sum() == 400
    shares = group_shares([drawn] * 20, group, 2, cluster, rng, 100)
    np.testing.assert_allclose(shares.sum(axis=2), 1.0)
    of_both = shares[:, :, :2].sum(axis=2)
    for j in range(2):
        # Two leaves have both, and half a row more of each cluster.
        n = np.array([(cluster[group == j] == k).sum() for k in range(2)])
        assert shares[:, j, 1].mean() / of_both[:, j].mean() == pytest.approx(
            (n[1] + 1.0) / (n.sum() + 2.0), abs=0.02
        )


def test_conditions_whose_groups_vary_have_uniform_probabilities():
    """Groups of both conditions have log shares of one law: 4 against 4, as a sample of groups."""
    rng, found = np.random.default_rng(2), []
    for k in range(200):
        varied = SHARES * np.exp(0.6 * rng.standard_normal((8, N_CLUSTERS)))
        composition = composition_of(
            varied / varied.sum(axis=1, keepdims=True), rng, n_rows=150, n_draws=2, times=60
        )
        contrasts = composition.compare("t", "c", {j: "tc"[j // 4] for j in range(8)})
        found.append((120 * contrasts.p_greater[k % N_CLUSTERS] + rng.random()) / 121)
    assert_uniform(found)


def test_rows_of_one_patient_are_no_evidence_of_a_treatment():
    """Many rows of few groups that vary: comparing groups is sure of itself, conditions are not."""
    rng, by_rows, by_groups = np.random.default_rng(3), [], []
    for _ in range(40):
        varied = SHARES * np.exp(0.6 * rng.standard_normal((4, N_CLUSTERS)))
        composition = composition_of(varied / varied.sum(axis=1, keepdims=True), rng, n_rows=1000)
        by_rows.append(composition.compare(0, 2).p_greater[:N_CLUSTERS])
        conditions = {0: "t", 1: "t", 2: "c", 3: "c"}
        by_groups.append(composition.compare("t", "c", conditions).p_greater[:N_CLUSTERS])
    extreme = [np.mean(np.abs(np.array(p) - 0.5) > 0.47) for p in (by_rows, by_groups)]
    assert extreme[0] > 0.5
    assert extreme[1] < 0.15


def test_a_branch_without_rows_of_a_group_has_a_small_share_and_a_wide_interval():
    rng = np.random.default_rng(4)
    truth = np.array([SHARES, [0.4, 0.0, 0.1, 0.2, 0.1, 0.2]])
    contrasts = composition_of(truth, rng, n_draws=10, times=100).compare(1, 0)
    line = next(line for line in contrasts.table if line["branch"] == "1")
    assert line["p_greater"] < 0.01
    assert np.isfinite([line["low"], line["high"], line["log_ratio"]]).all()
    assert line["high"] - line["low"] > 3
