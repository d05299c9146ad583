import math

import numpy as np
import pytest

from sticktree import Tree
from sticktree.processes import Masses, MassTree, frag

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
def test_bad_masses_are_named(call, words, assert_rejected):
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
