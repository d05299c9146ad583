import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from sticktree import Tree
from sticktree.processes import (
    LogDivergence,
    MassTree,
    NestedRestaurant,
    RecursiveSticks,
    enumerate_trees,
)
from tests.support.checks import assert_mass_balance, assert_rejected
from tests.support.statistics import assert_frequencies, assert_law, assert_mean, assert_same_law
from tests.support.trees import count_trees

NAN, INF = math.nan, math.inf
FINE, COARSE = 1e-4, 0.3

LAWS = {
    "dirichlet": RecursiveSticks([0.7, 2.0, 1.0]),
    "pitman-yor": RecursiveSticks([0.7, 2.0, 1.0], discount=0.4),
    "log divergence": RecursiveSticks(LogDivergence(1.5), depth=4),
}


@pytest.mark.parametrize("truncation", [0.9, COARSE, 1e-3])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_no_mass_is_lost(law, truncation):
    rng = np.random.default_rng(1)
    for _ in range(3):
        sticks = law.sample(rng, truncation)
        assert_mass_balance(sticks)
        assert sticks.tree.n_data == 0
        paths = law.sample_paths(20, rng, sticks)
        assert_mass_balance(paths)
        more = law.sample_paths(20, rng, paths)
        assert_mass_balance(more)
        assert_mass_balance(law.redraw(more, rng))
        assert_mass_balance(law.redraw(more.tree, rng, order="sticks"))
        assert_mass_balance(law.redraw(more.tree.pruned(), rng, order="tables"))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_only_the_last_level_owns_mass(law):
    rng = np.random.default_rng(2)
    sticks = law.sample_paths(50, rng, law.sample(rng, 0.05))
    for result in (sticks, law.redraw(sticks.tree.pruned(), rng)):
        last = result.tree.level == law.depth
        np.testing.assert_array_equal(result.own[last], result.mass[last])
        assert not result.own[~last].any()
        assert not result.unbroken[last].any()
        assert (result.tree.level[result.tree.leaf] == law.depth).all()


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_each_stick_is_a_beta_fraction_of_what_is_left(discount):
    # First and second child of the root, and of its first child: levels have their own α.
    alpha = [0.7, 2.0]
    law = RecursiveSticks(alpha, discount=discount)
    rng = np.random.default_rng(3)
    found = {(0, 1): [], (0, 2): [], (1, 1): [], (1, 2): []}
    for _ in range(1500):
        sticks = law.sample(rng, 0.05)
        for level, w in ((0, 0), (1, 1)):
            left = sticks.mass[w]
            for k, child in enumerate(sticks.tree.children(w)[:2], start=1):
                found[level, k].append(sticks.mass[child] / left)
                left -= sticks.mass[child]
    for (level, k), fractions in found.items():
        assert len(fractions) > 500
        assert_law(fractions, stats.beta(1 - discount, alpha[level] + k * discount))


CASES = [
    # Fine sticks with a discount are many and slow to break, so fewer of them.
    (0.0, FINE, 1500),
    (0.0, COARSE, 2500),
    (0.4, FINE, 300),
    (0.4, COARSE, 2500),
]


@pytest.mark.parametrize(("discount", "truncation", "n_samples"), CASES)
@pytest.mark.parametrize(("n", "depth"), [(3, 3), (4, 2)])
def test_sticks_integrated_out_are_the_nested_restaurant(n, depth, discount, truncation, n_samples):
    # Trees with numbered data: their frequencies match only if the data are exchangeable.
    rng = np.random.default_rng(4)
    parameters = (lambda level: 1.0 + level, depth)
    law = RecursiveSticks(*parameters, discount=discount)
    restaurant = NestedRestaurant(*parameters, discount=discount)
    trees = list(enumerate_trees(n, depth))
    samples = (
        law.sample_paths(n, rng, law.sample(rng, truncation)).tree.pruned()
        for _ in range(n_samples)
    )
    counts, others = count_trees(samples, trees)
    assert others == 0
    assert_frequencies(counts, [math.exp(restaurant.log_prob(tree)) for tree in trees])


