"""Checks that tests of several rooms share."""

import pytest


def assert_rejected(call, *words):
    """Check that a call raises a ValueError whose message holds all the given words.

    The words are the parameter's name, what came, and what would be right.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are the match
        call()
    for word in words:
        assert word in str(caught.value)


def assert_mass_balance(mass_tree):
    """Check that no mass is lost: mass = own + children + unbroken in every node."""
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
