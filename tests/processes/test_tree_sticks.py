import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from sticktree import Tree
from sticktree.processes import TreeStickBreaking
from tests.support.checks import assert_mass_balance, assert_rejected
from tests.support.statistics import (
    assert_frequencies,
    assert_law,
    assert_mean,
    assert_same_frequencies,
)
from tests.support.trees import count_trees

NAN, INF = math.nan, math.inf

ALPHA, DECAY, GAMMA = 1.5, 0.6, 0.8

LAWS = {
    "decaying": TreeStickBreaking(ALPHA, DECAY, GAMMA),
    "constant": TreeStickBreaking(0.7, 1.0, 2.5),
}

TREES = {
    "at the root": [()] * 4,
    "chain": [(), (1,), (1, 1), (1, 1, 1)],
    "siblings": [(1,), (1,), (2,), (3,)],
    "inner and outer": [(), (1,), (1, 1), (1, 1), (2, 1)],
    "far apart": [(1, 1, 1), (2, 1, 1), (2, 1, 2), (), ()],
}


def alpha_at(law, level):
    return law.alpha * law.decay**level


def shared(first, second):
    """How many leading steps two paths have in common."""
    pairs = zip(first, second, strict=False)
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))


def sequential_log_prob(law, paths):
    """Let the data come one by one and ask the law each time what comes next."""
    total = 0.0
    for n, path in enumerate(paths):
        so_far = Tree.from_paths(paths[:n])
        chances = law.next_datum(so_far)
        level, nearest = max(
            ((shared(path, p), i) for i, p in enumerate(paths[:n])), default=(0, 0)
        )
        w = so_far.path(so_far.leaf[nearest])[level] if n else 0
        if level == len(path):
            total += math.log(chances.stop[w])
            continue
        total += math.log(chances.new_branch[w])
        # In a new branch nobody was before: all children are new, and stopping is as at first.
        for new in range(level + 1, len(path)):
            total += math.log(alpha_at(law, new) / (1 + alpha_at(law, new)))
        total -= math.log(1 + alpha_at(law, len(path)))
    return total


def trees_of_two(deepest):
    """All trees on two data, none of them below level ``deepest``."""
    for first, second in itertools.product(range(deepest + 1), repeat=2):
        yield Tree.from_paths([(1,) * first, (1,) * second])
        for meet in range(min(first, second)):
            apart = (1,) * meet + (2,) + (1,) * (second - meet - 1)
            yield Tree.from_paths([(1,) * first, apart])