def test_first_and_last_datum_choose_alike():
    law = LAWS["pitman-yor"]
    rng = np.random.default_rng(5)
    first, last = [], []
    for _ in range(600):
        paths = law.sample_paths(10, rng, law.sample(rng, COARSE))
        first.append(paths.mass[paths.tree.leaf[0]])
        paths = law.sample_paths(10, rng, law.sample(rng, COARSE))
        last.append(paths.mass[paths.tree.leaf[-1]])
    assert_same_law(first, last)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("truncation", [0.02, COARSE])
def test_data_fall_on_pieces_in_proportion_to_their_masses(law, truncation):
    rng = np.random.default_rng(6)
    sticks = law.sample(rng, truncation)
    n_old = sticks.tree.n_nodes
    tree = law.sample_paths(20_000, rng, sticks).tree
    # A datum below a new piece fell on what was left of the nearest stick that was there before.
    landed, waiting = np.zeros(n_old, dtype=int), np.zeros(n_old, dtype=int)
    for w, count in enumerate(tree.own_count):
        node = w
        while node >= n_old:
            node = tree.parent[node]
        (landed if node == w else waiting)[node] += count
    assert_frequencies(
        np.concatenate([landed, waiting]), np.concatenate([sticks.own, sticks.unbroken])
    )


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_pieces_broken_off_for_data_have_the_law_of_sticks(discount):
    # A stick that is not broken at all: the first piece that data choose is size-biased, which is
    # what the first stick is; and all pieces that two data choose hold what two more data see.
    alpha = 1.5
    law = RecursiveSticks(alpha, depth=1, discount=discount)
    whole = MassTree(Tree([-1]), np.ones(1), np.zeros(1), np.ones(1))
    rng = np.random.default_rng(7)
    first, again = [], []
    for _ in range(2000):
        sticks = law.sample_paths(1, rng, whole)
        first.append(sticks.mass[1])
        later = law.sample_paths(1, rng, sticks).tree.leaf
        again.append(later[0] == later[1])
    assert_law(first, stats.beta(1 - discount, alpha + discount))
    assert_mean(again, (1 - discount) / (1 + alpha))


@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_what_is_left_after_some_pieces_has_a_larger_concentration(discount):
    # After K pieces it is a stick with concentration α + K d.
    alpha, n_pieces = 0.5, 6
    law = RecursiveSticks(alpha, depth=1, discount=discount)
    own = np.array([0.0, *[0.01] * n_pieces])
    sticks = MassTree(
        Tree([-1] + [0] * n_pieces), np.array([1.0, *own[1:]]), own, np.array([0.94] + [0.0] * 6)
    )
    rng = np.random.default_rng(20)
    together, first = [], []
    for _ in range(3000):
        paths = law.sample_paths(2, rng, sticks)
        leaf = paths.tree.leaf
        if leaf.min() > n_pieces:
            together.append(leaf[0] == leaf[1])
            first.append(paths.mass[leaf[0]] / 0.94)
    left = alpha + n_pieces * discount
    assert_mean(together, (1 - discount) / (1 + left))
    assert_law(first, stats.beta(1 - discount, left + discount))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_continuing_keeps_nodes_masses_and_data(law):
    rng = np.random.default_rng(8)
    before = law.sample_paths(30, rng, law.sample(rng, COARSE))
    after = law.sample_paths(70, rng, before)
    n_old = before.tree.n_nodes
    assert after.tree.n_data == 100
    assert after.tree.n_nodes > n_old
    np.testing.assert_array_equal(after.tree.leaf[:30], before.tree.leaf)
    np.testing.assert_array_equal(after.tree.parent[:n_old], before.tree.parent)
    np.testing.assert_array_equal(after.tree.level[:n_old], before.tree.level)
    np.testing.assert_array_equal(after.mass[:n_old], before.mass)
    np.testing.assert_array_equal(after.own[:n_old], before.own)
    assert (after.unbroken[:n_old] <= before.unbroken).all()


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_two_data_and_then_two_more_have_the_law_of_four(discount):
    rng = np.random.default_rng(9)
    law = RecursiveSticks([1.0, 0.7], discount=discount)
    restaurant = NestedRestaurant([1.0, 0.7], discount=discount)
    trees = list(enumerate_trees(4, 2))

    def sample():
        first = law.sample_paths(2, rng, law.sample(rng, COARSE))
        return law.sample_paths(2, rng, first).tree.pruned()

    counts, others = count_trees((sample() for _ in range(2000)), trees)
    assert others == 0
    assert_frequencies(counts, [math.exp(restaurant.log_prob(tree)) for tree in trees])


