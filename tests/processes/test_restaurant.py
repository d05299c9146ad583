import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from sticktree import Tree
from sticktree.processes import (
    LogDivergence,
    NestedRestaurant,
    enumerate_trees,
    resolve_concentration,
    seating,
)
from sticktree.processes.seating import Nodes, Parties, seat
from tests.support.checks import assert_rejected
from tests.support.statistics import assert_frequencies, assert_mean
from tests.support.trees import count_trees

NAN, INF = math.nan, math.inf


def naive_log_prob(tree, alpha, d):
    """The product over nodes of Π(α + k d) / (α + 1)_{n−1} · Π(1 − d)_{n_k−1}, as it is written."""
    total = 0.0
    for w in range(tree.n_nodes):
        level = int(tree.level[w])
        if level == len(alpha):
            continue
        a, n = alpha[level], int(tree.count[w])
        sizes = [int(tree.count[k]) for k in tree.children(w)]
        total += sum(math.log(a + k * d) for k in range(1, len(sizes)))
        total -= math.lgamma(a + n) - math.lgamma(a + 1)
        total += sum(math.lgamma(size - d) - math.lgamma(1 - d) for size in sizes)
    return total


def shared(first, second):
    """How many leading steps two paths have in common."""
    pairs = zip(first, second, strict=True)
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
        total += math.log(chances.stop[w] if level == len(path) else chances.new_branch[w])
    return total


LAWS = {
    "dirichlet": NestedRestaurant([0.5, 2.0, 1.3]),
    "pitman-yor": NestedRestaurant([0.5, 2.0, 1.3], discount=0.4),
    "log divergence": NestedRestaurant(LogDivergence(0.8), depth=4, discount=0.1),
}

TREES = {
    "all together": [(1, 1, 1)] * 4,
    "all apart": [(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1)],
    "pairs": [(1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 1, 1)],
    "chain": [(1, 1, 1), (1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)],
    "uneven": [(1, 1, 1), (1, 1, 2), (1, 1, 2), (1, 1, 3), (2, 1, 1)],
}


