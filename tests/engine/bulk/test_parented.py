"""Rows whose groups have parents in the parallel sampler: exact, in threads and after snapshots.

Statistical checks have a false-alarm rate of 1e-4 each.
"""

import copy
import os
from dataclasses import replace

import numpy as np
import pytest

from sticktree.engine.bulk.grouped import Sticks, draw_group_weights, draw_parents
from sticktree.engine.bulk.parented import KinSticks, share_out_kin
from sticktree.engine.bulk.shared import SharedBulkChain
from sticktree.engine.common.links import ALIVE
from sticktree.engine.numbering import groups_of_some
from sticktree.engine.shared.state import NOISE, set_scales
from sticktree.model import Groups, Model
from sticktree.processes import NestedRestaurant, ParentedRestaurant
from tests.engine.bulk.test_grouped import MODEL, blobs, log_ungrouped, visits
from tests.engine.bulk.test_shared_chain import (
    ALPHA,
    DATA,
    NOISE_VARIANCE,
    SCALE,
    assert_same_draw,
)
from tests.engine.own.test_exact import setting_of
from tests.support import shared_twin as twin
from tests.support.grouped import ExactGroups
from tests.support.own import exact
from tests.support.own_chains import chain_at
from tests.support.statistics import assert_frequencies, assert_mean

GAMMA, KAPPA = 1.5, 0.6
N_DRAWS = int(os.environ.get("STICKTREE_VISITS", "300"))  # of each chain, of one in five sweeps
DAYS, CONDITIONS = [-1, 0, 1], [3, 3, 4, -1, -1]


def fixed_chain(rows, group, parents, depth, discount, seed, kappa=KAPPA):
    """Return a chain whose hyper-parameters are given."""
    groups = Groups(np.array(group, np.int32), GAMMA, parents=np.array(parents), kinship=kappa)
    model = Model(ALPHA[:depth], concentration=1.0, discount=discount, groups=groups)
    chain = SharedBulkChain(rows, model, np.random.default_rng(seed))
    chain.factor = np.ones(2)
    chain.state.scalars[NOISE] = NOISE_VARIANCE
    chain.state.levels["scale"] = SCALE[: depth + 1]
    set_scales(chain.state)
    chain._settle()
    return chain


def log_likelihoods(trees, depth, discount):
    setting = twin.Setting(ALPHA[:depth], discount, SCALE[: depth + 1], NOISE_VARIANCE)
    return np.array(
        [twin.log_posterior(tree, DATA, setting) - log_ungrouped(tree, setting) for tree in trees]
    )


def chances(logs):
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def law_of(alpha, discount, parents, kappa=KAPPA):
    return ParentedRestaurant(
        alpha, discount=discount, group_concentration=GAMMA, kinship=kappa, parents=parents
    )


