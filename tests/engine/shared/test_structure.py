import numpy as np
import pytest

from sticktree import Tree
from sticktree.engine.common.links import ALIVE, DISCOUNT, FREE, LEAVES, MADE, ROOT
from sticktree.engine.common.random import random_state
from sticktree.engine.common.sampler import tree_of
from sticktree.engine.common.seating import log_tree_probability
from sticktree.engine.shared.regraft import regraft_sweep
from sticktree.engine.shared.split_leaves import split_merge_sweep
from sticktree.tree import NULL
from tests.support.compiled import attach, detach


def children(state, node):
    """Follow the links from first to last child, and check those that lead back."""
    found, before = [], NULL
    child = int(state.nodes["first_child"][node])
    while child != NULL:
        assert state.nodes["previous_sibling"][child] == before
        assert state.nodes["parent"][child] == node
        found.append(child)
        assert len(found) <= state.sizes[MADE], "the list of children is a circle"
        before, child = child, int(state.nodes["next_sibling"][child])
    return found


def walk(state, node=ROOT):
    """Return all nodes at or below a node, parents before children."""
    return [node] + [below for child in children(state, node) for below in walk(state, child)]


def check_structure(state):
    depth = state.levels.size - 1
    nodes = state.nodes
    alive = walk(state)
    assert len(set(alive)) == len(alive)
    assert nodes["parent"][ROOT] == NULL
    assert nodes["level"][ROOT] == 0
    for node in alive:
        below = children(state, node)
        assert nodes["n_children"][node] == len(below)
        if nodes["level"][node] == depth:
            assert not below
            assert nodes["n"][node] == (state.leaf == node).sum() > 0
        else:
            assert len(below) >= (1 if node == ROOT else 2)
            assert nodes["n"][node] == nodes["n"][below].sum()
            assert (nodes["level"][below] > nodes["level"][node]).all()
    assert nodes["n"][ROOT] == state.leaf.size
    return alive


def check_lists(state, alive):
    listed = state.order[: state.sizes[ALIVE]].tolist()
    assert sorted(listed) == sorted(alive)
    place = {node: k for k, node in enumerate(listed)}
    assert all(place[int(state.nodes["parent"][w])] < place[w] for w in listed if w != ROOT)
    free, last = [], state.sizes[FREE]
    while last != NULL:
        free.append(last)
        last = state.nodes["next_sibling"][last]
    assert sorted(free + alive) == list(range(state.sizes[MADE]))
    assert state.sizes[MADE] <= state.nodes.size
    leaves = state.leaves[: state.sizes[LEAVES]].tolist()
    assert sorted(leaves) == np.unique(state.leaf[state.leaf != NULL]).tolist()
    assert (state.nodes["slot"][leaves] == np.arange(len(leaves))).all()


def seated(twin, depth, seed, n_data=25, discount=None):
    rng = np.random.default_rng([seed, depth])
    setting = twin.random_setting(rng, depth, discount)
    # Little data per noise: trees change at almost every move.
    state = twin.empty_of(0.3 * twin.random_data(rng, n_data, 2), setting)
    words = random_state(rng)
    for i in rng.permutation(n_data):
        twin.move_datum(state, i, words)
    return state, words, rng


@pytest.fixture(params=[(1, 0.0), (1, 0.4), (2, None), (4, 0.0), (4, None), (40, None)], ids=str)
def wandering(request, twin):
    """Return a generator of states after ever more random moves, 3,000 in all."""
    depth, discount = request.param
    state, words, rng = seated(twin, depth, 0, discount=discount)

    def states():
        yield state
        for _ in range(60):
            for kind in rng.integers(3, size=50):
                if kind == 0:
                    twin.move_datum(state, rng.integers(state.leaf.size), words)
                elif kind == 1:
                    regraft_sweep(state, words, 1)
                else:
                    split_merge_sweep(state, words, 1)
            yield state

    return states


def test_moves_keep_the_compressed_tree_sound_and_leak_no_numbers(wandering):
    shapes = set()
    for state in wandering():
        check_lists(state, check_structure(state))
        shapes.add(tree_of(state))
    assert len(shapes) > 10, "the moves hardly changed the tree"


def test_tree_of_a_state_is_valid_and_has_its_probability(wandering, twin):
    for state in wandering():
        tree = tree_of(state)
        checked = Tree(tree.parent, tree.leaf, level=tree.level, count=tree.count)
        assert checked == tree
        assert tree == tree.expanded().compressed()
        setting = twin.setting_of(state)
        assert (tree.level[tree.leaf] == setting.depth).all()
        found = log_tree_probability(state, 1.0, float(state.scalars[DISCOUNT]), False)
        assert found == pytest.approx(setting.law.log_prob(tree.expanded()), rel=1e-10)


@pytest.mark.parametrize("depth", [1, 3, 40])
def test_every_insertion_keeps_the_compressed_tree_sound(depth, twin):
    rng = np.random.default_rng(1)
    state = twin.empty_of(twin.random_data(rng, 30, 1), twin.random_setting(rng, depth))
    words = random_state(rng)
    for i in range(30):
        twin.move_datum(state, i, words)
        assert (state.leaf[i + 1 :] == NULL).all()
        alive = walk(state)
        check_lists(state, alive)
        assert state.nodes["n"][ROOT] == i + 1
    check_structure(state)


@pytest.mark.parametrize("depth", [2, 4, 40])
def test_what_is_detached_and_attached_again_has_never_been_away(depth, twin):
    state, _, _ = seated(twin, depth, 2)
    tree = tree_of(state)
    for node in twin.in_use(state)[1:].tolist():
        here = twin.copied(state)
        above = int(here.nodes["parent"][node])
        level = int(here.nodes["level"][above])
        sibling = next((w for w in children(here, above) if w != node), NULL)
        if sibling == NULL:
            continue  # the only child of the root
        detach(here, np.int32(node))
        at = above if int(here.nodes["parent"][sibling]) == above else sibling
        attach(here, node, at, level)
        here.order[: here.sizes[ALIVE]] = alive = check_structure(here)
        check_lists(here, alive)
        assert tree_of(here) == tree
