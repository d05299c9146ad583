"""Checks that the tests of all processes share.

Every statistical check here raises a false alarm with probability ``FALSE_ALARM`` under a fresh
seed; checks of several numbers at once share that probability (Bonferroni). Seeds are fixed, so a
test that passes keeps passing.
"""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

FALSE_ALARM = 1e-4


def pytest_make_parametrize_id(config, val, argname):
    """Name the cases of bad input by what is wrong with them."""
    if argname == "call":
        return "rejects"
    if argname == "words":
        return " ".join(val[:2])
    return None


def pool_rare_cells(counts, expected, least=5.0):
    """Merge cells whose expected count is below ``least``, and what they make with the next."""
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    rare = int((expected < least).sum())
    if rare and expected[:rare].sum() < least:
        rare = min(rare + 1, expected.size)
    if not rare:
        return counts, expected
    pooled = np.concatenate([[counts[:rare].sum()], counts[rare:]])
    return pooled, np.concatenate([[expected[:rare].sum()], expected[rare:]])


@pytest.fixture(scope="session")
def assert_frequencies():
    """Return a chi-square test of counts against exact probabilities.

    Cells with an expected count below 5 are pooled. The false-alarm rate is 1e-4 per test.
    """

    def check(counts, probabilities):
        counts = np.asarray(counts, dtype=float)
        probabilities = np.asarray(probabilities, dtype=float)
        assert counts.shape == probabilities.shape
        assert probabilities.sum() == pytest.approx(1, abs=1e-9)
        assert not counts[probabilities == 0].any()
        counts, expected = pool_rare_cells(counts, counts.sum() * probabilities)
        assert expected.size > 1, "too few counts to test anything"
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert stats.chi2.sf(statistic, expected.size - 1) > FALSE_ALARM

    return check


@pytest.fixture(scope="session")
def assert_same_frequencies():
    """Return a two-sample chi-square test of two lists of labels; false-alarm rate 1e-4."""

    def check(first, second):
        labels = sorted(set(first) | set(second))
        table = np.array(
            [[Counter(sample)[label] for label in labels] for sample in (first, second)]
        )
        rare = table.sum(axis=0) < 10
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
        table = table[:, table.sum(axis=0) > 0]
        assert table.shape[1] > 1, "too few labels to test anything"
        assert stats.chi2_contingency(table, correction=False).pvalue > FALSE_ALARM

    return check


@pytest.fixture(scope="session")
def assert_mean():
    """Return a z-test of the mean of independent draws, one row a draw; false-alarm rate 1e-4."""

    def check(values, expected):
        values = np.asarray(values, dtype=float).reshape(len(values), -1)
        expected = np.broadcast_to(np.asarray(expected, dtype=float).ravel(), values.shape[1])
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        # Where nothing varies, only rounding may separate the mean from what is expected.
        z = np.abs(values.mean(axis=0) - expected) / np.maximum(error, 1e-12)
        assert (2 * stats.norm.sf(z) > FALSE_ALARM / expected.size).all(), z

    return check


@pytest.fixture(scope="session")
def assert_law():
    """Return a Kolmogorov–Smirnov test of draws against a scipy law; false-alarm rate 1e-4."""

    def check(values, law):
        assert stats.kstest(np.asarray(values), law.cdf).pvalue > FALSE_ALARM

    return check


@pytest.fixture(scope="session")
def assert_same_law():
    """Return a two-sample Kolmogorov–Smirnov test; false-alarm rate 1e-4."""

    def check(first, second):
        assert stats.ks_2samp(first, second, method="asymp").pvalue > FALSE_ALARM

    return check


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
