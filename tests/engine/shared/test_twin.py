"""Every choice and every density of the engine against its plain twin."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from sticktree import Tree
from sticktree.engine.common.links import DISCOUNT, FACTOR, LEAVES, ROOT
from sticktree.engine.common.random import random_state
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.shared.chain import Chain
from sticktree.engine.shared.seats import settle
from sticktree.engine.shared.state import DRIFT, NOISE, load_tree
from sticktree.model import Model
from sticktree.tree import NULL
from tests.support.compiled import (
    bound_of_branches,
    crosses,
    evidence,
    find_branch,
    find_far,
    list_rows,
    log_density,
    log_discount,
    log_factor,
    log_scale,
    look_outside,
    measure,
    other,
    reach,
    regraft,
    scan,
    tail,
    weigh_leaf,
    weigh_near,
    weights_by_size,
)
from tests.support.statistics import assert_frequencies

N_DRAWS = 3_000
NONE = np.zeros((2, 0), dtype=np.int64)  # no groups
FORMS = ["spherical", "diag", "full"]


def random_case(twin, depth, dimension, discount, seed, n_data=None):
    """Draw a tree from its prior, and data that say little of it: many places then compete."""
    rng = np.random.default_rng([seed, depth, dimension, int(10 * discount)])
    setting = twin.random_setting(rng, depth, discount)
    n_data = (8 if depth < 10 else 5) if n_data is None else n_data
    tree = setting.law.sample(n_data, rng)
    return setting, tree, rng.standard_normal((n_data, dimension))


CASES = [(1, 2, 0.0), (2, 1, 0.3), (3, 2, 0.3), (4, 5, 0.0), (12, 2, 0.02), (40, 2, 0.0)]
every_case = pytest.mark.parametrize(("depth", "dimension", "discount"), CASES)
deeper_case = pytest.mark.parametrize(("depth", "dimension", "discount"), CASES[1:])


class Choice(NamedTuple):
    """A state, all trees to which a move may lead from it, and their exact probabilities."""

    state: object
    tree: Tree
    mover: int
    places: list
    probabilities: np.ndarray


def open_choice(twin, case, movers, places_of):
    """Return a choice among several likely places, of the first seed that gives one.

    ``movers(state, tree)`` lists who may move; ``places_of(tree, mover)`` all trees that result.
    """
    for seed in range(200):
        setting, tree, data = random_case(twin, *case, seed)
        state = twin.state_of(tree, data, setting)
        tree = tree_of(state)
        for mover in movers(state, tree)[:1]:
            places = places_of(tree, mover)
            probabilities = twin.posterior(places, data, setting)
            if 1 / (probabilities**2).sum() > 2.5:
                return Choice(state, tree, mover, places, probabilities)
    raise AssertionError("no seed gives an open choice")


@pytest.fixture
def assert_choice(twin):
    """Return a check of a move that starts again and again from one state.

    It returns what the move said of itself, each with all answers to whether the tree was the same.
    """

    def check(move, choice):
        words = random_state(np.random.default_rng(0))
        census = twin.Census(choice.places)
        same, here = {}, twin.copied(choice.state)
        for _ in range(N_DRAWS):
            twin.put_back(here, choice.state)
            said = move(here, choice.mover, words)
            k = census.add(here)
            same.setdefault(said, set()).add(k)
        assert_frequencies(census.counts, choice.probabilities)
        stay = choice.places.index(choice.tree.expanded())
        return {said: {k == stay for k in found} for said, found in same.items()}

    return check


def without_the_last_datum(choice, twin):
    """Return the state with its last datum out of the tree, but with room for it."""
    data, setting = choice.state.data, twin.setting_of(choice.state)
    rest = Tree(choice.tree.parent, choice.tree.leaf[:-1], level=choice.tree.level)
    rest = rest.pruned().compressed()
    state = twin.empty_of(data, setting)
    load_tree(state, rest.parent, rest.level, rest.leaf)
    settle(state)
    return state


def leaves_outweigh_branches(state, i, twin):
    """Tell whether the engine chooses by rejection, and not by computing all weights."""
    state, lack, _ = twin.take_out(state, state.data[i], state.leaf[i])
    leaves = state.leaves[: state.sizes[LEAVES]]
    total = sum(weigh_leaf(state, leaf, state.data[i], lack) for leaf in leaves)
    return total > 0.1 * bound_of_branches(state)


@pytest.mark.parametrize("rejecting", [True, False], ids=["by rejection", "by all weights"])
@deeper_case
def test_datum_of_a_shared_leaf_chooses_as_its_full_conditional_says(
    depth, dimension, discount, rejecting, twin, assert_choice
):
    # In a flat tree there is one new branch, so "all weights" leaves no choice to test.
    def movers(state, tree):
        shared = np.flatnonzero(tree.count[tree.leaf] > 1).tolist()
        return [i for i in shared if leaves_outweigh_branches(state, i, twin) == rejecting]

    case = depth, dimension, discount
    choice = open_choice(twin, case, movers, twin.places_of_datum)
    same = assert_choice(twin.move_datum, choice)
    assert all(stayed == {said == 0} for said, stayed in same.items())


@pytest.mark.parametrize("out", [False, True], ids=["moved", "new"])
def test_datum_with_densities_below_all_floating_point_numbers_chooses_as_it_should(
    out, twin, assert_choice
):
    # With hardly any steps between nodes, all places stay possible wherever the datum is.
    setting, tree, data = random_case(twin, 3, 2, 0.1, seed=0)
    setting = setting._replace(scale=1e-5 * setting.scale)
    i = tree.n_data - 1 if out else int(np.flatnonzero(tree.count[tree.leaf] > 1)[0])
    data[i] = 45.0 * np.sqrt(setting.noise)
    places = twin.places_of_datum(tree, i)
    state = twin.state_of(tree, data, setting)
    choice = Choice(state, tree_of(state), i, places, twin.posterior(places, data, setting))
    assert (choice.probabilities > 0.02).sum() > 3
    if out:
        assert_choice(twin.move_datum, choice._replace(state=without_the_last_datum(choice, twin)))
    else:
        assert_choice(twin.move_datum, choice)


def test_datum_of_a_flat_tree_chooses_as_its_full_conditional_says(twin, assert_choice):
    def movers(state, tree):
        return np.flatnonzero(tree.count[tree.leaf] > 1).tolist()

    same = assert_choice(
        twin.move_datum, open_choice(twin, (1, 2, 0.3), movers, twin.places_of_datum)
    )
    assert all(stayed == {said == 0} for said, stayed in same.items())


@every_case
def test_datum_with_a_leaf_of_its_own_chooses_as_its_full_conditional_says(
    depth, dimension, discount, twin, assert_choice
):
    def movers(state, tree):
        return np.flatnonzero(tree.count[tree.leaf] == 1).tolist()

    case = depth, dimension, discount
    assert_choice(twin.move_datum, open_choice(twin, case, movers, twin.places_of_datum))


@every_case
def test_new_datum_is_seated_as_its_full_conditional_says(
    depth, dimension, discount, twin, assert_choice
):
    choice = open_choice(
        twin,
        (depth, dimension, discount),
        lambda state, tree: [tree.n_data - 1],
        twin.places_of_datum,
    )
    assert_choice(twin.move_datum, choice._replace(state=without_the_last_datum(choice, twin)))


def tops(state, tree, ceiling):
    """Return the nodes where subtrees from the given level end, those with the most data first."""
    found = [k for k in range(1, tree.n_nodes) if crosses(state, state.order[k], ceiling)]
    return sorted(found, key=lambda k: -tree.count[k]) if len(found) > 1 else []


@pytest.mark.parametrize("at_leaves", [True, False], ids=["leaf", "subtree"])
@deeper_case
def test_subtree_is_grafted_as_its_full_conditional_says(
    depth, dimension, discount, at_leaves, twin, assert_choice
):
    ceiling = depth if at_leaves else max(2, depth // 2)
    choice = open_choice(
        twin,
        (depth, dimension, discount),
        lambda state, tree: tops(state, tree, ceiling),
        lambda tree, top: twin.places_of_subtree(tree, tree.data_below(top).tolist(), ceiling),
    )

    def move(state, top, words):
        return regraft(state, state.order[top], ceiling, words)

    same = assert_choice(move, choice)
    assert all(stayed == {said == 0} for said, stayed in same.items())


def test_subtree_below_the_root_of_a_flat_tree_has_one_place(twin):
    setting, tree, data = random_case(twin, 1, 2, 0.3, seed=3)
    state = twin.state_of(tree, data, setting)
    words = random_state(np.random.default_rng(0))
    for top in tops(state, tree_of(state), 1):
        assert regraft(state, state.order[top], 1, words) == 0
        assert tree_of(state) == tree.compressed()


@pytest.mark.parametrize(
    ("depth", "discount"), [(1, 0.3), (3, 0.0), (3, 0.2), (5, 0.1), (40, 0.0), (40, 0.005)]
)
def test_way_of_a_datum_through_the_tree_is_that_of_the_next_datum_of_the_others(
    depth, discount, twin
):
    setting, tree, data = random_case(twin, depth, 2, discount, seed=6, n_data=20)
    state = twin.state_of(tree, data, setting)
    order, tree = twin.in_use(state), tree_of(state)
    full = tree.expanded()
    last = np.cumsum(np.append(0, tree.level[1:] - tree.level[tree.parent[1:]]))
    shared = np.flatnonzero(tree.count[tree.leaf] > 1).tolist()
    assert shared
    for i in shared:
        without, _, _ = twin.take_out(state, state.data[i], state.leaf[i])
        others = Tree(full.parent, np.delete(full.leaf, i), level=full.level)
        expected = setting.law.next_datum(others)
        np.testing.assert_allclose(without.nodes["path"][order], expected.reach[last], rtol=1e-10)
        for node, place in zip(order, last, strict=True):
            if state.nodes["level"][node] < depth:
                seats = 1 / (others.count[place] + setting.alpha[state.nodes["level"][node]])
                assert without.nodes["inverse"][node] == pytest.approx(seats, rel=1e-12)


@pytest.mark.parametrize("drift", [0.0, 3.0])
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_near_leaves_are_weighed_exactly_and_far_ones_are_within_their_bound(
    dimension, drift, twin
):
    # Pairs of data at ever larger distances, each with a leaf of its own.
    setting = twin.Setting(np.ones(2), 0.1, np.array([1.0, 1.0, 100.0]), 0.5)
    paths = [(1 + k % 2, 1 + k // 2) for k in range(40) for _ in range(2)]
    along = np.repeat(0.4 * np.arange(40), 2)[:, None]
    data = along * np.ones(dimension) / np.sqrt(dimension)
    state = twin.state_of(Tree.from_paths(paths), data, setting)
    n_leaves = state.sizes[LEAVES]
    leaves = state.leaves[:n_leaves].tolist()
    n_far = 0
    for i in range(0, len(paths), 6):
        y, old = state.data[i], state.leaf[i]
        here, lack, moved = twin.take_out(state, y, old)
        expected = np.array([weigh_leaf(here, k, y, lack) for k in leaves])
        moves = (here.shift**2).sum()
        dense = [
            here.nodes["path"][k] * np.exp(log_density(here, k, 2, 0.5, moves, lack))
            for k in leaves
        ]
        np.testing.assert_allclose(expected, dense, rtol=1e-9)
        # Centres that are off by as much as is admitted, away from the datum.
        here.centre[:, :n_leaves] += drift * np.sign(here.mean[leaves] - y).T / np.sqrt(dimension)
        here.scalars[DRIFT] = drift
        measure(y, here.centre, n_leaves, here.distance)
        here.near[0] = old, weigh_leaf(here, old, y, lack)
        limit, far = reach(here, here.near["weight"][0], moved)
        n_near = weigh_near(here, old, y, lack, limit)
        near = [leaves.index(k) for k in here.near["leaf"][:n_near]]
        assert len(set(near)) == n_near
        np.testing.assert_allclose(here.near["weight"][:n_near], expected[near], rtol=1e-12)
        beyond = np.delete(expected, near)
        assert beyond.sum() <= far < 1e-2 * expected[near].sum()
        assert (beyond <= far * here.nodes["path"][np.delete(leaves, near)]).all()
        ends = np.cumsum(beyond)
        for k in np.flatnonzero(beyond > 1e-9 * beyond.sum()):
            leaf = np.delete(leaves, near)[k]
            assert find_far(here, old, y, lack, limit, ends[k] - 0.5 * beyond[k]) == leaf
        assert find_far(here, old, y, lack, limit, 1.001 * beyond.sum() + 1e-300) == NULL
        n_far += len(beyond)
    assert n_far


@pytest.mark.parametrize("out", [False, True], ids=["moved", "new"])
@pytest.mark.parametrize(
    ("depth", "discount"), [(1, 0.0), (2, 0.3), (3, 0.0), (4, 0.1), (40, 0.0), (40, 0.005)]
)
def test_points_below_the_bound_find_every_new_branch_in_proportion_to_its_weight(
    depth, discount, out, twin
):
    setting, tree, data = random_case(twin, depth, 2, discount, seed=8, n_data=12)
    paths = [*tree.paths(), tree.paths()[0]]
    data = np.concatenate([data, data[:1] + 0.1])
    state = twin.state_of(Tree.from_paths(paths), data, setting)
    i = 0
    y = state.data[i]
    here, lack, _ = twin.take_out(state, y, NULL if out else state.leaf[i])
    expected = {}
    for node in twin.in_use(here):
        level, n = int(here.nodes["level"][node]), here.nodes["n"][node]
        path = 1.0
        if node != ROOT:
            above = here.nodes["parent"][node]
            path = here.nodes["path"][above] * here.nodes["inverse"][above] * (n - discount)
            for j in range(here.nodes["level"][above] + 1, level):
                expected[node, j] = path * (setting.alpha[j] + discount) / (n + setting.alpha[j])
                path *= (n - discount) / (n + setting.alpha[j])
        if level < depth:
            opening = setting.alpha[level] + discount * here.nodes["n_children"][node]
            expected[node, level] = path * opening / (n + setting.alpha[level])
    bound, n_points = bound_of_branches(here), 20_000
    bounds = [chance * here.levels["bound"][level] for (_, level), chance in expected.items()]
    assert bound == pytest.approx(sum(bounds), rel=1e-9)
    for node, level in expected:
        moved = (here.shift**2).sum()
        density = log_density(here, node, level, tail(here, level), moved, lack)
        expected[node, level] *= np.exp(density)
    assert sum(expected.values()) <= bound
    found = dict.fromkeys(expected, 0.0)
    for point in (np.arange(n_points) + 0.5) / n_points * bound:
        place = find_branch(here, y, lack, point)
        if place[0] != NULL:
            found[place] += bound / n_points
    for place, weight in expected.items():
        assert found[place] == pytest.approx(weight, abs=1.01 * bound / n_points)


# ---- split and merge -------------------------------------------------------------------------


@pytest.fixture(params=[(1, 2, True), (3, 1, True), (3, 5, False), (5, 2, True)], ids=str)
def two_leaves(request, twin):
    """Return a state with two sibling leaves, the state where they are one, and who is in them."""
    depth, dimension, has_sibling = request.param
    rng = np.random.default_rng(7)
    setting = twin.random_setting(rng, depth)
    stem = (1,) * (depth - 1)
    paths = [(*stem, 1)] * 3 + [(*stem, 2)] * 2 + ([(*stem, 3)] * 2 if has_sibling else [])
    if depth > 1:
        paths += [(2,) * depth] * 2 + [(1,) * (depth - 2) + (2, 1)]
    data = rng.standard_normal((len(paths), dimension))
    joined = [(*stem, 1) if k < 5 else path for k, path in enumerate(paths)]
    trees = [Tree.from_paths(paths), Tree.from_paths(joined)]
    return setting, data, trees, [twin.state_of(tree, data, setting) for tree in trees]


def test_evidence_of_a_split_is_the_ratio_of_dense_likelihoods(two_leaves, twin):
    setting, data, trees, states = two_leaves
    split, joined = (twin.log_normal(data, setting.row_covariance(tree)) for tree in trees)
    sums = data[:3].sum(axis=0), data[3:5].sum(axis=0)
    for state in states:
        mean = np.empty(data.shape[1])
        variance = look_outside(state, state.leaf[0], state.leaf[3], len(state.levels) - 1, mean)
        apart = evidence(state, 3.0, sums[0], 2.0, sums[1], mean, variance)
        together = evidence(state, 5.0, sums[0] + sums[1], 0.0, sums[1], mean, variance)
        assert apart - together == pytest.approx(split - joined, abs=1e-9)


def test_restricted_scan_gives_probabilities_of_all_divisions_that_sum_to_one(two_leaves):
    _, data, _, (state, _) = two_leaves
    mean = np.empty(data.shape[1])
    variance = look_outside(state, state.leaf[0], state.leaf[3], len(state.levels) - 1, mean)
    words = random_state(np.random.default_rng(0))
    members = np.array([1, 2, 4])
    total = 0.0
    for division in range(8):
        target = np.array([division & 1, division >> 1 & 1, division >> 2])
        side = np.zeros(3, dtype=np.int64)
        n = np.array([4.0, 1.0])
        sums = np.stack([data[[0, 1, 2, 4]].sum(axis=0), data[3]])
        by_size = weights_by_size(state, 5, mean.size, variance)
        log_probability = scan(
            state, members, side, target, True, True, n, sums, mean, by_size, NONE, 0.0, words
        )
        assert (side == target).all()
        assert n.tolist() == [4.0 - target.sum(), 1.0 + target.sum()]
        np.testing.assert_allclose(sums.sum(axis=0), data[:5].sum(axis=0), atol=1e-12)
        total += np.exp(log_probability)
    assert total == pytest.approx(1, abs=1e-12)


def test_a_member_chooses_a_half_by_its_size_and_its_predictive_density(two_leaves):
    _, data, _, (state, _) = two_leaves
    mean, dimension = np.empty(data.shape[1]), data.shape[1]
    last = len(state.levels) - 1
    variance = look_outside(state, state.leaf[0], state.leaf[3], last, mean)
    words = random_state(np.random.default_rng(0))
    r, d = state.scalars[NOISE], state.scalars[DISCOUNT]
    weights = []
    for rows in ([0, 1], [3]):
        precision = 1 / (variance + state.levels["scale"][last]) + len(rows) / r
        centre = mean / (variance + state.levels["scale"][last]) + data[rows].sum(axis=0) / r
        spread = np.full(dimension, np.sqrt(1 / precision + r))
        density = stats.norm.pdf(data[2], centre / precision, spread).prod()
        weights.append((len(rows) - d) * density)
    n, sums = np.array([3.0, 1.0]), np.stack([data[:3].sum(axis=0), data[3]])
    by_size = weights_by_size(state, 4, dimension, variance)
    side, target = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    rest = (n, sums, mean, by_size, NONE, 0.0, words)
    found = scan(state, np.array([2]), side, target, True, True, *rest)
    assert np.exp(found) == pytest.approx(weights[1] / sum(weights), rel=1e-9)
    chosen = np.empty(N_DRAWS, dtype=np.int64)
    for k in range(N_DRAWS):
        scan(state, np.array([2]), side, target, False, False, *rest)
        chosen[k] = side[0]
    assert_frequencies(np.bincount(chosen, minlength=2), np.array(weights) / sum(weights))


def test_the_other_datum_of_a_split_is_any_below_the_same_node(two_leaves):
    *_, states = two_leaves
    words = random_state(np.random.default_rng(1))
    for state in states:
        rows, start = (np.empty(state.leaves.size, dtype=np.int64) for _ in range(2))
        list_rows(state, rows, start)
        above = state.nodes["parent"][state.leaf]
        shared = state.nodes["level"][above] == len(state.levels) - 2
        group = np.where(shared, above, -1 - state.leaf)
        for i in range(state.leaf.size):
            mates = set(np.flatnonzero(group == group[i])) - {i}
            drawn = [other(state, rows, start, i, words) for _ in range(500)]
            assert set(drawn) == (mates or {NULL})
            if len(mates) > 1:
                assert_frequencies(
                    np.bincount(drawn)[sorted(mates)], np.full(len(mates), 1 / len(mates))
                )


# ---- hyper-parameters ------------------------------------------------------------------------


def assert_same_up_to_a_constant(found, expected):
    found, expected = np.array(found), np.array(expected)
    scale = np.maximum(1.0, np.abs(expected - expected[0]))
    assert (np.abs((found - found[0]) - (expected - expected[0])) < 1e-9 * scale).all()


@pytest.mark.parametrize("less_discount", [False, True])
@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize("depth", [1, 3, 40])
def test_log_density_of_log_c_is_that_of_the_tree_and_its_gamma_prior(
    depth, discount, less_discount, twin
):
    setting, tree, data = random_case(twin, depth, 1, discount, seed=8, n_data=15)
    state = twin.state_of(tree, data, setting)
    grid = np.linspace(-6, 5, 23)
    a, b = 1.7, 0.6
    found = [log_factor(x, (state, a, b, less_discount)) for x in grid]
    expected = []
    for x in grid:
        c = np.exp(x)
        law = setting._replace(alpha=c * setting.alpha - discount * less_discount).law
        expected.append(law.log_prob(tree) + stats.gamma.logpdf(c, a, scale=1 / b) + x)
    assert_same_up_to_a_constant(found, expected)


@pytest.mark.parametrize("less_discount", [False, True])
@pytest.mark.parametrize("depth", [1, 3, 40])
def test_log_density_of_the_logit_of_d_is_that_of_the_tree_and_its_beta_prior(
    depth, less_discount, twin
):
    setting, tree, data = random_case(twin, depth, 1, 0.1, seed=9, n_data=15)
    state = twin.state_of(tree, data, setting)
    c = state.scalars[FACTOR] = 1.8
    grid = np.linspace(-6, 5, 23)
    a, b = 1.7, 2.6
    found = [log_discount(x, (state, a, b, less_discount)) for x in grid]
    expected = []
    for x in grid:
        d = 1 / (1 + np.exp(-x))
        alpha = c * setting.alpha - d * less_discount
        law = setting._replace(alpha=alpha, discount=d).law
        prior = stats.beta.logpdf(d, a, b) + np.log(d * (1 - d))
        expected.append(law.log_prob(tree) + prior)
    assert_same_up_to_a_constant(found, expected)


@pytest.mark.parametrize("noise", [1.0, 2.0])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("form", FORMS)
def test_log_density_of_log_v_has_the_covariance_integrated_out(form, depth, noise, twin):
    setting, _, data = random_case(twin, depth, 3, 0.1, seed=10)
    rng = np.random.default_rng(10)
    model = Model(
        setting.alpha, covariance_type=form, precision_prior=(1.4, 0.7), scale_prior=(2.2, 0.9)
    )
    chain = Chain(data, model, rng)
    for _ in range(5):
        chain.sweep()
    state = chain.state
    state.scalars[NOISE] = noise
    setting = twin.setting_of(state)
    tree = tree_of(state)
    a, b = model.scale_prior
    for level in range(depth + 1):
        parameters = (
            state,
            level,
            model.scale_prior,
            chain._squares(),
            model.precision_prior[0],
            chain._prior_rate(),
        )
        found, expected = [], []
        for x in np.linspace(-4, 4, 9):
            scale = setting.scale.copy()
            scale[level] = np.exp(x)
            rows = setting._replace(scale=scale).row_covariance(tree)
            evidence = twin.log_evidence(data, rows, form, model.precision_prior)
            prior = stats.invgamma.logpdf(np.exp(x), a, scale=b) + x
            expected.append(evidence + prior)
            found.append(log_scale(x, parameters))
        assert_same_up_to_a_constant(found, expected)
        state.levels["scale"] = setting.scale


@pytest.mark.parametrize("scales", ["shared", "per_level"])
@pytest.mark.parametrize("form", FORMS)
def test_log_prior_is_the_sum_of_all_priors(form, scales, twin):
    setting, _, data = random_case(twin, 3, 2, 0.1, seed=11)
    rng = np.random.default_rng(11)
    model = Model(
        setting.alpha,
        covariance_type=form,
        scales=scales,
        discount=None,
        concentration_prior=(1.2, 0.8),
        precision_prior=(1.4, 0.7),
        scale_prior=(2.2, 0.9),
        discount_prior=(1.5, 2.5),
    )
    chain = Chain(data, model, rng)
    for _ in range(3):
        chain.sweep()
    state = chain.state
    c, d = state.scalars[FACTOR], state.scalars[DISCOUNT]
    expected = twin.setting_of(state).law.log_prob(tree_of(state).expanded())
    expected += stats.gamma(1.2, scale=1 / 0.8).logpdf(c) + stats.beta(1.5, 2.5).logpdf(d)
    sigma = chain.covariance
    expected += twin.log_prior_covariance(sigma, form, model.precision_prior)
    if scales == "per_level":
        expected += stats.invgamma(2.2, scale=0.9).logpdf(state.levels["scale"]).sum()
    assert chain.log_prior() == pytest.approx(expected, rel=1e-10)


# ---- compiled and interpreted ----------------------------------------------------------------


def test_interpreted_engine_gives_the_draws_of_the_compiled_one(twin):
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.shared_twin"],
        cwd=Path(twin.__file__).parents[2],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    interpreted, compiled = json.loads(run.stdout), twin.some_draws()
    assert len(interpreted) == len(compiled)
    for plain, fast in zip(interpreted, compiled, strict=True):
        for discrete in ("leaf", "parent", "words"):
            assert plain[discrete] == fast[discrete]
        for number in ("scalars", "scales", "factor", "mean"):
            np.testing.assert_allclose(plain[number], fast[number], rtol=1e-9, atol=1e-12)
