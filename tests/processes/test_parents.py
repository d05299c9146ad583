"""The law of groups with parents, against sums over all trees, tables and ways of tables."""

import itertools
import math

import numpy as np
import pytest

from sticktree import Tree
from sticktree.processes import (
    GroupedRestaurant,
    NestedRestaurant,
    ParentedRestaurant,
    ParentedSticks,
    enumerate_trees,
)
from tests.support.checks import assert_rejected
from tests.support.parents import all_seatings
from tests.support.statistics import assert_frequencies, assert_mean
from tests.support.trees import count_trees

TREES = list(enumerate_trees(4, 2))
FORESTS = {
    "conditions": ([-1, -1, 0, 0, 1], (2, 3, 4, 2)),
    "days": ([-1, 0, 1], (0, 1, 1, 2)),
    "grandchildren": ([1, -1, 0, 1], (2, 2, 3, 1)),
}
SETTING = {"group_concentration": 0.7, "discount": 0.25, "kinship": 0.6}


def law(forest, depth=2, **changed):
    return ParentedRestaurant(0.8, depth, parents=FORESTS[forest][0], **SETTING | changed)


def probabilities(model, groups, trees=TREES):
    return np.exp([model.log_prob(tree, groups) for tree in trees])


@pytest.fixture(scope="module")
def exact():
    return {name: probabilities(law(name), groups) for name, (_, groups) in FORESTS.items()}


@pytest.mark.parametrize("forest", FORESTS)
def test_probabilities_of_all_trees_sum_to_one(forest, exact):
    assert exact[forest].sum() == pytest.approx(1, abs=1e-12)
    for changed in ({"kinship": 1.0}, {"discount": 0.0, "group_concentration": [2.0, 0.1]}):
        model = law(forest, **changed)
        assert probabilities(model, FORESTS[forest][1]).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("forest", FORESTS)
def test_tables_that_are_given_sum_to_tables_that_are_summed_out(forest):
    model, groups = law(forest, depth=1), FORESTS[forest][1]
    for tree in list(enumerate_trees(4, 1))[::4]:
        seatings = all_seatings(tree, groups, model.parents)
        total = sum(math.exp(model.log_prob(tree, groups, *seating)) for seating in seatings)
        assert total == pytest.approx(math.exp(model.log_prob(tree, groups)), rel=1e-11)


@pytest.mark.parametrize("forest", FORESTS)
def test_data_of_a_group_are_exchangeable(forest, exact):
    groups, model = FORESTS[forest][1], law(forest)
    place = {tree: k for k, tree in enumerate(TREES)}
    for order in itertools.permutations(range(4)):
        if any(groups[i] != groups[k] for k, i in enumerate(order)):
            continue
        for k, tree in enumerate(TREES):
            again = Tree(tree.parent, tree.leaf[list(order)]).canonical()
            assert exact[forest][place[again]] == pytest.approx(exact[forest][k], rel=1e-11)
    shuffled = [groups[i] for i in (2, 0, 3, 1)]
    for k in range(0, len(TREES), 9):
        again = Tree(TREES[k].parent, TREES[k].leaf[[2, 0, 3, 1]])
        assert model.log_prob(again, shuffled) == pytest.approx(math.log(exact[forest][k]))


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("gone", [0, 2, 3])
def test_leaving_a_datum_out_leaves_the_law_of_the_others(forest, gone, exact):
    groups, model = FORESTS[forest][1], law(forest)
    rest = [j for i, j in enumerate(groups) if i != gone]
    smaller = dict.fromkeys(enumerate_trees(3, 2), 0.0)
    for tree, probability in zip(TREES, exact[forest], strict=True):
        left = Tree(tree.parent, np.delete(tree.leaf, gone)).pruned().canonical()
        smaller[left] += probability
    for tree, probability in smaller.items():
        assert probability == pytest.approx(math.exp(model.log_prob(tree, rest)), rel=1e-11)


@pytest.mark.parametrize("forest", FORESTS)
def test_without_kinship_parents_do_not_matter(forest, exact):
    groups = FORESTS[forest][1]
    plain = GroupedRestaurant(0.8, 2, group_concentration=0.7, discount=0.25)
    expected = probabilities(plain, groups)
    np.testing.assert_allclose(probabilities(law(forest, kinship=0.0), groups), expected, rtol=1e-9)
    assert np.abs(exact[forest] - expected).max() > 1e-3


def test_singletons_of_orphans_are_none_and_those_of_siblings_are_not():
    plain = NestedRestaurant(0.8, 2, discount=0.25)
    expected = np.exp([plain.log_prob(tree) for tree in TREES])
    orphans = ParentedRestaurant(0.8, 2, parents=[-1] * 4, **SETTING)
    np.testing.assert_allclose(probabilities(orphans, range(4)), expected, rtol=1e-11)
    only = ParentedRestaurant(0.8, 2, parents=[-1, 0, 0, 0, 0], **SETTING)
    assert np.abs(probabilities(only, range(1, 5)) - expected).max() > 1e-2


