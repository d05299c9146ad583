import math

import numpy as np
import pytest

from sticktree.processes import (
    BetaSplit,
    CallableSplit,
    FixedSplit,
    FragmentationChain,
    Masses,
    PoissonDirichlet,
    frag,
)
from tests.support.checks import assert_mass_balance, assert_rejected
from tests.support.statistics import assert_mean, assert_same_frequencies, assert_same_law

HALVES = FixedSplit([0.5, 0.5])

CHAINS = {
    "dirichlet": FragmentationChain(PoissonDirichlet(1.0)),
    "pitman-yor": FragmentationChain(PoissonDirichlet(0.5, 0.4)),
    "beta": FragmentationChain(BetaSplit(1.0)),
    "fixed, with dust": FragmentationChain(FixedSplit([0.6, 0.3])),
    "callable": FragmentationChain(CallableSplit(lambda rng: rng.dirichlet([1, 2, 3]))),
    "one law a step": FragmentationChain(
        [PoissonDirichlet(2.0), BetaSplit(0.5), FixedSplit([0.7]), PoissonDirichlet(math.inf)]
    ),
}


def sum_of_squares(masses):
    return float((masses.values**2).sum())


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("truncation", [0.2, 1e-3])
def test_no_mass_is_lost_at_any_step(chain, truncation):
    rng = np.random.default_rng(1)
    for _ in range(5):
        realisation = chain.sample(4, rng, truncation)
        assert_mass_balance(realisation.mass_tree)
        for step in range(5):
            masses = realisation.masses(step)
            assert masses.values.sum() + masses.remainder == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_every_step_is_frag_of_the_step_before(chain):
    realisation = chain.sample(4, np.random.default_rng(2), 0.01)
    sticks = realisation.mass_tree
    for step in range(4):
        nodes = sticks.tree.nodes_at(step)
        nodes = nodes[sticks.mass[nodes] > 0]
        nodes = nodes[np.argsort(-sticks.mass[nodes], kind="stable")]
        parts = []
        for w in nodes:
            shares = sticks.mass[sticks.tree.children(w)] / sticks.mass[w]
            parts.append(Masses(shares, max(1 - shares.sum(), 0.0)))
        expected = frag(realisation.masses(step), parts)
        np.testing.assert_allclose(realisation.masses(step + 1).values, expected.values, rtol=1e-9)
        assert realisation.masses(step + 1).remainder == pytest.approx(expected.remainder)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_chains_start_from_the_unit_stick(chain):
    start = chain.sample(1, np.random.default_rng(3)).masses(0)
    assert start.values.tolist() == [1.0]
    assert start.remainder == 0.0


@pytest.mark.parametrize("law", [PoissonDirichlet(1.0), PoissonDirichlet(0.5, 0.3), BetaSplit(0.8)])
def test_chain_is_homogeneous_and_branching(law):
    # Three steps at once, or one step and then two steps of each block by itself. Blocks above the
    # truncation have their exact law; only they are compared.
    rng = np.random.default_rng(4)
    chain = FragmentationChain(law)
    truncation = 0.02
    at_once, in_turn = [], []
    for _ in range(300):
        at_once.append(chain.sample(3, rng, truncation).masses(3).values)
        start = chain.sample(1, rng, truncation).masses(1)
        parts = [chain.sample(2, rng, truncation).masses(2) for _ in range(len(start))]
        in_turn.append(frag(start, parts).values)

    def largest(values):
        return max(values, default=0.0) if max(values, default=0.0) >= truncation else 0.0

    def squares(values):
        return (values[values >= truncation] ** 2).sum()

    for statistic in (largest, squares):
        assert_same_law(
            [statistic(values) for values in at_once], [statistic(values) for values in in_turn]
        )


@pytest.mark.parametrize(
    ("law", "rate"),
    [
        (PoissonDirichlet(1.0), 1 / 2),
        (PoissonDirichlet(3.0), 1 / 4),
        (PoissonDirichlet(0.5, 0.4), 0.6 / 1.5),
        (BetaSplit(1.0), 2 / 3),
        (BetaSplit(0.3), 1.3 / 1.6),
    ],
)
def test_expected_sum_of_squares_decays_geometrically(law, rate):
    # Rates (1 − d)/(1 + α) and (a + 1)/(2a + 1). Blocks lost to truncation add less than 1e-3
    # of the mass they hold, a small part of the standard error.
    rng = np.random.default_rng(5)
    chain = FragmentationChain(law)
    squares = []
    for _ in range(1000):
        realisation = chain.sample(3, rng, 1e-3)
        squares.append([sum_of_squares(realisation.masses(step)) for step in (1, 2, 3)])
    assert_mean(squares, [rate, rate**2, rate**3])


@pytest.mark.parametrize("law", [PoissonDirichlet(1.0), PoissonDirichlet(0.5, 0.4), BetaSplit(1.0)])
def test_number_of_large_blocks_does_not_depend_on_truncation(law):
    rng = np.random.default_rng(6)
    chain = FragmentationChain(law)

    def numbers(truncation, n):
        last = (chain.sample(3, rng, truncation).masses(3) for _ in range(n))
        return [int((masses.values >= 0.05).sum()) for masses in last]

    assert_same_frequencies(numbers(0.05, 1500), numbers(1e-4, 300))


