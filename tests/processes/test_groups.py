"""The law of groups that share a tree, against sums over all trees and tables."""

import itertools
import math

import numpy as np
import pytest

from sticktree import Tree
from sticktree.processes import (
    GroupedRestaurant,
    GroupedSticks,
    NestedRestaurant,
    enumerate_trees,
    set_partitions,
)
from sticktree.processes.groups import log_stirling
from tests.support.checks import assert_rejected
from tests.support.grouped import all_tables
from tests.support.statistics import assert_frequencies, assert_mean
from tests.support.trees import count_trees

GROUPS = [(0, 0, 1, 1), (0, 1, 0, 2), (1, 0, 0, 0)]
TREES = list(enumerate_trees(4, 2))


def law(gamma=0.7, depth=2, discount=0.25):
    return GroupedRestaurant(0.8, depth, group_concentration=gamma, discount=discount)


def probabilities(model, groups, trees=TREES):
    return np.exp([model.log_prob(tree, groups) for tree in trees])


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("gamma", [0.0, 0.7, [2.0, 0.1], math.inf])
@pytest.mark.parametrize("discount", [0.0, 0.25])
def test_probabilities_of_all_trees_sum_to_one(groups, gamma, discount):
    model = law(gamma, discount=discount)
    assert probabilities(model, groups).sum() == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize("groups", GROUPS)
def test_tables_that_are_given_sum_to_tables_that_are_summed_out(groups):
    for tree in TREES[::7]:
        total = sum(math.exp(law().log_prob(tree, groups, m)) for m in all_tables(tree, groups))
        assert total == pytest.approx(math.exp(law().log_prob(tree, groups)), rel=1e-12)


@pytest.mark.parametrize("groups", GROUPS)
def test_data_of_a_group_are_exchangeable(groups):
    model = law()
    for order in itertools.permutations(range(4)):
        if any(groups[i] != groups[k] for k, i in enumerate(order)):
            continue
        for tree in TREES[::3]:
            again = Tree(tree.parent, tree.leaf[list(order)])
            assert model.log_prob(again, groups) == pytest.approx(
                model.log_prob(tree, groups), abs=1e-12
            )


@pytest.mark.parametrize("groups", GROUPS)
def test_names_of_groups_do_not_matter(groups):
    renamed = [5 - j for j in groups]
    np.testing.assert_allclose(
        probabilities(law(), groups), probabilities(law(), renamed), rtol=1e-12
    )


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("gone", range(4))
def test_leaving_a_datum_out_leaves_the_law_of_the_others(groups, gone):
    model, rest = law(), [j for i, j in enumerate(groups) if i != gone]
    smaller = dict.fromkeys(enumerate_trees(3, 2), 0.0)
    for tree, probability in zip(TREES, probabilities(model, groups), strict=True):
        left = Tree(tree.parent, np.delete(tree.leaf, gone)).pruned().canonical()
        smaller[left] += probability
    for tree, probability in smaller.items():
        assert probability == pytest.approx(math.exp(model.log_prob(tree, rest)), rel=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 4.0, math.inf])
def test_groups_of_one_datum_are_none(gamma):
    plain = NestedRestaurant(0.8, 2, discount=0.25)
    expected = np.exp([plain.log_prob(tree) for tree in TREES])
    np.testing.assert_allclose(probabilities(law(gamma), range(4)), expected, rtol=1e-12)


def test_very_alike_groups_are_none():
    plain = NestedRestaurant(0.8, 2, discount=0.25)
    expected = np.exp([plain.log_prob(tree) for tree in TREES])
    for groups in GROUPS:
        np.testing.assert_allclose(probabilities(law(math.inf), groups), expected, rtol=1e-12)
        np.testing.assert_allclose(probabilities(law(1e9), groups), expected, rtol=1e-6)


def test_groups_without_anything_in_common_move_as_one_datum():
    groups = [0, 0, 1, 1]
    plain = NestedRestaurant(0.8, 2, discount=0.25)
    for tree, limit, near in zip(
        TREES, probabilities(law(0.0), groups), probabilities(law(1e-9), groups), strict=True
    ):
        together = (tree.leaf[0], tree.leaf[2]) == (tree.leaf[1], tree.leaf[3])
        expected = 0.0
        if together:
            expected = math.exp(plain.log_prob(Tree(tree.parent, tree.leaf[[0, 2]])))
        assert limit == pytest.approx(expected, rel=1e-12)
        assert near == pytest.approx(expected, abs=1e-7)


def test_nested_dirichlet_process_is_a_limit():
    """Groups choose a branch by one restaurant; data in a branch a leaf by one of its own."""
    model, groups = GroupedRestaurant.nested(1.5, 0.6), [0, 0, 1, 1]
    among, within = NestedRestaurant(1.5, 1), NestedRestaurant(0.6, 1)
    for tree, probability in zip(TREES, probabilities(model, groups), strict=True):
        branch, expected = tree.cut(1), 0.0
        if branch[0] == branch[1] and branch[2] == branch[3]:
            value = among.log_prob(Tree.from_paths([(1 + branch[0],), (1 + branch[2],)]))
            for k in set(branch.tolist()):
                leaves = tree.leaf[branch == k]
                value += within.log_prob(Tree.from_paths([(1 + leaf,) for leaf in leaves]))
            expected = math.exp(value)
        assert probability == pytest.approx(expected, rel=1e-12)


def restaurant(sizes, concentration, discount=0.0):
    """Return the probability of blocks of these sizes, datum by datum."""
    value, n = 1.0, 0
    for k, size in enumerate(sizes):
        value *= (concentration + discount * k) / (concentration + n) if n else 1.0
        n += 1
        for already in range(1, size):
            value *= (already - discount) / (concentration + n)
            n += 1
    return value


