import itertools
import math

import numpy as np
import pytest

from sticktree.processes import enumerate_trees, set_partitions
from tests.support.checks import assert_rejected

BELL = [1, 1, 2, 5, 15, 52, 203]


def first_seen(labels):
    """Rename labels 0, 1, … in the order in which they turn up."""
    names = {}
    return tuple(names.setdefault(label, len(names)) for label in labels)


@pytest.mark.parametrize("n", range(7))
def test_set_partitions_are_all_there_once(n):
    found = [frozenset(map(frozenset, blocks)) for blocks in set_partitions(range(n))]
    assert len(found) == len(set(found)) == BELL[n]
    labellings = {first_seen(labels) for labels in itertools.product(range(n), repeat=n)}
    assert len(labellings) == BELL[n]
    for blocks in found:
        assert sorted(itertools.chain(*blocks)) == list(range(n))


def test_blocks_come_by_their_first_item():
    for blocks in set_partitions([3, 1, 4, 2]):
        assert all(blocks)
        firsts = [[3, 1, 4, 2].index(block[0]) for block in blocks]
        assert firsts == sorted(firsts)


def naive_trees(n, depth):
    """Every tree is a sequence of partitions, each a refinement of the one before."""
    partitions = {first_seen(labels) for labels in itertools.product(range(n), repeat=n)}

    def refines(fine, coarse):
        pairs = itertools.combinations(range(n), 2)
        return all(coarse[i] == coarse[j] for i, j in pairs if fine[i] == fine[j])

    return {
        chain
        for chain in itertools.product(partitions, repeat=depth)
        if all(refines(fine, coarse) for coarse, fine in itertools.pairwise(chain))
    }


@pytest.mark.parametrize(("n", "depth"), [(1, 1), (2, 3), (3, 1), (3, 3), (4, 1), (4, 2)])
def test_trees_are_all_sequences_of_refining_partitions(n, depth):
    trees = list(enumerate_trees(n, depth))
    chains = [
        tuple(first_seen(tree.cut(level).tolist()) for level in range(1, depth + 1))
        for tree in trees
    ]
    assert len(chains) == len(set(chains))
    assert set(chains) == naive_trees(n, depth)


@pytest.mark.parametrize(
    ("n", "depth", "number"), [(3, 2, 12), (3, 3, 22), (4, 3, 154), (5, 2, 358), (2, 50, 51)]
)
def test_numbers_of_trees_are_iterated_bell_numbers(n, depth, number):
    trees = list(enumerate_trees(n, depth))
    assert len(trees) == len(set(trees)) == number


def test_trees_are_canonical_and_end_at_the_last_level():
    for tree in enumerate_trees(4, 3):
        np.testing.assert_array_equal(tree.parent, tree.canonical().parent)
        np.testing.assert_array_equal(tree.leaf, tree.canonical().leaf)
        assert (tree.level[tree.leaf] == 3).all()
        assert (tree.count > 0).all()


def test_no_data_make_one_tree():
    (tree,) = enumerate_trees(0, 2)
    assert tree.n_nodes == 1


@pytest.mark.parametrize(
    ("n", "depth", "words"),
    [
        (-1, 1, ("n", "-1", "at least 0")),
        (1.5, 1, ("n", "1.5", "integer")),
        (2, 0, ("depth", "0", "at least 1")),
        (2, math.inf, ("depth", "inf", "integer")),
    ],
)
def test_bad_sizes_are_named(n, depth, words):
    assert_rejected(lambda: list(enumerate_trees(n, depth)), *words)