def test_sticks_are_drawn_when_none_are_given():
    paths = LAWS["dirichlet"].sample_paths(10, np.random.default_rng(10))
    assert paths.tree.n_data == 10


def test_no_data_leave_the_sticks_alone():
    rng = np.random.default_rng(11)
    law = LAWS["dirichlet"]
    sticks = law.sample(rng, 0.1)
    same = law.sample_paths(0, rng, sticks)
    np.testing.assert_array_equal(same.mass, sticks.mass)
    assert same.tree == sticks.tree


def test_same_seed_same_sticks():
    law = LAWS["pitman-yor"]
    first, second = (law.sample_paths(20, np.random.default_rng(12)) for _ in range(2))
    np.testing.assert_array_equal(first.mass, second.mass)
    np.testing.assert_array_equal(first.tree.leaf, second.tree.leaf)


# ---- sticks redrawn given data -------------------------------------------------------------------

PATHS = [(1, 1), (1, 1), (1, 2), (2, 1), (2, 1), (2, 1), (3, 1)]
ALPHA = [0.7, 2.0]


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_redrawn_tables_predict_the_next_datum_on_average(discount):
    law = RecursiveSticks(ALPHA, discount=discount)
    tree = Tree.from_paths(PATHS)
    chances = NestedRestaurant(ALPHA, discount=discount).next_datum(tree)
    rng = np.random.default_rng(13)
    draws = [law.redraw(tree, rng) for _ in range(4000)]
    assert_mean([draw.mass for draw in draws], chances.reach)
    assert_mean([draw.own for draw in draws], chances.stop)
    assert_mean([draw.unbroken for draw in draws], chances.new_branch)
    sizes = tree.count[tree.children(0)]
    shares = [draw.mass[tree.children(0)] for draw in draws]
    assert_mean(shares, (sizes - discount) / (len(PATHS) + ALPHA[0]))


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_redrawn_tables_have_dirichlet_shares(discount):
    law = RecursiveSticks(ALPHA, discount=discount)
    tree = Tree.from_paths(PATHS)
    rng = np.random.default_rng(14)
    draws = [law.redraw(tree, rng, order="tables") for _ in range(2000)]
    for w in np.flatnonzero(tree.level < 2):
        children = tree.children(w)
        weights = [*(tree.count[children] - discount)]
        weights.append(ALPHA[tree.level[w]] + discount * len(children))
        for k, weight in enumerate(weights):
            parts = [
                (draw.mass[children[k]] if k < len(children) else draw.unbroken[w]) / draw.mass[w]
                for draw in draws
            ]
            assert_law(parts, stats.beta(weight, sum(weights) - weight))


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_redrawn_sticks_have_their_posterior_law(discount):
    # Here sticks without data count: the second child of the root, and one below the first.
    law = RecursiveSticks(ALPHA, discount=discount)
    tree = Tree([-1, 0, 0, 0, 1, 1, 3], leaf=[4, 4, 4, 6, 6])
    rng = np.random.default_rng(15)
    draws = [law.redraw(tree, rng, order="sticks") for _ in range(2000)]
    for w in (0, 1, 3):
        left = np.array([draw.mass[w] for draw in draws])
        later = int(tree.count[w])
        for k, child in enumerate(tree.children(w), start=1):
            n = int(tree.count[child])
            later -= n
            piece = np.array([draw.mass[child] for draw in draws])
            beyond = ALPHA[tree.level[w]] + k * discount + later
            assert_law(piece / left, stats.beta(1 - discount + n, beyond))
            left = left - piece


@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_redrawn_pieces_behind_sticks_have_dirichlet_shares_of_the_rest(discount):
    # Three sticks, the second without data, and two pieces that data chose from what was left.
    alpha, sizes = 0.5, np.array([2, 0, 1, 3, 1])
    law = RecursiveSticks(alpha, depth=1, discount=discount)
    tree = Tree([-1] + [0] * 5, leaf=np.repeat(np.arange(1, 6), sizes))
    own = np.array([0.0, *[0.1] * 5])
    unbroken = np.array([0.5, *[0.0] * 5])
    n_sticks = np.array([3, 0, 0, 0, 0, 0], dtype=np.int32)
    paths = MassTree(tree, np.array([1.0, *own[1:]]), own, unbroken, n_sticks)
    rng = np.random.default_rng(23)
    mass = np.array([law.redraw(paths, rng).mass for _ in range(2000)])
    left = np.ones(2000)
    for k in (1, 2, 3):
        beyond = alpha + k * discount + sizes[k:].sum()
        assert_law(mass[:, k] / left, stats.beta(1 - discount + sizes[k - 1], beyond))
        left = left - mass[:, k]
    weights = np.array([3 - discount, 1 - discount, alpha + 5 * discount])
    for k, weight in ((4, weights[0]), (5, weights[1])):
        assert_law(mass[:, k] / left, stats.beta(weight, weights.sum() - weight))


