"""Fixtures that the tests of all processes share."""

import numpy as np
import pytest

from tests.support import statistics
from tests.support.statistics import FALSE_ALARM

__all__ = ["FALSE_ALARM"]


def pytest_make_parametrize_id(config, val, argname):
    """Name the cases of bad input by what is wrong with them."""
    if argname == "call":
        return "rejects"
    if argname == "words":
        return " ".join(val[:2])
    return None


@pytest.fixture(scope="session")
def assert_frequencies():
    return statistics.assert_frequencies


@pytest.fixture(scope="session")
def assert_same_frequencies():
    return statistics.assert_same_frequencies


@pytest.fixture(scope="session")
def assert_mean():
    return statistics.assert_mean


@pytest.fixture(scope="session")
def assert_law():
    return statistics.assert_law


@pytest.fixture(scope="session")
def assert_same_law():
    return statistics.assert_same_law


@pytest.fixture(scope="session")
def count_trees():
    """Return a function that counts how often each of the listed trees occurs, and any other."""

    def count(samples, listed):
        place = {tree: k for k, tree in enumerate(listed)}
        known = {}  # by the raw arrays, of which there are few: canonical forms are slow to make
        counts = np.zeros(len(listed) + 1, dtype=int)
        for tree in samples:
            raw = tree.parent.tobytes(), tree.leaf.tobytes()
            if raw not in known:
                known[raw] = place.get(tree.canonical(), len(listed))
            counts[known[raw]] += 1
        return counts[:-1], int(counts[-1])

    return count


@pytest.fixture(scope="session")
def assert_mass_balance():
    """Return a check that no mass is lost: mass = own + children + unbroken in every node."""

    def check(mass_tree):
        tree = mass_tree.tree
        assert mass_tree.mass[0] == 1.0
        for w in range(tree.n_nodes):
            children = mass_tree.mass[tree.children(w)].sum()
            parts = mass_tree.own[w] + children + mass_tree.unbroken[w]
            assert mass_tree.mass[w] == pytest.approx(parts, abs=1e-12)
        for array in (mass_tree.mass, mass_tree.own, mass_tree.unbroken):
            assert (array >= 0).all()
        assert mass_tree.own.sum() + mass_tree.unbroken.sum() == pytest.approx(1, abs=1e-12)
        assert mass_tree.remainder == pytest.approx(mass_tree.unbroken.sum(), abs=1e-12)
        for level in range(tree.depth + 1):
            masses = mass_tree.masses(level)
            assert masses.values.sum() + masses.remainder == pytest.approx(1, abs=1e-12)

    return check


@pytest.fixture(scope="session")
def assert_rejected():
    """Return a check that a call raises a ValueError whose message holds all the given words.

    The words are the parameter's name, what came, and what would be right.
    """

    def check(call, *words):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are the match
            call()
        for word in words:
            assert word in str(caught.value)

    return check