def test_one_datum_a_sibling_with_full_kinship_is_one_group():
    """Tables of groups with one datum each are data of their parent."""
    groups = GroupedRestaurant(0.8, 2, group_concentration=0.7, discount=0.25)
    siblings = ParentedRestaurant(0.8, 2, parents=[-1, 0, 0, 0, 0], **SETTING | {"kinship": 1.0})
    np.testing.assert_allclose(
        probabilities(siblings, range(1, 5)), probabilities(groups, [0] * 4), rtol=1e-11
    )


@pytest.mark.parametrize("forest", FORESTS)
def test_samples_and_continued_samples_have_their_probabilities(forest, exact):
    rng, groups, model = np.random.default_rng(1), FORESTS[forest][1], law(forest)
    samples = []
    for k in range(1000):
        start = model.sample(groups[:2], rng) if k % 2 else None
        samples.append(model.sample(groups[2 if k % 2 else 0 :], rng, start).tree)
    counts, others = count_trees(samples, TREES)
    assert others == 0
    assert_frequencies(counts, exact[forest])


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("truncation", [0.5, 0.05])
def test_forward_sticks_are_the_franchise(forest, truncation, exact):
    rng, (parents, groups) = np.random.default_rng(3), FORESTS[forest]
    sticks = ParentedSticks(0.8, 2, parents=parents, **SETTING)
    samples = [
        sticks.sample_paths(groups, rng, sticks.sample(rng, truncation)).tree for _ in range(500)
    ]
    counts, others = count_trees(samples, TREES)
    assert others == 0
    assert_frequencies(counts, exact[forest])


@pytest.mark.parametrize("group", [0, 2, 3])
def test_next_datum_has_the_probabilities_by_which_sampling_goes_on(group):
    model = law("conditions")
    seated = model.sample([2, 2, 3, 4, 2], np.random.default_rng(5))
    following = model.next_datum(seated, group)
    assert following.stop.sum() + following.new_branch.sum() == pytest.approx(1)
    rng = np.random.default_rng(6)
    stops = [model.sample([group], rng, start=seated).tree.leaf[-1] for _ in range(1000)]
    counts = np.bincount(np.minimum(stops, seated.tree.n_nodes), minlength=seated.tree.n_nodes + 1)
    assert_frequencies(counts, [*following.stop, following.new_branch.sum()])


def test_new_groups_are_those_without_customers_with_a_parent_or_without():
    """A group that is known but has no data is as a new one."""
    parents = [-1, 0, 0, -1]
    model = ParentedRestaurant(0.8, 2, parents=parents, **SETTING)
    seated = model.sample([0, 1, 1, 0, 1], np.random.default_rng(8))
    for group, parent in ((2, 0), (3, None)):
        known, new = model.next_datum(seated, group), model.next_datum(seated, parent=parent)
        np.testing.assert_allclose(known.stop, new.stop, rtol=1e-12)
        np.testing.assert_allclose(known.new_branch, new.new_branch, rtol=1e-12)


@pytest.mark.parametrize("forest", FORESTS)
def test_sticks_given_tables_have_their_means_and_add_up(forest):
    parents, groups = FORESTS[forest]
    model, rng = law(forest), np.random.default_rng(7)
    seated = model.sample(groups * 2, rng)
    sticks = ParentedSticks(0.8, 2, parents=parents, **SETTING)
    drawn = [sticks.redraw(seated, rng) for _ in range(1000)]
    expected = np.array([model.next_datum(seated, j).stop for j in range(len(parents))])
    assert_mean(np.array([masses.own for masses in drawn]).reshape(1000, -1), expected.ravel())
    tree = seated.tree
    for masses in drawn[:5]:
        for w in np.flatnonzero(tree.level < 2):
            parts = masses.mass[:, tree.children(int(w))].sum(axis=1) + masses.unbroken[:, w]
            np.testing.assert_allclose(parts, masses.mass[:, w], atol=1e-12)


RNG = np.random.default_rng()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ParentedRestaurant(1.0, 2, parents=[1, 0]), ("parents", "circle")),
        (lambda: ParentedRestaurant(1.0, 2, parents=[2, -1]), ("parents", "below 2")),
        (lambda: ParentedRestaurant(1.0, 2, parents=[0.5]), ("parents", "number of the parent")),
        (lambda: law("days", kinship=1.5), ("kinship", "1.5", "from 0 to 1")),
        (lambda: law("days", group_concentration=0.0), ("group_concentration", "above 0")),
        (lambda: law("days").sample([3], RNG), ("group", "3", "below 3")),
        (lambda: law("days").log_prob(TREES[0], [0, 1]), ("group", "2 entries")),
        (lambda: law("days").next_datum(law("days").sample([0], RNG), 7), ("group", "7")),
        (
            lambda: law("days").next_datum(law("days").sample([0], RNG), 1, 0),
            ("parent", "known"),
        ),
    ],
)
def test_bad_parameters_are_named(make, words):
    assert_rejected(make, *words)