@pytest.mark.parametrize("paths", TREES.values(), ids=TREES)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_log_prob_is_the_sum_of_its_predictions_in_every_order(law, paths):
    expected = law.log_prob(Tree.from_paths(paths))
    for order in itertools.permutations(paths):
        assert sequential_log_prob(law, list(order)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_log_prob_is_the_product_over_nodes(law):
    rng = np.random.default_rng(1)
    alpha = law.concentration.alpha.tolist()
    for tree in [*enumerate_trees(3, 3), *(law.sample(50, rng) for _ in range(10))]:
        expected = naive_log_prob(tree, alpha, law.discount)
        assert law.log_prob(tree) == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_without_discount_log_prob_is_a_ratio_of_gamma_functions():
    law = NestedRestaurant([0.5, 2.0])
    tree = law.sample(30, np.random.default_rng(2))
    expected = 0.0
    for w in np.flatnonzero(tree.level < 2):
        a, n = [0.5, 2.0][tree.level[w]], int(tree.count[w])
        children = tree.children(w)
        expected += math.lgamma(a) + len(children) * math.log(a) - math.lgamma(n + a)
        expected += sum(math.lgamma(int(tree.count[k])) for k in children)
    assert law.log_prob(tree) == pytest.approx(expected, rel=1e-12)


def test_log_prob_does_not_depend_on_the_numbers_of_the_nodes():
    law = LAWS["pitman-yor"]
    tree = law.sample(40, np.random.default_rng(3))
    expected = law.log_prob(tree)
    assert law.log_prob(tree.canonical()) == pytest.approx(expected, rel=1e-13)
    backwards = Tree.from_paths([tuple(100 - step for step in path) for path in tree.paths()])
    assert law.log_prob(backwards) == pytest.approx(expected, rel=1e-13)
    shuffled = np.random.default_rng(4).permutation(tree.leaf)
    assert law.log_prob(Tree(tree.parent, shuffled)) == pytest.approx(expected, rel=1e-13)


def test_nodes_without_data_change_no_probability():
    law = LAWS["pitman-yor"]
    tree = law.sample(10, np.random.default_rng(5))
    parent = np.concatenate([tree.parent, [0, tree.n_nodes, tree.parent[tree.leaf[0]]]])
    larger = Tree(parent, tree.leaf)
    assert law.log_prob(larger) == pytest.approx(law.log_prob(tree), rel=1e-13)
    before, after = law.next_datum(tree), law.next_datum(larger)
    np.testing.assert_allclose(after.new_branch[: tree.n_nodes], before.new_branch, rtol=1e-13)
    np.testing.assert_allclose(after.reach[: tree.n_nodes], before.reach, rtol=1e-13)
    assert not after.reach[tree.n_nodes :].any()


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize(
    ("n", "depth", "concentration"),
    [
        (4, 1, 0.7),
        (4, 2, 0.7),
        (4, 3, 0.7),
        (4, 3, [0.2, 5.0, 1.0]),
        (5, 2, lambda level: 3.0 - level),
        (4, 4, LogDivergence(1.5)),
    ],
)
def test_probabilities_of_all_trees_sum_to_one(n, depth, concentration, discount):
    # A log divergence of 4 steps makes trees of 3 levels.
    law = NestedRestaurant(concentration, depth, discount=discount)
    total = math.fsum(math.exp(law.log_prob(tree)) for tree in enumerate_trees(n, law.depth))
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_next_datum_goes_somewhere(law):
    rng = np.random.default_rng(6)
    for n in (0, 1, 7, 200):
        tree = law.sample(n, rng)
        chances = law.next_datum(tree)
        assert (chances.stop + chances.new_branch).sum() == pytest.approx(1, abs=1e-12)
        for w in range(tree.n_nodes):
            below = chances.reach[tree.children(w)].sum()
            ends = chances.stop[w] + chances.new_branch[w]
            assert chances.reach[w] == pytest.approx(ends + below, abs=1e-12)
            assert (chances.stop[w] > 0) == (tree.level[w] == law.depth)


def test_next_datum_follows_the_rule_at_every_node():
    law, alpha, d = LAWS["pitman-yor"], [0.5, 2.0, 1.3], 0.4
    tree = law.sample(30, np.random.default_rng(7))
    chances = law.next_datum(tree)
    for w in np.flatnonzero(tree.level < 3):
        a, n = alpha[tree.level[w]], tree.count[w]
        for k in tree.children(w):
            share = (tree.count[k] - d) / (n + a)
            assert chances.reach[k] == pytest.approx(chances.reach[w] * share)
        new = (a + d * tree.n_children[w]) / (n + a)
        assert chances.new_branch[w] == pytest.approx(chances.reach[w] * new)


def test_path_log_prob_is_the_log_of_reach():
    law = LAWS["dirichlet"]
    tree = law.sample(10, np.random.default_rng(8))
    reach = law.next_datum(tree).reach
    for w in range(tree.n_nodes):
        assert law.path_log_prob(tree, w) == pytest.approx(math.log(reach[w]))
    with_empty = Tree([*tree.parent, 0], tree.leaf)
    assert law.path_log_prob(with_empty, tree.n_nodes) == -INF
    with pytest.raises(IndexError, match="node"):
        law.path_log_prob(tree, tree.n_nodes)


@pytest.mark.parametrize("discount", [0.0, 0.4])
@pytest.mark.parametrize(("n", "depth"), [(4, 2), (3, 3)])
def test_samples_have_their_exact_probabilities(n, depth, discount):
    rng = np.random.default_rng(9)
    law = NestedRestaurant(lambda level: 1.0 + level, depth, discount=discount)
    trees = list(enumerate_trees(n, depth))
    counts, others = count_trees((law.sample(n, rng) for _ in range(40_000)), trees)
    assert others == 0
    assert_frequencies(counts, [math.exp(law.log_prob(tree)) for tree in trees])


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_two_data_and_then_two_more_have_the_law_of_four(discount):
    rng = np.random.default_rng(10)
    law = NestedRestaurant([0.7, 1.5], discount=discount)
    trees = list(enumerate_trees(4, 2))
    samples = (law.sample(2, rng, tree=law.sample(2, rng)) for _ in range(10_000))
    counts, others = count_trees(samples, trees)
    assert others == 0
    assert_frequencies(counts, [math.exp(law.log_prob(tree)) for tree in trees])


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_continuing_keeps_nodes_and_data(law):
    rng = np.random.default_rng(11)
    tree = law.sample(25, rng)
    larger = law.sample(100, rng, tree=tree)
    assert larger.n_data == 125
    np.testing.assert_array_equal(larger.leaf[:25], tree.leaf)
    np.testing.assert_array_equal(larger.parent[: tree.n_nodes], tree.parent)
    np.testing.assert_array_equal(larger.level[: tree.n_nodes], tree.level)
    # What the kernel fills in without checks is what a checked tree would compute.
    Tree(larger.parent, larger.leaf, level=larger.level, count=larger.count)
    assert law.sample(0, rng, tree=tree) == tree


def test_no_data_make_a_root():
    assert LAWS["dirichlet"].sample(0, np.random.default_rng(12)).n_nodes == 1


def test_same_seed_same_tree():
    first, second = (LAWS["pitman-yor"].sample(100, np.random.default_rng(13)) for _ in range(2))
    np.testing.assert_array_equal(first.parent, second.parent)
    np.testing.assert_array_equal(first.leaf, second.leaf)


def integer_partitions(n, largest=None):
    largest = n if largest is None else largest
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in integer_partitions(n - first, first):
            yield (first, *rest)


def pitman_sampling_formula(sizes, alpha, d):
    """Probability that the blocks of a Chinese restaurant have these sizes; Ewens' if d = 0."""
    n = sum(sizes)
    rising = math.prod(alpha + i for i in range(n))
    opened = math.prod(alpha + k * d for k in range(len(sizes)))
    prob = math.factorial(n) * opened / rising
    for j, m in Counter(sizes).items():
        weight = math.prod(i - d for i in range(1, j)) / math.factorial(j)
        prob *= weight**m / math.factorial(m)
    return prob


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_one_level_is_the_chinese_restaurant(discount):
    n, alpha = 6, 1.3
    law = NestedRestaurant(alpha, depth=1, discount=discount)
    shapes = list(integer_partitions(n))
    exact = Counter()
    for tree in enumerate_trees(n, 1):
        exact[tuple(sorted(tree.count[1:].tolist(), reverse=True))] += math.exp(law.log_prob(tree))
    expected = [pitman_sampling_formula(shape, alpha, discount) for shape in shapes]
    np.testing.assert_allclose([exact[shape] for shape in shapes], expected, rtol=1e-11)
    rng = np.random.default_rng(14)
    found = Counter(
        tuple(sorted(law.sample(n, rng).count[1:].tolist(), reverse=True)) for _ in range(6000)
    )
    assert_frequencies([found[shape] for shape in shapes], expected)


def test_one_partition_has_ewens_probability():
    alpha, sizes = 1.3, (3, 2, 2, 1)
    tree = Tree.from_paths([(k,) for k, size in enumerate(sizes, start=1) for _ in range(size)])
    rising = math.prod(alpha + i for i in range(8))
    expected = alpha**4 * math.prod(math.factorial(size - 1) for size in sizes) / rising
    law = NestedRestaurant(alpha, depth=1)
    assert math.exp(law.log_prob(tree)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 10, 500])