def test_infinite_concentration_ends_in_dust():
    chain = FragmentationChain([HALVES, PoissonDirichlet(math.inf), HALVES])
    realisation = chain.sample(3, np.random.default_rng(7))
    assert realisation.masses(1).values.tolist() == [0.5, 0.5]
    for step in (2, 3):
        assert len(realisation.masses(step)) == 0
        assert realisation.masses(step).remainder == 1.0


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_the_stick_breaks_as_often_as_asked(n_steps):
    realisation = FragmentationChain(HALVES).sample(n_steps, np.random.default_rng(11), 1e-3)
    assert realisation.mass_tree.tree.depth == n_steps
    assert realisation.times.size == n_steps
    assert realisation.mass_tree.own.sum() == 1.0
    assert len(realisation.masses(n_steps)) == 2**n_steps


def test_laws_are_used_step_by_step():
    chain = FragmentationChain([HALVES, FixedSplit([0.75, 0.25])])
    realisation = chain.sample(2, np.random.default_rng(8))
    assert realisation.masses(2).values.tolist() == [0.375, 0.375, 0.125, 0.125]
    assert chain.sample(1, np.random.default_rng(8)).masses(1).values.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("splitting_times", "expected"),
    [
        (None, [1.0, 2.0, 3.0]),
        (lambda k: 1 - 2.0**-k, [0.5, 0.75, 0.875]),
        ([0.5, 2.0, 7.0], [0.5, 2.0, 7.0]),
        (np.array([0.5, 2.0, 7.0, 9.0]), [0.5, 2.0, 7.0]),
    ],
    ids=["default", "callable", "list", "longer array"],
)
def test_masses_are_right_continuous_at_the_splitting_times(splitting_times, expected):
    chain = FragmentationChain(HALVES, splitting_times)
    realisation = chain.sample(3, np.random.default_rng(9))
    assert realisation.times.tolist() == expected
    assert len(realisation.at(0.0)) == 1
    for step, time in enumerate(expected, start=1):
        assert len(realisation.at(np.nextafter(time, 0))) == 2 ** (step - 1)
        assert len(realisation.at(time)) == 2**step
    assert len(realisation.at(1e9)) == 8


def test_same_seed_same_chain():
    chain = CHAINS["pitman-yor"]
    first, second = (chain.sample(3, np.random.default_rng(10)).mass_tree for _ in range(2))
    np.testing.assert_array_equal(first.mass, second.mass)
    np.testing.assert_array_equal(first.tree.parent, second.tree.parent)


def sample(chain, n_steps=2, truncation=0.1):
    return chain.sample(n_steps, np.random.default_rng(0), truncation)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: FragmentationChain([]), ("dislocation", "empty", "at least one law")),
        (lambda: FragmentationChain([HALVES, 3]), ("dislocation", "3", "a Dislocation")),
        (lambda: FragmentationChain(3), ("dislocation", "3", "a Dislocation")),
        (lambda: sample(FragmentationChain(HALVES), 0), ("n_steps", "0", "at least 1")),
        (lambda: sample(FragmentationChain(HALVES), 1.5), ("n_steps", "1.5", "integer")),
        (lambda: sample(FragmentationChain([HALVES]), 2), ("n_steps", "got 2", "at most 1")),
        (lambda: sample(FragmentationChain(HALVES), 2, 0), ("truncation", "0", "strictly between")),
        (lambda: sample(FragmentationChain(HALVES), 2, 1), ("truncation", "1", "strictly between")),
        (lambda: FragmentationChain(HALVES).sample(1, 7), ("rng", "7", "numpy.random.Generator")),
        *(
            (
                lambda times=times: sample(FragmentationChain(HALVES, times)),
                ("splitting_times", shown, "2 increasing times above 0"),
            )
            for times, shown in (
                ([2.0, 1.0], "[2. 1.]"),
                ([1.0, 1.0], "[1. 1.]"),
                ([0.0, 1.0], "[0. 1.]"),
                ([-1.0, 1.0], "[-1.  1.]"),
                ([1.0], "[1.]"),
                ([1.0, math.nan], "nan"),
                (lambda k: -k, "[-1. -2.]"),
                (lambda k: 1.0, "[1. 1.]"),
                ("soon", "soon"),
                (["soon", "later"], "soon"),
            )
        ),
        (lambda: sample(FragmentationChain(HALVES)).masses(3), ("step", "3", "between 0 and 2")),
        (lambda: sample(FragmentationChain(HALVES)).masses(-1), ("step", "-1", "between 0 and 2")),
        (lambda: sample(FragmentationChain(HALVES)).masses(1.5), ("step", "1.5")),
        (lambda: sample(FragmentationChain(HALVES)).at(math.nan), ("time", "nan")),
    ],
)
def test_bad_chains_are_named(call, words):
    assert_rejected(call, *words)