@pytest.mark.parametrize("truncation", [0.1, COARSE, 0.95])
@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_sticks_redrawn_given_paths_have_their_prior_law(discount, truncation):
    # Sticks, data given sticks, sticks given data: the first and the last have one law.
    alpha = 1.5
    law = RecursiveSticks(alpha, depth=1, discount=discount)
    rng = np.random.default_rng(16)
    first, same = [], []
    for _ in range(700):
        paths = law.sample_paths(5, rng, law.sample(rng, truncation))
        redrawn = law.redraw(paths, rng)
        first.append(redrawn.mass[1])
        # Two further data are together with the squares of the pieces, or on what is unbroken:
        # that is a stick of its own, with concentration α + K d.
        n_pieces = redrawn.tree.n_nodes - 1
        on_rest = (1 - discount) / (1 + alpha + n_pieces * discount)
        same.append((redrawn.mass[1:] ** 2).sum() + redrawn.unbroken[0] ** 2 * on_rest)
    assert_law(first, stats.beta(1 - discount, alpha + discount))
    assert_mean(same, (1 - discount) / (1 + alpha))


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_data_before_and_after_redrawing_have_one_law(discount):
    # Sticks given two data, then two more data: together they are four data of the restaurant.
    # Coarse sticks, so that the first data have broken off pieces of their own.
    rng = np.random.default_rng(21)
    law = RecursiveSticks([1.0, 0.7], discount=discount)
    restaurant = NestedRestaurant([1.0, 0.7], discount=discount)
    trees = list(enumerate_trees(4, 2))

    def sample():
        before = law.sample_paths(2, rng, law.sample(rng, 0.8))
        return law.sample_paths(2, rng, law.redraw(before, rng)).tree.pruned()

    counts, others = count_trees((sample() for _ in range(1800)), trees)
    assert others == 0
    assert_frequencies(counts, [math.exp(restaurant.log_prob(tree)) for tree in trees])


def test_sticks_are_told_from_pieces_that_data_chose():
    law = LAWS["pitman-yor"]
    rng = np.random.default_rng(22)
    sticks = law.sample(rng, COARSE)
    np.testing.assert_array_equal(sticks.n_sticks, sticks.tree.n_children)
    paths = law.sample_paths(20, rng, sticks)
    n_old = sticks.tree.n_nodes
    np.testing.assert_array_equal(paths.n_sticks[:n_old], sticks.n_sticks)
    assert not paths.n_sticks[n_old:].any()
    again = law.redraw(paths, rng)
    np.testing.assert_array_equal(again.n_sticks, paths.n_sticks)
    tables = law.redraw(paths.tree.pruned(), rng, order="tables")
    assert not tables.n_sticks.any()
    all_sticks = law.redraw(paths.tree, rng, order="sticks")
    np.testing.assert_array_equal(all_sticks.n_sticks, paths.tree.n_children)


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_one_more_datum_on_redrawn_tables_goes_where_the_restaurant_sends_it(discount):
    law = RecursiveSticks(ALPHA, discount=discount)
    restaurant = NestedRestaurant(ALPHA, discount=discount)
    rng = np.random.default_rng(17)
    tree = restaurant.sample(8, rng)
    chances = restaurant.next_datum(tree)
    found = Counter()
    for _ in range(3500):
        later = law.sample_paths(1, rng, law.redraw(tree, rng)).tree
        leaf = node = int(later.leaf[-1])
        while node >= tree.n_nodes:
            node = int(later.parent[node])
        found[node == leaf, node] += 1
    nodes = range(tree.n_nodes)
    counts = [found[True, w] for w in nodes] + [found[False, w] for w in nodes]
    assert_frequencies(counts, np.concatenate([chances.stop, chances.new_branch]))


