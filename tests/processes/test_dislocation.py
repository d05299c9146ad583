"""Mass sequences and dislocation laws: no mass is lost, and every law is its own."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import integrate, stats

from sticktree import Tree
from sticktree.processes import (
    BetaSplit,
    CallableSplit,
    Dislocation,
    FixedSplit,
    Masses,
    MassTree,
    PoissonDirichlet,
    frag,
)
from tests.support.checks import assert_rejected
from tests.support.statistics import (
    assert_frequencies,
    assert_law,
    assert_mean,
    assert_same_frequencies,
)

NAN, INF = math.nan, math.inf


def random_masses(rng, n_blocks):
    shares = rng.dirichlet(np.full(n_blocks + 1, 0.7))
    return Masses(shares[:-1], 1 - shares[:-1].sum())


def naive_frag(masses, parts):
    """The definition: block i times sequence i, all sorted decreasingly."""
    blocks = [
        mass * share
        for mass, part in zip(masses.values.tolist(), parts, strict=True)
        for share in part.values.tolist()
    ]
    return sorted(blocks, reverse=True)


def test_values_are_decreasing_positive_and_frozen():
    masses = Masses([0.2, 0.0, 0.5, 0.1], remainder=0.2)
    assert masses.values.tolist() == [0.5, 0.2, 0.1]
    assert len(masses) == 3
    with pytest.raises(ValueError, match="read-only"):
        masses.values[0] = 1.0


def test_masses_do_not_share_memory_with_what_came_in():
    values = np.array([0.75, 0.25])
    masses = Masses(values)
    values[0] = 0.0
    assert masses.values.tolist() == [0.75, 0.25]


def test_unit_is_one_block():
    assert Masses.unit().values.tolist() == [1.0]
    assert Masses.unit().remainder == 0.0


def test_all_mass_may_be_remainder():
    dust = Masses([], remainder=1.0)
    assert len(dust) == 0
    assert frag(dust, []).remainder == 1.0


def test_repr_shows_largest_blocks_and_remainder():
    assert (
        repr(Masses([0.1] * 6, 0.4)) == "Masses([0.1, 0.1, 0.1, 0.1, …], n_blocks=6, remainder=0.4)"
    )
    assert repr(Masses([0.5, 0.5])) == "Masses([0.5, 0.5], n_blocks=2, remainder=0)"


@pytest.mark.parametrize("seed", range(20))
def test_frag_is_its_naive_definition_and_loses_no_mass(seed):
    rng = np.random.default_rng(seed)
    masses = random_masses(rng, int(rng.integers(1, 8)))
    parts = [random_masses(rng, int(rng.integers(0, 6))) for _ in range(len(masses))]
    result = frag(masses, parts)
    np.testing.assert_allclose(result.values, naive_frag(masses, parts), rtol=1e-14)
    assert result.values.sum() + result.remainder == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_unit_is_neutral_for_frag_on_both_sides(seed):
    masses = random_masses(np.random.default_rng(seed), 6)
    for same in (frag(Masses.unit(), [masses]), frag(masses, [Masses.unit()] * len(masses))):
        np.testing.assert_array_equal(same.values, masses.values)
        assert same.remainder == masses.remainder


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Masses([0.5, -0.5, 1.0]), ("values[1]", "-0.5", "at least 0")),
        (lambda: Masses([NAN, 1.0]), ("values[0]", "nan", "finite")),
        (lambda: Masses([INF]), ("values[0]", "inf", "finite")),
        (lambda: Masses([0.5, 0.4]), ("values", "0.9", "sum to 1")),
        (lambda: Masses([0.5, 0.6]), ("values", "1.1", "sum to 1")),
        (lambda: Masses([1.0], remainder=0.1), ("values", "1.0", "with the remainder")),
        (lambda: Masses([]), ("values", "0.0", "sum to 1")),
        (lambda: Masses([1.0], remainder=-0.1), ("remainder", "-0.1", "at least 0")),
        (lambda: Masses([1.0], remainder=NAN), ("remainder", "nan", "finite number")),
        (lambda: Masses([[0.5, 0.5]]), ("values", "(1, 2)", "one-dimensional")),
        (lambda: Masses("ab"), ("values", "'ab'", "sequence of numbers")),
        (lambda: frag(Masses.unit(), []), ("parts", "got 0", "one Masses per block: 1")),
        (
            lambda: frag(Masses([0.5, 0.5]), [Masses.unit()] * 3),
            ("parts", "got 3", "one Masses per block: 2"),
        ),
        (
            lambda: MassTree(Tree([-1, 0]), np.ones(1), np.ones(2), np.zeros(2)),
            ("mass", "(1,)", "one entry per node (2)"),
        ),
        (
            lambda: MassTree(
                Tree([-1, 0]), np.ones(2), np.ones(2), np.zeros(2), np.zeros(1, dtype=np.int32)
            ),
            ("n_sticks", "(1,)", "one entry per node (2)"),
        ),
        (
            lambda: MassTree(Tree([-1, 0]), np.ones(2), np.ones(2), np.zeros(3)),
            ("unbroken", "(3,)", "one entry per node (2)"),
        ),
    ],
)
def test_bad_masses_are_named(call, words):
    assert_rejected(call, *words)


def test_sums_within_rounding_are_accepted():
    assert len(Masses([0.1] * 10)) == 10


def test_mass_tree_lists_a_level_with_what_stayed_above_it():
    tree = Tree([-1, 0, 0, 1, 1])
    sticks = MassTree(
        tree,
        mass=np.array([1.0, 0.6, 0.1, 0.2, 0.3]),
        own=np.array([0.05, 0.0, 0.1, 0.2, 0.3]),
        unbroken=np.array([0.25, 0.1, 0.0, 0.0, 0.0]),
    )
    assert sticks.masses(0).values.tolist() == [1.0]
    assert sticks.masses(1).values.tolist() == [0.6, 0.1]
    assert sticks.masses(1).remainder == pytest.approx(0.3)
    assert sticks.masses(2).values.tolist() == [0.3, 0.2]
    assert sticks.masses(2).remainder == pytest.approx(0.5)
    assert sticks.remainder == pytest.approx(0.35)


NAN, INF = math.nan, math.inf

LAWS = {
    "dirichlet": PoissonDirichlet(2.0),
    "pitman-yor": PoissonDirichlet(0.5, 0.4),
    "pitman-yor, stopped early": PoissonDirichlet(1.0, 0.9, max_pieces=20),
    "dust": PoissonDirichlet(INF),
    "beta": BetaSplit(0.7),
    "fixed": FixedSplit([0.2, 0.5, 0.0, 0.1]),
    "fixed, nothing": FixedSplit([]),
    "callable": CallableSplit(lambda rng: rng.dirichlet([1, 1, 1])[:2]),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_pieces_and_rest_add_up_to_every_stick(law):
    rng = np.random.default_rng(1)
    sticks = rng.random(50)
    sticks[[3, 7]] = 1e-3, 0.0
    before = sticks.copy()
    pieces = law.break_sticks(sticks, rng, 0.01)
    np.testing.assert_array_equal(sticks, before)
    found = np.bincount(pieces.stick, pieces.mass, minlength=50) + pieces.unbroken
    np.testing.assert_allclose(found, sticks, atol=1e-12)
    assert (pieces.mass >= 0).all()
    assert (pieces.unbroken >= 0).all()
    assert (np.diff(pieces.stick) >= 0).all()


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_no_sticks_break_into_no_pieces(law):
    pieces = law.break_sticks(np.empty(0), np.random.default_rng(0), 0.01)
    assert pieces.stick.size == pieces.mass.size == pieces.unbroken.size == 0


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_sample_sums_to_one_with_its_remainder(law):
    rng = np.random.default_rng(2)
    for _ in range(20):
        masses = law.sample(rng, 1e-3)
        assert masses.values.sum() + masses.remainder == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_same_seed_same_pieces(law):
    first, second = (law.sample(np.random.default_rng(3), 1e-3) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_kth_stick_takes_a_beta_fraction_of_what_is_left(discount):
    alpha = 1.5
    sticks = np.full(4000, 0.5)
    law = PoissonDirichlet(alpha, discount, max_pieces=8)
    pieces = law.break_sticks(sticks, np.random.default_rng(4), 1e-12)
    assert np.bincount(pieces.stick).min() >= 6
    start = np.searchsorted(pieces.stick, np.arange(sticks.size))
    left = sticks.copy()
    for k in range(1, 7):
        piece = pieces.mass[start + k - 1]
        assert_law(piece / left, stats.beta(1 - discount, alpha + k * discount))
        left -= piece


@pytest.mark.parametrize(("alpha", "discount"), [(0.5, 0.0), (3.0, 0.0), (1.0, 0.4)])
def test_expected_number_of_large_blocks(alpha, discount):
    # The density of all blocks together is that of the size-biased one over its size; without
    # discount α·x⁻¹·(1 − x)^(α − 1).
    threshold = 0.02
    size_biased = stats.beta(1 - discount, alpha + discount)
    expected = integrate.quad(lambda x: size_biased.pdf(x) / x, threshold, 1)[0]
    if discount == 0:
        closed = integrate.quad(lambda x: alpha / x * (1 - x) ** (alpha - 1), threshold, 1)[0]
        assert expected == pytest.approx(closed)
    sticks = np.ones(4000)
    law = PoissonDirichlet(alpha, discount)
    pieces = law.break_sticks(sticks, np.random.default_rng(5), threshold)
    assert_mean(np.bincount(pieces.stick[pieces.mass >= threshold], minlength=4000), expected)


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_number_of_large_blocks_does_not_depend_on_truncation(discount):
    rng = np.random.default_rng(6)
    law = PoissonDirichlet(2.0, discount)

    def numbers(truncation, n):
        pieces = law.break_sticks(np.ones(n), rng, truncation)
        return np.bincount(pieces.stick[pieces.mass >= 0.05], minlength=n).tolist()

    assert_same_frequencies(numbers(0.05, 4000), numbers(1e-4, 1500))


def test_what_is_left_weighs_less_than_the_truncation():
    pieces = PoissonDirichlet(2.0).break_sticks(np.ones(200), np.random.default_rng(7), 0.01)
    assert (pieces.unbroken < 0.01).all()


def test_sticks_lighter_than_the_truncation_stay_whole():
    sticks = np.array([0.009, 0.5, 0.0])
    pieces = PoissonDirichlet(1.0).break_sticks(sticks, np.random.default_rng(8), 0.01)
    assert set(pieces.stick) == {1}
    assert pieces.unbroken[[0, 2]].tolist() == [0.009, 0.0]


def test_infinite_concentration_turns_a_stick_to_dust():
    dust = PoissonDirichlet(INF, 0.3).sample(np.random.default_rng(9))
    assert len(dust) == 0
    assert dust.remainder == 1.0


def test_large_concentrations_approach_dust():
    law = PoissonDirichlet(1e5)
    assert law.sample(np.random.default_rng(10), 1e-3).values[0] < 1e-3


def test_number_of_pieces_is_bounded_and_the_rest_reported():
    # With discount 0.95 what is left after k pieces shrinks like a power of k close to 0.
    law = PoissonDirichlet(1.0, 0.95, max_pieces=100)
    pieces = law.break_sticks(np.ones(20), np.random.default_rng(11), 1e-6)
    numbers = np.bincount(pieces.stick)
    assert (numbers >= 100).all()
    assert (numbers <= 200).all()
    assert (pieces.unbroken > 0.1).all()


def test_beta_split_is_binary_with_a_beta_fraction():
    sticks = np.full(3000, 0.3)
    pieces = BetaSplit(0.6).break_sticks(sticks, np.random.default_rng(12), 0.01)
    assert not pieces.unbroken.any()
    pairs = pieces.mass.reshape(-1, 2)
    assert (pieces.stick.reshape(-1, 2) == np.arange(3000)[:, None]).all()
    assert_law(pairs[:, 0] / 0.3, stats.beta(0.6, 0.6))


def test_fixed_split_breaks_in_the_given_proportions():
    masses = FixedSplit([0.2, 0.5]).sample(np.random.default_rng(13))
    assert masses.values.tolist() == [0.5, 0.2]
    assert masses.remainder == pytest.approx(0.3)


def test_fixed_split_keeps_its_own_copy():
    proportions = np.array([0.5, 0.5])
    law = FixedSplit(proportions)
    proportions[:] = 0
    assert law.sample(np.random.default_rng(14)).values.tolist() == [0.5, 0.5]


def test_callable_split_draws_anew_for_every_stick():
    law = CallableSplit(lambda rng: [[1.0], [0.5, 0.5], [0.25] * 3][rng.integers(3)])
    pieces = law.break_sticks(np.full(3000, 0.5), np.random.default_rng(15), 0.01)
    sizes = Counter(np.bincount(pieces.stick, minlength=3000).tolist())
    assert_frequencies([sizes[1], sizes[2], sizes[3]], np.full(3, 1 / 3))
    three = np.bincount(pieces.stick, minlength=3000) == 3
    np.testing.assert_allclose(pieces.unbroken[three], 0.125)
    assert not pieces.unbroken[~three].any()


def test_a_law_of_ones_own_is_a_subclass():
    class Whole(Dislocation):
        def break_sticks(self, masses, rng, truncation):
            return FixedSplit([1.0]).break_sticks(masses, rng, truncation)

    assert Whole().sample(np.random.default_rng(16)).values.tolist() == [1.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PoissonDirichlet(0.0), ("concentration", "0.0", "greater than 0")),
        (lambda: PoissonDirichlet(-1), ("concentration", "-1", "greater than 0")),
        (lambda: PoissonDirichlet(NAN), ("concentration", "nan", "greater than 0")),
        (lambda: PoissonDirichlet("1"), ("concentration", "'1'", "greater than 0")),
        (lambda: PoissonDirichlet(1.0, -0.1), ("discount", "-0.1", "[0, 1)")),
        (lambda: PoissonDirichlet(1.0, 1.0), ("discount", "1.0", "[0, 1)")),
        (lambda: PoissonDirichlet(1.0, NAN), ("discount", "nan", "[0, 1)")),
        (
            lambda: PoissonDirichlet(1.0, max_pieces=0),
            ("max_pieces", "0", "integer of at least 1"),
        ),
        (lambda: BetaSplit(0), ("shape", "0", "greater than 0")),
        (lambda: BetaSplit(INF), ("shape", "inf", "finite")),
        (lambda: FixedSplit([0.6, 0.6]), ("proportions", "1.2", "at most 1")),
        (lambda: FixedSplit([0.6, -0.1]), ("proportions[1]", "-0.1", "at least 0")),
        (lambda: FixedSplit([0.6, NAN]), ("proportions[1]", "nan", "finite")),
        (lambda: CallableSplit([0.5]), ("proportions", "[0.5]", "callable")),
        (
            lambda: CallableSplit(lambda rng: [2.0]).sample(np.random.default_rng(0)),
            ("proportions(rng)", "2.0", "at most 1"),
        ),
        (lambda: BetaSplit(1.0).sample(None), ("rng", "None", "numpy.random.Generator")),
        (
            lambda: BetaSplit(1.0).sample(np.random.RandomState(0)),
            ("rng", "RandomState", "numpy.random.Generator"),
        ),
        *(
            (
                lambda value=value: PoissonDirichlet(1.0).sample(np.random.default_rng(0), value),
                ("truncation", repr(value), "strictly between 0 and 1"),
            )
            for value in (0, 1, -0.1, NAN)
        ),
    ],
)
def test_bad_laws_are_named(call, words):
    assert_rejected(call, *words)