@pytest.mark.parametrize("groups", GROUPS)
def test_one_level_is_the_hierarchical_dirichlet_process(groups):
    """Sum over all ways to sit at tables, and over all dishes of tables."""
    alpha, gamma, d = 0.8, 0.7, 0.25
    model = GroupedRestaurant.hierarchical(alpha, gamma, discount=d)
    members = [[i for i in range(4) if groups[i] == j] for j in range(max(groups) + 1)]
    found = {}
    for seating in itertools.product(*(list(set_partitions(rows)) for rows in members)):
        sitting = math.prod(restaurant([len(t) for t in tables], gamma) for tables in seating)
        tables = [table for of_group in seating for table in of_group]
        for dishes in set_partitions(range(len(tables))):
            served = restaurant([len(dish) for dish in dishes], alpha, d)
            leaf = {i: k for k, dish in enumerate(dishes) for t in dish for i in tables[t]}
            tree = Tree.from_paths([(1 + leaf[i],) for i in range(4)]).canonical()
            found[tree] = found.get(tree, 0.0) + sitting * served
    trees = list(enumerate_trees(4, 1))
    expected = [found[tree] for tree in trees]
    np.testing.assert_allclose(probabilities(model, groups, trees), expected, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.7, math.inf])
def test_samples_have_their_probabilities(gamma):
    rng, groups, model = np.random.default_rng(1), [0, 0, 1, 1], law(gamma)
    samples = [model.sample(groups, rng).tree for _ in range(1200)]
    counts, others = count_trees(samples, TREES)
    assert others == 0
    assert_frequencies(counts, probabilities(model, groups))


def test_samples_have_tables_by_their_probabilities():
    rng, groups, model = np.random.default_rng(2), [0, 0, 0, 1], law(discount=0.0, depth=1)
    cells = [
        (tree, tables.tobytes(), math.exp(model.log_prob(tree, groups, tables)))
        for tree in enumerate_trees(4, 1)
        for tables in all_tables(tree, groups)
    ]
    place = {(tree, tables): k for k, (tree, tables, _) in enumerate(cells)}
    counts = np.zeros(len(cells))
    for _ in range(1200):
        seated = model.sample(groups, rng)
        counts[place[seated.tree.canonical(), seated.tables.tobytes()]] += 1
    assert_frequencies(counts, [p for *_, p in cells])


@pytest.mark.parametrize("truncation", [0.5, 0.05])
def test_forward_sticks_are_the_franchise(truncation):
    rng, groups = np.random.default_rng(3), [0, 0, 1, 1]
    sticks = GroupedSticks(0.8, 2, group_concentration=0.7, discount=0.25)
    samples = [
        sticks.sample_paths(groups, rng, sticks.sample(2, rng, truncation)).tree for _ in range(600)
    ]
    counts, others = count_trees(samples, TREES)
    assert others == 0
    assert_frequencies(counts, probabilities(law(), groups))


def test_going_on_is_the_same_as_not_having_stopped():
    rng, groups, model = np.random.default_rng(4), [0, 1, 0, 1], law()
    samples = []
    for _ in range(1000):
        first = model.sample(groups[:2], rng)
        samples.append(model.sample(groups[2:], rng, start=first).tree)
    counts, _ = count_trees(samples, TREES)
    assert_frequencies(counts, probabilities(model, groups))


@pytest.mark.parametrize("group", [0, 1, None])
def test_next_datum_has_the_probabilities_by_which_sampling_goes_on(group):
    """Given a tree with its tables, the next datum goes where sampling goes on."""
    model = law()
    seated = model.sample([0, 0, 1, 0], np.random.default_rng(5))
    following = model.next_datum(seated, group)
    assert following.stop.sum() + following.new_branch.sum() == pytest.approx(1)
    own = 2 if group is None else group
    rng = np.random.default_rng(6)
    stops = [model.sample([own], rng, start=seated).tree.leaf[-1] for _ in range(1000)]
    counts = np.bincount(np.minimum(stops, seated.tree.n_nodes), minlength=seated.tree.n_nodes + 1)
    assert_frequencies(counts, [*following.stop, following.new_branch.sum()])


def test_sticks_given_tables_have_their_means():
    """θ_j(k) is affine in β: its mean is the probability that the next datum of j goes there."""
    model, rng = law(), np.random.default_rng(7)
    seated = model.sample([0, 0, 1, 0], rng)
    sticks = GroupedSticks(0.8, 2, group_concentration=0.7, discount=0.25)
    masses = [sticks.redraw(seated, rng).own for _ in range(1000)]
    expected = np.array([model.next_datum(seated, j).stop for j in range(2)])
    assert_mean(np.array(masses).reshape(1000, -1), expected.ravel())


def test_stirling_numbers_count_permutations_by_cycles():
    def cycles(permutation):
        seen, count = set(), 0
        for i in range(len(permutation)):
            count += i not in seen
            while i not in seen:
                seen.add(i)
                i = permutation[i]
        return count

    found = np.bincount([cycles(p) for p in itertools.permutations(range(5))], minlength=6)
    np.testing.assert_allclose(np.exp(log_stirling(5)), found, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: law(-1.0), ("group_concentration", "-1", "at least 0")),
        (lambda: law([1.0, 1.0, 1.0]), ("group_concentration", "2 levels")),
        (lambda: law("many"), ("group_concentration", "many")),
        (lambda: law().log_prob(TREES[0], [0, 1]), ("group", "2 entries", "(4)")),
        (lambda: law().sample([0.5], np.random.default_rng()), ("group", "integers")),
        (lambda: law().sample([-1], np.random.default_rng()), ("group", "at least 0")),
    ],
)
def test_bad_parameters_are_named(make, words):
    assert_rejected(make, *words)
