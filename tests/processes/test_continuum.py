"""Diffusion trees in continuous time, and the nested restaurant in ever finer steps.

In the Pitman–Yor diffusion tree with discount d, and in the Dirichlet diffusion tree if d = 0, a
datum that follows m others leaves them at the rate a(t)/(m − d), a(t) = c/(1 − t); where m data
have parted K ways it takes a path of n_k data with probability (n_k − d)/(m − d), and a new one
with probability d(K − 1)/(m − d). Multiply along any order of the data:

* an edge from s to t that m data take has the factor exp(−(A(t) − A(s))·H_m), A(t) = −c·log(1 − t)
  and H_m = Σ_{i<m} 1/(i − d);
* a branch point at t with n_1 + … + n_K = m data has the factor a(t)·w,
  w = d^{K−2}·(K − 2)!·Π_k Γ(n_k − d)/(Γ(1 − d)^{K−1}·Γ(m − d)).

What happens after t is, in units of the time that is left, what happens after 0. So the time of a
branch point can be integrated out: ∫_s^1 a(t)·((1 − t)/(1 − s))^{c·H_m} dt = 1/H_m, and a structure
has the probability Π w/H_m over its branch points, whatever c.

The steps' own probabilities are exact, too: sums over levels, no simulation but where it is said.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy import integrate

from sticktree import DirichletDiffusionTree, PitmanYorDiffusionTree, Tree
from sticktree.engine.common.seating import log_tree_probability
from sticktree.engine.shared.state import empty_state, load_tree
from sticktree.inference.candidates import Candidates
from sticktree.inference.parameters import checked
from sticktree.processes import (
    DiffusionDivergence,
    DiffusionModel,
    GaussianTransition,
    NestedRestaurant,
    RecursiveSticks,
    enumerate_trees,
    set_partitions,
)
from tests.support.statistics import assert_mean

DISCOUNTS = [0.0, 0.3, 0.6]
every_discount = pytest.mark.parametrize("d", DISCOUNTS)

# ---- continuous time ---------------------------------------------------------------------------


def harmonic(m, d):
    return sum(1 / (i - d) for i in range(1, m))


def branching(sizes, d):
    """Return w of a branch point with children of the given sizes."""
    m, k = sum(sizes), len(sizes)
    value = d ** (k - 2) * math.factorial(k - 2)
    for n in sizes:
        value *= math.gamma(n - d)
    return value / (math.gamma(1 - d) ** (k - 1) * math.gamma(m - d))


def structures(data):
    """List every tree structure on labelled data: a datum, or a tuple of structures."""
    if len(data) == 1:
        return [data[0]]
    found = []
    for blocks in set_partitions(data):
        if len(blocks) > 1:
            choices = [()]
            for block in blocks:
                choices = [(*c, s) for c in choices for s in structures(block)]
            found += choices
    return found


def size(structure):
    return 1 if isinstance(structure, int) else sum(map(size, structure))


def probability(structure, d):
    """Return the probability of a structure in continuous time."""
    if isinstance(structure, int):
        return 1.0
    sizes = [size(child) for child in structure]
    below = math.prod(probability(child, d) for child in structure)
    return branching(sizes, d) / harmonic(sum(sizes), d) * below


FOUR = structures(range(4))


@every_discount
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_probabilities_of_all_structures_sum_to_one(n, d):
    assert sum(probability(s, d) for s in structures(range(n))) == pytest.approx(1, abs=1e-12)


def test_structures_of_the_dirichlet_diffusion_tree():
    # Three data: each pair is equally likely to part last. Four: Neal's rule gives the odds 2 : 3.
    assert len(FOUR) == 26
    for s in structures(range(3)):
        assert probability(s, 0.0) == pytest.approx(1 / 3 if len(s) == 2 else 0.0)
    assert probability((((0, 1), 2), 3), 0.0) == pytest.approx(2 / 33)
    assert probability(((0, 1), (2, 3)), 0.0) == pytest.approx(1 / 11)


@pytest.mark.parametrize("d", [0.3, 0.6])
def test_structures_of_three_by_the_rules_one_datum_after_another(d):
    # The third follows both to where they part, at rate 1/(2 − d), or leaves before.
    c, split = 1.7, 1 / (1 - d)

    def at(t):
        return c * split * (1 - t) ** (c * split - 1) * (1 - t) ** (c / (2 - d))

    reaches = integrate.quad(at, 0, 1)[0]
    assert probability((0, 1, 2), d) == pytest.approx(reaches * d / (2 - d), rel=1e-8)
    assert probability(((0, 2), 1), d) == pytest.approx(reaches * (1 - d) / (2 - d), rel=1e-8)
    assert probability(((0, 1), 2), d) == pytest.approx(1 - reaches, rel=1e-8)


# ---- steps -------------------------------------------------------------------------------------


def increments(n_steps, c):
    """Return c·b(l) of every step but the last, in which all data part."""
    time = np.arange(n_steps) / n_steps
    return -c * np.diff(np.log(1 - time))


def partition_probability(sizes, alpha, d):
    """Return the probability of blocks of the given sizes in one restaurant, seat by seat."""
    value, n = 1.0, 0
    for k, block in enumerate(sizes):
        for j in range(block):
            chance = alpha + k * d if j == 0 else j - d
            value *= chance / (alpha + n) if n else 1.0
            n += 1
    return value


def structure_probability(structure, n_steps, c, d):
    """Return the probability of a structure in steps: a sum over the levels where data part."""
    alpha = increments(n_steps, c) - d

    @cache
    def shape(s):
        """Return the structure with its labels forgotten: the same sum for all that share it."""
        return 0 if isinstance(s, int) else tuple(sorted(map(shape, s), key=repr))

    @cache
    def from_level(s):
        if s == 0:
            return np.ones(n_steps)
        sizes = [_leaves(child) for child in s]
        below = math.prod(from_level(child) for child in s)
        value = np.empty(n_steps)
        value[-1] = float(all(child == 0 for child in s))
        for level in range(n_steps - 2, -1, -1):
            together = partition_probability([sum(sizes)], alpha[level], d)
            apart = partition_probability(sizes, alpha[level], d)
            value[level] = together * value[level + 1] + apart * below[level + 1]
        return value

    return from_level(shape(structure))[0]


def _leaves(shape):
    return 1 if shape == 0 else sum(map(_leaves, shape))


@every_discount
def test_sum_over_levels_is_the_sum_over_all_trees(d):
    restaurant = NestedRestaurant(DiffusionDivergence(1.4), depth=4, discount=d)
    total = dict.fromkeys(structures(range(3)), 0.0)
    for tree in enumerate_trees(3, 3):
        total[_structure_of(tree)] += math.exp(restaurant.log_prob(tree))
    for structure, expected in total.items():
        assert structure_probability(structure, 4, 1.4, d) == pytest.approx(expected, abs=1e-14)


def _structure_of(tree):
    """Return the structure of a tree of three data, whose last step is each datum's own."""
    meeting = tree.meeting_level_matrix()
    pairs = {(0, 1): meeting[0, 1], (0, 2): meeting[0, 2], (1, 2): meeting[1, 2]}
    deepest = max(pairs, key=pairs.get)
    if len(set(pairs.values())) == 1:
        return (0, 1, 2)
    (other,) = {0, 1, 2} - set(deepest)
    return (0, deepest) if other == 0 else (deepest, other) if other == 2 else (deepest, 1)


