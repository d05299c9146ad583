import math
from collections import Counter

import numpy as np
import pytest
from scipy import integrate, stats

from sticktree.processes import (
    BetaSplit,
    CallableSplit,
    Dislocation,
    FixedSplit,
    PoissonDirichlet,
)

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
def test_kth_stick_takes_a_beta_fraction_of_what_is_left(discount, assert_law):
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
def test_expected_number_of_large_blocks(alpha, discount, assert_mean):
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
def test_number_of_large_blocks_does_not_depend_on_truncation(discount, assert_same_frequencies):
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


def test_beta_split_is_binary_with_a_beta_fraction(assert_law):
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


def test_callable_split_draws_anew_for_every_stick(assert_frequencies):
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
def test_bad_laws_are_named(call, words, assert_rejected):
    assert_rejected(call, *words)
