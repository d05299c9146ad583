"""Rows in groups in the parallel sampler: exact, whatever their names, threads and partitions.

Statistical checks have a false-alarm rate of 1e-4 each.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest

from sticktree.engine.bulk.grouped import Sticks, draw_group_weights, share_out
from sticktree.engine.bulk.halves import gain_grid
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.split_nodes import node_split_sweep
from sticktree.engine.shared.state import NOISE, set_scales
from sticktree.model import Groups, Model
from tests.engine.bulk.test_assign import plain_log_weights
from tests.engine.bulk.test_philox import both_words
from tests.engine.bulk.test_shared_chain import (
    ALPHA,
    DATA,
    NOISE_VARIANCE,
    SCALE,
    assert_same_draw,
)
from tests.support import shared_twin as twin
from tests.support.bulk import leaves_with_anchors, two_units
from tests.support.grouped import ExactGroups
from tests.support.statistics import assert_frequencies, assert_mean

GAMMA = 1.5


def fixed_chain(rows, group, depth, discount, seed):
    """Return a chain whose hyper-parameters are given."""
    groups = Groups(np.array(group, dtype=np.int32), GAMMA)
    model = Model(ALPHA[:depth], concentration=1.0, discount=discount, groups=groups)
    chain = SharedBulkChain(rows, model, np.random.default_rng(seed))
    chain.factor = np.ones(2)
    chain.state.scalars[NOISE] = NOISE_VARIANCE
    chain.state.levels["scale"] = SCALE[: depth + 1]
    set_scales(chain.state)
    chain._settle()
    return chain


def visits(chain, trees, n_draws, thin, moves):
    place = {tree.compressed(): k for k, tree in enumerate(trees)}
    known, out = {}, []
    for sweep in range(100 + n_draws * thin):
        chain._split_merge(chain._assign(), 4)
        if moves:
            regraft_sweep(chain.state, chain.words, 3)
            node_split_sweep(chain.state, chain.words, 1)
        chain.move_concentration()  # sticks alone: nothing is learned
        if sweep >= 100 and sweep % thin == 0:
            tree = chain.tree()
            raw = tree.parent.tobytes(), tree.leaf.tobytes(), tree.level.tobytes()
            if raw not in known:
                known[raw] = place[tree]
            out.append(known[raw])
    return np.array(out)


CASES = {
    "splits, merges and choices alone, two groups": ([0, 0, 1, 1], 1, 0.25),
    "splits, merges and choices alone, three groups": ([0, 1, 1, 2], 1, 0.0),
    "two groups": ([0, 1, 0, 1], 2, 0.25),
    "three groups": ([0, 0, 1, 2], 2, 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_trees_are_visited_as_the_posterior_says(name, rows_of):
    group, depth, discount = CASES[name]
    exact = ExactGroups(ALPHA[:depth], discount, GAMMA, group)
    setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE_VARIANCE)
    logs = np.array([twin.log_posterior(tree, DATA, setting) for tree in exact.trees])
    logs += exact.log_prior - np.array([log_ungrouped(tree, setting) for tree in exact.trees])
    chance = np.exp(logs - logs.max())
    chain = fixed_chain(rows_of(DATA, group=np.array(group)), group, depth, discount, [7, depth])
    seen = visits(chain, exact.trees, 500, 5, moves=depth > 1)
    assert_frequencies(np.bincount(seen, minlength=chance.size), chance / chance.sum())


def log_ungrouped(tree, setting):
    from sticktree.processes import NestedRestaurant

    return NestedRestaurant(setting.alpha, discount=setting.discount).log_prob(tree)


@pytest.mark.slow
def test_groups_of_one_row_are_no_groups(rows_of):
    group = [0, 1, 2, 3]
    setting = twin.Setting(ALPHA[:2], 0.25, SCALE[:3], NOISE_VARIANCE)
    trees = ExactGroups(ALPHA[:2], 0.25, GAMMA, group).trees
    chain = fixed_chain(rows_of(DATA, group=np.array(group)), group, 2, 0.25, 5)
    seen = visits(chain, trees, 500, 5, moves=True)
    chance = twin.posterior(trees, DATA, setting)
    assert_frequencies(np.bincount(seen, minlength=len(trees)), chance)


def blobs():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(c, 0.2, (150, 2)) for c in (-1.5, 0.0, 1.0, 1.6)])
    return x, (np.arange(600) * 7 // 150 + rng.integers(2, size=600)) % 5


MODEL = Model(np.array([0.4, 0.7]), covariance_type="full", precision_prior=(1.0, 0.01))


def run(rows, group, n_sweeps=5):
    model = replace(MODEL, groups=Groups(group.astype(np.int32)))
    chain = SharedBulkChain(rows, model, np.random.default_rng(0))
    for _ in range(n_sweeps):
        chain.sweep()
    return chain


@pytest.mark.parametrize("gaps", [False, True])
def test_draws_do_not_depend_on_partitions_and_threads(gaps, rows_of, many_parts):
    x, group = blobs()
    if gaps:
        x[::7, 0] = np.nan
    expected = run(rows_of(x, group=group), group).draw()
    assert_same_draw(expected, run(rows_of(x, 2, group=group), group).draw())
    five = many_parts(x, [10, 77, 150, 400], 2, order=[3, 1, 0, 2, 4], group=group)
    assert_same_draw(expected, run(five, group).draw())


def test_a_snapshot_goes_on_to_the_identical_draws(rows_of):
    x, group = blobs()
    chain = run(rows_of(x, group=group), group, 3)
    snapshot, state = chain.snapshot(), copy.deepcopy(chain.rng.bit_generator.state)
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    again = SharedBulkChain.restored(rows_of(x, group=group), chain.model, rng, snapshot)
    again._make_room(3000)
    for one in (chain, again):
        for _ in range(3):
            one.sweep()
    assert_same_draw(chain.draw(), again.draw())


def test_rows_are_counted_in_their_groups(rows_of):
    x, group = blobs()
    chain = run(rows_of(x, group=group), group)
    leaf = chain.tree().leaf
    seated = np.zeros((chain.tree().n_nodes, 5), dtype=int)
    np.add.at(seated, (leaf, group), 1)
    np.testing.assert_array_equal(
        np.sort(chain.seated, axis=0), np.sort(seated[np.unique(leaf)], axis=0)
    )
    np.testing.assert_array_equal(chain.state.seated[0, :5], np.bincount(group))
    np.testing.assert_array_equal(chain.seated.sum(axis=1), chain.sums.n)


def test_rows_must_have_the_groups_of_the_model(rows_of):
    x, group = blobs()
    model = replace(MODEL, groups=Groups(np.minimum(group, 3).astype(np.int32)))
    for rows in (rows_of(x), rows_of(x, group=group)):
        with pytest.raises(ValueError, match="groups"):
            SharedBulkChain(rows, model, np.random.default_rng(0))


def test_weights_of_leaves_in_groups_have_their_mean(rows_of):
    x, group = blobs()
    chain = run(rows_of(x, group=group), group, 2)
    state, room = chain.state, np.empty((chain.state.nodes.size, 5))
    state.gamma[0] = 3.0
    draws = np.exp(
        [draw_group_weights(state, chain.leaves, room, chain.words) for _ in range(4000)]
    )
    for k, leaf in enumerate(chain.leaves[:4]):
        mean, node = np.ones(5), leaf
        while node != 0:
            above = state.nodes["parent"][node]
            for level in range(state.nodes["level"][above], state.nodes["level"][node]):
                at = above if level == state.nodes["level"][above] else node
                taken = state.seated[node, :5] + 3.0 * state.stick[node, level]
                mean *= taken / (state.seated[at, :5] + 3.0)
            node = above
        for j in range(5):
            assert_mean(draws[:, k, j], mean[j])


@pytest.mark.parametrize("gaps", [False, True])
def test_every_row_weighs_leaves_by_its_group(gaps, rows_of):
    rng = np.random.default_rng(gaps)
    n, n_leaves, n_groups = 400, 12, 4
    x = rng.normal(size=(n, 3))
    if gaps:
        x[rng.random((n, 3)) < 0.2] = np.nan
        x[np.isnan(x).all(axis=1), 0] = 0.0
    group = rng.integers(n_groups, size=n)
    leaves, _ = leaves_with_anchors(rng, n_leaves, 3, "shared", n, spread=0.7)
    share = -40.0 * rng.random((n_leaves, n_groups)) ** 3
    leaves = leaves._replace(share=share)
    rows = rows_of(x, group=group)
    seated = rows.assign(leaves)
    labels = rows.labels(np.arange(n_leaves), np.empty(0, dtype=np.int64))
    from sticktree.engine.bulk.philox import mix

    log_weights = plain_log_weights(leaves, x) + share.T[group]
    for i in range(n):
        if i in leaves.anchor:
            continue
        rank = mix(np.uint64(i), leaves.words[2])
        weights = np.where(rank <= leaves.limit, -np.inf, log_weights[i])
        first, _ = both_words(np.uint64(i), np.uint64(3), np.uint64(0), np.uint64(5))
        point = (int(first) >> 11) * 2.0**-53
        part = np.exp(weights - weights.max())
        below = np.cumsum(part) / part.sum()
        near_edge = np.abs(below - point).min() < 1e-9
        assert labels[i] == int(np.searchsorted(below, point, side="right")) or near_edge
    table = np.zeros((n_leaves, n_groups), dtype=int)
    np.add.at(table, (labels, group), 1)
    np.testing.assert_array_equal(seated.tally.seated, table)


@pytest.mark.parametrize("gaps", [False, True])
def test_leanings_are_slope_and_curvature_of_the_likelihood(gaps, rows_of):
    rng = np.random.default_rng(3)
    n, n_groups = 300, 3
    x, group = rng.normal(size=(n, 2)), rng.integers(3, size=n)
    if gaps:
        x[::4, 0] = np.nan
    rows = rows_of(x, group=group)
    from tests.support.bulk import some_leaves

    rows.assign(some_leaves(rows.extent, impute=False)._replace(share=np.zeros((9, 3))))
    labels = rows.labels(np.arange(9), np.empty(0, dtype=np.int64))
    pins = [[n + 1, n + 2]] * 2
    b = np.array([0.3, 0.8])
    units = two_units(rows.extent, pins)
    shares = np.log(np.stack([b, 1.0 - b], axis=1))
    units = units._replace(
        share=np.repeat(shares[:, None], n_groups, axis=1),
        densities=units.densities._replace(impute=False),
    )
    found = gain_grid(n).value(rows.lean(units))
    for u in range(2):
        for j in range(n_groups):
            mine = (units.of_leaf[labels] == u) & (group == j)
            logs = plain_log_weights(units.densities, x[mine])
            f1, f2 = np.exp(logs[:, 3 * u + 1]), np.exp(logs[:, 3 * u + 2])
            slope = (f1 - f2) / (b[u] * f1 + (1.0 - b[u]) * f2)
            e1, e2 = found[u, j]
            assert e1 / b[u] - e2 / (1.0 - b[u]) == pytest.approx(slope.sum(), rel=1e-6)
            curvature = e1 / b[u] ** 2 + e2 / (1.0 - b[u]) ** 2
            assert curvature == pytest.approx((slope**2).sum(), rel=1e-6)


def test_shares_of_halves_are_drawn_from_what_their_ratio_says():
    rng, size = np.random.default_rng(0), 40_000
    leaning = np.array([[4.0, 1.5], [0.0, 0.0], [-1.0, 3.0]])
    sticks = Sticks(np.full(size, 0.2), np.full(size, 0.5), np.full(size, 0.3))
    told = np.broadcast_to(leaning, (size, 3, 2))
    merging, seated = np.zeros(size, dtype=bool), np.zeros((size, 3, 2), dtype=np.int64)
    logs, ratio = share_out(2.0, sticks, merging, told, seated, rng)
    np.testing.assert_allclose(np.exp(logs).sum(axis=2), 1.0)
    weight = np.exp(ratio)  # of the prior over what they were drawn from
    assert_mean(weight, 1.0)
    for j in range(3):
        assert_mean(weight * np.exp(logs[:, j, 0]), 0.2 / 0.7)
    seated[:] = [[5, 0], [0, 0], [2, 2]]
    logs, _ = share_out(2.0, sticks, ~merging, told, seated, rng)
    for j, (first, second) in enumerate(seated[0]):
        assert_mean(np.exp(logs[:, j, 0]), (0.4 + first) / (1.4 + first + second))