def assert_order(errors, order=1):
    """Check that errors, at steps that double from one to the next, halve; if first order."""
    errors = np.abs(errors)
    ratio = errors[:-1] / errors[1:]
    assert ((ratio > 1.8**order) & (ratio < 2.2**order)).all(), ratio


@every_discount
@pytest.mark.parametrize("n", [3, 4])
def test_structures_tend_to_those_of_continuous_time(n, d):
    c, steps = 3.0, (250, 500, 1000)
    for s in _one_of_each_shape(n):
        found = np.array([structure_probability(s, n_steps, c, d) for n_steps in steps])
        expected = probability(s, d)
        assert found[-1] == pytest.approx(expected, abs=4e-3)
        # Without a discount four part at once by two coincidences only.
        assert_order(found - expected, order=2 if d == 0 and len(s) == 4 else 1)


def _one_of_each_shape(n):
    if n == 3:
        return [((0, 1), 2), (0, 1, 2)]
    return [(((0, 1), 2), 3), ((0, 1), (2, 3)), ((0, 1, 2), 3), ((0, 1), 2, 3), (0, 1, 2, 3)]


@every_discount
def test_structures_do_not_depend_on_c_in_the_limit_only(d):
    structure = ((0, 1), 2)
    coarse = [structure_probability(structure, 20, c, d) for c in (1.0, 3.0)]
    fine = [structure_probability(structure, 2000, c, d) for c in (1.0, 3.0)]
    assert abs(coarse[0] - coarse[1]) > 10 * abs(fine[0] - fine[1])
    np.testing.assert_allclose(fine, probability(structure, d), atol=4e-3)


# ---- times -------------------------------------------------------------------------------------