def test_expected_number_of_tables_has_its_closed_forms(n):
    alpha, d = 1.7, 0.35
    without = NestedRestaurant(alpha, depth=1).expected_nodes(n)
    assert without[1] == pytest.approx(sum(alpha / (alpha + i) for i in range(n)), rel=1e-10)
    log_ratio = math.lgamma(alpha + d + n) - math.lgamma(alpha + d)  # (α + d)_n / (α)_n
    log_ratio -= math.lgamma(alpha + n) - math.lgamma(alpha)
    expected = alpha / d * math.expm1(log_ratio)
    with_discount = NestedRestaurant(alpha, depth=1, discount=d).expected_nodes(n)
    assert with_discount[1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_expected_nodes_is_the_mean_over_all_trees(law):
    trees = list(enumerate_trees(4, 3))
    weights = [math.exp(law.log_prob(tree)) for tree in trees]
    numbers = [np.bincount(tree.level, minlength=4) for tree in trees]
    expected = np.average(numbers, axis=0, weights=weights)
    np.testing.assert_allclose(law.expected_nodes(4), expected, rtol=1e-11)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_expected_nodes_is_the_mean_of_samples(law):
    rng = np.random.default_rng(15)
    numbers = [np.bincount(law.sample(60, rng).level, minlength=4) for _ in range(1500)]
    assert_mean(numbers, law.expected_nodes(60))


def naive_seating(n, uniform, alpha, d, paths):
    """The kernel's rule in plain Python: follow a guide, who is uniform among the data before."""
    paths = list(paths)
    for u_guide, u_follow in uniform[:n]:
        path = ()
        if paths:
            guide = paths[int(u_guide * len(paths))]
            follow = 1.0
            for level, a in enumerate(alpha):
                here = sum(p[:level] == guide[:level] for p in paths)
                there = sum(p[: level + 1] == guide[: level + 1] for p in paths)
                follow *= here / (here + a) * (1 - d / there)
                if u_follow >= follow:
                    break
                path = guide[: level + 1]
        while len(path) < len(alpha):
            siblings = {p[len(path)] for p in paths if p[: len(path)] == path}
            path = (*path, len(siblings) + 1)
        paths.append(path)
    return paths


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_kernel_seats_data_like_its_naive_twin(law):
    for seed in range(5):
        uniform = np.random.default_rng(seed).random((60, 2)).tolist()
        alpha = law.concentration.alpha.tolist()
        paths = naive_seating(60, uniform, alpha, law.discount, [])
        tree = law.sample(60, np.random.default_rng(seed))
        assert tree.paths() == paths
        more = np.random.default_rng(seed + 100).random((30, 2)).tolist()
        larger = law.sample(30, np.random.default_rng(seed + 100), tree=tree)
        assert larger.paths() == naive_seating(30, more, alpha, law.discount, paths)


DEEP = NestedRestaurant(0.003, depth=400)


def test_kernel_seats_data_like_its_naive_twin_in_a_deep_tree():
    uniform = np.random.default_rng(20).random((20, 2)).tolist()
    tree = DEEP.sample(20, np.random.default_rng(20))
    assert tree.paths() == naive_seating(20, uniform, DEEP.concentration.alpha.tolist(), 0.0, [])
    assert 1 < tree.leaves.size < 20
    # The product of the counts along a path is beyond the range of floating-point numbers.
    assert max(np.log10(tree.count[tree.path(leaf)]).sum() for leaf in tree.leaf) > 308


def seating_arguments(rng):
    """Three parties in one tree: at the root, at an inner node, and one that is partly seated."""
    parent = np.array([-1, 0, 0, 1, 2, 4], dtype=np.int32)
    level = np.array([0, 1, 1, 2, 2, 3], dtype=np.int32)
    count = np.array([0, 0, 4, 0, 4, 4], dtype=np.int32)
    leaf = np.full(90, -1, dtype=np.int32)
    leaf[60:64] = 5
    return {
        "nodes": Nodes(parent, level, count),
        "n_nodes": 6,
        "leaf": leaf,
        "parties": Parties(
            root=np.array([0, 3, 2], dtype=np.int32),
            start=np.array([0, 40, 60, 90], dtype=np.int32),
            seated=np.array([0, 40, 64], dtype=np.int32),
            extra=np.array([1.2, 0.0, 0.4]),
        ),
        "alpha": np.array([0.5, 1.0, 2.0]),
        "discount": 0.4,
        "uniform": rng.random((86, 2)),
    }


def test_kernel_gives_the_same_compiled_and_interpreted():
    interpreted = getattr(seat, "py_func", seat)  # without a compiler they are one
    compiled_arguments = seating_arguments(np.random.default_rng(16))
    plain_arguments = seating_arguments(np.random.default_rng(16))
    nodes, n_nodes = seat(**compiled_arguments)
    plain_nodes, n_plain = interpreted(**plain_arguments)
    assert n_nodes == n_plain
    for compiled, plain in zip(nodes, plain_nodes, strict=True):
        np.testing.assert_array_equal(compiled[:n_nodes], plain[:n_nodes])
    np.testing.assert_array_equal(compiled_arguments["leaf"], plain_arguments["leaf"])


def test_kernel_seats_every_party_below_its_own_root():
    arguments = seating_arguments(np.random.default_rng(17))
    nodes, n_nodes = seat(**arguments)
    tree = Tree(nodes.parent[:n_nodes], arguments["leaf"], level=nodes.level[:n_nodes])
    assert (tree.level[tree.leaf] == 3).all()
    for root, start, end in ((0, 0, 40), (3, 40, 60), (2, 60, 90)):
        for i in range(start, end):
            assert root in tree.path(tree.leaf[i])
        if root:
            assert nodes.n[root] == end - start
    assert (arguments["leaf"][60:64] == 5).all()


@pytest.mark.parametrize("law", [LAWS["pitman-yor"], DEEP], ids=["pitman-yor", "deep"])
def test_interpreted_kernel_draws_the_trees_of_the_compiled_one(law, monkeypatch):
    # The whole kernel in the interpreter, helpers too: sees into code that the compiler hides.
    compiled = law.sample(50, np.random.default_rng(19))
    for name, kernel in vars(seating).copy().items():
        if hasattr(kernel, "py_func"):
            monkeypatch.setattr(seating, name, kernel.py_func)
    plain = law.sample(50, np.random.default_rng(19))
    np.testing.assert_array_equal(plain.parent, compiled.parent)
    np.testing.assert_array_equal(plain.leaf, compiled.leaf)
    np.testing.assert_array_equal(plain.count, compiled.count)


def probability_of_binary(alpha, n):
    """Exact probability that no node of the nested restaurant has more than two children.

    By recursion from the last level up; in the private step every datum gets a child.
    """
    below = [1.0] * 3 + [0.0] * (n - 2)
    for a in reversed(alpha):
        here = [1.0, below[1]]
        for m in range(2, n + 1):
            log_whole = math.lgamma(a + 1) + math.lgamma(m) - math.lgamma(a + m)
            whole = math.exp(log_whole)
            # Two blocks, k data with the first: C(m − 1, k − 1) ways, and each of them is
            # α·(k − 1)!·(m − k − 1)!/(m − 1)! times as likely as one block.
            pairs = sum(below[k] * below[m - k] / (m - k) for k in range(1, m))
            here.append(whole * (below[m] + a * pairs))
        below = here
    return below[n]


def test_probability_of_binary_is_the_sum_over_binary_trees():
    law = NestedRestaurant(LogDivergence(2.0), depth=4)
    total = sum(
        math.exp(law.log_prob(tree))
        for tree in enumerate_trees(4, 3)
        if tree.n_children.max() <= 2 and tree.own_count.max() <= 2
    )
    assert probability_of_binary(law.concentration.alpha.tolist(), 4) == pytest.approx(total)


@pytest.mark.parametrize("c", [1.0, 3.0])
def test_trees_of_many_steps_are_binary(c):
    # The limit is the Dirichlet diffusion tree, which is binary almost surely.
    rng = np.random.default_rng(18)
    n, n_trees = 10, 80
    exact, wide = [], []
    for n_steps in (5, 50, 1000):
        law = NestedRestaurant(LogDivergence(c), depth=n_steps)
        trees = [law.sample(n, rng).compressed() for _ in range(n_trees)]
        # Data of one leaf part in the private step: three of them are no binary split.
        binary = sum(tree.n_children.max() <= 2 and tree.own_count.max() <= 2 for tree in trees)
        exact.append(probability_of_binary(law.concentration.alpha.tolist(), n))
        # False-alarm rate 1e-4 each.
        assert stats.binomtest(int(binary), n_trees, exact[-1]).pvalue > 1e-4
        n_branching = sum(int((tree.n_children >= 2).sum()) for tree in trees)
        wide.append(sum(int((tree.n_children > 2).sum()) for tree in trees) / n_branching)
    assert exact[0] < exact[1] < exact[2]
    assert exact[2] > 0.9
    assert wide[0] > wide[1] > wide[2]


def test_repr_shows_the_parameters():
    law = NestedRestaurant([0.5, 1.0], discount=0.25)
    assert repr(law) == "NestedRestaurant([0.5, 1.0], discount=0.25)"


def draw(law, n=3, tree=None):
    return law.sample(n, np.random.default_rng(0), tree=tree)


SKIPPING = Tree([-1, 0], leaf=[1], level=[0, 2])
TWO = NestedRestaurant(1.0, depth=2)
ONE_LEVEL, TWO_LEVELS, THREE_LEVELS = (Tree.from_paths([(1,) * n] * 2) for n in (1, 2, 3))
EMPTY_BRANCH = Tree([-1, 0, 1, 0, 3, 4], leaf=[2])

BAD_TREES = [
    (SKIPPING, ("tree", "node 1 skips levels", "tree.expanded()")),
    (ONE_LEVEL, ("tree", "datum 0", "level 1", "sit at level 2")),
    (THREE_LEVELS, ("tree", "datum 0", "level 3", "sit at level 2")),
    (EMPTY_BRANCH, ("tree", "node 5 has level 3", "ends at level 2")),
]


@pytest.mark.parametrize(("tree", "words"), BAD_TREES)
@pytest.mark.parametrize(
    "use",
    [
        TWO.log_prob,
        TWO.next_datum,
        lambda tree: TWO.path_log_prob(tree, 0),
        lambda tree: draw(TWO, tree=tree),
    ],
    ids=["log_prob", "next_datum", "path_log_prob", "sample"],
)
def test_trees_that_do_not_fit_are_named(use, tree, words):
    assert_rejected(lambda: use(tree), *words)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (Tree([-1, 0], level=[0, 2]), ("tree", "node 1 skips levels", "tree.expanded()")),
        (Tree([-1, 0, 1, 2]), ("tree", "node 3 has level 3", "ends at level 2")),
    ],
)
def test_trees_without_data_must_fit_too(tree, words):
    assert_rejected(lambda: draw(TWO, tree=tree), *words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: NestedRestaurant(1.0, 0), ("depth", "0", "at least 1")),
        (lambda: NestedRestaurant(1.0), ("depth", "None", "at least 1")),
        (lambda: NestedRestaurant(0.0, 2), ("concentration", "0", "greater than 0")),
        (lambda: NestedRestaurant(NAN, 2), ("concentration", "nan", "greater than 0")),
        (lambda: NestedRestaurant([1.0, -1.0]), ("concentration", "-1 at level 1", "greater")),
        (lambda: NestedRestaurant([INF, 1.0]), ("concentration", "infinite at level 0", "last")),
        (lambda: NestedRestaurant(LogDivergence(), 1), ("depth", "got 1", "at least 2")),
        (lambda: NestedRestaurant(1.0, 2, discount=-0.1), ("discount", "-0.1", "[0, 1)")),
        (lambda: NestedRestaurant(1.0, 2, discount=1), ("discount", "1", "[0, 1)")),
        (lambda: NestedRestaurant(1.0, 2, discount=NAN), ("discount", "nan", "[0, 1)")),
        (lambda: draw(TWO, -1), ("n", "-1", "at least 0")),
        (lambda: draw(TWO, 2.0), ("n", "2.0", "integer")),
        (lambda: TWO.sample(3, 42), ("rng", "42", "numpy.random.Generator")),
        (lambda: TWO.expected_nodes(0), ("n", "0", "at least 1")),
    ],
)
def test_bad_parameters_are_named(call, words):
    assert_rejected(call, *words)


def test_depth_counts_levels_without_the_private_step():
    assert NestedRestaurant(LogDivergence(), depth=4).depth == 3
    assert NestedRestaurant(resolve_concentration([1.0, 2.0])).depth == 2