CASES = {
    "splits, merges and choices alone, days": ([0, 0, 1, 2], DAYS, 1, 0.25),
    "splits, merges and choices alone, conditions": ([0, 1, 1, 2], CONDITIONS, 1, 0.0),
    "days": ([0, 1, 1, 2], DAYS, 2, 0.25),
    "conditions": ([0, 0, 1, 2], CONDITIONS, 2, 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_trees_are_visited_as_the_posterior_says(name, rows_of):
    group, parents, depth, discount = CASES[name]
    trees = ExactGroups(ALPHA[:depth], discount, GAMMA, group).trees
    law = law_of(ALPHA[:depth], discount, parents)
    logs = log_likelihoods(trees, depth, discount)
    logs += [law.log_prob(tree, group) for tree in trees]
    rows = rows_of(DATA, group=np.array(group))
    chain = fixed_chain(rows, group, parents, depth, discount, [7, depth])
    seen = visits(chain, trees, N_DRAWS, 5, moves=depth > 1)
    assert_frequencies(np.bincount(seen, minlength=len(trees)), chances(logs))


@pytest.mark.slow
def test_without_kinship_parents_change_nothing(rows_of):
    group = [0, 1, 0, 1]
    groups = ExactGroups(ALPHA[:1], 0.25, GAMMA, group)
    logs = log_likelihoods(groups.trees, 1, 0.25) + groups.log_prior
    rows = rows_of(DATA, group=np.array(group))
    chain = fixed_chain(rows, group, [-1, 0], 1, 0.25, 3, kappa=1e-9)
    seen = visits(chain, groups.trees, N_DRAWS, 5, moves=False)
    assert_frequencies(np.bincount(seen, minlength=len(groups.trees)), chances(logs))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["days", "conditions"])
def test_leaves_with_own_noise_are_visited_as_the_posterior_says(name):
    group, parents = {"days": ([0, 1, 1, 2], DAYS), "conditions": ([0, 0, 1, 2], CONDITIONS)}[name]
    depth = 1 + (name == "days")
    setting = replace(setting_of(("gaussian",), "diag", depth, floor=0.15), discount=0.25)
    data = np.array([[0.1], [1.8], [0.4], [1.2]])
    posterior = exact.tree_posterior(data, setting)
    trees, chance = list(posterior), np.array(list(posterior.values()))
    alpha = setting.c * setting.shape
    law, plain = law_of(alpha, 0.25, parents), NestedRestaurant(alpha, discount=0.25)
    ratio = [law.log_prob(tree, group) - plain.log_prob(tree) for tree in trees]
    groups = Groups(np.array(group, np.int32), GAMMA, parents=np.array(parents), kinship=KAPPA)
    chain = chain_at(data, setting, np.random.default_rng(4), groups)
    place, seen = {tree: k for k, tree in enumerate(trees)}, []
    for sweep in range(100 + 5 * N_DRAWS):
        chain.sweep()
        if sweep >= 100 and sweep % 5 == 0:
            seen.append(place[chain.tree()])
    found = np.bincount(seen, minlength=len(trees))
    assert_frequencies(found, chances(np.log(chance) + ratio))


PARENTS = {
    "days": np.array([-1, 0, 1, 2, 3, 4]),
    "conditions": np.array([5, 5, 6, 6, -1, -1, 7, -1]),
}


def run(rows, group, parents, n_sweeps=4):
    groups = Groups(group.astype(np.int32), parents=parents)
    chain = SharedBulkChain(rows, replace(MODEL, groups=groups), np.random.default_rng(0))
    for _ in range(n_sweeps):
        chain.sweep()
    return chain


@pytest.mark.parametrize("name", PARENTS)
def test_draws_do_not_depend_on_partitions_and_threads(name, rows_of, many_parts):
    x, group = blobs()
    x[::7, 0] = np.nan if name == "days" else x[::7, 0]
    expected = run(rows_of(x, group=group), group, PARENTS[name]).draw()
    five = many_parts(x, [10, 77, 150, 400], 2, order=[3, 1, 0, 2, 4], group=group)
    assert_same_draw(expected, run(five, group, PARENTS[name]).draw())
    assert np.isfinite(expected.log_joint)


def test_a_snapshot_goes_on_to_the_identical_draws(rows_of):
    x, group = blobs()
    chain = run(rows_of(x, group=group), group, PARENTS["days"], 3)
    snapshot, state = chain.snapshot(), copy.deepcopy(chain.rng.bit_generator.state)
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    again = SharedBulkChain.restored(rows_of(x, group=group), chain.model, rng, snapshot)
    again._make_room(3000)
    for one in (chain, again):
        for _ in range(3):
            one.sweep()
    assert_same_draw(chain.draw(), again.draw())


@pytest.mark.parametrize("name", PARENTS)
def test_sticks_of_parents_add_up_after_every_step(name, rows_of, monkeypatch):
    """The first chain has few rows: some groups, and parents with rows, are not in it."""
    monkeypatch.setattr(SharedBulkChain, "first_rows", 3)
    x, group = blobs()
    chain = run(rows_of(x, group=group), group, PARENTS[name], 0)
    check_sums(chain.state)
    for _ in range(4):
        chain._split_merge(chain._assign(), 20)
        check_sums(chain.state)
        for move in chain._moves_of_tree():
            move.kernel(move.count)
        check_sums(chain.state)
    kept = np.arange(chain.size) % 3 > 0
    chain.keep_leaves(chain.sums.times(kept), chain.seated * kept[:, None])
    check_sums(chain.state)


def check_sums(state):
    order = state.order[: state.sizes[ALIVE]]
    for node in order:
        below = order[state.nodes["parent"][order] == node]
        level, above = state.nodes["level"][node], state.nodes["parent"][node]
        points = [(node, at, [node]) for at in range(above_level(state, above) + 1, level)]
        points += [(node, level, below)] if below.size else []
        for at, k, children in points:
            total = np.exp(state.theta[children, k]).sum(axis=0) + np.exp(state.theta_rest[at, k])
            np.testing.assert_allclose(total, 1.0, atol=1e-9)


def above_level(state, above):
    return -1 if above < 0 else state.nodes["level"][above]


def test_parents_find_their_places_in_a_sample():
    groups = Groups(np.arange(5, dtype=np.int32), parents=np.array([3, -1, 6, 5, 2, -1, 5]))
    some, place = groups_of_some(groups, np.array([4, 4, 2]))
    np.testing.assert_array_equal(some.of_row, [1, 1, 0])
    was = [2, 4, 0, 1, 3, 5, 6]  # numbers of the groups before
    for p, member in enumerate(groups.line.members):
        assert was[some.line.members[place[p]]] == member
        elder, its = groups.line.elder[p], some.line.elder[place[p]]
        assert (elder < 0) == (its < 0)
        assert elder < 0 or place[elder] == its


def test_weights_of_leaves_have_their_mean_given_parents(rows_of):
    x, group = blobs()
    chain = run(rows_of(x, group=group), group, PARENTS["conditions"], 2)
    state, room = chain.state, np.empty((chain.state.nodes.size, 5))
    state.gamma[0], state.kappa[0] = 3.0, 0.7
    draws = np.exp(
        [draw_group_weights(state, chain.leaves, room, chain.words) for _ in range(2000)]
    )
    for k, leaf in enumerate(chain.leaves[:4]):
        mean, node = np.ones(5), leaf
        while node != 0:
            above = state.nodes["parent"][node]
            for level in range(state.nodes["level"][above], state.nodes["level"][node]):
                at = above if level == state.nodes["level"][above] else node
                own = np.append(np.exp(state.theta[node, level]), 0.0)[state.above[:5]]
                kappa = np.where(state.above[:5] < 0, 0.0, 0.7)
                base = kappa * own + (1.0 - kappa) * state.stick[node, level]
                mean *= (state.seated[node, :5] + 3.0 * base) / (state.seated[at, :5] + 3.0)
            node = above
        for j in np.flatnonzero(mean > 0.01):  # of others most draws are next to 0
            assert_mean(draws[:, k, j], mean[j])


def test_rows_of_a_parent_go_by_its_sticks(rows_of):
    x, group = blobs()
    chain = run(rows_of(x, group=group), group, PARENTS["days"], 2)
    state, room = chain.state, np.empty((chain.state.nodes.size, 5))
    draw_parents(state, chain.words)
    check_sums(state)
    logs = draw_group_weights(state, chain.leaves, room, chain.words)
    for k, leaf in enumerate(chain.leaves):
        value, node = np.zeros(5), leaf
        while node != 0:
            above = state.nodes["parent"][node]
            for level in range(state.nodes["level"][above], state.nodes["level"][node]):
                value += state.theta[node, level]
            node = above
        np.testing.assert_allclose(logs[k], value)


def test_shares_of_parents_and_groups_are_drawn_from_what_their_ratio_says():
    rng, size, gamma, kappa = np.random.default_rng(0), 60_000, 2.0, 0.7
    sticks = Sticks(np.full(size, 0.2), np.full(size, 0.5), np.full(size, 0.3))
    kin = KinSticks(
        np.tile(np.log([0.4, 0.6]), (size, 1)),
        np.tile(np.log([[0.1, 0.9], [0.7, 0.3]]), (size, 1, 1)),
        np.array([-1, 0]),
        np.array([0, 1, -1, 1]),
        np.array([True, False, False, False]),
        gamma,
        kappa,
    )
    leaning = np.array([[2.0, 1.0], [3.0, 0.5], [-1.0, 2.0], [0.0, 0.0]])
    told = np.broadcast_to(leaning, (size, 4, 2))
    merging, seated = np.zeros(size, dtype=bool), np.zeros((size, 4, 2), dtype=np.int64)
    groups, parents, ratio = share_out_kin(kin, sticks, merging, told, seated, rng)
    u, r = np.exp(parents[:, :, 0]), np.exp(groups[:, :, 0])
    np.testing.assert_array_equal(r[:, 0], u[:, 0])
    weight = np.exp(ratio)  # of the prior over what they were drawn from
    assert_mean(weight, 1.0)
    shared = 0.2 / 0.7

    def expected(whole, share):
        first = kappa * whole * share + (1.0 - kappa) * 0.2
        return first / (kappa * whole + (1.0 - kappa) * 0.7)

    u0, u1 = u.T
    young, by_young = expected(0.4, u0), expected(0.6, u1)
    for off, given in (
        (u0 - shared, [1.0]),
        (u1 - young, [1.0, u0]),
        (r[:, 1] - by_young, [1.0, u0, u1]),
        (r[:, 2] - shared, [1.0, u0, u1]),
        (r[:, 3] - by_young, [1.0, u0, u1, r[:, 1]]),
    ):
        for other in given:
            assert_mean(weight * off * other, 0.0)
    seated[:] = [[5, 0], [0, 3], [2, 2], [1, 0]]
    groups, parents, _ = share_out_kin(kin, sticks, ~merging, told, seated, rng)
    np.testing.assert_array_equal(parents, kin.shares)
    np.testing.assert_allclose(np.exp(groups[:, 0]), [[0.1, 0.9]] * size)
    whole = gamma * (kappa * 0.6 + (1.0 - kappa) * 0.7)
    first = whole * expected(0.6, 0.7)
    assert_mean(np.exp(groups[:, 1, 0]), first / (whole + 3))
    assert_mean(np.exp(groups[:, 2, 0]), (0.4 + 2) / (1.4 + 4))
    assert_mean(np.exp(groups[:, 3, 0]), (first + 1) / (whole + 1))