def survival(n_steps, c, d, m):
    """Return the probability that a datum still follows m others at the start of every step."""
    tree = Tree.from_paths([(1,) * (n_steps - 1)] * m)
    restaurant = NestedRestaurant(DiffusionDivergence(c), depth=n_steps, discount=d)
    return restaurant.next_datum(tree).reach[np.argsort(tree.level)]


@pytest.mark.parametrize("m", [1, 2, 7])
@every_discount
def test_a_datum_leaves_m_others_at_the_rate_of_continuous_time(m, d):
    # θ = −d in exp(−(A(t) − A(s))·Γ(m − d)/Γ(m + 1 + θ)).
    c, errors = 1.5, []
    for n_steps in (200, 400, 800):
        found, time = survival(n_steps, c, d, m), np.arange(n_steps) / n_steps
        rate = math.gamma(m - d) / math.gamma(m + 1 - d)
        assert rate == pytest.approx(1 / (m - d))
        np.testing.assert_allclose(
            found[1:], np.cumprod((m - d) / (m - d + increments(n_steps, c))), rtol=1e-10
        )
        expected = (1 - time) ** (c * rate)
        s, t = n_steps // 5, n_steps // 2  # given that it has come to s, too
        between = found[t] / found[s] - expected[t] / expected[s]
        errors.append([found[t] - expected[t], between])
        if m == 1:
            np.testing.assert_allclose(found, 1 - _parting_cdf(time, c, d), atol=3 / n_steps)
    for error in np.transpose(errors):
        assert_order(error)


def _parting_cdf(t, c, d):
    """Return the probability that two data have parted by time t: 1 − exp(−A(t)/(1 − d))."""
    return 1 - (1 - t) ** (c / (1 - d))


@every_discount
def test_new_ways_at_a_branch_point_tend_to_those_of_continuous_time(d):
    sizes, at = (4, 2, 1), 0.4
    m, k = sum(sizes), len(sizes)
    errors = []
    for n_steps in (200, 400, 800):
        level = round(at * n_steps)
        rest = n_steps - 1 - level
        paths = [(1,) * level + (j,) * rest for j, n in enumerate(sizes, 1) for _ in range(n)]
        tree = Tree.from_paths(paths)
        restaurant = NestedRestaurant(DiffusionDivergence(1.0), depth=n_steps, discount=d)
        chances = restaurant.next_datum(tree)
        (node,) = np.flatnonzero(tree.n_children == k)
        taken = chances.reach[tree.children(node)] / chances.reach[node]
        new = chances.new_branch[node] / chances.reach[node]
        errors.append([*taken - (np.array(sizes) - d) / (m - d), new - d * (k - 1) / (m - d)])
    for error in np.transpose(errors):
        assert_order(error)


def mean_parting_level(n_steps, c, d):
    return survival(n_steps, c, d, 1)[1:].sum()


@every_discount
def test_covariance_of_two_data_tends_to_the_mean_time_they_part(d):
    # E[T] = ∫ P(T > t) dt = 1/(1 + c/(1 − d)); the Dirichlet diffusion tree has 1/(1 + c).
    c = 1.5
    expected = 1 / (1 + c / (1 - d))
    found = np.array([mean_parting_level(steps, c, d) / steps for steps in (200, 400, 800)])
    assert found[-1] == pytest.approx(expected, abs=1e-3)
    assert_order(found - expected)


@pytest.mark.parametrize("d", [0.0, 0.6])
def test_covariance_of_two_simulated_data(d):
    # Against the exact value in so many steps; z-tests with false-alarm rate 1e-4.
    n_steps, c = 40, 1.5
    restaurant = NestedRestaurant(DiffusionDivergence(c), depth=n_steps, discount=d)
    scales = np.full(n_steps + 1, 1 / n_steps)
    model = DiffusionModel(
        restaurant, GaussianTransition(dimension=20, level_scales=scales, noise=0)
    )
    rng = np.random.default_rng(1)
    products = []
    for _ in range(1_000):
        x, y = model.sample(2, rng).data
        products.append([(x * y).mean(), (x * x).mean(), (y * y).mean()])
    shared = (1 + mean_parting_level(n_steps, c, d)) / n_steps  # the root has a step of its own
    whole = (n_steps + 1) / n_steps
    assert_mean(products, [shared, whole, whole])
    assert shared - 1 / n_steps == pytest.approx(1 / (1 + c / (1 - d)), abs=0.01)


def test_sticks_follow_the_restaurant_where_concentrations_are_below_zero():
    # Two data on the same stick of the only level: (1 − d)/(1 + α).
    law, rng = RecursiveSticks([-0.3], discount=0.5), np.random.default_rng(2)
    same = [
        np.ptp(law.sample_paths(2, rng, law.sample(rng, 0.2)).tree.leaf) == 0 for _ in range(800)
    ]
    assert_mean(np.array(same, dtype=float), 0.5 / 0.7)