@pytest.mark.parametrize("paths", TREES.values(), ids=TREES)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_log_prob_is_the_sum_of_its_predictions_in_every_order(law, paths):
    expected = law.log_prob(Tree.from_paths(paths))
    for order in itertools.permutations(paths):
        assert sequential_log_prob(law, list(order)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_one_datum_stops_at_each_level_with_its_probability(law):
    going = 1.0
    for level in range(8):
        stop = 1 / (1 + alpha_at(law, level))
        tree = Tree.from_paths([(1,) * level])
        assert math.exp(law.log_prob(tree)) == pytest.approx(going * stop, rel=1e-12)
        going *= 1 - stop


def test_probabilities_of_all_trees_of_two_data_sum_to_one():
    # Deeper trees than these have probability below 1e-12 in total.
    law = TreeStickBreaking(1.0, 0.3, GAMMA)
    trees = list(trees_of_two(8))
    assert len(trees) == len(set(trees))
    total = math.fsum(math.exp(law.log_prob(tree)) for tree in trees)
    assert total == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_next_datum_goes_somewhere(law):
    rng = np.random.default_rng(1)
    for n in (0, 1, 10, 200):
        tree = law.sample(n, rng)
        chances = law.next_datum(tree)
        assert (chances.stop + chances.new_branch).sum() == pytest.approx(1, abs=1e-12)
        for w in range(tree.n_nodes):
            below = chances.reach[tree.children(w)].sum()
            ends = chances.stop[w] + chances.new_branch[w]
            assert chances.reach[w] == pytest.approx(ends + below, abs=1e-12)


def frequencies(law, samples):
    trees = list(trees_of_two(3))
    counts, deeper = count_trees(samples, trees)
    probabilities = [math.exp(law.log_prob(tree)) for tree in trees]
    assert_frequencies([*counts, deeper], [*probabilities, 1 - sum(probabilities)])


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_samples_have_their_exact_probabilities(law):
    rng = np.random.default_rng(2)
    samples = (law.sample(2, rng) for _ in range(3000))
    frequencies(law, samples)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_one_datum_and_then_another_have_the_law_of_two(law):
    rng = np.random.default_rng(3)
    samples = (law.sample(1, rng, tree=law.sample(1, rng)) for _ in range(2000))
    frequencies(law, samples)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_one_more_datum_goes_where_the_law_says(law):
    rng = np.random.default_rng(4)
    tree = Tree.from_paths([(), (1,), (1, 1), (1, 2), (1, 2), (2,), (2, 1, 1), (3,)])
    chances = law.next_datum(tree)
    found = Counter()
    for _ in range(3000):
        later = law.sample(1, rng, tree=tree)
        leaf = node = int(later.leaf[-1])
        while node >= tree.n_nodes:
            node = int(later.parent[node])
        found[node == leaf, node] += 1
    nodes = range(tree.n_nodes)
    counts = [found[True, w] for w in nodes] + [found[False, w] for w in nodes]
    assert_frequencies(counts, np.concatenate([chances.stop, chances.new_branch]))


def test_two_more_data_share_what_the_law_says():
    # Both new data see the same sticks: how often they end in one node tells their correlation.
    law = LAWS["decaying"]
    rng = np.random.default_rng(5)
    tree = Tree.from_paths([(), (1,), (1,), (2,)])
    before = law.log_prob(tree)
    paths = [(), (1,), (2,), (3,)]
    both = [Tree.from_paths([(), (1,), (1,), (2,), path, path]) for path in paths]
    expected = [math.exp(law.log_prob(later) - before) for later in both]
    counts = np.zeros(5, dtype=int)
    for _ in range(3000):
        later = law.sample(2, rng, tree=tree)
        counts[both.index(later) if later in both else 4] += 1
    assert_frequencies(counts, [*expected, 1 - sum(expected)])


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_continuing_keeps_nodes_and_data(law):
    rng = np.random.default_rng(6)
    tree = law.sample(30, rng)
    larger = law.sample(100, rng, tree=tree)
    assert larger.n_data == 130
    assert larger.n_nodes > tree.n_nodes
    np.testing.assert_array_equal(larger.leaf[:30], tree.leaf)
    np.testing.assert_array_equal(larger.parent[: tree.n_nodes], tree.parent)
    assert (larger.count > 0).all()
    assert law.sample(0, rng, tree=tree) == tree


def test_same_seed_same_tree():
    first, second = (LAWS["constant"].sample(50, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first.parent, second.parent)
    np.testing.assert_array_equal(first.leaf, second.leaf)


@pytest.mark.parametrize("truncation", [0.3, 1e-3])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_no_mass_is_lost(law, truncation):
    rng = np.random.default_rng(8)
    for _ in range(3):
        sticks = law.sample_masses(rng, truncation)
        assert_mass_balance(sticks)
        inner = sticks.tree.n_children > 0
        assert (sticks.own[inner] > 0).all()


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_nodes_keep_a_beta_fraction_and_children_break_off_the_rest(law):
    rng = np.random.default_rng(9)
    draws = [law.sample_masses(rng, 0.01) for _ in range(1000)]
    root = [sticks.own[0] for sticks in draws]
    assert_mean(root, 1 / (1 + law.alpha))
    assert_law(root, stats.beta(1, law.alpha))
    # Whether a node is broken at all depends on its mass, not on how it breaks.
    first = [s.mass[1] / (1 - s.own[0]) for s in draws if 1 - s.own[0] >= 0.01]
    assert_law(first, stats.beta(1, law.gamma))
    below = [s.own[1] / s.mass[1] for s in draws if s.tree.n_nodes > 1 and s.mass[1] >= 0.01]
    assert len(below) > 700
    assert_law(below, stats.beta(1, alpha_at(law, 1)))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_number_of_heavy_nodes_does_not_depend_on_truncation(law):
    rng = np.random.default_rng(10)

    def large(truncation):
        draws = (law.sample_masses(rng, truncation) for _ in range(600))
        return [int((sticks.mass >= 0.1).sum()) for sticks in draws]

    assert_same_frequencies(large(0.1), large(5e-3))


def test_data_stop_where_alpha_vanishes():
    law = TreeStickBreaking(1.0, 1e-200)
    tree = law.sample(200, np.random.default_rng(11))
    assert tree.depth == 1
    assert math.isfinite(law.log_prob(tree))
    chances = law.next_datum(tree)
    assert (chances.stop + chances.new_branch).sum() == pytest.approx(1, abs=1e-12)
    deeper = Tree.from_paths([(1, 1, 1)])
    assert math.isfinite(law.log_prob(deeper))


def draw(n=3, tree=None):
    return LAWS["decaying"].sample(n, np.random.default_rng(0), tree=tree)


@pytest.mark.parametrize(
    "use",
    [LAWS["decaying"].log_prob, LAWS["decaying"].next_datum, lambda tree: draw(tree=tree)],
    ids=["log_prob", "next_datum", "sample"],
)
@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (Tree([-1, 0], leaf=[1], level=[0, 2]), ("tree", "node 1 skips levels", "tree.expanded()")),
        (Tree([-1, 0], leaf=[0]), ("tree", "node 1 has no data", "tree.pruned()")),
        (Tree([-1, 0, 0], leaf=[2]), ("tree", "node 1 has no data", "tree.pruned()")),
    ],
)
def test_trees_that_do_not_fit_are_named(use, tree, words):
    assert_rejected(lambda: use(tree), *words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TreeStickBreaking(0.0), ("alpha", "0.0", "greater than 0")),
        (lambda: TreeStickBreaking(NAN), ("alpha", "nan", "greater than 0")),
        (lambda: TreeStickBreaking(INF), ("alpha", "inf", "finite")),
        (lambda: TreeStickBreaking(1.0, 0.0), ("decay", "0.0", "between 0 and 1, or 1")),
        (lambda: TreeStickBreaking(1.0, 1.5), ("decay", "1.5", "between 0 and 1, or 1")),
        (lambda: TreeStickBreaking(1.0, NAN), ("decay", "nan", "between 0 and 1, or 1")),
        (lambda: TreeStickBreaking(1.0, True), ("decay", "True", "between 0 and 1, or 1")),
        (lambda: TreeStickBreaking(1.0, gamma=-1.0), ("gamma", "-1.0", "greater than 0")),
        (lambda: TreeStickBreaking(1.0, gamma=INF), ("gamma", "inf", "finite")),
        (lambda: draw(-1), ("n", "-1", "at least 0")),
        (lambda: LAWS["decaying"].sample(1, None), ("rng", "None", "numpy.random.Generator")),
        (lambda: LAWS["decaying"].sample_masses(0), ("rng", "0", "numpy.random.Generator")),
        (
            lambda: LAWS["decaying"].sample_masses(np.random.default_rng(0), 0),
            ("truncation", "0", "strictly between 0 and 1"),
        ),
        (
            lambda: LAWS["decaying"].sample_masses(np.random.default_rng(0), 1),
            ("truncation", "1", "strictly between 0 and 1"),
        ),
    ],
)
def test_bad_parameters_are_named(call, words):
    assert_rejected(call, *words)