@pytest.mark.parametrize("order", ["tables", "sticks"])
def test_redrawing_keeps_the_tree(order):
    tree = Tree.from_paths(PATHS)
    sticks = RecursiveSticks(ALPHA).redraw(tree, np.random.default_rng(18), order=order)
    np.testing.assert_array_equal(sticks.tree.parent, tree.parent)
    np.testing.assert_array_equal(sticks.tree.leaf, tree.leaf)


@pytest.mark.parametrize("order", ["tables", "sticks"])
def test_without_data_there_is_one_unbroken_stick(order):
    sticks = RecursiveSticks(ALPHA).redraw(Tree([-1]), np.random.default_rng(19), order=order)
    assert sticks.mass.tolist() == sticks.unbroken.tolist() == [1.0]


# ---- bad input -----------------------------------------------------------------------------------

TWO = RecursiveSticks(1.0, depth=2)


def redraw(tree, order="tables"):
    return TWO.redraw(tree, np.random.default_rng(0), order)


def send(sticks=None, n=5):
    return TWO.sample_paths(n, np.random.default_rng(0), sticks)


@pytest.mark.parametrize("order", ["tables", "sticks"])
@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (Tree([-1, 0], leaf=[1], level=[0, 2]), ("tree", "node 1 skips levels", "tree.expanded()")),
        (Tree.from_paths([(1, 1, 1)]), ("tree", "3", "2")),
        (Tree.from_paths([(1,), (2,)]), ("tree", "datum 0", "level 1")),
        (Tree.from_paths([(1, 1), (2,)]), ("tree", "datum 1", "level 1")),
    ],
)
def test_trees_that_do_not_fit_are_named(tree, order, words):
    assert_rejected(lambda: redraw(tree, order), *words)


def chain_of_sticks(depth):
    """All mass on one leaf at the given level."""
    own = np.zeros(depth + 1)
    own[-1] = 1.0
    return MassTree(Tree(range(-1, depth)), np.ones(depth + 1), own, np.zeros(depth + 1))


@pytest.mark.parametrize("depth", [1, 3])
def test_sticks_of_another_depth_are_named(depth):
    assert_rejected(lambda: send(chain_of_sticks(depth)), "sticks")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RecursiveSticks(1.0, 0), ("depth", "0", "at least 1")),
        (lambda: RecursiveSticks(1.0), ("depth", "None", "at least 1")),
        (lambda: RecursiveSticks(-1.0, 2), ("concentration", "-1", "greater than 0")),
        (lambda: RecursiveSticks([1.0, NAN]), ("concentration", "nan at level 1", "greater")),
        (lambda: RecursiveSticks([INF, 1.0]), ("concentration", "infinite at level 0", "last")),
        (lambda: RecursiveSticks(LogDivergence(), 1), ("depth", "got 1", "at least 2")),
        (lambda: RecursiveSticks(1.0, 2, discount=-0.1), ("discount", "-0.1", "[0, 1)")),
        (lambda: RecursiveSticks(1.0, 2, discount=1.0), ("discount", "1.0", "[0, 1)")),
        (lambda: RecursiveSticks(1.0, 2, discount=NAN), ("discount", "nan", "[0, 1)")),
        (lambda: TWO.sample(None), ("rng", "None", "numpy.random.Generator")),
        (lambda: TWO.sample(np.random.default_rng(0), 0), ("truncation", "0", "between 0 and 1")),
        (lambda: TWO.sample(np.random.default_rng(0), 1), ("truncation", "1", "between 0 and 1")),
        (lambda: send(n=-1), ("n", "-1", "at least 0")),
        (lambda: send(n=0.5), ("n", "0.5", "integer")),
        (lambda: TWO.sample_paths(1, 7), ("rng", "7", "numpy.random.Generator")),
        (lambda: TWO.redraw(Tree([-1]), 7), ("rng", "7", "numpy.random.Generator")),
        (lambda: redraw(Tree([-1]), "size"), ("order", "'size'", '"tables" or "sticks"')),
        (
            lambda: redraw(Tree([-1, 0, 1, 0], leaf=[2])),
            ("tree", "node 3 has no data", "tree.pruned()"),
        ),
    ],
)
def test_bad_parameters_are_named(call, words):
    assert_rejected(call, *words)