# ---- the engine --------------------------------------------------------------------------------


def timed(n_steps, times, d):
    """Return a tree of five data that branches at the given times, and its log density.

    All five part at the first time, three against two; the three part at the second time, three
    ways if d > 0 and else two ways, and two of them part at the last; the two at the third.
    """
    first, second, third, last = (round(t * n_steps) for t in times)
    end = n_steps - 1

    def path(*turns):
        levels = np.ones(end, dtype=int)
        for level, turn in turns:
            levels[level:] = 10 * levels[level:] + turn
        return tuple(levels.tolist())

    right = [path((first, 2), (third, k)) for k in (1, 2)]
    if d > 0:
        left = [path((first, 1), (second, k)) for k in (1, 2, 3)]
        nodes = [(0, first, (3, 2)), (first, second, (1, 1, 1)), (first, third, (1, 1))]
    else:
        left = [path((first, 1), (second, 1), (last, k)) for k in (1, 2)]
        left.append(path((first, 1), (second, 2)))
        nodes = [(0, first, (3, 2)), (first, second, (2, 1)), (first, third, (1, 1))]
        nodes.append((second, last, (1, 1)))
    return Tree.from_paths(left + right), nodes


def log_density(nodes, n_steps, c, d):
    """Return the log density of structure and times in continuous time."""
    value = 0.0
    for start, end, sizes in nodes:
        s, t = start / n_steps, end / n_steps
        value += c * harmonic(sum(sizes), d) * math.log((1 - t) / (1 - s))
        value += math.log(c / (1 - t)) + math.log(branching(sizes, d))
    return value


@pytest.mark.parametrize(
    ("preset", "d"),
    [(DirichletDiffusionTree, 0.0), (DirichletDiffusionTree, 0.4), (PitmanYorDiffusionTree, 0.4)],
)
def test_prior_of_the_engine_tends_to_the_density_of_continuous_time(preset, d):
    c, errors = 1.3, []
    for n_steps in (400, 800, 1600):
        estimator = preset(n_steps, concentration=c, discount=d)
        model = Candidates.of(checked(estimator.model_parameters())).base
        assert model.depth == n_steps - 1
        tree, nodes = timed(n_steps, (0.2, 0.45, 0.6, 0.8), d)
        data = np.zeros((tree.n_data, 1))
        scale = np.ones(model.depth + 1)
        state = empty_state(data, model.shape, scale, c, d, model.noise, model.less_discount)
        compressed = tree.compressed()
        load_tree(state, compressed.parent, compressed.level, compressed.leaf)
        found = log_tree_probability(state, c, d, model.less_discount)
        restaurant = NestedRestaurant(DiffusionDivergence(c), depth=n_steps, discount=d)
        assert found == pytest.approx(restaurant.log_prob(tree), abs=1e-8)
        errors.append(found + len(nodes) * math.log(n_steps) - log_density(nodes, n_steps, c, d))
    assert abs(errors[-1]) < 0.02
    assert_order(np.array(errors))


def test_forty_steps_are_as_fine_as_the_presets_say():
    for d, parting, apart in ((0.0, 0.493, 0.072), (0.3, 0.407, 0.041)):
        assert mean_parting_level(40, 1.0, d) / 40 == pytest.approx(parting, abs=6e-4)
        off = [structure_probability(s, 40, 1.0, d) - probability(s, d) for s in FOUR]
        assert np.abs(off).sum() / 2 == pytest.approx(apart, abs=6e-4)
    star = [structure_probability((0, 1, 2), 40, 1.0, d) for d in (0.0, 0.3)]
    np.testing.assert_allclose(star, [0.027, 0.144], atol=6e-4)
    assert probability((0, 1, 2), 0.3) == pytest.approx(0.125)
    off = [structure_probability(s, 40, 0.5, 0.0) - probability(s, 0.0) for s in FOUR]
    assert np.abs(off).sum() / 2 == pytest.approx(0.213, abs=6e-4)


def test_without_the_discount_taken_off_there_is_no_limit():
    # Data then leave an only child in every step, however fine.
    d = 0.3
    together = [np.prod((1 - d) / (1 + increments(n, 1.0)[: n // 2])) for n in (20, 80)]
    assert together[1] < 1e-6 < together[0]
    less = [survival(n, 1.0, d, 1)[n // 2] for n in (20, 80)]
    np.testing.assert_allclose(less, 0.5 ** (1 / (1 - d)), atol=0.02)
